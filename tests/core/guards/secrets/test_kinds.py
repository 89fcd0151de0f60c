"""Kinds of secrets by where they stand: web keys, VPN keys, connections, schemes, salts, logins, strings put together."""

import hashlib

import pytest
from tests.rows import each_row

from toolcharter.guards.secrets import MASK, scrub_text
from toolcharter.guards.secrets.stream import Stream

HEX = hashlib.sha256(b"kinds").hexdigest()
MIXED = "".join(letter.upper() if index % 3 else letter for index, letter in enumerate(HEX))
TOKEN = "gh" + "p_" + MIXED[:36]
SHORT, LETTERS, SIGNS, WORDS = "tig" + "er", "sword" + "fish", "hunt" + "er2!", "tiger_moth" + "_lamp"


def streamed(text: str) -> str:
    """*text* line by line through a stream."""
    stream = Stream()
    pieces = [stream.feed(line) for line in text.encode().splitlines(keepends=True)]
    return (b"".join(pieces) + stream.finish()).decode()


@each_row(
    "text",
    [
        pytest.param('{{"kty":"EC","crv":"P-256","x":"{x}","d":"{0}"}}', id="ec"),
        pytest.param('{{"kty": "oct", "k": "{0}", "alg": "HS256"}}', id="symmetric"),
        pytest.param("{{'d': '{0}', 'kty': 'OKP', 'x': '{x}'}}", id="python"),
        pytest.param(
            '{{\n  "key_ops": [\n    "sign"\n  ],\n  "kty": "RSA",\n  "n": "{x}",\n  "p": "{0}"\n}}\n', id="lines"
        ),
        pytest.param('{{"body": "{{\\"kty\\":\\"EC\\",\\"d\\":\\"{0}\\"}}"}}', id="json-in-json"),
        pytest.param('{{"keys":[{{"kty":"EC","x":"{x}","kid":"a","d":"{0}"}}]}}', id="set"),
        pytest.param("kty: EC\nx: {x}\nd: {0}\n", id="yaml"),
    ],
)
def test_private_member_of_a_web_key_is_masked(text: str) -> None:
    """What is public of it stays."""
    filled = text.format(MIXED[:43], x=MIXED[20:63])

    assert scrub_text(filled) == (text.format(MASK, x=MIXED[20:63]), 1)
    assert streamed(filled) == text.format(MASK, x=MIXED[20:63])


@pytest.mark.parametrize(
    "text",
    [
        f'{{"kty":"EC","x":"{MIXED[:43]}","y":"{MIXED[20:63]}","kid":"d"}}',
        f'{{"kty":"RSA","n":"{MIXED * 4}","e":"AQAB"}}',
        f'{{"k": "{MIXED[:43]}", "p": "{MIXED[:43]}"}}',
        f'<path d="{HEX}"/> {{"d": "{HEX}", "q": "how are you"}}',
    ],
)
def test_public_web_keys_and_members_of_other_objects_stay(text: str) -> None:
    """A name of one letter tells something only in a key."""
    assert scrub_text(text) == (text, 0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("# 2048 bit\n", "\nrest\n", id="file"),
        pytest.param("remote h 1194\n<tls-auth>\n", "\n</tls-auth>\n", id="inline"),
    ],
)
@pytest.mark.parametrize("name", ["OpenVPN Static key " + "V1", "OpenVPN tls-crypt-v2 " + "client key"])
def test_key_of_a_vpn_is_masked(before: str, after: str, name: str) -> None:
    """From its first line to its last."""
    block = "\n".join([f"-----BEGIN {name}-----", *[HEX[:32]] * 16, f"-----END {name}-----"])

    assert scrub_text(f"{before}{block}{after}") == (f"{before}{MASK}{after}", 1)
    assert streamed(f"{before}{block}{after}") == f"{before}{MASK}{after}"


