"""A whole list answers what its rules say one after the other, and tells the first of them."""

from typing import Any
from unittest.mock import Mock
from unittest.mock import call as made

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.policy.samples import (
    BASH,
    CODE,
    DEPLOY,
    GIT,
    ISSUE,
    NEEDS,
    NOTHING,
    REPORT,
    Written,
    paired,
    rule,
    rule_list,
    rules,
)
from tests.rows import each_row

from toolcharter.policy import rules_by_tool as rulelist
from toolcharter.policy.matching import Matcher
from toolcharter.policy.rule_input import NO_REQUIREMENTS, Requirements, RuleInput, ToolFacts
from toolcharter.policy.rules_by_tool import AllowRules, ConditionalRules, DenyRules, RuleList
from toolcharter.profile.rules import Rule

ONE = {"const": 1}


def when(text: str, **conditions: Any) -> Written:
    return {"rule": text, "when": conditions or {"n": ONE}}


def first_denial(written: list[Written], facts: ToolFacts, call: RuleInput) -> str | None:
    found = DenyRules(rule_list(*written), facts).first(call)
    return found and found.source.split(":")[1]


def first_permit(written: list[Written], facts: ToolFacts, call: RuleInput) -> str | None:
    found = AllowRules(rule_list(*written), facts).first(call)
    return found and found.source.split(":")[1]


RUNS = RuleInput(commands=("ls", "sudo rm"))


@each_row(
    ("written", "facts", "call", "line"),
    [
        pytest.param([], GIT, NOTHING, None, id="no rules"),
        pytest.param(["deploy"], GIT, NOTHING, None, id="no match"),
        pytest.param(["deploy", "g*", "git"], GIT, NOTHING, "2", id="first of two"),
        pytest.param(["git:push", "git"], GIT, RuleInput("push"), "1", id="first of an action"),
        pytest.param(["git:push", "git"], GIT, RuleInput("log"), "2", id="another action"),
        pytest.param(["cap:net", "git"], GIT, NOTHING, "1", id="capability before name"),
        pytest.param(["git", "cap:net"], GIT, NOTHING, "1", id="name before capability"),
        pytest.param(["cap:fs", "cap:net"], GIT, NOTHING, "2", id="the capability that is declared"),
        pytest.param(["cap:fs", "cap:net"], GIT._replace(capabilities=None), NOTHING, "1", id="undeclared: all"),
        pytest.param(
            ["bash:x", "cap:a"], BASH._replace(capabilities=None), RuleInput(commands=("x",)), "1", id="cap, bash"
        ),
        pytest.param(["git(p=a)", "git"], GIT, RuleInput(args={"p": "a"}), "1", id="condition holds"),
        pytest.param(["git(p=a)", "git"], GIT, RuleInput(args={"p": "b"}), "2", id="condition fails"),
        pytest.param(["git", "git(p=a)"], GIT, RuleInput(args={"p": "a"}), "1", id="plain before condition"),
        pytest.param(["git(p=a*)", "git(p=*a)"], GIT, RuleInput(args={"p": "a"}), "1", id="two conditions"),
        pytest.param(["git(p=b)", "git(q=a)"], GIT, RuleInput(args={"q": "a", "p": "a"}), "2", id="other arguments"),
        pytest.param(["git(q=a)", when("git")], GIT, RuleInput(args={"n": 1, "q": "a"}), "1", id="glob before when"),
        pytest.param([when("git"), "git(q=a)"], GIT, RuleInput(args={"n": 1, "q": "a"}), "1", id="when before glob"),
        pytest.param([when("cap:net")], GIT, RuleInput(args={"n": 1}), "1", id="capability with a condition"),
        pytest.param([when("cap:net")], GIT, RuleInput(args={"n": 2}), None, id="capability, condition fails"),
        pytest.param(["bash:sudo *"], BASH, RUNS, "1", id="one command suffices"),
        pytest.param(["bash:sudo *", "bash:ls"], BASH, RUNS, "1", id="first in the file, not in the line"),
        pytest.param(["*:sudo *"], BASH, RuleInput(commands=("SUDO rm",)), "1", id="* takes the case from commands"),
        pytest.param(["*:SUDO *", "bash:ls"], BASH, RUNS, "1", id="* before bash"),
        pytest.param(["bash:ls", "*:sudo *"], BASH, RUNS, "1", id="bash before *"),
        pytest.param(["bash:ls*", "bash"], BASH, NOTHING, None, id="no commands"),
        pytest.param([when("bash:sudo *"), "bash"], BASH, RUNS._replace(args={"n": 1}), "1", id="command and when"),
        pytest.param([when("bash:sudo *"), "bash"], BASH, RUNS, "2", id="command, when fails"),
        pytest.param([when("bash:x"), when("bash:ls")], BASH, RUNS._replace(args={"n": 1}), "2", id="when, no command"),
        pytest.param([when("*:sudo*")], BASH, RUNS._replace(args={"n": 1}), "1", id="* and when"),
        pytest.param([when("bash:ls")], DEPLOY, RUNS._replace(args={"n": 1}), "1", id="command of another kind, when"),
        pytest.param(["bash:ls"], DEPLOY, RUNS, "1", id="command of another kind"),
        pytest.param(["bash:ls", "bash"], BASH, RUNS, "1", id="name is not looked at behind bash"),
        pytest.param(["group:x", "group:team"], ISSUE, NOTHING, "2", id="group"),
        pytest.param(["mcp:x:*", "mcp:gh:*"], ISSUE, NOTHING, "2", id="mcp"),
        pytest.param(["custom:*", "builtin:*", "cli:*"], DEPLOY, NOTHING, "3", id="kind"),
        pytest.param(["cli:*", "custom:*"], REPORT, NOTHING, "2", id="custom"),
    ],
)
def test_the_first_deny_rule_that_matches_is_told(written, facts, call, line) -> None:
    """Whichever index it is found in, the order of the file counts."""
    assert first_denial(written, facts, call) == line


