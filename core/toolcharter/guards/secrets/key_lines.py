"""Find lines of a private key without its first line: in the middle of a file, in a part of a diff, beside a match.

A line in the middle of a key is 48 random bytes, which could be anything. Therefore a run of lines counts: three or
more random lines, each as wide as programs write keys (64 letters by RFC 7468, section 2; 70 by OpenSSH), without signs
of public content in it or around it: the first or last line of another block, the head of a mail's part, the marks of a
certificate or of a file. Before the last line of a key, one line suffices.
"""

import re
from binascii import a2b_base64
from collections.abc import Iterator

from toolcharter.guards.secrets.patterns import BLOCK_NAME

Span = tuple[int, int]

_PREFIX = rb"[ \t]*(?:[-+>|#*]|//|[0-9]{1,7}[ \t:-]|[\w./-]{1,200}[:-][0-9]{1,7}[:-]|\^?[0-9a-f]{7,40}[ ][^()\n]{0,80}\([^()\n]{1,120}\))?[ \t]*[\"']?"
_END = rb"(?:\\{1,2}n)?[\"',+\\ \t]*(?:\r?\n|\Z)"
# Without lines of 64 hexadecimal digits, which are SHA-256 hashes.
_FULL = _PREFIX + rb"(?![0-9A-Fa-f]{64})(?:[A-Za-z0-9+/]{70}|[A-Za-z0-9+/]{64})" + _END
_LAST = _PREFIX + rb"[A-Za-z0-9+/]{1,69}={0,2}" + _END
_FOOTER = _PREFIX + rb"-{4,5}[ ]?END[ A-Za-z0-9_]{0,80}-{4,5}"
_PRIVATE = re.compile(rb"END%s[ ]?-" % BLOCK_NAME.encode())
_RUN = re.compile(
    rb"(?m)^(?:(?P<full>(?:%s)++)(?P<last>%s)?+(?P<foot>%s)?+|(?P<only>%s)(?P<end>%s))"
    % (_FULL, _LAST, _FOOTER, _LAST, _FOOTER)
)
_FULL_LINE = re.compile(_FULL)
_FIRST = re.compile(_PREFIX)
_BEHIND = b"\"',+\\ \t\r\n"
_LAST_LINE = re.compile(_LAST)
_FOOTER_LINE = re.compile(_FOOTER)
_WORD = re.compile(rb"([A-Za-z0-9+/]{16,}={0,2})" + _END)
_OPENED = re.compile(
    rb"(?:-{4,5}[ ]?BEGIN[^\r\n]{1,80}-{4,5}[ \t]*\r?\n(?:[^\r\n]{0,100}: ?[^\r\n]{0,200}\r?\n|[ \t]*\r?\n){0,6}"
    rb"|(?i:content-transfer-encoding):[^\r\n]{1,80}\r?\n(?:[A-Za-z][^\r\n]{0,200}\r?\n|[ \t]*\r?\n){0,6})\Z"
)
_LOOKED_BACK = 2_000
"""In bytes: how far above a run the first line of a block is searched for."""
_LOOKED_AHEAD = 300
_FEWEST = 3
"""In lines."""
_FEWEST_KINDS_OF_LETTERS = 8
"""How many different letters the only line above the last line of a key must have."""
_MOST_READABLE = 0.6
"""The largest share of printable characters. Of random bytes, 0.37 are printable."""
_READABLE = frozenset(range(0x20, 0x7F))
_FEWEST_KINDS = 0.75
"""The least number of different bytes, as a share of those that random bytes of this length would have."""
# Names, extensions, signature algorithms, times, URLs: certificates, requests and signatures contain them, keys do not.
_LETTERS = re.compile(rb"([A-Za-z0-9+/]+)={0,2}(?:\\{1,2}n)?[\"',+\\ \t]*\Z")
_MIXED = re.compile(rb"(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?=[^0-9]*[0-9])")
_PUBLIC = re.compile(
    rb"\x06\x03\x55[\x04\x1d]|\x2a\x86\x48\x86\xf7\x0d\x01(?:\x01[\x05\x0b-\x0d]|\x07)|[\x17\x18].\d{12}|https?://"
)
_FILE = re.compile(
    rb"\x89PNG|\xff\xd8\xff|GIF8|PK[\x03\x05]|\x1f\x8b|%PDF|RIFF|wOF[F2]|BZh|\xfd7zXZ|7z\xbc|OggS|ID3|\0asm|\x7fELF|\0\0\x01\0|\x30(?:\x82..|\x81.|[\x20-\x7f])\x30|OTTO|\0\x01\0\0",
    re.DOTALL,
)


