"""Find the secret within a match, if there is one: the key, the quotes and the words around it stay."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from re import Match
from typing import NamedTuple

from toolcharter.guards.secrets import engine
from toolcharter.guards.secrets.engine import Span, expression
from toolcharter.guards.secrets.heuristics import (
    is_made_of_words,
    is_part_of_name,
    is_passphrase,
    is_path_or_address,
    is_placeholder,
    is_sample_token,
    is_secret,
    is_strong,
    is_version_or_hash,
)
from toolcharter.guards.secrets.obfuscation import strip_obfuscation
from toolcharter.guards.secrets.patterns import BLOCK_GAP, BLOCK_MENTION, BLOCK_NAME, LEFT_BYTES, LINE_PREFIX, Family
from toolcharter.guards.secrets.places import PAGE_TOKEN, PlacedGroup
from toolcharter.guards.secrets.wordy import is_jumbled

_SENTENCE_END = b".:"
_FIELD = expression(rb"[A-Za-z_0-9][\w.]*(?:\([^()]*\)|\[[^\[\]]*\])*(?:![rsa])?(?::.*)?")
_HOSTS = expression(rb"\d+(?:,.*)?")
_SETTINGS = expression(rb"\d+;[A-Za-z][\w ]*=.*")
"""A port and settings, one of which has an `@`: `://host:1433;user=ann@host`."""
_PROSE = expression(rb"[A-Za-z-]+[,;:.)]+")
_LEFT = expression(rb"_|\\u[0-9A-Fa-f]{4}|\\[abfnrtv]|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,12}m")
_PAIR = expression(rb"([A-Za-z0-9_.-]+)=([^;,\s\"'\\]{6,})")
_TELLING = expression(rb"(?i)sess|sid|auth|token|jwt|login|remember|csrf|xsrf|secret|key|identity")
_SPACE = expression(rb"\s")
_TOKENS = expression(rb"(?i)token|auth|bearer|session")
_ITEM = expression(rb"\"((?:[^\"\\]|\\.)+)\"|'((?:[^'\\]|\\.)+)'|([^\s\"',]+)")
_BARE_ITEM = 3
_PAGED = expression(b"-*" + PAGE_TOKEN.encode())
_OF_A_TEST = expression(rb"(?i)_?(?:test|fake|dummy|mock|example|sample|wrong|invalid)_\w+[ \t]*=[ \t]*[\"']")
_SCHEMES = expression(rb"(?i)(?:bearer|basic|token|apikey|ssws|negotiate)[ \t]+\Z")
_PARAMETER = expression(rb"[A-Za-z_-]{2,30}=")
_VALUE_END = b"\"'`\r\n\\"
_SHORTEST_CREDENTIAL = 8
_IN_NAMES = expression(rb"(?i)pass|secret|token|(?:value|name|field|input|var|arg|param|default|env|here|user)(?:\Z|_)")
_LETTER_DIGIT_SIGN = expression(rb"(?=.*[A-Za-z])(?=.*[0-9])(?=.*[!@#$%^*~+?])")
_OBJECT = expression(rb"[a-z][a-z0-9]*(?:-[a-z0-9]{1,10}){1,8}")
_OF_A_CLUSTER = expression(rb"(?i)secrets?[ \t]+\Z")
"""The word before the name of a cluster's object: `kubectl get secret db-credentials-11f37`."""
_PASSWORD = expression(rb"(?i)pass|pwd")
_LONG_WORD = expression(rb"[a-z]{8,}")
_WORD = expression(rb"[A-Za-z_]*[a-z][A-Za-z_]*")
_OF_CODE = expression(rb"\s*(?:self|this|cls)\.")
_FEWEST_JOINTS = 2
_CAPITAL_DIGITS = expression(rb"[0-9A-F]{8,}")
_COMMUNITIES = frozenset({b"public", b"private"})
_SCOPED = expression(rb"Credential=[^\s,&]*aws4_request")
"""For whom, when and where a request to AWS was signed: of this, the name of the key is masked by its shape."""
_SIXTEEN = expression(rb"[a-z]{16}")
_LOGIN_NAME = expression(rb"(?i)(?:token|auth):\Z")
_WITH_HOST = expression(rb"([^@]{4,})@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?::\d+)?(?:/.*)?")
_CONNECTION_KEY = expression(rb"(?i)connection_?string")
_CONNECTION = expression(rb"[A-Za-z][\w -]*=.")
_TELLING_PART = rb"(?i)(?:\A|[%(end)s])[ ]?[\w -]*(?:password|pwd|secret|key|token|signature|sig)[ ]?=[ ]?([^%(end)s]+)"
_PARTS = {end: expression(_TELLING_PART % {b"end": end}) for end in (b";", b" ")}
_SIGN = expression(rb"[^\w\s.,;:'\"-]")
_SIGNS_OF_SALT = 6
_MIXED = expression(rb"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])")
_MASKED_ITEM = expression(rb"[\w.-]*=\[REDACTED")
"""An item that has been masked already, in what only looks like a list because of a colour's bracket."""
_OPENING = expression(rb"[\[{\n]")
_OBJECT_ITEM = expression(rb":\s*\\{0,4}\"((?:[^\"\\\r\n])+)\\{0,4}\"")
_PRIVATE_MEMBER = expression(rb"\b(?:d|p|q|dp|dq|qi|k)\\{0,4}[\"']?\s*[:=]\s*\\{0,4}[\"']?([A-Za-z0-9_+/-]{16,}={0,2})")
_DASHED = expression(rb"[:=>][ \t]*\r?(?=\n[ \t]*-[ \t])")
_DASHED_ITEM = expression(
    rb"\n[ \t]*-[ \t]+(?:\"((?:[^\"\\\r\n]|\\.)+)\"|'((?:[^'\\\r\n]|\\.)+)'|([^\s\"',]+))[ \t]*\r?(?=\n|\Z)"
)
_HEADER = expression(rb"-{4,5}[ ]?BEGIN%s[ ]?-{4,5}|Private-Lines:[ ]?[0-9]+" % BLOCK_NAME.encode())
_BODY = expression(
    rb"(?:(?:Proc-Type|DEK-Info|Comment|Version|Private-Lines|Private-MAC):[^\r\n\\]{0,200}|[A-Za-z0-9+/=]+|%s)+"
    % BLOCK_GAP.replace(LINE_PREFIX, LINE_PREFIX + "(?=[A-Za-z0-9+/=])").removesuffix("*").encode()
)
_CLOSING = expression(rb"(?:%s)?-{4,5}[ ]?END%s[ ]?-{4,5}" % (LINE_PREFIX.encode(), BLOCK_NAME.encode()))
_MENTION = expression(BLOCK_MENTION.encode())
_LONGEST_HEADER = 100
_SHORTEST_URL_PASSWORD = 4
_DEMONSTRATED = b"://scott:tiger@"
"""The account in Oracle's examples, which other manuals have copied."""
_SHORTEST_CUT_OFF = 16
_LOOKED_AT = 2
"""How many letters of a block's content its pattern matches."""
_FEW_LETTERS = 4
"""A block with no more different characters than this, line breaks included, is only an example."""
FAR = 16_384
"""In bytes: parts that lie further apart do not belong together, so a text may be cut between them."""
_NESTED = 256
"""In bytes: a longer match without a secret is not searched for keys in its value, so that the time stays linear."""


