"""Stages 1 and 2: canonical arguments, and validation that no host can replace."""

from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from tests.core.gate.conftest import spec_of
from typing_extensions import TypedDict  # typing's own is refused by pydantic before Python 3.12

from toolcharter.api.policy import ToolPolicy
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import PluginError


class Colour(StrEnum):
    RED = "red"


class Node(BaseModel):
    value: int
    children: "list[Node]" = []


class Shape(TypedDict):
    sides: int


def echo(  # noqa: PLR0917 - one argument of each kind
    action: str = "show",
    path: str = ".",
    limit: int = 10,
    ratio: float = 0.5,
    deep: bool = False,  # noqa: FBT001, FBT002 - a tool's arguments are given by name
    colour: Colour = Colour.RED,
    file: Path = Path("x"),
    words: tuple[str, ...] = (),
    node: Node | None = None,
    shape: Shape | None = None,
    mode: Literal["a", "b"] = "a",
    model_config: str = "",
    json: dict[str, int] | None = None,
) -> str:
    """Show what came in."""
    return repr({name: value for name, value in locals().items() if value != DEFAULTS.get(name, value is None)})


DEFAULTS: dict[str, Any] = {
    "action": "show",
    "path": ".",
    "limit": 10,
    "ratio": 0.5,
    "deep": False,
    "colour": Colour.RED,
    "file": Path("x"),
    "words": (),
    "node": None,
    "shape": None,
    "mode": "a",
    "model_config": "",
    "json": None,
}

ECHO = spec_of(echo, argument_aliases={"filepath": "path", "target": "path", "max": "limit"})


@pytest.mark.parametrize(
    ("given", "received"),
    [
        pytest.param({}, {}, id="defaults"),
        pytest.param({"action": "  SHOW it "}, {"action": "show it"}, id="action-stripped-and-lowered"),
        pytest.param({"filepath": "a"}, {"path": "a"}, id="alias-moved"),
        pytest.param({"filepath": "a", "path": "a"}, {"path": "a"}, id="alias-beside-its-name-with-the-same-value"),
        pytest.param({"filepath": "a", "target": "a"}, {"path": "a"}, id="two-aliases-with-the-same-value"),
        pytest.param({"limit": None}, {}, id="null-dropped-where-there-is-a-default"),
        pytest.param({"max": None, "limit": 3}, {"limit": 3}, id="null-alias-dropped"),
        pytest.param({"path": None, "filepath": "a"}, {"path": "a"}, id="null-name-beside-its-alias"),
        pytest.param({"words": ["a", "b"]}, {"words": ("a", "b")}, id="list-becomes-tuple"),
        pytest.param({"colour": "red"}, {}, id="text-becomes-enum"),
        pytest.param({"file": "y"}, {"file": Path("y")}, id="text-becomes-path"),
        pytest.param({"ratio": 1}, {"ratio": 1.0}, id="integer-for-a-number"),
        pytest.param({"node": {"value": 1, "children": [{"value": 2}]}}, None, id="recursive-model"),
        pytest.param({"shape": {"sides": 3}}, {"shape": {"sides": 3}}, id="typed-dict"),
        pytest.param({"model_config": "m", "json": {"a": 1}}, {"model_config": "m", "json": {"a": 1}}, id="odd-names"),
    ],
)
def test_arguments_reach_the_body_in_their_canonical_form(given, received, make_toolbox) -> None:
    """The body gets what was validated, whole and with its defaults."""
    toolbox = make_toolbox(ECHO)

    result = toolbox.call("ECHO", given)

    assert result.outcome == "ok"
    if received is not None:
        assert result.text == repr(received)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param({"limit": "5"}, "limit: Input should be a valid integer", id="text-for-a-number"),
        pytest.param({"limit": 5.5}, "limit: Input should be a valid integer", id="fraction"),
        pytest.param({"deep": 1}, "deep: Input should be a valid boolean", id="number-for-a-boolean"),
        pytest.param({"path": 5}, "path: Input should be a valid string", id="number-for-text"),
        pytest.param({"node": {"value": "1"}}, "node.value: Input should be a valid integer", id="strict-below-too"),
        pytest.param({"mode": "c"}, "mode: Input should be 'a' or 'b'", id="not-in-the-list"),
        pytest.param({"limt": 5}, "limt: no such argument. Did you mean 'limit'?", id="misspelt"),
        pytest.param(
            {"zzz": 5},
            "zzz: no such argument. Known: action, colour, deep, file, json, limit, mode, model_config, node, path, "
            "ratio, shape, words.",
            id="unknown",
        ),
        pytest.param(
            {"path": "a", "filepath": "b"},
            "'filepath' is another name of 'path', and they have different values",
            id="alias-and-name-differ",
        ),
        pytest.param(
            {"limit": 1, "max": True},
            "'max' is another name of 'limit', and they have different values",
            id="alias-and-name-differ-in-type",
        ),
        pytest.param({"path": {1, 2}}, "arguments are no JSON: Type is not JSON serializable: set", id="no-json"),
        pytest.param(
            {"path": "\ud800"}, "arguments are no JSON: str is not valid UTF-8: surrogates not allowed", id="surrogate"
        ),
        pytest.param(
            {"path": [float("nan")]}, "arguments are no JSON: path.0: nan is no finite number", id="not-a-number"
        ),
        pytest.param({"path": float("-inf")}, "arguments are no JSON: path: -inf is no finite number", id="infinite"),
        pytest.param({1: "a"}, "arguments are no JSON: Dict key must be str", id="key-is-no-text"),
        pytest.param(["path"], "arguments must be a mapping by name, not list", id="no-mapping"),
        pytest.param(None, "arguments must be a mapping by name, not NoneType", id="nothing"),
    ],
)
def test_what_does_not_fit_is_invalid(given, message, make_toolbox, events) -> None:
    """Strict types, unknown names refused, and the model is told what to mend."""
    toolbox = make_toolbox(ECHO)

    result = toolbox.call("echo", given)

    assert (result.outcome, result.reason, result.message) == ("error", "invalid_arguments", message)
    assert [event["event"] for event in events] == ["hook.tool.before", "hook.tool.after"]


