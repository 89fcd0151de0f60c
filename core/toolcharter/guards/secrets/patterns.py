r"""What the scrubber looks for, as google-re2 patterns over bytes in Latin-1.

Six families, each with a pattern that finds and a wider and cheaper one that tells whether it is worth looking
(`hints`): tokens by their own shape (`tables`), values beside a key that tells, lists beside one, credentials in URLs, cookies, and
blocks of private keys. None of them has a group that counts for google-re2, so that its automaton alone does the
work; what a value beside a key is made of, `re` reads from the few places that were found.

No part can scan far and then fail: hostile input costs linear time.

Source: the five kinds of goclaw, `internal/tools/scrub.go`; the forms of keys and separators from the generic rule
of gitleaks and the keyword plugin of detect-secrets; for tokens, the tables name theirs.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from string import ascii_letters, digits

from toolcharter.guards.secrets.tables import Token

# What may stand before a token that would be part of a word otherwise (`task-...`): nothing of a word, an
# underscore, a JSON or percent escape, the end of a terminal colour.
_LEFT = r"(?:\b|_|\\[abfnrtv]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,12}m)"
LEFT_BYTES = frozenset(b"_\\%\x1b")
_WORD = r"\b"

_COUNT = re.compile(r"\{(\d+)(?:,\d*)?\}")
_ENOUGH = 20
"""So many characters of a token's body tell it: the automaton stays small, and a longer one is no other token."""
_ENOUGH_TO_LOOK = 4

_KEY_KINDS = (
    "api access secret private auth account encryption encrypt decryption signing sign signature master storage shared"
    " app application service client license licence session admin root deploy webhook hook integration ingest insert"
    " query write read project org user server hmac aes jwt rsa ssh crypto cipher cookie ca origin maps anon role"
    " publishable functions host consumer subscription primary secondary connection site team bot device pre_?shared"
    " sas rapidapi stripe openai anthropic fernet vault flask django"
)
_KEY = (
    r"(?i:passw(?:or)?ds?|passphrase|passcode|(?:\b|_)p(?:ass|sk)|pwd|pswd|secrets?|token|bearer|authorization|credentials?"
    r"|(?:" + "|".join(sorted(_KEY_KINDS.split())) + r")[_. -]?key|apikey|[_:]auth|\bauth|authtoken"
    r"|session_?id|[?&;]sig|x-amz-signature|connection_?string|webhook_?url)"
)
_KEY_END = r"(?i:[_.-]?(?:value|base|prod|production|dev|staging|test|live|old|new|primary|secondary|[0-9]{1,2}))?"
_COLOUR = r"(?:\x1b\[[0-9;]{0,12}m)?"
# The key's closing quote, also escaped; `]` for `environ["TOKEN"] = ...`.
_CLOSE = r"(?:\\{0,4}[\"'`])?\]?" + _COLOUR
_BREAK = r"(?:(?:[|>][+-]?)?[ \t]*\r?\n[ \t]+)?"
# Beside `=` and `:`, the ways of XML, of an attribute beside its name, and of lists of names and values.
_EQUALS = (
    r"(?:[ \t]*(?:\{[ \t]*\r?\n(?:[ \t]*(?:type|description|sensitive|nullable|ephemeral)[ \t]*=[^\r\n]*\r?\n)*"
    r"[ \t]*default[ \t]*=|=>|:=|\?=|==?|::?|[ \t]is:)[ \t]*" + _BREAK + r"|>|[ \t]+value[ \t]*=[ \t]*"
    r"|(?:,[ \t]*(?:\r?\n[ \t]*)?\"[A-Za-z]+\"[ \t]*:[ \t]*(?:true|false|null|\"[^\"\r\n]*\"))?"
    r",?[ \t]*(?:\r?\n[ \t]*)?\\{0,4}[\"']?(?i:(?:parameter|output|secure)?value)\\{0,4}[\"']?[ \t]*:[ \t]*)" + _COLOUR
)
_SCHEME = r"(?i:(?:bearer|basic|token|digest|apikey|ssws|negotiate)[ \t]+)?"
# A digit or a sign that no name has: what a secret has that a word has not.
_TELLS = r"0-9!@#$%^*?+~"
_BARE = r"\s\"'`,;&<>(){}\[\]|\\\x1b"
_UNQUOTED = (
    r"(?:[^" + _BARE + "$" + _TELLS + r"][^" + _BARE + _TELLS + r"]*)?[" + _TELLS + r"][^" + _BARE + r"]*|[A-Za-z]{8,}"
    r"|[A-Za-z+/]{6,}={1,2}|[A-Za-z]+(?:_[A-Za-z]+)+"
)
_END = r"(?:[\s\"'`,;&<>)}\]|\\\x1b]|$)"


