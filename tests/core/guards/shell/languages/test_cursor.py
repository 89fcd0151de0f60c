"""The cursor that the readers of little languages share."""

import re

from toolcharter.guards.shell.languages.cursor import Cursor


def test_reads_from_left_to_right() -> None:
    """Each step says what it passed; beyond the end there is nothing, and no error."""
    cursor = Cursor("  ab12\nc")

    cursor.skip(" ")
    steps = [
        cursor.next_char,
        cursor.take(),
        cursor.take_all("b1"),
        cursor.take_line(),
        cursor.next_char,
        cursor.take(),
    ]

    assert [*steps, cursor.take_line(), cursor.next_char, cursor.take(), cursor.take_line()] == [
        *("a", "a", "b1", "2", "\n", "\n"),
        *("c", "", "", ""),
    ]


def test_takes_what_a_pattern_matches_here() -> None:
    """A match moves the cursor past itself; a pattern that would match further on does not."""
    cursor = Cursor("a1b")

    taken = [found and found[0] for found in map(cursor.take_match, map(re.compile, ["[0-9]", "[a-z]", "[0-9]"]))]

    assert (taken, cursor.at) == ([None, "a", "1"], 2)
