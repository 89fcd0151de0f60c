"""Secrets over several lines: wrapped base64, values below their key, strings that go on, tables."""

import base64
import hashlib
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.guards.secrets.test_known import VALUE

from toolcharter.guards.secrets import MASK, add_secrets, lines, scrub_text
from toolcharter.guards.secrets.stream import Stream

HEX = hashlib.sha256(b"lines").hexdigest()
MIXED = "".join(letter.upper() if index % 3 else letter for index, letter in enumerate(HEX))
TOKEN = "gh" + "p_" + MIXED[:36]
HEADER, FOOTER = (f"-----{word} RSA " + "PRIVATE KEY-----" for word in ("BEGIN", "END"))
PEM = "\n".join([HEADER, *[MIXED] * 8, FOOTER, ""])
PROSE = "It is a truth universally acknowledged, that a single man must be in want of a wife. "


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def lines_of(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width)


@pytest.mark.slow
@pytest.mark.parametrize("width", [20, 32, 60, 64, 76])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PEM, id="key"),
        pytest.param(f"{PROSE}\ntoken={TOKEN}\n{PROSE}", id="token"),
        pytest.param(f"{PROSE}{TOKEN}", id="bare-token"),
        pytest.param(PROSE * 3 + f"DB_PASSWORD={MIXED[:20]}\n", id="password"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_base64_that_wraps_a_secret_over_lines_is_masked(text: str, width: int, end: str) -> None:
    """As a whole, however long its lines are."""
    wrapped = end.join(lines_of(b64(text), width))

    masked, count = scrub_text(f"$ base64 it{end}{wrapped}{end}$ ")

    assert (masked, count) == (f"$ base64 it{end}{MASK}{end}$ ", 1)


@pytest.mark.parametrize(
    ("before", "joint", "after"),
    [
        pytest.param("data:\n  it: |\n    ", "\n    ", "\nother: 1\n", id="yaml"),
        pytest.param('{"content": "', "\\n", '\\n", "n": 1}', id="json"),
        pytest.param('{"body": "{\\"it\\": \\"', "\\\\n", '\\\\n\\"}"}', id="json-in-json"),
        pytest.param("it = (\n    '", "'\n    '", "'\n)\n", id="python"),
        pytest.param('it = "', '" +\n     "', '";\n', id="added"),
        pytest.param('it = [\n  "', '",\n  "', '"\n]\n', id="list"),
        pytest.param("echo ", "\\\n", "\n", id="shell"),
        pytest.param("> ", "\n> ", "\n", id="quoted"),
        pytest.param("@@ -1 +0,0 @@\n+", "\n+", "\n", id="added-in-a-diff"),
        pytest.param("@@ -1 +0,0 @@\n-", "\n-", "\n", id="removed-in-a-diff"),
        pytest.param("    1\t", "\n    2\t", "\n", id="numbered"),
        pytest.param("it.b64:1:", "\nit.b64:2:", "\n", id="grep"),
    ],
)
def test_wrapped_base64_is_found_whatever_stands_between_its_lines(before: str, joint: str, after: str) -> None:
    """What stands before its first line and behind its last stays."""
    text = before + joint.join(lines_of(b64(PEM), 64)) + after

    masked, count = scrub_text(text)

    assert (count, masked.endswith(MASK + after)) == (1, True)
    assert masked.startswith(before.removesuffix("+").removesuffix("-"))


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("before", range(0, 120, 7))
def test_known_value_is_masked_in_wrapped_base64(before: int) -> None:
    """Where the line ends within it, too: no more than its neighbours' letters stay."""
    add_secrets([VALUE])
    wrapped = "\n".join(lines_of(b64("x" * before + VALUE + "y" * 60), 76))

    masked, count = scrub_text(f"<{wrapped}>")

    assert count == 1
    assert len(masked) <= len(b64("x" * before + "y" * 60)) + len(MASK) + 12


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("outer", ["", "a", "ab"])
@pytest.mark.parametrize("inner", ["", "a", "ab"])
def test_known_value_is_masked_in_base64_of_base64(inner: str, outer: str) -> None:
    """As a cluster's secrets are that were encoded by hand before."""
    add_secrets([VALUE])
    twice = b64(outer + b64(f"{inner}{VALUE} and more") + " and more")

    masked, count = scrub_text(twice)

    assert (count, MASK in masked) == (1, True)
    assert b64(b64(VALUE))[4:-8] not in masked


DER = {
    "pkcs1": "MII" + "EpAIBAAK" + "CAQEA",
    "pkcs8": "MII" + "EvQIBADANBgkqhkiG9w0BAQEFAASC" + "BKcw",
    "ec": "MHc" + "CAQEEI" + "Ab",
    "ed25519": "MC4" + "CAQAwBQYDK2VwBCIEI" + "Ab",
    "openssh": "b3B" + "lbnNzaC1rZXktdjE" + "AAAA",
}


@pytest.mark.parametrize("head", DER.values(), ids=DER)
@pytest.mark.parametrize("width", [64, 1000])
def test_private_key_without_its_header_is_masked(head: str, width: int) -> None:
    """Its first bytes tell what it is."""
    wrapped = "\n".join(lines_of(head + MIXED * 4, width))

    assert scrub_text(f"key\n{wrapped}\n\nend\n") == (f"key\n{MASK}\n\nend\n", 1)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\n".join(lines_of(b64(PROSE * 9), 76)), id="prose"),
        pytest.param("\n".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(9)), id="hashes"),
        pytest.param("\n".join(lines_of("MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A" + MIXED * 5, 64)), id="public-key"),
        pytest.param("usr/lib/python3/dist-packages/password\nusr/lib/python3/dist-packages/token\n" * 4, id="listing"),
        pytest.param("-" * 40 + "\ntoken and password\n" + "-" * 40 + "\n", id="rules"),
        pytest.param("a_function_with_a_long_name\nanother_function_with_one\n", id="names"),
        pytest.param("sha256sum " + HEX + "\nlib/a\nlib/b\n", id="hash-and-names"),
    ],
)
def test_long_words_on_many_lines_stay(text: str) -> None:
    """What is wrapped is looked at, and let pass."""
    assert scrub_text(text) == (text, 0)


