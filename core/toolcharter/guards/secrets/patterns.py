r"""The patterns of the scrubber, for google-re2 over bytes in Latin-1.

There are families of patterns: tokens with their own shape (`tables`), values beside a telling key (`places`), lists
beside such a key, credentials in URLs, cookies, blocks of private keys, and more. Each family has a pattern that finds
its matches and a wider and cheaper one that says whether a search is worthwhile (`hints`). google-re2 captures no
groups, so its automaton does all the work. `re` then reads the parts of a value beside a key from the few matches.

No part can scan far and then fail, so hostile input takes linear time.

Source: the five kinds of goclaw, `internal/tools/scrub.go`; the forms of keys and separators from the generic rule
of gitleaks and the keyword plugin of detect-secrets; for tokens, the tables name theirs.
"""

import re
from binascii import b2a_base64
from collections.abc import Iterable, Iterator
from functools import cache
from string import ascii_letters, digits

from toolcharter.guards.secrets.places import CLOSE, KEY, KEY_END, PLACE_HINT
from toolcharter.guards.secrets.tables import Token

# The text before a token, so that it is not part of a longer word (`task-...`): a word boundary, an underscore, a JSON
# or percent escape, or the end of a terminal colour.
_LEFT = r"(?:\b|_|\\[abfnrtv]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,12}m)"
LEFT_BYTES = frozenset(b"_\\%\x1b")
_WORD = r"\b"

_COUNT = re.compile(r"\{(\d+)(?:,\d*)?\}")
_ENOUGH = 20
"""How many characters of a token's body identify it. A longer count would only make the automaton larger."""
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
"""A list beside a key, in brackets or with dashes, or an object of texts; it may be cut off. `re` reads its values."""
URL = r"://[^\s/:\"'<>`\\?#]*:[^\s/\"'<>`\\]+@|://[A-Za-z0-9_-]{20,}@"
COOKIE = (
    r"(?i:cookie)[\"']?:[ \t]*[\"']?[^\r\n\"']+"
    r"|[ \t](?:-b|--cookie)[ \t=]*(?:[\"'][A-Za-z0-9_.-]+=[^\r\n\"']+|[A-Za-z0-9_.-]+=[^\s\"']+)"
)
_JOINT = r"[\"'][ \t]*[+,]?[ \t]*(?:\\?\r?\n)[ \t]*[\"']"
LINE_PREFIX = r"(?:[->|#*+]|[0-9]+[ \t:]|[A-Za-z0-9_./-]+[:-][0-9]+[:-])[ \t]{0,4}"
"""The text before each line in a diff, a quotation, a comment and in grep's output."""
BLOCK_GAP = r"(?:\r?\n[ \t]*" + LINE_PREFIX + r"|\s|\\{1,4}[nr]|" + _JOINT + r")*"
"""The text between the lines of a block: in text, in JSON within JSON, in a multi-line string of source code."""
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
"""A JSON Web Key, up to its end or to where the text is cut off."""

SERIAL = (
    r"\xe2\x80[\x8b-\x8f\xaa-\xae]",
    r"\xe2\x81[\xa0-\xaf]",
    r"\xef\xb8[\x80-\x8f]",
    r"%(?:0[ADad]|2[06BDEFbdef]|3[0-9ADad]|[46][0-9A-Fa-f]|5[0-9AFaf]|7[0-9AEae])",
    r"\\u00[2-7][0-9A-Fa-f]",
    r"\\x[2-7][0-9A-Fa-f]",
    r"\\/",
)
"""Invisible characters and escaped bytes of which several in a row can be read at once."""
OBFUSCATED = "|".join(
    (
        *SERIAL,
        r"\xef\xbb\xbf|\xc2\xad|\xcd\x8f",
        r"\x1b\[[0-9;:?]{0,16}[A-Za-z]|\\u001[Bb]\[[0-9;:?]{0,16}[A-Za-z]|\\x1[Bb]\[[0-9;:?]{0,16}[A-Za-z]",
        r"\\u200[b-fB-F]",
        r"&(?:quot|apos|amp|lt|gt|equals|colon|#(?:34|38|39|45|58|60|61|62|95)|#[xX](?:2[267dD]|3[acdeACDE]|5[fF]));",
    )
)
"""Invisible characters, terminal colours and escapes. A secret may continue after them, or be written with them.

Each alternative begins with its own first byte, like those of `JOINTS`, so `re` skips bytes with which no veil begins.
"""