def test_at_most_five_faults_are_told(make_toolbox) -> None:
    """A flood of bad arguments does not flood the model."""
    toolbox = make_toolbox(ECHO)

    result = toolbox.call("echo", {f"zz{n}": n for n in range(20)})

    assert len(result.text.splitlines()) == 6


SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "pattern": "^(a+)+$"},
        "count": {"type": "integer", "default": 5, "maximum": 20},
    },
    "required": ["query"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("given", "outcome", "text"),
    [
        pytest.param({"query": "aaa"}, "ok", "{'count': 5, 'query': 'aaa'}", id="default-filled-in"),
        pytest.param({"query": "aaa", "count": None}, "ok", "{'count': 5, 'query': 'aaa'}", id="null-dropped"),
        pytest.param({"query": "aaa", "count": 20}, "ok", "{'count': 20, 'query': 'aaa'}", id="at-the-limit"),
        pytest.param(
            {"query": "aaa", "count": 21},
            "error",
            "ERROR: invalid_arguments\ncount: 21 is greater than the maximum of 20",
            id="one-past-it",
        ),
        pytest.param({}, "error", 'ERROR: invalid_arguments\narguments: "query" is a required property', id="required"),
        pytest.param(
            {"query": "a" * 200 + "!"},
            "error",
            f'ERROR: invalid_arguments\nquery: "{"a" * 200}!" does not match "^(a+)+$"',
            id="a-pattern-that-hangs-others",
        ),
    ],
)
def test_a_schema_of_the_plugins_own_is_enforced(given, outcome, text, make_toolbox) -> None:
    """A tool that is no Python function is validated by its JSON Schema, in linear time."""

    def search(**arguments: Any) -> str:
        return repr(dict(sorted(arguments.items())))

    toolbox = make_toolbox(spec_of(search, parameters=SCHEMA, description="Search."))

    result = toolbox.call("search", given)

    assert (result.outcome, result.text) == (outcome, text)
    assert toolbox["search"].parameters == SCHEMA


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        pytest.param(
            {"type": "object", "properties": {"q": {"$ref": "http://127.0.0.1:9/schema.json"}}},
            "Resource 'http://127.0.0.1:9/schema.json' is not present in a registry and retrieving it failed: "
            "ValueError: 'http://127.0.0.1:9/schema.json' is an external reference, which is never fetched",
            id="a-reference-to-elsewhere",
        ),
        pytest.param(
            {"type": "object", "properties": {"q": {"type": "strin"}}},
            "\"strin\" is not valid under any of the schemas listed in the 'anyOf' keyword",
            id="no-schema",
        ),
    ],
)
def test_a_schema_that_cannot_be_used_stops_the_start(schema, message, make_toolbox) -> None:
    """A schema that points elsewhere or means nothing is refused, and nothing is fetched."""

    def search(**arguments: Any) -> str:
        return "ran"

    with pytest.raises(PluginError) as caught:
        make_toolbox(spec_of(search, parameters=schema))

    assert str(caught.value) == (
        f"toolcharter-test 1.0: ToolSpec 'search': parameters cannot be used: {message}.\n"
        "The plugin's author has to fix it."
    )


