"""The index answers what one glob after the other answers, and matches few of them to find out."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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
