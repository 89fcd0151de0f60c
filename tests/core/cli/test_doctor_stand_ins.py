"""Of a tool that is not staged `toolcharter doctor` proves that a call reaches it, and enters a stand-in instead."""

from typing import Any

import pytest

from toolcharter.api.call import Decision
from toolcharter.errors import ToolError

from .conftest import PROFILE
from .test_doctor import CASES, DOCTOR, FOUR, MUST, REFUSED, UNKNOWN, findings, rewrite

MUST_BE_CALLED = "a call that must arrive"
THREE = "hook.tool.before, hook.policy.before, hook.tool.after"
ENTERED = ("tool echo", MUST_BE_CALLED, "ok", "reached: a stand-in was entered, once")
UNSTAGED = ("staged=True,", "")
ACTING = ("    ctx = rt.start", "    open('acted', 'w').close()\n        ctx = rt.start")
CHECKED = ("@hookimpl\n", "@hookimpl\ndef check_call(call):\n    return Deny('no', 'No.')\n\n\n@hookimpl\n")


@pytest.fixture(autouse=True)
def _with_a_case(desk) -> None:
    (desk / "demo.yaml").write_text(PROFILE + CASES)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([], id="plain"),
        pytest.param([("    def echo(", "    async def echo(")], id="async"),
        pytest.param([('safety="low",', 'safety="low", isolate=True,')], id="isolated"),
        pytest.param([CHECKED], id="a check denies"),
    ],
)
def test_a_tool_that_is_not_staged_is_reached_by_a_call(run, desk, site, changes) -> None:
    """A stand-in takes it, whatever kind of body the tool has; the body itself is never entered."""
    rewrite(site, UNSTAGED, ACTING, *changes)
    (desk / "demo.yaml").write_text(f"{PROFILE}mode: restrict\nlimits: {{calls_per_minute: 1}}\n{CASES}")

    result = run(*DOCTOR)

    assert (findings(result), result.exit_code) == ([REFUSED, UNKNOWN, ENTERED], 0)
    assert not (desk / "acted").exists()


def test_a_check_that_fails_before_a_tool_that_is_not_staged_is_found(run, site) -> None:
    """The call that must arrive meets no checks, so that a dry run has to try them."""
    rewrite(site, UNSTAGED, (CHECKED[0], CHECKED[1].replace("return Deny('no', 'No.')", "1 / 0")))

    result = run(*DOCTOR)

    failed = "at stage check: check_failed: The check of 'toolcharter-demo:toolcharter_demo' raised ZeroDivisionError."
    assert findings(result)[2:] == [("tool echo", MUST, "failed", failed), ENTERED]
    assert result.exit_code == 1


def enter_twice(stage: Any, ctx: Any) -> None:
    for _ in range(2):
        try:
            stage._record_return(ctx, stage._function.call(**ctx.values))
        except ToolError as error:
            stage._record_exception(ctx, error)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        pytest.param(
            {"gate.stages.s7_body.BodyStage.run": lambda self, ctx: self._record_return(ctx, "from nowhere")},
            "the call entered the tool 0 times, not once; it ended as ok at stage None: None",
            id="the body is left out",
        ),
        pytest.param(
            {"gate.stages.s7_body.BodyStage.run": enter_twice},
            "the call entered the tool 2 times, not once; it ended as error at stage tool: entered",
            id="the body is entered twice",
        ),
        pytest.param(
            {
                "policy.evaluate.ToolPolicyView.constant_decision": None,
                "policy.evaluate.ToolPolicyView.decide": lambda *_: Decision("deny", "mode", "odd"),
            },
            f"the call wrote the events {FOUR}; expected: {THREE}",
            id="policy denies all the same",
        ),
        pytest.param(
            {"events.lines.ToolLines.after": lambda *_: b""},
            f"the call wrote the events hook.tool.before, hook.policy.before; expected: {THREE}",
            id="an event is missing",
        ),
        pytest.param(
            {"events.sinks.FunctionSink.write": lambda *_: None},
            f"the call wrote the events none; expected: {THREE}",
            id="no events",
        ),
    ],
)
def test_a_gate_that_lets_no_call_arrive_is_found(run, desk, site, monkeypatch, changes, told) -> None:
    """The stand-in is entered once, and the events are those of a call that passes."""
    rewrite(site, UNSTAGED, ACTING)
    for target, value in changes.items():
        monkeypatch.setattr(f"toolcharter.{target}", value)

    result = run(*DOCTOR)

    assert (findings(result)[-1], result.exit_code) == (("tool echo", MUST_BE_CALLED, "failed", told), 1)
    assert not (desk / "acted").exists()


def test_no_sample_reaches_a_tool_that_is_not_staged(run, desk, site) -> None:
    """What the schema suggests is refused, so that nothing is known."""
    (desk / "demo.yaml").write_text(PROFILE)
    rewrite(
        site,
        UNSTAGED,
        ("import json\n", "import json\nfrom typing import Annotated\nfrom pydantic import Field\n"),
        ("word: str", 'word: Annotated[str, Field(pattern="^[0-9]+$")]'),
    )

    told = "no sample fits: error at stage arguments: invalid_arguments"
    assert findings(run(*DOCTOR))[2:] == [("tool echo", MUST_BE_CALLED, "not tried", told)]