PAIR = GIT._replace(capabilities=frozenset({"fs:read", "net"}))
BY_ACTION = GIT._replace(capabilities={"push": frozenset({"net"}), "log": frozenset({"fs:read"}), "none": frozenset()})


@each_row(
    ("written", "facts", "call", "line"),
    [
        pytest.param([], GIT, NOTHING, None, id="no rules"),
        pytest.param(["x", "git"], GIT, NOTHING, "2", id="name"),
        pytest.param(["g*", "*", "deploy:*", "deploy"], DEPLOY, NOTHING, "4", id="unbounded: its name"),
        pytest.param(["group:team", "cap:net", "*:*", "custom:*"], REPORT, NOTHING, "4", id="unbounded: its kind"),
        pytest.param(["bash:ls"], GIT, RuleInput(commands=("ls",)), None, id="commands do not cover a bounded tool"),
        pytest.param(["bash:ls"], DEPLOY, RuleInput(commands=("ls",)), None, id="nor one of another kind"),
        pytest.param(["bash:ls", "bash:sudo *"], BASH, RUNS, "1", id="all commands together"),
        pytest.param(["bash:sudo *", "bash:ls"], BASH, RUNS, "1", id="the first in the file"),
        pytest.param(["bash:ls"], BASH, RUNS, None, id="the first command alone"),
        pytest.param(["bash:sudo *"], BASH, RUNS, None, id="the last command alone"),
        pytest.param(["bash:sudo *", "bash"], BASH, RUNS, "1", id="one rule for one, one for both"),
        pytest.param(["bash"], BASH, NOTHING, None, id="no commands"),
        pytest.param(["*:ls"], BASH, RuleInput(commands=("ls",)), None, id="* covers no commands"),
        pytest.param(["execute_code"], CODE, RUNS, "1", id="name of a tool that runs commands"),
        pytest.param(["bash:ls", "execute_code"], CODE, RUNS, "2", id="name, though a command is not covered"),
        pytest.param([when("bash:ls"), "bash:ls"], BASH, RuleInput(args={"n": 1}, commands=("ls",)), "1", id="when"),
        pytest.param([when("bash:ls"), "bash:ls"], BASH, RuleInput(commands=("ls",)), "2", id="when fails"),
        pytest.param(
            ["bash:ls", when("bash:ls")], BASH, RuleInput(args={"n": 1}, commands=("ls",)), "1", id="plain first"
        ),
        pytest.param(
            [when("bash:ls"), "bash:sudo*"], BASH, RUNS._replace(args={"n": 1}), "1", id="when for one of two"
        ),
        pytest.param([when("bash:ls"), "bash:sudo*"], BASH, RUNS, None, id="when fails for one of two"),
        pytest.param([when("*:ls")], BASH, RuleInput(args={"n": 1}, commands=("ls",)), None, id="* with when"),
        pytest.param(
            [when("bash:ls")], BASH, RuleInput(args={"n": 1}, commands=("rm x",)), None, id="when, another command"
        ),
        pytest.param(
            [when("bash:sort *")],
            BASH,
            RuleInput(args={"n": 1}, commands=("sort -o x",), needs=(Requirements(frozenset({"-o"}), "-o writes"),)),
            None,
            id="when, and a word that is not mentioned",
        ),
        pytest.param(["git(p=a)"], GIT, RuleInput(args={"p": "a"}), "1", id="condition"),
        pytest.param(["git(p=a)"], GIT, RuleInput(args={"p": "b"}), None, id="condition fails"),
        pytest.param(["g*", "git(p=a)"], GIT, RuleInput(args={"p": "a"}), "1", id="plain before condition"),
        pytest.param(["git(p=a)", "g*"], GIT, RuleInput(args={"p": "a"}), "1", id="condition before plain"),
        pytest.param(["cap:net"], PAIR, NOTHING, None, id="one of two capabilities"),
        pytest.param(["cap:net", "cap:fs:*"], PAIR, NOTHING, "1", id="both, by two rules"),
        pytest.param(["cap:fs:*", "cap:net", "cap:*"], PAIR, NOTHING, "1", id="both, the first in the file"),
        pytest.param(
            [when("cap:net"), "cap:fs:*"], PAIR, RuleInput(args={"n": 1}), "1", id="both, one with a condition"
        ),
        pytest.param([when("cap:net"), "cap:fs:*"], PAIR, NOTHING, None, id="both, its condition fails"),
        pytest.param([when("cap:net"), "cap:*"], PAIR, NOTHING, "2", id="behind a condition that fails"),
        pytest.param(["cap:x", when("cap:*"), "cap:*"], PAIR, RuleInput(args={"n": 1}), "2", id="before a plain one"),
        pytest.param(["cap:*", when("cap:*")], PAIR, RuleInput(args={"n": 1}), "1", id="behind a plain one"),
        pytest.param(["cap:*"], PAIR._replace(capabilities=None), NOTHING, None, id="undeclared"),
        pytest.param(["cap:*"], PAIR._replace(capabilities=frozenset()), NOTHING, None, id="touches nothing"),
        pytest.param(["cap:net"], BY_ACTION, RuleInput("push"), "1", id="by action"),
        pytest.param(["cap:net"], BY_ACTION, RuleInput("log"), None, id="another action"),
        pytest.param(["cap:*"], BY_ACTION, RuleInput("new"), None, id="an undeclared action"),
        pytest.param(["cap:*"], BY_ACTION, RuleInput("none"), None, id="an action that touches nothing"),
        pytest.param(["cap:net"], DEPLOY, NOTHING, None, id="unbounded"),
    ],
)
def test_the_first_allow_rule_that_takes_part_is_told(written, facts, call, line) -> None:
    """Several rules may cover a call together: its commands, or its capabilities."""
    assert first_permit(written, facts, call) == line


