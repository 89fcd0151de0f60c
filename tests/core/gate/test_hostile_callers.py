"""Hosts that pass on whatever a model or a bug gives them: every call is answered, and leaves its events."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from .conftest import spec_of

TOKEN = "ghp_" + "aB3dE6gH9j" * 3 + "aB3dE6"
MALFORMED = ["hook.tool.before", "hook.tool.after"]
OK = ["hook.tool.before", "hook.policy.before", "hook.tool.after"]
DENIED = ["hook.tool.before", "hook.policy.before", "hook.policy.deny", "hook.tool.after"]


def refuses(value: str) -> str:
    if value == "bug":
        raise LookupError("a bug in a validator")
    return value


def act(action: Annotated[str, AfterValidator(refuses)] = "show") -> str:
    return action


class Raising(Mapping[str, Any]):
    """Arguments that cannot be read."""

    def __getitem__(self, key: str) -> Any:
        raise LookupError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(["action"])

    def __len__(self) -> int:
        return 1


class NoEquals:
    def __eq__(self, other: object) -> bool:
        raise LookupError("no comparison")

    __hash__ = object.__hash__


class NoStrip(str):
    __slots__ = ()

    def strip(self, chars: str | None = None, /) -> str:
        raise LookupError("no strip")


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(Raising(), id="mapping-that-raises"),
        pytest.param({"action": NoEquals()}, id="value-without-equality"),
        pytest.param({"action": NoStrip("x")}, id="text-that-raises"),
        pytest.param({"action": "bug"}, id="validator-that-raises"),
    ],
)
def test_arguments_that_raise_are_invalid(args, make_toolbox, events) -> None:
    """Whatever reading the arguments raises, the call is answered and leaves its events."""
    toolbox = make_toolbox(spec_of(act))

    result = toolbox.call("act", args)

    assert (result.outcome, result.reason, result.message) == (
        "error",
        "invalid_arguments",
        "The arguments cannot be read: LookupError.",
    )
    assert [event["event"] for event in events] == MALFORMED
    assert toolbox.decide("act", args).reason == "invalid_arguments"


def test_arguments_of_an_unknown_tool_that_raise_are_not_shown(make_toolbox, events) -> None:
    """The refusal does not depend on them."""
    result = make_toolbox().call("nope", Raising())

    assert (result.reason, events[-1]["args"]) == ("unknown_tool", None)
    assert [event["event"] for event in events] == DENIED


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        pytest.param(["act"], "<list>", id="unhashable"),
        pytest.param(None, "<NoneType>", id="none"),
        pytest.param(TOKEN, "[REDACTED]", id="secret"),
        pytest.param("x" * 1_000_000, "x" * 64, id="long"),
        pytest.param("a\ud800", "a\\ud800", id="surrogate"),
        pytest.param("", "", id="empty"),
    ],
)
def test_any_unknown_name_is_answered(name, shown, make_toolbox, events) -> None:
    """A name may be anything; what is shown of it is short, whole and scrubbed."""
    toolbox = make_toolbox(spec_of(act))

    result = toolbox.call(name, {})

    assert (result.reason, result.message) == ("unknown_tool", f"There is no tool named {shown!r}.")
    assert [event["event"] for event in events] == DENIED
    assert {event["tool"] for event in events} == {shown}
    assert name not in toolbox


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param("c-1", "c-1", id="as-it-is"),
        pytest.param('a"\n' * 100_000, ('a"\n' * 67)[:200], id="long"),
        pytest.param(7, "7", id="number"),
        pytest.param(b"x", "b'x'", id="bytes"),
        pytest.param("\ud800", "\\ud800", id="surrogate"),
    ],
)
@pytest.mark.parametrize("tool", ["act", "nope"])
def test_identifiers_of_a_host(tool, given, kept, make_toolbox, events) -> None:
    """A host's identifiers are kept as text of bounded length, alike in the result and on every event."""
    result = make_toolbox(spec_of(act)).call(tool, {}, call_id=given, parent_id=given)

    assert result.call_id == kept
    assert {(event["call_id"], event["parent_id"]) for event in events} == {(kept, kept)}


def test_an_empty_identifier_is_none(make_toolbox, events) -> None:
    """A call always has an identifier of its own."""
    result = make_toolbox(spec_of(act)).call("act", {}, call_id="")

    assert result.call_id.startswith("call-")
    assert {event["call_id"] for event in events} == {result.call_id}


@pytest.mark.parametrize(
    ("action", "shown"),
    [
        pytest.param("show", "show", id="word"),
        pytest.param("x" * 500, "x" * 400 + "...<truncated>", id="long"),
        pytest.param(TOKEN, "[REDACTED]", id="secret"),
    ],
)
def test_an_action_is_shown_like_an_argument(action, shown, make_toolbox, events) -> None:
    """The field beside the arguments leaks nothing that they do not."""
    make_toolbox(spec_of(act)).call("act", {"action": action})

    assert [event["event"] for event in events] == OK
    assert [(event["action"], event["args"]["action"]) for event in events] == [(shown, shown)] * 3
