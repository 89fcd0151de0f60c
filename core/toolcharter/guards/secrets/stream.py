"""Scrub what arrives in pieces: wherever the pieces end, the outcome is that of the whole text.

A line is let go once nothing that can still come may belong to it: a key may wait for its value, a block for its end.
A line that grows too long is cut between two words that no match holds together. A single word, or a block, that
grows too long is masked to its end: what cannot be judged is not let through.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache

from toolcharter.guards.secrets import engine, key_lines, lines, wrapped
from toolcharter.guards.secrets.extract import FAR, Blocks
from toolcharter.guards.secrets.obfuscation import bare_of
from toolcharter.guards.secrets.patterns import KEY_NAME, Family
from toolcharter.guards.secrets.places import OPENVPN_LOGIN
from toolcharter.guards.secrets.spans import find_matches
from toolcharter.guards.secrets.text import MASK, scrub_bytes

MAX_HELD = 16 << 20
"""How much is held back at most, in bytes, until it is known what it is."""

_LAST_OF_LINE = 400
"""In bytes: so far back a line is looked at; longer names of keys there are none."""
# In the last line that is looked at, which may be cut off at its beginning.
_WAITS = (
    r"(?:[:=|>{,\[(][\"'`]?[+-]?|^[ \t]*-[ \t][^\r\n]*|" + KEY_NAME.removesuffix("$") + r"[^A-Za-z0-9\n-]{0,12}"
    r"|\b(?:type|description|sensitive|nullable|ephemeral)[ \t]*=[^\r\n]*"
    r"|\blogin[ \t]+\S+|,[ \t]*|^[ \t]*\"[^\"\r\n]*\")[ \t]*(?:\x1b\[[0-9;]{0,12}m)?\r?\n\z"
)
_ABOVE = re.compile(OPENVPN_LOGIN.encode() + rb"\Z")
_WORD_END = re.compile(rb"\s")
_BLOCK_END = re.compile(rb"-----END[ A-Z0-9_]{0,60}-----\n?")
_BLOCK_END_LENGTH = 80


@cache
def _waits() -> Callable[[bytes], bool]:
    return engine.tester(rf"(?:{_WAITS})|(?:{engine.cut_token_pattern()})\z")


def _table_of(text: bytes) -> bytes:
    return lines.open_table(text) or lines.open_table(bare_of(text))


class Stream:
    """One text that arrives in pieces."""

    def __init__(self, max_held: int = MAX_HELD, far: int = FAR) -> None:
        """Begin.

        Args:
            max_held: How much to hold back at most, in bytes.
            far: How far the parts of one match may lie apart, in bytes.
        """
        self._max, self._far = max_held, far
        self._held = b""
        self._known = 0
        """How far all lines wait that are held: they are not asked again with each piece."""
        self._table = b""
        """What is known of the table in which the text already passed on ends."""
        self._upwards = lines.Upwards()
        self._until: re.Pattern[bytes] | None = None
        """Ends what is masked without being looked at."""

    def feed(self, data: bytes) -> bytes:
        """Take the next piece; returns, scrubbed, what later pieces can no longer change."""
        self._held += data
        return b"".join(self._ready(may_end=b"\n" in data))

    def finish(self) -> bytes:
        """The rest."""
        rest = b"" if self._until else self._scrubbed(self._held)
        self._held, self._table, self._known, self._until = b"", b"", 0, None
        return rest

    def _ready(self, *, may_end: bool) -> Iterator[bytes]:
        if self._until and not self._skipped(self._until):
            return
        if may_end:
            yield self._let_go(self._closed())
        while len(self._held) > self._max and self._until is None:
            self._known = 0
            cut = self._between_words()
            yield self._let_go(cut) if cut else self._mask()

    def _let_go(self, cut: int) -> bytes:
        if not cut:
            return b""
        done, self._held = self._held[:cut], self._held[cut:]
        self._upwards.forget()
        return self._scrubbed(done)

    def _scrubbed(self, done: bytes) -> bytes:
        """*done* as it is after the text already passed on: a table's head says what its rows are."""
        text = self._table + done
        families = engine.hinted(text)
        if not families:
            return done
        before = scrub_bytes(self._table)[0]
        masked = scrub_bytes(text)[0]
        if not masked.startswith(before):
            masked, before = scrub_bytes(done)[0], b""
        self._table = _table_of(text) if Family.TABLE in families else b""
        return masked[len(before) :]

    def _closed(self) -> int:
        """Where the last line ends that waits for nothing."""
        end = last = self._held.rfind(b"\n") + 1
        blocks = Blocks(self._held)
        while end > self._known and (begin := self._waiting(end, blocks)) is not None:
            end = begin
        cut = end if end > self._known else 0
        self._known = last - cut
        return cut

    def _waiting(self, end: int, blocks: Blocks) -> int | None:
        """Where the line begins that waits, if one before *end* does."""
        begin = self._held.rfind(b"\n", 0, end - 1) + 1
        if wrapped.goes_on(self._held, end):  # The first to be asked: the cheapest, and there may be many such lines.
            return begin
        if key_lines.belongs(self._held, end):
            return begin
        block = blocks.open_at(end)
        if block is not None:
            return self._held.rfind(b"\n", 0, block) + 1
        joined = wrapped.start_of(self._held, end)
        last = self._held[max(joined, end - _LAST_OF_LINE) : end]
        # As it is, and as it is read: colours may come between a key and the end of its line.
        if any(map(_waits(), dict.fromkeys((last, bare_of(last))))) or self._upwards.goes_on(self._held, end):
            return begin
        # A name, and the password below it.
        above = [self._held[max(0, place - _LAST_OF_LINE) : place] for place in {begin, joined}]
        return begin if any(map(_ABOVE.search, (*above, *map(bare_of, above)))) else None

    def _between_words(self) -> int:
        """The last place between two words behind which everything that may belong together is at hand; 0 if none."""
        if Blocks(self._held).open_at(len(self._held)) is not None:
            return 0
        limit = len(self._held) - self._far
        for start, end in sorted(find_matches(self._held), reverse=True):
            if start < limit <= end:
                limit = start
        ends = [match.end() for match in _WORD_END.finditer(self._held, max(0, limit - self._far), limit)]
        return ends[-1] if ends else 0

    def _mask(self) -> bytes:
        """Give up on what is held: from where the word or block begins it is masked, to its end."""
        block = Blocks(self._held).open_at(len(self._held))
        begin = block if block is not None else 0
        self._until = _WORD_END if block is None else _BLOCK_END
        before = scrub_bytes(self._held[:begin])[0]
        self._held = self._held[-_BLOCK_END_LENGTH:]
        self._skipped(self._until)
        return before + MASK.encode()

    def _skipped(self, until: "re.Pattern[bytes]") -> bool:
        """Drop what is masked; whether it is over."""
        end = until.search(self._held)
        if end is None:
            self._held = self._held[-_BLOCK_END_LENGTH:]
            return False
        self._held = self._held[end.start() if until is _WORD_END else end.end() :]
        self._until = None
        return True
