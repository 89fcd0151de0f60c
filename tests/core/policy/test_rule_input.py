"""What a decision knows of a tool: its spec, without case, and the groups that a profile puts it in."""

import pytest
from tests.rows import each_row

from toolcharter.api.policy import ToolPolicy
from toolcharter.api.tool import ToolSpec
from toolcharter.policy.rule_input import (
    NO_REQUIREMENTS,
    Requirements,
    RuleInput,
    ToolFacts,
    facts_of,
    mcp_subject,
    own_groups,
)


def spec(name: str = "git", **facts) -> ToolSpec[ToolPolicy]:
    return ToolSpec(name, ToolPolicy, lambda _workspace, _policy, _rt: print, **facts)


def test_the_facts_of_a_spec_are_those_that_rules_can_name() -> None:
    """The spec's own group joins those of the profile."""
    facts = facts_of(spec("Git", aliases=["VCS"], group="Tools", capabilities=["net"], safety="low"), frozenset({"x"}))

    assert facts == ToolFacts("Git", "builtin", ("VCS",), frozenset({"x", "tools"}), frozenset({"net"}), "low")
    assert (facts.names, facts.is_bounded) == (("git", "vcs"), True)


@pytest.mark.parametrize("kind", ["bash", "cli", "mcp", "custom"])
def test_only_builtin_tools_are_bounded(kind) -> None:
    """The arguments of all others are programs."""
    assert not facts_of(spec(kind=kind)).is_bounded


@each_row(
    ("declared", "by_action", "actions"),
    [
        pytest.param(None, [None, None, None], (None,), id="undeclared"),
        pytest.param(["net"], [{"net"}, {"net"}, {"net"}], (None,), id="for all actions"),
        pytest.param([], [set(), set(), set()], (None,), id="nothing"),
        pytest.param({"push": ["net"]}, [None, {"net"}, None], ("push", None), id="by action"),
        pytest.param({"": ["fs"], "push": []}, [{"fs"}, set(), None], ("", "push", None), id="without action"),
    ],
)
def test_capabilities_are_for_all_actions_or_by_action(declared, by_action, actions) -> None:
    """An action that is not among them is undeclared; a call without action has its own, named by nothing."""
    facts = facts_of(spec(capabilities=declared))

    assert [facts.capabilities_of(action) for action in (None, "push", "log")] == by_action
    assert facts.actions == actions


@each_row(
    ("name", "kind", "group", "groups"),
    [
        pytest.param("git", "builtin", None, set(), id="none"),
        pytest.param("git", "cli", "Tools", {"tools"}, id="the spec's, without case"),
        pytest.param("mcp__GH__issue", "mcp", None, {"mcp", "mcp:gh"}, id="an mcp server's"),
        pytest.param("Issue", "mcp", None, {"mcp", "mcp:issue"}, id="an mcp tool without server"),
        pytest.param("mcp__gh__issue", "mcp", "dev", {"mcp", "mcp:gh", "dev"}, id="both"),
        pytest.param("mcp__gh__issue", "builtin", None, set(), id="the name alone makes no mcp tool"),
    ],
)
def test_a_tool_is_in_its_spec_s_group_and_its_server_s(name, kind, group, groups) -> None:
    """Groups of MCP servers fill by themselves."""
    assert own_groups(name, kind, group) == groups


@each_row(
    ("name", "subject"),
    [
        ("mcp__gh__issue", "gh:issue"),
        ("MCP__GH__Issue", "gh:issue"),
        ("gh__issue", "gh:issue"),
        ("mcp__gh__issue__new", "gh:issue__new"),
        ("mcp__gh", "gh"),
        ("issue", "issue"),
    ],
)
def test_an_mcp_tool_is_its_server_and_its_name_there(name, subject) -> None:
    """Only the first two separators count."""
    assert mcp_subject(name) == subject


def test_what_is_not_said_of_a_tool_is_the_worst() -> None:
    """Undeclared and of the highest safety level, in no group; a call without arguments has none."""
    assert ToolFacts("git") == ("git", "builtin", (), frozenset(), None, "high")
    assert RuleInput() == (None, {}, (), None, (), None, None)


def test_commands_that_only_start_others_need_no_rule() -> None:
    """Unless there are no others; without word of what commands need, they need to be matched."""
    free, plain = ("command ls", Requirements(is_exempt=True)), ("ls", NO_REQUIREMENTS)

    def subject(*pairs: tuple[str, Requirements]) -> RuleInput:
        return RuleInput(commands=tuple(one for one, _ in pairs), needs=tuple(one for _, one in pairs))

    assert subject(free, plain).commands_with_needs == (free, plain)
    assert subject(free, plain).commands_to_cover == (plain,)
    assert subject(free).commands_to_cover == (free,)
    assert RuleInput(commands=("ls",)).commands_to_cover == RuleInput(commands=("ls",)).commands_with_needs == (plain,)
    assert subject().commands_to_cover == ()


def test_each_command_has_needs_or_none_has() -> None:
    """A call that has lost some of them is no call to decide on."""
    with pytest.raises(ValueError, match="shorter"):
        _ = RuleInput(commands=("ls", "rm x"), needs=(NO_REQUIREMENTS,)).commands_with_needs
