r"""What the scrubber looks for, as google-re2 patterns over bytes in Latin-1.

Families, each with a pattern that finds and a wider and cheaper one that says whether it is worth looking
(`hints`): tokens by their own shape (`tables`), values beside a telling key (`places`), lists beside one, credentials in URLs, cookies, and
blocks of private keys. None of them has a group that counts for google-re2, so that its automaton alone does the
work; what a value beside a key is made of, `re` reads from the few places that were found.

No part can scan far and then fail: hostile input costs linear time.

Source: the five kinds of goclaw, `internal/tools/scrub.go`; the forms of keys and separators from the generic rule
of gitleaks and the keyword plugin of detect-secrets; for tokens, the tables name theirs.
"""

import re
from binascii import b2a_base64
from collections.abc import Iterable, Iterator
from functools import cache
from string import ascii_letters, digits

from toolcharter.guards.secrets.places import CLOSE, KEY, KEY_END, PLACE_HINT, SCHEME
from toolcharter.guards.secrets.tables import Token

# What may come before a token that would be part of a word otherwise (`task-...`): nothing of a word, an
# underscore, a JSON or percent escape, the end of a terminal colour.
_LEFT = r"(?:\b|_|\\[abfnrtv]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,12}m)"
LEFT_BYTES = frozenset(b"_\\%\x1b")
_WORD = r"\b"

_COUNT = re.compile(r"\{(\d+)(?:,\d*)?\}")
_ENOUGH = 20
"""So many characters of a token's body identify it: the automaton stays small, and a longer one is no other token."""
_ENOUGH_TO_LOOK = 4

_LISTS = KEY + KEY_END + "s?" + CLOSE + r"[ \t]*(?:=>|:=|=|:)[ \t]*"
_QUOTED_ITEM = r"(?:\"[^\"\r\n]*\"|'[^'\r\n]*')"
_MEMBER = r"\s*\\{0,4}\"[^\"\r\n]*\"\s*:\s*\\{0,4}\"[^\"\r\n]*\"\s*"
LISTED = (
    _LISTS + r"(?:\[(?:[ \t]*\r?\n[ \t]*" + _QUOTED_ITEM + r"(?:[ \t]*,[ \t]*(?:\r?\n[ \t]*)?" + _QUOTED_ITEM + r")*"
    r"|[^\[\]{}\r\n]+)|\{"
    + _MEMBER
    + r"(?:,"
    + _MEMBER
    + r")*|\r?\n[ \t]*-[ \t][^\r\n]*(?:\r?\n[ \t]*-[ \t][^\r\n]*)*)"
)
"""A list beside a key, in brackets or each value behind a dash, or an object of texts; it may be cut off. `re` reads the values from it."""
URL = r"://[^\s/:\"'<>`\\?#]*:[^\s/\"'<>`\\]+@|://[A-Za-z0-9_-]{20,}@"
COOKIE = (
    r"(?i:cookie)[\"']?:[ \t]*[\"']?[^\r\n\"']+"
    r"|[ \t](?:-b|--cookie)[ \t=]*(?:[\"'][A-Za-z0-9_.-]+=[^\r\n\"']+|[A-Za-z0-9_.-]+=[^\s\"']+)"
)
_JOINT = r"[\"'][ \t]*[+,]?[ \t]*(?:\\?\r?\n)[ \t]*[\"']"
LINE_PREFIX = r"(?:[->|#*+]|[0-9]+[ \t:]|[A-Za-z0-9_./-]+[:-][0-9]+[:-])[ \t]{0,4}"
"""The text before each line in a diff, a quotation, a comment, and in what grep finds."""
BLOCK_GAP = r"(?:\r?\n[ \t]*" + LINE_PREFIX + r"|\s|\\{1,4}[nr]|" + _JOINT + r")*"
"""What goes between the lines of a block: in text, in JSON within JSON, in a string of source code over many lines."""
BLOCK_NAME = r"(?:[ A-Z0-9_]{0,60}PRIVATE[ ]KEY(?:[ ]BLOCK)?|[ ]OpenVPN[A-Za-z0-9 -]{1,40}[Kk]ey(?:[ ]V1)?)"
BLOCK_MENTION = r"PRIVATE[ ]KEY|Private-Lines:|[ ]OpenVPN[ ]"
BLOCK = (
    r"-{4,5}[ ]?BEGIN" + BLOCK_NAME + r"[ ]?-{4,5}(?:[ \t]*[A-Za-z0-9+/]{16}"
    r"|[ \t]*(?:\r?\n[ \t]*(?:" + LINE_PREFIX + r")?|\\{1,4}[nr]|" + _JOINT + ")" + BLOCK_GAP + r"[A-Za-z0-9+/]{2})"
    r"|\bPrivate-Lines:[ ]?[0-9]+\r?\n[A-Za-z0-9+/]{2}"
)

