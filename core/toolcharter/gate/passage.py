"""`Passage`: the way of a call through the gate, stage by stage (design.md, section 5).

Synchronous calls take it here, in the caller's thread; `toolcharter.gate.awaiting` takes the same
stages from asynchronous code. Whatever happens on the way, `Closer.close` ends the call once.
"""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from toolcharter.errors import Denied, ToolError
from toolcharter.gate.arguments import ArgumentReader, InvalidArguments, as_json
from toolcharter.gate.beginning import begin
from toolcharter.gate.checks import Answer, Waiting, objections
from toolcharter.gate.closing import Closer, OutputLimit
from toolcharter.gate.commands import NOTHING, Understood, World, understood
from toolcharter.gate.context import CURRENT, CallContext
from toolcharter.gate.examine import examiner
from toolcharter.gate.function import ToolFunction
from toolcharter.gate.isolation import IsolatedBody
from toolcharter.gate.lazily import acall, heed_room, keys_of, notifying, overcome, remember
from toolcharter.gate.loop import is_the_callers, refuse_inside_loop
from toolcharter.gate.recording import as_text, record_program, told
from toolcharter.gate.shared import MAX_NESTING, Shared
from toolcharter.gate.shown import SHOWN, shown_action
from toolcharter.policy.facts import Refusal, Subject, ToolFacts
from toolcharter.policy.matching import argument
from toolcharter.policy.paths import with_plain_paths
from toolcharter.spec.call import Call, Caller, Decision, Invocation, ToolResult
from toolcharter.spec.reasons import HINTS, Reason
from toolcharter.spec.runtime import Completed
from toolcharter.spec.tool import ToolSpec

if TYPE_CHECKING:
    from toolcharter.guards.rates.answers import Keys

MAX_MEMO = 256
"""Of how many calls a tool's decisions are remembered, for each caller."""
MAX_MEMO_BYTES = 1024
"""Longer arguments are decided anew each time. Source: design.md, section 5, stage 3."""
_UNTOLD = Refusal(Reason.NOT_UNDERSTOOD, "The tool runs commands, and its spec has no `invocation` that tells them.")


@dataclass
class BuiltTool:
    """One tool of a profile, built: all that does not depend on who calls."""

    spec: ToolSpec[Any]
    plugin: str
    """The distribution that provides it."""
    policy: Any
    facts: ToolFacts
    """What rules see of it."""
    function: ToolFunction
    reader: ArgumentReader
    limit: OutputLimit
    timeout_s: float
    """In seconds; `inf` without a limit."""
    reasons: frozenset[str] | None
    isolated: IsolatedBody = field(default_factory=IsolatedBody)


