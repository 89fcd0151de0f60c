"""Scrub a text that arrives in pieces. The result is the same as for the whole text, wherever the pieces end.

A line is released when no later text can belong to it: a key may wait for its value, a block for its end. A line that
grows too long is cut between two words that belong to no common match. A single word or a block that grows too long
cannot be judged, and is masked up to its end.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache

from toolcharter.guards.secrets import engine, key_lines, lines, wrapped
from toolcharter.guards.secrets.columns import open_table_head
from toolcharter.guards.secrets.extract import FAR, UnfinishedBlocks
from toolcharter.guards.secrets.obfuscation import strip_obfuscation
from toolcharter.guards.secrets.patterns import Family
from toolcharter.guards.secrets.places import KEY_NAME, OPENVPN_LOGIN
from toolcharter.guards.secrets.spans import find_matches
from toolcharter.guards.secrets.text import MASK, scrub_bytes

MAX_HELD = 16 << 20
"""How many bytes are held back at most until they can be judged."""

_LAST_OF_LINE = 400
"""In bytes: how much of a line's end is examined. No key has a longer name."""
# Matched against the end of the last line, whose beginning may be cut off.
_WAITS = (
    r"(?:[:=|>{,\[(][\"'`]?[+-]?|^[ \t]*-[ \t][^\r\n]*|" + KEY_NAME.removesuffix("$") + r"[^A-Za-z0-9\n-]{0,12}"
    r"|\b(?i:into)[ \t]+[^\s(]+[ \t]*\([^()\r\n]*\)|\b(?i:values)"
    r"|\b(?:type|description|sensitive|nullable|ephemeral)[ \t]*=[^\r\n]*"
    r"|\blogin[ \t]+\S+|,[ \t]*|^[ \t]*\"[^\"\r\n]*\")[ \t]*(?:\x1b\[[0-9;]{0,12}m)?\r?\n\z"
)
_OPENVPN_LOGIN_END = re.compile(OPENVPN_LOGIN.encode() + rb"\Z")
_WORD_END = re.compile(rb"\s")
_BLOCK_END = re.compile(rb"-----END[ A-Z0-9_]{0,60}-----\n?")
_BLOCK_END_LENGTH = 80


@cache
def _waiting_line_tester() -> Callable[[bytes], bool]:
    return engine.tester(rf"(?:{_WAITS})|(?:{engine.cut_token_pattern()})\z")


def _open_table_of(text: bytes) -> bytes:
    bare = strip_obfuscation(text)
    return lines.open_table(text) or lines.open_table(bare) or open_table_head(text) or open_table_head(bare)


