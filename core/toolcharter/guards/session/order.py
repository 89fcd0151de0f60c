"""What has to come before a call, and the notes to the model after one.

A file is known by the file that its path leads to, not by the path: two names of one file are one, and a file that
was replaced or changed since it was read is another. Whatever changed it: a change by a tool that is not listed
under `writes`, a shell for one, calls for reading it again.
"""

from collections.abc import Callable, Hashable, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple, TypeAlias

from toolcharter.api.call import Call, Deny, Outcome
from toolcharter.api.reasons import GuardReason, Reason
from toolcharter.errors import Denied, ToolError
from toolcharter.guards.session.state import Ending, Objection, Recent, SessionGuard, of_args
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import AfterCall, DependsOn, ReadBeforeWrite

Matches = Callable[[Call], bool]


MAX_NEEDS = 1024
"""How many needs a session remembers as met; an older one must be met again."""

Need = tuple[int, bytes]
"""An entry's number, and the arguments that both calls must share."""


class Place(NamedTuple):
    """A call's place in the order: what it needs, and what it meets."""

    needs: tuple[Need, ...]
    meets: tuple[Need, ...]


class OrderGuard(SessionGuard[Recent[Need], Place]):
    """Remembers which needs of the profile an ok call of the session has met; once is enough."""

    def __init__(self, entries: Sequence[DependsOn], matcher: Callable[[Rule], Matches]) -> None:
        self._entries = tuple(entries)
        self._needing = tuple(matcher(entry.match) for entry in entries)
        self._meeting = tuple(matcher(entry.needs) for entry in entries)

    def fresh(self) -> Recent[Need]:
        """Nothing is met yet."""
        return Recent(MAX_NEEDS)

    def look(self, call: Call) -> Place:
        """Both sides of every entry."""
        return Place(self._of(self._needing, call), self._of(self._meeting, call))

    def _of(self, predicates: Sequence[Matches], call: Call) -> tuple[Need, ...]:
        return tuple(
            (number, of_args(call.args, self._entries[number].args))
            for number, matches in enumerate(predicates)
            if matches(call)
        )

    def check(self, state: Recent[Need], call: Call, facts: Place) -> Objection:
        """Deny for the first need, in file order, that nothing has met."""
        for need in facts.needs:
            if need not in state:
                entry = self._entries[need[0]]
                same = f" with the same {', '.join(map(repr, entry.args))}" if entry.args else ""
                ours = f"{call.tool!r} needs an earlier call that matches {entry.needs.text!r}{same} and ends well."
                return Deny(Reason.PRECONDITION_FAILED, entry.message or ours)
        return None

    def leave(self, state: Recent[Need], call: Call, facts: Place, ending: Ending) -> None:
        """An ok call meets what it fulfils."""
        if ending.outcome == "ok":
            for need in facts.meets:
                state.add(need)


MAX_FILES = 1024
"""How many files a session remembers; an older one must be read again."""

Identify: TypeAlias = Callable[[str], Hashable | None]
"""What a path leads to now: device, inode, size and times of change; None if nothing lies there.

Raises `Denied` or `ToolError` for a path that the path guard refuses."""

Sights: TypeAlias = tuple[tuple[str, Hashable | None], ...] | None
"""Paths and what they lead to; None if the call does not say which files it is about."""


_NO_FILE = frozenset(
    {
        GuardReason.PATH_NOT_FOUND,
        GuardReason.NOT_DIRECTORY,
        GuardReason.IS_DIRECTORY,
        GuardReason.NOT_REGULAR,
        GuardReason.INVALID_PATH,
    }
)
"""What the path guard says where no file can be written either; a file that only cannot be read is not among it."""


