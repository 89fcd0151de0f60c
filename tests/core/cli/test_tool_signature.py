"""What is known of a tool before it is called: its arguments and its actions, as far as its schema closes them."""

from enum import StrEnum
from typing import Any, Literal

import pytest
from tests.core.gate import conftest
from tests.core.gate.conftest import MakeToolbox, spec_of

from toolcharter.api.call import Invocation
from toolcharter.cli.tool_signature import tool_signatures
from toolcharter.policy.lint.coverage import ToolSignature
from toolcharter.profile.settings import Availability

events, make_toolbox = conftest.events, conftest.make_toolbox


class Switch(StrEnum):
    ON = "on"
    OFF = "OFF"


def plain(path: str, *, deep: bool = False) -> str:
    return f"{path} {deep}"


def literal(action: Literal["Push", "log"]) -> str:
    return action


def enum(action: Switch = Switch.ON) -> str:
    return action


def optional(action: Literal["on"] | None = None) -> str:
    return str(action)


def defaulted(action: Literal["on"] = "auto") -> str:  # type: ignore[assignment]
    return action


def text(action: str | None = None) -> str:
    return str(action)


def number(action: Literal[1, 2]) -> str:
    return str(action)


def schemed(**args: Any) -> str:
    return str(args)


def known_of(make_toolbox: MakeToolbox, function: Any, **facts: Any) -> ToolSignature:
    (found,) = tool_signatures(make_toolbox(spec_of(function, **facts)))
    return found


@pytest.mark.parametrize(
    ("function", "arguments", "actions"),
    [
        pytest.param(plain, {"path", "deep"}, set(), id="no-action"),
        pytest.param(literal, {"action"}, {"push", "log"}, id="literal"),
        pytest.param(enum, {"action"}, {"on", "off"}, id="enum"),
        pytest.param(optional, {"action"}, {"on"}, id="or-null"),
        pytest.param(defaulted, {"action"}, {"on", "auto"}, id="default-is-never-validated"),
        pytest.param(text, {"action"}, None, id="any-text"),
        pytest.param(number, {"action"}, set(), id="no-text"),
    ],
)
def test_signature_closes_arguments_and_lists_actions(make_toolbox, function, arguments, actions) -> None:
    """A function takes what its signature names; actions are listed without case."""
    found = known_of(make_toolbox, function)

    assert (found.facts.name, found.arguments, found.actions) == (function.__name__, arguments, actions)


@pytest.mark.parametrize(
    ("schema", "arguments", "actions"),
    [
        pytest.param({"properties": {"a": {}}}, None, None, id="open"),
        pytest.param({"properties": {"a": {}}, "additionalProperties": False}, {"a"}, set(), id="closed"),
        pytest.param({"additionalProperties": False}, set(), set(), id="none"),
        pytest.param({"additionalProperties": False, "patternProperties": {"^x": {}}}, None, None, id="by-pattern"),
        pytest.param({"properties": {"action": {"enum": ["a", 1]}}}, None, {"a"}, id="listed-though-open"),
        pytest.param({"properties": {"action": {"const": "a"}}}, None, {"a"}, id="constant"),
        pytest.param({"properties": {"action": True}}, None, None, id="anything"),
        pytest.param(
            {"properties": {"action": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"enum": ["a"]}}},
            None,
            {"a"},
            id="referred",
        ),
        pytest.param(
            {
                "properties": {"action": {"$ref": "#/definitions/A", "enum": ["b"]}},
                "$schema": "http://json-schema.org/draft-07/schema#",
                "definitions": {"A": {"enum": ["a"]}},
            },
            None,
            None,
            id="old-reference",
        ),
        pytest.param({"properties": {"action": {"$ref": "#/properties/b"}, "b": {}}}, None, None, id="elsewhere"),
        pytest.param(
            {"properties": {"action": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}},
            None,
            None,
            id="endless",
        ),
        pytest.param(
            {"properties": {"action": {"anyOf": [{"const": "a"}, {"type": "string"}]}}}, None, None, id="or-any"
        ),
    ],
)
def test_schema_of_its_own_is_read_as_it_is(make_toolbox, schema, arguments, actions) -> None:
    """What does not say that it is closed is open."""
    found = known_of(make_toolbox, schemed, parameters={"type": "object", **schema})

    assert (found.arguments, found.actions, found.gives_commands) == (arguments, actions, False)


@pytest.mark.parametrize(
    ("item", "textless"),
    [
        pytest.param({"type": "integer"}, {"a"}, id="number"),
        pytest.param({"type": ["array", "null"]}, {"a"}, id="several-types"),
        pytest.param({"type": ["string", "null"]}, set(), id="text-or-null"),
        pytest.param({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, {"a"}, id="none-of-any"),
        pytest.param({"enum": [1, 2]}, {"a"}, id="numbers"),
        pytest.param({"type": "integer", "default": "auto"}, set(), id="default-is-text"),
        pytest.param({}, set(), id="anything"),
    ],
)
def test_arguments_that_are_never_text_are_known(make_toolbox, item, textless) -> None:
    """Where a schema does not rule text out, there may be some."""
    found = known_of(make_toolbox, schemed, parameters={"type": "object", "properties": {"a": item}})

    assert found.textless == textless


def test_invocation_may_name_any_action_and_gives_commands(make_toolbox) -> None:
    """What it returns is not known before a call."""
    found = known_of(make_toolbox, plain, invocation=lambda _: Invocation("x", ("ls",)))

    assert (found.arguments, found.actions, found.gives_commands) == (frozenset({"path", "deep"}), None, True)


def test_tools_that_a_caller_does_not_see_are_known(make_toolbox) -> None:
    """A profile is reviewed for all callers."""
    toolbox = make_toolbox(spec_of(plain), availability=(Availability(tools=()),))

    assert (list(toolbox), [tool.facts.name for tool in tool_signatures(toolbox)]) == ([], ["plain"])


@pytest.mark.parametrize("function", [literal, text], ids=["listed", "any-text"])
def test_actions_that_a_policy_closes_are_not_open(make_toolbox, function) -> None:
    """Whether the tool's own signature lists its actions or takes any text: the policy says which it shows."""

    def advertise(_: Any, schema: dict[str, Any]) -> dict[str, Any]:
        return {**schema, "properties": {"action": {"enum": ["log"]}}}

    found = known_of(make_toolbox, function, advertise=advertise, capabilities={"log": {"fs:read"}, "push": {"net"}})

    assert found.open_actions == frozenset({"log"})


def test_an_invocation_may_name_actions_that_are_not_shown(make_toolbox) -> None:
    """What the arguments are called says nothing of the actions."""

    def advertise(_: Any, schema: dict[str, Any]) -> dict[str, Any]:
        return {**schema, "properties": {"action": {"enum": ["log"]}}}

    found = known_of(make_toolbox, text, advertise=advertise, invocation=lambda _: Invocation("push", ()))

    assert found.advertised is None
