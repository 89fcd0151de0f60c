"""Whether the text beside a telling key is a secret, or a type, a name, a path or a place to fill in."""

import re

from toolcharter.guards.secrets.patterns import NOT_SECRETS

_LOOKED_AT = 4096  # In bytes: no secret's nature shows only after that, and a rejection stays cheap.
_STRONG_LENGTH = 16
_WORD_LENGTH = 8

_FILL_IN = re.compile(
    rb"[\$%]\{?\{?[A-Za-z_][\w.-]*\}?\}?"  # $TOKEN, ${TOKEN}, %TOKEN
    rb"|<[^<>]*>|\{[^{}]*\}|\{\{[^{}]*\}\}|%\(\w*\)s"  # <your token>, {token}, {{ token }}, %(token)s
    rb"|[xX*.#?_-]{3,}"  # xxxxxxxx, ********
    rb"|#[0-9A-Fa-f]{3,8}"  # The colour of a token in a style sheet
)
_MASKED_TOKEN = re.compile(rb"(?:sk-(?:[a-z0-9]{1,12}-){0,2}|gh[a-z]_|github_pat_)[xX*_-]+")
_ADDRESS = re.compile(rb"[a-z][a-z0-9+.-]*://.*|(?:~|\.{1,2})?(?:/[A-Za-z_.-]+)+/?", re.DOTALL | re.IGNORECASE)
_CODE = re.compile(rb"[ \t]|[),;+](?:[\s)+]|$)")  # What stands behind a quote that ends a string: `"token=" + x`
_DOTTED = re.compile(rb"[A-Za-z_]\w{0,30}(?:\.[A-Za-z_]\w{0,30})+")  # The parts of a JWT are longer.
_UNBROKEN = re.compile(rb"[A-Za-z0-9+/=_.~-]+")
_NUMBER = re.compile(rb"[\d.,_]+")
_TELLING_WORD = re.compile(rb"token|secret|passw|api_?key|auth|bearer", re.IGNORECASE)
_NAME = re.compile(rb"[A-Za-z_][A-Za-z_.\- ]*:?")
_QUOTE = re.compile(rb"[\"']")
_DIGIT = re.compile(rb"\d")


def is_fill_in(value: bytes) -> bool:
    """Yes if *value* stands for a secret without being one: empty, a type's name, `<token>`, `${TOKEN}`, `****`."""
    head = value[:_LOOKED_AT].strip()
    return not head or head.lower() in NOT_SECRETS or _FILL_IN.fullmatch(head) is not None


def is_masked_token(token: bytes) -> bool:
    """Yes if the body of a token known by its prefix is only `x` or `*`, as documentation prints it."""
    return _MASKED_TOKEN.fullmatch(token[:_LOOKED_AT]) is not None


def is_secret(value: bytes, before: bytes, after: bytes, *, quoted: bool) -> bool:
    """Judge the *value* beside a key.

    Args:
        value: Without its quotes.
        before: What the match holds before the value: key, separator, quote, scheme.
        after: The byte behind the value, or nothing at the end of the text.
        quoted: The value stands in quotes.
    """
    head = value[:_LOOKED_AT]
    if is_fill_in(head) or _ADDRESS.fullmatch(head) or (_is_code(head) if quoted else after in (b"(", b"[")):
        return False
    if b"\n" in before:
        return after in (b"", b"\r", b"\n") and _is_strong(head)
    if _DIGIT.search(head):
        return not (_is_prose(head) if quoted else _is_name_or_number(head, before))
    # A loose value (`password: required`) may be prose; `KEY=value` and `"key": value` are not.
    loose = before[-1:] in b" \t" and not _QUOTE.search(before)
    return _is_secret_without_digit(head, loose=loose)


def _is_strong(value: bytes) -> bool:
    long = len(value) >= _STRONG_LENGTH and _UNBROKEN.fullmatch(value) is not None
    return long and _DIGIT.search(value) is not None and _DOTTED.fullmatch(value) is None


def _is_code(value: bytes) -> bool:
    return _CODE.match(value) is not None


def _is_prose(value: bytes) -> bool:
    return value.strip().count(b" ") > 1


def _is_name_or_number(value: bytes, before: bytes) -> bool:
    if _NUMBER.fullmatch(value):
        return not before.lower().startswith((b"passw", b"secret"))
    return _DOTTED.fullmatch(value) is not None


def _is_secret_without_digit(value: bytes, *, loose: bool) -> bool:
    if not _NAME.fullmatch(value):
        return len(value) >= _WORD_LENGTH
    if not value.isalpha() or _TELLING_WORD.search(value):
        return False
    if value.islower() or value.isupper():
        return not loose and len(value) >= _WORD_LENGTH
    return not value.istitle() and len(value) >= _STRONG_LENGTH