@each_row(
    ("written", "facts", "line"),
    [
        pytest.param(["deploy"], GIT, None, id="another tool"),
        pytest.param(["git"], GIT, "1", id="name"),
        pytest.param(["git:*", "git:push"], GIT, None, id="calls without action are left"),
        pytest.param(["git(p=*)", when("git")], GIT, None, id="conditions"),
        pytest.param(["bash"], BASH, None, id="commands"),
        pytest.param(["cap:net"], GIT, "1", id="capability"),
        pytest.param(["cap:net"], BY_ACTION, None, id="capability of one action"),
        pytest.param(["cap:net", "cap:fs:read"], BY_ACTION, None, id="an action that touches nothing is left"),
        pytest.param(["cap:net", "git:none", "cap:fs:*"], BY_ACTION, "1", id="a rule for each sort of action"),
        pytest.param(["cap:x"], GIT._replace(capabilities=None), "1", id="undeclared"),
        pytest.param(
            ["git:push", "cap:x"],
            GIT._replace(capabilities={"push": frozenset({"net"})}),
            "2",
            id="the rule on what is undeclared is told",
        ),
    ],
)
def test_a_rule_on_every_call_leaves_no_action(written, facts, line) -> None:
    """What it says of actions that nobody has declared is the rule that is told."""
    found = DenyRules(rule_list(*written), facts).on_every_call()

    assert (found and found.source.split(":")[1]) == line


