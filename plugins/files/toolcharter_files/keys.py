"""Mask the lines of private keys by the whole file: the scrubber cannot recognise a single line of a key."""

import re
from collections.abc import Iterable

MASK = "[REDACTED]"
"""The scrubber's mask."""
_BEGIN_LINE = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END_LINE = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BODY_LINE = re.compile(r"[A-Za-z0-9+/=]+|[A-Za-z-]{1,40}:.*|")


class KeyLines:
    """Reads the lines of one text in order and says which of them are in the body of a private key."""

    def __init__(self) -> None:
        self._is_inside = False

    def feed(self, line: str) -> bool:
        """Read the next line; return whether it is inside a key, between the `BEGIN` and the `END` line."""
        was_inside = self._is_inside
        text = line.strip()
        if _BEGIN_LINE.search(text):
            self._is_inside = _END_LINE.search(text) is None
            return False
        if _END_LINE.search(text) or (was_inside and not _BODY_LINE.fullmatch(text)):
            self._is_inside = False
        return was_inside and self._is_inside


def mask_keys(lines: Iterable[str]) -> list[str]:
    """Return *lines* with a mask for each line inside a private key."""
    keys = KeyLines()
    return [MASK if keys.feed(line) and line.strip() else line for line in lines]


def mask_rest_of_key(above: Iterable[str], text: str) -> str:
    """Return *text* with a mask for the lines of a private key that begins in the lines *above* it."""
    keys = KeyLines()
    for line in above:
        keys.feed(line)
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not keys.feed(line):
            break
        lines[number] = MASK if line.strip() else line
    return "\n".join(lines)
