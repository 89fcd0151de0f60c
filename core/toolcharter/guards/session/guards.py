"""`ActiveSessionGuards`: the guards that a profile has switched on, and what they know of each session."""

from collections.abc import Callable, Collection, Iterator
from threading import Lock
from typing import Any

from toolcharter._fork import renew_in_child
from toolcharter.api.call import Call, Deny, Outcome
from toolcharter.guards.session.order import Identify, Messages, OrderGuard, ReadsGuard
from toolcharter.guards.session.progress import NoProgressGuard, ReadStreakGuard
from toolcharter.guards.session.repeats import DuplicatesGuard, RepeatsGuard, ResultsGuard
from toolcharter.guards.session.state import MAX_SESSIONS, Ending, Flight, Session, SessionGuard, Sessions, note
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import ReadBeforeWrite, ReadStreak, Repeats, SessionGuards

Matcher = Callable[[Rule], Callable[[Call], bool]]
Verdict = Deny | tuple[str, ...]


class ActiveSessionGuards:
    """The guards with memory of one toolbox. Thread-safe.

    A real call takes `before`, where a denial saves asking anybody; then `entered`, once, after a denial by
    `before` or at the last moment before the body; then `after`, whatever came of it. A dry run takes `before`
    alone. Guards object in the order: what must come first, then what need not come again.

    Args:
        settings: What the profile says under `guards`.
        matcher: Turns a rule into the question whether a call matches it; pure.
        identify: What a path leads to now; asked outside the lock.
        max_sessions: How many sessions are remembered; the least recently used idle one is dropped first.
    """

    def __init__(
        self, settings: SessionGuards, *, matcher: Matcher, identify: Identify, max_sessions: int = MAX_SESSIONS
    ) -> None:
        self._guards = tuple(_guards(settings, matcher, identify))
        self._messages = Messages(settings.after_call, matcher)
        self._sessions = Sessions(self._fresh, max_sessions)
        self._lock = Lock()
        renew_in_child(self)
        self.active = bool(self._guards or settings.after_call)
        """Whether anything is switched on; if not, no method need be called."""
        self.switched_on = _switched_on(settings)
        """The keys under `guards` that are, for people."""

    def renew(self) -> None:
        """In a fork's child: a thread that is the parent's may hold the lock."""
        self._lock = Lock()

    def _fresh(self) -> Session:
        return Session(tuple(guard.fresh() for guard in self._guards))

    def before(self, key: str, call: Call) -> Verdict:
        """The answer that the guards would give to *call* now. Remembers nothing.

        Args:
            key: The session, never empty.
            call: With validated arguments.

        Returns:
            The first denial, or the warnings, each a line for the model.
        """
        facts = self._look(call)
        with self._lock:
            return self._check(self._sessions.seen(key), call, facts)

    def entered(self, key: str, call: Call, *, has_effects: bool) -> Deny | None:
        """Judge *call* once more, and count it, in one step: of two at once only one is the last.

        Args:
            key: The session.
            call: The very object that `after` will be given.
            has_effects: Whether its capabilities are more than reading, or unknown.

        Returns:
            Why it must not enter after all, or None; warnings come out of `after`.
        """
        facts = tuple(guard.look_in(call, fact) for guard, fact in zip(self._guards, self._look(call), strict=True))
        with self._lock:
            session = self._sessions.used(key)
            verdict = self._check(session, call, facts)
            steps = tuple(zip(self._guards, session.states, facts, strict=True))
            for guard, state, fact in steps:
                guard.count(state, fact)
            if isinstance(verdict, Deny):
                return verdict
            kept = tuple(guard.enter(state, fact, has_effects=has_effects) for guard, state, fact in steps)
            session.flights[id(call)] = Flight(call, kept, has_effects, verdict)
            return None

    def after(self, key: str, call: Call, outcome: Outcome, text: str) -> tuple[str, ...]:
        """Remember how *call* ended.

        Args:
            key: The session.
            call: The object that `entered` was given; one that has not entered leaves no trace.
            outcome: `denied`, no matter which stage denied it.
            text: The model's text, scrubbed and cut, without notes.

        Returns:
            The lines for the model behind the text: warnings, what the result shows, the profile's messages.
        """
        with self._lock:
            flight = self._sessions.seen(key).flights.get(id(call))
        notes = () if flight is None else (*flight.notes, *self._land(key, flight, outcome, text))
        return (*notes, *map(note, self._messages.after(call, outcome)))

    def forget(self, key: str, call_ids: Collection[str]) -> None:
        """Take note that the model no longer sees results of a session.

        Args:
            key: The session.
            call_ids: Whose results; empty for all of them.
        """
        with self._lock:
            for guard, state in zip(self._guards, self._sessions.seen(key).states, strict=True):
                guard.forget(state, call_ids)

    def _land(self, key: str, flight: Flight, outcome: Outcome, text: str) -> list[str]:
        call, ending = flight.call, Ending(outcome, text, flight.has_effects)
        facts = [guard.look_back(call, fact, ending) for guard, fact in zip(self._guards, flight.facts, strict=True)]
        with self._lock:
            session = self._sessions.used(key)
            if session.flights.pop(id(call), None) is None:
                return []
            steps = zip(self._guards, session.states, facts, strict=True)
            said = [guard.leave(state, call, fact, ending) for guard, state, fact in steps]
        return [note(line) for line in said if line is not None]

    def _look(self, call: Call) -> tuple[Any, ...]:
        return tuple(guard.look(call) for guard in self._guards)

    def _check(self, session: Session, call: Call, facts: tuple[Any, ...]) -> Verdict:
        notes: list[str] = []
        for guard, state, fact in zip(self._guards, session.states, facts, strict=True):
            objection = guard.check(state, call, fact)
            if isinstance(objection, Deny):
                return objection
            if objection is not None:
                notes.append(note(objection))
        return tuple(notes)


def _switched_on(settings: SessionGuards) -> tuple[str, ...]:
    written = settings._replace(read_before_write=ReadBeforeWrite(mode=settings.read_before_write.mode))
    return tuple(key for key, usual in SessionGuards()._asdict().items() if getattr(written, key) != usual)


def _guards(settings: SessionGuards, matcher: Matcher, identify: Identify) -> Iterator[SessionGuard[Any, Any]]:
    """The guards that are switched on, in the order they object."""
    if settings.depends_on:
        yield OrderGuard(settings.depends_on, matcher)
    if settings.read_before_write.mode != "off":
        yield ReadsGuard(settings.read_before_write, identify)
    if settings.skip_duplicate:
        yield DuplicatesGuard(settings.skip_duplicate, matcher)
    if settings.repeated_calls != Repeats():
        yield RepeatsGuard(settings.repeated_calls)
    if settings.same_result != Repeats():
        yield ResultsGuard(settings.same_result)
    if settings.no_progress != Repeats():
        yield NoProgressGuard(settings.no_progress)
    if settings.read_streak != ReadStreak():
        yield ReadStreakGuard(settings.read_streak)