@each_row(
    ("text", "facts", "could"),
    [
        pytest.param("git", GIT, True, id="name"),
        pytest.param("git:push", GIT, True, id="action"),
        pytest.param("git:p*", GIT, True, id="glob over actions"),
        pytest.param("gi*", GIT, True, id="glob over names"),
        pytest.param("g*push", GIT, True, id="glob that begins in the name and ends in the action"),
        pytest.param("*push", GIT, True, id="glob that reaches into the action"),
        pytest.param("*:push", GIT, False, id="* and a literal"),
        pytest.param("gi", GIT, False, id="part of a name"),
        pytest.param("gitx:push", GIT, False, id="another name with an action"),
        pytest.param("gitx*", GIT, False, id="glob over longer names"),
        pytest.param("git(p=a)", GIT, True, id="condition"),
        pytest.param("deploy", DEPLOY, True, id="unbounded, name"),
        pytest.param("deploy:go*", DEPLOY, True, id="unbounded, name and action"),
        pytest.param("dep*", DEPLOY, False, id="unbounded, glob"),
        pytest.param("bash:ls", BASH, True, id="command"),
        pytest.param("*:ls", BASH, False, id="* and a command"),
        pytest.param("bash:ls", GIT, False, id="command, bounded tool"),
        pytest.param("bash:ls", DEPLOY, False, id="command, another kind"),
        pytest.param("group:team", GIT, True, id="group"),
        pytest.param("group:tea", GIT, False, id="another group"),
        pytest.param("group:team", DEPLOY, False, id="group, unbounded"),
        pytest.param("mcp:gh:*", ISSUE, True, id="mcp"),
        pytest.param("mcp:pg:*", ISSUE, False, id="another server"),
        pytest.param("cap:net", GIT, True, id="capability"),
        pytest.param("cap:fs", GIT, False, id="another capability"),
        pytest.param("cap:n*", PAIR, True, id="one of two capabilities"),
        pytest.param("cap:fs:read", BY_ACTION, True, id="capability of one action"),
        pytest.param("cap:*", GIT._replace(capabilities=None), False, id="undeclared"),
        pytest.param("cap:*", GIT._replace(capabilities=frozenset()), False, id="touches nothing"),
    ],
)
def test_a_list_knows_whether_it_could_cover_a_tool_at_all(text, facts, could) -> None:
    """Where arguments, actions or commands decide, it could."""
    assert AllowRules(rule_list("other", text), facts).could_cover() is could


def test_what_a_list_says_of_an_action_is_kept(monkeypatch) -> None:
    """Of so many actions and no more: the model may make up any number of them."""
    monkeypatch.setattr(rulelist, "MAX_ACTIONS", 2)
    denials = DenyRules(rule_list("git:push"), GIT)

    named = [denials.rules_for_action(action) for action in ("push", "log", "push", "new", "push")]

    assert [one.unconditional for one in named] == [0, None, 0, None, 0]
    assert (named[2] is named[0], named[4] is named[0]) == (True, False)
    assert rulelist.MAX_ACTIONS == 2