class Passage:
    """The way of one tool's calls for one caller; made on first use, kept by the view."""

    def __init__(self, shared: Shared, tool: BuiltTool, caller: Caller) -> None:
        self.shared = shared
        self.tool = tool
        self.caller = caller
        spec = tool.spec
        self._name = spec.name
        self._lines = shared.lines.for_tool(spec.name, tool.plugin, caller)
        self._reader = tool.reader
        self._workspace = str(shared.workspace)
        self._shown = SHOWN[shared.args_detail]
        self.policy = shared.policy.for_tool(tool.facts, shared.availability.of(caller).get(spec.name))
        """What policy says of the tool for this caller."""
        self._always = self.policy.constant if spec.invocation is None else None
        # A rule of `deny` or `ask` on commands could never match its calls, whatever they run.
        self._untold = _UNTOLD if spec.kind == "bash" and self.policy.looks_at_commands else None
        self._memo: dict[bytes, tuple[str | None, tuple[str, ...], Decision, World | None]] = {}
        self.room = None if shared.rates is None else shared.rates.bind(spec.name, caller.agent)
        """The rate limits that concern it; None if there are none."""
        self._is_watched = bool(shared.checks) or shared.memory is not None
        """Whether anything but a rate limit stands between policy and the body."""
        self._keys = None if self.room is None and shared.memory is None else keys_of()(caller)
        self.examine = examiner(shared.profile, spec, tool.function, tool.reasons, strict=shared.strict)
        self.closer = Closer(
            shared,
            self._lines,
            tool.limit,
            tool.reasons,
            parse_output=spec.kind in {"cli", "custom"},
            staged=spec.staged,
            examine=self.examine,
            remember=None if shared.memory is None else partial(remember(), self),
            notify=None if shared.notifier is None else notifying()(shared.notifier, tool.facts),
        )

    def call(self, args: Mapping[str, Any], *, call_id: str | None = None, parent_id: str | None = None) -> ToolResult:
        """One governed call from synchronous code.

        Raises:
            SyncCallInLoop: The tool is asynchronous and an event loop runs in this thread.
            ToolboxClosed: The toolbox is closed.
        """
        if self.tool.function.is_async:
            refuse_inside_loop(self._name)
            return self.shared.loop.run(acall()(self, args, call_id=call_id, parent_id=parent_id))
        ctx = self.enter(args, call_id, parent_id)
        try:
            if ctx.outcome is None:
                if self._is_watched or ctx.decision.outcome == "ask":
                    overcome()(self, ctx)
                elif self.room is not None and (answer := self.room.take(self.keys(ctx))) is not None:
                    heed_room()(ctx, answer)
            if ctx.outcome is None and not ctx.closed:
                if self.tool.spec.isolate:
                    ctx = self.tool.isolated.run(ctx, self.body, self.time_out, self.interrupt)
                else:
                    self.body(ctx)
        except BaseException:
            self.interrupt(ctx)
            raise
        return self.closer.close(ctx)

    def enter(
        self, args: Mapping[str, Any], call_id: str | None, parent_id: str | None, *, dry: bool = False
    ) -> CallContext:
        """Stages 1 to 3, and the first half of the events; `outcome` is set if one of them ends it."""
        if self.shared.closed:
            self.shared.require_open()
        ctx = begin(self._name, self.caller, self.tool.timeout_s, call_id, parent_id, dry=dry)
        action, raw = None, b"null"
        try:
            action, raw = self._reader.canonical(args)
            ctx.values = self._reader.validate(raw)
        except InvalidArguments as error:
            ctx.fail("arguments", Reason.INVALID_ARGUMENTS, str(error))
        except Exception as error:  # noqa: BLE001 - a mapping or a validator of somebody's own may raise anything
            ctx.fail("arguments", Reason.INVALID_ARGUMENTS, f"The arguments cannot be read: {type(error).__name__}.")
        else:
            action = self.judge(ctx, raw)
        ctx.action = action
        ctx.tail = self._lines.tail(ctx.call_id, ctx.parent_id, shown_action(action), self._shown(raw))
        if ctx.outcome is None and (ctx.decision.outcome == "deny" or ctx.nesting > MAX_NESTING):
            self._refuse(ctx)
        if ctx.outcome is None and not dry:
            self._write_first_half(ctx)
        return ctx

    def judge(self, ctx: CallContext, raw: bytes) -> str | None:
        """Stage 3, remembered for arguments that come again; returns what the call does."""
        if self._always is not None:
            return _action(ctx)
        known = self._memo.get(raw)
        if known is None:
            subject, understanding = self.seen_by_policy(ctx)
            decision = self._decide(subject)
            known = subject.action, subject.commands, decision, self._to_look_at(decision, subject, understanding)
            if len(raw) <= MAX_MEMO_BYTES:
                if len(self._memo) >= MAX_MEMO:
                    self._memo.clear()
                self._memo[raw] = known
        action, ctx.commands, ctx.decision, world = known
        if world is not None:
            self._look(ctx, world)
        return action

    def _to_look_at(self, decision: Decision, subject: Subject, understanding: Understood) -> World | None:
        """What has to hold for commands that rules allow by their letters; `bash:*` allows them as they are."""
        if decision.stage == "ask":  # An `ask` rule takes no guard away from a call that `allow` covers.
            decision = self.policy.by_mode(subject)
        # What a tool of another kind looks at, its author has written, and no rule has allowed by its letters.
        is_command = self.tool.spec.kind not in {"cli", "custom"}
        by_letters = is_command and decision.outcome == "allow" and decision.rule is not None
        return understanding.world if by_letters and not self.policy.permits.name_everything else None

    def look(self, ctx: CallContext) -> None:
        """Stage 4 for a call that a kept approval allows: refuse it if its commands lead elsewhere than they seem to."""
        world = self.seen_by_policy(ctx)[1].world if ctx.commands else None
        if world is not None:
            self._look(ctx, world)

    def _look(self, ctx: CallContext, world: World) -> None:
        """Stage 4 for commands, whenever they come again: the world changes."""
        denied = self.shared.lookout.objection(world)
        if denied is not None:
            ctx.refuse("guard", denied.reason, denied.message, hint=denied.hint)

    def _decide(self, subject: Subject) -> Decision:
        try:
            return self.policy.decide(subject)
        except Exception as error:  # noqa: BLE001 - what cannot be decided is denied
            message = f"What the rules say of the call cannot be told: {type(error).__name__}."
            return Decision("deny", "floor", Reason.NOT_UNDERSTOOD, message)

    def subject(self, ctx: CallContext) -> Subject:
        """The call as rules see it."""
        return self.seen_by_policy(ctx)[0]

    def seen_by_policy(self, ctx: CallContext) -> tuple[Subject, Understood]:
        """The call as rules see it, and what is understood of its commands; defaults are filled in by now."""
        invocation = self.tool.spec.invocation
        try:
            given = as_json(ctx.values)
            plain = with_plain_paths(given, self.tool.spec.path_arguments, self._workspace)
            args = self._seen_by_rules(plain)
            written = None if plain is given else self._seen_by_rules(given)
            if invocation is None:
                return Subject(_action(ctx), args, (), self._untold, written=written), NOTHING
            action, commands = _told_apart(invocation(MappingProxyType(ctx.values)))
        except Exception as error:  # noqa: BLE001 - what cannot be told apart cannot be permitted
            message = f"What the call would do cannot be told: {type(error).__name__}."
            return Subject(None, {}, (), Refusal(Reason.NOT_UNDERSTOOD, message)), NOTHING
        found = understood(commands, self._workspace, self.shared.tables)
        return Subject(action, args, found.commands, found.refusal, found.needs, found.strange, written), found

    def _seen_by_rules(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """*args* under their other names, too: a rule may have been written with one of them."""
        aliases = self.tool.spec.argument_aliases
        if not aliases:
            return args
        return {**{alias: args[name] for alias, name in aliases.items() if name in args}, **args}

    def is_hindered(self, ctx: CallContext) -> bool:
        """Whether anything stands between policy and the body."""
        return self._is_watched or self.room is not None or ctx.decision.outcome == "ask"

    def keys(self, ctx: CallContext) -> "Keys":
        """Whose calls *ctx* counts among: those of the caller at the top, so that a subagent has its parent's limits."""
        known = self._keys
        return known if known is not None and ctx.root is self.caller else keys_of()(ctx.root)

    def _refuse(self, ctx: CallContext) -> None:
        decision = ctx.decision
        if decision.outcome == "deny":
            hint = decision.hint or HINTS.get(str(decision.reason))
            if hint is None and decision.stage == "deny":  # A rule that gives a reason of its own.
                hint = HINTS[Reason.DENIED_BY_RULE]
            ctx.refuse(decision.stage, decision.reason or "", decision.message, hint=hint)
            ctx.rule = decision.rule
        else:
            ctx.fail("guard", Reason.TOOL_ERROR, f"Calls are nested more than {MAX_NESTING} deep.")

    def _write_first_half(self, ctx: CallContext) -> None:
        shared = self.shared
        shared.live[ctx.live_key] = ctx, self.interrupt
        ctx.first_half_written = True
        try:
            taken = shared.emitter.emit(self._lines.first_half(ctx.tail))
        except BaseException:
            self.interrupt(ctx)
            raise
        if not taken and shared.required:
            ctx.refuse("audit", Reason.AUDIT_UNAVAILABLE, "An event sink that the profile requires cannot be written.")

    def call_of(self, ctx: CallContext) -> Call:
        """The call as checks and guards see it, made once."""
        if ctx.seen is None:
            spec = self.tool.spec
            ctx.seen = Call(
                tool=spec.name,
                action=ctx.action,
                args=MappingProxyType(ctx.values),  # what a check has seen is what the body gets
                caller=self.caller,
                call_id=ctx.call_id,
                parent_id=ctx.parent_id,
                profile=self.shared.profile,
                workspace=self.shared.workspace,
                kind=spec.kind,
                capabilities=spec.capabilities_of(ctx.action),
                safety=spec.safety,
                dry_run=ctx.dry,
                commands=ctx.commands,
            )
        return ctx.seen

    def objections(self, ctx: CallContext) -> Generator[Waiting, Any, Answer]:
        """The checks' generator for *ctx*; see `toolcharter.gate.checks`."""
        return objections(
            self.shared.checks, self.call_of(ctx), ctx.deadline, lambda: ctx.fault("advisory_check_failed")
        )

    def body(self, ctx: CallContext) -> None:
        """Stage 7 in the present thread: run the body, and record what it did."""
        token = CURRENT.set(ctx)
        try:
            self.returned(ctx, self.tool.function.call(**ctx.values))
        except BaseException as error:
            if is_the_callers(error):
                raise
            self.failed(ctx, error)
        finally:
            CURRENT.reset(token)

    def returned(self, ctx: CallContext, value: Any) -> None:
        """Record a body's end: a plain return is ok; past the deadline only what has changed a file is."""
        if ctx.outcome is None:
            if isinstance(value, ToolResult):
                ctx.adopt(value)
            elif isinstance(value, Completed):
                record_program(ctx, value)
            else:
                ctx.text, ctx.data = as_text(value)
                ctx.outcome = "ok"
        if monotonic() > ctx.deadline and ctx.outcome != "denied" and not _stays_ok(ctx):
            self.time_out(ctx)

    def failed(self, ctx: CallContext, error: BaseException) -> None:
        """Record an exception that left the body; one after the outcome is only a fault."""
        if ctx.outcome is not None:
            ctx.fault("raised_after_end")
        elif isinstance(error, Denied):
            ctx.deny(error.reason, error.message, hint=error.hint)
        elif isinstance(error, ToolError):
            ctx.error(error.message, reason=error.reason, hint=error.hint, retryable=error.retryable)
        else:
            what = told(error)
            ctx.error(f"ERROR: {Reason.UNEXPECTED_FAILURE}: {what}", reason=Reason.UNEXPECTED_FAILURE)
            ctx.message = what
        if monotonic() > ctx.deadline and ctx.outcome != "denied":
            self.time_out(ctx)

    def time_out(self, ctx: CallContext) -> None:
        """Replace whatever the body recorded by `timed_out`."""
        ctx.drop_result()
        message = f"The call took longer than its limit of {self.tool.timeout_s:g} s; its result is dropped."
        ctx.fail("limit", Reason.TIMED_OUT, message)

    def interrupt(self, ctx: CallContext) -> None:
        """Close *ctx* because an interrupt or a cancellation passes through the gate."""
        if not ctx.closed:
            self.shared.withdraw(ctx)
            ctx.drop_result()
            ctx.fail("tool", Reason.CANCELLED, "The caller cancelled the call.")
            self.closer.close(ctx)


def _stays_ok(ctx: CallContext) -> bool:
    """Whether a late call has changed a file and ended well. It stays `ok`: a caller who reads `timed_out` would repeat it."""
    return ctx.outcome == "ok" and ctx.changed


def _action(ctx: CallContext) -> str | None:
    """What the call does, by default."""
    action = argument(ctx.values, "action")
    return action if isinstance(action, str) else None


def _told_apart(invocation: Invocation) -> tuple[str | None, Iterable[str | tuple[str, ...]]]:
    """What a tool says of a call, if it is what the types say."""
    action, commands = invocation.action, invocation.commands
    if not (action is None or isinstance(action, str)) or not isinstance(commands, tuple):
        raise TypeError("an invocation is an action and a tuple of commands")
    return action, commands
