"""Decide whether the text beside a telling key is a secret, or a type, a name, a path or a placeholder."""

import re

from toolcharter.guards.secrets.wordy import PIECE, is_jumbled, is_wordy

_LOOKED_AT = 4096  # In bytes: the beginning of a long text suffices, and its check stays cheap.
_STRONG_LENGTH = 16
_MIXED_LENGTH = 12
"""Suffices instead of `_STRONG_LENGTH` if the value mixes small letters, capitals and digits."""
_WORD_LENGTH = 8
_SHORTEST_LOOSE = 6
_LONG = 32
"""From this length on, a text with a telling word in it may be random. A shorter text is a name."""

NOT_SECRETS = frozenset(
    b"none null nil true false undefined string text str bytes int integer float number bool boolean object any "
    b"optional required redacted [redacted] changeme change-me change_me changeit todo fixme tbd example placeholder "
    b"value password passwd pass secret secrets token tokens key apikey api_key api-key hidden masked empty unset "
    b"default xxx your-token your_token yourtoken your-password your_password yourpassword your-api-key your_api_key "
    b"yourapikey your-secret your_secret mypassword my-password my_password mysecret my-secret my_secret mytoken "
    b"my-token my_token test testing dummy fake sample username user secretref valuefrom "
    b"passphrase credential credentials private_key secret_key client_secret access_token auth_token db_password session_id salt "
    b"option options flag argument parameter required specified authentication "
    b"foobar insert-token-here replace-me replace_me replaceme n/a".split()
)
"""Values that name a type, a state or a placeholder, in lower case."""