def _quoted(quote: str) -> str:
    plain = rf"[^{quote}\\\r\n{_TELLS}]|\\."
    return rf"(?:\(\s*)?{quote}{_SCHEME}((?:{plain})*[{_TELLS}](?:[^{quote}\\\r\n]|\\.)*|[A-Za-z]{{8,}}|[A-Za-z+/]{{6,}}={{1,2}}){quote}"


def _escaped(quote: str) -> str:
    return rf"\\{{1,4}}{quote}{_SCHEME}([^\"'\\\r\n]{{4,}})\\{{1,4}}{quote}"


_STRONG = r"([A-Za-z0-9+/_.~!@#$%^-][A-Za-z0-9+/=_.~:!@#$%^&*?-]{11,})"
# Weaker ways of saying what belongs to a key: they count for values alone that cannot be anything but random.
_SOFT = (
    r"(?:[ \t]+(?:to|is|was|=)[ \t]+|[ \t]*<|[ \t]*->[ \t]*|[ \t]*,[ \t]*|[ \t]*\|[ \t]*|\\{0,4}\([ \t]*|[ \t]+)\\{0,4}[\"'`]?"
    + _COLOUR
)
_VALUE = "|".join(
    (_escaped('"'), _escaped("'"), _quoted('"'), _quoted("'"), _quoted("`"), _SCHEME + rf"({_UNQUOTED}){_END}")
)
_FLAG = r"--[A-Za-z0-9-]*" + _KEY + r"[ \t]+[\"']?([^\s\"'`$<>(){}\[\]|\\;-][^\s\"']{5,})"
_BEARER = r"(?i:\b(?:bearer|ssws))[ \t]+([A-Za-z0-9._~+/-]{16,}=*)"
_NETRC = r"\blogin[ \t]+\S+(?:[ \t]+|[ \t]*\r?\n[ \t]*)password[ \t]+[\"']?([^\s\"'<>{}]{4,})"
_CURL_USER = r"\b(?:curl|wget|http|https)[ \t](?:[^\r\n]*?[ \t])?(?:-u|--user|--proxy-user)[ \t=]*[\"']?[^\s:\"'$]+:([^\s\"'$]{4,})"
_COMMAND = (
    r"\b(?:sshpass[ \t]+-p[ \t]*|(?:requirepass|masterauth)[ \t]+"
    r"|(?:mysql|mysqldump|mysqladmin|mariadb)[ \t](?:[^\r\n]*?[ \t])?-p|redis-cli[ \t](?:[^\r\n]*?[ \t])?-a[ \t]+)"
    r"[\"']?([^\s\"'$<>{}-][^\s\"']{3,})"
)
# What a database is told, what its connections, clients and files of passwords are.
_SQL = (
    r"(?:(?:\bIDENTIFIED|(?i:\buser[ \t]+\S+[ \t]+identified))(?i:[ \t]+(?:with[ \t]+[\w'\"]+[ \t]+)?(?:by|as)[ \t]+"
    r"(?:password[ \t]+)?)|(?i:\b(?:with|encrypted|login)[ \t]+password[ \t]+))['\"]([^'\"\r\n]{4,})['\"]"
    r"|(?i:\buser[ \t]+\S+[ \t]+identified[ \t]+by[ \t]+)([^\s'\"<>{}$;&:]{4,})"
)
_BRACES = r"(?i:\bpwd|\bpassword)=\{([^{}\r\n]{4,})\}"
_ORACLE = (
    r"(?:\b(?:sqlplus|sqlldr|expdp|impdp|rman|sqlcl)[ \t]+(?:-\w+[ \t]+)*[\"']?[A-Za-z]\w*"
    r"|\bjdbc:oracle:(?:thin|oci8?):[^\s/@:]+)/[\"']?([^\s@/\"'$<>{}]{4,})[\"']?@"
)
_PGPASS = r"(?m:^)[A-Za-z0-9*][\w.*-]*:(?:\*|5[0-9]{3}|6[45][0-9]{2}):[^\s:(),]+:[^\s:/(),]+:([^\s:]{4,})"
_SIGNED = r"\b[Ss]ignature=[\"']?([A-Za-z0-9+/]{40,}={0,2})|\bresponse=\"?([0-9a-f]{32,64})\b"