_SIGN = r"[\w+/=.-]"
PLUS = r"(?:\+|\.\.?|&|~|\|\||<>|<<|\.concat\()?"
"""An operator that concatenates two strings in some language; it may be empty."""
# Two strings that are concatenated, on one line or on two. The source code may be within JSON.
_BETWEEN = rf"[ \t]*{PLUS}[ \t]*(?:(?:\\?\r?\n|\\{{1,2}}n)[ \t]*{PLUS}[ \t]*)?[A-Za-z]{{0,2}}\\{{0,2}}[\"']"
_CONTINUED = rf"(?:\\{{0,2}}[\"']{_BETWEEN}|`[ \t]*\+\s*`)"
# A string that names what follows: the `+` of a diff or of a plan stands in front of each member.
_NAME_OF_NEXT = rf"{_SIGN}{{1,100}}\\{{0,2}}[\"'][ \t]*(?:=[^=]|:)"
JOINTS = "|".join(
    (
        *(
            rf"{first}(?<={_SIGN}{{2}}{first}){rest}{_BETWEEN}(?={_SIGN}{{2}})(?!{_NAME_OF_NEXT})"
            for first, rest in ((r"\\", r"\\?[\"']"), ('"', ""), ("'", ""))
        ),
        rf"`(?<={_SIGN}{{2}}`)[ \t]*\+\s*`(?={_SIGN}{{2}})",
        rf"\\(?<={_SIGN}\\)\r?\n(?:[ \t]+(?={_SIGN}{{1,200}}\"))?(?={_SIGN})",
    )
)
"""The text between two parts of a word: between two strings in source code, or a backslash and line break. For `re`."""
_JOINT_HINT = rf"{_SIGN}{{2}}{_CONTINUED}{_SIGN}{{2}}|{_SIGN}\\\r?\n[ \t]*{_SIGN}"

ALPHABET = (ascii_letters + digits + "+/-_").encode()
"""The letters of base64, standard and for URLs."""
WRAP_LENGTH = 20
"""The shortest line of base64 that continues on the next line, in letters."""
# Without the letters of base64 for URLs: lines may also end in the names of functions.
_WRAPPED = rf"[A-Za-z0-9+/]{{{WRAP_LENGTH}}}(?:[\"'][ +,.]*)?\\?(?:\r?\n|\\{{1,4}}[nr])"
_OPENER = r"(?:!!?[a-z]+[ \t]+)?(?:[|>][+-]?[0-9]?|<<[-~]?[\"']?[A-Za-z_]+[\"']?|\"\"\"|''')\\?[ \t]*"
OPENED = KEY + KEY_END + "s?" + CLOSE + rf"[ \t]*(?:=>|:=|=|:)[ \t]*(?:{_OPENER}|[\"'][A-Za-z0-9+/_.~-]{{8,}}\\?)\r?\n"
"""A key whose value is in the following lines: after YAML's `|`, in a shell's here-document, in a quote left open."""
# Without counted repetitions, which would multiply the states of the automaton.
_CELL = r"\"?[A-Za-z0-9][A-Za-z0-9_. -]*\"?"
_KEY_CELL = r"\"?[A-Za-z0-9_. -]*" + KEY + KEY_END + r"\"?"
TABLE = rf"(?m:^)(?:(?:{_CELL}[,;\t])+{_KEY_CELL}(?:[,;\t]{_CELL})*|{_KEY_CELL}(?:[,;\t]{_CELL})+)[ \t]*\r?\n"
"""The first line of a table in which a column has a telling name."""
_TABLE_HINT = KEY + KEY_END + r"\"?(?:[,;\t][^ \r\n]|[ \t]*\r?\n)"