_PLACEHOLDER = re.compile(
    rb"[\$%@]\{?\{?[A-Za-z_][\w.-]*\}?\}?[%@]?"  # $TOKEN, ${TOKEN}, %TOKEN%
    rb"|\$\{?[0-9@*#?!-]\}?|\?[A-Za-z_]+"  # $1, ${@}; what a shell says where ${TOKEN:?TOKEN is required} is not set
    rb"|@@[A-Za-z_][\w.-]*@@|__[A-Z][A-Z0-9_]*__|%%[A-Za-z_]\w*%%|#\{[^{}]*\}|<%.*%>"  # @@TOKEN@@, __TOKEN__, #{token}
    rb"|\$[({].*|&lt;.*&gt;\W*|<[^<>]*>|(?:\{[^{}]*\}[:@/._-]?)+|\$?\{\{[^{}]*\}\}|\[[^\[\]]*\]+"  # <your token>, {token}, {{ token }}
    rb"|\d*\*\d*[A-Za-z-]+|(?:&|!!?)[A-Za-z_][\w.-]*|/[\^(\[].*"  # 1*tchar, &anchor, !name, /^expression/
    rb"|%(?:\(\w*\))?[sdrq]|%[+#0 -]?\d*[a-zA-Z]"  # %(token)s, %-10s
    rb"|\W{1,8}(?:REDACTED|FILTERED|MASKED|HIDDEN|REMOVED)\W{1,8}|[xX*]{6,}[A-Za-z0-9]{1,4}"  # ***REDACTED***, xxxxxxxx1234
    rb"|[xX*.#?_\-0]{3,}"  # xxxxxxxx, ********
    rb"|(?:your|my|insert|replace|enter|put|change)[-_ ](?:(?:[a-z]++\d?|\d)[-_ ]?){1,7}"  # your-token-here
    rb"|(?:YOUR|MY|INSERT|REPLACE|ENTER|PUT|CHANGE)[-_](?:[A-Z]++[-_]?){1,6}"  # YOUR_ACCESS_TOKEN
    rb"|(?:[A-Za-z0-9]+[-_])*(?:abc|ABC)123\.\.\."  # discord-secret-abc123...
    rb"|(?:fake|test|dummy|mock|custom)[-_](?:[a-z]+[-_]){0,2}token"  # test_token
    rb"|(?:an?|the|some)[-_ ](?:[a-z]+[-_ ]){0,5}(?:pass[a-z]*|secret|token|key|value|string|text|name)[a-z]*(?:[-_ ][a-z]+)?"  # the-token
    rb"|[A-Za-z_-]*(?:_here|-here|_HERE|-HERE|[xX*]{4,}|(?:[0-9]{2}[-_])?\.\.\.)"  # sk-xxxxxx, abc..., sk-ant-api03-...
    rb"|(?:[a-z_]\w{0,40}\.)*[A-Z][A-Za-z0-9]{1,40}(?:(?:Private|Public|Secret)Key|Token|Credentials?)\d?"  # A class: X448PrivateKey, OAuth2Token
    rb"|\$[A-Za-z_]\w*+(?:(?:::|->|[./-])(?:[\w.]|-(?!>))*+)++#?|\\?[\"']\$\w+\\?[\"']|\*[A-Za-z]+(?:_[A-Za-z]+)+"  # Variables
    rb"|--[a-z][a-z-]*(?:=.*)?|-?anonymous@"  # An option, an anonymous login
    rb"|(?:AES|SHA|PKCS|UTF|RSA|HMAC|MD|[EHPR]S|ED|X)-?\d{1,5}(?:-[A-Z]{2,6})?"  # The name of an algorithm
    rb"|(?:u?int|U?INT|CARD|float|FLOAT)\d{1,3}(?:_t)?|(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}"  # A type, an address
    rb"|\w+:[x*!]:\d+:\d+:.*"  # A line of /etc/passwd
    rb"|#[0-9A-Fa-f]{3,8}"  # The colour of a token in a style sheet
    rb"|(?:env|secret|vault|ref|file|aws|ssm|op|arn|sops|gcp|azure)s?[:.(].*"  # env:TOKEN, vault:kv/token
)
_VERSION_OR_HASH = re.compile(
    rb"(?:%(version)s(?:[ ]?(?:(?:-|\|\||,)[ ]?)?%(version)s)*"  # A version, or a range of them: ^1.0.4
    rb"|(?:\^|~|[<>]=?)[ ]?\d{1,9}|(?:npm|workspace|file|link|github|git|patch|catalog|portal):.*"  # A package's source
    rb"|(?:sha(?:1|224|256|384|512)|md5|h1|blake2b)[-:](?:[A-Za-z0-9+/]{22,}={0,2}|[0-9a-f]{32,}))"
    % {
        b"version": rb"(?:(?:\^|~>?|[<>]=?|=+|v)[ ]?)?\d{1,9}(?:\.(?:\d{1,9}|[xX*])){1,3}(?:[-+][A-Za-z0-9.+-]{1,40}+)?+"
    }
)
_TAIL = 8
_MASKING = (b"x", b"X", b"*", b"_", b"-", b".")
_LONGEST_PLAIN = 60
_MOST_OF_ONE = 0.7
"""The largest share of a token that one letter may have. Base64 of zero bytes has a larger share."""
_PLAIN = re.compile(rb"[a-z]{2,10}(?:-[a-z]{2,20}){2,8}|[A-Za-z-]{2,20}[-_](?:your|YOUR|Your)[-_A-Z][A-Za-z0-9_-]*")
"""The name of a package after the name of its index; words behind a token's prefix, `xoxb-your-token`, `secret-test-folder-name`, `ghp_your_token_1`."""
_TYPED = re.compile(rb"(?i)[a-z]*(?:abcdef|qwert|asdfg|zxcvb)[a-z]*")
_ADDRESS = re.compile(rb"[a-z][a-z0-9+.-]*://.*|(?:~|\.{1,2})?(?:/[A-Za-z0-9_.@+-]+)+/?", re.DOTALL | re.IGNORECASE)
_PATH = re.compile(
    rb"(?:~|\.{1,2}|[A-Za-z]:)?[/\\][A-Za-z_.~-][\w.@+-]*(?:[/\\][\w.@+-]*)*|[\w.-]+(?:/[\w.-]+)*\.[A-Za-z]{2,5}"
)
_BASE64 = re.compile(rb"(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?=[^0-9]*[0-9])[A-Za-z0-9+/]{40,}={0,2}")
_CODE = re.compile(
    rb"[ \t]|[),;+](?:[\s)+]|$)|[\"'][ \t]*[.+]"
)  # The code after a quote that ends a string: `"token=" + x`
_DOTTED = re.compile(
    rb"[A-Za-z_][A-Za-z_0-9]{0,30}(?:(?:\.|->|::|\?\.)[A-Za-z_]\w{0,40}|\[[^\[\]]*\])+"
)  # The parts of a JWT are longer.
_PART_OF_WAY = re.compile(rb"\w{20,}")
_WORDS = re.compile(
    rb"-{0,2}(?:[A-Za-z]{1,15}|\d{1,5}[a-z]?|[A-Za-z]{1,12}\d{1,5}[a-z]?)(?:[-_./:=](?:[A-Za-z]{1,15}|\d{1,5}[a-z]?|[A-Za-z]{1,12}\d{1,5}[a-z]?))+"
)
_NUMBER = re.compile(rb"[+-]?[\d.,_:/ -]+(?:[a-zA-Z%]{1,2})?|0x[0-9a-fA-F]{1,16}[uUlL]{0,3}")
_TELLING_WORD = re.compile(rb"token|secret|passw|api_?key|auth|bearer|credential|getenv|environ", re.IGNORECASE)
_NAME = re.compile(rb"[A-Za-z_][A-Za-z_.\- ]*:?")
_RESULT = re.compile(rb"PASS:[ \t]+[\"']?")
_IN_TEST_NAME = re.compile(rb"[ /._:-]")
"""Characters that occur in the names of tests that passed."""
_EXPRESSION = re.compile(rb"\.[+*]|\\[dwsS]|\[\^?[A-Za-z0-9]-")
_ARGUMENT = re.compile(rb"[A-Za-z_]\w{0,40}=[^=]")
_IDENTIFIER = re.compile(rb"[A-Za-z_]\w*(?:[-+*/%.]+[A-Za-z_]\w*)*[!?*&+]?")
_QUOTE = re.compile(rb"[\"'`]")
_LONG_NUMBER = re.compile(rb"\d{4}")
_DIGIT = re.compile(rb"\d")
_SPACE = re.compile(rb"\s")
_UPPER = re.compile(rb"[A-Z]")
_LOWER = re.compile(rb"[a-z]")
_LETTER = re.compile(rb"[A-Za-z]")
_LEAST = 100_000
"""A smaller number beside `password` is a setting."""
_AMOUNT = re.compile(rb"[+-]?(\d+)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")
_PASSWORD_KEY = re.compile(rb"(?i)[a-z_]{0,6}(?:pass|pwd|pswd)")
_PART = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PART_OF_NAME = frozenset(
    b"""access account action active add address admin api app arg argument array assert async attr attribute auth bad base bind block
    body bool buffer button by byte cache call callback cell char check child children class clear client code column command comment commit compare
    component conf config confirm connect connection const constant content context control convert cookie copy count create
    credential crypt current cursor custom data database db debug default define del delete description dialog dict digest dir
    disable dispatch display doc domain driver dummy edit element email empty enable encode encrypt enter entered entry env error event example
    exception exist expected expire expr extra factory fail fake false feature fetch field file filter find first flag flow
    focus form format found from func function generate get given global group handle handler has hash header help hex hidden hint hook
    host html http id image impl index info init input insert instance int internal invalid is item json keep kind label
    last length level lib limit line link list load local lock log login mail manager map mask match max member message meta
    method min missing mock mode model module must name need new next no node none not null num number object old only open
    operation option opt order output override page panel param parameter parse parser part path pattern percent plain
    plugin policy pool port post prefix prev private profile prompt property protocol provider proxy public query random raw read
    record ref regex reload remote remove render repeat replace request require required reset resolve resource response result
    resolved return role root route row rule run salt saved sample save schema screen script search section select self send server
    service session set setting setup show sign size skip source spec sql start state static status step storage store str
    stream string strip strong stub submit supplied system tab table tag target task temp template test text theme time title
    tmp to toggle transform true type undefined unit unknown update upload uri url usage use user util valid validate validation
    validator value var variable verify version view visible visit wait warning weak widget win window with word wrap write wrong xml""".split()
)
"""Words that occur in the names of a program's variables and functions."""
_FEWEST_LETTERS = 3
"""The least number of letters per word, on average."""
_STEMS = frozenset(part.rstrip(b"s") for part in _PART_OF_NAME)
_MORE = (b" ", b"\t")
_OPENING = (b"(", b"[", b"{")
_WEAK_KEY = re.compile(rb"(?i)(?:auth\d?|session_?id|sig)[^A-Za-z0-9]*(?:bearer|basic|token|digest)?[^A-Za-z0-9]*$")
_IDENTIFIER_KEY = re.compile(rb"(?i)(?:session_?(?:key|id)|primary_?key)[^A-Za-z0-9]*$")
"""Keys that name an identifier as often as a secret: `agent:ada:telegram:direct:7`, the key of a row."""
_PART_OF_IDENTIFIER = re.compile(rb"-?\d{1,19}|[A-Za-z0-9_.@+-]{1,128}")
_SHORT_PART = re.compile(rb"[A-Za-z0-9_.@+-]{1,8}")
_MOST_PARTS = 6
"""The most parts of a session key of toolcharter, `agent:ada:telegram:group:g1`. So few parts of up to eight letters
cannot hold a secret."""
_LONGEST_WORD = 20
_PUBLIC_KEY = re.compile(
    rb"(?:sk-)?(?:ssh|ecdsa-sha2)-[a-z0-9@.-]{1,40}[ \t]+AAAA[A-Za-z0-9+/]+={0,3}(?:[ \t]+[\w.@+-]+)?\s*"
    rb"|\s*-----BEGIN (?:RSA )?PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END (?:RSA )?PUBLIC KEY-----\s*"
)
_TOKEN_KEY = re.compile(rb"(?i)token(?:[ \t]*:[ \t]*str(?:ing)?[ \t]*=)?[^A-Za-z0-9]*$")
_NUMBERED = re.compile(rb"[a-z]+(?:[A-Z][a-z]+)*\d{1,2}")
"""A name of a program that was put together from several: `token = error62`."""
_VARIABLE = re.compile(rb"(?:PASS|PWD)[A-Z0-9_]*=[\"']?")
"""A password's name as in a shell or an env file. In source code, the value could be the name of another variable."""
_SETTING = re.compile(rb"(?:PASS|PWD|SECRET|TOKEN)[A-Z0-9_]*:[ \t]+")
"""A secret's name as in a YAML list of variables. Source code has quotes or small letters there."""
_LINE_ENDS = (b"", b"\r", b"\n")
_PASS = re.compile(rb"(?i)pass|pwd|secret|pswd")


