"""Dry runs: what a call would meet, without running it. Nothing is emitted, counted or asked."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from toolcharter.gate.checks import Answer
from toolcharter.gate.closing import shown_reason, shown_text
from toolcharter.gate.context import CURRENT, CallContext, Passed
from toolcharter.gate.loop import is_the_callers, refuse_inside_loop
from toolcharter.gate.passage import Passage
from toolcharter.spec.call import Ask, Decision, Deny, ToolChecks

_TOOL_CHECKS: dict[str | None, ToolChecks] = {None: "passed", "ok": "passed", "denied": "denied", "error": "error"}


def decide(passage: Passage, args: Mapping[str, Any]) -> Decision:
    """Stages 1 to 4, and a staged body's own checks, from synchronous code."""
    if passage.tool.function.is_async:
        refuse_inside_loop(passage.tool.spec.name, instead="adecide")
        return passage.shared.loop.run(adecide(passage, args))
    ctx = passage.enter(args, None, None, dry=True)
    objection = passage.object_to(ctx) if ctx.outcome is None else None
    if isinstance(objection, Deny):
        passage.heed(ctx, objection)
    elif ctx.outcome is None and passage.tool.spec.staged:
        rehearsal = partial(_rehearse, passage)
        if passage.tool.spec.isolate:
            ctx = passage.tool.isolated.run(ctx, rehearsal, passage.time_out, passage.interrupt)
        else:
            rehearsal(ctx)
    return _decision(passage, ctx, objection)


async def adecide(passage: Passage, args: Mapping[str, Any]) -> Decision:
    """The same from asynchronous code."""
    from toolcharter.gate.awaiting import object_to  # noqa: PLC0415 - imports asyncio

    ctx = passage.enter(args, None, None, dry=True)
    objection: Answer = None
    if ctx.outcome is None:
        objection = await object_to(passage, ctx)
    if isinstance(objection, Deny):
        passage.heed(ctx, objection)
    elif ctx.outcome is None and passage.tool.spec.staged:
        ctx = await _arehearse(passage, ctx)
    return _decision(passage, ctx, objection)


def _rehearse(passage: Passage, ctx: CallContext) -> None:
    """Run a staged body up to its mark."""
    token = CURRENT.set(ctx)
    try:
        passage.tool.function.call(**ctx.values)
    except BaseException as error:  # noqa: BLE001 - told apart by `_ended`
        _ended(passage, ctx, error)
    finally:
        CURRENT.reset(token)


async def _arehearse(passage: Passage, ctx: CallContext) -> CallContext:
    from toolcharter.gate.awaiting import isolated, until  # noqa: PLC0415 - imports asyncio

    if passage.tool.spec.isolate:
        return await isolated(passage, ctx, partial(_rehearse, passage))
    if not passage.tool.function.is_async:
        _rehearse(passage, ctx)
        return ctx
    token = CURRENT.set(ctx)
    try:
        await until(ctx.deadline, passage.tool.function.call(**ctx.values))
    except BaseException as error:  # noqa: BLE001 - told apart by `_ended`
        _ended(passage, ctx, error)
    finally:
        CURRENT.reset(token)
    return ctx


def _ended(passage: Passage, ctx: CallContext, error: BaseException) -> None:
    """Record what has ended a rehearsal: the mark, perhaps reached in a TaskGroup, or what would end a call.

    Raises:
        BaseException: *error* is the caller's.
    """
    if is_the_callers(error):
        raise error
    if isinstance(error, BaseExceptionGroup):
        others = error.split(Passed)[1]
        if others is None:
            return
        ctx.passed, error = False, others  # what fails beside the mark may have stood above it
    if not isinstance(error, Passed):
        passage.failed(ctx, error)


def _decision(passage: Passage, ctx: CallContext, objection: Answer) -> Decision:
    """What *ctx* amounts to. A body that has reached its mark has passed, whatever it did to the exception."""
    ctx.closed = True
    ctx.reason = shown_reason(ctx.reason)
    if passage.examine is not None:
        passage.examine(ctx, None)
    tool_checks: ToolChecks = "not_evaluated"
    if passage.tool.spec.staged and ctx.stage in {None, "tool"}:
        tool_checks = "passed" if ctx.passed else _TOOL_CHECKS[ctx.outcome]
    if ctx.outcome in {"denied", "error"} and not ctx.passed:
        return Decision(
            "deny" if ctx.outcome == "denied" else "error",
            ctx.stage or "tool",
            ctx.reason,
            shown_text(ctx.message),
            shown_text(ctx.hint),
            ctx.rule,
            tool_checks,
        )
    if isinstance(objection, Ask):
        return Decision(
            "ask", "check", shown_reason(objection.reason), shown_text(objection.message), tool_checks=tool_checks
        )
    allowed = passage.tool.decision
    return Decision("allow", allowed.stage, rule=allowed.rule, tool_checks=tool_checks)
