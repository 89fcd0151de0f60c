"""Assertions that name the expected value, the actual value and the cause when they fail."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from toolcharter.api.call import Decision, ToolResult
from toolcharter.events.contract import FRAMES

_MAX_TEXT = 400


def assert_denied(result: ToolResult | Decision, reason: str) -> None:
    """Assert that *result* is a denial with exactly this reason.

    Args:
        result: The result of a call, or of `Toolbox.decide`.
        reason: The stable word.

    Raises:
        AssertionError: It shows the expected and the actual result, stage, message and hint.
    """
    __tracebackhide__ = True
    if isinstance(result, Decision):
        assert_decision(result, "deny", reason)
    else:
        _assert_result(result, "denied", reason)


def assert_error(result: ToolResult, reason: str) -> None:
    """Assert that *result* is an error with exactly this reason.

    Raises:
        AssertionError: It shows the expected and the actual result, message and hint.
    """
    __tracebackhide__ = True
    _assert_result(result, "error", reason)


def assert_ok(result: ToolResult) -> None:
    """Assert that *result* is neither a denial nor an error.

    Raises:
        AssertionError: It shows outcome, reason, message and hint.
    """
    __tracebackhide__ = True
    _assert_result(result, "ok", None)


def assert_decision(decision: Decision, outcome: str, reason: str | None = None, stage: str | None = None) -> None:
    """Assert that *decision* has this outcome and, if given, this reason and stage.

    Args:
        decision: From `Toolbox.decide`.
        outcome: `allow`, `ask`, `deny` or `error`.
        reason: The stable word; not compared if left out.
        stage: The stage that decided; not compared if left out.

    Raises:
        AssertionError: It shows the expected and the actual decision, rule, message, hint and the tool's own checks.
    """
    __tracebackhide__ = True
    wanted = (outcome, reason or decision.reason, stage or decision.stage)
    if (decision.outcome, decision.reason, decision.stage) == wanted:
        return
    raise AssertionError(
        _format_failure(
            "the decision differs",
            expected=_format_verdict(outcome, reason, stage),
            got=_format_verdict(decision.outcome, decision.reason, decision.stage),
            rule=f"{decision.rule.text} ({decision.rule.source})" if decision.rule else None,
            message=decision.message,
            hint=decision.hint,
            tool_checks=decision.tool_checks,
        )
    )


def assert_events(events: Sequence[Mapping[str, Any]], names: Sequence[str], *, tool: str | None = None) -> None:
    """Assert that the events have these names, in this order.

    Args:
        events: From the fixture `toolcharter_events`.
        names: `hook.tool.before`, `hook.policy.before`, `hook.policy.deny`, `hook.tool.after`. `toolbox.open` and
            `toolbox.close`, which belong to no call, are left out unless one of them is among the names.
        tool: Compare only the events of this tool.

    Raises:
        AssertionError: It shows both lists side by side.
    """
    __tracebackhide__ = True
    left_out = () if any(name in FRAMES for name in names) else FRAMES
    chosen = [event for event in events if tool in {None, event["tool"]} and event["event"] not in left_out]
    got = [event["event"] for event in chosen]
    if got == list(names):
        return
    width = max(len("expected"), *map(len, names)) if names else len("expected")
    lines = [f"  {'expected':<{width}}  got", *_side_by_side(names, chosen, width)]
    raise AssertionError("\n".join(["the events differ", *lines]))


def _side_by_side(names: Sequence[str], events: Sequence[Mapping[str, Any]], width: int) -> list[str]:
    lines = []
    for name, event in zip_longest(names, events):
        got = "-" if event is None else f"{event['event']}  ({_format_outcome(event)})"
        mark = " " if event is not None and event["event"] == name else ">"
        lines.append(f"{mark} {name or '-':<{width}}  {got}")
    return lines


def _format_outcome(event: Mapping[str, Any]) -> str:
    return " ".join(str(event[key]) for key in ("tool", "outcome", "reason") if event.get(key))


def _assert_result(result: ToolResult, outcome: str, reason: str | None) -> None:
    __tracebackhide__ = True
    if (result.outcome, result.reason) == (outcome, reason):
        return
    raise AssertionError(
        _format_failure(
            "the result differs",
            expected=_format_verdict(outcome, reason),
            got=_format_verdict(result.outcome, result.reason),
            message=result.message,
            hint=result.hint,
            text=None if result.text == result.message else result.text[:_MAX_TEXT],
        )
    )


def _format_verdict(outcome: str, reason: str | None, stage: str | None = None) -> str:
    return outcome + (f", reason {reason}" if reason else "") + (f", stage {stage}" if stage else "")


def _format_failure(headline: str, **lines: str | None) -> str:
    shown = (f"  {label.replace('_', ' '):<12}{text}" for label, text in lines.items() if text)
    return "\n".join([headline, *shown])