_BARRED_KEY = KEY + KEY_END + r"[ \t*`\"]*"
_DIVIDER = r"\r?\n[ \t]*[|+]?[ \t]*:?-{2,}[-+:| \t]*\r?\n"
# A line ends with a bar or a key: any other would not wait for the line below it, in a text that arrives in pieces.
BARRED = r"(?m:^)(?:[^|\r\n]*\|)*[^|\r\n]*" + _BARRED_KEY + r"(?:\|(?:[^|\r\n]*\|)*[ \t]*)?" + _DIVIDER
INSERTED = (
    r"(?i:insert|replace)[ \t]+(?:(?i:ignore)[ \t]+)?(?i:into)[ \t]+[^\s(]+[ \t]*\([^()\r\n]*"
    + KEY
    + KEY_END
    + r"[`\"\]]?[ \t]*(?:,[^()\r\n]*)?\)"
    r"[ \t]*(?:\r?\n[ \t]*)?(?i:values)[ \t]*(?:\r?\n[ \t]*)?"
)
COLUMNS = f"{BARRED}|{INSERTED}"
"""The names of columns, up to the beginning of the values: a line of dashes follows them, or a statement of SQL does."""
_COLUMNS_HINT = (
    _BARRED_KEY
    + r"(?:\|[^\r\n]*)?\r?\n[ \t]*[|+]?[ \t]*:?--|(?i:insert|replace)[ \t]+(?:(?i:ignore)[ \t]+)?(?i:into)[ \t]"
)

OPENED_VALUE = OPENED + r"[ \t]*[A-Za-z0-9+/_.~!@#$%^&*-]+={0,2}\\?[\"']{0,3}[ \t]*(?:\r?\n|$)"
"""A key as in `OPENED`, with the word on the first line below it."""


def token_pattern(kinds: Iterable[Token]) -> str:
    """Return a pattern that finds all tokens of *kinds*. A match begins with a match of `_LEFT`."""
    return _alternation(_with_shorter_counts(kind.pattern) for kind in kinds)


def whole_token(kinds: Iterable[Token]) -> str:
    """Return a pattern that finds the tokens of *kinds* in their full length."""
    return _alternation(kind.pattern for kind in kinds)


def cut_token(kinds: Iterable[Token]) -> str:
    """Return a pattern that finds a line that ends in the beginning of a token of *kinds*."""
    return f"(?:{_alternation(_up_to_long_count(kind.pattern) for kind in kinds)})[A-Za-z0-9_.~+/=-]*[ \\t]*\\r?\\n"


def token_hint(kinds: Iterable[Token]) -> str:
    """Return a pattern that finds a match wherever there is a token of *kinds*."""
    return _alternation(kind.hint or _up_to_long_count(kind.pattern) for kind in kinds)


def _alternation(patterns: Iterable[str]) -> str:
    words: list[str] = []
    others: list[str] = []
    for pattern in patterns:
        (words if pattern.startswith(_WORD) else others).append(pattern.removeprefix(_WORD))
    return "|".join((*([f"{_LEFT}(?:{'|'.join(words)})"] if words else []), *others))


def _with_shorter_counts(pattern: str) -> str:
    head = _HEAD.match(pattern.removeprefix(_WORD))
    if not head or head[0].isalnum():  # A head of letters occurs in base64, too: only the length distinguishes it.
        return pattern
    return _COUNT.sub(lambda count: count[0] if int(count[1]) <= _ENOUGH else f"{{{_ENOUGH},}}", pattern)


def _up_to_long_count(pattern: str) -> str:
    """*pattern* up to its first long count outside groups."""
    for count in _COUNT.finditer(pattern):
        if int(count[1]) > _ENOUGH_TO_LOOK and _group_depth(pattern[: count.start()]) == 0:
            return f"{pattern[: count.start()]}{{{_ENOUGH_TO_LOOK}}}"
    return pattern


def _group_depth(pattern: str) -> int:
    bare = re.sub(r"\\.|\[[^\]]*\]", "", pattern)
    return bare.count("(") - bare.count(")")


