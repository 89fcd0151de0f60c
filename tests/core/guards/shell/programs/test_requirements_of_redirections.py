"""What redirections ask for."""

import pytest
from tests.rows import each_row

from toolcharter.api.command import PathAccess, Requirement
from toolcharter.guards.shell.nodes import Command, Reading, Redirection, Requirements, Word
from toolcharter.guards.shell.programs.requirements import read_command

WS = "/home/dev/ws"
ECHO = (Word("echo", "echo", prefix="echo"),)


def word(text: str) -> Word:
    return Word(text, text, prefix=text)


def redirection(operator: str, target: str | None, descriptor: str = "", text: str | None = None) -> Redirection:
    form = f"{descriptor}{operator}{target or ''}"
    return Redirection(operator, descriptor, None if target is None else word(target), text, form)


def reading_of(*redirections: Redirection) -> Reading:
    return read_command(Command(ECHO, redirections=redirections), workspace=WS)


@each_row(
    "ordinary",
    [
        pytest.param(redirection(">&", "1", "2"), id="errors join the output"),
        pytest.param(redirection(">&", "2"), id="output joins the errors"),
        pytest.param(redirection(">", "/dev/null"), id="output to nothing"),
        pytest.param(redirection(">>", "/dev/null", "2"), id="errors to nothing, appended"),
        pytest.param(redirection(">|", "/dev/null", "1"), id="output to nothing, by force"),
        pytest.param(redirection("&>", "/dev/null"), id="both to nothing"),
        pytest.param(redirection("&>>", "/dev/null"), id="both to nothing, appended"),
        pytest.param(redirection(">&", "/dev/null"), id="both to nothing, as csh writes it"),
        pytest.param(redirection("<", "/dev/null"), id="input from nothing"),
        pytest.param(redirection("<<", None, text="text\n"), id="a here-document"),
        pytest.param(redirection("<<-", None, "0", text=""), id="a here-document without tabs"),
        pytest.param(redirection("<<<", "a;b", text="a;b\n"), id="a here-string"),
    ],
)
def test_ordinary_redirection_asks_nothing(ordinary: Redirection) -> None:
    """The null device, the standard streams, and texts."""
    assert reading_of(ordinary) == Reading(Requirements())


@pytest.mark.parametrize(
    ("one", "is_free"), [(redirection(">", "/dev/null"), True), (redirection(">", "out.txt"), False)]
)
def test_ordinary_redirection_of_a_whole_list_needs_no_rule(one: Redirection, *, is_free: bool) -> None:
    """It stands behind `]]`, `}` or `done`, and belongs to no single command."""
    assert read_command(Command((), redirections=(one,)), workspace=WS).is_transparent is is_free


@each_row(
    ("operator", "target", "descriptor"),
    [
        pytest.param(">", "out.txt", "", id="a file"),
        pytest.param(">>", "out.txt", "2", id="a file for errors"),
        pytest.param(">|", "out.txt", "", id="a file, by force"),
        pytest.param("&>", "out.txt", "", id="a file for both"),
        pytest.param(">&", "out.txt", "", id="a file for both, as csh writes it"),
        pytest.param(">", "/dev/tcp/h/1", "", id="a connection"),
        pytest.param(">", "/dev/stdout", "", id="a name of the output"),
        pytest.param(">", "/dev/null", "3", id="another descriptor"),
        pytest.param(">", "/dev/null", "{fd}", id="a descriptor in a variable"),
        pytest.param("&>", "/dev/null", "2", id="both and a descriptor"),
        pytest.param(">&", "1", "3", id="another descriptor joins"),
        pytest.param(">&", "3", "2", id="joins another descriptor"),
        pytest.param(">&", "-", "2", id="closed"),
        pytest.param("<>", "/dev/null", "", id="both ways"),
        pytest.param("<&", "0", "", id="input joins"),
        pytest.param("<", "/dev/null", "3", id="input of another descriptor"),
        pytest.param("<", "", "3", id="no input of another descriptor"),
        pytest.param("<", "/etc/passwd", "", id="input from outside"),
        pytest.param("<", "../x", "0", id="input from above"),
        pytest.param("<<", None, "3", id="a here-document for another descriptor"),
        pytest.param(">", None, "", id="no target"),
        pytest.param("<", None, "", id="no input"),
    ],
)
def test_other_redirection_has_to_be_named(operator: str, target: str | None, descriptor: str) -> None:
    """By its form, as the normal form shows it. A file that it writes in the workspace is noted."""
    given = redirection(operator, target, descriptor)
    written = (PathAccess("out.txt", change="write"),) if target == "out.txt" else ()

    demand = reading_of(given).demand

    assert ([need.form for need in demand.needs], demand.reaches) == ([given.form], written)


@pytest.mark.parametrize(
    ("given", "reach"),
    [
        pytest.param(redirection("<", "a/b"), PathAccess("a/b"), id="a file"),
        pytest.param(redirection("<", "-"), PathAccess("./-"), id="a file whose name is a dash"),
        pytest.param(
            Redirection("<", "", Word('"$f"', pattern="src/*.py", prefix="src/"), None, '<"$f"'),
            PathAccess("src/*.py", is_pattern=True),
            id="a file of a loop",
        ),
    ],
)
def test_input_from_the_workspace_is_a_reach(given: Redirection, reach: PathAccess) -> None:
    """Links are for others to judge."""
    assert reading_of(given) == Reading(Requirements(reaches=(reach,)))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param(
            Redirection("<<", "", None, None, "<<EOF"),
            "<<EOF feeds what cannot be determined",
            id="expansions in a text",
        ),
        pytest.param(
            Redirection("<", "", Word("*.py", pattern="*.py", splits=True), None, "<*.py"),
            "<*.py reads what cannot be determined",
            id="any of some files",
        ),
        pytest.param(
            Redirection("<", "", Word('"$x"'), None, '<"$x"'),
            '<"$x" cannot be determined',
            id="a file that cannot be determined",
        ),
    ],
)
def test_input_that_cannot_be_told_has_to_be_named(given: Redirection, why: str) -> None:
    """Whatever would be fed may be the environment, or a file outside."""
    assert reading_of(given) == Reading(Requirements((Requirement(given.form, why),)))
