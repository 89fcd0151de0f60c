r"""What the scrubber looks for, as google-re2 patterns over bytes in Latin-1: data, no code.

Two patterns. `EXACT` finds the spans; its three groups are the secret itself, never the key before it. `HINT`
is a wider and cheaper net: where it finds nothing, `EXACT` finds nothing, neither in plain text nor in the
strings of a JSON document.

No part of `EXACT` can scan far and then fail: a match consumes what it has looked at, so that hostile input
costs linear time.

Source: the five kinds of goclaw, `internal/tools/scrub.go`; the shapes of newer tokens from the providers'
documentation: OpenAI project and service keys, GitHub fine-grained tokens
(https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/), AWS identifier prefixes
(IAM user guide, "Understanding unique ID prefixes").
"""

# What may stand before a token that would be part of a word otherwise (`task-...`): nothing of a word, an
# underscore, a JSON or percent escape, the end of a terminal colour.
_LEFT = rb"(?:\b|_|\\[abfnrtv]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,12}m)"

_OPENAI = rb"sk-(?:[A-Za-z0-9]{20,}|(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{16,})"
_ANTHROPIC = rb"sk-ant-[A-Za-z0-9_-]{16,}"
_GITHUB = rb"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}"
_AWS = rb"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b"

_KEY = (
    rb"(?i:api[_-]?key|(?:secret|private)[_-]?(?:access[_-]?)?key|token|secret|passw(?:or)?d|passphrase"
    rb"|bearer|authorization)"
)
_COLOUR = rb"(?:\x1b\[[0-9;]{0,12}m)?"
# The key's closing quote, also escaped; `]` for `environ["TOKEN"] = ...`.
_CLOSE = rb"(?:\\{0,4}[\"'])?\]?" + _COLOUR
_EQUALS = rb"[ \t]*(?:=>|:=|[:=])[ \t]*(?:\r?\n[ \t]+)?" + _COLOUR
_SCHEME = rb"(?i:(?:bearer|basic|token|digest)[ \t]+)?"
_VALUE = (
    rb"(?:\\{1,4}[\"']" + _SCHEME + rb"([^\"'\\\r\n]{4,})"
    rb"|\"" + _SCHEME + rb"((?:[^\"\\\r\n]|\\.){4,})"
    rb"|'" + _SCHEME + rb"((?:[^'\\\r\n]|\\.){4,})"
    rb"|" + _SCHEME + rb"([^\s\"'`,;&<>(){}\[\]|\\$\x1b][^\s\"'`,;&<>(){}\[\]|\\\x1b]{5,}))"
)
_BEARER = rb"(?i:\bbearer)[ \t]+([A-Za-z0-9._~+/-]{16,}=*)"

EXACT = (
    _LEFT
    + rb"("
    + rb"|".join((_ANTHROPIC, _OPENAI))
    + rb")|("
    + rb"|".join((_GITHUB, _AWS))
    + rb")|"
    + _BEARER
    + rb"|"
    + _KEY
    + _CLOSE
    + _EQUALS
    + _VALUE
)
"""Groups 1 and 2 are tokens known by their prefix, 3 a bearer token, 4 to 7 the value beside a telling key:
in escaped quotes, in double quotes, in single quotes, without quotes."""

PREFIXED_GROUPS = frozenset({1, 2})
QUOTED_GROUPS = frozenset({4, 5, 6})

_SPACE = rb"(?:[ \t]|\\t)"
HINT = (
    rb"sk-[A-Za-z0-9_-]{16}|gh[pousr]_[A-Za-z0-9]{30}|github_pat_|A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}"
    rb"|(?i:bearer)" + _SPACE + rb"+[A-Za-z0-9._~+/-]{16}"
    rb"|" + _KEY + rb"(?:\\{0,9}[\"'])?\]?(?:(?:\x1b|\\u001b)\[[0-9;]{0,12}m)?" + _SPACE + rb"*[:=]"
    # An escaped ASCII character: a key or token may hide in it, so the document has to be decoded.
    rb"|\\u00[2-7]"
)

KEY_NAME = _KEY + rb"$"
"""Where the name of a JSON member ends like this, its text is a secret: `dbPassword`, `X-API-Key`."""

NOT_SECRETS = frozenset(
    b"none null nil true false undefined string text str bytes int integer float number bool boolean object any "
    b"optional required redacted [redacted] changeme todo fixme tbd example placeholder value password secret "
    b"token hidden masked empty unset default".split()
)
"""Values that name a type, a state or a place to fill in, in lower case."""
