"""What a terminal would show of what a program has printed."""

import re
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

from toolcharter import TerminalSize

REPLAYED_BYTES = 65_536
"""How much of the end of a log `capture` draws: a program that uses the whole screen draws it anew much sooner."""

DRAW_S = 2.0
"""How long drawing may take, in seconds; the screen is then what it was by that time."""
_PIECE_BYTES = 512

# Each class ends where the next begins, so that a failed match is not tried again further on. Source: ECMA-48, 5.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*(?:[@-~]|\Z)"  # CSI
    r"|\x1b[]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\|(?=[\x1b\n])|\Z)"  # OSC, DCS, SOS, PM, APC and their text
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain(text: str) -> str:
    """*text* without what steers a terminal; of a line that was overwritten (CR), what it was at last."""
    text = _ESCAPES.sub("", text)
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROLS.sub("", "\n".join(lines))


class Picture(NamedTuple):
    """A screen."""

    lines: tuple[str, ...]
    """Without blanks at the end of each, and without empty ones at the bottom."""
    row: int
    """Of the cursor, from 0."""
    column: int


def draw(output: bytes, size: TerminalSize) -> Picture:
    """The screen of a terminal of *size* after *output*."""
    pyte: Any = import_module("pyte")  # on first use: only `capture` draws
    screen = pyte.Screen(size.columns, size.rows)
    stream = pyte.ByteStream(screen)
    # Piece by piece: a sequence that pyte stumbles over is left out, and the rest still drawn.
    give_up = time.monotonic() + DRAW_S
    for piece in _pieces(output[-REPLAYED_BYTES:]):
        if time.monotonic() > give_up:  # a program may print what takes hours to draw
            break
        try:
            stream.feed(piece)
        except Exception:  # noqa: BLE001 - a program may print anything
            stream = pyte.ByteStream(screen)
    lines = [line.rstrip() for line in screen.display]
    while lines and not lines[-1]:
        lines.pop()
    return Picture(tuple(lines), screen.cursor.y, screen.cursor.x)


def _pieces(output: bytes) -> Iterator[bytes]:
    """*output*, cut before each escape, and where a piece would be long: between two of them the clock is looked at."""
    for piece in re.split(rb"(?=\x1b)", output):
        for start in range(0, len(piece), _PIECE_BYTES):
            yield piece[start : start + _PIECE_BYTES]
