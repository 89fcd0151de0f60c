"""Renders a program's output as a terminal would show it."""

import re
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

from toolcharter import TerminalSize

REPLAYED_BYTES = 65_536
"""How many bytes at the end of a log `capture` draws: a full-screen program redraws the screen much more often."""

DRAW_S = 2.0
"""How long drawing may take, in seconds; then the rest of the output is left out."""
_PIECE_BYTES = 512

# Each class ends where the next begins, so that a failed match is not tried again further on. Source: ECMA-48, 5.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*(?:[@-~]|\Z)"  # CSI
    r"|\x1b[]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\|(?=[\x1b\n])|\Z)"  # OSC, DCS, SOS, PM, APC and their text
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def strip_controls(text: str) -> str:
    """Return *text* without control sequences. Of a line that was overwritten (CR), the last version is kept."""
    text = _ESCAPES.sub("", text)
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROLS.sub("", "\n".join(lines))


class ScreenContents(NamedTuple):
    """The contents of a screen."""

    lines: tuple[str, ...]
    """The lines, without trailing blanks and without empty lines at the bottom."""
    row: int
    """The cursor's row, counted from 0; so is its column."""
    column: int


def render_screen(output: bytes, size: TerminalSize) -> ScreenContents:
    """Return the screen of a terminal of *size* after *output*."""
    pyte: Any = import_module("pyte")  # on first use: only `capture` draws
    screen = pyte.Screen(size.columns, size.rows)
    stream = pyte.ByteStream(screen)
    # Piece by piece: a sequence that pyte fails on is left out, and the rest is still drawn.
    give_up = time.monotonic() + DRAW_S
    for piece in _pieces(output[-REPLAYED_BYTES:]):
        if time.monotonic() > give_up:  # some output would take hours to draw
            break
        try:
            stream.feed(piece)
        except Exception:  # noqa: BLE001 - a program may print anything
            stream = pyte.ByteStream(screen)
    lines = [line.rstrip() for line in screen.display]
    while lines and not lines[-1]:
        lines.pop()
    return ScreenContents(tuple(lines), screen.cursor.y, screen.cursor.x)


def _pieces(output: bytes) -> Iterator[bytes]:
    """Split *output* before each escape, and further into short pieces: the deadline is checked between pieces."""
    for piece in re.split(rb"(?=\x1b)", output):
        for start in range(0, len(piece), _PIECE_BYTES):
            yield piece[start : start + _PIECE_BYTES]
