"""Memory documents as files: one document as a caller sees it, and listings of them."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from typing_extensions import override

from toolcharter import Caller, Denied, Entry, Reason, StoreTransaction, ToolError, ToolRuntime, VirtualFile
from toolcharter_memory.caches import WRITES, Cache
from toolcharter_memory.context import as_write_error, require_same, storable_text
from toolcharter_memory.documents import (
    MemoryWritePolicy,
    MemoryWriteReason,
    Writer,
    delete_document,
    documents_in,
    find_document,
    write_document,
)
from toolcharter_memory.records import MemoryDocument
from toolcharter_memory.scopes import MemoryScope, scopes_of
from toolcharter_memory.search import memories_of


class DocumentFile(VirtualFile):
    """One document: the user's own, or else the global one."""

    def __init__(self, path: str, caller: Caller, rt: ToolRuntime, policy: MemoryWritePolicy, cache: Cache) -> None:
        self._path = path
        self._caller = caller
        self._rt = rt
        self._policy = policy
        self._cache = cache
        self.asks = policy.asks_about(path)

    @override
    def exists(self) -> bool:
        return self._content() is not None

    @override
    def read(self) -> bytes:
        return (self._content() or "").encode()

    @override
    def write(self, data: bytes, before: bytes | None, /) -> None:
        text = storable_text(data, self._policy)

        def change(old: str | None) -> str:
            require_same(self._path, None if old is None else old.encode(), before)
            return text

        try:
            write_document(self._rt, Writer(self._caller, self._policy), self._path, change)
        except ToolError as error:
            if error.reason not in set(MemoryWriteReason):
                raise
            raise as_write_error(error) from error

    @override
    def delete(self, before: bytes, /) -> None:
        def work(rows: StoreTransaction) -> None:
            found = find_document(rows, self._caller, self._path)
            require_same(self._path, None if found is None else found.document.content.encode(), before)
            own = scopes_of(self._caller, self._path)[0]
            if found is None or found.scope != own:
                raise Denied(Reason.PROTECTED_PATH, f"{self._path!r} belongs to all users and is read-only.")
            delete_document(rows, own, self._path)

        self._rt.store.transact(work)
        WRITES.note()

    def _content(self) -> str | None:
        for scope in scopes_of(self._caller, self._path):
            content = self._content_in(scope)
            if content is not None:
                return content
        return None

    def _content_in(self, scope: MemoryScope) -> str | None:
        def load() -> str | None:
            stored = self._rt.store.get(MemoryDocument, *scope, self._path)
            return None if stored is None else stored.record.content

        return self._cache.get(self._rt.store, self._caller.tenant, scope.agent, (*scope, self._path), load)


class Listing(NamedTuple):
    """The documents that a caller sees."""

    sizes: Mapping[str, int]
    """The documents' sizes in bytes, by path."""

    def has_below(self, folder: str) -> bool:
        """Return whether a document is in *folder*, at any depth."""
        return any(path.startswith(f"{folder}/") for path in self.sizes)

    def entries(self, folder: str) -> Iterator[Entry]:
        """Yield the entries directly in *folder*; an empty *folder* is the workspace."""
        prefix = f"{folder}/" if folder else ""
        folders: set[str] = set()
        for path, size in self.sizes.items():
            if not path.startswith(prefix):
                continue
            name, _, rest = path[len(prefix) :].partition("/")
            if not rest:
                yield Entry(name, "file", size)
            elif name not in folders:
                folders.add(name)
                yield Entry(name, "folder", 0)


def listing_of(caller: Caller, rt: ToolRuntime, cache: Cache) -> Listing:
    """List the documents that *caller* sees; the user's own hide global ones of the same path."""
    sizes: dict[str, int] = {}
    for scope in memories_of(caller):
        for path, size in _sizes(caller, rt, cache, scope).items():
            sizes.setdefault(path, size)
    return Listing(sizes)


def _sizes(caller: Caller, rt: ToolRuntime, cache: Cache, scope: MemoryScope) -> Mapping[str, int]:
    def load() -> Mapping[str, int]:
        return rt.store.transact(
            lambda rows: {one.path: len(one.content.encode()) for one in documents_in(rows, scope)}
        )

    return cache.get(rt.store, caller.tenant, scope.agent, ("sizes", *scope), load)
