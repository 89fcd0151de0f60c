"""What one rule means in `deny` and in `allow`: every sentence of the design's paragraph on rules."""

from enum import Enum, StrEnum
from pathlib import Path

import pytest
from pydantic import BaseModel
from tests.core.policy.samples import BASH, CODE, DEPLOY, GIT, ISSUE, TOOLS, rule, usual_call
from tests.rows import each_row

from toolcharter.policy.matching import Matcher, argument, literal_words, names_literally, names_to_match
from toolcharter.policy.rule_input import NO_REQUIREMENTS, Requirements, RuleInput, ToolFacts, encode_repeats
from toolcharter.profile.globs import parse_glob

ALL = {"git", "bash", "execute_code", "deploy", "mcp__gh__Issue", "report"}
SHELLS = {"bash", "execute_code"}
WRITES = Requirements(frozenset({"-o"}), "-o writes")
TWICE = Requirements(frozenset({encode_repeats("uniq", 2)}), "uniq is written")


@each_row(
    ("text", "denied", "covered"),
    [
        pytest.param("git", {"git"}, {"git"}, id="name"),
        pytest.param("GIT", {"git"}, {"git"}, id="name without case"),
        pytest.param("vcs", {"git"}, {"git"}, id="alias without case"),
        pytest.param("deploy", {"deploy"}, {"deploy"}, id="literal name of an unbounded tool"),
        pytest.param(
            "execute_code", {"execute_code"}, {"execute_code"}, id="literal name of a tool that runs commands"
        ),
        pytest.param("MCP__GH__issue", {"mcp__gh__Issue"}, {"mcp__gh__Issue"}, id="literal name of an mcp tool"),
        pytest.param("report", {"report"}, {"report"}, id="literal name of a custom tool"),
        pytest.param("report:*", set(), set(), id="literal name, some action"),
        pytest.param("repor", set(), set(), id="anchored at the end"),
        pytest.param("eport", set(), set(), id="anchored at the beginning"),
        pytest.param("g*", {"git"}, {"git"}, id="glob over names"),
        pytest.param("dep*", {"deploy"}, set(), id="glob over names never covers an unbounded tool"),
        pytest.param("exec*", {"execute_code"}, set(), id="nor one that runs commands"),
        pytest.param("*", ALL, {"git"}, id="bare star"),
        pytest.param("*:*", ALL, {"git"}, id="* and all"),
        pytest.param("*:git", {"git"}, {"git"}, id="* and a name"),
        pytest.param("*:deploy", {"deploy"}, set(), id="* and the name of an unbounded tool"),
        pytest.param("*:LS *", SHELLS, set(), id="* and a command, without case"),
        pytest.param("*:ls", set(), set(), id="* and part of a command"),
        pytest.param("*:GH:issue", {"mcp__gh__Issue"}, set(), id="* and an mcp tool"),
        pytest.param("builtin:*", {"git"}, {"git"}, id="builtin"),
        pytest.param("Builtin:GIT", {"git"}, {"git"}, id="builtin without case"),
        pytest.param("builtin:vcs", {"git"}, {"git"}, id="builtin and an alias"),
        pytest.param("builtin:deploy", set(), set(), id="builtin, tool of another kind"),
        pytest.param("cli:*", {"deploy"}, {"deploy"}, id="cli"),
        pytest.param("cli:dep*", {"deploy"}, {"deploy"}, id="cli and a glob"),
        pytest.param("cli:git", set(), set(), id="cli, tool of another kind"),
        pytest.param("custom:*", {"report"}, {"report"}, id="custom"),
        pytest.param("custom:deploy", set(), set(), id="custom, tool of another kind"),
        pytest.param("mcp:*", {"mcp__gh__Issue"}, {"mcp__gh__Issue"}, id="mcp"),
        pytest.param("mcp:gh:*", {"mcp__gh__Issue"}, {"mcp__gh__Issue"}, id="mcp, one server"),
        pytest.param("mcp:GH:issue", {"mcp__gh__Issue"}, {"mcp__gh__Issue"}, id="mcp, server and tool without case"),
        pytest.param("mcp:*:issue", {"mcp__gh__Issue"}, {"mcp__gh__Issue"}, id="mcp, a tool of any server"),
        pytest.param("mcp:gh", set(), set(), id="mcp, a server alone"),
        pytest.param("mcp:mcp__gh__issue", set(), set(), id="mcp and the tool's whole name"),
        pytest.param("bash", SHELLS, SHELLS, id="bash alone"),
        pytest.param("bash:*", SHELLS, SHELLS, id="bash and all"),
        pytest.param("bash:ls*", SHELLS, SHELLS, id="bash and a command"),
        pytest.param("bash:LS*", set(), set(), id="commands have case"),
        pytest.param("bash:ls", set(), set(), id="commands are anchored"),
        pytest.param("bash:execute_code", set(), set(), id="bash sees no names"),
        pytest.param("group:team", ALL, {"git"}, id="group"),
        pytest.param("group:TE*", ALL, {"git"}, id="group, glob without case"),
        pytest.param("group:net", set(), set(), id="another group"),
        pytest.param("cap:net", ALL, {"git"}, id="capability"),
        pytest.param("cap:N*", ALL, {"git"}, id="capability, glob without case"),
        pytest.param("cap:team", set(), set(), id="another capability"),
    ],
)
def test_each_prefix_concerns_its_kinds_in_deny_and_in_allow(text, denied, covered) -> None:
    """In `deny` a rule matches whatever it names; in `allow` an unbounded tool needs its name or its kind."""
    matcher = Matcher(rule(text))

    assert {tool.name for tool in TOOLS if matcher.denies(tool, usual_call(tool))} == denied
    assert {tool.name for tool in TOOLS if matcher.covers(tool, usual_call(tool))} == covered


