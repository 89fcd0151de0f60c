"""The guards that remember a session's calls, bound to one toolbox: what matches, what a path leads to, whose call it is."""

import os
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from toolcharter.errors import ToolError
from toolcharter.gate.arguments import as_json
from toolcharter.gate.context import CallContext
from toolcharter.guards.memory.notes import with_notes
from toolcharter.guards.memory.session import SessionMemory
from toolcharter.guards.rates.answers import Keys
from toolcharter.policy.facts import Subject, ToolFacts
from toolcharter.policy.matching import Matcher
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import Memory, Notify, ReadBeforeWrite
from toolcharter.profile.shapes import same_tool
from toolcharter.spec.call import Call, Caller, Outcome, ToolResult
from toolcharter.spec.paths import Paths
from toolcharter.spec.reasons import GuardReason

if TYPE_CHECKING:
    from toolcharter.events.notify import Notifier
    from toolcharter.gate.passage import Passage

_NOBODY = "-"
"""The session, or the agent, of callers who name none: their calls are counted together, never not at all."""


def session_memory(settings: Memory, paths: Paths, facts: Mapping[str, ToolFacts]) -> SessionMemory | None:
    """The guards that *settings* switches on; None if there are none."""
    if settings == Memory():
        return None
    settings = settings._replace(read_before_write=_canonical(settings.read_before_write, facts))

    def matcher(rule: Rule) -> Callable[[Call], bool]:
        matches = Matcher(rule).denies
        return lambda call: matches(facts[call.tool], Subject(call.action, as_json(call.args), call.commands))

    memory = SessionMemory(settings, matcher=matcher, identify=lambda path: _identity(paths, path))
    return memory if memory.active else None


def _canonical(settings: ReadBeforeWrite, facts: Mapping[str, ToolFacts]) -> ReadBeforeWrite:
    """*settings* with the names that calls bear, where a profile writes an alias."""
    names = {same_tool(alias): name for name, tool in facts.items() for alias in tool.aliases}
    reads, writes = (
        tuple(names.get(same_tool(name), name) for name in written) for written in (settings.reads, settings.writes)
    )
    return settings._replace(reads=reads, writes=writes)


def _identity(paths: Paths, path: str) -> Hashable | None:
    """What *path* leads to now: another file, or the same one changed, is something else."""
    try:
        with paths.open_file(path) as file:
            found = os.fstat(file.fileno())
    except ToolError as error:
        if error.reason == GuardReason.PATH_NOT_FOUND:
            return None
        raise
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def keys_of(caller: Caller) -> Keys:
    """Whose calls those of *caller* count among."""
    return Keys(caller.session or caller.agent or _NOBODY, caller.agent or caller.session or _NOBODY)


def has_effects(call: Call) -> bool:
    """Whether the call may do more than read; what declares nothing may do anything."""
    declared = call.capabilities
    return declared is None or any(not word.endswith(":read") and word != "text" for word in declared)


def remember(passage: "Passage", ctx: CallContext, result: ToolResult) -> None:
    """Let the session's memory learn of a call that has ended, and add its lines for the model to the result."""
    memory = passage.shared.memory
    if memory is not None and ctx.stage != "arguments":
        notes = memory.after(passage.keys(ctx).session, passage.call_of(ctx), result.outcome, result.text)
        result.text = with_notes(result.text, notes)


def notifying(notifier: "Notifier", facts: ToolFacts) -> Callable[[CallContext, Outcome, bytes], None]:
    """Who has to be told of each call of a tool: a function of the call, its outcome and its closing line."""
    from toolcharter.events.notify import NOT_JUDGED  # noqa: PLC0415 - whoever has a notifier has loaded it

    matchers = {entry: tuple(map(Matcher, entry.match)) for entry in notifier.entries}

    def notify(ctx: CallContext, outcome: Outcome, lines: bytes) -> None:
        subject: Subject | None = None
        unread = ctx.stage == "floor" and not ctx.commands

        def matched(entry: Notify) -> str | None:
            nonlocal subject
            # Made in here: of arguments without a JSON form the notifier tells unjudged, and the call is over anyway.
            judged = subject = subject or Subject(ctx.action, as_json(ctx.values), ctx.commands)
            found = (matcher.rule.text for matcher in matchers[entry] if matcher.denies(facts, judged))
            # Of a line that nobody understands, nobody can say that it is not one of those somebody waits for.
            of_commands = unread and any(matcher.rule.prefix == "bash" for matcher in matchers[entry])
            return next(found, NOT_JUDGED if of_commands else None)

        found = notifier.wanting(outcome, matched)
        if found:
            fields: dict[str, Any] = orjson.loads(lines.rstrip(b"\n").rpartition(b"\n")[2])
            for wanted in found:
                notifier.offer(wanted, fields)

    return notify