def is_placeholder(value: bytes) -> bool:
    """Whether *value* only fills a secret's place: empty, a type's name, `<token>`, `${TOKEN}`, `****`."""
    head = value[:_LOOKED_AT].strip()
    return not head or head.lower() in NOT_SECRETS or _PLACEHOLDER.fullmatch(head) is not None


def is_path_or_address(value: bytes) -> bool:
    """Whether *value* is a path or an address, at which a secret may lie, but which is none itself."""
    head = value[:_LOOKED_AT]
    return _is_address(head) or _is_path(head)


def _is_address(value: bytes) -> bool:
    return _ADDRESS.fullmatch(value) is not None and not _is_random_base64(value)


def _is_path(value: bytes) -> bool:
    return _PATH.fullmatch(value) is not None and not _is_random_base64(value)


def _is_random_base64(value: bytes) -> bool:
    """Yes if *value* only looks like a path, since random base64 has slashes, too."""
    return _BASE64.fullmatch(value) is not None and not any(
        len(part) >= _FEWEST_LETTERS and is_wordy(part) for part in value.split(b"/")
    )


def is_identifier(key: bytes, value: bytes) -> bool:
    """Whether *key* may name an identifier, and *value* consists of words and numbers, in parts between colons.

    Args:
        key: The name, or the text before the value up to its quote.
        value: The text beside it.
    """
    if len(value) > _LOOKED_AT or _IDENTIFIER_KEY.search(key) is None:
        return False
    parts = value.split(b":")
    is_ours = parts[0] == b"agent" and len(parts) <= _MOST_PARTS
    return all(_is_part_of_identifier(part) or (is_ours and _SHORT_PART.fullmatch(part)) for part in parts)


