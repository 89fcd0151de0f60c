"""Values in places that tell: databases, clouds' lists, command lines, signatures, hashes, entities."""

import hashlib
from typing import Any

import pytest
from tests.rows import each_row

from toolcharter.guards.secrets import MASK, scrub_text, scrub_value

HEX = hashlib.sha256(b"places").hexdigest()
MIXED = "".join(letter.upper() if index % 3 else letter for index, letter in enumerate(HEX))
WEAK, LETTERS, SIGNS = "hunter" + "22x", "hunter" + "pass", "p@ss;" + "w0rd"


@each_row(
    "text",
    [
        pytest.param("CREATE USER ann IDENTIFIED BY '{}';", id="mysql"),
        pytest.param("create user 'ann'@'%' identified with caching_sha2_password by '{}';", id="mysql-plugin"),
        pytest.param("ALTER USER ann IDENTIFIED BY {};", id="oracle-bare"),
        pytest.param('alter user ann identified by "{}" account unlock', id="oracle-quoted"),
        pytest.param("GRANT ALL ON a.* TO 'ann'@'h' IDENTIFIED BY PASSWORD '{}'", id="grant"),
        pytest.param("CREATE ROLE ann LOGIN PASSWORD '{}';", id="postgres-role"),
        pytest.param("ALTER USER ann WITH ENCRYPTED PASSWORD '{}';", id="postgres-user"),
        pytest.param("sqlplus ann/{}@db", id="sqlplus"),
        pytest.param("$ sqlplus -S -L ann/{}@//h:1521/db @run.sql", id="sqlplus-options"),
        pytest.param("expdp ann/{}@db schemas=ann", id="expdp"),
        pytest.param("url=jdbc:oracle:thin:ann/{}@h:1521:db", id="jdbc"),
        pytest.param("localhost:5432:db:ann:{}", id="pgpass"),
        pytest.param("# x\n*:*:*:ann:{}\n", id="pgpass-stars"),
        pytest.param("db.example.com:6432:db:ann:{}\n", id="pgpass-pooler"),
        pytest.param("smtp://ann@example.com:{}@mail.example.com:587", id="mail-address"),
    ],
)
@each_row("value", [WEAK, LETTERS], ids=["digits", "letters"])
def test_password_is_masked_where_a_database_or_a_server_is_told_it(text: str, value: str) -> None:
    """Whatever it is made of."""
    assert scrub_text(text.format(value)) == (text.format(MASK), 1)


@each_row(
    "text",
    [
        "CREATE USER ann IDENTIFIED BY '<password>'; CREATE USER ann IDENTIFIED BY 'password';",
        "CREATE ROLE ann WITH PASSWORD '${DB_PASSWORD}' LOGIN PASSWORD '%s'",
        'They were identified by their names, as IDENTIFIED by UUID4, by "code", or by a user 22.',
        "sqlplus / as sysdba; sqlplus $USER/$PASSWORD@db; sqlplus user/password@db",
        "see sqlplus docs/manual and rman/catalog",
        "jdbc:oracle:thin:@//h:1521/db jdbc:oracle:thin:user/password@h",
        "main.c:5432:12:a:bcdefgh\n00:5000:22:33:44\nkex.c:*:1000,*:kex_exchange():*,packet.c:*\n",
        "localhost:5432:db:ann:password\nlocalhost:5432:db:ann:<yours>\n",
        "postgres://ann@h1:5432,ann@h2:5432/db git+ssh://git@example.com:22/a@b",
    ],
)
def test_talk_of_databases_stays(text: str) -> None:
    """Places to fill in, prose, what a compiler says, and many hosts."""
    assert scrub_text(text) == (text, 0)


