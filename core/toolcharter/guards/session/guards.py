"""`ActiveSessionGuards`: the guards that a profile has switched on, and their state for each session."""

from collections.abc import Callable, Collection, Iterator
from threading import Lock
from typing import Any

from toolcharter._fork import renew_in_child
from toolcharter.api.call import Call, Deny, Outcome
from toolcharter.guards.session.order import Identify, Messages, OrderGuard, ReadsGuard
from toolcharter.guards.session.progress import NoProgressGuard, ReadStreakGuard
from toolcharter.guards.session.repeats import DuplicatesGuard, RepeatsGuard, ResultsGuard
from toolcharter.guards.session.state import MAX_SESSIONS, Ending, RunningCall, Session, SessionGuard, Sessions, note
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import ReadBeforeWrite, ReadStreak, Repeats, SessionGuards

Matcher = Callable[[Rule], Callable[[Call], bool]]
Verdict = Deny | tuple[str, ...]


class ActiveSessionGuards:
    """The session guards of one toolbox. Thread-safe.

    For a real call, the gate first calls `before`: a denial there saves asking the user. It then calls `entered` once,
    after a denial by `before` or at the last moment before the body, and then `after`, whatever the outcome. For a dry
    run it only calls `before`. Guards that require an earlier call come first, then those that refuse a repeated one.

    Args:
        settings: The profile's `session_guards`.
        matcher: Turns a rule into a pure function that says whether a call matches it.
        identify: Returns the identity of the file to which a path currently leads. Called outside the lock.
        max_sessions: How many sessions are remembered. The least recently used idle session is dropped first.
    """

    def __init__(
        self, settings: SessionGuards, *, matcher: Matcher, identify: Identify, max_sessions: int = MAX_SESSIONS
    ) -> None:
        self._guards = tuple(_guards(settings, matcher, identify))
        self._messages = Messages(settings.after_call, matcher)
        self._sessions = Sessions(self._new_session, max_sessions)
        self._lock = Lock()
        renew_in_child(self)
        self.active = bool(self._guards or settings.after_call)
        """Whether any guard or message is switched on. If not, no method needs to be called."""
        self.switched_on = _switched_on(settings)
        """The keys under `session_guards` that are switched on, to show them to the user."""

    def renew(self) -> None:
        """Replace the lock in a forked child: a thread of the parent may have held it."""
        self._lock = Lock()

    def _new_session(self) -> Session:
        return Session(tuple(guard.new_state() for guard in self._guards))

    def before(self, key: str, call: Call) -> Verdict:
        """Check *call* against the current state, and remember nothing.

        Args:
            key: The session, never empty.
            call: The call, with validated arguments.

        Returns:
            The first denial, or the warnings, each a line for the model.
        """
        facts = self._collect_facts(call)
        with self._lock:
            return self._check(self._sessions.peek(key), call, facts)

    def entered(self, key: str, call: Call, *, has_effects: bool) -> Deny | None:
        """Check *call* again and count it, in one step, so that of two concurrent calls only one is the last allowed.

        Args:
            key: The session.
            call: The call: the same object that `after` will get.
            has_effects: Whether its capabilities are more than reading, or unknown.

        Returns:
            A denial, or None. `after` returns the warnings.
        """
        facts = tuple(
            guard.refresh_facts(call, fact) for guard, fact in zip(self._guards, self._collect_facts(call), strict=True)
        )
        with self._lock:
            session = self._sessions.touch(key)
            verdict = self._check(session, call, facts)
            steps = tuple(zip(self._guards, session.states, facts, strict=True))
            for guard, state, fact in steps:
                guard.count(state, fact)
            if isinstance(verdict, Deny):
                return verdict
            kept = tuple(guard.on_enter(state, fact, has_effects=has_effects) for guard, state, fact in steps)
            session.running[id(call)] = RunningCall(call, kept, has_effects, verdict)
            return None

    def after(self, key: str, call: Call, outcome: Outcome, text: str) -> tuple[str, ...]:
        """Remember how *call* ended.

        Args:
            key: The session.
            call: The object that `entered` got. A call that has not entered its tool is not remembered.
            outcome: `denied` if any stage denied the call.
            text: The text for the model, scrubbed and truncated, without notes.

        Returns:
            The lines for the model after the text: warnings, notes on the result, and the profile's messages.
        """
        with self._lock:
            running = self._sessions.peek(key).running.get(id(call))
        notes = () if running is None else (*running.notes, *self._end_call(key, running, outcome, text))
        return (*notes, *map(note, self._messages.after(call, outcome)))

    def forget(self, key: str, call_ids: Collection[str]) -> None:
        """Note that the model no longer sees results of a session.

        Args:
            key: The session.
            call_ids: The calls whose results are gone; empty for all of them.
        """
        with self._lock:
            for guard, state in zip(self._guards, self._sessions.peek(key).states, strict=True):
                guard.forget(state, call_ids)

    def _end_call(self, key: str, running: RunningCall, outcome: Outcome, text: str) -> list[str]:
        call, ending = running.call, Ending(outcome, text, running.has_effects)
        facts = [guard.facts_after(call, fact, ending) for guard, fact in zip(self._guards, running.facts, strict=True)]
        with self._lock:
            session = self._sessions.touch(key)
            if session.running.pop(id(call), None) is None:
                return []
            steps = zip(self._guards, session.states, facts, strict=True)
            messages = [guard.on_end(state, call, fact, ending) for guard, state, fact in steps]
        return [note(line) for line in messages if line is not None]

    def _collect_facts(self, call: Call) -> tuple[Any, ...]:
        return tuple(guard.collect_facts(call) for guard in self._guards)

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
    """Yield the guards that are switched on, in the order in which they check a call."""
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