_KEY_TYPE = r"\bkty\\{0,4}[\"']?[ \t]*:"
_KEY_MEMBER = r"\s*\\{0,4}[\"']?[\w#]+\\{0,4}[\"']?\s*:\s*(?:\[[^\[\]{}]*\]|\\{0,4}\"[^\"\\\r\n]*\\{0,4}\"|\\{0,4}'[^'\\\r\n]*\\{0,4}'|[\w.-]+)\s*"
KEY_OBJECT = rf"\{{(?:{_KEY_MEMBER},)*\s*\\{{0,4}}[\"']?{_KEY_TYPE}[^,{{}}]*(?:,{_KEY_MEMBER})*"
"""A JSON Web Key, up to its end or where the text is cut off."""

SERIAL = (
    r"\xe2\x80[\x8b-\x8f\xaa-\xae]",
    r"\xe2\x81[\xa0-\xaf]",
    r"\xef\xb8[\x80-\x8f]",
    r"%(?:0[ADad]|2[0BDEFbdef]|3[0-9ADad]|[46][0-9A-Fa-f]|5[0-9AFaf]|7[0-9AEae])",
    r"\\u00[2-7][0-9A-Fa-f]",
    r"\\x[2-7][0-9A-Fa-f]",
    r"\\/",
)
"""Characters that are not seen, and bytes that are escaped: what many of in a row can be read at once."""
VEILED = "|".join(
    (
        *SERIAL,
        r"\xef\xbb\xbf|\xc2\xad|\xcd\x8f",
        r"\x1b\[[0-9;:?]{0,16}[A-Za-z]|\\u001[Bb]\[[0-9;:?]{0,16}[A-Za-z]|\\x1[Bb]\[[0-9;:?]{0,16}[A-Za-z]",
        r"\\u200[b-fB-F]",
        r"&(?:quot|apos|amp|lt|gt|equals|colon|#(?:34|38|39|45|58|60|61|62|95)|#[xX](?:2[267dD]|3[acdeACDE]|5[fF]));",
    )
)
"""Characters that are not seen, colours of a terminal, and what is escaped: a secret may go on behind them, or in them.

Each alternative begins with a byte of its own, as those of `JOINTS` do: `re` then skips what no veil begins with.
"""

_SIGN = r"[\w+/=.-]"
PLUS = r"(?:\+|\.\.?|&|~|\|\||<>|<<|\.concat\()?"
"""What puts two strings together in some language; nothing does, too."""
# Two strings that are put together, in one line or in two; source code may lie within JSON.
_BETWEEN = rf"[ \t]*{PLUS}[ \t]*(?:(?:\\?\r?\n|\\{{1,2}}n)[ \t]*{PLUS}[ \t]*)?[A-Za-z]{{0,2}}\\{{0,2}}[\"']"
_CONTINUED = rf"(?:\\{{0,2}}[\"']{_BETWEEN}|`[ \t]*\+\s*`)"
JOINTS = "|".join(
    (
        *(
            rf"{first}(?<={_SIGN}{{2}}{first}){rest}{_BETWEEN}(?={_SIGN}{{2}})"
            for first, rest in ((r"\\", r"\\?[\"']"), ('"', ""), ("'", ""))
        ),
        rf"`(?<={_SIGN}{{2}}`)[ \t]*\+\s*`(?={_SIGN}{{2}})",
        rf"\\(?<={_SIGN}\\)\r?\n(?:[ \t]+(?={_SIGN}{{1,200}}\"))?(?={_SIGN})",
    )
)
"""Where a word goes on in the next line: in the next string of source code, or behind a backslash. For `re`."""
_JOINT_HINT = rf"{_SIGN}{{2}}{_CONTINUED}{_SIGN}{{2}}|{_SIGN}\\\r?\n[ \t]*{_SIGN}"

