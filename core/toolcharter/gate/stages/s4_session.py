"""Stage 4, the session guards, which remember a session's calls: rule matchers, file identities, cached reads."""

import os
from collections.abc import Callable, Collection, Container, Hashable, Mapping
from typing import TypeVar

from toolcharter.api.call import Call, Deny, ToolResult
from toolcharter.api.paths import Paths
from toolcharter.api.reasons import GuardReason, Reason
from toolcharter.errors import ToolError
from toolcharter.gate.call import CallContext, to_json_values
from toolcharter.guards.session.cached import CachedReads
from toolcharter.guards.session.guards import ActiveSessionGuards
from toolcharter.guards.session.state import with_notes
from toolcharter.policy.matching import Matcher
from toolcharter.policy.rule_input import RuleInput, ToolFacts
from toolcharter.profile.names import fold_tool_name
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import ReadBeforeWrite, SessionGuards

T = TypeVar("T")


class SessionStage:
    """The session guards of a toolbox: asked before each call, notified after it."""

    def __init__(
        self, guards: ActiveSessionGuards, cached: CachedReads | None = None, known: Container[str] = ()
    ) -> None:
        self._guards = guards
        self._cached = cached
        self._known = known
        self.switched_on = guards.switched_on
        """The profile's keys of the guards that are switched on, for people."""

    def check(self, ctx: CallContext, call: Call, session: str) -> None:
        """Refuse *ctx* if a guard objects. A refused call counts, too, so that its repetitions are noticed."""
        verdict = _run_guard(lambda: self._guards.before(session, call))
        if isinstance(verdict, Deny):
            if not ctx.dry:
                self.count(ctx, call, session)
            if ctx.outcome is None:
                ctx.refuse("guard", verdict.reason, verdict.message, hint=verdict.hint)

    def count(self, ctx: CallContext, call: Call, session: str) -> None:
        """Count the call just before its body; a guard may still refuse it."""
        verdict = _run_guard(lambda: self._guards.entered(session, call, has_effects=has_effects(call)))
        if verdict is not None:
            ctx.refuse("guard", verdict.reason, verdict.message, hint=verdict.hint)

    def cached_result(self, call: Call, session: str) -> ToolResult | None:
        """Return a cached result instead of running the call's body; None if the body must run."""
        if self._cached is None or call.tool not in self._known:
            return None
        return self._cached.find(session, call)

    def enter(self, call: Call) -> None:
        """Record that the call enters its body."""
        if self._cached is not None:
            self._cached.entered(call, has_effects=has_effects(call))

    def remember(self, call: Call, session: str, result: ToolResult, *, goes_on: bool = False) -> None:
        """Notify the guards of an ended call, and add their notes for the model to its result.

        Args:
            call: The call.
            session: The key of the call's session.
            result: The result; the notes are added to its text.
            goes_on: Whether the body was abandoned and still runs, so that its effects come later.
        """
        if self._cached is not None and not goes_on:
            self._cached.ended(session, call, result)
        result.text = with_notes(result.text, self._guards.after(session, call, result.outcome, result.text))

    def forget(self, session: str, call_ids: Collection[str]) -> None:
        """Forget these calls, by default all of the session, because the model no longer sees their results."""
        self._guards.forget(session, call_ids)


def session_stage(settings: SessionGuards, paths: Paths, facts: Mapping[str, ToolFacts]) -> SessionStage | None:
    """Build the guards that *settings* switches on; None if there are none."""
    if settings == SessionGuards():
        return None
    settings = settings._replace(read_before_write=_replace_tool_aliases(settings.read_before_write, facts))

    def matcher(rule: Rule) -> Callable[[Call], bool]:
        matches = Matcher(rule).denies
        return lambda call: matches(facts[call.tool], RuleInput(call.action, to_json_values(call.args), call.commands))

    guards = ActiveSessionGuards(settings, matcher=matcher, identify=lambda path: _file_identity(paths, path))
    seconds = settings.cached_reads.seconds
    cached = None if seconds is None else CachedReads(seconds)
    return SessionStage(guards, cached, facts) if guards.active or cached else None


def _replace_tool_aliases(settings: ReadBeforeWrite, facts: Mapping[str, ToolFacts]) -> ReadBeforeWrite:
    """Replace the aliases of tools in *settings* by the tools' names, which calls have."""
    names = {fold_tool_name(alias): name for name, tool in facts.items() for alias in tool.aliases}
    reads, writes = (
        tuple(names.get(fold_tool_name(name), name) for name in written)
        for written in (settings.reads, settings.writes)
    )
    return settings._replace(reads=reads, writes=writes)


def _file_identity(paths: Paths, path: str) -> Hashable | None:
    """Return an identity of the file at *path*, which changes with the file; None if there is no file."""
    try:
        with paths.open_file(path) as file:
            found = os.fstat(file.fileno())
    except ToolError as error:
        if error.reason == GuardReason.PATH_NOT_FOUND:
            return None
        raise
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def has_effects(call: Call) -> bool:
    """Whether the call may do more than read. A tool that declares no capabilities may do anything."""
    declared = call.capabilities
    return declared is None or any(not word.endswith(":read") and word != "text" for word in declared)


def _run_guard(judge: Callable[[], T]) -> T | Deny:
    """Run a guard's judgement; an exception, such as for arguments that its patterns cannot match, is a denial."""
    try:
        return judge()
    except Exception as error:  # noqa: BLE001 - a call that cannot be judged is denied
        message = f"The guards of the session cannot judge the call: {type(error).__name__}."
        return Deny(Reason.NOT_UNDERSTOOD, message)