@each_row(
    ("text", "actions"),
    [
        pytest.param("git", {None, "push", "log"}, id="no action: all"),
        pytest.param("git:push", {"push"}, id="one action"),
        pytest.param("git:PUSH", {"push"}, id="without case"),
        pytest.param("vcs:push", {"push"}, id="of an alias"),
        pytest.param("git:*", {"push", "log"}, id="any action, but an action"),
        pytest.param("git:p*", {"push"}, id="glob"),
        pytest.param("builtin:git:push", {"push"}, id="behind the kind"),
        pytest.param("*:git:push", {"push"}, id="behind *"),
        pytest.param("*:push", set(), id="an action is no name"),
        pytest.param("*sh", {"push"}, id="a glob reaches into the action"),
        pytest.param("group:team", {None, "push", "log"}, id="groups have no action"),
    ],
)
def test_a_rule_without_action_covers_all_actions(text, actions) -> None:
    """The subject of a rule is the tool alone, and the tool with its action."""
    matcher = Matcher(rule(text))
    calls = {action: RuleInput("PUSH" if action == "push" else action) for action in (None, "push", "log")}

    assert {action for action, call in calls.items() if matcher.denies(GIT, call)} == actions
    assert {action for action, call in calls.items() if matcher.covers(GIT, call)} == actions


@each_row(
    ("text", "action", "covered"),
    [
        pytest.param("deploy:start", "start", True, id="name and action"),
        pytest.param("deploy:s*", "start", True, id="name and a glob over actions"),
        pytest.param("deploy:*", "start", True, id="name and any action"),
        pytest.param("deploy*", "start", False, id="glob over names"),
        pytest.param("d*:start", "start", False, id="glob over names, and an action"),
        pytest.param("cli:d*:start", "start", True, id="the same behind its kind"),
    ],
)
def test_an_unbounded_tool_is_covered_by_its_whole_name(text, action, covered) -> None:
    """A star may stand in the action, never in the name."""
    assert Matcher(rule(text)).covers(DEPLOY, RuleInput(action)) is covered


@each_row(
    ("text", "commands", "denied", "covered"),
    [
        pytest.param("bash:git *", ("git log",), True, True, id="one"),
        pytest.param("bash:git *", ("git log", "git diff"), True, True, id="all"),
        pytest.param("bash:git *", ("git log", "rm x"), True, False, id="the first of two"),
        pytest.param("bash:git *", ("rm x", "git log"), True, False, id="the last of two"),
        pytest.param("bash:git *", ("rm x",), False, False, id="none"),
        pytest.param("bash:*", (), False, False, id="no commands"),
        pytest.param("bash", (), False, False, id="no commands, bash alone"),
        pytest.param("*:git *", ("rm x", "git log"), True, False, id="* looks at commands in deny"),
        pytest.param("*:rm", ("git log",), False, False, id="* and another command"),
        pytest.param("*:Git Log", ("GIT log",), True, False, id="* and a command, neither with case"),
        pytest.param("execute_code", ("rm x",), True, True, id="the tool's name, whatever it runs"),
    ],
)
def test_allow_must_cover_every_command_and_deny_needs_one(text, commands, denied, covered) -> None:
    """A call without commands matches no `bash:` rule."""
    matcher, call = Matcher(rule(text)), RuleInput(commands=commands)

    assert (matcher.denies(CODE, call), matcher.covers(CODE, call)) == (denied, covered)


