"""Guards that require earlier calls or reads before a call, and the profile's messages after a call.

Files are identified by their inode, size and times, not by their path. Two names of one file are the same file, and a
file that was replaced or changed after it was read is another file. If a tool that is not listed under `writes`, such
as a shell, changes a file, the file must be read again.
"""

from collections.abc import Callable, Hashable, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple, TypeAlias

from toolcharter.api.call import Call, Deny, Outcome
from toolcharter.api.reasons import GuardReason, Reason
from toolcharter.errors import Denied, ToolError
from toolcharter.guards.session.state import Ending, Objection, Recent, SessionGuard, digest_args
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import AfterCall, DependsOn, ReadBeforeWrite

Matches = Callable[[Call], bool]


MAX_NEEDS = 1024
"""How many met needs a session remembers. An older need must be met again."""

Need = tuple[int, bytes]
"""An entry's number, and a digest of the arguments that both calls must share."""


class OrderFacts(NamedTuple):
    """The needs that a call has, and the needs of later calls that it satisfies."""

    needs: tuple[Need, ...]
    satisfies: tuple[Need, ...]


class OrderGuard(SessionGuard[Recent[Need], OrderFacts]):
    """Remembers which needs have been met by an ok call of the session. A need has to be met only once."""

    def __init__(self, entries: Sequence[DependsOn], matcher: Callable[[Rule], Matches]) -> None:
        self._entries = tuple(entries)
        self._needing = tuple(matcher(entry.match) for entry in entries)
        self._meeting = tuple(matcher(entry.needs) for entry in entries)

    def new_state(self) -> Recent[Need]:
        """The state before any need is met."""
        return Recent(MAX_NEEDS)

    def collect_facts(self, call: Call) -> OrderFacts:
        """Match the call against both sides of every entry: the calls that need another, and the needed calls."""
        return OrderFacts(self._of(self._needing, call), self._of(self._meeting, call))

    def _of(self, predicates: Sequence[Matches], call: Call) -> tuple[Need, ...]:
        return tuple(
            (number, digest_args(call.args, self._entries[number].args))
            for number, matches in enumerate(predicates)
            if matches(call)
        )

    def check(self, state: Recent[Need], call: Call, facts: OrderFacts) -> Objection:
        """Deny the call for its first need, in file order, that has not been met."""
        for need in facts.needs:
            if need not in state:
                entry = self._entries[need[0]]
                same = f" with the same {', '.join(map(repr, entry.args))}" if entry.args else ""
                ours = f"{call.tool!r} needs an earlier, successful call that matches {entry.needs.text!r}{same}."
                return Deny(Reason.PRECONDITION_FAILED, entry.message or ours)
        return None

    def on_end(self, state: Recent[Need], call: Call, facts: OrderFacts, ending: Ending) -> None:
        """Remember the needs that an ok call satisfies."""
        if ending.outcome == "ok":
            for need in facts.satisfies:
                state.add(need)


MAX_FILES = 1024
"""How many files a session remembers. An older file must be read again."""

Identify: TypeAlias = Callable[[str], Hashable | None]
"""Returns the identity of the file at a path: device, inode, size and times of change; None if there is no file.

Raises `Denied` or `ToolError` for a path that the path guard refuses."""

FileIdentities: TypeAlias = tuple[tuple[str, Hashable | None], ...] | None
"""Paths with the identities of their files; None if the call does not name its files."""


_NO_FILE = frozenset(
    {
        GuardReason.PATH_NOT_FOUND,
        GuardReason.NOT_DIRECTORY,
        GuardReason.IS_DIRECTORY,
        GuardReason.NOT_REGULAR,
        GuardReason.INVALID_PATH,
    }
)
"""Errors of the path guard for paths that cannot be written, either. A file that cannot be read is not among them."""


