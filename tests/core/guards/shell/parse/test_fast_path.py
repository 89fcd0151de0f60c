"""Plain lines: read without a second reader, to the same commands that the whole grammar gives."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.guards.shell.nodes import MAX_COMMANDS, MAX_WORDS, NotUnderstood, Script
from toolcharter.guards.shell.parse.fast_path import parse_plain
from toolcharter.guards.shell.parse.lists import read_line

WORKSPACE = "/w/ws"
TOKENS = st.sampled_from(
    """ls -la git status a=b 'x' "q" "a$b" '' || | && ; & cd src .. /w/ws/a /w 2>&1 >/dev/null 2>/dev/null 1>/dev/null if time export
    'it --x=y # a'b' * ! { } [ ] - '[' é 'é' 2 wc |& ;; ;& >x >/dev/nullx 2>&12 ~ a:~ HEAD~1 x^.. --a='b"c' -x"'" *.py ** a?b --c=* $x `a` \\""".split()  # noqa: SIM905 - shell, as it is written
)
LINES = st.lists(st.tuples(TOKENS, st.sampled_from([" ", " ", "  ", "\t", "", "\n"])), max_size=9).map(
    lambda tokens: "".join(token + gap for token, gap in tokens)
)


def whole(line: str) -> Script | None:
    """What the whole grammar reads; None where tree-sitter-bash, the second reader, reads otherwise: `- a=b >c`."""
    try:
        return read_line(line, WORKSPACE)
    except NotUnderstood as error:
        if "Two readers" in str(error) or "does not parse" in str(error):
            return None
        raise


@pytest.mark.slow
@settings(max_examples=500)
@given(LINES)
@example("cd src && ls || cd .. ; ls | wc")
@example("cd /w/ws/a ; ls && cd .. && ls")
@example("cd a || cd b && ls ; ls")
def test_plain_lines_are_read_as_the_grammar_reads_them(line: str) -> None:
    """Every command of them: words, redirections, feeders, folders, and where it stands."""
    plain = parse_plain(line, WORKSPACE)

    assert plain is None or plain == (whole(line) or plain)


@each_row(
    ("line", "forms"),
    [
        ("", []),
        (" \t", []),
        ("ls;", ["ls"]),
        ("ls -l 'a b' \"c d\" '' ''", ["ls -l 'a b' 'c d' '' ''"]),
        ("ls && pwd || id; wc|sort", ["ls", "pwd", "id", "wc", "sort"]),
        ("ls 2>&1 >/dev/null | wc 2> /dev/null", ["ls 2>&1 >/dev/null", "wc 2>/dev/null"]),
        (">/dev/null ls", ["ls >/dev/null"]),
        ("grep -rn 'a;b|c' src --include=*.py */?", ["grep -rn 'a;b|c' src --include=*.py */?"]),
        ("git log --grep='a b' -n\"1\" HEAD~2 x^^..y~", ["git log '--grep=a b' -n1 'HEAD~2' 'x^^..y~'"]),
        ("grep '[' a", ["grep [ a"]),
        ('rg "class \\w+" a', ["rg 'class \\w+' a"]),
    ],
)
def test_a_plain_line_is_words_and_operators(line: str, forms: list[str] | None) -> None:
    """Quoted or not, with the usual redirections."""
    script = parse_plain(line, WORKSPACE)

    assert (None if script is None else [one.form for one in script.commands]) == forms


@each_row(
    "line",
    [
        "ls $x", "ls `a`", "ls 'a", 'ls "a', 'ls "$x"', 'ls "a\\\\b"', 'ls "a\\"b"', 'ls "a\\$b"', "ls a'b'c", "ls 'a''b'", "'ls'", "l*", "a~1", "A='b' ls", "ls a*'b'", "ls a:~", "ls **", "ls a**", "ls *[a]", "ls a=b~", "a=b ls", "a=b", ">/dev/null", "ls | >/dev/null", "ls >x", "ls 2>&3",
        "ls &", "ls & pwd", "ls |& wc", "ls\npwd", "ls 'a\nb'", "# a", "ls ~", "ls [a]", "(ls)", "if ls", "time ls", "export A=b", "pushd a", "eval ls",
        "ls &&", "ls |", "| ls", "; ls", "ls ;; ls", "ls ; ; ls", "ls || | wc", "ls && ; wc", "ls | ; wc", "é", "ls >/dev/null/x", "ls 3>/dev/null", "!ls",
    ],
)  # fmt: skip
def test_any_other_line_is_for_the_grammar(line: str) -> None:
    """Expansions, words of the language, faults, programs that change how bash goes on."""
    assert parse_plain(line, WORKSPACE) is None


def test_limits_are_those_of_the_grammar() -> None:
    """At the limit a line is read; one further the grammar says why not."""
    assert len((parse_plain(";".join(["ls"] * MAX_COMMANDS), "") or Script()).commands) == MAX_COMMANDS
    assert parse_plain(";".join(["ls"] * (MAX_COMMANDS + 1)), "") is None
    assert parse_plain("ls" + " a" * (MAX_WORDS - 1), "") is not None
    assert parse_plain("ls" + " a" * MAX_WORDS, "") is None
