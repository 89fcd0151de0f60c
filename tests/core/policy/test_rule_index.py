"""The index answers what one glob after the other answers, and matches few of them to find out."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.policy.rule_index import GlobIndex
from toolcharter.profile.globs import Glob, parse_glob

LETTERS = "ab:\n\N{LATIN SMALL LETTER E WITH ACUTE}\N{GRINNING FACE}"
LITERALS = st.one_of(st.text(alphabet="ab", max_size=9), st.text(alphabet=LETTERS, max_size=6))
TEXTS = st.one_of(
    LITERALS,
    st.sampled_from(["", "*", "**", r"\*", r"\\*", r"a*\**"]),
    st.lists(LITERALS, min_size=2, max_size=4).map("*".join),
)
SUBJECTS = st.one_of(st.text(alphabet="ab*\\", max_size=30), st.text(alphabet=LETTERS, max_size=30))

matched: list[str] = []


class Watched(Glob):
    """A glob that tells when it is matched in full."""

    __slots__ = ()

    def matches(self, subject: str) -> bool:
        matched.append(self.text)
        return super().matches(subject)


@pytest.fixture(autouse=True)
def _nothing_matched() -> None:
    matched.clear()


def index_of(texts: Sequence[str]) -> GlobIndex:
    return GlobIndex([Watched(*parse_glob(text)) for text in texts])


@given(st.lists(TEXTS, max_size=40), st.lists(SUBJECTS, min_size=1, max_size=5))
@example(["a*", "*", "a", "**"], ["a", "", "b"])
@example(["*", "a"], ["a"])
@example([f"a*{number % 3}*b*{'b' * number}" for number in range(20)], ["a1bbbbb"])
def test_the_index_answers_like_one_glob_after_the_other(texts: list[str], subjects: list[str]) -> None:
    """All that match in the order they came, and the first of them."""
    globs = [parse_glob(text) for text in texts]
    index = GlobIndex(globs)

    for subject in subjects:
        expected = [ordinal for ordinal, glob in enumerate(globs) if glob.matches(subject)]
        assert (index.all(subject), index.first(subject)) == (expected, next(iter(expected), None))
    assert len(index) == len(texts)


@given(st.data(), st.lists(st.text(alphabet="ab", min_size=1, max_size=9), min_size=9, max_size=40, unique=True))
def test_globs_that_share_everything_but_one_part_are_all_found(data: st.DataObject, parts: list[str]) -> None:
    """However common heads, tails and grams are, none of the ways to file a glob loses it."""
    shape = data.draw(st.sampled_from(["{}*", "*{}", "*{}*", "a*{}*b", "{}*ab", "ab*{}", "ab*ba*{}*"]))
    globs = [parse_glob(shape.format(part)) for part in parts]
    subject = data.draw(st.sampled_from(["a", "ab", ""])) + data.draw(st.sampled_from(parts)) * 2 + "bab"

    found = GlobIndex(globs).all(subject)

    assert found == [ordinal for ordinal, glob in enumerate(globs) if glob.matches(subject)]


@pytest.mark.parametrize(
    ("texts", "subject", "all_of_them", "first"),
    [
        pytest.param([], "git log", [], None, id="no globs"),
        pytest.param([""], "", [0], 0, id="empty glob, empty subject"),
        pytest.param(["", "a*", "*b", "*ab*"], "x", [], None, id="none matches"),
        pytest.param(["*", "git*"], "git log", [0, 1], 0, id="all before a head"),
        pytest.param(["git*", "*"], "git log", [0, 1], 0, id="head before all"),
        pytest.param(["git log", "*"], "git log", [0, 1], 0, id="text before all"),
        pytest.param(["*log", "x", "git*log", "git log", "git*"], "git log", [0, 2, 3, 4], 0, id="tail, head, text"),
        pytest.param(["a*", "abc*", "ab*", "abd*", "b*"], "abcd", [0, 1, 2], 0, id="heads of heads"),
        pytest.param(["sudo", "*sudo*", "sudo", "**sudo*"], "sudo", [0, 1, 2, 3], 0, id="the same more than once"),
        pytest.param(["*b", "*c"], "abd", [], None, id="tails that sort before it"),
    ],
)
def test_ordinals_ascend_and_the_first_is_the_smallest(texts, subject, all_of_them, first) -> None:
    """The order is the one the globs came in, whatever they are filed under."""
    index = index_of(texts)

    assert (index.all(subject), index.first(subject)) == (all_of_them, first)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "subject"),
    [
        pytest.param("tool_{:05}", "tool_00777", id="texts"),
        pytest.param("tool_{:05}:*", "tool_00777:x", id="heads"),
        pytest.param("*.{:05}", "x.00777", id="tails"),
        pytest.param("*{:05}*", "x 00777 x", id="grams"),
        pytest.param("git log*{:05}*", "git log x 00777 x", id="one head for all"),
        pytest.param("*secret*{:05}*", "x secret 00777", id="one part for all"),
        pytest.param("git*{:05}", "git log 00777", id="one head for all, own tails"),
        pytest.param("*{:05}*.env", "x 00777.env", id="one tail for all"),
    ],
)
def test_of_ten_thousand_globs_few_are_matched_in_full(shape, subject) -> None:
    """What all globs share does not make them candidates; what few share makes a candidate each."""
    index = index_of([shape.format(number) for number in range(10_000)])

    found = index.all(subject)

    assert (found, index.first(subject)) == ([777], 777)
    assert set(matched) <= {shape.format(777)}


def test_short_literals_are_grams_of_their_own() -> None:
    """A glob with nothing but a character or two is looked up, too."""
    index = index_of([f"*{chr(number)}*" for number in range(0x4E00, 0x8000)] + ["*ab*", "*abc*"])

    assert (index.all("xabx\N{CJK UNIFIED IDEOGRAPH-4E8C}"), len(matched)) == ([0x8C, 0x3200], 2)


def test_nothing_behind_a_match_is_tried() -> None:
    """The first match asks for no glob with a larger ordinal than the one it has."""
    index = index_of(["rm *", *(f"rm *{number}*" for number in range(5))])

    assert (index.first("rm 01234"), matched) == (0, ["rm *"])


def test_equal_globs_are_matched_once() -> None:
    """Ten thousand copies, however their stars are written, cost what one does."""
    index = index_of(["*a**b*", "*a*b*"] * 5_000)

    assert (index.all("ab"), matched) == (list(range(10_000)), ["*a**b*"])


def test_heads_within_heads_are_left_at_the_first_that_fails() -> None:
    """A subject that sorts behind a long chain of heads has none of them tried."""
    index = index_of(["a" * length + "*" for length in range(1, 500)])

    assert (index.all("b"), index.all("aab"), matched) == ([], [0, 1], ["a*", "aa*"])


ORDERS = ["ab*ba*ab", "ba*ab*ba", "ab*ab*ba", "ba*ba*ab", "ab*ba*ba", "ba*ab*ab", "ab*ab*ab", "ba*ba*ba", "ab*ba*"]
"""Nine globs' middles that are made of the same two literals."""


