"""The words of find, and of test."""

from pathlib import Path

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.nodes import Command, Inner, Word
from toolcharter.guards.shell.programs.requirements import read_command
from toolcharter.guards.shell.programs.tables import Tables

WS = "/home/dev/ws"
FIND = """programs = ["f"]
source = "f(1)"
style = "find"
operands = ["folder*"]
[options]
"-H" = ""
"-L" = "!"
"-D" = "text"
"-O" = "text?"
[predicates]
"-name" = "text"
"-newer" = "read"
"-print" = ""
"-delete" = "!"
"-fprintf" = "write text"
"-exec" = "exec"
"-execdir" = "!exec"
"""


def word(text: str) -> Word:
    return Word(text, text, prefix=text)


def glob(pattern: str) -> Word:
    return Word(pattern, pattern=pattern, prefix=pattern.partition("*")[0], splits=True)


def found(pattern: str, prefix: str) -> Word:
    return Word("{}", pattern=pattern, prefix=prefix)


UNKNOWN = Word('"$x"')


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    (tmp_path / "f.toml").write_text(FIND)
    return Tables(tmp_path)


def command(*words: Word | str) -> Command:
    return Command(tuple(word(one) if isinstance(one, str) else one for one in ("f", *words)))


def command_of(line: str) -> Command:
    return Command(tuple(map(word, line.split())))


@pytest.mark.parametrize(
    ("words", "needs", "reaches"),
    [
        pytest.param([], [], [], id="nothing"),
        pytest.param(["a", "b", "-name", "*.py", "-print"], [], ["a", "b"], id="starting points and a test"),
        pytest.param(["-H", "-O3", "-D", "all", "a"], [], ["a"], id="options"),
        pytest.param(["-D"], [], [], id="an option without its value"),
        pytest.param(["-L", "a"], ["-L"], ["a"], id="a named option"),
        pytest.param(["--", "a", "-print"], [], ["a"], id="no options any more"),
        pytest.param(["-H", "--", "-delete"], ["-delete"], [], id="an expression all the same"),
        pytest.param(["..", "/etc"], ["..", "/etc"], [], id="outside"),
        pytest.param(["-newer", "../a"], ["../a"], [], id="a value outside"),
        pytest.param(["(", "-name", "a", ")", "!", "-print", ",", "-delete"], ["-delete"], [], id="syntax"),
        pytest.param(["-name"], [], [], id="a value that is missing"),
        pytest.param(["-fprintf", "a", "b"], ["-fprintf"], ["a"], id="two values"),
        pytest.param(["-fprintf", "a"], ["-fprintf"], ["a"], id="one of two values"),
        pytest.param(["-wholename", "a"], ["-wholename", "a"], [], id="an unknown test and its value"),
        pytest.param(["-nam", "a"], ["-nam", "a"], [], id="no abbreviations"),
        pytest.param(["-print", UNKNOWN], ['"$x"'], [], id="what cannot be determined, in the expression"),
        pytest.param([UNKNOWN, "-print"], ['"$x"'], [], id="what cannot be determined, as a starting point"),
        pytest.param(["-name", UNKNOWN], ['"$x"'], [], id="a value that cannot be determined"),
        pytest.param([glob("a*"), "-name", glob("*.py")], [], ["a*", "*.py"], id="patterns"),
        pytest.param(["-print", glob("-*")], ["-*"], [], id="a pattern of tests"),
    ],
)
def test_find_takes_points_and_an_expression(tables: Tables, words, needs, reaches) -> None:
    """What is not in the table has to be mentioned, and so do the words behind it."""
    demand = read_command(command(*words), workspace=WS, tables=tables).demand

    assert [need.form for need in demand.needs] == needs
    assert [reach.path for reach in demand.reaches] == reaches


