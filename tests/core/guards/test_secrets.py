"""The scrubber on plain text: what goes, what stays, and in what time it is decided."""

import hashlib
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolcharter.guards.secrets import MASK, find, scrub_bytes, scrub_text
from toolcharter.guards.secrets.shapes import is_secret
from toolcharter.guards.secrets.text import _spans

# Put together at run time, so that no scanner finds a key in this file.
HEX = hashlib.sha256(b"toolcharter").hexdigest()
MIXED = "".join(letter.upper() if index % 3 else letter for index, letter in enumerate(HEX))
TOKENS = {
    "openai": "sk-" + MIXED[:40],
    "openai-project": "sk-" + "proj-" + MIXED[:20] + "-" + MIXED[20:40] + "_x",
    "openai-service": "sk-" + "svcacct-" + MIXED[:30],
    "anthropic": "sk-" + "ant-api03-" + MIXED[:40] + "-AA",
    "github-personal": "gh" + "p_" + MIXED[:36],
    "github-oauth": "gh" + "o_" + MIXED[:36],
    "github-user": "gh" + "u_" + MIXED[:36],
    "github-server": "gh" + "s_" + MIXED[:36],
    "github-refresh": "gh" + "r_" + MIXED[:36],
    "github-fine-grained": "github" + "_pat_" + MIXED[:22] + "_" + MIXED[:40],
    "aws": "AKI" + "A" + "Q3EGRIZ7T5PNW2KX",
    "aws-session": "ASI" + "A" + "Q3EGRIZ7T5PNW2KX",
}
VALUE = MIXED[:24]
AROUND = {
    "alone": "{}",
    "sentence": "Found {} in env.",
    "quotes": '"{}"',
    "brackets": "[{}]",
    "xml": "<key>{}</key>",
    "cjk": "鍵は{}。次",
    "emoji": "🔑{}🔒",
    "json-escape": '"line\\n{}\\n"',
    "unicode-escape": '"\\u00e9{}"',
    "percent-escape": "?k%3D{}%26",
    "colour": "\x1b[32m{}\x1b[0m",
    "underscore": "KEY_{} x",
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_token_with_a_known_prefix_is_masked(token: str, around: str) -> None:
    """A token known by its prefix goes wherever it stands, and nothing else does."""
    assert scrub_text(around.format(token)) == (around.format(MASK), 1)


@pytest.mark.parametrize(
    "around",
    [
        pytest.param("API_KEY={}", id="env"),
        pytest.param("export X_API_KEY='{}'", id="export"),
        pytest.param("api-key: {}", id="header"),
        pytest.param("apikey = '{}'", id="toml"),
        pytest.param("dbPassword={}", id="camel-case"),
        pytest.param("clientSecret: '{}'", id="client-secret"),
        pytest.param("AWS_SECRET_ACCESS_KEY={}", id="aws-secret"),
        pytest.param("passphrase => {}", id="arrow"),
        pytest.param("token := {}", id="walrus"),
        pytest.param('{{"token": "{}"}}', id="json"),
        pytest.param('{{\\"token\\": \\"{}\\"}}', id="json-in-json"),
        pytest.param('os.environ["TOKEN"] = "{}"', id="environ"),
        pytest.param("\x1b[32mTOKEN\x1b[0m=\x1b[1m{}\x1b[0m", id="colour"),
        pytest.param("SecretAccessToken:\n  {}\nother: 1", id="next-line"),
        pytest.param("SecretAccessToken:\r\n\t{}", id="next-line-crlf"),
        pytest.param("Authorization: Bearer {}", id="bearer"),
        pytest.param("Proxy-Authorization: Basic {}==", id="basic"),
        pytest.param("curl -H 'authorization: token {}' x", id="curl"),
        pytest.param("sent bearer {} twice", id="bearer-alone"),
        pytest.param("https://h/x?access_token={}&sort=asc", id="url"),
        pytest.param("login(token={}) -> ok", id="argument"),
        pytest.param("token: 'see note 12 on password={}'", id="inside-a-value-that-is-none"),
        pytest.param("token: {}.", id="end-of-sentence"),
        pytest.param("passwort\udcff password={}", id="lone-surrogate"),
    ],
)
def test_value_beside_a_telling_key_is_masked(around: str) -> None:
    """The value goes; key, separator, scheme and quotes stay."""
    assert scrub_text(around.format(VALUE))[0].rstrip("=") == around.format(MASK).rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("password = 'hunter" + "2'", id="seven-characters"),
        pytest.param("password=rNZ!0bX1Tc2" + "mIQT-", id="symbols"),
        pytest.param("API_KEY=abcd" + "efgh", id="env-letters"),
        pytest.param('"api_key": abcdefgh' + "ijkl", id="quoted-key-letters"),
        pytest.param("password: hunter!" + "pass", id="loose-with-symbol"),
        pytest.param("password = 12345" + "6789", id="number-as-password"),
        pytest.param("token: QkdLhcEFxXzvJ" + "kLmNoPq", id="two-cases"),
        pytest.param('"secret": "pa\\"ss-' + '0word"', id="escaped-quote-inside"),
    ],
)
def test_weak_secret_beside_a_telling_key_is_masked(text: str) -> None:
    """What people choose themselves is a secret too."""
    masked, count = scrub_text(text)

    assert (count, masked.count(MASK)) == (1, 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "token: str",
        "token: string",
        "password=None",
        "password: Optional[str] = None",
        "token = get_token()",
        "secret = config.get('secret')",
        "password = getpass.getpass('Password: ')",
        "token = parser_v2.tokens[0]",
        "connect(password=user_password)",
        "connect(token=client2.auth.header)",
        "api_key = ''",
        'print("token=" + repr(raw))',
        "password: required",
        "Password: Required",
        '"password": "must be at least 12 characters"',
        '"password": "${DB_PASSWORD}"',
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <token>",
        "Authorization: 'Bearer {token}'",
        "Authorization: Bearer tokens are described below",
        "API_KEY=sk-" + "x" * 32,
        "gh" + "p_" + "x" * 36,
        "secret: '********'",
        "max_token: 128000",
        "total_tokens: 15234",
        "Token: '#d8dee9'",
        "token_url: https://example.com/oauth2/token",
        "token: https://example.com/oauth2/token",
        "secret=/var/run/secrets/token",
        "if token:\n    context.token_level2_of_nesting += 1",
        "if token:\n    nesting_level_number_2 = 1",
        "token: 'see note 12 on secret=string'",
        "secretKeyRef:\n  name: db",
        "sk-short",
        "task-" + "e3fyspvcxtjxwa4wnbihidz7",
        "AKIA is a prefix",
        "a bearer of good news",
        "sent bearer authentication-and-more",
    ],
)
def test_code_and_prose_stay_whole(text: str) -> None:
    """Types, calls, names, paths and places to fill in are no secrets; the same object comes back."""
    masked, count = scrub_text(text)

    assert (masked is text, count) == (True, 0)