@each_row(
    "text",
    [
        pytest.param('"Name": "password", "Value": "{}"', id="capitals"),
        pytest.param('{{\n  "Name": "DB_PASSWORD",\n  "Value": "{}"\n}}', id="task-definition"),
        pytest.param('"ParameterKey": "DBPassword",\n "ParameterValue": "{}"', id="stack"),
        pytest.param('"OutputKey": "AdminPassword", "OutputValue": "{}"', id="stack-output"),
        pytest.param('"name": "API_SECRET",\n  "slotSetting": false,\n  "value": "{}"', id="web-app"),
        pytest.param('"name": "API_SECRET",\n  "contentType": "text/plain",\n  "value": "{}"', id="vault"),
        pytest.param("- Name: DB_PASSWORD\n  Value: {}\n", id="yaml"),
        pytest.param("Driver=x;Server=h;Uid=ann;Pwd={{{}}};Port=1", id="odbc"),
        pytest.param("Password={{{}}}", id="odbc-password"),
        pytest.param('psk="{}"', id="wifi"),
        pytest.param("wifi-security.psk={}", id="wifi-dotted"),
        pytest.param('variable "db_password" {{\n  type = string\n  default = "{}"\n}}', id="variable"),
        pytest.param(
            'variable "db_password" {{\n  description = "x {{y}}"\n  type        = string\n  sensitive = true\n  default   = "{}"\n}}',
            id="variable-described",
        ),
        pytest.param("{{&quot;password&quot;:&quot;{}&quot;}}", id="entities"),
        pytest.param("password=&#39;{}&#39;", id="numbered-entities"),
        pytest.param("password&#x3D;{} x", id="numbered-in-hexadecimal"),
        pytest.param("<input value=&quot;a&quot;> &lt;password&gt;{}&lt;/password&gt;", id="element"),
        pytest.param("?a=1&amp;password={}&amp;b=2", id="ampersand"),
    ],
)
def test_value_is_masked_where_a_list_or_a_file_of_settings_has_it(text: str) -> None:
    """However its key is written, and what stands between."""
    value = SIGNS if "wd={{" in text or "ord={{" in text else WEAK

    assert scrub_text(text.format(value)) == (text.format(MASK), 1)


@each_row(
    "text",
    [
        '"Name": "password", "Value": ""',
        '"Name": "password", "Value": "required"',
        '"ParameterKey": "KeyName", "ParameterValue": "my-key-2"',
        "f'{user};Pwd={password};{password!r} Password={self.passwords[2]} pwd={get_password()}'",
        "Pwd={0};password={pwd:>10};Password={<your password>}",
        "psk: bool = False; key_mgmt=WPA-PSK; psk=${WIFI_PSK}",
        'variable "db_password" {\n  type = string\n  default = ""\n}',
        'variable "db_password" {\n  type = string\n}\nvariable "b" {\n  default = "eu-west-12"\n}',
        "&lt;password&gt; &quot;token&quot; password=&lt;your password&gt;",
        "signature=none response=200 Signature= response=",
        "git checkout -b feature=session; sort -b key=2 --cookie-jar session.txt",
        "curl -b cookies.txt -b session=$SESSION --cookie 'theme=dark-blue'",
    ],
)
def test_settings_without_a_secret_stay(text: str) -> None:
    """Empty ones, fields of a template, and other words."""
    assert scrub_text(text) == (text, 0)


@each_row(
    ("text", "secret"),
    [
        pytest.param("curl -b 'sid={}; theme=dark' h", MIXED[:20], id="cookie"),
        pytest.param("curl -s --cookie session={} https://h/", MIXED[:20], id="cookie-bare"),
        pytest.param('curl --cookie="auth_token={}" h', MIXED[:20], id="cookie-equals"),
        pytest.param("SignedHeaders=host;x-amz-date, Signature={}", HEX, id="aws4"),
        pytest.param('keyId="a",signature="{}=="', MIXED[:62], id="http-signature"),
        pytest.param('uri="/", response="{}", opaque=""', HEX[:32], id="digest"),
        pytest.param("DB_PASSWORD={}", "tiger_moth" + "_lamp", id="underscores"),
        pytest.param("password: {}", "QWxhZGRp" + "bg==", id="padded"),
        pytest.param('"secret": "{}"', "aGFsbG9oYWxsb" + "w==", id="padded-quoted"),
    ],
)
def test_what_opens_a_session_or_signs_is_masked(text: str, secret: str) -> None:
    """Cookies of a command line, signatures, answers to a challenge, words in one."""
    masked, count = scrub_text(text.format(secret))

    assert (masked.replace("==", ""), count) == (text.format(MASK).replace("==", ""), 1)


@each_row(
    "text",
    [
        "password = default_field_name",
        "DB_PASSWORD=db_password",
        "password=user_supplied_value",
        "PASSWORD_FIELD=some_field_name",
        '"password": "some_field_name"',
        "token = some_name_here",
        "if password==other_password: pass",
        "secret: somewords=",
    ],
)
def test_names_with_underscores_and_broken_padding_stay(text: str) -> None:
    """In code, a word with underscores is a name."""
    assert scrub_text(text) == (text, 0)


SALT, HASH = "aB3dE6gH", MIXED + MIXED[:22]