ALPHABET = (ascii_letters + digits + "+/-_").encode()
"""Of base64, both kinds."""
WRAP_LENGTH = 20
"""In letters: so long is a line of base64 that goes on in the next, at least."""
# Without the letters of the kind for URLs: names of functions end lines, too.
_WRAPPED = rf"[A-Za-z0-9+/]{{{WRAP_LENGTH}}}(?:[\"'][ +,.]*)?\\?(?:\r?\n|\\{{1,4}}[nr])"
_OPENER = r"(?:!!?[a-z]+[ \t]+)?(?:[|>][+-]?[0-9]?|<<[-~]?[\"']?[A-Za-z_]+[\"']?|\"\"\"|''')\\?[ \t]*"
OPENED = KEY + KEY_END + "s?" + CLOSE + rf"[ \t]*(?:=>|:=|=|:)[ \t]*(?:{_OPENER}|[\"'][A-Za-z0-9+/_.~-]{{8,}}\\?)\r?\n"
"""A key with its value in the lines that follow: `|` of YAML, a document of a shell, a quote left open."""
# Without counts, which would multiply the states of the automaton.
_CELL = r"\"?[A-Za-z0-9][A-Za-z0-9_. -]*\"?"
_KEY_CELL = r"\"?[A-Za-z0-9_. -]*" + KEY + KEY_END + r"\"?"
TABLE = rf"(?m:^)(?:(?:{_CELL}[,;\t])+{_KEY_CELL}(?:[,;\t]{_CELL})*|{_KEY_CELL}(?:[,;\t]{_CELL})+)[ \t]*\r?\n"
"""The first line of a table in which a column has a telling name."""
_TABLE_HINT = KEY + KEY_END + r"\"?(?:[,;\t][^ \r\n]|[ \t]*\r?\n)"

OPENED_VALUE = OPENED + r"[ \t]*[A-Za-z0-9+/_.~!@#$%^&*-]+={0,2}\\?[\"']{0,3}[ \t]*(?:\r?\n|$)"
"""Such a key with the first line of a word below it."""

KEY_BEFORE = KEY + KEY_END + CLOSE + r"[ \t]*(?:=>|:=|=|:)[ \t]*(?:\\{0,4}[\"'`])?" + SCHEME + r"\Z"
KEY_NAME = KEY + KEY_END + r"$"
"""Where the name of a JSON member ends like this, its text is a secret: `dbPassword`, `X-API-Key`."""


def token_pattern(kinds: Iterable[Token]) -> str:
    """Finds all tokens of *kinds*; a match begins with what `_LEFT` holds."""
    return _alternation(_relaxed(kind.pattern) for kind in kinds)


def whole_token(kinds: Iterable[Token]) -> str:
    """Finds the tokens of *kinds* in their full length."""
    return _alternation(kind.pattern for kind in kinds)


def cut_token(kinds: Iterable[Token]) -> str:
    """Finds a line that ends in the beginning of one of *kinds*."""
    return f"(?:{_alternation(_beginning(kind.pattern) for kind in kinds)})[A-Za-z0-9_.~+/=-]*[ \\t]*\\r?\\n"


def token_hint(kinds: Iterable[Token]) -> str:
    """Finds something at each place of one of *kinds*."""
    return _alternation(kind.hint or _beginning(kind.pattern) for kind in kinds)


def _alternation(patterns: Iterable[str]) -> str:
    words: list[str] = []
    others: list[str] = []
    for pattern in patterns:
        (words if pattern.startswith(_WORD) else others).append(pattern.removeprefix(_WORD))
    return "|".join((*([f"{_LEFT}(?:{'|'.join(words)})"] if words else []), *others))


def _relaxed(pattern: str) -> str:
    head = _HEAD.match(pattern.removeprefix(_WORD))
    if not head or head[0].isalnum():  # Letters alone occur in base64 too: only the length distinguishes them.
        return pattern
    return _COUNT.sub(lambda count: count[0] if int(count[1]) <= _ENOUGH else f"{{{_ENOUGH},}}", pattern)


def _beginning(pattern: str) -> str:
    """*pattern* up to its first long count outside of groups."""
    for count in _COUNT.finditer(pattern):
        if int(count[1]) > _ENOUGH_TO_LOOK and _depth(pattern[: count.start()]) == 0:
            return f"{pattern[: count.start()]}{{{_ENOUGH_TO_LOOK}}}"
    return pattern


def _depth(pattern: str) -> int:
    bare = re.sub(r"\\.|\[[^\]]*\]", "", pattern)
    return bare.count("(") - bare.count(")")


def encoded_hint(words: Iterable[str]) -> str:
    """Finds each of *words* in text that is base64, however it is aligned.

    One that is too short to be seen there is looked for with each letter that may follow.
    """
    # By all but the last letter: the automaton is built in half the time.
    endings = dict[bytes, set[bytes]]()
    for word in words:
        for start, ends in _encoded(word.encode()):
            endings.setdefault(start, set()).update(ends)
    either = b"|".join(b"%b[%b]" % (start, b"".join(sorted(ends))) for start, ends in sorted(endings.items()))
    return either.replace(b"+", rb"\+").decode()