def _is_part_of_identifier(part: bytes) -> bool:
    if _PART_OF_IDENTIFIER.fullmatch(part) is None or is_strong(part):
        return False
    return _NUMBER.fullmatch(part) is not None or (
        is_made_of_words(part) and max(map(len, PIECE.findall(part))) <= _LONGEST_WORD
    )


def is_public_key(value: bytes) -> bool:
    """Whether *value* is a public key, in OpenSSH's format or as PEM."""
    return _PUBLIC_KEY.fullmatch(value[:_LOOKED_AT]) is not None


def is_version_or_hash(value: bytes) -> bool:
    """Whether *value* is a package's version, a range of versions or a file's hash, as in lists of packages."""
    return _VERSION_OR_HASH.fullmatch(value[:_LOOKED_AT].strip()) is not None


def is_safe_to_mask(value: bytes) -> bool:
    """Whether *value* can be masked everywhere without masking a common word."""
    long_enough = len(value) >= (_WORD_LENGTH if _DIGIT.search(value) else _STRONG_LENGTH)
    return long_enough and not is_placeholder(value) and not _NUMBER.fullmatch(value)


def is_sample_token(token: bytes) -> bool:
    """Whether a token known by its shape is only an example, or no token.

    It ends in one repeated character, as in documentation, consists mostly of one letter, or is a package's name.
    """
    tail = token[-_TAIL:]
    is_zero = len(token) >= _LONGEST_PLAIN and token.count(token[:1]) > _MOST_OF_ONE * len(token)
    return (tail[-1:] in _MASKING and tail == tail[-1:] * len(tail)) or is_zero or _PLAIN.fullmatch(token) is not None