class ReadsGuard(SessionGuard[Recent[Hashable], Sights]):
    """Remembers which files a session knows; a write of its own that went well counts as knowing."""

    def __init__(self, settings: ReadBeforeWrite, identify: Identify) -> None:
        self._settings = settings
        self._identify = identify
        self._reads = frozenset(map(str.lower, settings.reads))
        self._writes = frozenset(map(str.lower, settings.writes))

    def fresh(self) -> Recent[Hashable]:
        """No file is known yet."""
        return Recent(MAX_FILES)

    def look(self, call: Call) -> Sights:
        """What the files are that a writing call is about; of any other call, nothing."""
        return self._sights(call) if call.tool.lower() in self._writes else ()

    def look_in(self, call: Call, facts: Sights) -> Sights:
        """The same of a reading call: it may read only what lies there before and after."""
        return self._sights(call) if call.tool.lower() in self._reads - self._writes else facts

    def _sights(self, call: Call) -> Sights:
        paths = _paths(call.args.get(self._settings.argument))
        return None if paths is None else tuple((path, self._sight(path)) for path in paths)

    def _sight(self, path: str) -> Hashable | None:
        try:
            return self._identify(path)
        except Denied:
            return None  # The tool's own path guard says why, better than this one could.
        except ToolError as error:
            return None if error.reason in _NO_FILE else object()
        except Exception:  # noqa: BLE001 - what cannot be seen is not known, and must not pass
            return object()

    def check(self, state: Recent[Hashable], call: Call, facts: Sights) -> Objection:
        """Deny, or warn of, writing what the session does not know; new files lose nothing."""
        if call.tool.lower() not in self._writes:
            return None
        if facts is None:
            argument = self._settings.argument
            message = f"{call.tool!r} must name the file it writes in {argument!r}, so that it can be read first."
            return self._object(message, f"Give {argument!r} as text.")
        unknown = [path for path, sight in facts if sight is not None and sight not in state]
        if not unknown:
            return None
        message = f"This session has not read {', '.join(map(repr, unknown))} as it is now; read it first."
        return self._object(message, f"Call {' or '.join(map(repr, self._settings.reads))}, then repeat this call.")

    def _object(self, message: str, hint: str) -> Deny | str:
        return Deny(Reason.PRECONDITION_FAILED, message, hint) if self._settings.mode == "strict" else message

    def look_back(self, call: Call, facts: Sights, ending: Ending) -> Sights:
        """What the session knows now: what it wrote as it is now, what it read if nothing was written meanwhile."""
        if not facts or ending.outcome != "ok":
            return ()
        now = ((path, self._sight(path)) for path, _ in facts)
        if call.tool.lower() in self._writes:
            return tuple(now)
        return tuple(sight for sight, before in zip(now, facts, strict=True) if sight == before)

    def leave(self, state: Recent[Hashable], call: Call, facts: Sights, ending: Ending) -> None:
        """Remember the files."""
        for _, sight in facts or ():
            if sight is not None:
                state.add(sight)


def _paths(value: Any) -> tuple[str, ...] | None:
    """One path or several; None for what is neither."""
    values = tuple(value) if isinstance(value, list | tuple | set | frozenset) else (value,)
    return tuple(map(str, values)) if values and all(isinstance(path, str | PurePath) for path in values) else None


class Messages:
    """The profile's messages; they need no memory, only the end of a call, denied ones included."""

    def __init__(self, entries: Sequence[AfterCall], matcher: Callable[[Rule], Callable[[Call], bool]]) -> None:
        self._entries = tuple((matcher(entry.match), frozenset(entry.outcomes), entry.message) for entry in entries)

    def after(self, call: Call, outcome: Outcome) -> tuple[str, ...]:
        """Every message that fits, in file order."""
        return tuple(
            message for matches, outcomes, message in self._entries if outcome in outcomes and _fits(matches, call)
        )


def _fits(matches: Callable[[Call], bool], call: Call) -> bool:
    try:
        return matches(call)
    except Exception:  # noqa: BLE001 - the body has run: arguments that cannot be looked at must not cost its result
        return False
