"""Assertions whose failures say what was expected, what came, and why."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from toolcharter.api.call import Decision, ToolResult
from toolcharter.events.contract import FRAMES

_MAX_TEXT = 400


def assert_denied(result: ToolResult | Decision, reason: str) -> None:
    """*result* is a denial with exactly this reason.

    Args:
        result: What a call gave, or what `Toolbox.decide` said.
        reason: The stable word.

    Raises:
        AssertionError: With expected and got, stage, message and hint.
    """
    __tracebackhide__ = True
    if isinstance(result, Decision):
        assert_decision(result, "deny", reason)
    else:
        _assert_result(result, "denied", reason)


def assert_error(result: ToolResult, reason: str) -> None:
    """*result* is an error with exactly this reason.

    Raises:
        AssertionError: With expected and got, message and hint.
    """
    __tracebackhide__ = True
    _assert_result(result, "error", reason)


def assert_ok(result: ToolResult) -> None:
    """*result* is no denial and no error.

    Raises:
        AssertionError: With outcome, reason, message and hint.
    """
    __tracebackhide__ = True
    _assert_result(result, "ok", None)


def assert_decision(decision: Decision, outcome: str, reason: str | None = None, stage: str | None = None) -> None:
    """*decision* has this outcome and, where given, this reason and stage.

    Args:
        decision: From `Toolbox.decide`.
        outcome: `allow`, `ask`, `deny` or `error`.
        reason: The stable word; not compared if left out.
        stage: The stage that decided; not compared if left out.

    Raises:
        AssertionError: With expected and got, rule, message, hint and the tool's own checks.
    """
    __tracebackhide__ = True
    wanted = (outcome, reason or decision.reason, stage or decision.stage)
    if (decision.outcome, decision.reason, decision.stage) == wanted:
        return
    raise AssertionError(
        _told(
            "the decision differs",
            expected=_joined(outcome, reason, stage),
            got=_joined(decision.outcome, decision.reason, decision.stage),
            rule=f"{decision.rule.text} ({decision.rule.source})" if decision.rule else None,
            message=decision.message,
            hint=decision.hint,
            tool_checks=decision.tool_checks,
        )
    )


def assert_events(events: Sequence[Mapping[str, Any]], names: Sequence[str], *, tool: str | None = None) -> None:
    """The events are these, in this order.

    Args:
        events: As the fixture `toolcharter_events` holds them.
        names: `hook.tool.before`, `hook.policy.before`, `hook.policy.deny`, `hook.tool.after`. `toolbox.open` and
            `toolbox.close`, which belong to no call, are left out unless one of them is among the names.
        tool: Look at the events of this tool alone.

    Raises:
        AssertionError: With both lists side by side.
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
        got = "-" if event is None else f"{event['event']}  ({_outcome(event)})"
        mark = " " if event is not None and event["event"] == name else ">"
        lines.append(f"{mark} {name or '-':<{width}}  {got}")
    return lines


def _outcome(event: Mapping[str, Any]) -> str:
    return " ".join(str(event[key]) for key in ("tool", "outcome", "reason") if event.get(key))


def _assert_result(result: ToolResult, outcome: str, reason: str | None) -> None:
    __tracebackhide__ = True
    if (result.outcome, result.reason) == (outcome, reason):
        return
    raise AssertionError(
        _told(
            "the result differs",
            expected=_joined(outcome, reason),
            got=_joined(result.outcome, result.reason),
            message=result.message,
            hint=result.hint,
            text=None if result.text == result.message else result.text[:_MAX_TEXT],
        )
    )


def _joined(outcome: str, reason: str | None, stage: str | None = None) -> str:
    return outcome + (f", reason {reason}" if reason else "") + (f", stage {stage}" if stage else "")


def _told(headline: str, **lines: str | None) -> str:
    shown = (f"  {label.replace('_', ' '):<12}{text}" for label, text in lines.items() if text)
    return "\n".join([headline, *shown])
