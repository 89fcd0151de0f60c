"""The text of `$'...'`."""

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.nodes import NotUnderstood
from toolcharter.guards.shell.parse.ansi import decode_escapes


@each_row(
    ("body", "text"),
    [
        (r"plain é", "plain é"),
        (r"\a\b\e\E\f\n\r\t\v", "\a\b\x1b\x1b\f\n\r\t\v"),
        (r"\\\'\"\?", "\\'\"?"),
        (r"\1\12\101\1011\501", "\x01\nAA1A"),
        (r"\x41\x4g\x414", "A\x04gA4"),
        (r"\u41\U00000042\ca", "AB\x01"),
        (r"\q\x\8", r"\q\x\8"),
        (r"\xc3\xa9\303\251é", "ééé"),
    ],
)
def test_escapes_are_what_bash_makes_of_them(body: str, text: str) -> None:
    """Each escape that means one character everywhere is that character."""
    assert decode_escapes(body) == text


@each_row(
    "body",
    [r"\0", r"\x00", r"\u0000", r"\c", r"\c1", r"\x{41}", r"\u00e9", r"\U0001f600", r"\xff", r"\xe2\x80\xae"],
)
def test_escapes_that_mean_other_things_elsewhere_are_refused(body: str) -> None:
    """What cuts the text, depends on the locale or is not documented is not understood."""
    with pytest.raises(NotUnderstood):
        decode_escapes(body)