class Stream:
    """One text that arrives in pieces."""

    def __init__(self, max_held: int = MAX_HELD, far: int = FAR) -> None:
        """Begin a text.

        Args:
            max_held: How many bytes to hold back at most.
            far: How many bytes the parts of one match may lie apart.
        """
        self._max, self._far = max_held, far
        self._held = b""
        self._known = 0
        """The end of the held lines that are known to wait, so that they are not examined again with each piece."""
        self._table = b""
        """The head and the last row of the table in which the released text ends; empty if it ends in no table."""
        self._open_values = lines.OpenValueSearch()
        self._masked_until: re.Pattern[bytes] | None = None
        """Matches the end of a part that is masked without being examined; None outside such a part."""

    def feed(self, data: bytes) -> bytes:
        """Take the next piece, and return, scrubbed, the text that later pieces can no longer change."""
        self._held += data
        return b"".join(self._release_ready(may_end=b"\n" in data))

    def finish(self) -> bytes:
        """End the text, and return the rest of it, scrubbed."""
        rest = b"" if self._masked_until else self._scrub(self._held)
        self._held, self._table, self._known, self._masked_until = b"", b"", 0, None
        return rest

    def _release_ready(self, *, may_end: bool) -> Iterator[bytes]:
        if self._masked_until and not self._skip_masked(self._masked_until):
            return
        if may_end:
            yield self._release(self._end_of_closed_lines())
        while len(self._held) > self._max and self._masked_until is None:
            self._known = 0
            cut = self._last_gap_between_words()
            yield self._release(cut) if cut else self._mask_unfinished()

    def _release(self, cut: int) -> bytes:
        if not cut:
            return b""
        done, self._held = self._held[:cut], self._held[cut:]
        self._open_values.reset()
        return self._scrub(done)

    def _scrub(self, done: bytes) -> bytes:
        """Scrub *done* as a continuation of the released text, since a table's head says what its columns contain."""
        text = self._table + done
        families = engine.hinted_families(text)
        if not families:
            return done
        before = scrub_bytes(self._table)[0]
        masked = scrub_bytes(text)[0]
        if not masked.startswith(before):
            masked, before = scrub_bytes(done)[0], b""
        self._table = _open_table_of(text) if {Family.TABLE, Family.COLUMNS}.intersection(families) else b""
        return masked[len(before) :]

    def _end_of_closed_lines(self) -> int:
        """The end of the last line that does not wait for later text."""
        end = last = self._held.rfind(b"\n") + 1
        blocks = UnfinishedBlocks(self._held)
        while end > self._known and (begin := self._start_of_waiting(end, blocks)) is not None:
            end = begin
        cut = end if end > self._known else 0
        self._known = last - cut
        return cut

    def _start_of_waiting(self, end: int, blocks: UnfinishedBlocks) -> int | None:
        """The beginning of the line or block that ends at *end* and waits for later text; None if it does not wait."""
        begin = self._held.rfind(b"\n", 0, end - 1) + 1
        if wrapped.may_continue(self._held, end):  # The first check is the cheapest, and there may be many such lines.
            return begin
        if key_lines.needs_more_lines(self._held, end):
            return begin
        block = blocks.open_block_at(end)
        if block is not None:
            return self._held.rfind(b"\n", 0, block) + 1
        joined = wrapped.start_of_joined(self._held, end)
        last = self._held[max(joined, end - _LAST_OF_LINE) : end]
        # With and without veils: colours may come between a key and the end of its line.
        if any(
            map(_waiting_line_tester(), dict.fromkeys((last, strip_obfuscation(last))))
        ) or self._open_values.may_continue(self._held, end):
            return begin
        # The name in OpenVPN's login: the password is on the line below it.
        above = [self._held[max(0, place - _LAST_OF_LINE) : place] for place in {begin, joined}]
        return begin if any(map(_OPENVPN_LOGIN_END.search, (*above, *map(strip_obfuscation, above)))) else None

    def _last_gap_between_words(self) -> int:
        """The last position between two words, `far` bytes before the end or more, that no match spans; 0 if none."""
        if UnfinishedBlocks(self._held).open_block_at(len(self._held)) is not None:
            return 0
        limit = len(self._held) - self._far
        for start, end in sorted(find_matches(self._held), reverse=True):
            if start < limit <= end:
                limit = start
        ends = [match.end() for match in _WORD_END.finditer(self._held, max(0, limit - self._far), limit)]
        return ends[-1] if ends else 0

    def _mask_unfinished(self) -> bytes:
        """Give up on the held text: mask the word or block from its beginning to its end."""
        block = UnfinishedBlocks(self._held).open_block_at(len(self._held))
        begin = block if block is not None else 0
        self._masked_until = _WORD_END if block is None else _BLOCK_END
        before = scrub_bytes(self._held[:begin])[0]
        self._held = self._held[-_BLOCK_END_LENGTH:]
        self._skip_masked(self._masked_until)
        return before + MASK.encode()

    def _skip_masked(self, until: "re.Pattern[bytes]") -> bool:
        """Drop the masked part of the held text, and return whether its end was reached."""
        end = until.search(self._held)
        if end is None:
            self._held = self._held[-_BLOCK_END_LENGTH:]
            return False
        self._held = self._held[end.start() if until is _WORD_END else end.end() :]
        self._masked_until = None
        return True
