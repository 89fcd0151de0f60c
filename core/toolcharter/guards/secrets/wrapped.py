"""Base64 that is wrapped over several lines: find it, join it, and map positions back to the original.

Lines belong together if each of them, except the last, ends in a long run of base64, and no line is longer than the
one before it. So two neighbouring lines suffice to decide whether they are joined, and a stream need not know where
the text began.
"""

import re
from collections.abc import Iterator
from functools import partial

from toolcharter.guards.secrets.patterns import ALPHABET, PLUS, WRAP_LENGTH

Span = tuple[int, int]

_RUN = rb"[A-Za-z0-9+/_-]"
# The text before a line in a quotation, a comment, a numbered listing and in grep's output.
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
_ASSIGNED = re.compile(rb"(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*|[a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?==)")
"""A name that the next line assigns: its `=` is no padding."""
_NAMES = re.compile(rb"\\{0,2}[\"'][ \t]*(?:=[^=]|:)")
"""Behind a string that names what follows, as each member of a plan or a diff does."""
_CONTINUED = re.compile(rb"[\w+/=.-](?:\\|(?:\\{0,2}[\"']|`)[ \t]*%s[ \t]*\\?)\r?\n\Z" % PLUS.encode())
_LONGEST = 4096
"""In bytes: how much of joined lines is read as one line at most."""
_LOOKED_AT = 300
"""In bytes: how much of a line's end, or of the next line's beginning, decides whether they are joined."""


def find_chains(data: bytes) -> Iterator[list[Span]]:
    """Find wrapped base64, and yield each as the spans of its parts, at least two."""
    for found in _CHAIN.finditer(data):
        parts = [part.span(1) for part in _PIECE.finditer(data, *found.span())]
        for chain in map(partial(_without_last_word, data), _split_at_longer_lines(data, parts)):
            if len(chain) > 1:
                yield chain


def _split_at_longer_lines(data: bytes, parts: list[Span]) -> Iterator[list[Span]]:
    """Split *parts* where a line is longer than the one before. The first may be shorter, because of text before it."""
    chain = parts[:1]
    for part in parts[1:]:
        start, stop = chain[-1]
        if part[1] - part[0] > stop - start and not (len(chain) == 1 and _follows_text(data, start)):
            yield chain
            chain = []
        chain.append(part)
    yield chain


def _without_last_word(data: bytes, chain: list[Span]) -> list[Span]:
    """*chain* without a last line that is an ordinary word or assigns a name, and without the `+` or `-` before each line of a diff."""
    start, stop = chain[-1]
    is_word = data[stop : stop + 1] != b"=" and _WORD.fullmatch(data, start, stop)
    name = _ASSIGNED.match(data, start)
    if is_word or (name and name.end() == stop) or _NAMES.match(data, stop):
        chain = chain[:-1]
    signs = {data[start] for start, _ in chain}
    return [(start + 1, stop) for start, stop in chain] if signs in ({0x2B}, {0x2D}) else chain


def _follows_text(data: bytes, start: int) -> bool:
    line = data[max(data.rfind(b"\n", 0, start) + 1, start - _LOOKED_AT) : start]
    return bool(line.strip(_BEFORE))


def join_chain(data: bytes, chain: list[Span]) -> bytes:
    """Join the parts of *chain*."""
    return b"".join([data[start:stop] for start, stop in chain])


def map_span(chain: list[Span], span: Span) -> Span:
    """Map a span of the joined text back to the original."""
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


def continues_on_next_line(data: bytes, end: int) -> bool:
    """Whether the line of *data* that ends at *end* shows that a word continues on the next line."""
    return _CONTINUED.search(data, max(0, end - _LOOKED_AT), end) is not None


def start_of_joined(data: bytes, end: int) -> int:
    """The beginning of the line that ends at *end*, or of the first of the lines that are joined with it."""
    begin = data.rfind(b"\n", 0, end - 1) + 1
    while begin and end - begin < _LONGEST and continues_on_next_line(data, begin):
        begin = data.rfind(b"\n", 0, begin - 1) + 1
    return begin


def may_continue(data: bytes, end: int) -> bool:
    """Whether the line of *data* that ends at *end* may continue on the next line."""
    if continues_on_next_line(data, end):
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