def test_the_number_of_actions_that_are_kept() -> None:
    """More than any tool has."""
    denials = DenyRules(rule_list(), GIT)
    first = denials.rules_for_action("0")

    kept = [
        (denials.rules_for_action(str(number)), denials.rules_for_action("0") is first)[1] for number in range(1, 65)
    ]

    assert kept == [True] * 63 + [False]


def test_rules_with_conditions_are_found_by_their_first_argument() -> None:
    """Those whose glob fails are not held against the call; the others in the order of the file."""
    listed = rule_list("git(p=a*)", when("git"), "git(q=x)", "git(p=*b, q=y)", "git(p=c)")
    conditional = ConditionalRules(listed, [4, 3, 2, 1, 1, 0])

    assert list(conditional.satisfied_by({"p": "ab", "q": "y", "n": 1})) == [0, 1, 3]
    assert list(conditional.satisfied_by({"p": 5, "q": "x"})) == [2]
    assert (bool(conditional), bool(ConditionalRules(listed, [1])), bool(ConditionalRules(listed, []))) == (
        True,
        True,
        False,
    )


def test_only_rules_with_conditions_are_held_against_arguments() -> None:
    """The others are known from the index alone."""
    listed = rule_list("bash:x", when("bash:y"), "*:x", when("*:y"), "git", when("git"))

    assert listed.conditional_on_commands == (1, 3)
    assert list(DenyRules(listed, GIT).rules_for_action(None).conditional.satisfied_by({"n": 1})) == [5]
    assert not DenyRules(rule_list("git"), GIT).rules_for_action(None).conditional


@each_row(
    ("written", "look"),
    [
        pytest.param(["git", "cap:x", "git(p=a)"], False, id="none"),
        pytest.param(["bash:x"], True, id="bash"),
        pytest.param(["*:x"], True, id="star"),
        pytest.param([when("bash:x")], True, id="bash with a condition"),
        pytest.param(["*:x(p=a)"], True, id="star with a condition"),
    ],
)
def test_a_list_knows_whether_it_looks_at_commands(written, look) -> None:
    """If not, nothing is looked up for them."""
    listed = rule_list(*written)

    assert (listed.has_commands(), len(listed)) == (look, len(written))
    assert DenyRules(listed, GIT).match_commands is look
    assert [AllowRules(listed, facts).match_commands for facts in (GIT, BASH)] == [False, look]


TEXTS = st.sampled_from(
    [
        "git",
        "g*",
        "git:push",
        "git:*",
        "*",
        "*:*",
        "*:*sudo*",
        "bash:*",
        "bash:ls*",
        "bash",
        "bash:git*",
        "group:fs",
        "group:*",
        "cap:fs:read",
        "cap:*",
        "cap:net",
        "builtin:git",
        "builtin:*",
        "cli:*",
        "mcp:s:*",
        "custom:x",
        "alias",
        "alias:push",
        "git(path=*a*)",
        "*(path=b)",
        "execute_code",
        "execute_code:run",
    ]
)
CONDITIONS = st.sampled_from([None, None, {"n": {"minimum": 3}}, {"path": {"const": "b"}}, {"zz": {"type": "null"}}])
RULES = st.lists(st.builds(lambda text, when: {"rule": text, "when": when}, TEXTS, CONDITIONS), max_size=6)
FACTS = st.builds(
    ToolFacts,
    st.sampled_from(["git", "bash", "execute_code", "mcp__s__t", "GIT"]),
    st.sampled_from(["builtin", "builtin", "bash", "bash", "cli", "mcp", "custom"]),
    st.sampled_from([(), ("alias",)]),
    st.sampled_from([frozenset(), frozenset({"fs"})]),
    st.sampled_from(
        [
            None,
            frozenset(),
            frozenset({"fs:read"}),
            frozenset({"fs:read", "net"}),
            {"push": frozenset({"net"}), "log": frozenset({"fs:read"})},
        ]
    ),
)
CALLS = st.builds(
    paired,
    st.sampled_from([None, "push", "log", "run"]),
    st.fixed_dictionaries(
        {}, optional={"path": st.sampled_from(["a", "b", "xab", None]), "n": st.sampled_from([1, 3, 5])}
    ),
    st.lists(st.tuples(st.sampled_from(["ls", "ls -l", "git push", "sudo x"]), st.sampled_from(NEEDS)), max_size=2),
    st.sampled_from([None, None, None, "what is this?"]),
)


