"""Globs: anchored, one special character, and no subject that takes more than linear time."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.profile.globs import Glob, GlobError, escape_glob, fold, parse_glob

FEW = st.text(alphabet="ab:\n", max_size=12)
PIECES = st.sampled_from(["a", "b", "ab", ":", "\n", "*", "**", r"\*", r"\\"])
GLOBS = st.lists(PIECES, max_size=8).map("".join)
SUBJECTS = st.text(alphabet="ab:\n*\\", max_size=16)


def translated(text: str) -> re.Pattern[str]:
    """The glob as a regular expression, by the shortest way there is: the reference of these tests."""
    pattern = re.sub(r"\\[*\\]|\*|[^*\\]", lambda found: ".*" if found[0] == "*" else re.escape(found[0][-1]), text)
    return re.compile(pattern, re.DOTALL)


class Counting(str):
    """A subject that counts how far `find` is asked to look."""

    __slots__ = ("looked",)

    def find(self, part: str, start: int, end: int) -> int:  # type: ignore[override]  # as `matches` calls it
        found = super().find(part, start, end)
        self.looked = getattr(self, "looked", 0) + (end if found < 0 else found + len(part)) - start
        return found


@given(GLOBS, SUBJECTS)
@example("a*a", "a")
@example("*", "\n")
@example("", "")
def test_a_glob_matches_what_its_regular_expression_matches(text: str, subject: str) -> None:
    """Anchored, `*` is any text, escapes stand for themselves: nothing else is special."""
    assert parse_glob(text).matches(subject) == bool(translated(text).fullmatch(subject))


@given(st.lists(st.tuples(FEW, FEW), max_size=5), FEW)
def test_a_glob_matches_what_fills_its_stars(pairs: list[tuple[str, str]], last: str) -> None:
    """Whatever stands for a star, the whole matches."""
    text = "".join(f"{part}*" for part, _ in pairs) + last
    subject = "".join(part + filling for part, filling in pairs) + last

    assert parse_glob(text).matches(subject)


@given(st.text(), st.text())
def test_an_escaped_text_matches_itself_alone(text: str, other: str) -> None:
    """Any text can be written as a glob."""
    glob = parse_glob(escape_glob(text))

    assert (glob.literal, glob.matches(text), glob.matches(other)) == (text, True, text == other)


@each_row(
    ("text", "parts"),
    [
        pytest.param("", ("",), id="empty"),
        pytest.param("git log", ("git log",), id="no star"),
        pytest.param("*", ("", ""), id="all"),
        pytest.param("**", ("", ""), id="adjacent stars are one"),
        pytest.param("a**b***c", ("a", "b", "c"), id="adjacent stars between literals"),
        pytest.param("*sudo*", ("", "sudo", ""), id="within"),
        pytest.param(r"a\*b*\\", ("a*b", "\\"), id="escapes"),
        pytest.param(r"\**", ("*", ""), id="a literal star, then a star"),
        pytest.param(r"\\*", ("\\", ""), id="a literal backslash, then a star"),
        pytest.param("[a-z]?{b,c}!", ("[a-z]?{b,c}!",), id="special in other languages"),
    ],
)
def test_parts_are_the_literals_between_the_stars(text, parts) -> None:
    """The text stays as written, the parts have no escapes, the prefix is the first of them."""
    glob = parse_glob(text)

    assert (glob, glob.prefix) == (Glob(text, parts), parts[0])
    assert glob.literal == (parts[0] if len(parts) == 1 else None)


@each_row(
    ("text", "also_escaped", "message"),
    [
        pytest.param(r"a\d", "", r"'\d': only '*' and '\' can follow a backslash; write '\\d'", id="unknown escape"),
        pytest.param(
            r"a\d",
            ",)",
            r"'\d': only '*', '\', ',' and ')' can follow a backslash; write '\\d'",
            id="more escapes",
        ),
        pytest.param("\\\n", "", r"'\\n': only '*' and '\' can follow a backslash; write '\\\n'", id="one line"),
        pytest.param(r"a\,", "", r"'\,': only '*' and '\' can follow a backslash; write '\\,'", id="comma"),
        pytest.param("a\\", "", r"'\': nothing follows the last backslash; write '\\'", id="at the end"),
        pytest.param(r"\\" + "\\", "", r"'\': nothing follows the last backslash; write '\\'", id="odd number"),
    ],
)
def test_other_escapes_are_errors(text, also_escaped, message) -> None:
    """A backslash that means nothing is refused with what to write, shown as it is written."""
    with pytest.raises(GlobError) as caught:
        parse_glob(text, also_escaped=also_escaped)

    assert str(caught.value) == message


def test_further_characters_can_be_escaped() -> None:
    """They stand for themselves with and without a backslash."""
    assert parse_glob(r"a\,b\)*c,d", also_escaped=",)").parts == ("a,b)", "c,d")


@given(st.text(), st.text())
@example("\N{GREEK CAPITAL LETTER ALPHA}\N{GREEK CAPITAL LETTER SIGMA}", "B")
@example("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}", "")
def test_a_folded_name_is_its_folded_pieces(left: str, right: str) -> None:
    """Where a star cuts a name, the pieces still match."""
    glob = parse_glob(f"{escape_glob(left)}*{escape_glob(right)}").folded()

    assert fold(left + right) == fold(left) + fold(right)
    assert glob.matches(fold(left + right))


def test_case_counts_until_it_is_folded() -> None:
    """The text stays as written for messages."""
    glob = parse_glob("Git*LOG")

    assert (glob.matches("git log"), glob.folded()) == (False, Glob("Git*LOG", ("git", "log")))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a*" * 200 + "b*c", id="many stars"),
        pytest.param("*" + "a*" * 200 + "b*", id="many stars, open ends"),
        pytest.param("a*" * 200 + "ab*" + "c", id="two characters"),
    ],
)
def test_a_hostile_subject_is_read_once(text) -> None:
    """No part is looked for in text that an earlier part went over: together they look at each character once."""
    subject = Counting("a" * 5_000 + "c")

    assert not parse_glob(text).matches(subject)
    assert getattr(subject, "looked", 0) <= len(subject)
