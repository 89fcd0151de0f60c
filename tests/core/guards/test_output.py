"""Cutting output to size, and finding the data in it."""

import unicodedata
from time import thread_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.guards.output import Strategy, mask_middle, parse_structured, truncate

LONG = "".join(chr(ord("a") + index % 26) for index in range(1000))


@each_row(
    ("strategy", "limit", "expected"),
    [
        pytest.param("head", 100, LONG[:55] + "\n[truncated: 945 characters left out (head)]", id="head"),
        pytest.param("tail", 100, "[truncated: 945 characters left out (tail)]\n" + LONG[-55:], id="tail"),
        pytest.param(
            "both", 100, LONG[:27] + "\n[truncated: 946 characters left out (both)]\n" + LONG[-27:], id="both"
        ),
        pytest.param("head", 68, LONG[:23] + "\n[truncated: 977 characters left out (head)]", id="room-for-a-notice"),
        pytest.param("head", 67, LONG[:67], id="no-room-for-a-notice"),
        pytest.param("tail", 5, LONG[-5:], id="tail-without-notice"),
        pytest.param("both", 5, LONG[:5], id="both-without-notice"),
        pytest.param("head", 0, "", id="nothing"),
    ],
)
def test_long_text_is_cut_with_a_notice(strategy: Strategy, limit: int, expected: str) -> None:
    """The notice counts what is missing; a limit too small for a notice gives the bare text."""
    assert truncate(LONG, limit, strategy) == (expected, True)


@each_row("limit", [1000, 1001])
@each_row("strategy", ["head", "tail", "both"])
def test_text_within_the_limit_is_untouched(strategy: Strategy, limit: int) -> None:
    """At the limit nothing is cut, and the same object comes back."""
    cut, truncated = truncate(LONG, limit, strategy)

    assert (cut is LONG, truncated) == (True, False)


@each_row(
    ("unit", "kept"),
    [
        pytest.param("\r\n", "", id="crlf"),
        pytest.param("e\u0301", "", id="accent"),
        pytest.param("\U0001f44d\U0001f3fd", "", id="skin-tone"),
        pytest.param("\u2764\ufe0f", "", id="variation-selector"),
        pytest.param("\U0001f469\u200d\U0001f680", "", id="joined-emoji"),
        pytest.param("\ud83d\ude00", "", id="surrogate-pair"),
        pytest.param("e" + "\u0301" * 31, "", id="many-accents"),
        pytest.param("e" + "\u0301" * 99, "e" + "\u0301" * 35, id="endless-accents"),
    ],
)
def test_border_does_not_split_what_belongs_together(unit: str, kept: str) -> None:
    """A unit that would be cut is left out, unless it goes on and on."""
    inside = min(36, len(unit) - 1)
    text = "x" * (40 - inside) + unit + "y" * 40

    cut, _ = truncate(text, 40, "head")

    assert cut == "x" * (40 - inside) + kept


def test_tail_border_moves_forward() -> None:
    """The end that is kept begins with a whole character too."""
    assert truncate("xxxx" + "e\u0301" + "yyyy", 5, "tail") == ("yyyy", True)


TEXTS = st.text(st.sampled_from("ab\r\n\u0301\u200d\ufe0f\U0001f44d\U0001f3fd"), max_size=400)


@given(TEXTS, st.integers(0, 420), st.sampled_from(["head", "tail", "both"]))
def test_cut_text_keeps_its_promises(text: str, limit: int, strategy: Strategy) -> None:
    """Never longer than the limit; the notice's count adds up; what is kept is the beginning and the end."""
    cut, truncated = truncate(text, limit, strategy)

    assert truncated == (len(text) > limit)
    assert len(cut) <= max(limit, 0)
    head, found, rest = cut.partition("[truncated: ")
    if truncated and found:
        count, _, tail = rest.partition(f" characters left out ({strategy})]")
        head, tail = head.removesuffix("\n") if strategy != "tail" else head, tail.removeprefix("\n")
        assert int(count) == len(text) - len(head) - len(tail)
        assert text.startswith(head)
        assert text.endswith(tail)
    elif truncated:
        assert text.endswith(cut) if strategy == "tail" else text.startswith(cut)


@given(st.text(max_size=300), st.integers(0, 300))
def test_letters_keep_their_accents(text: str, limit: int) -> None:
    """Decomposed text is not cut between a letter and at most 32 marks."""
    decomposed = unicodedata.normalize("NFD", text)

    cut, truncated = truncate(decomposed, limit, "head")
    kept = cut.partition("\n[truncated: ")[0]
    following = decomposed[len(kept) : len(kept) + 1]

    assert (
        not truncated or not kept or not unicodedata.combining(following or "x") or len(kept) > len(decomposed.rstrip())
    )


