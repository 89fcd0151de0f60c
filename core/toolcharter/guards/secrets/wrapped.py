"""Base64 that was broken over lines: found, put together again, and the way back.

Lines belong together if each but the last is one long run of base64 up to its end, and none is longer than the one
before it. So two neighbours alone decide whether they are joined: a stream need not know where the text began.
"""

import re
from collections.abc import Iterator
from functools import partial

from toolcharter.guards.secrets.patterns import ALPHABET, PLUS, WRAP_LENGTH

Span = tuple[int, int]

_RUN = rb"[A-Za-z0-9+/_-]"
# The text before a line in a quotation, a comment, a numbered listing, and in what grep finds.
_PREFIX = rb"(?:[>|#*+-][ \t]+|//[ \t]+|[>|#*]|[0-9]+[ \t:][ \t]*|[\w/-]{0,60}\.\w{1,5}[:-][0-9]+[:-])?"
_JOINT = rb"(?:[\"'][ \t]*[+,.]?[ \t]*)?\\?(?:\r?\n|\\{1,4}r\\{1,4}n|\\{1,4}[nr])[ \t]*(?:[+.][ \t]*)?"
_GAP = _JOINT + _PREFIX + rb"[ \t]*[\"']?"
_CLOSED = rb"={0,2}[ \t]*(?:[\r\n\"'`<,;)}\]\\]|\Z)"
_CHAIN = re.compile(
    rb"(?<![A-Za-z0-9+/_-])(?:"
    + (_RUN + rb"{%d,}+" % WRAP_LENGTH + _GAP + rb")+" + _RUN + rb"{2,}+={0,2}(?=" + _CLOSED + rb")")
)
_PIECE = re.compile(rb"(" + _RUN + rb"{2,}+)(?:" + _GAP + rb")?")
_NEXT = re.compile(_PREFIX + rb"[ \t]*[\"']?(" + _RUN + rb"*+)" + _CLOSED)
_CLOSING = b"\"'+,.\\ \t\r\n"
_BEFORE = b" \t\"'>|#*+-:/0123456789"
_WORD = re.compile(rb"[A-Z]?[a-z_-]{2,}")
_JOINED = re.compile(rb"[\w+/=.-](?:\\|(?:\\{0,2}[\"']|`)[ \t]*%s[ \t]*\\?)\r?\n\Z" % PLUS.encode())
_LONGEST = 4096
"""In bytes: of lines that go on in one another no more are read as one."""
_LOOKED_AT = 300
"""In bytes: so much of a line's end, or of the next one's beginning, decides whether they are joined."""


def chains(data: bytes) -> Iterator[list[Span]]:
    """What was broken over lines, each as the spans of its parts, two at least."""
    for found in _CHAIN.finditer(data):
        parts = [part.span(1) for part in _PIECE.finditer(data, *found.span())]
        for chain in map(partial(_lines_of, data), _split(data, parts)):
            if len(chain) > 1:
                yield chain


def _split(data: bytes, parts: list[Span]) -> Iterator[list[Span]]:
    """Start anew where a line is longer than the one before; text before the first may have made it shorter."""
    chain = parts[:1]
    for part in parts[1:]:
        start, stop = chain[-1]
        if part[1] - part[0] > stop - start and not (len(chain) == 1 and _stands_behind_text(data, start)):
            yield chain
            chain = []
        chain.append(part)
    yield chain


def _lines_of(data: bytes, chain: list[Span]) -> list[Span]:
    """*chain* without a last line that is a word of its own, and without the sign before each line in a diff."""
    start, stop = chain[-1]
    if data[stop : stop + 1] != b"=" and _WORD.fullmatch(data, start, stop):
        chain = chain[:-1]
    signs = {data[start] for start, _ in chain}
    return [(start + 1, stop) for start, stop in chain] if signs in ({0x2B}, {0x2D}) else chain


def _stands_behind_text(data: bytes, start: int) -> bool:
    line = data[max(data.rfind(b"\n", 0, start) + 1, start - _LOOKED_AT) : start]
    return bool(line.strip(_BEFORE))


def joined(data: bytes, chain: list[Span]) -> bytes:
    """The parts of *chain* put together."""
    return b"".join([data[start:stop] for start, stop in chain])


def place(chain: list[Span], span: Span) -> Span:
    """Where a span of what was joined lies."""
    offset = 0
    begin = end = -1
    for start, stop in chain:
        length = stop - start
        if begin < 0 and span[0] < offset + length:
            begin = start + span[0] - offset
        if end < 0 and span[1] <= offset + length:
            end = start + span[1] - offset
        offset += length
    return begin, end


def is_joined(data: bytes, end: int) -> bool:
    """Whether the line of *data* that ends at *end* says that a word goes on in the next."""
    return _JOINED.search(data, max(0, end - _LOOKED_AT), end) is not None


def start_of(data: bytes, end: int) -> int:
    """Where what is read as one line begins, if it ends at *end*: perhaps some lines above, which go on in one another."""
    begin = data.rfind(b"\n", 0, end - 1) + 1
    while begin and end - begin < _LONGEST and is_joined(data, begin):
        begin = data.rfind(b"\n", 0, begin - 1) + 1
    return begin


def goes_on(data: bytes, end: int) -> bool:
    """Whether the line of *data* that ends at *end* may belong together with what follows."""
    if is_joined(data, end):
        return True
    begin = data.rfind(b"\n", 0, end - 1) + 1
    body = data[begin:end].rstrip(_CLOSING)
    head = body.rstrip(ALPHABET)
    length = len(body) - len(head)
    if length < WRAP_LENGTH:
        return False
    stop = data.find(b"\n", end, end + _LOOKED_AT)
    if stop < 0:
        return True
    following = _NEXT.match(data, end + len(data[end:stop]) - len(data[end:stop].lstrip(b" \t")))
    return following is not None and (len(following[1]) <= length or bool(head.strip(_BEFORE)))
