"""A tool may want a person's word for a call, whatever its profile allows; with nobody to give it, the call is denied."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcharter import ApprovalRequest, Ask, Call, Toolbox, ToolPolicy, ToolRuntime, ToolSpec
from toolcharter.api.approval import Answer
from toolcharter.gate.build.open import open_toolbox
from toolcharter.profile.model import Limits
from toolcharter.testing.toolboxes import plan_of


class Guarded(ToolPolicy):
    """Which word needs a person."""

    word: str = "fire"


def build(_workspace: Path, _policy: Guarded, _rt: ToolRuntime) -> Callable[[str], str]:
    def say(text: str) -> str:
        """Say it."""
        return text

    return say


def asks(policy: Guarded, call: Call) -> Ask | None:
    return Ask("dangerous_word", f"It says {policy.word!r}.") if policy.word in call.args["text"] else None


SAY = ToolSpec("say", Guarded, build, reasons={"dangerous_word"}, capabilities={"text"}, safety="low", asks=asks)
OTHER = ToolSpec("other", Guarded, build, capabilities={"text"}, safety="low")


@pytest.fixture
def box(tmp_path: Path) -> Callable[..., Toolbox]:
    def make(answer: Answer | None = None, policy: dict[str, Any] | None = None) -> Toolbox:
        plan = plan_of((SAY, OTHER), {"say": policy or {}}, Limits(), "test")
        asked = None if answer is None else (lambda request: answer)
        return open_toolbox(plan, workspace=tmp_path, caller=None, sinks=[], approver=asked)

    return make


def test_nobody_there_is_a_denial(box: Callable[..., Toolbox]) -> None:
    with box() as tools:
        result = tools.call("say", {"text": "fire"})

    assert (result.outcome, result.reason) == ("denied", "approval_unavailable")


@pytest.mark.parametrize(("answer", "outcome"), [("allow_once", "ok"), ("deny", "denied")])
def test_a_person_decides(box: Callable[..., Toolbox], answer: str, outcome: str) -> None:
    with box(answer) as tools:
        assert tools.call("say", {"text": "fire"}).outcome == outcome


def test_other_calls_and_other_tools_are_not_asked_about(box: Callable[..., Toolbox]) -> None:
    """And the policy is the tool's own."""
    with box(policy={"word": "smoke"}) as tools:
        assert [tools.call(name, {"text": text}).outcome for name, text in (("say", "fire"), ("other", "smoke"))] == [
            "ok",
            "ok",
        ]
        assert tools.call("say", {"text": "smoke"}).outcome == "denied"


def test_it_is_decided_without_a_run_and_never_agreed_to_for_good(tmp_path: Path) -> None:
    """A dry run says that it would ask; an answer that is kept does not stand for the next one."""
    questions: list[ApprovalRequest] = []

    def answer(request: ApprovalRequest) -> Answer:
        questions.append(request)
        return "allow_always"

    plan = plan_of((SAY,), {}, Limits(), "test")
    with open_toolbox(plan, workspace=tmp_path, caller=None, sinks=[], approver=answer) as tools:
        decision = tools.decide("say", {"text": "fire"})
        assert (decision.outcome, decision.stage, decision.reason) == ("ask", "check", "dangerous_word")
        assert [tools.call("say", {"text": "fire"}).outcome for _ in range(2)] == ["ok", "ok"]

    assert [one.message for one in questions] == ["It says 'fire'."] * 2
