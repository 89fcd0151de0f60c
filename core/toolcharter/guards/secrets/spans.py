"""Find the spans of the secrets in some bytes: collect the matches of each family, check them and merge the spans."""

from binascii import a2b_base64
from collections.abc import Callable, Iterable, Iterator, Sequence

from toolcharter.guards.secrets import engine, extract, lines, wrapped
from toolcharter.guards.secrets.columns import column_secrets
from toolcharter.guards.secrets.engine import Span
from toolcharter.guards.secrets.heuristics import is_strong
from toolcharter.guards.secrets.key_lines import key_lines
from toolcharter.guards.secrets.obfuscation import deobfuscate, strip_obfuscation
from toolcharter.guards.secrets.patterns import Family

_LONGEST_CACHED = 512
"""In bytes: the verdict on a longer match is not cached."""
_MOST_CACHED = 4096
_WRAPPED_AT = 60
"""In letters: a complete token continues on the next line only if its line is so long that it may have been wrapped."""
_LONGEST_KEY = 200
_DIGEST = engine.expression(rb"\bsha(?:256|384|512)[=-][A-Za-z0-9+/_-]{0,90}\Z")
"""The beginning of a file's hash, as in lists of packages, before a part of it that looks like a token."""
_BASE64_RUN = engine.expression(rb"[A-Za-z0-9+/_-]{16,}={0,2}")
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")
_WRAPPED = frozenset({Family.OBFUSCATED, Family.ENCODED, Family.WRAPPED})

Extractor = Callable[[bytes], Sequence[Span]]


def find_spans(data: bytes, families: Iterable[int]) -> list[Span]:
    """Return the spans of *data* to mask, in order and not overlapping.

    Args:
        data: Any bytes.
        families: The families that `engine.hinted_families` returned.
    """
    return _merge_overlapping([span for family in families for span in _FINDERS[family](data)])


def find_matches(data: bytes) -> list[Span]:
    """Return all matches of the families in *data*, secret or not, which must not be cut apart."""
    plain = (family for family in engine.hinted_families(data) if family not in _WRAPPED)
    return [span for family in plain for span in engine.finder(family)(data)]


def find_plain(data: bytes) -> list[Span]:
    """Return the spans of secrets in *data* that are neither veiled nor encoded nor wrapped."""
    families = [family for family in engine.hinted_families(data) if family not in _WRAPPED]
    return find_spans(data, families) if families else []


def _merge_overlapping(spans: list[Span]) -> list[Span]:
    if not spans[1:]:  # A single span cannot overlap.
        return spans
    spans.sort()
    apart = spans[:1]
    for start, end in spans:
        last = apart[-1]
        if start > last[1]:
            apart.append((start, end))
        elif end > last[1]:
            apart[-1] = (last[0], end)
    return apart


def _span_finder(family: int, extractor: Extractor) -> Callable[[bytes], Iterator[Span]]:
    """Return a function that finds the spans that *extractor* returns for the matches of *family*."""
    may_be_digest = family == Family.TOKEN

    def find(data: bytes) -> Iterator[Span]:
        results = _CachedSpans(extractor)
        for start, end in engine.finder(family)(data):
            if may_be_digest and _DIGEST.search(data, max(0, start - _LONGEST_KEY), start):
                continue
            for begin, stop in results[data[start:end]]:
                yield start + begin, start + stop

    return find


def _find_keyed(data: bytes) -> Iterator[Span]:
    """Find the values beside a key. Each match is checked with the byte before and after it, which may end a line."""
    results = _CachedSpans(extract.keyed_spans)
    for start, end in engine.finder(Family.PLACED)(data):
        match = data[start - 1 : end + 1] if start else b"\n" + data[: end + 1]
        for begin, stop in results[match]:
            yield start + begin - 1, start + stop - 1


def _find_tokens(data: bytes) -> Iterator[Span]:
    yield from _span_finder(Family.TOKEN, extract.token_spans)(data)
    for start, end in engine.cut_token_finder()(data):
        if end - start <= _LONGEST_CACHED:
            yield from _cut_token(data, start, end)


