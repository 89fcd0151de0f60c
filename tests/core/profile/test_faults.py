"""What pydantic says about a policy, in words for people and at its place in the profile."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, ValidationError, field_validator

from toolcharter.api.policy import ToolPolicy
from toolcharter.profile.faults import faults_of
from toolcharter.profile.read import read_profile


class Action(StrEnum):
    STATUS = "status"
    LOG = "log"


class Remote(BaseModel, extra="forbid"):
    name: str
    depth: Annotated[int, Field(ge=1)] = 1


class GitPolicy(ToolPolicy):
    allowed_actions: tuple[Action, ...] = ()
    max_output_chars: Annotated[int, Field(gt=0, le=100)] = 10
    ratio: float = 0.5
    prefix: Annotated[str, Field(pattern="^[a-z]+$", max_length=4)] = "a"
    push: bool = False
    roots: tuple[Path, ...] = ()
    size: int | Literal["all"] = 1
    remotes: dict[str, Remote] = Field(default_factory=dict)
    mirror: Remote | None = None
    pattern: str = ""

    @field_validator("pattern")
    @classmethod
    def _pattern(cls, value: str) -> str:
        if "(" in value:
            message = "Unbalanced bracket."
            raise ValueError(message)
        return value


FIELDS = (
    "'allowed_actions', 'max_output_chars', 'mirror', 'pattern', 'prefix', 'push', 'ratio', 'remotes', 'roots', 'size'"
)


@pytest.fixture
def told_of(write) -> Callable[[str], list[str]]:
    """Read `tools: {git: POLICY}`, validate the policy and give its faults as they are printed."""

    def told_of(policy: str, model: type[BaseModel] | None = GitPolicy) -> list[str]:
        source = read_profile(write("p.yaml", f"profile: p\ntools:\n  git: {policy}\n"))
        assert source.profile is not None
        with pytest.raises(ValidationError) as refused:
            GitPolicy.from_profile(source.profile.tools["git"])
        return [str(fault) for fault in faults_of(refused.value, source.places, ("tools", "git"), model)]

    return told_of


@pytest.mark.parametrize(
    ("policy", "faults"),
    [
        pytest.param(
            "{allowd_actions: []}",
            [
                (
                    f"9: tools.git.allowd_actions: unknown key 'allowd_actions'.\nDid you mean 'allowed_actions'? Known keys: "
                    f"{FIELDS}."
                )
            ],
            id="misspelt key",
        ),
        pytest.param(
            "{allowed_actions: [log, stauts]}",
            [
                (
                    "32: tools.git.allowed_actions.1: expected one of 'status' or 'log', found the text 'stauts'.\nDid you mean "
                    "'status'?"
                )
            ],
            id="enum",
        ),
        pytest.param(
            "{allowed_actions: log}",
            ["26: tools.git.allowed_actions: expected a list, found the text 'log'.\nWrite [log]."],
            id="text for a list",
        ),
        pytest.param(
            "{max_output_chars: '5', ratio: x, push: yes, prefix: 5}",
            [
                "27: tools.git.max_output_chars: expected a whole number, found the text '5'.",
                "39: tools.git.ratio: expected a number, found the text 'x'.",
                "61: tools.git.prefix: expected text, found the number 5.",
                "48: tools.git.push: expected true or false, found the text 'yes'.",
            ],
            id="types",
        ),
        pytest.param(
            "{max_output_chars: 0, prefix: ABCDE}",
            [
                "27: tools.git.max_output_chars: expected a number above 0, found the number 0.",
                "38: tools.git.prefix: expected text of at most 4 characters, found the text 'ABCDE'.",
            ],
            id="bounds",
        ),
        pytest.param(
            "{max_output_chars: 101, prefix: A}",
            [
                "27: tools.git.max_output_chars: expected a number of at most 100, found the number 101.",
                "40: tools.git.prefix: expected text that matches '^[a-z]+$', found the text 'A'.",
            ],
            id="other bounds",
        ),
        pytest.param(
            "{max_output_chars: 1.5, roots: {a: b}}",
            [
                "27: tools.git.max_output_chars: expected a whole number, found the number 1.5.",
                "39: tools.git.roots: expected a list, found a mapping.",
            ],
            id="part of a number",
        ),
        pytest.param(
            "{size: some}",
            ["15: tools.git.size: expected a whole number or one of 'all', found the text 'some'."],
            id="union",
        ),
        pytest.param(
            "{remotes: {origin: {dept: 2}}}",
            [
                (
                    "28: tools.git.remotes.origin.dept: unknown key 'dept'.\nDid you mean 'depth'? Known keys: 'depth', "
                    "'name'."
                ),
                "27: tools.git.remotes.origin.name: the key is missing.",
            ],
            id="a model in a mapping",
        ),
        pytest.param(
            "{remotes: {origin: []}, mirror: {name: x, depth: 0}}",
            [
                "27: tools.git.remotes.origin: expected a mapping, found a list.",
                "57: tools.git.mirror.depth: expected a number of at least 1, found the number 0.",
            ],
            id="a model in a union",
        ),
        pytest.param("{pattern: '('}", ["18: tools.git.pattern: unbalanced bracket."], id="the plugin's own words"),
    ],
)
def test_every_fault_of_a_policy_is_told_at_its_place(told_of, policy, faults) -> None:
    """Faults of a policy read like faults of the profile itself."""
    assert told_of(policy) == [f"p.yaml:3:{fault}" for fault in faults]


def test_without_the_model_no_keys_are_known(told_of) -> None:
    """A key is still refused if nobody can say which ones there are."""
    assert told_of("{x: 1}", None) == ["p.yaml:3:9: tools.git.x: unknown key 'x'.\nThere are no keys here."]


def test_an_error_without_words_of_ours_keeps_pydantic_s(write) -> None:
    """What no table foresees is told in pydantic's words rather than not at all."""

    class Odd(ToolPolicy):
        day: UUID | None = None

    source = read_profile(write("p.yaml", "profile: p\ntools: {odd: {day: x}}\n"))
    with pytest.raises(ValidationError) as refused:
        Odd.from_profile({"day": "x"})

    faults = list(map(str, faults_of(refused.value, source.places, ("tools", "odd"), Odd)))

    assert faults == [
        "p.yaml:2:20: tools.odd.day: the value should be a valid UUID, invalid character: found `x` at 0."
    ]