class ReadsGuard(SessionGuard[Recent[Hashable], FileIdentities]):
    """Remembers which files a session knows: those it has read, and those it has written successfully."""

    def __init__(self, settings: ReadBeforeWrite, identify: Identify) -> None:
        self._settings = settings
        self._identify = identify
        self._reads = frozenset(map(str.lower, settings.reads))
        self._writes = frozenset(map(str.lower, settings.writes))

    def new_state(self) -> Recent[Hashable]:
        """The state before any file is known."""
        return Recent(MAX_FILES)

    def collect_facts(self, call: Call) -> FileIdentities:
        """Identify the files of a writing call. For any other call, return no files."""
        return self._identify_files(call) if call.tool.lower() in self._writes else ()

    def refresh_facts(self, call: Call, facts: FileIdentities) -> FileIdentities:
        """Identify the files of a reading call, too: only a file that is the same before and after was surely read."""
        return self._identify_files(call) if call.tool.lower() in self._reads - self._writes else facts

    def _identify_files(self, call: Call) -> FileIdentities:
        paths = _paths(call.args.get(self._settings.argument))
        return None if paths is None else tuple((path, self._identify_file(path)) for path in paths)

    def _identify_file(self, path: str) -> Hashable | None:
        try:
            return self._identify(path)
        except Denied:
            return None  # The tool's own path guard will refuse the path with a better reason.
        except ToolError as error:
            return None if error.reason in _NO_FILE else object()
        except Exception:  # noqa: BLE001 - a file that cannot be identified counts as not read
            return object()

    def check(self, state: Recent[Hashable], call: Call, facts: FileIdentities) -> Objection:
        """Deny, or warn of, a write to an existing file that the session does not know. A new file loses no content."""
        if call.tool.lower() not in self._writes:
            return None
        if facts is None:
            argument = self._settings.argument
            message = f"{call.tool!r} must name the file it writes in {argument!r}, so that it can be read first."
            return self._object(message, f"Give {argument!r} as text.")
        unknown = [path for path, identity in facts if identity is not None and identity not in state]
        if not unknown:
            return None
        message = f"This session has not read the current version of {', '.join(map(repr, unknown))}; read it first."
        return self._object(message, f"Call {' or '.join(map(repr, self._settings.reads))}, then repeat this call.")

    def _object(self, message: str, hint: str) -> Deny | str:
        return Deny(Reason.PRECONDITION_FAILED, message, hint) if self._settings.mode == "strict" else message

    def facts_after(self, call: Call, facts: FileIdentities, ending: Ending) -> FileIdentities:
        """Return the files that the session now knows: those it wrote, and those that did not change while it read."""
        if not facts or ending.outcome != "ok":
            return ()
        now = ((path, self._identify_file(path)) for path, _ in facts)
        if call.tool.lower() in self._writes:
            return tuple(now)
        return tuple(identity for identity, before in zip(now, facts, strict=True) if identity == before)

    def on_end(self, state: Recent[Hashable], call: Call, facts: FileIdentities, ending: Ending) -> None:
        """Remember the files."""
        for _, identity in facts or ():
            if identity is not None:
                state.add(identity)


def _paths(value: Any) -> tuple[str, ...] | None:
    """Return the paths in an argument, which is one path or a list of paths; None for anything else."""
    values = tuple(value) if isinstance(value, list | tuple | set | frozenset) else (value,)
    return tuple(map(str, values)) if values and all(isinstance(path, str | PurePath) for path in values) else None


class Messages:
    """The profile's messages after calls, including denied calls. They need no state."""

    def __init__(self, entries: Sequence[AfterCall], matcher: Callable[[Rule], Callable[[Call], bool]]) -> None:
        self._entries = tuple((matcher(entry.match), frozenset(entry.outcomes), entry.message) for entry in entries)

    def after(self, call: Call, outcome: Outcome) -> tuple[str, ...]:
        """Return every message that matches the call and its outcome, in file order."""
        return tuple(
            message
            for matches, outcomes, message in self._entries
            if outcome in outcomes and _matches_safely(matches, call)
        )


def _matches_safely(matches: Callable[[Call], bool], call: Call) -> bool:
    try:
        return matches(call)
    except Exception:  # noqa: BLE001 - the body has run: arguments that cannot be matched must not cost its result
        return False
