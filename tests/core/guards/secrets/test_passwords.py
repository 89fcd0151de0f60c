"""Passwords of words, numbers, options and challenges: what a person chose, beside what a program is written with."""

import base64
import hashlib
import json

import pytest
import yaml
from tests.rows import each_row

from toolcharter.guards.secrets import MASK, scrub_bytes, scrub_text
from toolcharter.guards.secrets.stream import Stream

HEX = hashlib.md5(b"passwords", usedforsecurity=False).hexdigest()
WORDS, CAMEL = "zebra_lamp" + "_onion", "Zebra" + "Lamp"
SALT = "Zq|W?+#<k`n!r(;~Ld /P@%uV&m:e=J*s>,A- {T^o}c)B[_$N]9X.wIgh6bQ"
PIN = 12345 * 7 + 10**7
MAC = base64.b64encode(hashlib.sha256(b"hawk").digest()).decode()
KEYS = [f"{kind}_{what}" for kind in ("AUTH", "SECURE_AUTH", "LOGGED_IN", "NONCE") for what in ("KEY", "SALT")]


@each_row(
    "text",
    [
        '{{"user": "ann", "password": "{}"}}',
        "{{\n  'db_password': '{}'\n}}",
        'body: "{{\\"password\\": \\"{}\\"}}"',
        'password: "{}"',
        'password = "{}"',
        'connect(user="ann", password="{}")',
        "const dbPassword = '{}';",
        "password: {}\n",
        "user: ann\n  password: {}\r\nport: 1\n",
        "[db]\npassword = {}\n",
        "password={}",
        "export DB_PASSWORD={}",
        "spring.datasource.password={}",
        "<password>{}</password>",
        "mytool --password {} -v",
        "mytool --db-password={} -v",
        "docker login -u ann --password {}",
        "password: |\n  {}\nport: 1\n",
        "- password: >-\n    {}\n",
    ],
)
def test_password_of_joined_words_is_masked(text: str) -> None:
    """Where a document, a file of settings, a literal or an option holds it."""
    assert scrub_text(text.format(WORDS)) == (text.format(MASK), 1)


@each_row(
    "text",
    [
        "password = get_password",
        "password: str",
        "password=user_password",
        "    password = saved_assert_hooks",
        "    self.password = zebra_lamp_onion",
        "f(a, password=zebra_lamp_onion)",
        "password = settings.db_password",
        "password = zebra_lamp_onion()",
        "password = zebra_lamp_onion + tail",
        "password: zebra_lamp_onion, user: ann",
        "password = ZEBRA_LAMP_ONION",
        '"password": "new_password"',
        '"password": "bad_request"',
        '"password": "CharField"',
        '"token": "zebra_lamp_onion"',
        'password: "the_password_here"',
        "password: |\n  The password of the user.\n",
        "password: |\n  required\n",
        "mytool [--password PASSWORD] --password string --password=PASSWORD --password=<password> --password=$PASS",
        "--password=db_password --password-stdin --password=file --password ${A_B}",
    ],
)
def test_name_in_a_program_is_no_password(text: str) -> None:
    """Without quotes it is a name, if the line is no setting; with them, if a word of it is one that names have."""
    assert scrub_text(text) == (text, 0)


@each_row(
    ("text", "value"),
    [
        ("mytool --password={}", "Zebra" + "x"),
        ("mytool --password='{}' -v", CAMEL),
        ("mytool --password {}", CAMEL),
        ("docker login -u ann --password {}", "Zebra"),
        ("docker login --password={} -u ann", "Zebra"),
        ("password: |\n  {}\n", "Open" + "Sesame"),
        *((f"define( '{key}',   '{{}}' );", SALT) for key in KEYS),
        *((f"{key}='{{}}'", SALT) for key in KEYS),
        ('Authorization: Digest username="ann", uri="/", qop=auth, response="{}"', HEX),
        ('{{"Authorization": "Digest username=\\"ann\\", response=\\"{}\\", nc=1"}}', HEX),
        ('Authorization: Digest username="ann", response="{}"', "0123456789" * 2 + "abcdefabcdef"),
        ('Authorization: Hawk id="a1", ts="1353832234", nonce="j4h3g2", mac="{}"', MAC),
        ('{{"Authorization": "Hawk id=\\"a1\\", mac=\\"{}\\""}}', MAC),
    ],
)
def test_value_in_the_place_of_a_password_is_masked_whatever_it_is(text: str, value: str) -> None:
    """An option, a block of its own, the salts of WordPress, the answers to a challenge."""
    filled = text.replace("{{", "{").replace("}}", "}")

    assert scrub_text(filled.replace("{}", value)) == (filled.replace("{}", MASK), 1)


