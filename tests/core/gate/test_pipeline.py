"""`CallPipeline`: the stages of a call in order, and what a refusal by one of them keeps from running."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.core.gate.conftest import spec_with_runtime

from toolcharter.api.call import Ask, Call, Deny
from toolcharter.gate.call import MAX_NESTING
from toolcharter.profile.settings import Rate, Rates, Repeats, SessionGuards

EVENTS = {
    "hook.tool.before": "first half",
    "hook.policy.deny": "denial",
    "hook.approval.request": "question",
    "hook.approval.decision": "answer",
    "hook.tool.after": "second half",
}


@pytest.fixture
def steps() -> list[str]:
    """What has happened to calls, in order."""
    return []


@pytest.fixture
def make_act(make_toolbox, steps: list[str], tmp_path_factory, monkeypatch):
    """A toolbox of the staged tool `act` in which every stage notes that it had its turn."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))

    def act(rt: Any) -> Any:
        def tool(word: str = "") -> str:
            ctx = rt.start("act")
            steps.append("own checks")
            ctx.policy_passed()
            steps.append("body")
            return ctx.ok("done")

        return tool

    def make(*, check: Any = None, answer: str = "allow_once", asks: bool = True, **settings: Any) -> Any:
        def checks(call: Call) -> Any:
            steps.append("check")
            return check

        def approver(_: Any) -> str:
            steps.append("person")
            return answer

        def sink(event: dict[str, Any]) -> None:
            if event["event"] in EVENTS:
                steps.append(EVENTS[event["event"]])

        return make_toolbox(
            spec_with_runtime(act, staged=True),
            checks={"a": checks},
            approver=approver,
            sinks=[sink],
            ask=["act"] if asks else [],
            **settings,
        )

    return make


WHOLE = [
    "first half",
    "check",
    "own checks",
    "question",
    "person",
    "answer",
    "own checks",
    "own checks",
    "body",
    "second half",
]


@pytest.mark.parametrize("how", ["call", "acall"])
def test_a_call_meets_its_stages_in_order(how: str, make_act, steps: list[str]) -> None:
    """The tool's own checks run before a person is asked, after the answer, and in the body itself."""
    toolbox = make_act()

    result = toolbox.call("act", {}) if how == "call" else asyncio.run(toolbox.acall("act", {}))

    assert (result.outcome, steps) == ("ok", WHOLE)


@pytest.mark.parametrize(
    ("args", "settings", "reason", "expected"),
    [
        pytest.param({"word": 1}, {}, "invalid_arguments", ["first half", "second half"], id="1 and 2: arguments"),
        pytest.param({}, {"deny": ["act"]}, "denied_by_rule", ["first half", "denial", "second half"], id="3: policy"),
        pytest.param(
            {},
            {"check": Deny("too_late")},
            "too_late",
            ["first half", "check", "denial", "second half"],
            id="4: checks",
        ),
        pytest.param(
            {},
            {"session_guards": SessionGuards(repeated_calls=Repeats(deny=1))},
            "repeated_call",
            ["first half", "check", "denial", "second half"],
            id="4: session guards",
        ),
        pytest.param(
            {},
            {"answer": "deny"},
            "approval_denied",
            ["first half", "check", "own checks", "question", "person", "answer", "denial", "second half"],
            id="5: a person",
        ),
        pytest.param(
            {},
            {"rates": Rates(Rate(calls_per_session=1))},
            "rate_limited",
            [*WHOLE[:7], "denial", "second half"],
            id="6: rate limits",
        ),
    ],
)
def test_a_stage_that_refuses_is_the_last(args, settings, reason: str, expected, make_act, steps: list[str]) -> None:
    """None of those behind it has its turn, and the call ends once."""
    toolbox = make_act(**settings)
    if "rates" in settings:
        toolbox.call("act", args)
        steps.clear()

    result = toolbox.call("act", args)

    assert (result.reason, steps) == (reason, expected)


def test_a_call_that_no_stage_watches_goes_straight_to_its_body(make_act, steps: list[str], make_toolbox) -> None:
    """Neither check nor question; its events are written all the same."""
    toolbox = make_act(asks=False)

    assert toolbox.call("act", {}).outcome == "ok"
    assert steps == ["first half", "check", "own checks", "body", "second half"]


def test_a_question_of_a_check_is_asked_like_one_of_a_rule(make_act, steps: list[str]) -> None:
    """The person is asked by whoever objects first."""
    toolbox = make_act(check=Ask("unsure"), asks=False)

    assert (toolbox.call("act", {}).outcome, steps) == ("ok", WHOLE)


def test_a_dry_run_leaves_no_trace(make_act, steps: list[str]) -> None:
    """Checks and the tool's own checks are asked; no event is written, no person asked, and the body ends at its mark."""
    assert make_act().decide("act", {}).outcome == "ask"
    assert steps == ["check", "own checks"]


def test_nesting_has_an_end(make_toolbox, events) -> None:
    """A tool that calls itself is stopped by the gate, at one depth for all."""

    def again(rt: Any) -> Any:
        def tool() -> str:
            return str(rt.call("again", {}))

        return tool

    text = make_toolbox(spec_with_runtime(again)).call("again", {}).text

    assert text.endswith(f"Calls are nested more than {MAX_NESTING} deep.")
    assert sum(event["event"] == "hook.tool.after" for event in events) == MAX_NESTING + 2


def test_what_a_check_has_seen_is_what_the_body_gets(make_toolbox, tmp_path: Path) -> None:
    """The call is made once for all checks, with the arguments as they were validated."""
    seen: list[Call] = []

    def act(rt: Any) -> Any:
        return lambda word="hi": word

    def check(call: Call) -> None:
        seen.append(call)

    def another(call: Call) -> None:
        seen.append(call)

    toolbox = make_toolbox(spec_with_runtime(act), checks={"a": check, "b": another})

    assert toolbox.call("act", {}).text == "hi"
    assert (len(seen), seen[0] is seen[1]) == (2, True)
    assert (seen[0].tool, dict(seen[0].args), seen[0].profile, seen[0].workspace) == (
        "act",
        {"word": "hi"},
        "test",
        tmp_path.resolve(),
    )