@settings(deadline=None)
@given(RULES, FACTS, CALLS)
def test_deny_lists_answer_like_one_rule_after_the_other(written, facts, call) -> None:
    """And a rule that is said to match every call means that this one is denied, too."""
    read = [rule(one, str(line)) for line, one in enumerate(written)]
    denials = DenyRules(RuleList(read), facts)

    expected = next((one for one in read if Matcher(one).denies(facts, call)), None)

    assert denials.first(call) == expected
    assert denials.on_every_call() is None or expected is not None


@settings(deadline=None)
@given(RULES, FACTS, CALLS)
def test_allow_lists_answer_like_one_rule_after_the_other(written, facts, call) -> None:
    """Commands, and capabilities, may be covered by several rules together."""
    read = [rule(one, str(line)) for line, one in enumerate(written)]
    permits = AllowRules(RuleList(read), facts)

    expected = _first_by_the_book(read, facts, call)

    assert permits.first(call) == expected
    assert expected is None or permits.could_cover()


def _first_by_the_book(read: list[Rule], facts: ToolFacts, call: RuleInput) -> Rule | None:
    holding = [one for one in map(Matcher, read) if one.may_cover(facts) and one.condition_holds(call.args)]
    alone = [one for one in holding if one.covers(facts, call)]
    by_command = [
        [one for one in holding if one.rule.prefix == "bash" and one.covers_command(command, needs)]
        for command, needs in (call.commands_to_cover if call.unsupported is None else ())
    ]
    by_capability = [
        [one for one in holding if one.rule.prefix == "cap" and one.matches_capability(word)]
        for word in facts.capabilities_of(call.action) or ()
    ]
    found = alone + [one[0] for ones in (by_command, by_capability) if all(ones) for one in ones]
    return min((one.rule for one in found), key=lambda one: int(one.source), default=None)


@each_row(
    ("written", "command", "words", "expected"),
    [
        pytest.param(["bash:find *"], "find . -delete", {"-delete"}, None, id="through a star"),
        pytest.param(["bash:find *", "bash:find * -delete"], "find . -delete", {"-delete"}, "2", id="named"),
        pytest.param(["bash:find*-delete"], "find . -delete", {"-delete"}, None, id="part of a word with a star"),
        pytest.param(["bash:find . -delete"], "find . -delete", {"-delete"}, "1", id="the whole command"),
        pytest.param(["bash:*"], "find . -delete", {"-delete"}, "1", id="bash:* names everything"),
        pytest.param(["bash:* *"], "find . -delete", {"-delete"}, None, id="another star does not"),
        pytest.param(["bash:cat 'a b' *"], "cat 'a b' /etc/x", {"'a b'"}, "1", id="a word with a blank"),
        pytest.param(["bash:cat 'a b' *"], "cat 'a b' /etc/x", {"/etc/x"}, None, id="beside a word with a blank"),
        pytest.param(['bash:echo "$A B" *'], 'echo "$A B" x', {'"$A B"'}, "1", id="a word that is no literal"),
        pytest.param([r"bash:ls '\*'"], "ls '*'", {"'*'"}, "1", id="a star that is a star"),
        pytest.param(["bash:ls *"], "ls x", set(), "1", id="nothing to name"),
        pytest.param(
            ["bash:find * -delete", "bash:find . -delete"],
            "find . -delete",
            {"-delete"},
            "1",
            id="the first that names",
        ),
    ],
)
def test_a_rule_has_to_name_what_is_out_of_the_ordinary(written, command, words, expected) -> None:
    """A star covers a program's ordinary purpose; all else has to stand in the rule, word for word."""
    subject = RuleInput(commands=(command,), needs=(Requirements(frozenset(words), "why"),))
    permits = AllowRules(RuleList([rule(one, str(line)) for line, one in enumerate(written, 1)]), BASH)

    found = permits.first(subject)

    assert (found and found.source) == expected
    assert permits.cover_everything is ("bash:*" in written)