@each_row(
    ("text", "data"),
    [
        pytest.param('{"a": 1}\n', {"a": 1}, id="object"),
        pytest.param("7", 7, id="number"),
        pytest.param("true\n", True, id="boolean"),
        pytest.param(' "x" ', "x", id="string"),
        pytest.param('log\n{"a": 1}\ndone\n', {"a": 1}, id="line-before-the-last"),
        pytest.param('{"a": 1}\r\n[2]\r\n', [2], id="last-of-two-crlf"),
        pytest.param('{"a": 1}\n{broken}\n', {"a": 1}, id="broken-last-line"),
        pytest.param("", {"output": ""}, id="empty"),
        pytest.param("x\n7\n", {"output": "x\n7\n"}, id="scalar-on-the-last-line"),
        pytest.param('x\n{"a": 1]\n', {"output": 'x\n{"a": 1]\n'}, id="brackets-do-not-pair"),
        pytest.param("NaN", {"output": "NaN"}, id="nan"),
        pytest.param("x\n[1e999]", {"output": "x\n[1e999]"}, id="infinite"),
        pytest.param("\udc80", {"output": "\udc80"}, id="lone-surrogate"),
    ],
)
def test_data_in_the_output_of_a_program(text: str, data: Any) -> None:
    """The whole, else the last line that is an object or array, else the text."""
    assert parse_structured(text) == data


def test_hostile_output_is_taken_as_text() -> None:
    """Nesting without end, and a hundred thousand lines that only look like JSON, are text."""
    text = "[" * 100_000 + "]" * 100_000 + "\n{}}\n[[]" * 100_000

    assert parse_structured(text) == {"output": text}


TURNS = [["a"], ["bb", "cc"], [], ["dddd"], ["e"]]
MASKED = [
    ["[result masked: 1 characters left out]"],
    ["[result masked: 2 characters left out]"] * 2,
    [],
    ["[result masked: 4 characters left out]"],
    ["[result masked: 1 characters left out]"],
]


@each_row(
    ("first", "last", "kept"),
    [
        (1, 1, {0, 4}),
        (0, 2, {3, 4}),
        (2, 0, {0, 1}),
        (1, 4, {0, 1, 2, 3, 4}),
        (3, 3, {0, 1, 2, 3, 4}),
        (99, 99, {0, 1, 2, 3, 4}),
        (0, 0, {0, 1, 2, 3, 4}),
    ],
)
def test_turns_in_the_middle_are_masked(first: int, last: int, kept: set[int]) -> None:
    """Whole turns, with their sizes; what was given is not touched, and with both numbers 0 nothing is masked."""
    given = [list(turn) for turn in TURNS]

    masked = mask_middle(given, keep_first=first, keep_last=last)

    assert masked == [TURNS[place] if place in kept else MASKED[place] for place in range(len(TURNS))]
    assert given == TURNS


@pytest.mark.parametrize(("first", "last"), [(-1, 1), (1, -1)])
def test_numbers_of_turns_are_not_negative(first: int, last: int) -> None:
    """A negative number would mask the wrong end."""
    with pytest.raises(ValueError, match="cannot be negative"):
        mask_middle(TURNS, keep_first=first, keep_last=last)


@each_row(
    ("text", "found"),
    [
        ('log\n{\n  "a": [\n    {"b": 1},\n    {"c": 2}\n  ]\n}\n', {"a": [{"b": 1}, {"c": 2}]}),
        ('log\n[\n{"a":1},\n{"a":2}\n]', [{"a": 1}, {"a": 2}]),
        ('log\n  {\n    "a": 1\n  }\n', {"a": 1}),
        ('log\n{\n  "a": {}\n}\ndone', {"a": {}}),
        ('{"first": 1}\nresult:\n{"a": 1}\ndone', {"a": 1}),
        ('log\n[\n{"a":1},\n{"a":2}\n', None),
        ('log\n{\n  "a": [\n    {"b": 1}\n  ],\n}\n', None),
        ('log\n{"b": 1}\n]', None),
    ],
)
def test_json_over_several_lines_is_read_whole_or_not_at_all(text: str, found: object) -> None:
    """No line in the middle of an object or array is taken for the result."""
    assert parse_structured(text) == ({"output": text} if found is None else found)


def test_many_braces_take_no_longer_than_their_text() -> None:
    """Blocks that are none are tried a few times."""
    text = "x\n" + "{\n}x\n" * 20_000 + "}\n" * 20_000
    begin = thread_time()

    assert parse_structured(text) == {"output": text}
    assert thread_time() - begin < 2