def encoded_hint(words: Iterable[str]) -> str:
    """Return a pattern that finds each of *words* in base64 text, in any alignment.

    A word that is too short to be recognised there is searched for with each letter that may follow it.
    """
    # Grouped by all characters but the last, so that the automaton is built in half the time.
    endings = dict[bytes, set[bytes]]()
    for word in words:
        for start, ends in _encoded(word.encode()):
            endings.setdefault(start, set()).update(ends)
    either = b"|".join(b"%b[%b]" % (start, b"".join(sorted(ends))) for start, ends in sorted(endings.items()))
    return either.replace(b"+", rb"\+").decode()


def _encoded(word: bytes) -> Iterator[tuple[bytes, Iterable[bytes]]]:
    """The base64 of *word* for each alignment: all characters but the last, and the choices for the last one."""
    for before in range(3):
        signs = b2a_base64(b"\0" * before + word)[(before * 8 + 5) // 6 : (before + len(word)) * 8 // 6]
        if len(word) < _ENOUGH_TO_LOOK:
            shared = (before + len(word)) * 8 % 6  # bits of the last letter that share a character with the next letter
            followed = _base64_continuations(shared, word[-1] % (1 << shared))
            yield from ((signs + start, ends) for start, ends in followed.items())
        else:
            yield signs[:-1], (signs[-1:],)


_LETTERS = tuple((ascii_letters + digits).encode())


@cache
def _base64_continuations(shared: int, low: int) -> dict[bytes, set[bytes]]:
    """The base64 of any letter after the *shared* bits *low*: all characters but the last, and the choices for that."""
    count, unseen = divmod(shared + 8, 6)
    found = dict[bytes, set[bytes]]()
    for letter in _LETTERS:
        bits = ((low << 8 | letter) >> unseen) << (24 - 6 * count)
        tail = b2a_base64(bits.to_bytes(3, "big"))[:count]
        found.setdefault(tail[:-1], set()).add(tail[-1:])
    return found


def literal_heads(kinds: Iterable[Token]) -> set[str]:
    """The literal beginnings of the tokens of *kinds*, which may have a few alternatives."""
    heads = (_LITERAL.match(way) for kind in kinds for way in _spell_alternatives(kind.pattern.removeprefix(_WORD)))
    return {word for head in heads if head and len(word := head[0].replace("\\", "")) >= _SHORTEST_HEAD}


def _spell_alternatives(pattern: str) -> Iterator[str]:
    """Yield *pattern* once for each alternative of its beginning: `gh[po]_` becomes `ghp_` and `gho_`."""
    head = _LITERAL.match(pattern)
    choice = _CHOICE.match(pattern, head.end() if head else 0)
    if choice is None or choice.start() > _ENOUGH_TO_LOOK:
        yield pattern
        return
    for option in choice[1] or choice[2].split("|"):
        yield from _spell_alternatives(pattern[: choice.start()] + option + pattern[choice.end() :])


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
    """The cheap pattern of each family. Its index is the family's number: see `Family`."""
    bound = [kind for kind in kinds if not kind.hint]
    return (
        token_hint(bound),
        token_hint([kind for kind in kinds if kind.hint]),
        PLACE_HINT,
        _LISTS + r"(?:\[|\{\s*\\{0,4}\"|\r?\n[ \t]*-[ \t])",
        URL,
        COOKIE,
        BLOCK_MENTION,
        f"{OBFUSCATED}|{_JOINT_HINT}",
        encoded_hint((*literal_heads(kinds), *TELLING_WORDS)),
        _WRAPPED,
        OPENED,
        _TABLE_HINT,
        _KEY_TYPE,
        _COLUMNS_HINT,
        "|".join(escape_literal(value) for value in known),  # The last one, since it may be empty.
    )


def escape_literal(value: bytes) -> str:
    """Return a pattern that finds *value* itself; empty for an empty value."""
    return f" {value.hex(' ')}".replace(" ", "\\x") if value else ""


class Family:
    """The numbers of the families: their indices in `hints`."""

    (
        TOKEN,
        FLOATING,
        PLACED,
        LISTED,
        URL,
        COOKIE,
        BLOCK,
        OBFUSCATED,
        ENCODED,
        WRAPPED,
        OPENED,
        TABLE,
        WEB_KEY,
        COLUMNS,
        KNOWN,
    ) = range(15)
