"""Which keys a file of git settings sets."""

import subprocess
from pathlib import Path

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.git.config import UnreadableConfigError, parse_settings


@each_row(
    ("text", "keys"),
    [
        pytest.param("", (), id="nothing"),
        pytest.param("\ufeff[a]\n\tb = 1\n", ("a.b",), id="byte order mark"),
        pytest.param("[Core]\r\n\tFSMonitor = x\r\n", ("core.fsmonitor",), id="case and carriage returns"),
        pytest.param('[filter "a ] b"]\nclean=x\n', ("filter.clean",), id="subsection"),
        pytest.param('[filter "a\\"b"]clean=x', ("filter.clean",), id="on the line of its section"),
        pytest.param("[filter.x]\nclean = x", ("filter.clean",), id="old subsection"),
        pytest.param("# [a]\n; b\n[a] # c\nb ; c\nc", ("a.b", "a.c"), id="comments and keys without values"),
        pytest.param("[a]\nb = x \\\nclean = y\nc = \\\\\nd=1", ("a.b", "a.c", "a.d"), id="line that goes on"),
        pytest.param("[a]\nb = \\\n\\\n x\nc=1", ("a.b", "a.c"), id="line that goes on twice"),
    ],
)
def test_keys_are_found_without_their_subsections(text: str, keys: tuple[str, ...]) -> None:
    """Keys are in lower case and in order, whatever their values are."""
    assert tuple(key for key, _ in parse_settings(text)) == keys


def test_values_are_as_written() -> None:
    """A value keeps its quotes and its comment, and ends with its first line."""
    text = '[a]\nb = c \nd="e" ; f\ng\nh = i \\\nj\n[k]l=m'

    assert parse_settings(text) == (("a.b", "c"), ("a.d", '"e" ; f'), ("a.g", ""), ("a.h", "i \\"), ("k.l", "m"))


@each_row(
    ("text", "why"),
    [
        pytest.param("a = b", "line 1: neither a section nor a setting.", id="no section"),
        pytest.param("[a]\n[b", "line 2: neither a section nor a setting.", id="section without end"),
        pytest.param("[a][b]\nc=1", "line 1: neither a section nor a setting.", id="two sections"),
        pytest.param("[a]\n1 = b", "line 2: neither a section nor a setting.", id="key of digits"),
        pytest.param("[a]\n# b \\\nc = d", "line 2: a comment, or none, that ends with a backslash.", id="comment"),
        pytest.param("[a]\nb = c \\", "the last line ends with a backslash.", id="end"),
    ],
)
def test_what_is_not_plain_is_refused(text: str, why: str) -> None:
    """A file that may be read in two ways is not read."""
    with pytest.raises(UnreadableConfigError) as caught:
        parse_settings(text)

    assert str(caught.value) == why


@pytest.mark.needs_program("git")
@pytest.mark.parametrize(
    "text",
    [
        "[a]\nb = x \\\nclean = y\n",
        '[a "b\\\\"]\nc = "d ; e"\n[x]y=1\n',
        "[a.b]\nc\n\td = 1 # e\n",
        "[a] b = c\n\n[d]\ne-f = g\n",
    ],
)
def test_git_finds_the_same_keys(tmp_path: Path, text: str) -> None:
    """Git agrees on what the file sets."""
    (tmp_path / "config").write_text(text)
    listing = subprocess.run(
        ["git", "config", "--file", "config", "--name-only", "--list"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    names = [line.split(".") for line in listing.stdout.splitlines()]
    assert tuple(key for key, _ in parse_settings(text)) == tuple(f"{name[0]}.{name[-1]}" for name in names)
