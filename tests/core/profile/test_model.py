"""`Profile`: its values, the smaller of two limits, and the digest."""

import dataclasses
import hashlib

import pytest

from toolcharter.profile.model import Case, Events, Limits, Profile
from toolcharter.profile.read import load_profile

TEXT = """\
profile: reviewer
description: Reads.
tools: {git: {allowed_actions: [log]}}
extensions: {principles: {advisory: false}}
plugins: {toolcharter-git: ">=1,<2"}
limits: {timeout_s: 30, max_output_chars: 60000, tools: {Git: {timeout_s: 40, max_output_chars: 5, truncate: tail}}}
events: {args: shape, required: true}
missing_ok: [mcp_x]
cases:
  - {tool: git, args: {action: push}, expect: deny, reason: action_not_allowed, stage: tool, name: No push}
  - {tool: git, expect: allow}
"""
POLICIES = {"git": {"allowed_actions": ["log"], "context_lines": 3}}


@pytest.fixture
def profile(write) -> Profile:
    return load_profile(write("p.yaml", TEXT.replace("tools: {Git", "tools: {git")))


def digest(profile: Profile, policies=POLICIES, extensions=None, distributions=None) -> str:
    return profile.digest(policies, extensions or {}, distributions or {"toolcharter": "0.1.0"})


def test_a_profile_holds_what_was_written(profile) -> None:
    """Each key becomes one attribute; cases keep their place; policies stay as they were written."""
    assert profile == Profile(
        name="reviewer",
        description="Reads.",
        tools={"git": {"allowed_actions": ["log"]}},
        extensions={"principles": {"advisory": False}},
        plugins={"toolcharter-git": ">=1,<2"},
        limits=Limits(30.0, 60000),
        tool_limits={"git": Limits(40.0, 5, "tail")},
        events=Events("shape", required=True),
        cases=(
            Case("git", {"action": "push"}, "deny", "action_not_allowed", "tool", "No push"),
            Case("git", {}, "allow"),
        ),
        missing_ok=("mcp_x",),
    )
    assert [case.place for case in profile.cases] == ["p.yaml:10:5", "p.yaml:11:5"]


def test_a_profile_without_tools_has_none(write) -> None:
    """What is not written lets nothing through and limits nothing."""
    assert load_profile(write("p.yaml", "profile: p")) == Profile("p")


def test_a_profile_cannot_be_changed(profile) -> None:
    """Neither its attributes nor its mappings take another value."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        profile.name = "x"
    with pytest.raises(TypeError, match="does not support item assignment"):
        profile.tools["bash"] = {}


@pytest.mark.parametrize(
    ("tool", "limits"),
    [
        pytest.param("git", Limits(30.0, 5, "tail"), id="smaller of each"),
        pytest.param("GIT", Limits(30.0, 5, "tail"), id="without case"),
        pytest.param("bash", Limits(30.0, 60000), id="the profile's alone"),
    ],
)
def test_the_smaller_limit_wins(profile, tool, limits) -> None:
    """A tool's own limits can only tighten those of the profile."""
    assert profile.limits_for(tool) == limits


def test_limits_without_a_profile_s_are_the_tool_s() -> None:
    """Silence is no limit."""
    assert Limits(1.0, 2, "head").within(Limits()) == Limits(1.0, 2, "head")
    assert Limits().within(Limits(1.0, 2, "head")) == Limits(1.0, 2, "head")


def test_the_digest_is_that_of_canonical_json() -> None:
    """SHA-256 of sorted, compact JSON: another program can compute it."""
    text = (
        '{"distributions":{"a":"1"},"events":{"args":"full","required":false},"extensions":{},'
        '"limits":{"max_output_chars":null,"timeout_s":30.0,"truncate":null},"missing_ok":["a","b"],"plugins":{},'
        '"profile":"p","tool_limits":{},"tools":{"git":{"x":"\\u00e9"}}}'
    )
    profile = Profile("p", limits=Limits(30.0), missing_ok=("b", "a"))

    assert profile.digest({"git": {"x": "é"}}, {}, {"a": "1"}) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"description": None}, id="description"),
        pytest.param({"cases": ()}, id="cases"),
        pytest.param({"tools": {}}, id="policies as written"),
    ],
)
def test_the_digest_leaves_out_what_permits_nothing(profile, change) -> None:
    """Descriptions and cases may change; policies count as validated, not as written."""
    assert digest(dataclasses.replace(profile, **change)) == digest(profile)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"name": "x"}, id="name"),
        pytest.param({"plugins": {}}, id="pins"),
        pytest.param({"limits": Limits(31.0, 60000)}, id="limits"),
        pytest.param({"tool_limits": {}}, id="limits of tools"),
        pytest.param({"events": Events()}, id="events"),
        pytest.param({"missing_ok": ()}, id="missing_ok"),
    ],
)
def test_the_digest_changes_with_the_profile(profile, change) -> None:
    """Every key that decides what may run is in it."""
    assert digest(dataclasses.replace(profile, **change)) != digest(profile)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"policies": {"git": {"allowed_actions": ["log"], "context_lines": 4}}}, id="a default"),
        pytest.param({"extensions": {"principles": {"advisory": True}}}, id="an extension's policy"),
        pytest.param({"distributions": {"toolcharter": "0.1.1"}}, id="a version"),
    ],
)
def test_the_digest_changes_with_what_is_installed(profile, change) -> None:
    """The same file with another plugin is another profile."""
    assert digest(profile, **change) != digest(profile)


def test_the_digest_does_not_depend_on_the_order_of_keys(profile) -> None:
    """Order means nothing in a profile."""
    turned = {"git": {"context_lines": 3, "allowed_actions": ["log"]}}

    assert digest(profile, turned, distributions={"b": "1", "a": "2"}) == digest(
        profile, POLICIES, distributions={"a": "2", "b": "1"}
    )


def test_a_digest_of_no_json_is_refused(profile) -> None:
    """A number without a canonical form would give a digest that nobody can check."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest(profile, {"git": {"x": float("inf")}})