@pytest.mark.parametrize("tool", [GIT, DEPLOY, ISSUE], ids=lambda tool: tool.kind)
def test_commands_of_other_kinds_are_denied_but_never_allowed_by_bash_rules(tool) -> None:
    """Whatever runs a program, a `bash:` rule can forbid it; it permits only tools of kind `bash`."""
    matcher, call = Matcher(rule("bash:ls*")), RuleInput(commands=("ls -l",))

    assert (matcher.denies(tool, call), matcher.covers(tool, call)) == (True, False)


def test_commands_do_not_cover_a_bounded_tool() -> None:
    """Behind `*` stand names as far as `allow` is concerned."""
    assert not Matcher(rule("*:ls*")).covers(GIT, RuleInput(commands=("ls -l",)))


@each_row(
    ("declared", "text", "denied", "covered"),
    [
        pytest.param(frozenset({"fs:read"}), "cap:fs:read", True, True, id="the only one"),
        pytest.param(frozenset({"fs:read", "net"}), "cap:fs:read", True, False, id="one of two"),
        pytest.param(frozenset({"fs:read", "fs:write"}), "cap:fs:*", True, True, id="all by a glob"),
        pytest.param(frozenset({"net"}), "cap:fs:*", False, False, id="none"),
        pytest.param(frozenset(), "cap:*", False, False, id="touches nothing"),
        pytest.param(None, "cap:made_up", True, False, id="undeclared"),
        pytest.param({"log": frozenset({"net"})}, "cap:net", True, False, id="undeclared action"),
        pytest.param({"push": frozenset({"net"})}, "cap:net", True, True, id="declared action"),
        pytest.param({"push": frozenset({"net"})}, "cap:fs", False, False, id="declared action, another capability"),
    ],
)
def test_allow_must_cover_every_capability_and_deny_needs_one(declared, text, denied, covered) -> None:
    """What is not declared matches every `cap:` in deny, none in allow."""
    facts, call = ToolFacts("git", capabilities=declared), RuleInput("push")

    assert (Matcher(rule(text)).denies(facts, call), Matcher(rule(text)).covers(facts, call)) == (denied, covered)


class Action(Enum):
    PUSH = "push"


class Word(StrEnum):
    PUSH = "push"


class Place(BaseModel):
    path: Path