def token_spans(text: bytes) -> Sequence[Span]:
    """The span of a token, unless it is a masked example."""
    left = _LEFT.match(text) if text[0] in LEFT_BYTES else None
    begin, end = left.end() if left else 0, len(text)
    return () if is_sample_token(text[begin:end]) else ((begin, end),)


def keyed_spans(text: bytes) -> Sequence[Span]:
    """The span of the value beside a key; if that is no secret, the spans of the values beside keys within it.

    *text* includes one byte before and one after the match.
    """
    if _PAGED.match(text, 1) or text.startswith((b"arn:", b"badge.svg"), 1):
        return ()
    span = _value_span(text, 1)
    if span or len(text) > _NESTED or _OF_A_TEST.match(text, 1):
        return _secret_parts(text, span) if span else ()
    # One level only: more would take quadratic time.
    inside = (_value_span(text, begin) for begin, _ in engine.finder(Family.PLACED)(text, 2))
    return [span for span in inside if span]


def _secret_parts(text: bytes, span: Span) -> Sequence[Span]:
    """The secrets of a connection, of which the rest is none; else all that stands beside the key."""
    begin, end = span
    value = text[begin:end]
    if _CONNECTION_KEY.match(text, 1) and _CONNECTION.match(value):
        parts = _PARTS[b";" if b";" in value else b" "].finditer(value)
        return [(begin + part.start(1), begin + part.end(1)) for part in parts]
    address = _WITH_HOST.fullmatch(value) if _LOGIN_NAME.search(text, 0, begin) else None
    return [(begin, begin + address.end(1))] if address else [span]