def test_several_secrets_are_counted() -> None:
    """Each masked span counts once; what lies between them stays."""
    text = f"a {TOKENS['aws']} b {TOKENS['openai']} token={VALUE}\n"

    assert scrub_text(text) == (f"a {MASK} b {MASK} token={MASK}\n", 3)


def test_secret_beside_broken_utf8_is_masked() -> None:
    """A byte that is no UTF-8 hides nothing."""
    assert scrub_bytes(b"\xff" + TOKENS["github-personal"].encode() + b"\xff") == (b"\xff[REDACTED]\xff", 1)


@pytest.mark.parametrize(
    "unit",
    [
        "token=",
        "token=a\n",
        "token=abcdef(",
        "token=${password=",
        'password="',
        'password="a\\',
        "authorization: bearer ",
        "sk-",
        "sk-proj-",
        "secret = \t",
        "\\u0041",
    ],
)
def test_hostile_text_is_read_a_bounded_number_of_times(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However candidates are piled up, the values looked at add up to at most twice the text."""
    looked_at = []

    def judge(value: bytes, *context: bytes, quoted: bool) -> bool:
        looked_at.append(len(value))
        return is_secret(value, *context, quoted=quoted)

    monkeypatch.setattr("toolcharter.guards.secrets.text.is_secret", judge)
    text = unit * 2000

    scrub_text(text)

    assert sum(looked_at) <= 2 * len(text)


PIECES = st.sampled_from(
    [
        *TOKENS.values(),
        VALUE,
        "token",
        "Authorization",
        "Bearer ",
        "=",
        ": ",
        '"',
        "\\",
        "'",
        "\n",
        "${",
        "x",
        "é",
        "\x1b[0m",
    ]
)


@given(st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join))
@example('token\t="' + VALUE)
def test_boolean_search_is_never_narrower_than_the_spans(text: str) -> None:
    """Where `find` says no there is nothing to mask, and a masked text stays as it is."""
    data = text.encode("utf-8", "surrogatepass")

    assert find(data) or not list(_spans(data, 0, len(data), nested=False))


@given(st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join))
def test_prefixed_token_never_survives(text: str) -> None:
    """Whatever stands around it, a token that begins as a word of its own is gone."""
    token = "sk-" + "ant-api03-" + MIXED[::-1]

    masked, _ = scrub_text(f"{text} {token} {text}")

    assert token not in masked


def test_importing_the_scrubber_compiles_nothing() -> None:
    """google-re2 is imported on first use: a start that scrubs nothing does not pay for it."""
    code = "import sys, toolcharter.guards.secrets as s; a = 're2' in sys.modules; s.find(b''); print(a, 're2' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False True\n"