def test_word_behind_wrapped_base64_stays() -> None:
    """What the next program says is no part of it; nor is a longer line."""
    wrapped = "\n".join(lines_of(b64(PEM * 2)[:740], 74))

    assert scrub_text(f"{wrapped}\ndone\n") == (f"{MASK}\ndone\n", 1)
    assert scrub_text(f"{wrapped}\n{'word' * 40}\n") == (f"{MASK}\n{'word' * 40}\n", 1)


ONE, TWO, THREE = MIXED[:30], MIXED[30:60], MIXED[10:32]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        pytest.param("secret: |\n  {0}\n  {1}\nother: 1\n", "secret: |\n  {m}\nother: 1\n", id="yaml"),
        pytest.param("a:\n  token: >-\n    {0}\n    {1}\n  b: c\n", "a:\n  token: >-\n    {m}\n  b: c\n", id="folded"),
        pytest.param("secret: |\r\n  {0}\r\n  {1}\r\n", "secret: |\r\n  {m}\r\n", id="crlf"),
        pytest.param("secret: |2\n  {0}\n  {1}", "secret: |2\n  {m}", id="indentation"),
        pytest.param("secret: !!binary |\n  {0}\n  {1}=\n", "secret: !!binary |\n  {m}\n", id="binary"),
        pytest.param("api_key = <<EOF\n{0}\n{1}\nEOF\n", "api_key = <<EOF\n{m}\nEOF\n", id="hcl"),
        pytest.param("api_key = <<-EOT\n  {0}\n  {1}\n  EOT\n", "api_key = <<-EOT\n  {m}\n  EOT\n", id="hcl-indented"),
        pytest.param('SECRET = """\n{0}\n{1}\n"""\n', 'SECRET = """\n{m}\n"""\n', id="python"),
        pytest.param("secret = '''\n{0}\n{1}'''\n", "secret = '''\n{m}'''\n", id="toml"),
        pytest.param('TOKEN="{0}\n{1}\n{2}"\n', 'TOKEN="{m}"\n', id="hard-wrapped"),
        pytest.param("token: '{0}\n       {1}'\n", "token: '{m}'\n", id="hard-wrapped-indented"),
        pytest.param('{{"api_key": "{0}\n{1}"}}\n', '{{"api_key": "{m}"}}\n', id="hard-wrapped-json"),
        pytest.param('TOKEN="{0}\\\n{1}"\n', 'TOKEN="{m}"\n', id="continued"),
        pytest.param("export TOKEN={0}\\\n{1}\n", "export TOKEN={m}\n", id="continued-bare"),
        pytest.param('token: "{0}\\\n  {1}"\n', 'token: "{m}"\n', id="continued-indented"),
        pytest.param('token = ("{0}"\n         "{1}")\n', 'token = ("{m}")\n', id="strings"),
        pytest.param("token = '{0}' +\n  '{1}';\n", "token = '{m}';\n", id="added"),
        pytest.param("$token = '{0}' .\n  '{1}';\n", "$token = '{m}';\n", id="php"),
        pytest.param("token = '{0}' \\\n  '{1}'\n", "token = '{m}'\n", id="strings-continued"),
        pytest.param("token: {0}\n  {1}\nb: c\n", "token: {m}\nb: c\n", id="plain"),
    ],
)
def test_value_over_several_lines_below_its_key_is_masked(text: str, masked: str) -> None:
    """From its first line to its last."""
    assert scrub_text(text.format(ONE, TWO, THREE))[0] == masked.format(m=MASK)