class _Candidate(NamedTuple):
    """A value in a place where secrets are written, with the text around it."""

    value: bytes
    before: bytes
    """The part of the match before the value: key, separator, quote, scheme."""
    after: bytes
    """The byte after the value."""
    quoted: bool


def _value_span(text: bytes, start: int) -> Span | None:
    match = engine.placed_expression().match(text, start)
    group = match.lastindex if match else None
    if match is None or group is None or _is_too_far(match, group) or _SCOPED.match(text, start):
        return None
    quoted = group in PlacedGroup.QUOTED
    begin, end = match.span(group)
    value = text[begin:end] if quoted else text[begin:end].rstrip(b"\\")  # A final backslash escapes the next byte.
    end = begin + len(value)
    after = text[end : end + 1]
    if after == b"(" or (group == PlacedGroup.FLAG and _PROSE.fullmatch(value)):
        return None
    is_secret_here = _CHECKS.get(group, _is_secret_beside_key)
    if not quoted and group not in PlacedGroup.WHOLE:
        end = begin + len(value.rstrip(_SENTENCE_END))
    return (begin, end) if is_secret_here(_Candidate(value, text[start:begin], after, quoted)) else None


def _is_secret_beside_key(found: _Candidate) -> bool:
    if found.quoted and _OF_A_TEST.match(found.before) and not is_strong(found.value):
        return False
    return is_secret(found.value, found.before, found.after, quoted=found.quoted)


def _is_password(found: _Candidate) -> bool:
    """Whether a value in a place for passwords is a password, and not a placeholder, a path or an address."""
    value = found.value if found.quoted else found.value.rstrip(b";")
    return not (is_placeholder(value) or is_path_or_address(value))


def _is_assigned_secret(found: _Candidate) -> bool:
    return len(found.value) >= _SHORTEST_CREDENTIAL and not (
        _IN_NAMES.search(found.value) or is_placeholder(found.value)
    )


def _is_passphrase_setting(found: _Candidate) -> bool:
    """Whether a line that assigns joined words to a password key belongs to a settings file, and not to a program."""
    is_code = _OF_CODE.match(found.before) or found.value.isupper() or found.value.count(b"_") < _FEWEST_JOINTS
    return not is_code and is_passphrase(found.value) and not is_placeholder(found.value)


def _is_option_secret(found: _Candidate) -> bool:
    """Whether an option's value is not what a manual writes there: `PASSWORD`, `<password>`, `file`, a name in code."""
    value = found.value.rstrip(_SENTENCE_END)
    if is_secret(value, b"password=", found.after, quoted=found.quoted):
        return True
    return not (value.isupper() or _IN_NAMES.search(value) or is_part_of_name(value)) and _is_password(found)


def _is_member_secret(found: _Candidate) -> bool:
    """Whether the value below the name of a member is a secret. It is checked as if it were beside the name."""
    return is_secret(found.value, b"".join(found.before.split(b"\n")), found.after, quoted=found.quoted)


def _is_secret_salt(found: _Candidate) -> bool:
    is_sentence = found.value.count(b" ") > 1
    return len(_SIGN.findall(found.value)) >= _SIGNS_OF_SALT or (not is_sentence and _is_secret_beside_key(found))


def _is_mixed(value: bytes) -> bool:
    """Whether *value* has letters, a digit and a character that names do not have, as passwords of people often do."""
    return _LETTER_DIGIT_SIGN.match(value) is not None and not (
        is_placeholder(value) or is_path_or_address(value) or is_version_or_hash(value)
    )


def _is_mixed_or_random(found: _Candidate) -> bool:
    value = found.value.rstrip(_SENTENCE_END)
    return _is_mixed(value) or is_strong(value)


def _is_device_secret(found: _Candidate) -> bool:
    """Whether a router's setting has a value: in hexadecimal digits, encrypted, or as it is."""
    return _CAPITAL_DIGITS.fullmatch(found.value) is not None or _is_mixed_or_random(found)