def test_inline_key_of_a_vpn_and_key_of_another_program_are_masked() -> None:
    """`<key>` holds a private key; SSH2 has dashes and blanks of its own."""
    inline = "<key>\n-----BEGIN PRIVATE " + f"KEY-----\n{MIXED}\n-----END PRIVATE " + "KEY-----\n</key>\n"
    other = "---- BEGIN SSH2 ENCRYPTED PRIVATE " + f"KEY ----\n{MIXED}\n---- END SSH2 ENCRYPTED PRIVATE " + "KEY ----\n"

    assert scrub_text(inline) == (f"<key>\n{MASK}\n</key>\n", 1)
    assert scrub_text(other) == (f"{MASK}\n", 1)


@each_row(
    "text",
    [
        pytest.param("Driver={{SQL}};Server=h;UID=ann;PWD={};", id="odbc"),
        pytest.param('"Server=h,1433;Database=d;User Id=ann;Password={};Encrypt=True"', id="ado"),
        pytest.param("DSN=x;UID=sa;PWD={}", id="end"),
        pytest.param("cn = 'Data Source=h;Password={};User ID=ann'", id="middle"),
    ],
)
@each_row("value", [SHORT, LETTERS, SIGNS, WORDS, "Secret_pw"])
def test_password_of_a_connection_is_masked(text: str, value: str) -> None:
    """Whatever it is made of."""
    assert scrub_text(text.format(value)) == (text.format(MASK), 1)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("client-key-data: {}\n", id="kubeconfig-key"),
        pytest.param("users:\n- name: a\n  user:\n    token: {}\n", id="kubeconfig-token"),
        pytest.param("users:\n- name: a\n  user:\n    username: ann\n    password: {}\n", id="kubeconfig-password"),
    ],
)
def test_credential_of_a_cluster_is_masked(text: str) -> None:
    """The user's key, token and password."""
    assert scrub_text(text.format(MIXED)) == (text.format(MASK), 1)


@each_row("scheme", ["GenieKey", "Custom", "Splunk", "SharedKey ann:", "AWS ", "hmac-v2", "Bearer", "SSWS"])
@each_row("text", ["Authorization: {}\n", "curl -H 'authorization: {}' h", '{{"Authorization": "{}"}}'])
def test_header_of_any_scheme_is_masked(text: str, scheme: str) -> None:
    """The word in front of the credential may be any."""
    space = "" if scheme.endswith(":") else " "
    masked, count = scrub_text(text.format(f"{scheme}{space}{MIXED[:30]}"))

    assert (count, MIXED[6:12] in masked) == (1, False)
    assert masked in {text.format(f"{scheme}{space}{MASK}"), text.format(f"{scheme.split(maxsplit=1)[0]} {MASK}")}


@pytest.mark.parametrize("text", ["Authorization: Bearer {}\n", "curl -H 'Authorization: token {}' h"])
def test_credential_of_small_letters_is_masked_behind_a_known_scheme(text: str) -> None:
    """Nothing but a credential ends such a header."""
    assert scrub_text(text.format(LETTERS)) == (text.format(MASK), 1)


@each_row(
    "text",
    [
        "Authorization: see section 4 for details.",
        "Authorization: Bearer realm, Digest or none",
        "Authorization: Bearer tokens are described in RFC6750 below",
        "authorization = get_header(request)",
        "Authorization: {scheme} {token}",
        'headers["Authorization"] = "Bearer " + token',
        "authorization: required for admins",
        "Authorization: AWS4-HMAC-SHA256 Credential=<key>/20260101/eu/s3/aws4_request",
    ],
)
def test_talk_of_headers_stays(text: str) -> None:
    """Sentences, places to fill in, and code."""
    assert scrub_text(text) == (text, 0)


@each_row(
    "text",
    ["salt = '{}'", "SALT={}", '"passwordSalt": "{}"', "secret_salt: {}", "define('AUTH_SALT', '{}');", "hash_salt={}"],
)
def test_salt_is_masked(text: str) -> None:
    """With it, hashes can be tried."""
    assert scrub_text(text.format(MIXED[:20])) == (text.format(MASK), 1)


