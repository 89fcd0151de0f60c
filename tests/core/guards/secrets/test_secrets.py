"""The scrubber on plain text: what goes, what stays, and in what time it is decided."""

import hashlib
import subprocess
import sys
from base64 import b64encode
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.guards.secrets import MASK, extract, hints, scrub_bytes, scrub_text
from toolcharter.guards.secrets.engine import finder
from toolcharter.guards.secrets.patterns import Family

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


@each_row("around", AROUND.values(), ids=AROUND)
@each_row("token", TOKENS.values(), ids=TOKENS)
def test_token_with_a_known_prefix_is_masked(token: str, around: str) -> None:
    """A token known by its prefix goes wherever it stands, and nothing else does."""
    assert scrub_text(around.format(token)) == (around.format(MASK), 1)


@each_row(
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


@each_row(
    "text",
    [
        pytest.param("password = 'hunter" + "2'", id="seven-characters"),
        pytest.param("password=rNZ!0bX1Tc2" + "mIQT-", id="symbols"),
        pytest.param("API_KEY=abcd" + "efgh", id="env-letters"),
        pytest.param('"api_key": abcdefgh' + "ijkl", id="quoted-key-letters"),
        pytest.param("password: hunter!" + "pass", id="loose-with-symbol"),
        pytest.param("Password: hunter" + "2", id="loose-with-digit"),
        pytest.param("X-Vault-Token: s." + MIXED[:24], id="dotted-with-numbers"),
        pytest.param("token = abcd" + "efgh", id="typed-run"),
        pytest.param("'refresh_token': 'alabala" + "portocala'", id="quoted-letters"),
        pytest.param("password = 12345" + "6789", id="number-as-password"),
        pytest.param("token: QkdLhcEFxXzvJ" + "kLmNoPq", id="two-cases"),
        pytest.param('"secret": "pa\\"ss-' + '0word"', id="escaped-quote-inside"),
    ],
)
def test_weak_secret_beside_a_telling_key_is_masked(text: str) -> None:
    """What people choose themselves is a secret too."""
    masked, count = scrub_text(text)

    assert (count, masked.count(MASK)) == (1, 1)


ONE, TWO, OTHER = "hunter" + "2x9", "s3cr3t" + "99x", MIXED[:24]


@each_row(
    ("text", "masked"),
    [
        pytest.param(
            f'{{"passwords": ["{ONE}", "b", "{TWO}"]}}', f'{{"passwords": ["{MASK}", "b", "{MASK}"]}}', id="json"
        ),
        pytest.param(f"secrets = ['{ONE}',\"{TWO}\"]", f"secrets = ['{MASK}',\"{MASK}\"]", id="python"),
        pytest.param(f"api_keys: [{OTHER}, x]", f"api_keys: [{MASK}, x]", id="yaml"),
        pytest.param(f"credentials=[{ONE}", f"credentials=[{MASK}", id="cut-off"),
        pytest.param(f'tokens: ["{OTHER}", "word1"]', f'tokens: ["{MASK}", "word1"]', id="tokens"),
        pytest.param('tokens = ["left2", "right3"]', None, id="tokens-of-another-kind"),
        pytest.param(
            f'"passwords": [\n  "{ONE}",\n  "{TWO}"\n]', f'"passwords": [\n  "{MASK}",\n  "{MASK}"\n]', id="lines"
        ),
        pytest.param(f"passwords:\n- {ONE}\n- '{TWO}'\n", f"passwords:\n- {MASK}\n- '{MASK}'\n", id="dashes"),
        pytest.param(
            f"api_keys:\r\n  - {OTHER}\r\n  - {OTHER[1:]}", f"api_keys:\r\n  - {MASK}\r\n  - {MASK}", id="dashes-crlf"
        ),
        pytest.param("tokens:\n- left2\n- right3\n", None, id="dashed-words"),
        pytest.param("secrets:\n- name: db\n- source [x1y2z3a4b5]\n", None, id="dashed-members"),
        pytest.param("passwords: [string, required]", None, id="types"),
        pytest.param("secret[0] = items[1]", None, id="index"),
        pytest.param("credentials = [c for c in found if c]", None, id="comprehension"),
    ],
)
def test_values_in_a_list_beside_a_telling_key_are_masked(text: str, masked: str | None) -> None:
    """Each for itself; a list of tokens is often one of words."""
    assert scrub_text(text)[0] == (text if masked is None else masked)
    assert scrub_text(scrub_text(text)[0])[1] == 0


@each_row(
    "text",
    [
        "",
        "token: str",
        "token: string",
        "token: OAuth2Token",
        "private_key: MLKEM768X25519PrivateKey",
        "X25519PrivateKey | X448PrivateKey = X448PrivateKey",
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


BEGIN, END = (f"-----{word} RSA " + "PRIVATE KEY-----" for word in ("BEGIN", "END"))
LINES = [MIXED, MIXED[::-1], MIXED[5:25] + "=="]


@each_row(
    ("before", "joint", "after"),
    [
        pytest.param("$ cat key\n", "\n", "\n$ ", id="text"),
        pytest.param("a\r\n", "\r\n", "\r\nb", id="crlf"),
        pytest.param("tls:\n  key: |\n    ", "\n    ", "\nother: 1\n", id="yaml"),
        pytest.param('{"private_key": "', "\\n", '\\n", "n": 1}', id="json"),
        pytest.param('{"body": "{\\"key\\": \\"', "\\\\n", '\\\\n\\"}"}', id="json-in-json"),
        pytest.param('key = "', '\\n" +\n    "', '\\n"\nrest\n', id="source-code"),
        pytest.param("@@ -1 +0,0 @@\n-", "\n-", "\n+new\n", id="removed"),
        pytest.param("> ", "\n> ", "\n> quoted\n", id="quoted"),
        pytest.param("id.pem:1:", "\nid.pem:2:", "\nid.pem:9:rest\n", id="grep"),
        pytest.param("id.pem-1-", "\nid.pem-2-", "\n--\nrest\n", id="grep-around"),
        pytest.param("    1\t", "\n    2\t", "\nrest\n", id="numbered"),
    ],
)
def test_private_key_is_masked_as_a_whole(before: str, joint: str, after: str) -> None:
    """From its first line to its last, whatever stands between the lines."""
    text = before + joint.join([BEGIN, *LINES, END]) + after

    assert scrub_text(text) == (before + MASK + after, 1)


def test_private_key_that_is_cut_off_is_masked_as_far_as_it_goes() -> None:
    """A log or a limit may have taken its end."""
    text = "\n".join(["tail", BEGIN, "Proc-Type: 4,ENCRYPTED", "", *LINES])

    assert scrub_text(text) == ("tail\n" + MASK, 1)
    assert scrub_text(text + "\n-- more --\n") == (f"tail\n{MASK}\n-- more --\n", 1)


def test_putty_key_is_masked() -> None:
    """The private lines of the format of PuTTY."""
    text = "\n".join(["Public-Lines: 1", "AAAA", "Private-Lines: 3", *LINES, "Private-MAC: " + HEX, ""])

    assert scrub_text(text) == (f"Public-Lines: 1\nAAAA\n{MASK}\n", 1)


@each_row(
    "text",
    [
        pytest.param("\n".join([BEGIN.replace("RSA PRIVATE", "PUBLIC"), *LINES]), id="public"),
        pytest.param(f"{BEGIN}\nXXXX\nXXXX\n{END}", id="shown"),
        pytest.param(f"{BEGIN}\n...\n{END}", id="left-out"),
        pytest.param(f"starts with {BEGIN} and ends with {END}", id="told"),
        pytest.param(f"{BEGIN}\nMIIE ends here", id="short"),
    ],
)
def test_what_is_no_private_key_stays(text: str) -> None:
    """A public key, and what only shows how a block looks."""
    assert scrub_text(text) == (text, 0)


@each_row(
    ("text", "masked"),
    [
        pytest.param("https://ann:{}@h/x", "https://ann:{}@h/x", id="password"),
        pytest.param("redis://:{}@h:6379", "redis://:{}@h:6379", id="no-user"),
        pytest.param("https://{}@github.com/a", "https://{}@github.com/a", id="token-for-both"),
        pytest.param("Set-Cookie: sid={}; Path=/; Secure", "Set-Cookie: sid={}; Path=/; Secure", id="set-cookie"),
        pytest.param("cookie: a=b; theme=dark; x={}", "cookie: a=b; theme=dark; x={}", id="cookie"),
        pytest.param("curl -s -u ann:{} h", "curl -s -u ann:{} h", id="curl"),
        pytest.param('wget --user "ann:{}" h', 'wget --user "ann:{}" h', id="quoted-user"),
        pytest.param("machine h\nlogin ann\npassword {}\n", "machine h\nlogin ann\npassword {}\n", id="netrc"),
        pytest.param("mysql --password {} db", "mysql --password {} db", id="flag"),
        pytest.param("<add key='Password' value='{}'/>", "<add key='Password' value='{}'/>", id="attribute"),
        pytest.param("- name: TOKEN\n  value: {}\n", "- name: TOKEN\n  value: {}\n", id="name-and-value"),
        pytest.param("Set `TOKEN` to `{}`.", "Set `TOKEN` to `{}`.", id="told"),
        pytest.param("VALUES ('token', '{}')", "VALUES ('token', '{}')", id="sql"),
        pytest.param("| token | {} |", "| token | {} |", id="table"),
        pytest.param("the token is: {}. Rotate it.", "the token is: {}. Rotate it.", id="sentence"),
        pytest.param("sshpass -p {} ssh h", "sshpass -p {} ssh h", id="sshpass"),
        pytest.param("mysql -u root -p{} db", "mysql -u root -p{} db", id="mysql"),
        pytest.param("redis-cli -h h -a {} ping", "redis-cli -h h -a {} ping", id="redis"),
        pytest.param("requirepass {}", "requirepass {}", id="redis-conf"),
        pytest.param("curl {}x".ljust(17000) + " -u ann:{}", None, id="far-apart"),
    ],
)
def test_value_in_another_place_that_tells_is_masked(text: str, masked: str | None) -> None:
    """Addresses, cookies, command lines, elements, tables and sentences."""
    expected = text.replace("{}", VALUE) if masked is None else masked.replace("{}", MASK)

    assert scrub_text(text.replace("{}", VALUE))[0] == expected


@each_row(
    "text",
    [
        "postgres://user:password@localhost/db",
        "https://ann:<password>@h/ https://ann:${PASSWORD}@h/ https://a:b@h/",
        "https://user.name@h/ https://name-of-a-long-user-account@h/",
        "Cookie: theme=dark-blue; session=; lang=en-GB",
        "Set-Cookie: session=/path/to/something; auth=${AUTH}",
        "docker run -u 1000:1000 web; curl -u ann:$PASSWORD h",
        "login ann\npassword <yours>",
        "tool --token $TOKEN --password-file /run/secrets/x",
        "token organization-name-2024 was made, secret sha256sum.txt is gone",
        "token = 1*tchar ; password <required-by-policy-2>",
        "const token = await getToken2(); private_key: PrivateKeyTypes2",
        "TOKEN: &default_token\nother: *default_token",
        "token: " + '"{0}:{1}"' + " password = %-10s",
        "arn:aws:secretsmanager:eu-west-1:secret:SomeNameOfASecret-.+",
        "auth: types-auth0-python",
        '"input_token": "position"',
        '{\\"token\\": \\"some-name\\"} password=authorized',
        "token: tok2 and password = a1b",
        "secret=projects/mine/secrets/name/versions/2 ",
        "password = settings.DEFAULT[0].name2",
        "mysql --protocol=tcp -p -h h; redis-cli -a $AUTH",
        "session_id: name-of-a-session; auth = scheme2",
        "SRP_user_pwd *SRP_VBASE_get1_by_user(SRP_VBASE *vb)",
    ],
)
def test_other_places_stay_whole_without_a_secret(text: str) -> None:
    """What stands in such a place may be a name, a path or a place to fill in."""
    assert scrub_text(text) == (text, 0)


@each_row(
    "text",
    [
        pytest.param("t: {}\u200b{} x", id="zero-width"),
        pytest.param("t: {}\u00ad{} x", id="soft-hyphen"),
        pytest.param("t: {}\\u200b{} x", id="escaped-zero-width"),
        pytest.param("t: {}\u202e{} x", id="direction"),
        pytest.param("t: {}\ufe0f{} x", id="variation"),
        pytest.param("t: {}\u034f{} x", id="joiner"),
        pytest.param("t: {}\x1b[01;31m\x1b[K{} x", id="colour"),
        pytest.param("t: {}\\u001b[m{} x", id="escaped-colour"),
    ],
)
def test_unseen_characters_hide_no_token(text: str) -> None:
    """What one sees is a token."""
    token = TOKENS["github-personal"]

    assert scrub_text(text.format(token[:12], token[12:])) == (f"t: {MASK} x", 1)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("?k=" + TOKENS["openai-project"].replace("-", "%2D") + "&a=1", id="percent"),
        pytest.param("?k=" + TOKENS["openai-project"].replace("-", "\\u002d") + "&a=1", id="unicode-escape"),
        pytest.param("?k=token%3D" + VALUE + "&a=1", id="separator"),
    ],
)
def test_escaped_signs_hide_no_token(text: str) -> None:
    """The token goes with its escapes; what is escaped beside it stays."""
    masked, count = scrub_text(text)

    assert (count, masked.startswith("?k="), masked.endswith(MASK + "&a=1")) == (1, True, True)


def test_escaped_slashes_hide_no_address() -> None:
    """Some write JSON so."""
    assert scrub_text(f'"https:\\/\\/ann:{VALUE}@h\\/x"') == (f'"https:\\/\\/ann:{MASK}@h\\/x"', 1)


def test_colour_around_a_split_token_stays() -> None:
    """As grep marks what it has found."""
    token = TOKENS["github-personal"]

    assert scrub_text(f"\x1b[31m{token[:4]}\x1b[m{token[4:]}\x1b[m x") == (f"\x1b[31m{MASK}\x1b[m x", 1)


@pytest.mark.parametrize("form", ["%{:02x}", "%{:02X}", "\\u{:04x}", "\\x{:02x}"])
def test_token_is_found_however_many_of_its_letters_are_escaped(form: str) -> None:
    """The first alone, or all of them."""
    token = TOKENS["github-personal"]
    escaped = [form.format(ord(letter)) for letter in token]

    assert scrub_text(f"a: {escaped[0]}{token[1:]} b") == (f"a: {MASK} b", 1)
    assert scrub_text(f"a: {''.join(escaped)} b") == (f"a: {MASK} b", 1)


def test_private_key_is_found_percent_encoded() -> None:
    """Its blanks and line ends are escaped, too."""
    key = f"-----BEGIN PRIVATE {'KEY'}-----\n" + f"{VALUE * 4}\n" * 3 + f"-----END PRIVATE {'KEY'}-----"

    assert scrub_text(f"?k={quote(key)}&a=1") == (f"?k={MASK}&a=1", 1)


@each_row("token", [*TOKENS.values(), "h" + "f_" + "aBcDeF" * 6], ids=[*TOKENS, "huggingface"])
@each_row("before", ["", "a", "ab"])
def test_bare_token_is_found_in_base64(token: str, before: str) -> None:
    """However it is aligned, and without any word beside it."""
    assert scrub_text(b64encode(f"{before} {token}".encode()).decode()) == (MASK, 1)


@each_row("before", ["", "a", "ab", "abc"])
@each_row("end", ["", "="], ids=["whole", "cut"])
def test_secret_in_base64_is_masked_with_what_wraps_it(before: str, end: str) -> None:
    """What is decoded is looked at; an image or a hash is not touched."""
    wrapped = b64encode(f"{before} token={TOKENS['github-personal']}".encode()).decode()
    given = wrapped.rstrip("=")[:-1] + end if end else wrapped

    assert scrub_text(f"payload: {given}\n") == (f"payload: {MASK}\n", 1)
    assert scrub_text(f"payload: {b64encode(HEX.encode()).decode()} cGFzc3dvcmQgb2Ygbm90aGluZyBhdCBhbGw=\n")[1] == 0


def test_several_secrets_are_counted() -> None:
    """Each masked span counts once; what lies between them stays."""
    text = f"a {TOKENS['aws']} b {TOKENS['openai']} token={VALUE}\n"

    assert scrub_text(text) == (f"a {MASK} b {MASK} token={MASK}\n", 3)


def test_secret_beside_broken_utf8_is_masked() -> None:
    """A byte that is no UTF-8 hides nothing."""
    assert scrub_bytes(b"\xff" + TOKENS["github-personal"].encode() + b"\xff") == (b"\xff[REDACTED]\xff", 1)


HOSTILE = {
    "keys": "token=",
    "keys-and-values": "token=a\n",
    "calls": "token=abcdef(",
    "nested": "token=${password=",
    "names": "token=x_1_2=x ",
    "quotes": 'password="',
    "open-quote": 'password=\'a1 token="b1" ',
    "escaped-quotes": 'password="a\\',
    "bearer": "authorization: bearer ",
    "prefix": "sk-",
    "longer-prefix": "sk-proj-",
    "gaps": "secret = \t",
    "escapes": "\\u0041",
    "veils": "s\u200bk-",
    "percent": "%2D",
    "schemes": "a://b:",
    "urls": "://a:x@ ",
    "headers": "-----BEGIN " + "PRIVATE KEY-----",
    "cookies": "Cookie: a=b; ",
    "curl": "curl -u a:b ",
    "login": "login a password ",
    "base64": "cGFzc3dvcmQ",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_judged_a_bounded_number_of_times(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However candidates are piled up, what is looked at adds up to at most four times the text."""
    looked_at = []
    value_of = extract._value_span

    def count(text: bytes, start: int):
        looked_at.append(len(text) - start)
        return value_of(text, start)

    monkeypatch.setattr(extract, "_value_span", count)
    text = unit * 2000

    scrub_text(text)

    assert sum(looked_at) <= 4 * len(text)


PLAIN = (Family.TOKEN, Family.FLOATING, Family.PLACED, Family.URL, Family.COOKIE, Family.BLOCK)
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
    """Where `find` says no, no family finds anything."""
    data = text.encode("utf-8", "surrogatepass")

    assert hints.match(data) or not [list(finder(family)(data)) for family in PLAIN if list(finder(family)(data))]


@given(st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join))
@example("token\x1b[0m=" + VALUE)
def test_masked_text_stays_as_it_is(text: str) -> None:
    """Scrubbing twice changes nothing more."""
    once, _ = scrub_text(text)

    assert scrub_text(once) == (once, 0)


@given(st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join))
def test_prefixed_token_never_survives(text: str) -> None:
    """Whatever stands around it, a token that begins as a word of its own is gone."""
    token = "sk-" + "ant-api03-" + MIXED[::-1]

    masked, _ = scrub_text(f"{text} {token} {text}")

    assert token not in masked


def test_importing_the_scrubber_compiles_nothing() -> None:
    """google-re2 is imported on first use: a start that scrubs nothing does not pay for it."""
    code = "import sys, toolcharter.guards.secrets as s; a = 're2' in sys.modules; s.hints.match(b''); print(a, 're2' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False True\n"
