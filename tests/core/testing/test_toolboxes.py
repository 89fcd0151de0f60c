"""A toolbox from specs, and what it holds them to."""

import asyncio
from typing import TypedDict

import pytest
from pydantic import ValidationError

from toolcharter.api.call import Caller
from toolcharter.api.policy import ToolPolicy
from toolcharter.api.tool import ToolSpec
from toolcharter.gate.observe import ContractBroken
from toolcharter.profile.model import Limits
from toolcharter.testing.asserting import assert_denied, assert_events, assert_ok
from toolcharter.testing.toolboxes import toolbox_of


class Found(TypedDict):
    items: list[str]


def spec_of(body, name="tell", **facts) -> ToolSpec:
    """A spec whose function is *body*, which takes the runtime first."""

    def build(workspace, policy, rt):
        def tell():
            return body(rt.start(name))

        return tell

    return ToolSpec(name, ToolPolicy, build, **facts)


def deny(ctx):
    return ctx.deny("made_up")


def done(ctx):
    return ctx.ok("done")


def test_policies_aliases_limits_events_and_caller_hold(greet, tmp_path) -> None:
    """The toolbox is the real thing, but for the installed distribution."""
    events: list = []
    policies = {"greet": {"allowed_names": ["Ann"]}}

    with toolbox_of(
        greet,
        spec_of(done, aliases=["talk"]),
        workspace=tmp_path,
        policies=policies,
        events=events.append,
        caller=Caller(agent="a"),
        limits=Limits(max_output_chars=10),
    ) as toolbox:
        assert_ok(toolbox["greet"](name="Ann"))
        assert_denied(toolbox["greet"](name="Bob"), "name_not_allowed")
        assert_ok(toolbox.call("talk", {}))

    assert_events(events, ["hook.tool.before", "hook.policy.before", "hook.tool.after"], tool="tell")
    assert {(event["plugin"], event["agent"], event["profile"]) for event in events if event["tool"] == "greet"} == {
        ("acme-greet", "a", "in-memory")
    }
    assert next(event for event in events if "truncated" in event)["truncated"] is True


def test_events_may_go_nowhere_or_to_many_sinks(tmp_path) -> None:
    """Unlike in use, standard error is not the default."""
    one: list[object] = []
    other: list[object] = []

    with toolbox_of(spec_of(done), workspace=tmp_path, events=[one.append, other.append]) as toolbox:
        toolbox["tell"]()
    with toolbox_of(spec_of(done), workspace=tmp_path, events=f"file:{tmp_path / 'events'}") as toolbox:
        toolbox["tell"]()

    assert len(one) == len(other) == len((tmp_path / "events").read_text().splitlines()) == 3


def test_policies_must_fit(greet, tmp_path) -> None:
    """A policy that a profile could not hold is refused here too."""
    with pytest.raises(ValidationError, match="allowed_names"):
        toolbox_of(greet, workspace=tmp_path, policies={"greet": {"allowed_names": 5}})
    with pytest.raises(ValueError, match=r"^policies are given for \['gret'\], but the specs are \['greet'\]$"):
        toolbox_of(greet, workspace=tmp_path, policies={"gret": {}})


@pytest.mark.parametrize("ask", ["call", "decide"])
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param(
            spec_of(deny, reasons=["other"], staged=True),
            "'tell' gave the reason 'made_up', which its spec does not declare",
            id="undeclared-reason",
        ),
        pytest.param(
            spec_of(done, reasons=["other"], staged=True),
            "'tell' is staged, and its body succeeded without ctx.policy_passed()",
            id="no-mark",
        ),
    ],
)
def test_a_spec_that_is_not_kept_raises(spec, message, ask, tmp_path) -> None:
    """In a call and in a dry run alike."""
    with toolbox_of(spec, workspace=tmp_path) as toolbox, pytest.raises(ContractBroken) as caught:
        getattr(toolbox, ask)("tell", {})

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param({"items": ["a"]}, None, id="fits"),
        pytest.param({"items": [1]}, 'items.0: 1 is not of type "string"', id="wrong-type"),
        pytest.param(None, 'data: null is not of type "object"', id="missing"),
    ],
)
def test_data_must_fit_the_output_schema(data, told, tmp_path) -> None:
    """Under test, what a host would be promised is checked."""
    spec = spec_of(
        lambda ctx: ctx.ok("done", data=data),
        output={
            "type": "object",
            "properties": {"items": {"type": "array", "items": {"type": "string"}}},
            "required": ["items"],
        },
    )

    with toolbox_of(spec, workspace=tmp_path) as toolbox:
        if told is None:
            assert_ok(toolbox["tell"]())
            return
        with pytest.raises(ContractBroken) as caught:
            toolbox["tell"]()

    assert str(caught.value) == f"the data of 'tell' does not fit its output schema: {told}"


def test_a_context_can_be_opened_outside_a_call(tmp_path) -> None:
    """Under test a constructor's function may be called by hand."""
    kept = []

    def build(workspace, policy, rt):
        kept.append(rt)
        return lambda: "done"

    with toolbox_of(ToolSpec("tell", ToolPolicy, build), workspace=tmp_path):
        assert kept[0].start("tell").deny("odd") == "ERROR: denied_by_policy reason=odd"


def test_asynchronous_tools_are_held_to_it_too(tmp_path) -> None:
    """The same examination ends an awaited call."""

    def build(workspace, policy, rt):
        async def tell():
            return rt.start("tell").deny("made_up")

        return tell

    spec = ToolSpec("tell", ToolPolicy, build, reasons=["other"])
    with toolbox_of(spec, workspace=tmp_path) as toolbox, pytest.raises(ContractBroken):
        asyncio.run(toolbox.acall("tell", {}))
