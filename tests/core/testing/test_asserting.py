"""Assertions: what passes, and every word of what fails."""

import pytest

from toolcharter.api.call import Decision, RuleRef, ToolResult
from toolcharter.testing.asserting import assert_decision, assert_denied, assert_error, assert_events, assert_ok

DENIED = ToolResult("denied", "ERROR: denied_by_policy reason=odd\nNo.", reason="odd", message="No.", hint="Ask.")
FAILED = ToolResult("error", "it broke", reason="tool_error", message="it broke")
DONE = ToolResult("ok", "done")
DENIAL = Decision("deny", "tool", "odd", "No.", "Ask.", RuleRef("git:push", "p.yaml:1:1"), "denied")
EVENTS = [
    {"event": "hook.tool.before", "tool": "git"},
    {"event": "hook.tool.before", "tool": "grep"},
    {"event": "hook.tool.after", "tool": "git", "outcome": "error", "reason": "odd"},
]


def test_what_is_as_expected_passes() -> None:
    """Results and decisions, with and without the parts that may be left out."""
    assert_denied(DENIED, "odd")
    assert_denied(DENIAL, "odd")
    assert_error(FAILED, "tool_error")
    assert_ok(DONE)
    assert_decision(DENIAL, "deny")
    assert_decision(DENIAL, "deny", "odd", "tool")
    assert_events(EVENTS, ["hook.tool.before", "hook.tool.after"], tool="git")


@pytest.mark.parametrize(
    ("check", "told"),
    [
        pytest.param(
            lambda: assert_denied(DENIED, "even"),
            [
                "the result differs",
                "  expected    denied, reason even",
                "  got         denied, reason odd",
                "  message     No.",
                "  hint        Ask.",
                "  text        ERROR: denied_by_policy reason=odd",
                "No.",
            ],
            id="reason",
        ),
        pytest.param(
            lambda: assert_ok(FAILED),
            [
                "the result differs",
                "  expected    ok",
                "  got         error, reason tool_error",
                "  message     it broke",
            ],
            id="error",
        ),
        pytest.param(
            lambda: assert_error(DONE, "odd"),
            ["the result differs", "  expected    error, reason odd", "  got         ok", "  text        done"],
            id="ok",
        ),
        pytest.param(
            lambda: assert_denied(DENIAL, "even"),
            [
                "the decision differs",
                "  expected    deny, reason even",
                "  got         deny, reason odd, stage tool",
                "  rule        git:push (p.yaml:1:1)",
                "  message     No.",
                "  hint        Ask.",
                "  tool checks denied",
            ],
            id="decision",
        ),
        pytest.param(
            lambda: assert_decision(Decision("allow", "mode"), "deny", "odd", "tool"),
            [
                "the decision differs",
                "  expected    deny, reason odd, stage tool",
                "  got         allow, stage mode",
                "  tool checks not_evaluated",
            ],
            id="allowed",
        ),
        pytest.param(
            lambda: assert_events(EVENTS, ["hook.tool.before", "hook.tool.after"]),
            [
                "the events differ",
                "  expected          got",
                "  hook.tool.before  hook.tool.before  (git)",
                "> hook.tool.after   hook.tool.before  (grep)",
                "> -                 hook.tool.after  (git error odd)",
            ],
            id="events",
        ),
        pytest.param(
            lambda: assert_events([], ["hook.tool.before"]),
            ["the events differ", "  expected          got", "> hook.tool.before  -"],
            id="no-events",
        ),
        pytest.param(
            lambda: assert_events(EVENTS[:1], []),
            ["the events differ", "  expected  got", "> -         hook.tool.before  (git)"],
            id="unexpected-events",
        ),
    ],
)
def test_what_differs_is_told(check, told) -> None:
    """Expected and got, one above the other, then all that explains it."""
    with pytest.raises(AssertionError) as caught:
        check()

    assert str(caught.value).splitlines() == told