def is_strong(value: bytes) -> bool:
    """Whether *value* must be random, so that it needs no telling place to be distinguished from a name."""
    head = value[:_LOOKED_AT]
    if not (_DIGIT.search(head) and _LETTER.search(head)) or _SPACE.search(head) or _NUMBER.fullmatch(head):
        return False
    if len(head) < _LONG and _TELLING_WORD.search(head):
        return False
    if len(head) < _STRONG_LENGTH and not (len(head) >= _MIXED_LENGTH and _UPPER.search(head) and _LOWER.search(head)):
        return False
    return not (
        is_made_of_words(head)
        or _ARGUMENT.match(head)
        or is_placeholder(head)
        or is_path_or_address(head)
        or is_version_or_hash(head)
    )


def is_made_of_words(value: bytes) -> bool:
    """Whether *value* is composed of words, as identifiers, versions and file names are."""
    value = value.lstrip(b"#*&_")
    return _WORDS.fullmatch(value) is not None or _is_attribute(value) or is_wordy(value)


def _is_attribute(value: bytes) -> bool:
    """Yes if *value* is the way to an attribute, `config.token`, none of whose parts is random, as in `s.` of a Vault token."""
    return _DOTTED.fullmatch(value) is not None and not any(map(_is_random_part, _PART_OF_WAY.findall(value)))


def _is_random_part(part: bytes) -> bool:
    has_both = _DIGIT.search(part) and _LETTER.search(part)
    return bool(has_both) and not (_WORDS.fullmatch(part) or is_wordy(part))


def is_part_of_name(word: bytes) -> bool:
    """Whether *word* is a common part of the names in programs."""
    return word.lower().rstrip(b"s") in _STEMS


def is_passphrase(value: bytes) -> bool:
    """Whether *value* joins words as a chosen password does (`zebra_lamp`, `zebraLamp`), and not as a name in code."""
    parts = _PART.findall(value)
    is_built = len(value) >= _WORD_LENGTH and 1 < len(parts) <= len(value) // _FEWEST_LETTERS
    return is_built and not (_TELLING_WORD.search(value) or any(map(is_part_of_name, parts)))


def is_lone_password(value: bytes, key: bytes) -> bool:
    """Whether a word is a password that is the only content of the block below a password's key."""
    return (
        len(value) >= _WORD_LENGTH
        and _PASSWORD_KEY.match(key) is not None
        and not (is_placeholder(value) or is_path_or_address(value) or _TELLING_WORD.search(value))
    )


