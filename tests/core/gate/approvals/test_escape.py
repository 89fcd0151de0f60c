"""What a person decides by: nothing in it is unseen, and nothing passes for the question itself."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.gate.approvals.escape import MAX_BLANKS, one_line, visible, wrap_text


@each_row(
    ("text", "shown"),
    [
        pytest.param("plain: größe, 漢字, e\u0301", "plain: größe, 漢字, e\u0301", id="what can be seen"),
        pytest.param("\x1b[2J\x07\x7f\x9b", r"\x1b[2J\x07\x7f\x9b", id="control characters"),
        pytest.param("a\r\tb\n", r"a\r\tb\n", id="carriage return, tab, line break"),
        pytest.param("\u202e\u2066\u200e", r"\u202e\u2066\u200e", id="bidi controls"),
        pytest.param("\u05d0\u0661", r"\u05d0\u0661", id="letters that turn their neighbours"),
        pytest.param("\u200b\u200d\ufeff\u00ad", r"\u200b\u200d\ufeff\xad", id="zero width"),
        pytest.param("\ufe0f\U000e0100\U000e0041", r"\ufe0f\U000e0100\U000e0041", id="selectors and tags"),
        pytest.param("\u3164\u115f\u2800\u034f", r"\u3164\u115f\u2800\u034f", id="letters without a mark"),
        pytest.param("\u00a0\u3000\u2028", r"\xa0\u3000\u2028", id="blanks of other kinds"),
        pytest.param("\ud800\udc80", r"\ud800\udc80", id="surrogates"),
        pytest.param("\u0301e\u0301\u0302\u0303\u0489", r"\u0301e" + "\u0301\u0302" + r"\u0303\u0489", id="many marks"),
        pytest.param("a" + " " * MAX_BLANKS + "b", "a" + " " * MAX_BLANKS + "b", id="blanks"),
        pytest.param("a" + " " * 9 + "b" + " " * 700, "a<9 blanks>b<700 blanks>", id="blanks that hide the rest"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text, shown) -> None:
    """As Python would write it."""
    assert visible(text) == shown


@given(st.text(st.characters()))
def test_nothing_invisible_is_left(text) -> None:
    """Whatever a model writes, a terminal only prints it."""
    shown = visible(text)

    assert shown.isprintable()
    assert not {unicodedata.bidirectional(character) for character in shown} & {"R", "AL", "AN"}


def test_lines_are_broken_behind_the_margin() -> None:
    """Long lines and line breaks cannot begin a line that looks like ours."""
    lines = list(wrap_text("allow" * 4 + "\n\n漢字漢字漢字漢\nend", 16, "| "))

    assert lines == ["| allowallowall", ": owallow\\n", "| \\n", "| 漢字漢字漢字", ": 漢\\n", "| end"]


def test_words_are_not_broken() -> None:
    """A line ends behind a word; only a word that is longer than a line is broken."""
    lines = list(wrap_text("rm -rf build dist; echo a-word-that-is-too-long ok", 18, "| "))

    assert lines == ["| rm -rf build ", ": dist; echo ", ": a-word-that-is-", ": too-long ok"]


def test_a_line_that_goes_on_is_not_taken_for_another() -> None:
    """A backslash and an `n` are no line break, wherever the terminal's width puts them."""
    one, two = list(wrap_text("# rest of it\\n exit 0", 18, "| ")), list(wrap_text("# rest of it\n exit 0", 18, "| "))

    assert (one, two) == (["| # rest of it\\n ", ": exit 0"], ["| # rest of it\\n", "|  exit 0"])


@each_row(
    ("args", "line"),
    [
        pytest.param({"path": "notes.md", "count": 3}, "path=notes.md count=3", id="plain"),
        pytest.param({"command": "wc -l x"}, 'command="wc -l x"', id="words in quotes"),
        pytest.param({"a": "", "b": 'x"\n\u200b'}, r'a="" b="x\"\n\u200b"', id="what cannot be seen"),
        pytest.param({"list": ["ö", None], "is": True}, 'list="[\\"ö\\", null]" is=true', id="JSON"),
        pytest.param({}, "", id="nothing"),
    ],
)
def test_a_call_in_one_line(args, line) -> None:
    """As `toolcharter approvals list` shows it."""
    assert one_line(args) == line


@pytest.mark.parametrize(("text", "lines"), [("", ["| "]), ("a\n", ["| a\\n"])])
def test_the_end_is_shown(text, lines) -> None:
    """Nothing is one empty line; a last line break begins no line."""
    assert list(wrap_text(text, 80, "| ")) == lines


@given(st.text(st.characters()), st.integers(0, 40))
def test_every_line_has_the_margin_and_nothing_is_lost(text, width) -> None:
    """However narrow the terminal is."""
    lines = list(wrap_text(text, width, "| "))

    assert all(line.startswith(("| ", ": ")) for line in lines)
    *ended, last = text.split("\n")
    assert "".join(line[2:] for line in lines) == "".join(map(visible, (*(f"{line}\n" for line in ended), last)))