@pytest.mark.parametrize(
    ("words", "inner"),
    [
        pytest.param(["-exec", "wc", "-l", "{}", ";"], [["wc", "-l", found("./**", ".")]], id="one by one"),
        pytest.param(["a", "-exec", "wc", "{}", "+"], [["wc", found("a/**", "a")._replace(splits=True)]], id="many"),
        pytest.param(["-exec", "wc", "+", "{}", ";"], [["wc", "+", found("./**", ".")]], id="a plus as a word"),
        pytest.param(
            ["a", "b/", "-exec", "wc", "{}", ";"],
            [["wc", found("a/**", "a")], ["wc", found("b/**", "b/")]],
            id="points",
        ),
        pytest.param([glob("a*"), "-exec", "wc", "{}", ";"], [["wc", found("a*/**", "a")]], id="a pattern's"),
        pytest.param(["a*[", "-exec", "wc", "{}", ";"], [["wc", found("a\\*\\[/**", "a*[")]], id="an escaped one's"),
        pytest.param([UNKNOWN, "-exec", "wc", "{}", ";"], [["wc", Word("{}")]], id="what cannot be determined"),
        pytest.param(["-exec", "sh", "-c", "wc {}", ";"], [["sh", "-c", Word("wc {}")]], id="within a word"),
        pytest.param(["-exec", "{}", ";"], [[found("./**", ".")]], id="the program"),
        pytest.param(["-exec", "wc"], [["wc"]], id="not ended"),
        pytest.param(["-exec", ";"], [], id="nothing to start"),
        pytest.param(["-exec", "a", ";", "-exec", "b", ";"], [["a"], ["b"]], id="two"),
        pytest.param([*"abcdefghi", "-exec", "wc", "{}", ";"], [["wc", Word("{}")]], id="many points"),
    ],
)
def test_find_starts_commands(tables: Tables, words, inner) -> None:
    """With what it finds for `{}`: something below a starting point."""
    reading = read_command(command(*words), workspace=WS, tables=tables)

    expected = [tuple(word(one) if isinstance(one, str) else one for one in words) for words in inner]
    assert reading.inner == tuple(Inner(words) for words in expected)


@pytest.mark.parametrize(
    ("line", "needs"),
    [("find a -exec uniq {} +", ["{}"]), ("find a -exec uniq {} ;", []), ("find a -exec grep -l x {} +", [])],
)
def test_behind_a_plus_one_program_gets_all_that_is_found(line: str, needs: list[str]) -> None:
    """Of two files, `uniq` writes the second."""
    (inner,) = read_command(command_of(line), workspace=WS).inner

    assert [need.form for need in read_command(Command(inner.words), workspace=WS).demand.needs] == needs


def test_below_a_folder_that_find_finds_links_have_any_name() -> None:
    """`grep -R` follows those in a folder that bears the name which find was given."""
    (inner,) = read_command(command_of("find . -name *.d -exec grep -R x {} ;"), workspace=WS).inner

    reaches = read_command(Command(inner.words), workspace=WS).demand.reaches
    assert [reach.path for reach in reaches][-2:] == ["./**/*.d", "./**"]


def test_find_goes_on_behind_a_command(tables: Tables) -> None:
    """And a predicate that starts one may have to be mentioned itself."""
    demand = read_command(command("-execdir", "wc", "-delete", ";", "-delete"), workspace=WS, tables=tables).demand

    assert [need.form for need in demand.needs] == ["-execdir", "-delete"]


@each_row(
    ("words", "needs", "reaches"),
    [
        pytest.param(["-f"], [], [], id="an operator alone"),
        pytest.param(["-f", "a"], [], ["a"], id="a file"),
        pytest.param(["a", "-nt", "../b"], ["../b"], ["a"], id="files"),
        pytest.param(["1", "-eq", "x"], ["x"], [], id="numbers"),
        pytest.param(["1", "-eq", UNKNOWN], ['"$x"', '"$x"'], [], id="what is no number for certain"),
        pytest.param(["-v", "a[0]"], ["-v", "a[0]"], [], id="a variable"),
        pytest.param(["-n", glob("*")], [], ["*"], id="a pattern"),
        pytest.param(["!", "-f", "(", "-d", ")"], [], [], id="syntax"),
    ],
)
def test_test_looks_at_the_neighbours_of_its_operators(words, needs, reaches) -> None:
    """Whatever the expression means in the end."""
    given = tuple(word(one) if isinstance(one, str) else one for one in ("test", *words))

    demand = read_command(Command(given), workspace=WS).demand

    assert [need.form for need in demand.needs] == needs
    assert [reach.path for reach in demand.reaches] == reaches
