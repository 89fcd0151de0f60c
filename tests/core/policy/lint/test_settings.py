"""What a review says of guards, limits and tools whose commands nobody tells."""

from typing import Any

import pytest
from tests.rows import each_row

from toolcharter.policy.lint.coverage import ToolSignature
from toolcharter.policy.lint.rules import Finding, LintedProfile, RulesLinter, rule_findings
from toolcharter.policy.lint.settings import settings_findings
from toolcharter.policy.rule_input import ToolFacts
from toolcharter.profile.model import Limits, Profile
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import (
    AfterCall,
    DependsOn,
    Rate,
    Rates,
    ReadBeforeWrite,
    ReadStreak,
    Repeats,
    SessionGuards,
    SkipDuplicate,
)

READ = ToolSignature(ToolFacts("read_file", aliases=("Cat",)), frozenset({"path"}), frozenset())
WRITE = ToolSignature(ToolFacts("write_file"), frozenset({"path", "text"}), frozenset())
OPEN = ToolSignature(ToolFacts("open"))
TOOLS = (READ, WRITE)


def said(*tools: ToolSignature, pending: tuple[str, ...] = (), **settings: Any) -> list[Finding]:
    places = lambda *path: ":".join(map(str, path))  # noqa: E731 - what `Places.of` does, in short
    return list(
        settings_findings(LintedProfile(Profile("p", **settings), tools or TOOLS, pending=pending, place_of=places))
    )


@each_row(
    ("key", "warn", "deny", "is_told"),
    [
        ("repeated_calls", 2, 3, False),
        ("repeated_calls", 3, 3, True),
        ("repeated_calls", 3, None, False),
        ("repeated_calls", None, 3, False),
        ("same_result", 3, 3, False),
        ("same_result", 4, 3, True),
        ("no_progress", 3, 3, False),
        ("no_progress", 4, 3, True),
    ],
)
def test_a_warning_that_never_comes_is_told(key, warn, deny, is_told) -> None:
    """A call is refused before it is warned of; the message on a result comes before the next call is refused."""
    what = f"`warn` is {warn} and `deny` is {deny}: the call is refused before any warning."
    path = f"session_guards.{key}.warn"
    told = Finding("never_matters", path.replace(".", ":"), path, what, "Let `warn` be less than `deny`.")

    guards: dict[str, Any] = {key: Repeats(warn, deny)}
    assert said(session_guards=SessionGuards(**guards)) == ([told] if is_told else [])


@pytest.mark.parametrize(
    ("warn", "exploring", "told"),
    [
        pytest.param(12, 36, ["read_streak.warn", "read_streak.exploring.warn"], id="later"),
        pytest.param(12, 24, ["read_streak.warn", "read_streak.exploring.warn"], id="at-once"),
        pytest.param(11, 23, [], id="before"),
    ],
)
def test_a_warning_of_endless_reading_that_never_comes_is_told(warn, exploring, told) -> None:
    """Both pairs of numbers are looked at, each by its own place."""
    streak = ReadStreak(warn, 12, exploring=Repeats(exploring, 24))

    found = said(session_guards=SessionGuards(read_streak=streak))

    assert [finding.path for finding in found] == [f"session_guards.{path}" for path in told]


def skipping(*args: str, match: str = "read_file") -> SessionGuards:
    return SessionGuards(skip_duplicate=(SkipDuplicate(parse_rule(match), args),))


def depending(*args: str) -> SessionGuards:
    return SessionGuards(depends_on=(DependsOn(parse_rule("write_file"), parse_rule("read_file"), None, args),))


