"""Dry runs: what a call would meet, without running it. Nothing is emitted, counted or asked."""

from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple

from toolcharter.gate.closing import shown_reason, shown_text
from toolcharter.gate.context import CURRENT, CallContext, Passed
from toolcharter.gate.loop import is_the_callers, refuse_inside_loop
from toolcharter.gate.obstacles import object_to, weigh
from toolcharter.gate.passage import Passage
from toolcharter.spec.call import Ask, Decision, Stage, ToolChecks

_TOOL_CHECKS: dict[str | None, ToolChecks] = {None: "passed", "ok": "passed", "denied": "denied", "error": "error"}


class Trial(NamedTuple):
    """A dry run that has ended."""

    ctx: CallContext
    decision: Decision


def decide(passage: Passage, args: Mapping[str, Any]) -> Decision:
    """Stages 1 to 5, and a staged body's own checks, from synchronous code."""
    return attempt(passage, args).decision


async def adecide(passage: Passage, args: Mapping[str, Any]) -> Decision:
    """The same from asynchronous code."""
    return (await aattempt(passage, args)).decision


def attempt(passage: Passage, args: Mapping[str, Any]) -> Trial:
    """The dry run behind `decide`."""
    if passage.tool.function.is_async:
        refuse_inside_loop(passage.tool.spec.name, instead="adecide")
        return passage.shared.loop.run(aattempt(passage, args))
    ctx = passage.enter(args, None, None, dry=True)
    question = None
    if ctx.outcome is None:
        question = _unsettled(passage, ctx, weigh(passage, ctx, object_to(passage, ctx)))
    if ctx.outcome is None and passage.tool.spec.staged:
        ctx = _run(passage, ctx)
    return Trial(ctx, _decision(passage, ctx, question))


async def aattempt(passage: Passage, args: Mapping[str, Any]) -> Trial:
    """The same from asynchronous code."""
    from toolcharter.gate.awaiting import object_to as aobject_to  # noqa: PLC0415 - imports asyncio

    ctx = passage.enter(args, None, None, dry=True)
    question = None
    if ctx.outcome is None:
        question = _unsettled(passage, ctx, weigh(passage, ctx, await aobject_to(passage, ctx)))
    if ctx.outcome is None and passage.tool.spec.staged:
        ctx = await _arun(passage, ctx)
    return Trial(ctx, _decision(passage, ctx, question))


def _unsettled(passage: Passage, ctx: CallContext, question: Ask | None) -> Ask | None:
    """*question*, unless a kept approval decides it."""
    return None if question is None or passage.shared.desk.settle(passage, ctx) else question


def rehearse(passage: Passage, ctx: CallContext) -> CallContext | None:
    """A dry run of what the body of *ctx*, a real call, checks itself; None if it is not staged."""
    return _run(passage, _dry(ctx)) if passage.tool.spec.staged else None


async def arehearse(passage: Passage, ctx: CallContext) -> CallContext | None:
    """The same from asynchronous code."""
    return await _arun(passage, _dry(ctx)) if passage.tool.spec.staged else None


def _dry(ctx: CallContext) -> CallContext:
    """*ctx* once more, to be rehearsed."""
    dry = ctx.stand_in()
    dry.dry, dry.live_key, dry.children, dry.seen = True, id(dry), None, None
    return dry


def _run(passage: Passage, ctx: CallContext) -> CallContext:
    rehearsal = partial(_rehearse, passage)
    if passage.tool.spec.isolate:
        return passage.tool.isolated.run(ctx, rehearsal, passage.time_out, passage.interrupt)
    rehearsal(ctx)
    return ctx


def _rehearse(passage: Passage, ctx: CallContext) -> None:
    """Run a staged body up to its mark, with arguments of its own: it may change its lists above the mark."""
    token = CURRENT.set(ctx)
    try:
        passage.tool.function.call(**deepcopy(ctx.values))
    except BaseException as error:  # noqa: BLE001 - told apart by `_ended`
        _ended(passage, ctx, error)
    finally:
        CURRENT.reset(token)


async def _arun(passage: Passage, ctx: CallContext) -> CallContext:
    from toolcharter.gate.awaiting import isolated, until  # noqa: PLC0415 - imports asyncio

    if passage.tool.spec.isolate:
        return await isolated(passage, ctx, partial(_rehearse, passage))
    if not passage.tool.function.is_async:
        _rehearse(passage, ctx)
        return ctx
    token = CURRENT.set(ctx)
    try:
        await until(ctx.deadline, passage.tool.function.call(**deepcopy(ctx.values)))
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


def _decision(passage: Passage, ctx: CallContext, question: Ask | None) -> Decision:
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
    decision = ctx.decision
    if question is not None:
        reason, message = shown_reason(question.reason), shown_text(question.message)
        stage: Stage = "check" if ctx.asked_by_check else decision.stage
        rule = None if ctx.asked_by_check else decision.rule
        return Decision("ask", stage, reason, message, rule=rule, tool_checks=tool_checks)
    return Decision("allow", decision.stage, rule=decision.rule, tool_checks=tool_checks)
