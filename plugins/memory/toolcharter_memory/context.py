"""Context files: their names, which copy a caller reads and writes, and how they are stored.

Source: 004, internal/tools/context_file_interceptor.go. There, callers without an agent type and predefined agents may
write the agent's own files. Here, callers without a type need `allow_agent_files`, and predefined agents never may.
"""

from collections.abc import Mapping
from functools import partial
from typing import Literal, NamedTuple

from typing_extensions import override

from toolcharter import Caller, Denied, Reason, Store, StoreTransaction, ToolError, ToolRuntime, VirtualFile
from toolcharter_memory.caches import WRITES, Cache
from toolcharter_memory.documents import MemoryWritePolicy, Writer, storable_content
from toolcharter_memory.records import AgentContextFile, UserContextFile

FILES = ("SOUL.md", "IDENTITY.md", "AGENTS.md", "TOOLS.md", "HEARTBEAT.md", "USER.md", "BOOTSTRAP.md")
"""The names of context files: in exact case, and only at the workspace's root."""
BOOTSTRAP_FILE = "BOOTSTRAP.md"
Level = Literal["user", "agent"]


class Access(NamedTuple):
    """Where a caller reads and writes a file."""

    read: tuple[Level, ...]
    """The levels to read from, in order: the first text that is not empty counts."""
    write: Level | None
    """None if the file is read-only."""


def context_file(path: str) -> str | None:
    """Return the context file at *path*, relative to the workspace; None if it is no context file."""
    return path if path in FILES else None


def access_of(caller: Caller, file: str, *, allow_agent_files: bool) -> Access:
    """Return at which levels *caller* reads and writes *file*."""
    is_own = caller.agent_type == "open" or (caller.agent_type == "predefined" and file == "USER.md")
    if caller.user and is_own:
        return Access(("user", "agent"), "user")
    writes_agents = allow_agent_files and caller.agent_type != "predefined"
    return Access(("agent",), "agent" if writes_agents else None)


class StoredFiles(NamedTuple):
    """The context files of an agent, or of one of its users, by name."""

    files: Mapping[str, str]


def load_files(store: Store, agent: str, user: str | None) -> StoredFiles:
    """Read the context files of *agent* for *user*, or for all users."""

    def work(rows: StoreTransaction) -> StoredFiles:
        return StoredFiles(
            {file: text for file in FILES if (text := _read_stored(rows, agent, user, file)) is not None}
        )

    return store.transact(work)


def _read_stored(rows: StoreTransaction, agent: str, user: str | None, file: str) -> str | None:
    if user is None:
        found = rows.get(AgentContextFile, agent, file)
        return None if found is None else found.record.content
    own = rows.get(UserContextFile, agent, user, file)
    return None if own is None else own.record.content


class ContextFile(VirtualFile):
    """One context file as one caller sees it."""

    def __init__(
        self, file: str, caller: Caller, rt: ToolRuntime, policy: MemoryWritePolicy, access: Access, cache: Cache
    ) -> None:
        self._file = file
        self._caller = caller
        self._rt = rt
        self._policy = policy
        self._access = access
        self._cache = cache
        self.asks = policy.asks_about(file)

    @override
    def exists(self) -> bool:
        return bool(self._stored_texts())

    @override
    def read(self) -> bytes:
        return _first_text(self._stored_texts()).encode()

    @override
    def write(self, data: bytes, before: bytes | None, /) -> None:
        text = storable_text(data, self._policy)
        agent, user = self._copy_owner("write" if text or self._file != BOOTSTRAP_FILE else "delete")

        def work(rows: StoreTransaction) -> None:
            self._require_same(rows, before)
            if not text and self._file == BOOTSTRAP_FILE:
                _delete(rows, agent, user, self._file)
                return
            span = Writer(self._caller, self._policy).span(1)
            record: AgentContextFile | UserContextFile
            if user is None:
                record = AgentContextFile(agent=agent, file=self._file, content=text, span=span)
            else:
                record = UserContextFile(agent=agent, user=user, file=self._file, content=text, span=span)
            rows.put(record)

        self._rt.store.transact(work)
        WRITES.note()

    @override
    def delete(self, before: bytes, /) -> None:
        agent, user = self._copy_owner("delete")

        def work(rows: StoreTransaction) -> None:
            self._require_same(rows, before)
            if not _delete(rows, agent, user, self._file):
                raise Denied(Reason.PROTECTED_PATH, f"{self._file!r} belongs to the agent and is read-only.")

        self._rt.store.transact(work)
        WRITES.note()

    def _copy_owner(self, use: Literal["write", "delete"]) -> tuple[str, str | None]:
        """Return the agent and the user whose copy is changed.

        Raises:
            Denied: `protected_path`.
        """
        agent, level = self._caller.agent or "", self._access.write
        if level is None and use == "delete" and self._file == BOOTSTRAP_FILE and self._caller.user:
            level = "user"  # The first run is over, also for a predefined agent.
        if level is None:
            message = f"{self._file!r} belongs to the agent and is read-only for this caller."
            raise Denied(Reason.PROTECTED_PATH, message)
        return agent, self._caller.user if level == "user" else None

    def _stored_texts(self) -> list[str]:
        """Return the stored copies of the file, in the order in which they are read."""
        agent, found = self._caller.agent or "", list[str]()
        for level in self._access.read:
            user = self._caller.user if level == "user" else None
            read = partial(load_files, self._rt.store, agent, user)
            kept = self._cache.get(self._rt.store, self._caller.tenant, agent, (agent, user), read)
            if self._file in kept.files:
                found.append(kept.files[self._file])
        return found

    def _require_same(self, rows: StoreTransaction, before: bytes | None) -> None:
        agent = self._caller.agent or ""
        users = [self._caller.user if level == "user" else None for level in self._access.read]
        stored = (_read_stored(rows, agent, user, self._file) for user in users)
        found = [text for text in stored if text is not None]
        require_same(self._file, _first_text(found).encode() if found else None, before)


def _delete(rows: StoreTransaction, agent: str, user: str | None, file: str) -> bool:
    return (
        rows.delete(AgentContextFile, agent, file) if user is None else rows.delete(UserContextFile, agent, user, file)
    )


def _first_text(texts: list[str]) -> str:
    return next(filter(None, texts), "")


def storable_text(data: bytes, policy: MemoryWritePolicy) -> str:
    """Return *data* as the text to store.

    Raises:
        ToolError: `write_failure`: the tools that write files have no more specific reason.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ToolError("Only text in UTF-8 is kept here.", reason="write_failure") from None
    if "\0" in text:
        raise ToolError("Only text without NUL is kept here.", reason="write_failure")
    try:
        return storable_content(text, policy)
    except ToolError as error:
        raise as_write_error(error) from error


def as_write_error(error: ToolError) -> ToolError:
    """Return *error* with a reason that tools which write files may give."""
    return ToolError(str(error), reason="write_failure", hint=error.hint)


def require_same(path: str, there: bytes | None, before: bytes | None) -> None:
    """Refuse to overwrite a text that the tool has not seen.

    Raises:
        ToolError: `changed_meanwhile`.
    """
    if there != before:
        message = f"{path!r} was changed meanwhile; nothing was written."
        hint = "Look at it again, then repeat the call."
        raise ToolError(message, reason="changed_meanwhile", hint=hint, retryable=True)