PLACED = "|".join(
    (
        _KEY + _KEY_END + _CLOSE + rf"(?:{_EQUALS}(?:{_VALUE})|{_SOFT}{_STRONG})",
        _FLAG,
        _BEARER,
        _NETRC,
        _CURL_USER,
        _COMMAND,
        _SQL,
        _BRACES,
        _ORACLE,
        _PGPASS,
        _SIGNED,
    )
)
"""Values in a place that tells. `re` gives the value in the group that matched last: see `Place`."""


class Place:
    """The groups of `PLACED`."""

    ESCAPED = frozenset({1, 2})
    QUOTED = frozenset({1, 2, 3, 4, 5})
    STRONG = frozenset({7, 9, 18, 19})
    TOLD = frozenset({13, 14, 16})
    """Where nothing but a password stands, whatever it is made of."""
    FLAG, BRACES, PGPASS = 8, 15, 17


_LISTS = _KEY + _KEY_END + "s?" + _CLOSE + r"[ \t]*(?:=>|:=|=|:)[ \t]*"
_QUOTED_ITEM = r"(?:\"[^\"\r\n]*\"|'[^'\r\n]*')"
LISTED = (
    _LISTS + r"(?:\[(?:[ \t]*\r?\n[ \t]*" + _QUOTED_ITEM + r"(?:[ \t]*,[ \t]*(?:\r?\n[ \t]*)?" + _QUOTED_ITEM + r")*"
    r"|[^\[\]{}\r\n]+)|\r?\n[ \t]*-[ \t][^\r\n]*(?:\r?\n[ \t]*-[ \t][^\r\n]*)*)"
)
"""A list beside a key, in brackets or each value behind a dash; it may be cut off. `re` reads the values from it."""
URL = r"://[^\s/:\"'<>`\\?#]*:[^\s/\"'<>`\\]+@|://[A-Za-z0-9_-]{20,}@"
COOKIE = (
    r"(?i:cookie)[\"']?:[ \t]*[\"']?[^\r\n\"']+"
    r"|[ \t](?:-b|--cookie)[ \t=]*(?:[\"'][A-Za-z0-9_.-]+=[^\r\n\"']+|[A-Za-z0-9_.-]+=[^\s\"']+)"
)
_JOINT = r"[\"'][ \t]*[+,]?[ \t]*(?:\\?\r?\n)[ \t]*[\"']"
LINE_PREFIX = r"(?:[->|#*+]|[0-9]+[ \t:]|[A-Za-z0-9_./-]+[:-][0-9]+[:-])[ \t]{0,4}"
"""What stands before each line in a diff, a quotation, a comment, and in what grep finds."""
BLOCK_GAP = r"(?:\r?\n[ \t]*" + LINE_PREFIX + r"|\s|\\{1,4}[nr]|" + _JOINT + r")*"
"""What goes between the lines of a block: in text, in JSON within JSON, in a string of source code over many lines."""
BLOCK = (
    r"-----BEGIN[ A-Z0-9_]{0,60}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----(?:[ \t]*[A-Za-z0-9+/]{16}"
    r"|[ \t]*(?:\r?\n[ \t]*(?:" + LINE_PREFIX + r")?|\\{1,4}[nr]|" + _JOINT + ")" + BLOCK_GAP + r"[A-Za-z0-9+/]{2})"
    r"|\bPrivate-Lines:[ ]?[0-9]+\r?\n[A-Za-z0-9+/]{2}"
)