def is_secret(value: bytes, before: bytes, after: bytes, *, quoted: bool) -> bool:
    """Whether the *value* beside a key is a secret.

    Args:
        value: The value without its quotes.
        before: The part of the match before the value: key, separator, quote, scheme.
        after: The byte after the value; empty at the end of the text.
        quoted: Whether the value is in quotes.
    """
    head = value[:_LOOKED_AT]
    if (
        is_placeholder(head)
        or (is_version_or_hash(head) and not _is_amount(head))
        or _is_address(head)
        or (_is_code(head) if quoted else after in _OPENING)
        or is_identifier(before, head)
    ):
        return False
    if _RESULT.fullmatch(before) and (after in _MORE or _IN_TEST_NAME.search(head)):
        return False
    has_digit = _DIGIT.search(head) is not None
    if (b"\n" in before and b"default" not in before) or _WEAK_KEY.search(before) or b"::" in before:
        return is_strong(head) or (has_digit and b"value" in before.lower())
    if has_digit:
        return _is_secret_with_digit(head, before, quoted=quoted)
    return _TYPED.fullmatch(head) is not None or _is_secret_without_digit(head, before, after, quoted=quoted)


def _is_code(value: bytes) -> bool:
    return _CODE.match(value) is not None


def _is_prose(value: bytes) -> bool:
    return value.strip().count(b" ") > 1 or _is_path(value)


def _is_name(value: bytes, before: bytes) -> bool:
    if len(value) < _SHORTEST_LOOSE:
        return True
    if _is_path(value) or (_is_attribute(value) and not _LONG_NUMBER.search(value)):
        return True
    words = _WORDS.fullmatch(value) is not None
    if before[-1:] not in b" \t":
        return words and b"/" in value
    return (words and (b"/" in value or b"_" in value)) or (len(value) >= _STRONG_LENGTH and is_wordy(value))


def _is_amount(value: bytes) -> bool:
    """Whether *value* is a number too large for a setting: six digits or more before its point, with any sign."""
    amount = _AMOUNT.fullmatch(value)
    return amount is not None and (len(amount[1]) >= _SHORTEST_LOOSE or abs(float(value)) >= _LEAST)


def _is_secret_with_digit(value: bytes, before: bytes, *, quoted: bool) -> bool:
    if _NUMBER.fullmatch(value) or _AMOUNT.fullmatch(value):
        return _is_amount(value) and _PASS.match(before) is not None
    if quoted:
        return not _is_prose(value)
    is_numbered = (
        before.endswith(b"= ") and _TOKEN_KEY.search(before) is not None and _NUMBERED.fullmatch(value) is not None
    )
    return not (is_numbered or _is_name(value, before))


def _is_no_password(value: bytes) -> bool:
    """Whether *value* is no password: base64 of the wrong length, without a letter, a name or an expression."""
    padded_wrong = value.endswith(b"=") and len(value) % 4
    return bool(
        padded_wrong
        or not _LETTER.search(value)
        or _IDENTIFIER.fullmatch(value)
        or _EXPRESSION.search(value)
        or _DOTTED.fullmatch(value)
    )


def _is_secret_without_digit(value: bytes, before: bytes, after: bytes, *, quoted: bool) -> bool:
    is_random = len(value) >= _STRONG_LENGTH and not value.isupper() and is_jumbled(value)
    if is_random or not _NAME.fullmatch(value):
        return is_random or (len(value) >= _WORD_LENGTH and not _is_no_password(value))
    if _TELLING_WORD.search(value):
        return False
    is_element = after == b"<" and before.endswith(b">") and _PASS.match(before) is not None
    is_chosen = (quoted or is_element) and _PASSWORD_KEY.match(before) is not None and is_passphrase(value)
    if is_chosen or not value.isalpha():
        return is_chosen or (_VARIABLE.fullmatch(before) is not None and len(value) >= _MIXED_LENGTH)
    # A value after a blank (`password: required`) may be prose, but not in `"key": value`, an element or `KEY: value`.
    is_setting = after in _LINE_ENDS and _SETTING.fullmatch(before)
    loose = before[-1:] in b" \t>" and not (_QUOTE.search(before) or is_element or is_setting)
    if not (value.islower() or value.isupper()):
        is_password = not loose and len(value) >= _MIXED_LENGTH and _PASSWORD_KEY.match(before) is not None
        return (len(value) >= _STRONG_LENGTH or is_password) and not is_wordy(value)
    if quoted and _TOKEN_KEY.search(before):  # `"token": "position"` names a token of another kind.
        return len(value) >= _MIXED_LENGTH
    return not loose and len(value) >= _WORD_LENGTH
