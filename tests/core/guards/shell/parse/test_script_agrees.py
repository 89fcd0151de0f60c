"""What the real bash does with a line, and what the guard reads in it, are the same."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import find_program

from toolcharter.guards.shell.nodes import NotUnderstood, Script, Word
from toolcharter.guards.shell.parse.script import parse

BASH = find_program("bash") or ""
pytestmark = [pytest.mark.slow, pytest.mark.needs_program("bash")]

# Every program is unknown, so that this function gets its words; one write each, since several may run at once.
SPY = 'command_not_found_handle() { local said; printf -v said "%s\\x01" "$@"; printf "%s\\x02" "$said" >&9; return $((RANDOM % 2)); }; eval "$1"'

# Dash asks nobody about programs that it does not find, so that those of the lines below are functions.
DASH = find_program("dash") or ""
DASH_SPY = (
    "say() { for said; do printf '%s\\001' \"$said\"; done >&9; printf '\\002' >&9; return $(($# % 2)); }; "
    + "".join(f'{name}() {{ say {name} "$@"; }}; ' for name in "abcdfx")
    + 'eval "$1"'
)

PLAIN = st.text("ab-_.,/=:@%+{}~[]*?#!^é", min_size=1, max_size=5)
QUOTED = st.text('a $`"\\;|&<>(){}~*?#!\n\té', max_size=5)
ESCAPE = st.sampled_from([r"\n", r"\t", r"\e", r"\\", r"\'", r"\"", r"\?", r"\x41", r"\x4g", r"\101", r"\1012", r"\u41", r"\cG", r"\q", r"\x", "\\\n"])  # fmt: skip
PIECE = st.one_of(
    PLAIN,
    QUOTED.map(lambda text: f"'{text}'"),
    st.text("a ;|&<>(){}~*?#!'\n\té$", max_size=5).map(lambda text: f'"{text}"'),
    st.text("a$`\"\\;&'*", max_size=4).map(lambda text: '"' + "".join(f"\\{one}" for one in text) + '"'),
    st.text("a $`\"'\\;|&<>(){}~*?#!\té", min_size=1, max_size=3).map(lambda text: "".join(f"\\{one}" for one in text)),
    st.lists(ESCAPE, max_size=3).map(lambda escapes: "$'" + "".join(escapes) + "'"),
    st.sampled_from(["{a,b}", "{a,}", "{a", "}", "{a,{b,c}}", "{a}", "{,}", "x{a,'b c'}"]),
)
WORDS = st.lists(st.lists(PIECE, min_size=1, max_size=3).map("".join), min_size=1, max_size=4)
TOKENS = st.sampled_from(
    """a b c 'q r' "d" "$v" $v ${v:-w} $(a) $(b x) `a` `b \\`c\\`` ; ;; && || | |& & ! ( ) { } {a,b} if then fi else while
    for f in do done case esac x) f() function <(a) >(b) < > o 2>&1 >&2 <<E <<'E' <<-E E <<< # '#' v=1 v=(a) [[ ]] == [ ] time
    coproc ~ * ? $'x' $'\\\\\\\\' \\; \\a $((1+1)) (( )) " ' ` \\ $ é eval""".split()  # noqa: SIM905 - shell, as it is written
)
LINES = st.lists(st.tuples(TOKENS, st.sampled_from([" ", " ", " ", "", "\n", "\\\n"])), max_size=9).map(
    lambda tokens: "".join(token + gap for token, gap in tokens)
)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("empty")


def ran(line: str, folder: Path) -> list[tuple[str, ...]]:
    """The words of each command that bash runs for *line*."""
    return told([BASH, "--norc", "-c", SPY, "_", line], folder)


def told(shell: list[str], folder: Path) -> list[tuple[str, ...]]:
    """The words of each command that a shell says to run, on descriptor 9."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe:
        try:
            subprocess.run(
                [BASH, "--norc", "-c", f'exec "$@" 9>&{writing}', "_", *shell],
                cwd=folder,
                env={"PATH": "/nowhere", "LC_ALL": "C.UTF-8", "HOME": "/home/dev"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                pass_fds=[writing],
                timeout=60,
                check=False,
            )
        finally:
            os.close(writing)
        records = pipe.read().split(b"\2")[:-1]
    return [tuple(word.decode() for word in record.split(b"\1")[:-1]) for record in records]


def may_be(words: tuple[Word, ...], argv: tuple[str, ...]) -> bool:
    """Whether *argv* is what *words* may become."""
    if not words:
        return not argv
    word, others = words[0], words[1:]
    if word.splits:
        return any(may_be(others, argv[taken:]) for taken in range(len(argv) + 1))
    return bool(argv) and word.text in {None, argv[0]} and may_be(others, argv[1:])


def understood(line: str) -> Script | None:
    try:
        return parse(line)
    except NotUnderstood:
        return None


@settings(max_examples=300, deadline=None)
@given(WORDS)
def test_words_are_what_bash_makes_of_them(empty: Path, words: list[str]) -> None:
    """Quote removal and braces give the very words that bash hands to the program."""
    line = f"run {' '.join(words)}"
    script = understood(line)

    # A dollar and a parenthesis within quotes are a substitution, whose commands run too.
    runs = [] if script is None else [one for one in script.commands if not one.within]
    assert script is None or [one.words[0].text for one in runs] == ["run"]
    if script is not None and script.unsupported is None:
        assert [argv for argv in ran(line, empty) if argv[0] == "run" and not may_be(runs[0].words, argv)] == []


@settings(max_examples=400, deadline=None)
@given(LINES)
def test_bash_runs_nothing_that_was_not_read(empty: Path, line: str) -> None:
    """Whatever bash runs for a line that is understood is one of the commands that were read."""
    script = understood(line)

    if script is not None and script.unresolved_program is None and not any(_starts(script)):
        missed = [argv for argv in ran(line, empty) if not any(may_be(one.words, argv) for one in script.commands)]
        assert (line, missed) == (line, [])


@pytest.mark.needs_program("dash")
@settings(max_examples=400, deadline=None)
@given(LINES)
def test_dash_runs_nothing_that_was_not_read(empty: Path, line: str) -> None:
    """What is read for a shell that need not be bash is what dash makes of it, as far as it runs at all."""
    try:
        script = parse(line, is_posix=True)
    except NotUnderstood:
        return

    if (
        script.unresolved_program is None
        and script.unsupported is None
        and not script.functions
        and not any(_starts(script))
    ):
        said = told([DASH, "-c", DASH_SPY, "_", line], empty)
        missed = [argv for argv in said if not any(may_be(one.words, argv) for one in script.commands)]
        assert (line, missed) == (line, [])


def _starts(script: Script) -> list[bool]:
    return [one.program is not None and one.program.text == "eval" for one in script.commands]