@pytest.mark.parametrize(
    ("aliases", "message"),
    [
        ({"file_path": "pth"}, "argument_aliases lead to unknown arguments ['pth']"),
        ({"limit": "path"}, "argument_aliases ['limit'] are arguments themselves"),
    ],
    ids=["unknown", "an-argument"],
)
def test_aliases_must_lead_to_arguments(aliases, message, make_toolbox) -> None:
    """A wrong alias stops the start, not a call."""
    with pytest.raises(PluginError) as caught:
        make_toolbox(spec_of(echo, argument_aliases=aliases))

    assert str(caught.value) == (
        f"toolcharter-test 1.0: ToolSpec 'echo': {message}.\nThe plugin's author has to fix it."
    )


def test_an_argument_of_a_type_without_validation_stops_the_start(make_toolbox) -> None:
    """An argument that cannot be validated is never passed on unchecked."""

    def worse(value: type[object] | memoryview) -> str:
        return ""

    with pytest.raises(PluginError, match="an argument's type cannot be validated"):
        make_toolbox(spec_of(worse))


def test_an_annotation_that_cannot_be_resolved_stops_the_start(make_toolbox) -> None:
    """A misspelt type in quotes is found when the toolbox is built."""

    def odd(value: "Colur") -> str:  # type: ignore[name-defined]  # noqa: F821 - the point
        return ""

    with pytest.raises(PluginError, match="an annotation of its function cannot be resolved: name 'Colur'"):
        make_toolbox(spec_of(odd))


def test_the_schema_shows_names_descriptions_and_defaults(make_toolbox) -> None:
    """The model reads the docstring's words beside each argument."""

    def look(path: str, limit: int = 10) -> str:
        """Look at something.

        It is only a look.

        Args:
            path: Where to look.
            limit: How long, in seconds.
        """
        return path

    toolbox = make_toolbox(spec_of(look))

    assert toolbox["look"].description == "Look at something.\n\nIt is only a look."
    assert toolbox["look"].parameters == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where to look."},
            "limit": {"type": "integer", "default": 10, "description": "How long, in seconds."},
        },
        "required": ["path"],
        "additionalProperties": False,
    }


class Narrow(ToolPolicy):
    """Which actions are shown."""

    actions: tuple[str, ...] = ("show",)


def test_advertise_narrows_what_is_shown_and_not_what_is_valid(make_toolbox) -> None:
    """The model sees the allowed actions only; asking for another is not a malformed call."""

    def advertise(policy: Narrow, schema: dict[str, Any]) -> dict[str, Any]:
        properties = {**schema["properties"], "action": {"type": "string", "enum": list(policy.actions)}}
        return {**schema, "properties": properties}

    def act(action: str) -> str:
        return action

    spec = ToolSpec("act", Narrow, lambda *_: act, advertise=advertise)
    toolbox = make_toolbox(spec)

    assert toolbox["act"].parameters["properties"]["action"] == {"type": "string", "enum": ["show"]}
    assert toolbox.call("act", {"action": "HIDE"}).text == "hide"


def test_a_person_is_shown_only_what_is_not_the_default(make_toolbox, tmp_path, monkeypatch) -> None:
    """Arguments that are left out, or given as their default, tell nothing; `false` is no 0 and null no text."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path.parent / "state"))
    seen = []

    def post(*, to: str, count: int = 0, urgent: bool = False, note: str | None = None, more: Any = 0) -> str:
        return "posted"

    def send(**args: Any) -> str:
        return "sent"

    properties = {"to": {"type": "string"}, "count": {"default": 0}, "more": {}}
    by_schema = spec_of(send, parameters={"type": "object", "properties": properties, "required": ["more"]})
    toolbox = make_toolbox(spec_of(post), by_schema, mode="ask", approver=lambda request: seen.append(request.args))

    toolbox.call("post", {"to": "ann", "count": 0, "note": None, "urgent": False, "more": False})
    toolbox.call("post", {"to": "ann", "count": 1, "urgent": True, "note": ""})
    toolbox.call("send", {"to": "ann", "count": 0, "more": None})

    assert seen == [
        {"to": "ann", "more": False},
        {"to": "ann", "count": 1, "urgent": True, "note": ""},
        {"to": "ann", "more": None},
    ]