def _is_community(found: _Candidate) -> bool:
    return found.value not in _COMMUNITIES and _is_password(found)


def _is_random(found: _Candidate) -> bool:
    value = found.value.rstrip(_SENTENCE_END)
    if _OBJECT.fullmatch(value) and _OF_A_CLUSTER.search(found.before):
        return False
    is_letters = _SIXTEEN.fullmatch(value) is not None and is_jumbled(value)
    return is_strong(value) or (_PASSWORD.match(found.before) is not None and (is_letters or _is_mixed(value)))


def _is_word_or_secret(found: _Candidate) -> bool:
    """Whether the value is a secret or a long word, since an option of that name takes nothing but a secret."""
    if is_placeholder(found.value.rstrip(b"])")):
        return False
    is_word = _LONG_WORD.fullmatch(found.value) is not None or (
        _WORD.fullmatch(found.value) and is_passphrase(found.value)
    )
    return (is_word and _is_password(found)) or _is_secret_beside_key(found)


def _is_credential(found: _Candidate) -> bool:
    """Whether the value after an authorization scheme is a credential, and not a word of a sentence."""
    value, before, after, _ = found
    if is_placeholder(value) or is_path_or_address(value) or _PARAMETER.match(value):
        return False
    at_end = not after or after in _VALUE_END
    if _SCHEMES.search(before):
        return (at_end and len(value) >= _SHORTEST_CREDENTIAL) or is_secret(value, before, after, quoted=False)
    return len(value) >= _SHORTEST_CREDENTIAL and (is_strong(value) or (at_end and not is_made_of_words(value)))


_CHECKS: Mapping[int, Callable[[_Candidate], bool]] = {
    PlacedGroup.AUTHORIZATION: _is_credential,
    PlacedGroup.ASSIGNED: _is_assigned_secret,
    PlacedGroup.WORDS: _is_passphrase_setting,
    **dict.fromkeys((PlacedGroup.OPTION, PlacedGroup.OPTION_BARE), _is_option_secret),
    **dict.fromkeys(PlacedGroup.MEMBER, _is_member_secret),
    **dict.fromkeys(PlacedGroup.SALTED, _is_secret_salt),
    PlacedGroup.BRACES: lambda found: _is_password(found) and not _FIELD.fullmatch(found.value),
    PlacedGroup.PGPASS: lambda found: is_secret(found.value, b"password=", b"", quoted=False),
    PlacedGroup.NEAR: lambda found: _is_mixed(found.value.rstrip(_SENTENCE_END)),
    **dict.fromkeys((PlacedGroup.FLAG, PlacedGroup.NETRC, PlacedGroup.COMMAND), _is_word_or_secret),
    PlacedGroup.JWK: lambda found: _MIXED.match(found.value) is not None and is_strong(found.value),
    PlacedGroup.DEVICE: _is_device_secret,
    PlacedGroup.COMMUNITY: _is_community,
    PlacedGroup.SIXTEEN: lambda found: is_jumbled(found.value.replace(b" ", b"")),
    **dict.fromkeys(PlacedGroup.MIXED, _is_mixed_or_random),
    **dict.fromkeys(PlacedGroup.STRONG, _is_random),
    **dict.fromkeys(PlacedGroup.PASSWORDS, _is_password),
}
"""The check for each group of the match, if it is not `_is_secret_beside_key`."""


def _is_too_far(match: "Match[bytes]", group: int) -> bool:
    """Whether the value is so far from its key, or so long, that the key does not belong to it."""
    begin, end = match.span(group)
    return begin > FAR or (end - begin > FAR and _SPACE.search(match.string, begin, end) is not None)


def listed_spans(text: bytes) -> Sequence[Span]:
    """The spans of the secrets in a list beside a key. Lists of tokens often hold words: only random values count."""
    opening = _OPENING.search(text)
    if opening and opening[0] == b"{":
        spans = (item.span(1) for item in _OBJECT_ITEM.finditer(text, opening.end(), opening.end() + FAR))
        return [span for span in spans if is_strong(text[slice(*span)])]
    bracket = text.find(b"[")
    dashed = _DASHED.search(text, 0, bracket if bracket >= 0 else len(text))
    start = dashed.end() if dashed else bracket
    is_token = _TOKENS.search(text, 0, start) is not None
    before, items = text[:start], _DASHED_ITEM if dashed else _ITEM
    found = [
        (item.span(item.lastindex or 0), item.lastindex)
        for item in items.finditer(text, start + (not dashed), start + FAR)
    ]
    return [span for span, group in found if _is_listed_secret(text[slice(*span)], before, group, is_token=is_token)]


