"""`Passage`: the way of a call through the gate, stage by stage (design.md, section 5).

Synchronous calls take it here, in the caller's thread; `toolcharter.gate.awaiting` takes the same
stages from asynchronous code. Whatever happens on the way, `Closer.close` ends the call once.
"""

from collections.abc import AsyncIterator, Awaitable, Coroutine, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic
from types import MappingProxyType
from typing import Any

import orjson

from toolcharter.errors import Denied, ToolError
from toolcharter.gate.arguments import ArgumentReader, InvalidArguments
from toolcharter.gate.beginning import begin
from toolcharter.gate.checks import Answer, Waiting, objections
from toolcharter.gate.closing import Closer, OutputLimit
from toolcharter.gate.context import CURRENT, CallContext
from toolcharter.gate.examine import examiner
from toolcharter.gate.function import ToolFunction
from toolcharter.gate.isolation import IsolatedBody
from toolcharter.gate.lazily import acall
from toolcharter.gate.loop import is_the_callers, refuse_inside_loop
from toolcharter.gate.shared import MAX_NESTING, Shared
from toolcharter.gate.shown import SHOWN, shown_action
from toolcharter.spec.call import Call, Caller, Decision, Deny, ToolResult
from toolcharter.spec.reasons import Reason
from toolcharter.spec.runtime import Completed
from toolcharter.spec.tool import ToolSpec