@each_row(
    ("written", "args", "holds"),
    [
        pytest.param("git", {}, True, id="no condition"),
        pytest.param("git(path=*secret*)", {"path": "my secret"}, True, id="glob"),
        pytest.param("git(path=*secret*)", {"path": "my SECRET"}, False, id="values have case"),
        pytest.param("git(path=a)", {"path": "ab"}, False, id="anchored"),
        pytest.param("git(path=*)", {}, False, id="absent"),
        pytest.param("git(path=*)", {"path": None}, False, id="null"),
        pytest.param("git(path=5)", {"path": 5}, False, id="a number"),
        pytest.param("git(path=*)", {"path": ["a"]}, False, id="a list"),
        pytest.param("git(Path=*)", {"path": "a"}, False, id="names of arguments have case"),
        pytest.param("git(path=a, to=b)", {"path": "a", "to": "b"}, True, id="both"),
        pytest.param("git(path=a, to=b)", {"path": "a", "to": "c"}, False, id="only the first"),
        pytest.param("git(path=a, to=b)", {"path": "c", "to": "b"}, False, id="only the second"),
        pytest.param("git(path=*/secret)", {"path": Path("my/secret")}, True, id="a path"),
        pytest.param("git(to=push)", {"to": Action.PUSH}, True, id="an enum"),
        pytest.param("git(to=push)", {"to": Word.PUSH}, True, id="an enum of texts"),
        pytest.param({"rule": "git", "when": {"n": {"minimum": 3}}}, {"n": 3}, True, id="when"),
        pytest.param({"rule": "git", "when": {"n": {"minimum": 3}}}, {"n": 2}, False, id="when not"),
        pytest.param({"rule": "git", "when": {"n": {"type": "null"}}}, {}, True, id="absent is null to when"),
        pytest.param({"rule": "git", "when": {"n": {"type": "integer"}}}, {}, False, id="absent is nothing else"),
        pytest.param({"rule": "git", "when": {"n": {}, "m": False}}, {"n": 1, "m": 1}, False, id="all of when"),
        pytest.param(
            {"rule": "git(path=a)", "when": {"n": {"const": 1}}}, {"path": "a", "n": 1}, True, id="glob, when"
        ),
        pytest.param({"rule": "git(path=a)", "when": {"n": {"const": 1}}}, {"path": "a"}, False, id="glob, not when"),
        pytest.param({"rule": "git(path=a)", "when": {"n": {"const": 1}}}, {"n": 1}, False, id="when, not the glob"),
        pytest.param({"rule": "git", "when": {"p": {"const": "a/b"}}}, {"p": Path("a/b")}, True, id="when and a path"),
        pytest.param(
            {"rule": "git", "when": {"p": {"properties": {"path": {"const": "a"}}, "type": "object"}}},
            {"p": Place(path=Path("a"))},
            True,
            id="when and a model",
        ),
        pytest.param({"rule": "git", "when": {"p": {"const": [1]}}}, {"p": (1,)}, True, id="when and a tuple"),
    ],
)
def test_arguments_are_seen_as_json(written, args, holds) -> None:
    """A glob sees text alone, `when` sees all; what a tool's types have made of an argument is undone."""
    matcher, call = Matcher(rule(written)), RuleInput(args=args)

    assert (matcher.denies(GIT, call), matcher.covers(GIT, call)) == (holds, holds)


def test_conditions_on_commands_hold_together_with_the_command() -> None:
    """`when` narrows a `bash:` rule, too."""
    matcher = Matcher(rule({"rule": "bash:ls*", "when": {"n": {"const": 1}}}))
    calls = [RuleInput(args={"n": n}, commands=(command,)) for n in (1, 2) for command in ("ls", "rm")]

    assert [matcher.denies(BASH, call) for call in calls] == [True, False, False, False]
    assert [matcher.covers(BASH, call) for call in calls] == [True, False, False, False]


@each_row(
    ("written", "conditional"),
    [
        pytest.param("git", False, id="text"),
        pytest.param("git(a=b)", True, id="glob"),
        pytest.param({"rule": "git", "when": {"a": True}}, True, id="when"),
        pytest.param({"rule": "git", "when": {}}, True, id="empty when"),
        pytest.param({"rule": "git", "reason": "no"}, False, id="reason"),
    ],
)
def test_a_rule_knows_whether_it_looks_at_arguments(written, conditional) -> None:
    """What asks nothing can be decided for all calls at once."""
    assert Matcher(rule(written)).is_conditional is conditional


@each_row(
    ("prefix", "facts", "subjects"),
    [
        pytest.param("", GIT, ["git", "git:push", "vcs", "vcs:push"], id="bare"),
        pytest.param("*", GIT, ["git", "git:push", "vcs", "vcs:push"], id="star"),
        pytest.param("builtin", GIT, ["git", "git:push", "vcs", "vcs:push"], id="kind"),
        pytest.param("cli", GIT, [], id="another kind"),
        pytest.param("cap", GIT, [], id="capabilities are looked up apart"),
        pytest.param("bash", BASH, [], id="commands are looked up apart"),
        pytest.param("group", GIT, ["team"], id="group"),
        pytest.param("mcp", ISSUE, ["gh:issue"], id="mcp"),
        pytest.param("mcp", GIT, [], id="mcp, another kind"),
        pytest.param("*", ISSUE, ["mcp__gh__issue", "mcp__gh__issue:push", "gh:issue"], id="star, mcp"),
        pytest.param("", ISSUE, ["mcp__gh__issue", "mcp__gh__issue:push"], id="bare, mcp"),
    ],
)
def test_what_a_prefix_is_held_against(prefix, facts, subjects) -> None:
    """Names and aliases without case, each alone and with the action."""
    assert list(names_to_match(prefix, facts, "Push")) == subjects


