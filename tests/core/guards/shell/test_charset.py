"""What a shell line may be written in."""

import time

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.charset import MAX_CHARS
from toolcharter.guards.shell.nodes import MAX_COMMANDS, MAX_WORDS, NotUnderstood
from toolcharter.guards.shell.parse.braces import MAX_WORDS as MAX_BRACE_WORDS
from toolcharter.guards.shell.parse.scanner import MAX_DEPTH
from toolcharter.guards.shell.parse.script import parse

HIDDEN = "\x00\x01\x08\x0b\x0c\r\x1b\x7f\x85\xa0\xad\u034f\u061c\u115f\u180e\u2000\u2003\u200b\u200d\u200e\u2028\u2029\u202e\u202f\u2060\u2066\u2800\u3000\u3164\ufeff\uffa0\ud800\udfff\ue000\U000e0001"
LOOKS = "\uff1b\uff5c\uff06\uff1c\uff1e\uff04\uff08\uff09\uff40\uff02\uff07\uff3c\uff5b\uff5d\u037e\uff03\uff0a\uff1d\uff0f\u2215\u2044\u2024\uff0e"


@each_row("character", HIDDEN, ids=ascii)
@each_row("line", ["ls{}", "echo 'a{}b'", "{}ls", "ls # {}"])
def test_what_does_not_show_is_refused_everywhere(line: str, character: str) -> None:
    """A control character, a lone surrogate or an invisible character makes a line not understood, even in quotes."""
    with pytest.raises(NotUnderstood) as fault:
        parse(line.format(character))

    assert character not in str(fault.value)


@each_row("character", LOOKS, ids=ascii)
def test_what_looks_like_the_shells_own_is_refused_outside_quotes(character: str) -> None:
    """A look-alike of a separator is text in quotes, and refused where people would take it for the separator."""
    assert parse(f"echo '{character}'").commands[0].words[1].text == character
    with pytest.raises(NotUnderstood):
        parse(f"echo {character} a")


@pytest.mark.parametrize("name", ["\uff47\uff49\uff54", "e\u0441h\u043e", "l\u00e9s"], ids=ascii)
def test_a_program_has_an_ascii_name(name: str) -> None:
    """Letters that look like others never name a program."""
    with pytest.raises(NotUnderstood):
        parse(f"{name} status")


@each_row(
    ("fits", "exceeds"),
    [
        pytest.param("ls ''" + "a" * (MAX_CHARS - 5), "ls ''" + "a" * (MAX_CHARS - 4), id="characters"),
        pytest.param(";".join(["a"] * MAX_COMMANDS), ";".join(["a"] * (MAX_COMMANDS + 1)), id="commands"),
        pytest.param("ls ''" + " ''" * (MAX_WORDS - 2), "ls ''" + " ''" * (MAX_WORDS - 1), id="words"),
        pytest.param("( " * MAX_DEPTH + "a" + " )" * MAX_DEPTH, "( " * 21 + "a" + " )" * 21, id="depth"),
        pytest.param("a " + "{1,2}" * 6, "a " + "{1,2}" * 7, id="words of braces"),
        pytest.param(f"a {{{',' * (MAX_BRACE_WORDS - 1)}}}", f"a {{{',' * MAX_BRACE_WORDS}}}", id="choices of braces"),
        pytest.param("a " + "{" * 10 + "}" * 10, "a " + "{" * 11 + "}" * 11, id="depth of braces"),
        pytest.param("a $x'" + "[" * 500 + "'", "a $x'" + "[" * 501 + "'", id="brackets"),
        pytest.param("a " + "{b}" * 60, "a " + "{b}" * 70, id="parts of braces"),
        pytest.param(
            "a " + "{1,2}{3,4}{5,6}{7,8}{9,0} " * 31, "a " + "{1,2}{3,4}{5,6}{7,8}{9,0} " * 32, id="made words"
        ),
    ],
)
def test_limits_hold(fits: str, exceeds: str) -> None:
    """A line at a limit is understood, one past it is not."""
    assert parse(fits).commands
    with pytest.raises(NotUnderstood):
        parse(exceeds)


UNITS = """( $( {a,b} ; a; a& ` \\` " "$( ${ ${x:- [ [] * $x "$x" '' \\a >b a=b <<A {_ if_a;then_ case_a_in_a) ~ =~ $'\\x41'
    x="$x$x"; f(){_ < é {a}_ (( $(( 1+ ']' '[* && | a&& a|""".split()  # noqa: SIM905 - shell, as it is written


@pytest.mark.slow
@each_row("prefix", ["", "echo ", "echo $((", 'echo "', "cat <<E\n", "x=1; echo "])
@each_row("unit", [*UNITS, "\n", "#\n", "\\\n"])
def test_hostile_lines_take_linear_time(prefix: str, unit: str) -> None:
    """The longest line of one unit over and over is refused or read within a fraction of a second."""
    line = prefix + unit.replace("_", " ") * ((MAX_CHARS - len(prefix)) // len(unit))
    start = time.process_time()
    try:
        parse(line)
    except NotUnderstood:
        pass
    finally:
        taken_s = time.process_time() - start

    assert taken_s < 1, "quadratic time would be ten times that"