@pytest.mark.parametrize(
    ("first", "second"), [(TOKEN[:20], TOKEN[20:]), (TOKEN[:12], TOKEN[12:])], ids=["half", "short"]
)
@pytest.mark.parametrize(
    "around", ["x {}\\\n{} y", 'x "{}" \\\n  "{}" y', 'x "{}"\n  "{}" y', "x '{}' +\n  '{}' y", "x '{}'\n  + '{}' y"]
)
def test_token_that_goes_on_in_the_next_string_is_masked(around: str, first: str, second: str) -> None:
    """It needs no key."""
    quote = '"' if '"' in around else "'" if "'" in around else ""

    assert scrub_text(around.format(first, second)) == (f"x {quote}{MASK}{quote} y", 1)


@pytest.mark.parametrize(
    "text",
    [
        "secret: |\n  a description of\n  what it is for\n",
        "description of the secret: |\n  some\n  words1\n",
        "password: |\n  ${DB_PASSWORD}\n",
        "token: |\n  first/path/to/1\n  second/path/to/2\n",
        "secrets = <<EOF\nEOF\n",
        "tokens = '''\none\ntwo\nthree\n'''\n",
        'usage = """\n--password\n--token\n"""\n',
        'token = "some-long-name-2\nand never closed\n',
        'parser.add_argument("--token" \\\n  "--password")\n',
        "make TOKEN=$(TOKEN) \\\n  PASSWORD=$(PASSWORD) \\\n  all\n",
        'echo "the password" \\\n  "is not here"\n',
        'MESSAGE = (\n    "token"\n    "password"\n)\n',
        "auth = a_function_with_a_long_name\n  another_function\n",
        "token: |\nnot-indented-words-2\n",
        "password: >\n" + "  words\n" * 4,
    ],
)
def test_lines_below_a_key_that_hold_no_secret_stay(text: str) -> None:
    """Prose, names, places to fill in, and what a shell goes on with."""
    assert scrub_text(text) == (text, 0)


