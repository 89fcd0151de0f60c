"""Truncate a tool's output, mask old results in a conversation, find structured data in a program's output. Pure."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal
from unicodedata import category

import orjson

Strategy = Literal["head", "tail", "both"]

_MAX_JOINED = 32  # How many characters the cut may move. So even a text that consists of accents only is cut.
_JOINERS = frozenset({"\u200d", "\ufe0e", "\ufe0f"})  # Zero-width joiner and the two variation selectors.
_OPENINGS = {"}": "{", "]": "["}
_MOST_BLOCKS = 16
"""How many blocks of lines are tried. Each may be as long as the whole text."""
_SKIN_TONES = ("\U0001f3fb", "\U0001f3ff")


def truncate(text: str, limit: int, strategy: Strategy = "head") -> tuple[str, bool]:
    """Cut *text* to *limit* characters, including the notice.

    The cut is never inside a CRLF, between a letter and its accents or inside a joined emoji (flags
    of two letters may be cut), unless more than 32 characters belong together.

    Args:
        text: Any text, already scrubbed.
        limit: In characters (code points), not negative. If the notice would take more than two thirds of
            it, the notice is left out and `both` works like `head`.
        strategy: Which part is kept: the beginning, the end, or half of each.

    Returns:
        The text, the same object if it fits, and whether it was cut.
    """
    if len(text) <= limit:
        return text, False
    # Reserve room for the longest possible number: the actual one is never longer.
    room = limit - len(_notice(len(text), strategy))
    if room * 3 < limit:
        return _cut(text, limit, "tail" if strategy == "tail" else "head"), True
    return _cut(text, room, strategy, noticed=True), True


def _notice(left_out: int, strategy: Strategy) -> str:
    notice = f"[truncated: {left_out} characters left out ({strategy})]"
    before = "" if strategy == "tail" else "\n"
    after = "" if strategy == "head" else "\n"
    return before + notice + after


def _cut(text: str, room: int, strategy: Strategy, *, noticed: bool = False) -> str:
    end = {"head": room, "tail": 0, "both": room - room // 2}[strategy]
    begin = len(text) - (room - end)
    end = _cut_position(text, end, -1)
    begin = _cut_position(text, begin, 1)
    notice = _notice(begin - end, strategy) if noticed else ""
    return text[:end] + notice + text[begin:]


def _cut_position(text: str, index: int, step: int) -> int:
    moved = index
    while 0 < moved < len(text) and _belong_together(text[moved - 1], text[moved]):
        moved += step
        if abs(moved - index) > _MAX_JOINED:
            return index
    return moved


def _belong_together(left: str, right: str) -> bool:
    if right.isascii():
        return left == "\r" and right == "\n"
    return (
        left == "\u200d"
        or right in _JOINERS
        or category(right).startswith("M")
        or _SKIN_TONES[0] <= right <= _SKIN_TONES[1]
        or ("\ud800" <= left <= "\udbff" and "\udc00" <= right <= "\udfff")
    )


def mask_middle(turns: Sequence[Sequence[str]], *, keep_first: int = 1, keep_last: int = 5) -> list[list[str]]:
    """Mask the results of a conversation's middle turns, to keep the host's context small.

    The first results show how the task began, and the last ones its current state. From the results between, the model
    keeps what it wrote about them itself. All results of one turn are masked or kept together.

    Args:
        turns: For each turn of the model, in order, the texts of its calls' results.
        keep_first: How many turns at the beginning stay unmasked.
        keep_last: How many turns at the end stay unmasked. If both are 0, nothing is masked.

    Returns:
        New lists of the same lengths. A masked text says how many characters (code points) it had.

    Raises:
        ValueError: A number is negative.

    Source: duragent, `context/truncation.rs`, observation masking.
    """
    if min(keep_first, keep_last) < 0:
        raise ValueError("keep_first and keep_last are numbers of turns, and cannot be negative.")
    masked = range(keep_first, len(turns) - keep_last) if keep_first or keep_last else ()
    return [list(map(_mask_notice, turn)) if place in masked else list(turn) for place, turn in enumerate(turns)]


def _mask_notice(text: str) -> str:
    return f"[result masked: {len(text)} characters left out]"


def parse_structured(text: str) -> Any:
    """Parse the JSON in a program's standard output.

    Returns:
        The whole text, if it is JSON, scalars included. Otherwise the last object or array that is one line, or that
        spans several lines with its outer brackets alone on the first and the last of them. A line inside such a block
        does not count. Otherwise `{"output": text}`, also for JSON that nests more than 1024 levels deep or contains a
        number that JSON does not have (`NaN`, `Infinity`, `1e999`).

    Source: artificial_mind, `hdn/tools.go`, how a tool's output becomes its result.
    """
    try:
        return orjson.loads(text.strip())
    except orjson.JSONDecodeError:
        return _last_json(text)


def _last_json(text: str) -> Any:
    lines = [line for line in text.split("\n") if line.strip()]
    at, blocks = len(lines) - 1, _MOST_BLOCKS
    while at >= 0:
        candidate, start = lines[at].strip(), at
        if candidate in _OPENINGS:
            opening = lines[at].rstrip()[:-1] + _OPENINGS[candidate]
            start = next((place for place in range(at - 1, -1, -1) if lines[place].rstrip() == opening), -1)
            blocks -= 1
        is_whole = start < at or not _is_inside(lines, at)
        if start < 0 or not blocks:
            break
        if is_whole and (candidate[:1], candidate[-1:]) in {("{", "}"), ("[", "]"), ("}", "}"), ("]", "]")}:
            with suppress(orjson.JSONDecodeError):
                return orjson.loads("\n".join(lines[start : at + 1]))
        at = start - 1
    return {"output": text}


def _is_inside(lines: Sequence[str], at: int) -> bool:
    """Whether a line is part of an object or array that spans several lines."""
    before, after = "".join(lines[at - 1 : at] if at else ()).rstrip(), "".join(lines[at + 1 : at + 2]).lstrip()
    return before.endswith(("[", "{", ",")) or after.startswith(("]", "}"))