@each_row(
    "text",
    ["salt = os.urandom(16)", "salt: bytes", 'salt="sea"', "basalt=volcanic", "salt-master: 3006.1", "salt=None"],
)
def test_other_salt_stays(text: str) -> None:
    """Calls, types, words, versions."""
    assert scrub_text(text) == (text, 0)


@each_row(
    "text",
    [
        pytest.param("DB_PASSWORD={}\n", id="file"),
        pytest.param("export password={}\n", id="export"),
        pytest.param('DB_PASSWORD="{}"\n', id="quoted"),
        pytest.param("export DB_PASSWORD='{}'\nX=1\n", id="single-quotes"),
        pytest.param('mysql --password="{}" db', id="quoted-option"),
        pytest.param("spring.datasource.password={}\n", id="properties"),
        pytest.param("app --db-password={} run", id="option"),
        pytest.param("GET /login?user=ann&password={}&x=1", id="query"),
        pytest.param("mount -o username=ann,password={} //h/s /mnt", id="mount"),
        pytest.param("connecting user=ann password={} db=x", id="log"),
        pytest.param('{{"url": "https://h/?password={}"}}', id="json"),
    ],
)
def test_words_with_underscores_are_masked_where_they_are_assigned(text: str) -> None:
    """In a file of settings, an address, an option or a log they are no name."""
    assert scrub_text(text.format(WORDS)) == (text.format(MASK), 1)


@each_row(
    "text",
    [
        "connect(user=user_name, password=user_supplied_value)",
        "    password=entered_by_hand,\n",
        "password=default_password_field\n",
        "f(password=entered_by_hand)",
        'f(password="entered_by_hand")',
        '    password="password_field",\n',
        "password = entered_by_hand\n",
    ],
)
def test_names_with_underscores_stay_in_code(text: str) -> None:
    """Arguments and assignments of other names."""
    assert scrub_text(text) == (text, 0)


@each_row(
    "text",
    [
        "docker login -u ann -p {} registry.example.com",
        "podman login -p{} -u ann quay.example.com",
        "helm registry login h -u ann -p {}",
        "az login --service-principal -u 1 -p {} --tenant t",
        "oc login https://h:6443 -u ann -p {}",
        "ldapsearch -x -D cn=admin,dc=x -w {} -b dc=x",
        "smbclient //nas/share -U ann%{} -c ls",
        "mongosh h -u ann -p {} db",
        "sqlcmd -S h -U ann -P {} -Q x",
        "unzip -P {} a.zip",
        "7z x -p{} a.7z",
        "keytool -list -keystore a.jks -storepass {}",
        "openssl rsa -in a.pem -passin pass:{} -out b.pem",
        "htpasswd -bB .htpasswd ann {}",
        "rabbitmqctl add_user ann {}",
        "lftp -u ann,{} ftp.example.com",
        "vault login {}",
    ],
)
@each_row("value", [LETTERS, SIGNS, MIXED[:20]])
def test_password_of_a_command_is_masked(text: str, value: str) -> None:
    """Behind the letter that each program takes it with, whatever it is made of."""
    assert scrub_text(text.format(value)) == (text.format(MASK), 1)


@each_row(
    "text",
    [
        "echo {} | docker login -u ann --password-stdin registry.example.com",
        "echo '{}' | podman login --password-stdin h",
        'echo -n "{}"|helm registry login h -u ann --password-stdin',
        "printf '{}' | gh auth login --with-token",
        "echo {} | gpg --batch --passphrase-fd 0 -d a.gpg",
        "echo {} | sudo -S apt-get update",
        "echo {} | sudo -kS ls",
        "docker login --password-stdin h <<< '{}'",
        "sudo -S ls <<<{}",
        "echo root:{} | chpasswd",
        "echo 'root:{}' | sudo /usr/sbin/chpasswd -e",
        "chpasswd <<< 'root:{}'",
        "<auth-user-pass>\nann\n{}\n</auth-user-pass>",
        "<http-proxy-user-pass>\r\nann\r\n  {}\r\n</http-proxy-user-pass>\r\n",
    ],
)
@each_row("value", [LETTERS, SIGNS, MIXED[:20], "tiger"])
def test_password_that_a_program_reads_is_masked(text: str, value: str) -> None:
    """What is handed to its input, or stands below a name in its settings, whatever it is made of."""
    assert scrub_text(text.format(value)) == (text.format(MASK), 1)


