"""What only tests do at the end of a call: observers are notified, and a tool is held to its own spec."""

from typing import Any

import pytest
from tests.core.gate.conftest import spec_of, spec_with_runtime

from toolcharter.api.call import Caller, ToolResult
from toolcharter.api.tool import ToolSpec
from toolcharter.gate.build.tool_function import ToolFunction, inspect_function
from toolcharter.gate.call import CallContext
from toolcharter.gate.observe import ContractBroken, SpecVerifier, verifier_for

SCHEMA = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"type": "string"}}},
    "required": ["items"],
}


def ended(outcome: Any, reason: str | None = None, *, stage: Any = "tool", passed: bool = False) -> CallContext:
    ctx = CallContext("odd", Caller(), "call-1", 0.0, 1.0)
    ctx.outcome, ctx.reason, ctx.stage, ctx.passed = outcome, reason, stage, passed
    return ctx


def odd() -> str:
    return ""


def function_of(spec: ToolSpec[Any]) -> ToolFunction:
    return inspect_function(spec, odd)


def verifier(
    *, strict: bool = True, notify: Any = None, reasons: Any = frozenset({"known"}), **facts: Any
) -> SpecVerifier:
    spec = spec_of(odd, **facts)
    return SpecVerifier(spec, function_of(spec), reasons, notify, strict)


def test_a_reason_outside_the_closed_list_is_an_error_under_test(make_toolbox, events) -> None:
    """A strict toolbox raises, after the events are written."""

    def odd(rt):
        def tool():
            return rt.start("odd").deny("made_up")

        return tool

    toolbox = make_toolbox(spec_with_runtime(odd, reasons=("name_not_allowed",)), strict=True)

    with pytest.raises(ContractBroken, match=r"^'odd' gave the reason 'made_up', which its spec does not declare$"):
        toolbox.call("odd", {})

    assert events[-1]["event"] == "hook.tool.after"


@pytest.mark.parametrize(
    ("facts", "ctx", "result", "fault"),
    [
        pytest.param({}, ended("denied", "known"), None, None, id="a declared reason"),
        pytest.param(
            {}, ended("denied", "other"), None, "gave the reason 'other', which its spec does not declare", id="another"
        ),
        pytest.param({}, ended("denied", "other", stage="mode"), None, None, id="a reason of the gate"),
        pytest.param({"reasons": None}, ended("denied", "other"), None, None, id="no closed list"),
        pytest.param({"staged": True}, ended("ok", "known", passed=True), None, None, id="staged, with its mark"),
        pytest.param(
            {"staged": True},
            ended(None, "known"),
            None,
            "is staged, and its body succeeded without ctx.policy_passed()",
            id="staged, without its mark",
        ),
        pytest.param({"staged": True}, ended("error", "known"), None, None, id="staged, and failed before its mark"),
        pytest.param(
            {"output": SCHEMA},
            ended("ok", "known"),
            ToolResult("ok", "", data={"items": ["a"]}),
            None,
            id="data that fit",
        ),
        pytest.param(
            {"output": SCHEMA},
            ended("ok", "known"),
            ToolResult("ok", "", data={"items": [1]}),
            'the data of {name} does not fit its output schema: items.0: 1 is not of type "string"',
            id="data that do not fit",
        ),
        pytest.param(
            {"output": SCHEMA}, ended("error", "known"), ToolResult("error", "", reason="known"), None, id="no data"
        ),
    ],
)
def test_a_tool_is_held_to_its_spec(facts: dict[str, Any], ctx: CallContext, result: Any, fault: str | None) -> None:
    """To its reasons, its mark and its output schema; to none of them where the toolbox is not strict."""
    verifier(strict=False, **facts)(ctx, result)
    strict = verifier(**facts)

    if fault is None:
        strict(ctx, result)
        return
    with pytest.raises(ContractBroken) as caught:
        strict(ctx, result)
    assert str(caught.value) == (fault.format(name="'odd'") if "{name}" in fault else f"'odd' {fault}")


def test_an_observer_is_given_the_reasons_of_the_body() -> None:
    """Not those of the gate, and not the end of a call that went well."""
    seen: list[str] = []
    watching = verifier(strict=False, notify=seen.append)

    for ctx in (ended("denied", "known"), ended("denied", "not_in_allow", stage="mode"), ended("ok", stage=None)):
        watching(ctx, None)

    assert seen == ["known"]


def test_in_use_nothing_looks_at_calls(monkeypatch) -> None:
    """Neither a strict toolbox nor an observer; of several observers the last is notified."""
    spec = spec_of(odd)
    seen: list[tuple[str, ...]] = []
    monkeypatch.setattr("toolcharter.gate.observe.OBSERVERS", [])
    none = verifier_for("p", spec, function_of(spec), None, strict=False)
    strict = verifier_for("p", spec, function_of(spec), None, strict=True)
    others = [lambda *_: seen.append(("first",)), lambda *told: seen.append((told[0], told[1].name, told[2]))]
    monkeypatch.setattr("toolcharter.gate.observe.OBSERVERS", others)
    watching = verifier_for("p", spec, function_of(spec), None, strict=False)

    assert (none, strict is None, watching is None) == (None, False, False)
    assert watching is not None
    watching(ended("denied", "known"), None)
    assert seen == [("p", "odd", "known")]
