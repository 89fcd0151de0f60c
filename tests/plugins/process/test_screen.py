"""What output becomes: plain text, or a screen."""

import time

import pytest

from toolcharter import TerminalSize
from toolcharter_process.screen import DRAW_S, render_screen, strip_controls


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        pytest.param("one\r\ntwo\r\n", "one\ntwo\n", id="lines of a terminal"),
        pytest.param("\x1b[1;31mred\x1b[0m \x1b[38;5;9mmore", "red more", id="colours"),
        pytest.param("\x1b]0;title\x07text \x1b]8;;http://x\x1b\\link", "text link", id="titles and links"),
        pytest.param("\x1bP1$r0m\x1b\\a\x1b_x\x1b\\b\x1b^y\x1b\\c", "abc", id="strings of devices"),
        pytest.param("10%\r20%\r100%\nend", "100%\nend", id="progress"),
        pytest.param("a\x1b(Bb\x1b7c\x1bMd", "abcd", id="short sequences"),
        pytest.param("a\x07\x08b\x9b\x00c", "abc", id="controls"),
        pytest.param("tab\there", "tab\there", id="tab"),
        pytest.param("cut\x1b[3", "cut", id="cut sequence"),
        pytest.param("cut\x1b]0;tit", "cut", id="cut title"),
        pytest.param("cut\x1b", "cut", id="cut escape"),
        pytest.param("one\x1b]0;never closed\ntwo\n", "one\ntwo\n", id="title that nobody closes"),
    ],
)
def test_steering_is_left_out(printed: str, shown: str) -> None:
    """What remains is what can be read."""
    assert strip_controls(printed) == shown


@pytest.mark.parametrize("piece", ["\x1b", "\x1b[", "\x1b]", "\x1b[1;", "\x1bP\x1b", "\r", "\x1b(", "\x1b[ "])
def test_hostile_output_is_read_in_linear_time(piece: str) -> None:
    """Four times the output takes about four times as long."""
    times = []
    for size in (100_000, 400_000):
        started = time.thread_time()
        strip_controls(piece * (size // len(piece)))
        times.append(time.thread_time() - started)

    assert times[1] < 10 * max(times[0], 0.02)


def test_a_screen_is_drawn() -> None:
    """Lines without blanks at their end, and where the cursor is."""
    picture = render_screen(b"one\r\ntwo  \r\n\x1b[1;5Hx", TerminalSize(5, 10))

    assert picture == (("one x", "two"), 0, 5)


@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param(b"\x1b[" + b"9" * 5000 + b"C", id="a number without end"),
        pytest.param(b"\x1b[99999999L\x1b[99999999M\x1b[99999999@\x1b[99999999P", id="large numbers"),
        pytest.param(b"\x1b[?6c\x1b[>c\x1b[?5n\x1b[!p\x1b[=1u\x1b[?1;2$y", id="questions"),
        pytest.param(b"\x1b]0;" + b"x" * 10_000 + b"\x07", id="a long title"),
        pytest.param(bytes(range(128, 256)), id="no text"),
    ],
)
def test_hostile_output_does_not_hide_the_rest(hostile: bytes) -> None:
    """What cannot be drawn is left out."""
    picture = render_screen(hostile + b"\x1b[2J\x1b[Hstill here", TerminalSize(5, 20))

    assert picture.lines == ("still here",)


def test_only_the_end_of_much_output_is_drawn() -> None:
    """The time it takes has a bound."""
    started = time.thread_time()

    picture = render_screen(b"line\r\n" * 1_000_000 + b"end", TerminalSize(3, 20))

    assert picture.lines == ("line", "line", "end")
    assert time.thread_time() - started < 10


def test_drawing_what_takes_long_is_given_up() -> None:
    """The size is the model's choice and the output a program's: neither keeps the session busy for long."""
    started = time.thread_time()

    drawn = render_screen(b"\x1b#8" * 20_000, TerminalSize(300, 300))

    assert time.thread_time() - started < 10 * DRAW_S
    assert drawn.lines