@each_row(
    "text",
    [
        'echo $PASS | docker login --password-stdin; echo "${PASS}" | sudo -S ls',
        "echo <password> | docker login --password-stdin; cat file | docker login --password-stdin",
        "echo hello | sudo tee file; echo hello | docker run -i web",
        'echo root:$PASS | chpasswd; echo "root:$(cat file)" | chpasswd; chpasswd <<< root:$PASS',
        "echo $(cat file) | sudo -S ls; echo `pass show sudo` | sudo -S ls",
        "<auth-user-pass>\n</auth-user-pass>\nremote example.com\nport 1194\n",
        "<auth-user-pass>\nann\n</auth-user-pass>\n",
    ],
)
def test_what_programs_read_from_elsewhere_stays(text: str) -> None:
    """A variable, a file and a place to fill in are no passwords, nor is what other programs read."""
    assert scrub_text(text) == (text, 0)


@each_row(
    "text",
    [
        "docker run -p 8080:80 web; docker compose -p project up",
        "docker login -u ann -p $PASSWORD h; docker login -p <password>",
        "docker login --password-stdin registry.example.com",
        "ldapsearch -x -w $(cat file) -b dc=x",
        "mkdir -p a/b && zip -r a.zip docs; unzip -l a.zip",
        "az vm create -p parameter; net start service",
        "7z x archive.7z -oout; cargo build -p toolcharter",
    ],
)
def test_commands_without_a_password_stay(text: str) -> None:
    """The same letters mean other things elsewhere."""
    assert scrub_text(text) == (text, 0)


@each_row("opener", ["|", ">", "|-", ">+", "|2", "<<EOF"])
@each_row("value", [SIGNS, LETTERS, MIXED[:20]])
def test_single_line_below_a_key_is_masked(opener: str, value: str) -> None:
    """As if it stood beside it."""
    text = f"a: 1\npassword: {opener}\n  {{}}\n" + ("EOF\n" if "<" in opener else "b: 2\n")

    assert scrub_text(text.format(value)) == (text.format(MASK), 1)
    assert streamed(text.format(value)) == text.format(MASK)


@pytest.mark.parametrize(
    "text",
    [
        "password: |\n  ${PASSWORD}\n",
        "password: >\n  required\n",
        "token: |\n  position\n",
        "secret: |\n  a/path/to/it\n",
    ],
)
def test_single_line_that_is_no_secret_stays(text: str) -> None:
    """Places to fill in, types, words, paths."""
    assert scrub_text(text) == (text, 0)


@each_row(
    "text",
    [
        pytest.param('t = "{}" + "{}"', id="added"),
        pytest.param("t = '{}' '{}'", id="implicit"),
        pytest.param('t = "{}""{}"', id="adjoining"),
        pytest.param("$t = '{}' . '{}';", id="php"),
        pytest.param('t = "{}" .. "{}"', id="lua"),
        pytest.param('t = "{}" & "{}"', id="basic"),
        pytest.param("SELECT '{}' || '{}'", id="sql"),
        pytest.param('t := "{}" +\n\t"{}"', id="go"),
        pytest.param("t = f'{}' rf'{}'", id="prefixes"),
        pytest.param("t = `{}` + `{}`", id="backticks"),
        pytest.param('"{}".concat("{}")', id="concat"),
        pytest.param('{{"code": "t = \\"{}\\" + \\"{}\\""}}', id="in-json"),
        pytest.param("{{\"code\": \"t = ('{}'\\n  '{}')\"}}", id="in-json-over-lines"),
        pytest.param("t={}\\\n{}\n", id="backslash"),
    ],
)
@each_row("place", [4, 12, 30])
def test_token_that_is_put_together_in_source_code_is_masked(text: str, place: int) -> None:
    """Wherever it was cut."""
    filled = text.format(TOKEN[:place], TOKEN[place:])
    masked, count = scrub_text(filled)

    assert (count, masked.count(MASK)) == (1, 1)
    assert not any(TOKEN[at : at + 6] in masked for at in range(len(TOKEN) - 5))
    assert streamed(filled) == masked