@each_row(
    "text",
    [
        'response="ok" mac="00:11:22:33:44:55" mac="required" mac=""',
        *(f"define( '{key}', 'put your unique phrase here' );" for key in KEYS),
        "nonce_key = 'a sentence of forty letters, or some more than that'",
        "define('DB_HOST', 'localhost'); define('LOGGED_IN_KEY', $x);",
    ],
)
def test_place_without_a_proof_stays(text: str) -> None:
    """Addresses of networks, states, and what is yet to be filled in."""
    assert scrub_text(text) == (text, 0)


@pytest.mark.parametrize("number", [f"{PIN}", f"-{PIN}", f"{PIN}.5", f"-{PIN}.25", "-1.5e" + "9", "1e" + "9"])
@pytest.mark.parametrize("indent", [None, 1])
def test_number_of_any_sign_is_masked_in_text_as_in_data(number: str, indent: int | None) -> None:
    """JSON and YAML stay valid, the value on its line or on the next one."""
    for key in ("password", "pin_secret", "db_pwd"):
        for joint in (": ", ":\n", ":\n    "):
            text = json.dumps({"n": -7, key: 0, "m": [1.5]}, indent=indent).replace(
                f'"{key}": 0', f'"{key}"{joint}{number}'
            )
            assert json.loads(scrub_text(text)[0]) == {"n": -7, key: MASK, "m": [1.5]}, text
            assert scrub_bytes(text.encode())[0].decode() == scrub_text(text)[0]
        assert yaml.safe_load(scrub_text(f"n: -7\n{key}: {number}\n")[0]) == {"n": -7, key: [MASK[1:-1]]}
        assert scrub_text(f"{key}={number}\n") == (f"{key}={MASK}\n", 1)


@each_row(
    "text", ["password: -5", "password = -1", '"secret": -99999.5', '{"password":\n -12}', '{"token":\n -12345678}']
)
def test_small_number_is_a_setting(text: str) -> None:
    """Of whatever sign; and a token is no number."""
    assert scrub_text(text) == (text, 0)


@each_row(
    "text",
    [
        f'{{"password":\n "{CAMEL}",\n "pin_secret":\n  -{PIN}}}\n',
        f"password: |\n  {WORDS}\nport: 1\n",
        f"[db]\npassword = {WORDS}\n",
        f"define('NONCE_KEY', '{SALT}');\n",
    ],
)
def test_pieces_are_masked_like_the_whole(text: str) -> None:
    """A value may arrive after its key."""
    whole = scrub_bytes(text.encode())
    stream = Stream()

    pieces = [stream.feed(bytes((byte,))) for byte in text.encode()]

    assert (b"".join((*pieces, stream.finish())), whole[1] > 0) == (whole[0], True)


@each_row(
    "text",
    [
        "A" * 64 + "BIAA" + "A" * 8,
        'engine = create_engine("postgresql://scott:' + 'tiger@localhost/test")',
        "https://ann:a%20secret@example.com/",
        "-H 'Authorization: Bearer YOUR_TOKEN_HERE' 'Authorization: Bearer github_pat_XXXX' 'Authorization: Bearer test_token'",
        'upgrade_token: str = "upgrades"',
        "[![x](https://codecov.io/gh/a/b/branch/master/graph/badge.svg?token=E0Q0" + "YBSINS)](x)",
        "https://tidelift.com/subscription/pkg/pypi-jsonschema-specifications",
    ],
)
def test_example_of_a_manual_stays(text: str) -> None:
    """What the documentation of installed packages has in a secret's place, and zeros in base64."""
    assert scrub_text(text) == (text, 0)