@pytest.mark.parametrize(
    ("memory", "path", "what", "fix"),
    [
        pytest.param(
            SessionGuards(ReadBeforeWrite("warn", ("cat",), argument="pth")),
            "session_guards.read_before_write.argument",
            "no argument of 'read_file', 'write_file' is named 'pth'.",
            "Did you mean 'path'? Arguments: 'path', 'text'.",
            id="read-before-write",
        ),
        pytest.param(
            skipping("path", "text"),
            "session_guards.skip_duplicate.0.args",
            "no argument of 'read_file' is named 'text'.",
            "Arguments: 'path'.",
            id="skip-duplicate",
        ),
        pytest.param(
            depending("path", "text"),
            "session_guards.depends_on.0.args",
            "no argument of 'read_file' is named 'text'.",
            "Arguments: 'path'.",
            id="one-side-of-depends-on",
        ),
        pytest.param(
            depending("zzz"),
            "session_guards.depends_on.0.args",
            "no argument of 'write_file' is named 'zzz'.",
            "Arguments: 'path', 'text'.",
            id="both-sides-once",
        ),
        pytest.param(
            skipping("zzz", match="*"),
            "session_guards.skip_duplicate.0.args",
            "no argument of 'read_file', 'write_file' is named 'zzz'.",
            "Arguments: 'path', 'text'.",
            id="any-tool",
        ),
    ],
)
def test_an_argument_that_no_tool_has_is_told(memory, path, what, fix) -> None:
    """The guard would compare nothing with nothing."""
    assert said(session_guards=memory) == [Finding("risky", path.replace(".", ":"), path, what, fix)]


@each_row(
    ("tool", "memory", "fix"),
    [
        pytest.param(
            ToolSignature(ToolFacts("git"), frozenset({"pth"})),
            SessionGuards(ReadBeforeWrite("warn", ("read_file",), argument="pth")),
            "Did you mean 'path'? Arguments: 'path'.",
            id="only of another tool",
        ),
        pytest.param(
            ToolSignature(ToolFacts("git"), frozenset()), skipping("x", match="git"), "Arguments: none.", id="none"
        ),
        pytest.param(
            ToolSignature(ToolFacts("git"), frozenset("edbca")),
            skipping("x", match="git"),
            "Arguments: 'a', 'b', 'c', 'd', 'e'.",
            id="in order",
        ),
    ],
)
def test_the_arguments_that_there_are_instead_are_told(tool, memory, fix) -> None:
    """Those of the tools that the guard is about, in the order of the alphabet."""
    assert [one.fix for one in said(READ, tool, session_guards=memory)] == [fix]


@each_row(
    ("tools", "pending", "memory"),
    [
        pytest.param(TOOLS, (), SessionGuards(ReadBeforeWrite("off", argument="pth")), id="off"),
        pytest.param(TOOLS, (), SessionGuards(ReadBeforeWrite("strict", argument="text")), id="one-tool-has-it"),
        pytest.param(TOOLS, ("Edit_File",), SessionGuards(ReadBeforeWrite("strict", argument="file")), id="may-come"),
        pytest.param((OPEN,), (), skipping("x", match="open"), id="any-argument"),
        pytest.param((READ, OPEN), (), skipping("x", match="*"), id="any-argument-of-one-tool"),
        pytest.param((READ,), ("Cat",), skipping("x", match="cat"), id="a-tool-of-another-one-s-name-may-come"),
        pytest.param((OPEN,), (), skipping("x"), id="no-tool"),
        pytest.param(TOOLS, ("later",), skipping("x", match="*"), id="any-tool-may-come"),
        pytest.param(TOOLS, ("later",), skipping("x", match="later"), id="this-tool-may-come"),
        pytest.param(
            TOOLS, (), SessionGuards(skip_duplicate=(SkipDuplicate(parse_rule("read_file")),)), id="all-arguments"
        ),
    ],
)
def test_an_argument_that_a_tool_may_have_is_no_finding(tools, pending, memory) -> None:
    """What is not known is not said."""
    assert said(*tools, pending=pending, session_guards=memory) == []


def test_a_tool_that_may_come_excuses_no_other() -> None:
    """A rule that names its tool is about no other."""
    assert [one.path for one in said(pending=("later",), session_guards=skipping("x"))] == [
        "session_guards.skip_duplicate.0.args"
    ]