def test_words_below_a_key_are_judged_one_by_one_where_they_are_not_one_value() -> None:
    """A word of its own spares no other, and hides none."""
    text = "api_keys: |\n  some-name-here/and-another-2/{0}\n  {1}\nb: c\n"

    assert scrub_text(text.format("x", TWO))[0] == text.format("x", MASK)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        pytest.param(
            "user,password\nann,hunter{0}\nbob,x!y{0}z\n", "user,password\nann,{m}\nbob,{m}\n", id="last-column"
        ),
        pytest.param("password,user\nhunter{0},ann\n\nend, of\n", "password,user\n{m},ann\n\nend, of\n", id="first"),
        pytest.param(
            '"id","db_password","mail"\n1,"hunt,er{0}",a@b.c\n',
            '"id","db_password","mail"\n1,"{m}",a@b.c\n',
            id="quoted",
        ),
        pytest.param("a;secret;b\r\n1;hunter{0};2\r\n", "a;secret;b\r\n1;{m};2\r\n", id="semicolons"),
        pytest.param("name\tapi_key\nx\t" + ONE + "\n", "name\tapi_key\nx\t{m}\n", id="tabs"),
        pytest.param(
            "User name,Access key ID,Secret access key\nann,x,hunter{0}/{0}+x\n",
            "User name,Access key ID,Secret access key\nann,x,{m}\n",
            id="cloud",
        ),
        pytest.param("user,password\nann,hunter" + "pass\n", "user,password\nann,{m}\n", id="letters"),
        pytest.param("user,token\nann," + ONE + "\n", "user,token\nann,{m}\n", id="token"),
    ],
)
def test_value_in_a_column_whose_name_tells_is_masked(text: str, masked: str) -> None:
    """Line by line, as long as they have as many cells as the head."""
    assert scrub_text(text.replace("{0}", "22"))[0] == masked.replace("{m}", MASK).replace("{0}", "22")


@pytest.mark.parametrize(
    "text",
    [
        "user,password\nann,\nbob,xxxxxx\n",
        "user,password\nann,<password>\n",
        "token,count\nthe2x,512\nof4y,12\n",
        "user, password = credentials2(), 1\nx, y = 1, 2hunter\n",
        "name,password,comment\nonly two,cells22here\n",
        "    user,\n    password,\n    hunter22,\n",
        "id,secret_path\n1,/run/secrets/a1\n",
        "password\thow\nwhere it is, and how22\n",
    ],
)
def test_table_without_a_secret_stays(text: str) -> None:
    """Empty cells, places to fill in, words of a language, code."""
    assert scrub_text(text) == (text, 0)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param('user,"password\nann,HERE\n', id="a quote left open in the head"),
        pytest.param('user,password\n"open,HERE\n', id="a quote left open in a row"),
        pytest.param("user,password,note\nann,HERE,x\nbob,HERE\ncarl,HERE,x,y\n", id="rows of another length"),
        pytest.param('user,password,note\nann,HERE,"two\nlines"\n\ncarl,HERE,x\n', id="a break in a cell"),
        pytest.param("user;password\nann;HERE,9\n", id="a comma in a cell"),
        pytest.param('user,password\n"b, ""c""",HERE\n', id="quotes and a comma in a cell"),
        pytest.param("user,password\n" + "ann,HERE\n" * 3000, id="far below the head"),
    ],
)
def test_rows_are_read_as_they_come(rows: str) -> None:
    """Each value goes, and in a stream, too."""
    text = rows.replace("HERE", "hunter" + "22")
    stream = Stream()

    masked, _ = scrub_text(text)
    pieces = [stream.feed(line) for line in text.encode().splitlines(keepends=True)]

    assert "hunter22" not in masked
    assert (b"".join(pieces) + stream.finish()).decode() == masked