@pytest.mark.parametrize(
    "text",
    [
        'print("the token " + "is not here12345678")',
        "x = 'a' + 'b'; y = \"token\" + \"izer\"",
        "['one' 'two', 'three' + 'four']",
    ],
)
def test_strings_that_make_no_secret_stay(text: str) -> None:
    """Words put together are words."""
    assert scrub_text(text) == (text, 0)


@each_row(
    "text",
    [
        f'{{"Tables": [], "NextToken": "{MIXED[:40]}=="}}',
        f'{{"items": [], "nextPageToken": "{MIXED[:20]}", "continuationToken": "1!48!{MIXED[:12]}"}}',
        f"aws s3api list-objects --starting-token {MIXED[:30]} --max-items 5",
        f"GET /v1/items?pageToken={MIXED[:30]}&page_token={MIXED[:24]}",
        f"next_page_token: {MIXED[:30]}\n",
        f"resumptionToken={MIXED[:24]}&afterToken={MIXED[:24]}",
        f"<NextContinuationToken>{MIXED[:30]}</NextContinuationToken>",
        '{"dependencies": {"csrf-token": "^1.0.4", "auth-token": "~2.1.0", "jwt-secret": ">=1.2.3 <2.0.0", "token": "1.x || 2.x"}}',
        'secret = "^1.0.0-beta.1"\ntoken = "v1.2.3"\npassword-hash = "workspace:^1"',
        "password=@@DB_PASSWORD@@\ntoken: __API_TOKEN__\nsecret=%%SECRET%%\napi_key: #{api_key1}\npassword: <%= pw1 %>",
        f"arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db1/pass-{MIXED[:6]}",
        f'"SecretArn": "arn:aws-cn:secretsmanager:cn-north-1:1:secret:name2-{MIXED[:6]}"',
        f'"node_modules/csrf-token": {{"version": "1.0.4", "integrity": "sha512-{MIXED}{MIXED[:20]}=="}}',
        f"github.com/x/token v1.0.0 h1:{MIXED[:43]}=\n",
        f"auth-token@^1.0.0:\n  integrity sha512-{MIXED}==\n",
    ],
)
def test_what_lists_of_packages_and_pages_hold_stays(text: str) -> None:
    """Places in a long answer, versions, places to fill in, names of resources, hashes of files."""
    assert scrub_text(text) == (text, 0)
    assert streamed(text) == text


def test_secret_beside_those_is_masked() -> None:
    """The exceptions spare nothing but themselves."""
    text = (
        'nextPageToken: x, accessToken: "{0}", arn:aws:s3:::a password={0} {{"password": "{0}", "version": "^1.0.4"}}'
    )

    assert scrub_text(text.format(MIXED[:20])) == (text.format(MASK), 3)


def test_password_of_a_test_stays_unless_it_is_random() -> None:
    """By its name it opens nothing."""
    assert scrub_text('TEST_PASSWORD = "hunter' + '22"')[1] == 0
    assert scrub_text(f'TEST_PASSWORD = "{MIXED[:20]}"')[1] == 1
    assert scrub_text("LATEST_PASSWORD = 'hunter" + "22'")[1] == 1


@each_row("place", [10, 20, 30])
@each_row("joint", ["\n", "\r\n", "\n    "])
def test_token_that_the_end_of_a_line_cuts_is_masked(joint: str, place: int) -> None:
    """Without quotes, and however long its kind is known to be."""
    text = f"it is {TOKEN[:place]}{joint}{TOKEN[place:]} and more\n"

    assert scrub_text(text) == (f"it is {MASK} and more\n", 1)
    assert streamed(text) == f"it is {MASK} and more\n"