@dataclass
class BuiltTool:
    """One tool of a profile, built: all that does not depend on who calls."""

    spec: ToolSpec[Any]
    plugin: str
    """The distribution that provides it."""
    policy: Any
    decision: Decision
    """What policy says of every call of it."""
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
        self._shown = SHOWN[shared.args_detail]
        self._denied = None if tool.decision.outcome == "allow" else tool.decision
        self.examine = examiner(shared.profile, spec, tool.function, tool.reasons, strict=shared.strict)
        self.closer = Closer(
            shared,
            self._lines,
            tool.limit,
            tool.reasons,
            parse_output=spec.kind in {"cli", "custom"},
            staged=spec.staged,
            examine=self.examine,
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
            if ctx.outcome is None and self.shared.checks:
                self.heed(ctx, self.object_to(ctx))
            if ctx.outcome is None:
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
            action = self._action(ctx)
        ctx.action = action
        ctx.tail = self._lines.tail(ctx.call_id, ctx.parent_id, shown_action(action), self._shown(raw))
        if ctx.outcome is None and (self._denied is not None or ctx.nesting > MAX_NESTING):
            self._refuse(ctx)
        if ctx.outcome is None and not dry:
            self._write_first_half(ctx)
        return ctx

    def _action(self, ctx: CallContext) -> str | None:
        """What the call does, as rules and events name it; defaults are filled in by now."""
        invocation = self.tool.spec.invocation
        if invocation is None:
            action = ctx.values.get("action")
            return action if isinstance(action, str) else None
        try:
            return invocation(MappingProxyType(ctx.values)).action
        except Exception as error:  # noqa: BLE001 - what cannot be told apart cannot be permitted
            message = f"What the call would do cannot be told: {type(error).__name__}."
            ctx.refuse("arguments", Reason.NOT_UNDERSTOOD, message)
            return None

    def _refuse(self, ctx: CallContext) -> None:
        decision = self._denied
        if decision is None:
            ctx.fail("guard", Reason.TOOL_ERROR, f"Calls are nested more than {MAX_NESTING} deep.")
        else:
            ctx.refuse(decision.stage, decision.reason or "", decision.message, hint=decision.hint)
            ctx.rule = decision.rule

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

    def objections(self, ctx: CallContext) -> Generator[Waiting, Any, Answer]:
        """The checks' generator for *ctx*; see `toolcharter.gate.checks`."""
        spec = self.tool.spec
        return objections(
            self.shared.checks,
            Call(
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
            ),
            ctx.deadline,
            lambda: ctx.fault("advisory_check_failed"),
        )

    def object_to(self, ctx: CallContext) -> Answer:
        """Stage 4 from synchronous code: what the plugins' checks say of the call."""
        checks = self.objections(ctx)
        try:
            awaitable = next(checks)
        except StopIteration as end:
            objection: Answer = end.value
            return objection
        from toolcharter.gate.awaiting import drive  # noqa: PLC0415 - imports asyncio

        coroutine = drive(checks, awaitable, ctx.deadline)
        refuse_inside_loop(self._name, coroutine, awaitable, instead="adecide" if ctx.dry else "acall")
        return self.shared.loop.run(coroutine)

    def heed(self, ctx: CallContext, objection: Answer) -> None:
        """Stages 4 and 5: a check's `Deny` denies; its `Ask` finds nobody to ask."""
        if isinstance(objection, Deny):
            ctx.refuse("check", objection.reason, objection.message, hint=objection.hint)
        elif objection is not None:
            ctx.refuse("approval", Reason.APPROVAL_UNAVAILABLE, objection.message)

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
        """Record a body's end: a plain return is ok; past the deadline nothing is."""
        if ctx.outcome is None:
            if isinstance(value, ToolResult):
                ctx.adopt(value)
            elif isinstance(value, Completed):
                _record_program(ctx, value)
            else:
                ctx.text, ctx.data = _as_text(value)
                ctx.outcome = "ok"
        if monotonic() > ctx.deadline and ctx.outcome != "denied":
            self.time_out(ctx)

    def failed(self, ctx: CallContext, error: BaseException) -> None:
        """Record an exception that left the body; one after the outcome is only a fault."""
        if ctx.outcome is not None:
            ctx.fault("raised_after_end")
        elif isinstance(error, Denied):
            ctx.deny(error.reason, error.message, hint=error.hint)
        elif isinstance(error, ToolError):
            ctx.error(f"ERROR: {error.message}", reason=error.reason, hint=error.hint, retryable=error.retryable)
            ctx.message = error.message
        else:
            told = _told(error)
            ctx.error(f"ERROR: {Reason.UNEXPECTED_FAILURE}: {told}", reason=Reason.UNEXPECTED_FAILURE)
            ctx.message = told
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
            ctx.drop_result()
            ctx.fail("tool", Reason.CANCELLED, "The caller cancelled the call.")
            self.closer.close(ctx)


def _record_program(ctx: CallContext, program: Completed) -> None:
    """A program's end as the end of its call; a status other than zero is an error unless the tool says otherwise."""
    stdout, stderr = program.stdout.decode(errors="replace"), program.stderr.decode(errors="replace")
    text = f"{stdout}\n--- stderr ---\n{stderr}" if stderr else stdout
    data = {"stdout": stdout, "stderr": stderr, "exit_code": program.exit_code}
    if program.timed_out:
        ctx.error(f"ERROR: {Reason.TIMED_OUT}\n{text}", reason=Reason.TIMED_OUT, data=data)
        ctx.message = "The program took too long and was ended."
    elif program.exit_code:
        ctx.error(f"ERROR: {Reason.NONZERO_EXIT}\n{text}", reason=Reason.NONZERO_EXIT, data=data)
        ctx.message = f"The program ended with status {program.exit_code}."
    else:
        ctx.ok(text, data=data)
    ctx.exit_code = program.exit_code


def _as_text(value: Any) -> tuple[str, Any]:
    """A plain return as text and data."""
    if isinstance(value, str):
        return value, None
    if value is None:
        return "", None
    try:
        return orjson.dumps(value).decode(), value
    except TypeError:
        if isinstance(value, Awaitable | Iterator | AsyncIterator):
            if isinstance(value, Coroutine):
                value.close()
            raise TypeError(
                f"the body returned a {type(value).__name__}, which nothing runs; return a result"
            ) from None
        return str(value), None


def _told(error: BaseException) -> str:
    """The exception's type and text; its text is its author's code, which may fail too."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - as said
        return type(error).__name__