@each_row(
    ("glob", "literal"),
    [("git", True), ("git:push", True), ("git:*", True), ("git*", False), ("*", False), ("*:git", False)],
)
def test_a_literal_name_has_no_star(glob, literal) -> None:
    """Whatever stands behind its colon."""
    assert names_literally(parse_glob(glob)) is literal


def test_an_argument_of_a_strange_type_is_its_text() -> None:
    """Whatever a plugin's own validator makes of an argument, a rule sees something."""

    class Strange:
        def __str__(self) -> str:
            return "strange"

    args = {"a": Strange(), "b": True, "c": 1.5}

    assert [argument(args, name) for name in ("a", "b", "c", "d")] == ["strange", True, 1.5, None]


@each_row(
    ("text", "expected"),
    [
        ("bash:find * -delete", ["find", "-delete"]),
        ("bash:ls", ["ls"]),
        ("bash:*", []),
        ("bash:sort -o*", ["sort"]),
        ("bash:sort *-o x*y z", ["sort", "z"]),
        ("bash:git -c 'a b' *", ["git", "-c", "'a b'"]),
        ("bash:echo 'a * b' c", ["echo", "c"]),
        ("bash:echo 'it'\"'\"'s' *", ["echo", "'it'\"'\"'s'"]),
        ("bash:find -name '\\*' *", ["find", "-name", "'*'"]),
        ("bash:a  b", ["a", "b"]),
        ("bash:X Y", ["X", "Y"]),
        ("bash:echo 'a\" b' c", ["echo", "'a\" b'", "c"]),
        ('bash:echo "a\' b" c', ["echo", '"a\' b"', "c"]),
        ("bash:echo 'a b", ["echo"]),
    ],
)
def test_a_rule_names_the_words_that_it_writes_out(text: str, expected: list[str]) -> None:
    """Whole words of the normal form, quoted as there, and none that a star is part of."""
    assert list(literal_words(rule(text).glob)) == expected


STARTED = Requirements(starters=(("nice sort x", Requirements(frozenset({"sort"}))),))
STARTED_ANEW = Requirements(starters=(("A=1 nice sort x", Requirements(frozenset({"sort"}), bare="nice sort x")),))


@each_row(
    ("text", "command", "needs", "covers", "touches"),
    [
        ("bash:sort *", "sort x", NO_REQUIREMENTS, True, True),
        ("bash:sort *", "sort -o x", WRITES, False, True),
        ("bash:sort * -o *", "sort y -o x", WRITES, True, True),
        ("bash:sort -*", "sort -o", WRITES, False, True),
        ("bash:*", "sort -o x", WRITES, True, True),
        ("bash", "sort -o x", WRITES, True, True),
        ("bash:**", "sort -o x", WRITES, True, True),
        ("bash:sort *", "A=1 sort x", NO_REQUIREMENTS, False, False),
        ("bash:sort *", "A=1 sort x", Requirements(bare="sort x"), True, True),
        ("bash:A=1 sort *", "A=1 sort x", Requirements(bare="sort x"), True, True),
        ("bash:sort *", "A=1 sort -o x", WRITES._replace(bare="sort -o x"), False, True),
        ("bash:sort -o *", "A=1 sort -o x", WRITES._replace(bare="sort -o x"), True, True),
        ("bash:uniq *", "uniq in uniq", TWICE, False, True),
        ("bash:uniq * uniq", "uniq in uniq", TWICE, True, True),
        ("bash:uniq uniq *", "uniq uniq uniq", TWICE, True, True),
        ("bash:uniq uniq *", "uniq uniq uniq", Requirements(frozenset({encode_repeats("uniq", 3)})), False, True),
        ("bash:nice sort *", "sort x", STARTED, True, False),
        ("bash:nice *", "sort x", STARTED, False, False),
        ("bash:sort *", "sort x", STARTED, True, True),
        ("bash:nice sort *", "sort x", STARTED_ANEW, True, False),
    ],
)
def test_a_rule_covers_what_it_matches_and_names(
    text: str, command: str, needs: Requirements, *, covers: bool, touches: bool
) -> None:
    """`bash:*` names everything; what stands before the program need not be matched where it is harmless."""
    matcher = Matcher(rule(text))

    assert (matcher.covers_command(command, needs), matcher.touches_command(command, needs)) == (covers, touches)