def test_numbers_above_those_for_every_call_are_told() -> None:
    """The smaller number wins, so that the larger one does nothing."""
    rates = Rates(
        Rate(calls_per_minute=10, calls_per_hour=100),
        {"read_file": Rate(calls_per_minute=11, calls_per_hour=100, calls_per_session=5)},
        {"a*": Rate(calls_per_hour=101)},
    )
    found = said(limits=Limits(60), tool_limits={"read_file": Limits(90.5, 7)}, rates=rates)

    fix = "Lower it, or raise the other."
    assert found == [
        Finding("never_matters", path.replace(".", ":"), path, f"{what}, and the smaller number wins.", fix)
        for path, what in (
            ("limits.tools.read_file.timeout_s", "90.5 never matters: for every call it is 60"),
            ("limits.tools.read_file.calls_per_minute", "11 never matters: for every call it is 10"),
            ("limits.agents.a*.calls_per_hour", "101 never matters: for every call it is 100"),
        )
    ]


@pytest.mark.parametrize(
    ("kind", "gives", "is_told"), [("bash", False, True), ("bash", True, False), ("cli", False, False)]
)
def test_a_tool_whose_commands_nobody_tells_is_told(kind, gives, is_told) -> None:
    """Its kind says that it runs commands, and no rule ever sees one."""
    found = said(ToolSignature(ToolFacts("sh", kind), gives_commands=gives))

    what = "it runs commands, but its spec has no `invocation` that declares them, so no rule can match them."
    told = Finding("risky", "tools:sh", "tools.sh", what, "The plugin's author has to add it.")
    assert found == ([told] if is_told else [])


def test_an_argument_that_is_run_as_code_is_told() -> None:
    """Each at the tool's place: no rule can tell one program from another."""
    found = said(READ, ToolSignature(ToolFacts("awk", "cli"), evaluated=("program", "source")))

    assert found == [
        Finding(
            "risky",
            "tools:awk",
            "tools.awk",
            f"a shell or an interpreter gets its argument {argument!r} as code, or a program starts it: "
            "its callers write programs.",
            "Give the program a file or words, or choose the mode `ask`, so that a person sees each call.",
        )
        for argument in ("program", "source")
    ]


@each_row(
    ("text", "what"),
    [
        pytest.param("write_file(path=a, path=b)", "'path' cannot be both 'a' and 'b'.", id="two-texts"),
        pytest.param("*(path=*.md, path=a)", "'path' cannot be both 'a' and '*.md'.", id="a-text-and-a-glob"),
        pytest.param("write_file(path=*.md, path=a.md, path=a*)", None, id="that-fit"),
        pytest.param("write_file(path=a*, path=b*)", None, id="two-globs"),
        pytest.param("write_file(path=a, text=b)", None, id="two-arguments"),
    ],
)
@each_row("place", ["deny", "session_guards.after_call"])
def test_globs_that_contradict_each_other_are_told(text, what, place) -> None:
    """All must match one and the same text; that is so whatever tools may come."""
    rule = parse_rule(text, "p:1:1")
    settings: dict[str, Any] = (
        {"deny": (rule,)}
        if place == "deny"
        else {"session_guards": SessionGuards(after_call=(AfterCall(rule, "Hi."),))}
    )
    found = [
        one
        for one in rule_findings(LintedProfile(Profile("p", **settings), TOOLS, pending=("later",)))
        if one.path == place
    ]

    fix = "Write two rules instead."
    told = Finding("never_matches", "p:1:1", place, f"{text!r} can never match: {what}", fix)
    assert found == ([] if what is None else [told])


def test_of_texts_that_contradict_each_other_one_pair_is_told() -> None:
    """However many there are: the fix is the same."""
    found = list(RulesLinter._contradictory("deny", parse_rule("git(p=a, p=b, p=c)", "p:1:1")))

    what = "'git(p=a, p=b, p=c)' can never match: 'p' cannot be both 'a' and 'b'."
    assert found == [Finding("never_matches", "p:1:1", "deny", what, "Write two rules instead.")]