def test_columns_of_tokens_are_told_by_their_names() -> None:
    """A name that says whose token is enough; `token` alone may stand above words of a language."""
    value = "8d2bb7efb7" + "fccdbeeede"

    assert scrub_text(f"id,api_token\n1,{value}\n") == (f"id,api_token\n1,{MASK}\n", 1)
    assert scrub_text(f"id,token\n1,{value}\n2,understandable\n") == (f"id,token\n1,{MASK}\n2,understandable\n", 1)


def test_text_ends_a_table() -> None:
    """More than twenty lines without a separator are no cell; nor is the first line below a head."""
    for between in ("words of prose\n", "ann,nothing\n" + "words of prose\n" * 21):
        text = f"user,password\n{between}x,hunter" + "22\n"
        stream = Stream()

        assert scrub_text(text) == (text, 0)
        assert stream.feed(text.encode()) + stream.finish() == text.encode()


def test_row_that_looks_like_a_head_is_a_row() -> None:
    """Many of them cost linear time, and the values below them go."""
    text = "user,password\na,secret\n" * 2000 + "ann,hunter" + "22\n"

    assert scrub_text(text)[1] <= 1
    assert scrub_text("id,user,password\n1,name,passphrase\n2,ann,hunter" + "22\n")[1] >= 1


def test_value_that_comes_again_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text in which a key alternates with the only line below it costs a look-up a line, not a judgement."""
    judged = list[bytes]()

    def judge(value: bytes, _: bytes) -> bool:
        judged.append(value)
        return False

    monkeypatch.setattr(lines, "_is_lone_secret", judge)

    assert scrub_text("secret: |\n  word\nsecret: |\n  other\n" * 100)[1] == 0
    assert judged == [b"word", b"other"]


def test_what_stands_below_an_only_line_counts() -> None:
    """One that comes again may be one of two, or the last of the text."""
    text = f"secret: |\n  {ONE}\nsecret: |\n  {ONE}\n  {ONE}\nsecret: |\n  {ONE}\n  two words\nsecret: |\n  {ONE}"
    masked = f"secret: |\n  {MASK}\nsecret: |\n  {MASK}\nsecret: |\n  {MASK}\n  two words\nsecret: |\n  {MASK}"

    assert scrub_text(text) == (masked, 4)


def test_what_lies_far_below_is_another_matter() -> None:
    """Sixteen kilobytes are within reach, so that a stream need not hold all."""
    long = f"secret: |\n{'  ' + ONE + chr(10)}" * 1 + f"  {ONE}\n" * 900

    assert scrub_text(long)[0].startswith(f"secret: |\n  {MASK}\n  {ONE}\n")


def test_head_that_is_too_long_tells_nothing() -> None:
    """A line of four kilobytes is no head of a table."""
    text = "a," * 2100 + "password\n" + "1," * 2100 + "hunter" + "22x\n"

    assert scrub_text(text) == (text, 0)


@settings(deadline=None)
@given(st.binary(max_size=400), st.integers(20, 80))
def test_wrapped_noise_stays(data: bytes, width: int) -> None:
    """Base64 of anything without a secret is left alone."""
    text = "\n".join(lines_of(base64.b64encode(b"\x00" + data).decode(), width))

    assert scrub_text(text) == (text, 0)


@pytest.mark.parametrize(
    "line",
    [
        "secret: |\n",
        "token = <<EOF\n",
        'password = """\n',
        "user,password\n",
        "password:\n",
        "api_key = \n",
        "tokens: >-\n",
    ],
)
def test_nothing_but_lines_of_keys_is_looked_at_once(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands below a key that opens a value is read only if it can be one."""
    looked = list[str]()

    def counted(name: str) -> Callable[..., Any]:
        judge = getattr(lines, name)

        def count(*given: Any) -> Any:
            looked.append(name)
            return judge(*given)

        return count

    for name in ("_words", "_table"):
        monkeypatch.setattr(lines, name, counted(name))

    assert scrub_text(line * 5000) == (line * 5000, 0)
    assert len(looked) <= 1