@each_row(
    ("written", "words", "expected"),
    [
        pytest.param(["bash:make *"], set(), "1", id="without its assignment"),
        pytest.param(["bash:A=1 make *"], set(), "1", id="with it"),
        pytest.param(["bash:A=2 make *", "bash:m*"], set(), "2", id="another assignment"),
        pytest.param(["bash:make *"], {"-C"}, None, id="without a word that has to be named"),
        pytest.param(["bash:make *", "bash:make -C *"], {"-C"}, "2", id="with that word"),
    ],
)
def test_a_rule_covers_a_command_with_or_without_its_assignments(written, words, expected) -> None:
    """If they change nothing that a rule would have to say."""
    subject = RuleInput(
        commands=("A=1 make -C x",), needs=(Requirements(frozenset(words), "why" if words else None, bare="make -C x"),)
    )

    assert first_permit(written, BASH, subject) == expected


@each_row(
    ("written", "bare", "expected"),
    [
        pytest.param(["bash:nice sort *"], None, "1", id="what starts it"),
        pytest.param(["bash:ls", "bash:sort *"], None, "2", id="the program itself"),
        pytest.param(["bash:sort *", "bash:nice sort *"], None, "1", id="both"),
        pytest.param(["bash:nice *"], None, None, id="a star for the program that is started"),
        pytest.param(["bash:nice sort *"], "nice sort x", "1", id="what starts it without its assignment"),
        pytest.param(["bash:ls"], None, None, id="neither"),
    ],
)
def test_a_rule_covers_a_command_by_what_starts_it(written, bare, expected) -> None:
    """The rule has to name the program that is started, too."""
    starter = "nice sort x" if bare is None else f"A=1 {bare}"
    needs = Requirements(starters=((starter, Requirements(frozenset({"sort"}), bare=bare)),))

    assert first_permit(written, BASH, RuleInput(commands=("sort x",), needs=(needs,))) == expected


@each_row(
    ("text", "facts", "could"),
    [
        pytest.param("git", GIT, True, id="name"),
        pytest.param("git:push", GIT, True, id="action"),
        pytest.param("deploy", GIT, False, id="another tool"),
        pytest.param("group:team", GIT, True, id="group"),
        pytest.param("bash:ls", GIT, True, id="command"),
        pytest.param("*:ls", GIT, True, id="command, or name"),
        pytest.param("cap:net", GIT, True, id="capability"),
        pytest.param("cap:fs", GIT, False, id="another capability"),
        pytest.param("cap:net", BY_ACTION, True, id="capability of one action"),
    ],
)
def test_a_list_knows_whether_it_could_deny_a_call_of_a_tool_at_all(text, facts, could) -> None:
    """Which tools run commands, nobody has said: each may."""
    assert DenyRules(rule_list("other", text), facts).could_match() is could


@pytest.mark.parametrize("rule_text", ["bash:curl *", "*:CURL *"])
def test_a_denied_command_is_denied_whatever_stands_around_it(rule_text) -> None:
    """`A=1 curl x >y` is a `curl x`, to a rule that forbids that."""
    subject = RuleInput(commands=("A=1 curl x >y",), needs=(Requirements(deny_forms=("curl x",)),))
    denials = DenyRules(RuleList([rule(rule_text, "1")]), BASH)

    found = denials.first(subject)

    assert (found and found.source) == "1"
    assert AllowRules(RuleList([rule("bash:curl *", "1")]), BASH).first(subject) is None