_SPACE = r"(?:[ \t]|\\t)"
_PLACE_HINT = (
    _KEY + _KEY_END + r"(?:\\{0,9}[\"'`])?\]?(?:(?:\x1b|\\u001b)\[[0-9;]{0,12}m)?"
    r"(?:"
    + _SPACE
    + r"*(?:[:=?>|<,({]|->)|"
    + _SPACE
    + r"+(?:to|is|was|value)\b|(?:\r?\n|\\r|\\n)?"
    + _SPACE
    + r"*[vV]alue"
    r"|" + _SPACE + r"+[\"'`]?[A-Za-z0-9+/=_.~:!@#$%^&*?-]{12})"
    r"|(?i:\b(?:bearer|ssws))" + _SPACE + r"+[A-Za-z0-9._~+/-]{16}"
    r"|--[A-Za-z0-9-]*" + _KEY + _SPACE + r"+\S"
    r"|\blogin[ \t]+\S+(?:[ \t]+|[ \t]*\r?\n[ \t]*)password[ \t]|[ \t](?:-u|--user|--proxy-user)[ \t=]*[\"']?[^\s:\"'$]+:"
    r"|\b(?:sshpass|requirepass|masterauth|mysql|mysqldump|mysqladmin|mariadb|redis-cli|sqlplus|sqlldr|expdp|impdp|rman|sqlcl)[ \t]"
    r"|(?i:identified|user|with|encrypted|login)[ \t]+(?i:by|as|password)[ \t]+['\"]|(?i:identified[ \t]+(?:by|with))"
    r"|jdbc:oracle:|:(?:\*|5[0-9]{3}|6[45][0-9]{2}):[^\s:]+:|\b[Ss]ignature=|\bresponse="
)
VEILED = (
    r"\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xb8[\x80-\x8f]|\xef\xbb\xbf|\xc2\xad|\xcd\x8f"
    r"|(?:\x1b|\\u001[Bb]|\\x1[Bb])\[[0-9;:?]{0,16}[A-Za-z]"
    r"|%(?:0[ADad]|2[0BDEFbdef]|3[0-9ADad]|[46][0-9A-Fa-f]|5[0-9AFaf]|7[0-9AEae])"
    r"|\\u00[2-7][0-9A-Fa-f]|\\x[2-7][0-9A-Fa-f]|\\u200[b-fB-F]|\\/"
    r"|&(?:quot|apos|amp|lt|gt|equals|colon|#(?:34|38|39|45|58|60|61|62|95)|#[xX](?:2[267dD]|3[acdeACDE]|5[fF]));"
)
"""Characters that are not seen, colours of a terminal, and what is escaped: a secret may go on behind them, or in them."""

_SIGN = r"[\w+/=.-]"
_CONTINUED = r"[\"'][ \t]*[+.]?[ \t]*\\?\r?\n[ \t]*(?:[+.][ \t]*)?[\"']"
JOINTS = (
    rf"(?<={_SIGN}){_CONTINUED}(?={_SIGN})"
    rf"|(?<={_SIGN})\\\r?\n(?:[ \t]+(?={_SIGN}{{1,200}}\"))?(?={_SIGN})"
)
"""Where a word goes on in the next line: in the next string of source code, or behind a backslash. For `re`."""
_JOINT_HINT = rf"{_SIGN}{_CONTINUED}{_SIGN}|{_SIGN}\\\r?\n[ \t]*{_SIGN}"

ALPHABET = (ascii_letters + digits + "+/-_").encode()
"""Of base64, both kinds."""
WRAP_LENGTH = 20
"""In letters: so long is a line of base64 that goes on in the next, at least."""
# Without the letters of the kind for URLs: names of functions end lines, too.
_WRAPPED = rf"[A-Za-z0-9+/]{{{WRAP_LENGTH}}}(?:[\"'][ +,.]*)?\\?(?:\r?\n|\\{{1,4}}[nr])"
_OPENER = r"(?:!!?[a-z]+[ \t]+)?(?:[|>][+-]?[0-9]?|<<[-~]?[\"']?[A-Za-z_]+[\"']?|\"\"\"|''')\\?[ \t]*"
OPENED = (
    _KEY + _KEY_END + "s?" + _CLOSE + rf"[ \t]*(?:=>|:=|=|:)[ \t]*(?:{_OPENER}|[\"'][A-Za-z0-9+/_.~-]{{8,}}\\?)\r?\n"
)
"""A key whose value stands in the lines that follow: `|` of YAML, a document of a shell, a quote left open."""
# Without counts, which would multiply the states of the automaton.
_CELL = r"\"?[A-Za-z0-9][A-Za-z0-9_. -]*\"?"
_KEY_CELL = r"\"?[A-Za-z0-9_. -]*" + _KEY + _KEY_END + r"\"?"
TABLE = rf"(?m:^)(?:(?:{_CELL}[,;\t])+{_KEY_CELL}(?:[,;\t]{_CELL})*|{_KEY_CELL}(?:[,;\t]{_CELL})+)[ \t]*\r?\n"
"""The first line of a table in which the name of a column tells."""
_TABLE_HINT = _KEY + _KEY_END + r"\"?(?:[,;\t][^ \r\n]|[ \t]*\r?\n)"