@each_row(
    ("text", "hashed"),
    [
        pytest.param("root:{}:19000:0:99999:7:::", f"$6${SALT}${HASH}", id="sha512"),
        pytest.param("root:{}:19000::::::", f"$6$rounds=5000${SALT}${HASH}", id="rounds"),
        pytest.param("root:{}:19000::::::", f"$5${SALT}${HASH[:43]}", id="sha256"),
        pytest.param("root:{}:19000::::::", f"$y$j9T${SALT * 2}${HASH[:43]}", id="yescrypt"),
        pytest.param("ann:{}\n", f"$2y$05${HASH[:53]}", id="bcrypt"),
        pytest.param("ann:{}\n", f"$apr1${SALT}${HASH[:22]}", id="apr1"),
        pytest.param("ann:{}\n", f"{{SHA}}{HASH[:27]}=", id="sha1"),
        pytest.param("userPassword: {}\n", f"{{SSHA}}{HASH[:32]}", id="ssha"),
        pytest.param("x {} y", f"$argon2id$v=19$m=65536,t=3,p=4${SALT * 2}${HASH[:43]}", id="argon2"),
    ],
)
def test_hash_of_a_password_is_masked(text: str, hashed: str) -> None:
    """It can be tried against lists of passwords."""
    assert scrub_text(text.format(hashed)) == (text.format(MASK), 1)


@pytest.mark.parametrize(
    "text",
    [
        "root:*:19000:0:99999:7:::\ndaemon:!:19000::::::\nann:x:1000:1000::/home/ann:/bin/sh\n",
        "echo $6 $5$1 $2y $y$x costs $6.50",
        "awk '{print $1$2$3}' $2a$05",
        "$2b$12$... and $6$salt$hash are forms of hashes, {SHA} is one",
    ],
)
def test_what_only_begins_like_a_hash_stays(text: str) -> None:
    """Locked accounts, arguments of a shell, and what is told of hashes."""
    assert scrub_text(text) == (text, 0)


@pytest.mark.parametrize(
    "value",
    [
        {"Name": "DB_PASSWORD", "Value": "x"},
        {"ParameterKey": "dbPassword", "ParameterValue": "x"},
        {"name": "API_SECRET", "slotSetting": False, "value": "x"},
        {"Value": "x", "Key": "client-secret"},
    ],
)
def test_value_beside_its_name_in_a_list_is_masked(value: Any) -> None:
    """Clouds write them with capitals, and in any order."""
    assert scrub_value([value]) == ([{key: MASK if item == "x" else item for key, item in value.items()}], 1)


@each_row(
    "text",
    [
        pytest.param("PASS: gdb.arch/i386-avx.exp: watch i1\nPASS: gas/i386/pr21231a\n", id="passed-tests"),
        pytest.param('--- PASS: TestParser2 (0.00s)\nPASS: "Run size-3e" ""', id="passed-tests-of-others"),
        pytest.param("$PASSWORD = $CPAN::Config->{password}; secret = $insta::secret", id="variables-of-modules"),
        pytest.param("private_key = $dir/private/cakey.pem# The key", id="variable-and-path"),
        pytest.param('$last_update_token = "\\"$last_update_token\\"";', id="variable-in-quotes"),
        pytest.param("*all_children_pass = *all_children_are;", id="glob"),
        pytest.param("'Test2::Event::Pass' => '1.302103', spwd: 3.0-3.12", id="versions"),
        pytest.param("#define CKA_TOKEN 0x00000001UL\n#define CKA_SERVER_AUTH  0xce536358UL\n", id="numbers"),
        pytest.param("const PASS8 = 0x08000000;", id="number-in-hexadecimal"),
        pytest.param("private key, #gnutls_x509_privkey_t.", id="name-behind-a-sign"),
        pytest.param("(ed25519_private_key, ed25519_public_key) token (_gcry_aes_armv8_ce_xts_crypt)", id="names"),
        pytest.param("PK11_InitToken(PK11SlotInfo *slot, PK11SlotInfo *other)", id="type"),
        pytest.param("private_key: x25519.X25519PrivateKey = a.hpke.MLKEM1024P384PrivateKey", id="types-of-modules"),
        pytest.param("$cakey = PEM_file2key($f);", id="call"),
        pytest.param("fds_to_pass = [listener.fileno2(), alive_r]", id="calls-in-a-list"),
        pytest.param("SetCredential = [\\&.\\&.\\&.];", id="signs"),
        pytest.param("'Unknown token: \"' . $unk->raw2 . '\"'", id="joined-strings"),
        pytest.param("Token=::1a:2b:3c:4d", id="network-address"),
        pytest.param("token::delimiter2 PASSWORD::starttls", id="members"),
        pytest.param("secret: PKCS-12 bag, token: SHA-256 and CARD32, secret=UINT64", id="algorithms-and-types"),
        pytest.param('"etc/passwd": "root:x:0:0::/:/bin/sh"', id="accounts"),
        pytest.param("pass =--check-cxx-compiler=clang++= to", id="option"),
        pytest.param("renamed to --http-password respectively, and --password options, the name", id="prose"),
        pytest.param("ftp://[[user][:pass4word]@]host[:port]/ smb://[[[domain:]user[:password@]]server", id="form"),
        pytest.param("$pass = 'anonymous@';", id="nobody"),
    ],
)
def test_names_types_and_results_are_no_secrets(text: str) -> None:
    """What real files of programs and documentation hold beside words that tell."""
    assert scrub_text(text) == (text, 0)


