"""When one rule covers another, for whatever a star may stand for; and what a rule could reach."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.policy.samples import rule, rules
from tests.rows import each_row

from toolcharter.policy.lint.coverage import CoveringRules, Effect, ToolMatcher, ToolSignature, placeholder
from toolcharter.policy.rule_input import ToolFacts
from toolcharter.profile.globs import parse_glob
from toolcharter.profile.rules import Rule, parse_rule

BASH = ToolSignature(ToolFacts("bash", "bash"), gives_commands=True)
SILENT = ToolSignature(ToolFacts("bash", "bash"))
CLI = ToolSignature(ToolFacts("deploy", "cli"), gives_commands=True)
GIT = ToolSignature(
    ToolFacts(
        "Git", "builtin", ("VCS",), frozenset({"team"}), {"log": frozenset({"fs:read"}), "push": frozenset({"net"})}
    ),
    frozenset({"action", "remote"}),
    frozenset({"log", "push"}),
)
OPEN = ToolSignature(ToolFacts("mcp__gh__issue", "mcp", (), frozenset({"mcp"}), frozenset({"net"})))
BY_ACTION = ToolSignature(
    ToolFacts("deploy", "cli", capabilities={"go": frozenset({"net"}), "stop": frozenset({"fs:read"})})
)
"""Takes any action, and declares what two of them touch."""
UNLISTED = ToolSignature(
    ToolFacts(
        "log", capabilities={"": frozenset({"fs:read"}), "tail": frozenset({"fs:read"}), "up": frozenset({"net"})}
    ),
    frozenset({"action"}),
    frozenset({"tail"}),
)
"""Declares what an action touches that its arguments do not list."""
SHELL = ToolSignature(ToolFacts("shell", "builtin", capabilities=frozenset({"proc"})), gives_commands=True)
GLOBS = st.text("ab*", max_size=6)


@given(GLOBS, GLOBS, st.lists(st.text("ab", max_size=3), min_size=7, max_size=7))
def test_glob_that_covers_another_matches_what_it_matches(wide, narrow, texts) -> None:
    """Whatever text the stars of the narrow one stand for."""
    both = [Rule(text, "p:1:1", "bash", parse_glob(text)) for text in (wide, narrow)]
    covered = CoveringRules(both[:1], placeholder(both)).first(ToolMatcher(both[1]), BASH, "deny") is not None

    subject = "".join(texts.pop() if letter == "*" else letter for letter in narrow)

    assert parse_glob(narrow).matches(subject)
    assert not covered or parse_glob(wide).matches(subject)


@each_row(
    ("wide", "narrow", "tool", "effect", "covers"),
    [
        pytest.param("bash:ls *", "bash:ls -l", BASH, "deny", True, id="star over words"),
        pytest.param("bash:ls -l", "bash:ls *", BASH, "deny", False, id="not the other way round"),
        pytest.param("bash:ls *", "bash:ls a*", BASH, "allow", True, id="allow: no whole word is left to the star"),
        pytest.param("bash:ls *", "bash:ls -a *", BASH, "allow", False, id="allow: the star does not mention the word"),
        pytest.param("bash:ls *", "bash:ls *", BASH, "allow", True, id="allow: itself"),
        pytest.param("bash:*", "bash:ls -l", BASH, "allow", True, id="allow: all commands"),
        pytest.param("*:ls *", "bash:LS -l", BASH, "deny", True, id="a star's prefix, without case"),
        pytest.param("bash:ls *", "*:ls -l", BASH, "deny", False, id="a star's prefix is wider"),
        pytest.param("bash", "bash:ls", BASH, "allow", True, id="the whole tool"),
        pytest.param("git", "git:push", GIT, "deny", True, id="name over action"),
        pytest.param("git:push", "git", GIT, "deny", False, id="action under name"),
        pytest.param("git:p*", "git:push", GIT, "deny", True, id="glob over an action"),
        pytest.param("git:p*", "git:*", GIT, "deny", False, id="not over all actions"),
        pytest.param("vcs:push", "git:pu*", GIT, "deny", True, id="by another name"),
        pytest.param("group:team", "git:log", GIT, "deny", True, id="group over action"),
        pytest.param("group:team", "cap:net", GIT, "deny", True, id="group over capability"),
        pytest.param("cap:net", "git:push", GIT, "deny", True, id="capability over the action that has it"),
        pytest.param("cap:net", "git:log", GIT, "deny", False, id="not over one that has not"),
        pytest.param("cap:*", "git", GIT, "deny", True, id="all capabilities"),
        pytest.param("cap:net", "git", GIT, "deny", False, id="not over the tool"),
        pytest.param("git:push", "cap:net", GIT, "deny", False, id="an action that declares nothing has it, too"),
        pytest.param("cap:n*", "cap:net", GIT, "allow", True, id="allow: capability over capability"),
        pytest.param("cap:n*", "git:push", GIT, "allow", False, id="allow: capability over no action"),
        pytest.param("git", "cap:net", GIT, "allow", True, id="allow: the tool over its capability"),
        pytest.param("mcp:gh:*", "mcp:gh:issue", OPEN, "deny", True, id="server over tool"),
        pytest.param("mcp__gh__*", "mcp__gh__i*", OPEN, "deny", True, id="names over names"),
        pytest.param("mcp__gh__*", "mcp:gh:issue", OPEN, "deny", True, id="a name holds for every action"),
        pytest.param("*:mcp__gh__issue:x*", "mcp__gh__issue:xy", OPEN, "deny", True, id="any text may be an action"),
        pytest.param("mcp__gh__issue:x*", "mcp__gh__issue:y*", OPEN, "deny", False, id="another action"),
        pytest.param("mcp__gh__issue:x*", "cap:net", OPEN, "deny", False, id="not over all that has a capability"),
        pytest.param("mcp__*", "mcp__gh__issue", OPEN, "allow", False, id="allow: a bare glob covers no such tool"),
        pytest.param("git(remote=*)", "git(remote=a)", GIT, "deny", True, id="argument over argument"),
        pytest.param("git(remote=a)", "git(remote=*)", GIT, "deny", False, id="argument under argument"),
        pytest.param("git(remote=*)", "git", GIT, "deny", False, id="one that asks over one that does not"),
        pytest.param("git", "git(remote=a)", GIT, "deny", True, id="one that does not ask"),
        pytest.param(
            {"rule": "git", "when": {"remote": {"const": "a", "type": "string"}}},
            {"rule": "git:log", "when": {"remote": {"type": "string", "const": "a"}}},
            GIT,
            "deny",
            True,
            id="the same condition, its keys in another order",
        ),
        pytest.param(
            {"rule": "git", "when": {"remote": {"type": "string", "const": "a"}}},
            {"rule": "git:log", "when": {"remote": {"const": "a", "type": "string"}}},
            GIT,
            "deny",
            True,
            id="the same condition, the keys of the wide one in another order",
        ),
        pytest.param(
            {"rule": "git", "when": {"remote": {"const": 1}}},
            {"rule": "git", "when": {"remote": {"const": True}}},
            GIT,
            "deny",
            False,
            id="one is not true",
        ),
        pytest.param({"rule": "git", "when": {"remote": {"const": 1}}}, "git", GIT, "deny", False, id="a condition"),
        pytest.param("bash:LS *", "bash:LS -l", BASH, "deny", True, id="commands have a case"),
        pytest.param("bash:ls *", "bash:LS -l", BASH, "deny", False, id="another case is another command"),
        pytest.param("cap:*", "git:push", GIT, "allow", False, id="allow: all capabilities over no action"),
        pytest.param("cap:n*", "cap:fs", GIT, "allow", False, id="allow: one capability not over another"),
        pytest.param("cap:n*", "cap:net", BY_ACTION, "deny", True, id="capability over capability, action by action"),
        pytest.param("cap:fs:*", "cap:net", BY_ACTION, "deny", False, id="not over an action that has another"),
        pytest.param("git:*", "git", GIT, "deny", False, id="all actions are not all calls"),
        pytest.param("group:g*", "mcp:gh:issue", OPEN, "deny", False, id="a group's name is not a server's"),
        pytest.param("cap:mcp__*", "mcp__gh__issue:x", OPEN, "deny", False, id="a capability's name is not a tool's"),
    ],
)
def test_a_rule_covers_another(wide: Any, narrow: Any, tool: ToolSignature, effect: Effect, covers: bool) -> None:  # noqa: FBT001 - a table's row
    """If each call of the tool that the narrow one matches is one of the wide one."""
    both = [rule(wide), rule(narrow)]
    found = CoveringRules(both[:1], placeholder(both)).first(ToolMatcher(both[1]), tool, effect)

    assert found == (both[0] if covers else None)


def test_the_first_rule_that_covers_is_named() -> None:
    """In the order of the list, which may end before the rule itself."""
    listed = rules("bash:ls -l", "bash:l*", "bash:ls *", "bash:*")
    coverers, narrow = CoveringRules(listed, placeholder(listed)), ToolMatcher(rule("bash:ls -a"))

    assert coverers.first(narrow, BASH, "deny") == listed[1]
    assert coverers.first(narrow, BASH, "deny", before=1) is None
    assert coverers.first(narrow, BASH, "deny", before=2) == listed[1]


def test_the_first_of_many_rules_that_cover_is_named() -> None:
    """However far apart they are."""
    listed = rules("bash:a", "bash:ls *", *(f"bash:b{number}" for number in range(6)), "bash:l*")

    assert CoveringRules(listed, placeholder(listed)).first(ToolMatcher(rule("bash:ls -a")), BASH, "deny") == listed[1]


def test_named_actions_are_those_of_the_arguments_or_of_the_capabilities() -> None:
    """Without case, like all that a rule names; a call without action has none."""
    declaring = ToolSignature(ToolFacts("t", capabilities={"Push": frozenset[str](), "": frozenset[str]()}))

    assert declaring.named_actions == {"push"}
    assert declaring._replace(actions=frozenset({"log"})).named_actions == {"log"}
    assert UNLISTED._replace(advertised=frozenset({"up"})).open_actions == frozenset()


@each_row(
    ("written", "tool", "deny", "allow", "covers"),
    [
        # Concerns the tool, acts on it and reaches it: in `deny`, in `allow`. Then whether it helps to permit a call.
        pytest.param("bash:ls", BASH, (True, True, True), (True, True, True), True, id="command"),
        pytest.param("bash:ls", SILENT, (False, False, False), (False, False, False), False, id="without commands"),
        pytest.param("*:ls", BASH, (True, True, True), (False, False, False), False, id="star over commands"),
        pytest.param("bash:ls", CLI, (True, True, True), (False, False, False), False, id="commands of another kind"),
        pytest.param("cli:deploy", CLI, (True, True, True), (True, True, True), True, id="kind"),
        pytest.param("git", GIT, (True, True, True), (True, True, True), True, id="name"),
        pytest.param("git:push", GIT, (True, True, True), (True, True, True), True, id="action"),
        pytest.param("git:pull", GIT, (True, False, False), (True, False, False), False, id="action there is not"),
        pytest.param("gi*:p*", GIT, (True, True, True), (True, True, True), True, id="glob over name and action"),
        pytest.param("svn:*", GIT, (False, False, False), (False, False, False), False, id="another tool"),
        pytest.param("cap:net", GIT, (True, True, True), (True, True, True), True, id="capability"),
        pytest.param("cap:other", GIT, (True, True, True), (True, True, True), False, id="capability not declared"),
        pytest.param("git(remote=a)", GIT, (True, True, True), (True, True, True), True, id="argument"),
        pytest.param("git(branch=a)", GIT, (True, True, False), (True, True, False), False, id="no such argument"),
        pytest.param("mcp:gh:issue", OPEN, (True, True, True), (True, True, True), True, id="server and tool"),
        pytest.param("mcp:gh:issue:x", OPEN, (False, False, False), (False, False, False), False, id="no action there"),
        pytest.param("mcp__gh__issue:x", OPEN, (True, True, True), (True, True, True), True, id="any action"),
        pytest.param(
            "group:team:*", GIT, (False, False, False), (False, False, False), False, id="no action of groups"
        ),
        pytest.param("gi", GIT, (False, False, False), (False, False, False), False, id="part of a name"),
        pytest.param("*:ls", SHELL, (True, True, True), (False, False, False), False, id="commands of a bounded tool"),
        pytest.param("cap:net", UNLISTED, (True, True, True), (True, True, True), True, id="of an unlisted action"),
        pytest.param("group:mcp", OPEN, (True, True, True), (True, True, True), False, id="no group permits it"),
    ],
)
def test_what_a_rule_could_reach(written: Any, tool: ToolSignature, deny: Any, allow: Any, covers: bool) -> None:  # noqa: FBT001 - a table's row
    """Too much rather than too little."""
    reaching = ToolMatcher(rule(written))
    senses: tuple[Effect, Effect] = ("deny", "allow")

    found = [(reaching.concerns(tool, one), reaching.acts_on(tool, one), reaching.reaches(tool, one)) for one in senses]

    assert (found, reaching.could_cover(tool)) == ([deny, allow], covers)


@each_row(
    ("written", "tool", "missing", "ineffective"),
    [
        pytest.param("git(branch=a, remote=b)", GIT, ("branch",), (), id="a glob needs its argument"),
        pytest.param("git(branch=a)", OPEN, (), (), id="there may be any argument"),
        pytest.param({"rule": "git", "when": {"branch": {"const": "a"}}}, GIT, ("branch",), (), id="a value"),
        pytest.param({"rule": "git", "when": {"branch": {"const": None}}}, GIT, (), ("branch",), id="null is absence"),
        pytest.param({"rule": "git", "when": {"branch": {"const": None}}}, OPEN, (), (), id="may be there"),
        pytest.param({"rule": "git", "when": {"remote": {"const": None}}}, GIT, (), (), id="is there"),
        pytest.param(
            {"rule": "git(remote=a)", "when": {"branch": {"const": None}}}, GIT, (), ("branch",), id="beside a glob"
        ),
        pytest.param(
            {"rule": "git(branch=a)", "when": {"branch": {"const": None}}}, GIT, ("branch",) * 2, (), id="both"
        ),
        pytest.param(
            {"rule": "git", "when": {"branch": {"const": None}, "tag": {"const": "a"}}},
            GIT,
            ("tag",),
            ("branch",),
            id="each by itself",
        ),
    ],
)
def test_arguments_that_a_tool_does_not_have(written: Any, tool: ToolSignature, missing: Any, ineffective: Any) -> None:
    """A condition on one never holds, or always: to `when` an absent argument is null."""
    reaching = ToolMatcher(rule(written))

    assert (reaching.missing_arguments(tool), reaching.ineffective_arguments(tool)) == (missing, ineffective)


def test_placeholder_stands_in_no_rule() -> None:
    """Whoever writes such characters does not deceive the review."""
    found = placeholder(map(parse_rule, ["bash:\ue000*", "git(remote=\ue001)"]))

    assert found == "\ue002"
    assert placeholder([]) == "\ue000"
