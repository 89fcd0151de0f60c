"""The scrubber on a text that arrives in pieces."""

import hashlib
from base64 import b64encode
from collections.abc import Iterator
from itertools import pairwise
from textwrap import wrap

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.guards.secrets import lines, scrub_bytes
from toolcharter.guards.secrets.extract import UnfinishedBlocks
from toolcharter.guards.secrets.stream import Stream

HEX = hashlib.sha256(b"stream").hexdigest()
TOKEN = "gh" + "p_" + HEX[:36]
BODY = "".join(letter.upper() if index % 3 else letter for index, letter in enumerate(HEX))
HEADER = "-----BEGIN RSA " + "PRIVATE KEY-----"
BLOCK = f"{HEADER}\n{BODY}\n{BODY[::-1]}\n-----END RSA " + "PRIVATE KEY-----\n"

WRAPPED = wrap(b64encode(b"some prose, and a token=" + TOKEN.encode() + b" in it").decode(), 40)

PIECES = st.sampled_from(
    [
        TOKEN,
        HEX[:20],
        BLOCK,
        HEADER + "\n",
        BODY + "\n",
        "password",
        "token:",
        "api_key = ",
        "Authorization: Bearer ",
        "TOKEN: |\n",
        '"secret": "',
        "login ann\n",
        "login ann password ",
        "curl -u ann:",
        "Cookie: sid=",
        'name: TOKEN\n  value: "',
        "https://ann:",
        "@example.com/",
        "\n",
        "\r\n",
        "\n  ",
        " ",
        '"',
        "é",
        "\u200b",
        "%2D",
        "c2VjcmV0PWh1bnRlcjJodW50ZXIy",
        "words of prose.\n",
        "passwords:\n- ",
        "\n  - ",
        '"api_keys": [\n',
        "hunter2x9" + ",\n",
        "\x1b[01;31m\x1b[K",
        *(line + "\n" for line in WRAPPED),
        WRAPPED[0] + "\\n",
        WRAPPED[0] + '" \\\n  "',
        HEX[:30] + "\n",
        "  " + HEX[:30] + "\n",
        "secret: |\n  ",
        "token = <<EOF\n",
        "EOF\n",
        'TOKEN="' + HEX[:12] + "\\\n",
        '"\n  "',
        "user,password\n",
        "a,token,b\r\n",
        "ann,hunter" + "22\n",
        "&quot;",
        "'",
        ",",
        'variable "password" {\n',
        "type = string\n",
        'default = "',
        '{"kty": "EC",\n',
        f'"d": "{BODY[:43]}"',
        '"key_ops": [\n',
        '"sign"\n',
        "}\n",
        '"bearer": {\n',
        f'"host": "{BODY[:30]}"',
        f'"{TOKEN[:12]}" +',
        f"{TOKEN[:24]}\n",
        TOKEN[24:],
        f'"{TOKEN[12:]}"\n',
        "password: |\n  hunter" + "22\n",
        "-----BEGIN OpenVPN Static key " + "V1-----\n",
        "Authorization: Custom ",
        "docker login -u ann -p ",
        "<auth-user-pass>\n",
        "ann\n",
        "echo hunter" + "22 | ",
        "docker login --password-stdin\n",
        "chpasswd <<< ann:",
        "password=tiger_moth" + "_lamp",
        '"nextPageToken": ',
        '"password": 12345' + "67",
        "arn:aws:secretsmanager:eu-west-1:1:secret:",
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join).map(str.encode)


def streamed(data: bytes, cuts: list[int], stream: Stream) -> bytes:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    fed = [stream.feed(data[start:end]) for start, end in pairwise(places)]
    return b"".join([*fed, stream.finish()])


@settings(deadline=None)  # The first example compiles the patterns.
@given(TEXTS, st.lists(st.integers(0, 10_000), max_size=8))
@example(f"token:\n  {HEX}\n".encode(), [7])
@example(BLOCK.encode(), [40, 90])
@example(b'<auth-user-pass>\n"some prose" \\\n  "goes on\n' + HEX[:20].encode() + b"\n", [])
@example(f'password=tiger_moth{"_lamp"}"d": "{HEX[:24].upper()}{HEX[24:48]}"a\n{TOKEN}{TOKEN}'.encode(), [])
def test_the_borders_of_the_pieces_never_matter(data: bytes, cuts: list[int]) -> None:
    """However a text is cut, the outcome is that of the whole."""
    assert streamed(data, cuts, Stream()) == scrub_bytes(data)[0]


@settings(deadline=None)  # The first example compiles the patterns.
@given(TEXTS)
def test_byte_by_byte(data: bytes) -> None:
    """The smallest pieces there are give the same."""
    assert streamed(data, list(range(len(data))), Stream()) == scrub_bytes(data)[0]


@settings(deadline=None)  # The first example compiles the patterns.
@given(TEXTS, st.lists(st.integers(0, 10_000), max_size=8))
def test_a_token_never_survives_a_stream_that_may_hold_little(data: bytes, cuts: list[int]) -> None:
    """Where lines have to be cut or masked unseen, no token comes out."""
    text = data + b" " + TOKEN.encode() + b" " + data

    assert TOKEN.encode() not in streamed(text, cuts, Stream(max_held=256, far=128))


def test_lines_that_wait_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long list in many pieces costs linear time."""
    stream, asked = Stream(), list[int]()
    waiting = stream._start_of_waiting

    def counted(end: int, blocks: UnfinishedBlocks) -> int | None:
        asked.append(end)
        return waiting(end, blocks)

    monkeypatch.setattr(stream, "_start_of_waiting", counted)

    let_go = [stream.feed(b"- item\n") for _ in range(500)] + [stream.feed(b"done\n")]

    assert (b"".join(let_go), let_go[:-1]) == (b"- item\n" * 500 + b"done\n", [b""] * 500)
    assert len(asked) <= 2 * 500


@each_row(
    "text",
    [
        pytest.param(f'TOKEN="{HEX[:12]}\\\n@example.com/"\n', id="a sign behind a line that goes on"),
        pytest.param(f"TOKEN=\"{HEX[:12]}\\\n%2D'\n", id="a sign that is escaped"),
        pytest.param(f'TOKEN="{HEX[:12]}\\\nEOF\npassword&quot;\n', id="a quote left open in two lines"),
        pytest.param("user,password\n&quot;words of prose.\nann,hunter22\n", id="a table by what is escaped"),
        pytest.param("user,password\n\x1b[01;31m\x1b[K\n  - ann,hunter22\n", id="a table with colours"),
        pytest.param(f'secret: |\n  @example.com/"\n  "EOF\n  {HEX[:30]}\n', id="a value over lines that are one"),
        pytest.param(
            f'passwords:\n- {BODY[:40]}" \\\n  "default = "\n  - {WRAPPED[1]}\n', id="a list item of two lines"
        ),
        pytest.param(f"{HEADER}\n\x1b[01;31m\x1b[K{BODY}\n{HEX[:30]}\n", id="a block with colours"),
        pytest.param(HEADER + f"\n{BODY}" * 300 + "\nno end\n", id="a long block that is cut off"),
    ],
)
def test_lines_that_belong_together_are_let_go_together(text: str) -> None:
    """Line by line, the outcome is that of the whole text."""
    stream = Stream()

    pieces = [stream.feed(line) for line in text.encode().splitlines(keepends=True)]

    assert b"".join(pieces) + stream.finish() == scrub_bytes(text.encode())[0]


def test_lines_far_below_what_opens_a_value_do_not_wait() -> None:
    """Nor are the lines between looked at without end."""
    far = b"secret: |\n" + b"word\n" * 5000

    assert Stream().feed(far) == far


@pytest.mark.parametrize("text", ["user,password\n" + "u,v\n" * 500, "secret: |\n" + "  word\n" * 500])
def test_lines_are_looked_at_once(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """So is what tells of the values in the lines below it, however often these ask."""
    looked, heads = list[bytes](), lines._heads

    def counted(data: bytes, asked: int) -> Iterator[tuple[int, int]]:
        looked.append(data)
        return heads(data, asked)

    monkeypatch.setattr(lines, "_heads", counted)
    stream = Stream()
    for row in text.encode().splitlines(keepends=True):
        stream.feed(row)

    assert sum(map(len, looked)) <= 40 * len(text)


def test_nothing_is_lost_where_a_table_is_not_what_it_seemed() -> None:
    """What is in front of new lines only tells of them: where it grows together with them, they stand for themselves."""
    stream = Stream()
    stream._table = TOKEN[:12].encode()

    assert stream.feed(f"{TOKEN[12:16]}\nplain\n".encode()) == f"{TOKEN[12:16]}\nplain\n".encode()

    stream._table = TOKEN[:12].encode()
    assert stream.feed(f"{TOKEN[12:]}\nplain\n".encode()) == f"{TOKEN[12:]}\nplain\n".encode()


def test_closed_lines_are_let_go_at_once() -> None:
    """Nothing waits that is decided."""
    stream = Stream()

    assert stream.feed(f"one\ntoken={HEX} x\nto".encode()) == b"one\ntoken=[REDACTED] x\n"
    assert stream.feed(b"ken:\n") == b""
    assert stream.feed(f"  {HEX}\nplain\n".encode()) == b"token:\n  [REDACTED]\nplain\n"
    assert stream.finish() == b""


def test_long_line_is_cut_between_words() -> None:
    """A clean line that is longer than may be held comes out as it is, in parts, with its secrets masked."""
    line = (b"some words and 12 numbers; " * 40) + b"token=" + HEX.encode() + b" " + b"and more words " * 60
    stream = Stream(max_held=512, far=128)

    fed = [stream.feed(line[start : start + 50]) for start in range(0, len(line), 50)]

    assert b"".join([*fed, stream.finish()]) == scrub_bytes(line)[0]
    assert max(map(len, fed)) < 600


@pytest.mark.parametrize(
    ("before", "unit", "after"),
    [
        pytest.param(b"token=", b"a1B2", b" done\nplain\n", id="word"),
        pytest.param(
            HEADER.encode() + b"\n", b"a1B2" * 16 + b"\n", b"-----END RSA PRIVATE KEY-----\nplain\n", id="block"
        ),
    ],
)
def test_what_is_longer_than_may_be_held_is_masked_to_its_end(before: bytes, unit: bytes, after: bytes) -> None:
    """A secret without end is never let out; what follows it is."""
    stream = Stream(max_held=512, far=128)
    data = b"first\n" + before + unit * 200 + after

    fed = [stream.feed(data[start : start + 64]) for start in range(0, len(data), 64)]
    said = b"".join([*fed, stream.finish()])

    assert b"a1B2" not in said
    assert (said[:6], said[-6:], said.count(b"[REDACTED]")) == (b"first\n", b"plain\n", 1)


def test_word_that_never_ends_is_dropped() -> None:
    """The end of the text ends what is masked unseen."""
    stream = Stream(max_held=64, far=16)

    assert (stream.feed(b"a1B2" * 100), stream.feed(b"a1B2"), stream.finish()) == (b"[REDACTED]", b"", b"")
    assert (stream.feed(b"again\n"), stream.finish()) == (b"again\n", b"")
