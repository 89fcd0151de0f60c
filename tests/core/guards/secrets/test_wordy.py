"""Random texts of few letters beside a key, and the names and paths that look like them."""

import time
from random import Random
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits

import pytest
from tests.rows import each_row

from toolcharter.guards.secrets import MASK, scrub_text
from toolcharter.guards.secrets.wordy import is_jumbled, is_wordy

HEXADECIMAL = digits + "abcdef"


def random_texts(letters: str, length: int) -> list[str]:
    random = Random(f"{letters}{length}")
    return ["".join(random.choices(letters, k=length)) for _ in range(200)]


@each_row(
    ("letters", "length", "fewest"),
    [
        pytest.param(ascii_lowercase + digits, 20, 190, id="small"),
        pytest.param(ascii_lowercase + digits, 30, 197, id="small-long"),
        pytest.param(ascii_lowercase + "234567", 32, 195, id="base32-small"),
        pytest.param(ascii_lowercase + "234567", 52, 199, id="base32-small-long"),
        pytest.param(ascii_uppercase + "234567", 32, 195, id="base32"),
        pytest.param(HEXADECIMAL, 16, 199, id="hexadecimal"),
        pytest.param(HEXADECIMAL, 32, 199, id="hexadecimal-long"),
        pytest.param(ascii_letters + digits, 16, 195, id="letters"),
        pytest.param(ascii_letters + digits + "+/", 40, 197, id="base64"),
        pytest.param(ascii_letters + digits + "-_", 32, 197, id="base64-url"),
    ],
)
@each_row("text", ["service:\n  client_secret: {}\n  port: 80\n", "[client_secret: {}] [id: 7]", "CLIENT_SECRET={}\n"])
def test_random_text_beside_a_key_is_masked(text: str, letters: str, length: int, fewest: int) -> None:
    """Whatever it is made of: one of small letters has long pieces by chance, and is no name for that."""
    masked = [scrub_text(text.format(value))[0] for value in random_texts(letters, length)]

    assert masked.count(text.format(MASK)) >= fewest


@each_row(
    "text",
    [
        "client_secret: keycloak_oauth2_client_v2\n",
        "token: sha256_with_rsa_encryption_2048\n",
        "password = config.database2_connection_password\n",
        "secret: kubernetes-production-cluster-01\n",
        "token: self.base64_urlsafe_token_v2\n",
        "token: x86_64_unknown_linux_gnu\n",
        "secret_key: /srv/app2/Production/keys/signingKey/current/v1\n",
        "password: required_unless_passwordless_2fa\n",
        "api_key: http2_xmlrpc_gateway_key1\n",
        "kubectl get secret db-4f8a-11f37-x9k2p\n",
    ],
)
def test_names_and_paths_with_numbers_stay(text: str) -> None:
    """Words can be read, also those of a path that has all the signs of base64."""
    assert scrub_text(text) == (text, 0)


def test_secret_with_the_signs_of_a_path_or_of_an_attribute_is_masked() -> None:
    """Base64 may begin with a slash, and a token of Vault with `s.`, as an attribute would."""
    base64 = "/" + "qgPpTIzdqA6bU46SGH3rf4qrqb6M6rKw6AWqr4H"
    vault = "s." + "VsL7RgDucBb5SdsRjOcrkmWb"

    assert scrub_text(f"aws_secret_access_key = {base64}\n")[0] == f"aws_secret_access_key = {MASK}\n"
    assert scrub_text(f"?vault_token={vault}&a=1")[0] == f"?vault_token={MASK}&a=1"


@each_row(
    "word", [b"transaction", b"httpserver", b"getUserById2", b"strengths", b"sha256sum", b"utf8mb4_unicode_520_ci"]
)
def test_words_are_not_jumbled(word: bytes) -> None:
    """Clusters of consonants and a few numbers are usual."""
    assert not is_jumbled(word)


@each_row("text", [b"yz8tqh13gwiwm5tkvv5okhv28olxuq", b"qgxkzvwpjhdfm", b"aa9c26aefc30666a2169559048170922"])
def test_random_letters_are_jumbled_and_no_words(text: bytes) -> None:
    """Pairs of letters that no word has, many numbers, hexadecimal digits."""
    assert is_jumbled(text)
    assert not is_wordy(text)


@each_row(
    ("text", "masked"),
    [
        ('DB_PASSWORD="SENmYcZkSSVQ"', 'DB_PASSWORD="{}"'),
        ('<user name="ann" password="kTRmWbQxZpLJ"/>', '<user name="ann" password="{}"/>'),
        ("client_secret: xqzvkwjhfgmprtbn\n", "client_secret: {}\n"),
    ],
)
def test_random_letters_without_a_number_are_masked(text: str, masked: str) -> None:
    """One of eight passwords of twelve letters and digits has no digit."""
    assert scrub_text(text)[0] == masked.format(MASK)


@each_row(
    "text",
    [
        'PASSWORD="$1"',
        "DB_PASS=${2}",
        ': "${API_TOKEN:?API_TOKEN is required}"',
        "SLACK_BOT_TOKEN=" + "xoxb-your-token",
        "openai: " + "sk-proj-your-key-here-for-tests",
        "Authorization: Bearer YOUR_ACCESS_TOKEN",
        "ANTHROPIC_API_KEY=" + "sk-ant-api03-...",
        'password: "isRequiredField"',
        'client_secret="your-auth0-client-secret"',
        'client_secret="discord-client-secret-abc123..."',
        "var mapToken = mapToken2;",
        "authToken: AuthToken2",
        "secret=***REDACTED***",
        "api_key=XXXXXXXXXXXX1234",
        'api_key = "your_api_key_2"',
        "const token = error62 ?? this.stack.pop();",
    ],
)
def test_places_to_fill_in_stay(text: str) -> None:
    """An argument of a script, what a shell says of a variable without a value, words behind a prefix."""
    assert scrub_text(text) == (text, 0)


@each_row(
    "value",
    [
        pytest.param("$" + "a-" * 26, id="variable"),
        pytest.param("1.1 " * 16, id="releases"),
        pytest.param("1.1-" * 26, id="suffixes"),
        pytest.param("v1." * 24, id="words"),
        pytest.param("your-" + "a" * 60, id="place to fill in"),
        pytest.param("YOUR_" + "A" * 60, id="place in capitals"),
    ],
)
@each_row("text", ['password="{}!1"', "token: {}!1\n", "https://a:{}!1@h/", "<password>{}!1</password>"])
def test_value_that_nearly_is_harmless_is_judged_at_once(text: str, value: str) -> None:
    """An expression that can read it in several ways would try all of them, which are more than a million."""
    scrub_text('password="hunter22x"')  # The expressions are compiled on first use.
    before = time.process_time()

    scrub_text(text.format(value))

    assert time.process_time() - before < 0.2
