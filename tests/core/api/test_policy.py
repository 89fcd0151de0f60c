"""A tool's policy as a profile fills it: strict JSON, frozen, nothing unknown."""

from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field, ValidationError, create_model
from tests.rows import each_row

from toolcharter.api.policy import ToolPolicy


class Mode(StrEnum):
    FAST = "fast"


class Policy(ToolPolicy):
    names: tuple[str, ...] = ()
    mode: Mode | None = None
    root: Path | None = None
    limit: int = 1


def test_values_of_a_profile_become_the_policy() -> None:
    """Lists become tuples, text becomes enumerations and paths."""
    policy = Policy.from_profile({"names": ["a"], "mode": "fast", "root": "docs", "limit": 2})

    assert policy == Policy(names=("a",), mode=Mode.FAST, root=Path("docs"), limit=2)


def test_empty_entry_is_the_defaults() -> None:
    """`bash: {}` in a profile lets the least through that the tool can."""
    assert Policy.from_profile({}) == Policy()


@each_row(
    ("values", "faults"),
    [
        pytest.param({"limit": "5"}, [(("limit",), "int_type")], id="text-for-a-number"),
        pytest.param({"limit": True}, [(("limit",), "int_type")], id="boolean-for-a-number"),
        pytest.param({"names": "a"}, [(("names",), "tuple_type")], id="text-for-a-list"),
        pytest.param({"lmit": 5}, [(("lmit",), "extra_forbidden")], id="unknown-key"),
        pytest.param(
            {"mode": "slow", "names": [1]},
            [(("names", 0), "string_type"), (("mode",), "enum")],
            id="all-faults-at-once",
        ),
    ],
)
def test_wrong_value_is_refused_with_its_place(values: dict[str, Any], faults: list[Any]) -> None:
    """Every fault has its location; nothing is converted to fit."""
    with pytest.raises(ValidationError) as caught:
        Policy.from_profile(values)

    assert [(fault["loc"], fault["type"]) for fault in caught.value.errors()] == faults


def test_policy_is_frozen() -> None:
    """A tool cannot widen its own policy."""
    policy = Policy()

    with pytest.raises(ValidationError, match="frozen_instance"):
        policy.limit = 5

    assert policy.limit == 1


def test_default_that_does_not_fit_is_refused() -> None:
    """A plugin's own default goes through the same validation."""

    class Broken(ToolPolicy):
        limit: int = "5"  # type: ignore[assignment]

    with pytest.raises(ValidationError, match="int_type"):
        Broken.from_profile({})


class Described(Policy):
    """A policy with words to its fields."""

    names: tuple[str, ...] = ()
    """Who may be named.

    In order.
    """
    depth: int = Field(default=3, description="How deep.")
    hidden: int = Field(default=0, alias="secretly", description="Under another name.")
    bare: int = 0
    tags: frozenset[str] = frozenset()
    by_name: dict[str, frozenset[int]] = Field(default_factory=dict)
    tuples: tuple[frozenset[str], ...] = ()

    def method(self) -> None:
        """No field."""


def test_docstring_below_a_field_is_its_description() -> None:
    """What an editor or a table shows stands beside the code."""
    assert Described.descriptions() == {
        "names": "Who may be named.\n\nIn order.",
        "depth": "How deep.",
        "hidden": "Under another name.",
    }
    properties = Described.model_json_schema()["properties"]
    assert {name: field.get("description") for name, field in properties.items()} == {
        "names": "Who may be named.\n\nIn order.",
        "mode": None,
        "root": None,
        "limit": None,
        "depth": "How deep.",
        "secretly": "Under another name.",
        "bare": None,
        "tags": None,
        "by_name": None,
        "tuples": None,
    }


def test_policy_without_source_has_no_descriptions() -> None:
    """A class made at run time is usable, only less well described."""
    made = create_model("Made", __base__=ToolPolicy, limit=(int, 1))

    assert made.descriptions() == {}


def test_canonical_form_has_its_sets_in_order() -> None:
    """Equal policies have one digest, in every process."""
    policy = Described(tags=frozenset("cba"), by_name={"x": frozenset({3, 1})}, tuples=(frozenset("ba"),))

    assert policy.canonical() == {
        "names": [],
        "mode": None,
        "root": None,
        "limit": 1,
        "depth": 3,
        "hidden": 0,
        "bare": 0,
        "tags": ["a", "b", "c"],
        "by_name": {"x": [1, 3]},
        "tuples": [["a", "b"]],
    }
