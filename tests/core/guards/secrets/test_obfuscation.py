"""Veils: what stands between the letters of a secret, and what it stands for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.guards.secrets.obfuscation import deobfuscate, strip_obfuscation

VEILS = {
    b"\xe2\x80\x8b": b"",
    b"\xe2\x81\xa0": b"",
    b"\xef\xb8\x8f": b"",
    b"\xef\xbb\xbf": b"",
    b"\xc2\xad": b"",
    b"\x1b[0;31m": b"",
    b"\\u001b[1m": b"",
    b"\\x1b[m": b"",
    b"\\u200b": b"",
    b"%2D": b"-",
    b"%2d": b"-",
    b"%0A": b"\n",
    b"\\u0041": b"A",
    b"\\x7e": b"~",
    b"\\/": b"/",
    b"&amp;": b"&",
    b"&#45;": b"-",
    b"&#x3D;": b"=",
}
OTHER = [
    b"a",
    b"bc",
    b"9",
    b"%",
    b"%5",
    b"\\",
    b"\xe2",
    b"\x80\x8b",
    b"\xef\xb8",
    b'"',
    b" + ",
    b"'",
    b"\n",
    b"&",
    b"#x3D;",
]


@each_row(
    ("veil", "number"),
    [pytest.param(veil, number, id=f"{number} of {veil!r}") for veil in VEILS for number in (1, 2, 3, 100)],
)
def test_veils_in_a_row_are_taken_off_like_each_alone(veil: bytes, number: int) -> None:
    """Also where they are read as one, since reading each takes a hundred times as long."""
    data = b"left" + veil * number + b"right"
    expected = b"left" + VEILS[veil] * number + b"right"

    assert (strip_obfuscation(data), deobfuscate(data)[0]) == (expected, expected)


@given(st.lists(st.sampled_from([*VEILS, *OTHER]), max_size=24).map(b"".join))
def test_what_is_looked_at_first_is_what_is_looked_through(data: bytes) -> None:
    """A secret that the first look does not show is never looked for."""
    assert strip_obfuscation(data) == deobfuscate(data)[0]