def test_token_within_the_hash_of_a_file_stays() -> None:
    """Lists of packages hold thousands of random texts; one that begins like a token is none."""
    line = "a/b.py,sha256=qaN-" + "glc" + "_" + MIXED[:40] + ",160\n"

    assert scrub_text(line) == (line, 0)
    assert scrub_text("glc" + "_" + MIXED[:40])[1] == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("PASS: {}\n", id="pass-in-capitals"),
        pytest.param("DB_PASS={}", id="short-name"),
        pytest.param("password = ('{}')", id="in-parentheses"),
        pytest.param("password = (\n    '{}'\n)", id="in-parentheses-on-the-next-line"),
    ],
)
def test_what_is_like_those_and_a_secret_goes(text: str) -> None:
    """A name spares no value."""
    assert scrub_text(text.format(MIXED[:24])) == (text.format(MASK), 1)


def test_private_key_of_a_chain_is_masked() -> None:
    """A long number in hexadecimal is none that one counts with."""
    assert scrub_text(f"PRIVATE_KEY=0x{HEX}") == (f"PRIVATE_KEY={MASK}", 1)


@each_row(
    ("text", "value"),
    [
        pytest.param("C: AUTH PLAIN {}\nS: 235 ok\n", MIXED[:28], id="smtp"),
        pytest.param('A003 LOGIN "ann@example.com" "{}"\n', SIGNS, id="imap"),
        pytest.param("AUTH default {}\r\n+OK\r\n", MIXED[:24], id="redis"),
        pytest.param("ACL SETUSER ann on >{} allkeys\n", SIGNS, id="redis-user"),
        pytest.param("/msg NickServ IDENTIFY ann {}\n", "hunt" + "er2!x", id="chat"),
        pytest.param(" password 7 {}\n login\n", HEX[:16].upper(), id="router"),
        pytest.param("username ann privilege 15 secret 0 {}\n", "hunt" + "er2!x", id="router-user"),
        pytest.param("    set psksecret ENC {}\n", MIXED[:40], id="firewall"),
        pytest.param("snmp-server community {} RO\n", "monitor" + "ing", id="community"),
        pytest.param('dsn := "app:{}@tcp(db.example.com:3306)/app"', MIXED[:16], id="go"),
        pytest.param("Unseal Key 1: {}\n", MIXED[:43], id="unseal"),
        pytest.param("JIRA_PAT={}\n", MIXED[:44], id="personal-access-token"),
        pytest.param('<machineKey validationKey="{}"/>', HEX.upper(), id="machine-key"),
        pytest.param('secret_id: "{}"\n', "6f0e1ca3-7f66-4037-8ce7-32a22c41b0b0", id="secret-id"),
        pytest.param("MNEMONIC='{}'\n", " ".join(["ocean", "hidden", "kidney", "famous"] * 3), id="wallet"),
        pytest.param("$p = ConvertTo-SecureString -String '{}' -AsPlainText -Force", LETTERS, id="powershell"),
        pytest.param('BUNDLE_GEMS__EXAMPLE__COM: "{}"\n', f"{HEX[:8]}:{HEX[8:16]}", id="bundler"),
        pytest.param("Password: {}\n", "qhvz wkcd" + " xbtr mfpj", id="app-password"),
        pytest.param("  password {}\n", "qhvzwkcd" + "xbtrmfpj", id="app-password-joined"),
        pytest.param("[smtp.example.com]:587 ann@example.com:{}\n", SIGNS.replace(";", "!"), id="relay"),
        pytest.param("https://x.azurewebsites.net/api/f?a=1&code={}", MIXED[:54] + "==", id="function"),
    ],
)
def test_what_servers_devices_and_wallets_are_told_is_masked(text: str, value: str) -> None:
    """In logs of protocols, settings of routers, command lines, and where the key has no telling name of its own."""
    assert scrub_text(text.format(value)) == (text.format(MASK), 1)