@each_row(
    ("texts", "subject", "candidates"),
    [
        pytest.param(
            [f"git log*{number}* --everything*" for number in range(1000, 1008)],
            "git log 1007 --everything x",
            8,
            id="eight that begin alike are filed under that",
        ),
        pytest.param(
            [f"git log*{number}* --everything*" for number in range(1000, 1009)],
            "git log 1007 --everything x",
            1,
            id="nine are filed under what few have",
        ),
        pytest.param(
            [f"* --everything*{number}*.env" for number in range(1000, 1008)],
            "x --everything 1007.env",
            8,
            id="eight that end alike are filed under that",
        ),
        pytest.param(
            [f"* --everything*{number}*.env" for number in range(1000, 1008)],
            "x --everything 1007.txt",
            0,
            id="and not under their empty beginning",
        ),
        pytest.param(
            [f"* --everything*{number}*.env" for number in range(1000, 1009)],
            "x --everything 1007.env",
            1,
            id="nine that end alike are filed under what few have",
        ),
        pytest.param(
            [f"* --everything*{number}*.env" for number in range(1000, 1005)]
            + [f"h{number}*.env" for number in range(1000, 1005)],
            "x --everything 1004.env",
            1,
            id="an empty beginning is never rare",
        ),
        pytest.param(
            [f"git log*{number}* --everything*" for number in range(1000, 1005)] + [f"git log*t{n}" for n in range(5)],
            "git log 1004 --everything x",
            1,
            id="an empty end is never rare",
        ),
        pytest.param(
            [f"git log*{number}*.env" for number in range(1000, 1008)],
            "git log 1007 .txt .env x",
            1,
            id="where as many begin as end alike, the beginning counts",
        ),
        pytest.param(
            [f"git log*{number}*.env" for number in range(1000, 1008)],
            "x git log 1007.env",
            0,
            id="and the end does not",
        ),
        pytest.param(
            [f"git log*{middle}*" for middle in ORDERS],
            "git log ab ba ab ba ab ba ab ba",
            9,
            id="nine that have nothing rare are filed under their beginning",
        ),
        pytest.param(
            [f"git log*{middle}*" for middle in ORDERS],
            "x git log ab ba ab ba ab ba ab ba",
            0,
            id="and neither under their end nor under what all have",
        ),
        pytest.param(
            [f"git log*ab{number}*everything*" for number in range(9)],
            "git log ab7 everything",
            9,
            id="a short literal beside a long one is no gram",
        ),
        pytest.param(
            ["git log --oneline*zz*everything*"],
            "git log --oneline zz",
            0,
            id="behind a beginning, the longest literal is asked for first",
        ),
        pytest.param(
            ["*everything*zz*e.env"],
            "zz.env zze.env",
            0,
            id="before an end, the longest literal is asked for first",
        ),
    ],
)
def test_how_many_globs_are_matched_in_full(texts, subject, candidates) -> None:
    """Up to eight globs that begin or end alike are tried one by one; of more, those that share what is rare."""
    matched.clear()

    index_of(texts).all(subject)

    assert len(matched) == candidates


class Told(str):
    """A subject that tells which beginnings it was asked for."""

    __slots__ = ("asked",)

    def startswith(self, prefix: Any, *limits: Any) -> bool:
        """Remember the question."""
        self.asked = [*getattr(self, "asked", []), prefix]
        return super().startswith(prefix, *limits)


def test_no_longer_head_is_asked_for_behind_one_that_fails() -> None:
    """A chain of five hundred heads costs one comparison, if the subject does not begin with the shortest."""
    subject = Told("b")

    found = index_of(["a" * length + "*" for length in range(1, 500)]).all(subject)

    assert (found, subject.asked) == ([], ["a"])
