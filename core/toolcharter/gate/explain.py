"""`Toolbox.explain`: a dry run that shows what each stage examined and decided."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from toolcharter._lazy import lazy
from toolcharter.api.call import Decision, Stage
from toolcharter.api.explanation import CommandNote, Explanation, RuleNote, Step
from toolcharter.errors import did_you_mean
from toolcharter.gate.call import CallContext
from toolcharter.gate.dry_run import DryRun
from toolcharter.gate.pipeline import CallPipeline
from toolcharter.gate.redact import redact_action, redact_args, redact_text
from toolcharter.gate.state import ToolboxState
from toolcharter.guards.secrets import scrub_text, scrub_value
from toolcharter.policy.command_verdicts import CommandVerdict, command_verdicts
from toolcharter.policy.explain import explain as explain_policy

if TYPE_CHECKING:
    from toolcharter.loader import scan
else:
    scan = lazy("toolcharter.loader.scan")

_POLICY_STAGES: tuple[Stage, ...] = ("floor", "deny", "availability", "capability", "ask", "mode")
_STAGE_ORDER: tuple[Stage, ...] = ("name", "arguments", *_POLICY_STAGES, "check", "guard", "approval", "limit", "tool")


def explain(pipeline: CallPipeline, dry_run: DryRun, given: str, args: Mapping[str, Any]) -> Explanation:
    """Explain a dry run, stage by stage.

    Args:
        pipeline: The pipeline of the tool and the caller.
        dry_run: The ended dry run.
        given: The tool's name as the caller wrote it.
        args: The arguments as the caller gave them.
    """
    ctx, decision = dry_run
    steps = [
        _name_step(pipeline, given),
        _arguments_step(pipeline, decision),
        *_policy_steps(pipeline, ctx, decision),
        *_later_steps(pipeline, ctx, decision),
    ]
    return Explanation(
        tool=pipeline.tool.spec.name,
        action=redact_action(ctx.action),
        args=_shown_args(ctx, args, decision),
        commands=tuple(scrub_text(command)[0] for command in ctx.commands),
        profile=pipeline.state.profile,
        profile_digest=pipeline.state.digest,
        decision=decision,
        steps=tuple(replace(step, decides=step.stage == decision.stage) for step in steps),
        parse=tuple(_command_notes(pipeline, ctx, decision)),
        hidden=pipeline.policy.view.hidden_because,
    )


def explain_unknown(
    state: ToolboxState, name: str, args: Mapping[str, Any], decision: Decision, tools: Mapping[str, Any]
) -> Explanation:
    """Explain the denial of a name that the profile does not have, with similar names."""
    looked_at = f"the {len(tools)} tools of the profile, by name and alias"
    step = Step("name", looked_at, "deny", decision, decides=True, changes=tuple(_name_suggestions(name, tools)))
    shown = _load_object(redact_args(args, "full"))
    return Explanation(name, None, shown, (), state.profile, state.digest, decision, (step,))


def _name_suggestions(name: str, tools: Mapping[str, Any]) -> Iterator[str]:
    provided = scan.find_installed().tools
    if name in provided:
        yield f"list {name!r} under `tools`: {provided[name].distribution!r} provides it"
        return
    near = did_you_mean(name, tools)
    if near:
        yield f"call it by its name. {near}"
    yield f"no installed plugin provides it. {did_you_mean(name, provided)}".rstrip()


def _name_step(pipeline: CallPipeline, given: str) -> Step:
    name = pipeline.tool.spec.name
    return Step(
        "name", f"{name!r}, from {pipeline.tool.plugin}" + ("" if given == name else f"; given as {given!r}"), "pass"
    )


def _arguments_step(pipeline: CallPipeline, decision: Decision) -> Step:
    known = pipeline.tool.reader.closed_names
    looked_at = "the schema of the arguments" + (f": {', '.join(sorted(known))}" if known else "")
    if decision.stage != "arguments":
        return Step("arguments", looked_at, "pass")
    changes = tuple(f"fix {line}" for line in (decision.message or "").splitlines())
    return Step("arguments", looked_at, decision.outcome, decision, changes=changes)


def _policy_steps(pipeline: CallPipeline, ctx: CallContext, decision: Decision) -> Iterator[Step]:
    if decision.stage == "arguments":
        for stage in _POLICY_STAGES:
            yield Step(stage, "nothing: there are no valid arguments", "unknown")
        return
    hiders = pipeline.state.availability.why(pipeline.tool.spec.name, pipeline.caller)
    try:
        steps = explain_policy(pipeline.policy.view, pipeline.rule_input(ctx)[0], hiders)
    except Exception as error:  # noqa: BLE001 - the gate denies a call that its rules cannot judge; here it is shown
        steps = tuple(_unknown_step(stage, error, decision) for stage in _POLICY_STAGES)
    yield from map(_scrub_step, steps)


def _command_notes(pipeline: CallPipeline, ctx: CallContext, decision: Decision) -> Iterator[CommandNote]:
    """Yield each command with its analysis by the shell guard and the verdict of the rules."""
    if decision.stage == "arguments":
        return
    subject, understanding = pipeline.rule_input(ctx)
    try:
        verdicts = command_verdicts(pipeline.policy.view, subject, ctx.decision)
    except Exception as error:  # noqa: BLE001 - as above
        verdicts = (CommandVerdict(f"a rule cannot be compared with the call: {type(error).__name__}"),) * len(
            subject.commands
        )
    for analysed, verdict in zip(understanding.analysed, verdicts, strict=True):
        yield CommandNote(
            scrub_text(analysed.form)[0],
            analysed.within,
            tuple(scrub_text(need.why)[0] for need in analysed.needs),
            tuple(scrub_text(reach.path)[0] for reach in analysed.reaches),
            analysed.is_known,
            verdict.said,
            verdict.decides,
        )


def _unknown_step(stage: Stage, error: Exception, decision: Decision) -> Step:
    looked_at = f"a rule cannot be compared with the call: {type(error).__name__}"
    if stage == decision.stage:
        return Step(stage, looked_at, decision.outcome, decision)
    return Step(stage, looked_at, "unknown")


def _scrub_step(step: Step) -> Step:
    decision = step.decision
    return replace(
        step,
        looked_at=scrub_text(step.looked_at)[0],
        decision=None if decision is None else replace(decision, message=redact_text(decision.message)),
        changes=tuple(scrub_text(change)[0] for change in step.changes),
    )


def _later_steps(pipeline: CallPipeline, ctx: CallContext, decision: Decision) -> Iterator[Step]:
    """Explain the stages after policy, which only run if no earlier stage has ended the call."""
    state = pipeline.state
    checks = ", ".join(check.plugin for check in state.checks) or "none"
    change = "satisfy the check, or change the policy of its extension"
    yield _stage_step("check", f"checks of plugins: {checks}", decision, change)
    looked_at = "where the paths and programs of the commands lead; " if ctx.commands else ""
    looked_at += "session guards: " + ("none" if state.session is None else ", ".join(state.session.switched_on))
    change = "use a path, a program or a repository that is certainly in its place; or first do what the message says"
    yield _stage_step("guard", looked_at, decision, change)
    yield _approval_step(ctx, decision)
    limits = [] if state.rates is None else state.rates.limits_for(pipeline.tool.spec.name, pipeline.caller.agent)
    waiting = (
        f"{', '.join(limit.text for limit in limits)}; not counted in a dry run" if limits else "none apply to the tool"
    )
    yield _stage_step(
        "limit", f"rate limits: {waiting}", decision, "raise `timeout_s` in `limits`", is_known=not limits
    )
    name, is_known = pipeline.tool.spec.name, decision.tool_checks != "not_evaluated"
    looked_at = (
        "its own checks, in a dry run"
        if pipeline.tool.spec.staged
        else "it is not staged: only a real call shows its checks"
    )
    yield _stage_step(
        "tool", looked_at, decision, f"change the policy of {name!r} under `tools`, or the call", is_known=is_known
    )


def _stage_step(stage: Stage, looked_at: str, decision: Decision, change: str, *, is_known: bool = True) -> Step:
    if decision.stage == stage:
        return Step(stage, looked_at, decision.outcome, decision, changes=(change,))
    has_ended = decision.outcome in {"deny", "error"} and _STAGE_ORDER.index(decision.stage) < _STAGE_ORDER.index(stage)
    return Step(stage, looked_at, "pass" if is_known and not has_ended else "unknown")


def _approval_step(ctx: CallContext, decision: Decision) -> Step:
    if decision.stage == "approval" and decision.rule is not None:
        note = RuleNote(decision.rule.text, decision.rule.source, "was saved, and covers the call", decides=True)
        change = "forget it with `toolcharter approvals forget`"
        return Step("approval", "saved approvals", "allow", decision, rules=(note,), changes=(change,))
    needed = decision.outcome == "ask" or ctx.decision.outcome == "ask"
    looked_at = "a person, who is not asked in a dry run" if needed else "no person has to be asked"
    return _stage_step("approval", looked_at, decision, "", is_known=not needed)


def _shown_args(ctx: CallContext, given: Mapping[str, Any], decision: Decision) -> dict[str, Any]:
    if decision.stage == "arguments":
        return _load_object(redact_args(given, "full"))
    # A validator may have turned JSON into a date or a path.
    return dict(scrub_value(orjson.loads(orjson.dumps(dict(ctx.values), default=str)))[0])


def _load_object(shown: bytes) -> dict[str, Any]:
    value = orjson.loads(shown)
    return value if isinstance(value, dict) else {}