def test_secret_behind_the_name_of_its_key_is_masked() -> None:
    """In `passwd-s3fs`, a row of a table, and what `aws --output text` prints: 40 letters behind a key's name."""
    name, secret = "AK" + "IA" + "Q7X2" * 4, MIXED[:38] + "/x"

    for text in ("{}:{}\n", "ann,{},{}\n", "{}\t2026-01-01T00:00:00Z\t{}\n"):
        assert scrub_text(text.format(name, secret)) == (text.format(MASK, MASK), 2)


@each_row(
    "text",
    [
        "250-AUTH LOGIN PLAIN XOAUTH2 CRAM-MD5 OAUTHBEARER",
        "AUTH service started on port 8443; the AUTH command authenticates2 clients",
        "3 LOGIN attempts from 10.0.0.1; step 1 LOGIN button clicked_twice2",
        "press key 5 times to continue, the password 8 characters minimum, key 9 numpad9",
        "snmp-server community public RO",
        "user ann on >= 3 nodes, user clicked on > next",
        "mnemonic: add two numbers and store the sum in a register for later use by all",
        "recovery phrase: twelve words that you write down and keep in a safe place",
        'ConvertTo-SecureString $plain -AsPlainText; ConvertTo-SecureString "$pw" -Force',
        'BUNDLE_PATH: "vendor/bundle"\nBUNDLE_BUILD__NOKOGIRI: "--use-system-libraries"\n',
        "[worker.py]:123 request:completed_ok\n[127.0.0.1]:8080 user:ann\n",
        "password: this text goes here; the password must have more than ever",
        "file_pat = re.compile(r'[a-z0-9]{3,20}\\.txt$')",
        'secret_id: prod-database-credentials-v2\n"SecretId": "prod/app/database-password-2024"\n',
        "routing_key: user-events-production-queue-1\naws_key: eu-west-1-production-deploy-key-2\n",
        "root@tcp(127.0.0.1:3306)/app ${DB_USER}:${DB_PASS}@tcp(db:3306)/app",
        "jdbc:sqlserver://h.example.com:1433;database=app;user=ann@h;encrypt=true",
        "Credential=<access key>/20260101/us-east-1/s3/aws4_request",
    ],
)
def test_talk_of_servers_devices_and_wallets_stays(text: str) -> None:
    """What is offered, counted and described there."""
    assert scrub_text(text) == (text, 0)


@each_row(
    "text",
    [
        'connectionString="Server=db1;Database=app2;User Id=sa;Password={};Encrypt=true"',
        "DB_CONNECTION_STRING=Server=tcp:db1.example.com,1433;User ID=ann;Password={};Encrypt=True\n",
        "APP_CONNECTION_STRING=InstrumentationKey={};IngestionEndpoint=https://x.example.com/\n",
        'connection_string: "host=db1 user=ann password={} port=5432"',
    ],
)
def test_of_a_connection_only_the_secret_is_masked(text: str) -> None:
    """Also where the name of the whole is a telling one; without a secret it stays as it is."""
    assert scrub_text(text.format(MIXED[:32])) == (text.format(MASK), 1)
    assert scrub_text(text.replace("assword={}", "ort=1").replace("InstrumentationKey={}", "A=1"))[1] == 0


def test_of_a_connection_in_data_only_the_secret_is_masked() -> None:
    """And of what has a name that is not always telling, what is random."""
    connection = "Server=db1;Database=app2;Password={};Encrypt=true"

    assert scrub_value({"connectionString": connection.format(MIXED[:20])}) == (
        {"connectionString": connection.format(MASK)},
        1,
    )
    assert scrub_value({"jira_pat": MIXED[:44], "secret_id": "prod/db"}) == (
        {"jira_pat": MASK, "secret_id": "prod/db"},
        1,
    )


def test_scope_of_a_signed_request_stays() -> None:
    """Date, region and service behind the name of the key tell nothing."""
    text = "Authorization: AWS4-HMAC-SHA256 Credential={}/20260101/eu-west-1/s3/aws4_request, SignedHeaders=host, Signature={}"

    assert scrub_text(text.format("AK" + "IA" + "Q7X2" * 4, HEX))[0] == text.format(MASK, MASK)