def key_lines(data: bytes) -> Iterator[Span]:
    """Find the spans of *data* that are lines of private keys without their first line."""
    for run in _RUN.finditer(data):
        footer = run["foot"] or run["end"]
        if footer is not None and _PRIVATE.search(footer):
            word = _WORD.search(run["only"] or b"")
            if run["full"] or (word and len(set(word[1])) >= _FEWEST_KINDS_OF_LETTERS):
                yield _start_of(data, run), run.end()
        elif footer is None and run["full"] and _is_key(data, run):
            yield _start_of(data, run), run.start() + len(run[0].rstrip(_BEHIND))


def needs_more_lines(data: bytes, end: int) -> bool:
    """Whether the line of *data* that ends at *end* cannot be judged without the following or preceding lines."""
    begin = data.rfind(b"\n", 0, end - 1) + 1
    if _OPENED.search(data, max(0, end - _LOOKED_BACK), end):
        return True
    if end - begin > _LOOKED_AHEAD:
        return False
    is_full = _FULL_LINE.fullmatch(data, begin, end) is not None
    if not is_full and not _follows_full(data, begin, end):
        return False
    stop = data.find(b"\n", end, end + _LOOKED_AHEAD)
    if stop < 0:
        return len(data) - end < _LOOKED_AHEAD
    following = [_FOOTER_LINE, *([_FULL_LINE, _LAST_LINE] if is_full else [])]
    return any(pattern.match(data, end, stop + 1) for pattern in following)


def _start_of(data: bytes, run: "re.Match[bytes]") -> int:
    first = _FIRST.match(data, run.start())
    return first.end() if first else run.start()


def _follows_full(data: bytes, begin: int, end: int) -> bool:
    above = data.rfind(b"\n", 0, begin - 1) + 1
    return (
        0 < begin - above <= _LOOKED_AHEAD
        and _LAST_LINE.fullmatch(data, begin, end) is not None
        and _FULL_LINE.fullmatch(data, above, begin) is not None
    )


def _is_key(data: bytes, run: "re.Match[bytes]") -> bool:
    lines = _base64_lines(run[0])
    if len(lines) < _FEWEST or _OPENED.search(data, max(0, run.start() - _LOOKED_BACK), run.start()):
        return False
    text = b"".join(lines)
    whole = text[: len(text) - len(text) % 4]
    content = a2b_base64(whole)
    return _is_random(text, content) and not (_PUBLIC.search(content) or _FILE.match(content))


def _base64_lines(text: bytes) -> list[bytes]:
    """The base64 in each line, without padding."""
    found = map(_LETTERS.search, text.splitlines())
    return [_without_sign(word[1]) for word in found if word]


def _without_sign(word: bytes) -> bytes:
    """*word* without the `+` of a diff, which is also a letter of base64 and makes the line one letter too wide."""
    return word[1:] if word[:1] == b"+" and len(word) % 2 else word


def _is_random(text: bytes, content: bytes) -> bool:
    if not _MIXED.match(text):
        return False
    readable = sum(byte in _READABLE for byte in content)
    kinds = 256 * (1 - (255 / 256) ** len(content))
    return readable < _MOST_READABLE * len(content) and len(set(content)) >= _FEWEST_KINDS * kinds