def _cut_token(data: bytes, start: int, end: int) -> Iterator[Span]:
    """Find a token that begins at the end of one line and continues on the next, if it is not complete without that."""
    parts = data[start:end].split()
    if len(parts) != 2:  # noqa: PLR2004 - the end of a line and the beginning of the next
        return
    head, tail = parts
    joined = head + tail
    width = start + len(head) - (data.rfind(b"\n", max(0, start - _LONGEST_KEY), start) + 1)
    is_whole = any(stop == len(head) for _, stop in engine.whole_token_finder()(head))
    if is_whole and not (width >= _WRAPPED_AT and is_strong(tail)):
        return
    for begin, stop in engine.whole_token_finder()(joined):
        if begin < len(head) and stop == len(joined) and extract.token_spans(joined[begin:stop]):
            yield start + begin, end


class _CachedSpans(dict[bytes, Sequence[Span]]):
    """The spans in each match of one text, in which the same matches often occur again; each is extracted on first use."""

    def __init__(self, extractor: Extractor) -> None:
        super().__init__()
        self._extract = extractor

    def __missing__(self, match: bytes) -> Sequence[Span]:
        spans = self._extract(match)
        if len(match) <= _LONGEST_CACHED and len(self) < _MOST_CACHED:
            self[match] = spans
        return spans


def _find_obfuscated(data: bytes) -> Iterator[Span]:
    if find_plain(strip_obfuscation(data)):
        bare, map_back = deobfuscate(data)
        yield from map_back(find_plain(bare))


def _find_encoded(data: bytes) -> Iterator[Span]:
    results = _CachedSpans(_spans_in_base64)
    for run in _BASE64_RUN.finditer(data):
        if results[run[0]]:
            yield run.span()


def _spans_in_base64(run: bytes) -> Sequence[Span]:
    return find_plain(_decoded(run)) if Family.ENCODED in engine.hinted_families(run) else ()


def _decoded(run: bytes) -> bytes:
    body = run.rstrip(b"=").translate(_TO_STANDARD)
    whole = body[: len(body) - (len(body) % 4 == 1)]
    return a2b_base64(whole + b"=" * (-len(whole) % 4))


def _find_blocks(data: bytes) -> Iterator[Span]:
    yield from extract.block_spans(data)
    yield from key_lines(data)


def _find_wrapped(data: bytes) -> Iterator[Span]:
    yield from key_lines(data)
    for chain in wrapped.find_chains(data):
        text = wrapped.join_chain(data, chain)
        families = engine.hinted_families(text)
        if (Family.ENCODED in families and _encodes_secret(text)) or _is_key_or_its_value(
            data, chain[0][0], text, families
        ):
            yield chain[0][0], chain[-1][1] + data[chain[-1][1] : chain[-1][1] + 2].count(b"=")
        elif Family.KNOWN in families:
            yield from (wrapped.map_span(chain, span) for span in _find_known(text))


def _encodes_secret(text: bytes) -> bool:
    """Whether base64 encodes a secret. Other text may precede it on its first line, so each alignment is tried."""
    return any(find_plain(_decoded(text[before:])) for before in range(4))


def _is_key_or_its_value(data: bytes, begin: int, text: bytes, families: Sequence[int]) -> bool:
    """Whether base64 is a private key, or the value of a telling key before it."""
    if Family.TOKEN in families and engine.bare_key_expression().match(text):
        return True
    before = data[max(0, begin - _LONGEST_KEY) : begin]
    return engine.key_before_expression().search(before) is not None and is_strong(text)


def _find_known(data: bytes) -> Iterator[Span]:
    return engine.finder(Family.KNOWN)(data)


_FINDERS: dict[int, Callable[[bytes], Iterable[Span]]] = {
    Family.TOKEN: _find_tokens,
    Family.FLOATING: _span_finder(Family.FLOATING, extract.token_spans),
    Family.PLACED: _find_keyed,
    Family.LISTED: _span_finder(Family.LISTED, extract.listed_spans),
    Family.URL: _span_finder(Family.URL, extract.url_spans),
    Family.COOKIE: _span_finder(Family.COOKIE, extract.cookie_spans),
    Family.BLOCK: _find_blocks,
    Family.OBFUSCATED: _find_obfuscated,
    Family.ENCODED: _find_encoded,
    Family.KNOWN: _find_known,
    Family.WRAPPED: _find_wrapped,
    Family.OPENED: lines.values_below_keys,
    Family.TABLE: lines.table_secrets,
    Family.COLUMNS: column_secrets,
    Family.WEB_KEY: _span_finder(Family.WEB_KEY, extract.web_key_spans),
}