def _encoded(word: bytes) -> Iterator[tuple[bytes, Iterable[bytes]]]:
    """*word* in base64 for each alignment: all signs but the last, and what the last one may be."""
    for before in range(3):
        signs = b2a_base64(b"\0" * before + word)[(before * 8 + 5) // 6 : (before + len(word)) * 8 // 6]
        if len(word) < _ENOUGH_TO_LOOK:
            shared = (before + len(word)) * 8 % 6  # bits of the last letter, whose sign has others of the next letter
            followed = _followed(shared, word[-1] % (1 << shared))
            yield from ((signs + start, ends) for start, ends in followed.items())
        else:
            yield signs[:-1], (signs[-1:],)


_LETTERS = tuple((ascii_letters + digits).encode())


@cache
def _followed(shared: int, low: int) -> dict[bytes, set[bytes]]:
    """The signs that a letter decides with *low*, *shared* bits before it: by all but the last one, what that may be."""
    count, unseen = divmod(shared + 8, 6)
    found = dict[bytes, set[bytes]]()
    for letter in _LETTERS:
        bits = ((low << 8 | letter) >> unseen) << (24 - 6 * count)
        tail = b2a_base64(bits.to_bytes(3, "big"))[:count]
        found.setdefault(tail[:-1], set()).add(tail[-1:])
    return found


def literal_heads(kinds: Iterable[Token]) -> set[str]:
    """What the tokens of *kinds* begin with, as far as it is always the same, or one of a few."""
    heads = (_LITERAL.match(way) for kind in kinds for way in _spelt(kind.pattern.removeprefix(_WORD)))
    return {word for head in heads if head and len(word := head[0].replace("\\", "")) >= _SHORTEST_HEAD}


def _spelt(pattern: str) -> Iterator[str]:
    """*pattern* once for each way that it may begin: `gh[po]_` is `ghp_` and `gho_`."""
    head = _LITERAL.match(pattern)
    choice = _CHOICE.match(pattern, head.end() if head else 0)
    if choice is None or choice.start() > _ENOUGH_TO_LOOK:
        yield pattern
        return
    for option in choice[1] or choice[2].split("|"):
        yield from _spelt(pattern[: choice.start()] + option + pattern[choice.end() :])


_SHORTEST_HEAD = 3
_LITERAL = re.compile(r"(?:[A-Za-z0-9_/-](?![{?*+])|\\[.$/-](?![{?*+]))+")
_CHOICE = re.compile(r"\[([A-Za-z0-9]{1,8})\](?![{?*+])|\(\?:([^()]+)\)(?![{?*+])")
_HEAD = re.compile(r"(?:[A-Za-z0-9_/-](?![{?*+])|\\[.$/-]){4,}")
TELLING_WORDS = (
    "password",
    "PASSWORD",
    "secret",
    "SECRET",
    "token=",
    "TOKEN=",
    "PRIVATE KEY-----",
    "api_key",
    "API_KEY",
)


def hints(kinds: tuple[Token, ...], known: Iterable[bytes]) -> tuple[str, ...]:
    """What to look for first; the place of each is its family: see `Family`."""
    bound = [kind for kind in kinds if not kind.hint]
    return (
        token_hint(bound),
        token_hint([kind for kind in kinds if kind.hint]),
        PLACE_HINT,
        _LISTS + r"(?:\[|\{\s*\\{0,4}\"|\r?\n[ \t]*-[ \t])",
        URL,
        COOKIE,
        BLOCK_MENTION,
        f"{VEILED}|{_JOINT_HINT}",
        encoded_hint((*literal_heads(kinds), *TELLING_WORDS)),
        _WRAPPED,
        OPENED,
        _TABLE_HINT,
        _KEY_TYPE,
        "|".join(literal(value) for value in known),  # The last, since it may be empty.
    )


def literal(value: bytes) -> str:
    """Finds *value* itself."""
    return f" {value.hex(' ')}".replace(" ", "\\x") if value else ""


class Family:
    """The places of the families in `hints`."""

    TOKEN, FLOATING, PLACED, LISTED, URL, COOKIE, BLOCK, VEILED, ENCODED, WRAPPED, OPENED, TABLE, WEB_KEY, KNOWN = (
        range(14)
    )
