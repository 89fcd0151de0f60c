"""Dry runs: what the gate would decide about a call, without running it. They emit, count and ask nothing."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from toolcharter.api.call import Ask, Decision, Stage, ToolChecks
from toolcharter.gate.call import CallContext
from toolcharter.gate.pipeline import CallPipeline
from toolcharter.gate.redact import as_reason_word, redact_text
from toolcharter.gate.waiting import drive_async, drive_sync, refuse_inside_loop

_TOOL_CHECKS: dict[str | None, ToolChecks] = {None: "passed", "ok": "passed", "denied": "denied", "error": "error"}


class DryRun(NamedTuple):
    """The result of a dry run."""

    ctx: CallContext
    decision: Decision


def dry_run(pipeline: CallPipeline, args: Mapping[str, Any]) -> DryRun:
    """Run stages 1 to 5 and a staged body's own checks, from synchronous code."""
    if pipeline.tool.function.is_async:
        refuse_inside_loop(pipeline.tool.spec.name, instead="adecide")
        return pipeline.state.loop.run(adry_run(pipeline, args))
    ctx = pipeline.run_decision_stages(args, None, None, dry=True)
    question = None
    if _needs_later_stages(pipeline, ctx):
        ctx, question = drive_sync(_run_later_stages(pipeline, ctx))
    return DryRun(ctx, _decision(pipeline, ctx, question))


async def adry_run(pipeline: CallPipeline, args: Mapping[str, Any]) -> DryRun:
    """`dry_run` from asynchronous code."""
    ctx = pipeline.run_decision_stages(args, None, None, dry=True)
    question = None
    if _needs_later_stages(pipeline, ctx):
        ctx, question = await drive_async(_run_later_stages(pipeline, ctx))
    return DryRun(ctx, _decision(pipeline, ctx, question))


def _needs_later_stages(pipeline: CallPipeline, ctx: CallContext) -> bool:
    """Whether a stage after policy applies to the call."""
    is_asked = pipeline.has_guards or ctx.decision.outcome == "ask"
    return ctx.outcome is None and (is_asked or pipeline.tool.spec.staged)


async def _run_later_stages(pipeline: CallPipeline, ctx: CallContext) -> tuple[CallContext, Ask | None]:
    """Run stages 4 and 5, and a staged body up to its mark. Returns the question that a person would be asked."""
    question = await pipeline.run_checks(ctx)
    if question is not None and pipeline.state.approval.apply_saved(pipeline, ctx):
        question = None
    if ctx.outcome is None and pipeline.tool.spec.staged:
        ctx = await pipeline.body.dry_run(ctx)
    return ctx, question


def _decision(pipeline: CallPipeline, ctx: CallContext, question: Ask | None) -> Decision:
    """Return the decision of a dry run. A body that has reached its mark has passed, even if it caught `MarkReached`."""
    ctx.closed = True
    ctx.reason = as_reason_word(ctx.reason)
    if pipeline.verify is not None:
        pipeline.verify(ctx, None)
    tool_checks: ToolChecks = "not_evaluated"
    if pipeline.tool.spec.staged and ctx.stage in {None, "tool"}:
        tool_checks = "passed" if ctx.passed else _TOOL_CHECKS[ctx.outcome]
    if ctx.outcome in {"denied", "error"} and not ctx.passed:
        return Decision(
            "deny" if ctx.outcome == "denied" else "error",
            ctx.stage or "tool",
            ctx.reason,
            redact_text(ctx.message),
            redact_text(ctx.hint),
            ctx.rule,
            tool_checks,
        )
    decision = ctx.decision
    if question is not None:
        reason, message = as_reason_word(question.reason), redact_text(question.message)
        stage: Stage = "check" if ctx.is_asked_by_check else decision.stage
        rule = None if ctx.is_asked_by_check else decision.rule
        return Decision("ask", stage, reason, message, rule=rule, tool_checks=tool_checks)
    return Decision("allow", decision.stage, rule=decision.rule, tool_checks=tool_checks)