KEY_BEFORE = _KEY + _KEY_END + _CLOSE + r"[ \t]*(?:=>|:=|=|:)[ \t]*(?:\\{0,4}[\"'`])?" + _SCHEME + r"\Z"
KEY_NAME = _KEY + _KEY_END + r"$"
"""Where the name of a JSON member ends like this, its text is a secret: `dbPassword`, `X-API-Key`."""


def token_pattern(kinds: Iterable[Token]) -> str:
    """Finds all tokens of *kinds*; what `_LEFT` holds stands at the beginning of a match."""
    return _alternation(_relaxed(kind.pattern) for kind in kinds)


def token_hint(kinds: Iterable[Token]) -> str:
    """Finds something wherever one of *kinds* stands."""
    return _alternation(kind.hint or _beginning(kind.pattern) for kind in kinds)


def _alternation(patterns: Iterable[str]) -> str:
    words: list[str] = []
    others: list[str] = []
    for pattern in patterns:
        (words if pattern.startswith(_WORD) else others).append(pattern.removeprefix(_WORD))
    return "|".join((*([f"{_LEFT}(?:{'|'.join(words)})"] if words else []), *others))


def _relaxed(pattern: str) -> str:
    head = _HEAD.match(pattern.removeprefix(_WORD))
    if not head or head[0].isalnum():  # Letters alone stand in base64 too: only the length tells.
        return pattern
    return _COUNT.sub(lambda count: count[0] if int(count[1]) <= _ENOUGH else f"{{{_ENOUGH},}}", pattern)


def _beginning(pattern: str) -> str:
    """*pattern* up to its first long count that stands in no group."""
    for count in _COUNT.finditer(pattern):
        if int(count[1]) > _ENOUGH_TO_LOOK and _depth(pattern[: count.start()]) == 0:
            return f"{pattern[: count.start()]}{{{_ENOUGH_TO_LOOK}}}"
    return pattern


def _depth(pattern: str) -> int:
    bare = re.sub(r"\\.|\[[^\]]*\]", "", pattern)
    return bare.count("(") - bare.count(")")


def encoded_hint(words: Iterable[str]) -> str:
    """Finds each of *words* in text that is base64, however it is aligned."""
    return "|".join(sorted({re.escape(part) for word in words for part in _encoded(word.encode())}))


def _lengthened(words: Iterable[str]) -> Iterator[str]:
    """*words*, those that are too short to be seen in base64 with each letter that may follow."""
    for word in words:
        yield from [word] if len(word) >= _ENOUGH_TO_LOOK else [word + letter for letter in ascii_letters + digits]


def _encoded(word: bytes) -> Iterator[str]:
    for before in range(3):
        text = b64encode(b"\0" * before + word).decode()
        yield text[(before * 8 + 5) // 6 : (before + len(word)) * 8 // 6]


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
        _PLACE_HINT,
        _LISTS + r"(?:\[|\r?\n[ \t]*-[ \t])",
        URL,
        COOKIE,
        r"PRIVATE[ ]KEY|Private-Lines:",
        f"{VEILED}|{_JOINT_HINT}",
        encoded_hint((*_lengthened(literal_heads(kinds)), *TELLING_WORDS)),
        _WRAPPED,
        OPENED,
        _TABLE_HINT,
        "|".join(literal(value) for value in known),  # The last, since it may be empty.
    )


def literal(value: bytes) -> str:
    """Finds *value* itself."""
    return "".join(f"\\x{byte:02x}" for byte in value)


class Family:
    """The places of the families in `hints`."""

    TOKEN, FLOATING, PLACED, LISTED, URL, COOKIE, BLOCK, VEILED, ENCODED, WRAPPED, OPENED, TABLE, KNOWN = range(13)