def _is_listed_secret(value: bytes, before: bytes, group: int | None, *, is_token: bool) -> bool:
    if group == _BARE_ITEM and _MASKED_ITEM.fullmatch(value):
        return False
    if is_token or (group == _BARE_ITEM and b"(" in value):
        return is_token and is_strong(value)
    return is_secret(value, before + (b"" if group == _BARE_ITEM else b'"'), b"", quoted=group != _BARE_ITEM)


def web_key_spans(text: bytes) -> Sequence[Span]:
    """The spans of the private members of a JSON Web Key. A public key has none of them (RFC 7518, section 6)."""
    return [member.span(1) for member in _PRIVATE_MEMBER.finditer(text, 0, FAR)]


def url_spans(text: bytes) -> Sequence[Span]:
    """The span of the password in `://user:password@`, or of a token instead of both."""
    end = text.rindex(b"@")
    colon = text.find(b":", 3, end)
    begin = colon + 1 if colon > 0 else 3
    value = text[begin:end]
    hosts = b"@" in text[3:begin] and _HOSTS.fullmatch(value)  # The port of one host, and further hosts.
    if (
        hosts or _SETTINGS.fullmatch(value) or (b"[" in text[3:begin] and b"]" in value)
    ):  # `[user][:password]@host` describes a syntax.
        return ()
    short = len(value) < _SHORTEST_URL_PASSWORD or text == _DEMONSTRATED
    if short or is_placeholder(value.replace(b"%20", b" ")) or (colon < 0 and not is_strong(value)):
        return ()
    return ((begin, end),)


def cookie_spans(text: bytes) -> Sequence[Span]:
    """The spans of the values in a line of cookies that are credentials."""
    return [pair.span(2) for pair in _PAIR.finditer(text, 0, FAR) if _is_credential_cookie(pair[1], pair[2])]


def _is_credential_cookie(name: bytes, value: bytes) -> bool:
    if _TELLING.search(name):
        return not is_placeholder(value) and not is_path_or_address(value)
    return is_strong(value)


def block_spans(data: bytes) -> Iterator[Span]:
    """Find private keys from their first line to their last. A key that is cut off extends as far as its lines go."""
    for start, end in engine.finder(Family.BLOCK)(data):
        stop = _end_of_block(data, end - _LOOKED_AT)
        if stop > end:
            yield start, stop


def _end_of_block(data: bytes, begin: int) -> int:
    """The end of the block whose content starts at *begin*; 0 if it is no block."""
    body = _BODY.match(data, begin)
    stop = body.end() if body else begin
    closing = _CLOSING.match(data, stop)
    if closing:
        return closing.end() if len(set(data[begin:stop])) > _FEW_LETTERS else 0
    length = len(data[begin:stop].rstrip())
    return begin + length if length >= _SHORTEST_CUT_OFF else 0


class UnfinishedBlocks:
    """The blocks of private keys in *data* that may be unfinished. Searched once, for any number of ends."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._mentions = [found.end() for found in _MENTION.finditer(data)]

    def open_block_at(self, end: int) -> int | None:
        """The beginning of the block that continues after *end*; None if there is none."""
        place = bisect_right(self._mentions, end)
        if not place:
            return None
        last = self._mentions[place - 1]
        near = max(0, last - _LONGEST_HEADER), min(end, last + _LONGEST_HEADER)
        headers = list(_HEADER.finditer(self._data, *near))
        if not headers:
            return None
        start = headers[-1].start()
        texts = [self._data[start:end]]
        if end - start <= FAR:
            texts.append(strip_obfuscation(texts[0]))
        return start if any(_may_continue(text, headers[-1].end() - start) for text in dict.fromkeys(texts)) else None


def _may_continue(data: bytes, begin: int) -> bool:
    """Whether the block whose header ends at *begin* continues after the end of *data*."""
    body = _BODY.match(data, begin)
    stop = body.end() if body else begin
    return len(data) - stop < _LONGEST_HEADER and not _CLOSING.match(data, stop)
