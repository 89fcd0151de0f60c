"""From what a tool says it would run to what rules and the world get to see of it."""

from typing import Any

import pytest
from tests.rows import each_row

from toolcharter.api.command import DiskPreconditions, PathAccess
from toolcharter.api.reasons import Reason
from toolcharter.gate.commands import NO_COMMANDS, CommandAnalysis, analyse_commands
from toolcharter.policy.rule_input import Refusal, Requirements

WORKSPACE = "/w/ws"


def told(*commands: Any) -> CommandAnalysis:
    return analyse_commands(commands, WORKSPACE)


def test_no_commands_are_nothing() -> None:
    """Neither refused nor looked at."""
    assert told() is NO_COMMANDS
    assert CommandAnalysis() == NO_COMMANDS


def test_commands_are_told_with_what_they_need() -> None:
    """Each in normal form, what a rule has to mention of it, what it is without assignments, whether it needs a rule."""
    found = told("LC_ALL=C sort -o out in; command ls", ("echo", "a b"))

    assert found.commands == ("LC_ALL=C sort -o out in", "command ls", "ls", "echo 'a b'")
    assert found.refusal is None
    assert found.unsupported is None
    assert found.needs == (
        Requirements(
            frozenset({"-o"}), "-o is an option that a rule has to mention", "sort -o out in", ("sort -o out in",)
        ),
        Requirements(is_exempt=True),
        Requirements(starters=(("command ls", Requirements(frozenset({"ls"}), "ls is the program that is started")),)),
        Requirements(),
    )
    assert tuple(one.form for one in found.analysed) == found.commands


def test_a_word_that_stands_twice_has_to_be_named_twice() -> None:
    """Once for the program, and once for what it is there."""
    assert told("uniq in uniq").needs == (Requirements(frozenset({"uniq 2"}), "uniq is a file that is written"),)


def test_the_world_is_told_once() -> None:
    """Paths and globs to confine, programs by their bare names, folders in which git runs, by whatever path."""
    found = told("cat a *.md; cat b; ./x; >out; cd sub && git log; /usr/bin/git status; mygit")

    assert found.preconditions == DiskPreconditions(
        (
            PathAccess("a", is_pattern=False, folders=(".",)),
            PathAccess("*.md", is_pattern=True, folders=(".",)),
            PathAccess("b", is_pattern=False, folders=(".",)),
            PathAccess("out", is_pattern=False, folders=(".",), change="write"),
            PathAccess("sub", is_pattern=False, folders=(".",)),
        ),
        ("cat", "cd", "git", "mygit"),
        ("sub", "."),
    )


def test_what_is_given_to_a_command_that_does_more_than_usual_may_be_changed() -> None:
    """Tables say which word is written; of `sed -i` they say only that a rule has to mention it."""
    world = told("sed -i s/a/b/ x; sed s/a/b/ x; rm x; cp x y").preconditions

    assert world is not None
    assert [place.change for place in world.places] == [
        "may",
        "",
        "change",
        "",
        "into",
    ]


@each_row(
    ("line", "refusal"),
    [
        ("rm -rf /", Reason.DENIED_BY_FLOOR),
        ("rm -rf / $(", Reason.NOT_UNDERSTOOD),
        ("$x; rm -rf /", Reason.DENIED_BY_FLOOR),
        ("$x", Reason.NOT_UNDERSTOOD),
        ("ls\0", Reason.NOT_UNDERSTOOD),
        ("ls", None),
    ],
)
def test_nobody_may_permit_some_lines(line: str, refusal: Reason | None) -> None:
    """The floor goes before doubt: it names what would happen."""
    assert getattr(told(line).refusal, "reason", None) == refusal


def test_a_refusal_says_why() -> None:
    """In one sentence."""
    assert told("$x").refusal == Refusal(Reason.NOT_UNDERSTOOD, "$x names the program, and cannot be determined.")
    assert told("ls '") == CommandAnalysis(refusal=Refusal(Reason.NOT_UNDERSTOOD, 'A quote is not closed. (at "\'")'))
    assert told(7).refusal == Refusal(Reason.NOT_UNDERSTOOD, "A command is a line or a vector of words, not int.")


def test_what_no_rule_covers_is_told() -> None:
    """It is no refusal: a person may permit it, and so may the mode dangerous."""
    found = told("echo $((x))")

    assert (found.refusal, found.unsupported) == (None, "An arithmetic expression holds more than numbers.")


def test_a_judge_that_fails_permits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong in it, and without the details, which may hold the command."""

    def fail(*_: object) -> None:
        raise RecursionError("secret")

    monkeypatch.setattr("toolcharter.gate.commands.analyse.analyse", fail)

    message = "The commands cannot be analysed: RecursionError."
    assert told("ls") == CommandAnalysis(refusal=Refusal(Reason.NOT_UNDERSTOOD, message))