@pytest.mark.parametrize(
    ("needs", "unsupported", "expected"),
    [
        pytest.param((NO_REQUIREMENTS, Requirements(is_exempt=True)), None, "1", id="exempt, and another"),
        pytest.param(
            (Requirements(is_exempt=True), Requirements(is_exempt=True)), None, None, id="nothing but exempt ones"
        ),
        pytest.param((NO_REQUIREMENTS, NO_REQUIREMENTS), None, None, id="none exempt"),
        pytest.param((NO_REQUIREMENTS, Requirements(is_exempt=True)), "what is this?", None, id="strange"),
    ],
)
def test_a_command_that_only_starts_another_needs_no_rule(needs, unsupported, expected) -> None:
    """`time ls` is covered by what covers `ls`; a line with something strange in it by nothing."""
    subject = RuleInput(commands=("ls", "time ls"), needs=needs, unsupported=unsupported)
    permits = AllowRules(RuleList([rule("bash:ls", "1")]), BASH)

    found = permits.first(subject)

    assert (found and found.source) == expected


def test_rules_on_a_capability_are_looked_up_once(monkeypatch) -> None:
    """None behind the first without conditions is kept: it is never the first."""
    listed = rule_list(when("cap:net"), "cap:fs", "cap:*", when("cap:net"), "cap:net")
    on_capability = Mock(side_effect=listed.on_capability)
    monkeypatch.setattr(listed, "on_capability", on_capability)
    permits = AllowRules(listed, GIT)

    found = [permits.first(RuleInput(args={"n": n})) for n in (1, 2, 1)]

    assert [one and one.source for one in found] == ["p.yaml:1:5", "p.yaml:3:5", "p.yaml:1:5"]
    assert on_capability.mock_calls == [made("net")]
    assert permits._on_capability("net") == (0, 2)


def test_ten_thousand_rules_are_looked_up_once(monkeypatch) -> None:
    """What rules say of a tool and action is asked of the index, and then known."""
    listed = RuleList(rules(*(f"tool_{number}" for number in range(10_000)), "git"))
    naming = Mock(side_effect=listed.matching_name)
    monkeypatch.setattr(listed, "matching_name", naming)
    denials = DenyRules(listed, GIT)

    found = [denials.first(RuleInput("log", {"n": number})) for number in range(3)]

    assert found == [rule("git", "p.yaml:10001:5")] * 3
    assert naming.mock_calls == [made(GIT, "log")]


@each_row(
    ("text", "denied", "covered"),
    [
        pytest.param("git(p=setup.py)", True, True, id="the plain form"),
        pytest.param("git(p=src/*)", True, False, id="the form that was written"),
        pytest.param("git(p=docs/*)", False, False, id="neither"),
    ],
)
def test_arguments_are_denied_in_either_form_and_permitted_in_the_plain_one(text, denied, covered) -> None:
    """`src/../setup.py` begins with `src/` and leads elsewhere: whoever denies either, denies it."""
    call = RuleInput(args={"p": "setup.py"}, written={"p": "src/../setup.py"})

    assert (first_denial([text], GIT, call), first_permit([text], GIT, call)) == (
        "1" if denied else None,
        "1" if covered else None,
    )
    assert (Matcher(rule(text)).denies(GIT, call), Matcher(rule(text)).covers(GIT, call)) == (denied, covered)


def test_of_a_line_with_something_strange_the_first_command_is_uncovered() -> None:
    """Whatever the rules say of it."""
    permits = AllowRules(rule_list("bash:*"), BASH)

    strange = RuleInput(commands=("ls", "rm x"), unsupported="Odd.")

    assert permits.first_uncovered(strange) == ("ls", NO_REQUIREMENTS)
    assert permits.first_uncovered(strange._replace(unsupported=None)) is None
    assert permits.first_uncovered(RuleInput(unsupported="Odd.")) is None


def test_only_a_tool_that_runs_commands_may_run_everything() -> None:
    """`bash:*` says nothing of the others."""
    listed = rule_list("bash:*")

    assert [AllowRules(listed, facts).cover_everything for facts in (BASH, CODE, GIT, DEPLOY)] == [
        True,
        True,
        False,
        False,
    ]