@pytest.mark.parametrize("width", [64, 72, 80])
def test_token_of_any_length_that_a_terminal_wraps_is_masked(width: int) -> None:
    """Where the line is as wide as those of terminals and mails, and its next part is random."""
    key = "sk-" + "ant-api03-" + MIXED + "-" + MIXED[:28] + "AA"
    line = f"the key of the service is {key}"
    text = f"{line[:width]}\n{line[width:]}\nmore\n"

    assert scrub_text(text) == (f"the key of the service is {MASK}\nmore\n", 1)


@each_row(
    "text",
    [f"{{0}}\n{HEX[:12]} x\n", "{0}\nword\n", "{0}\n/usr/lib/a1\n", "{0}\nNEXT=1\n", f"{{0}}\n{HEX}\n"],
)
def test_what_follows_a_whole_token_in_the_next_line_stays(text: str) -> None:
    """A token that is as long as its kind ends where the line does."""
    assert scrub_text(text.format(TOKEN)) == (text.format(MASK), 1)


@each_row(
    "text",
    [
        pytest.param('val dbPassword: String = "{}"', id="kotlin"),
        pytest.param('let api_key: &\'static str = "{}";', id="rust"),
        pytest.param("const token: string = '{}';", id="typescript"),
        pytest.param('secret: str = "{}"', id="python"),
        pytest.param('var token string = "{}"', id="go"),
        pytest.param("process.env.API_TOKEN || '{}'", id="javascript"),
        pytest.param('os.environ.get("API_TOKEN") or "{}"', id="or"),
        pytest.param("options.secret ?? '{}'", id="nullish"),
        pytest.param("setenv API_TOKEN {}\n", id="csh"),
        pytest.param("ENV DB_PASSWORD {}\n", id="dockerfile"),
        pytest.param("set -gx API_TOKEN {}\n", id="fish"),
    ],
)
@each_row("value", [MIXED[:24], "Harbor@" + "1990"])
def test_value_of_a_typed_variable_and_a_default_is_masked(text: str, value: str) -> None:
    """What stands between a key and its value differs from language to language."""
    assert scrub_text(text.format(value)) == (text.format(MASK), 1)


@each_row(
    "text",
    [
        "The password is {}.",
        "| DB_PASSWORD | {} |",
        'props.setProperty("password", "{}");',
        "define('DB_PASSWORD', '{}');",
        "VALUES ('passphrase', '{}');",
    ],
)
def test_password_near_its_name_is_masked_if_it_has_letters_digits_and_signs(text: str) -> None:
    """However short; words are prose there."""
    assert scrub_text(text.format("Walnut*" + "59")) == (text.format(MASK), 1)
    assert scrub_text(text.format("walnut-tree")) == (text.format("walnut-tree"), 0)


@each_row(
    "text",
    [
        "<dbPassword>{}</dbPassword>",
        "DB_PASSWORD: {}\n",
        "app --db-password {} run",
        "docker login --username ann --password {} h",
        "sshpass -p {} ssh h",
        "machine h login ann password {}\n",
    ],
)
def test_password_of_small_letters_is_masked_where_nothing_else_stands(text: str) -> None:
    """In an element, a list of variables, and behind an option."""
    assert scrub_text(text.format(LETTERS)) == (text.format(MASK), 1)


@each_row(
    "text",
    [
        "kubectl get secret db-credentials-11f37 -o yaml",
        "--passphrase=PASSPHRASE --client-secret=CLIENT_SECRET",
        'password: str = "password"',
        "const token: string = getToken();",
        "const secret = process.env.SECRET || '';",
        "ENV API_TOKEN $API_TOKEN\n",
        "<password>required</password><token>position</token>",
        "DB_PASSWORD: string\nTOKEN: required\n",
        't("password", "Your password")',
    ],
)
def test_names_of_objects_and_types_beside_those_stay(text: str) -> None:
    """They stand where a secret could."""
    assert scrub_text(text) == (text, 0)
