"""Parts of private keys without their first line, as programs print them, and what looks like them and is public."""

from base64 import b64encode
from hashlib import sha512

import pytest

from toolcharter.guards.secrets import scrub_text
from toolcharter.guards.secrets.stream import Stream

BODY = b64encode(b"".join(sha512(bytes([number])).digest() for number in range(12))).decode()
LINES = [BODY[at : at + 64] for at in range(0, len(BODY), 64)]
WIDE = [BODY[at : at + 70] for at in range(0, len(BODY), 70)]
END = "-----END RSA " + "PRIVATE KEY-----"


def streamed(text: str) -> str:
    """*text* by lines."""
    stream = Stream()
    return b"".join(
        [*(stream.feed(line.encode()) for line in text.splitlines(keepends=True)), stream.finish()]
    ).decode()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\n".join(LINES[1:4]), id="three lines"),
        pytest.param("\n".join(WIDE[1:5]) + "\n", id="as OpenSSH writes"),
        pytest.param("\n".join(f"{number}:{line}" for number, line in enumerate(LINES[1:5], 12)), id="numbered"),
        pytest.param("\n".join(f"key.pem-{number}-{line}" for number, line in enumerate(LINES[1:5], 12)), id="grep"),
        pytest.param("\n".join(f"+{line}" for line in LINES[1:5]), id="added"),
        pytest.param("\n".join(f"-{line}" for line in LINES[1:5]), id="removed"),
        pytest.param("\n".join([*(f" {line}" for line in LINES[1:4]), f"-{LINES[4]}", f"+{LINES[5]}"]), id="a diff"),
        pytest.param(f"{LINES[1]}\n{END}\n", id="a line and the end"),
        pytest.param(f"{LINES[1][:30]}==\n{END}\n", id="the last line and the end"),
        pytest.param("text above\n" + "\r\n".join(LINES[1:5]), id="carriage returns"),
    ],
)
def test_lines_of_a_key_are_masked_without_the_first_one(text: str) -> None:
    """As a whole and by pieces."""
    masked, count = scrub_text(text)

    assert (count > 0, streamed(text)) == (True, masked)
    assert not any(line[20:] in masked for line in (*LINES, *WIDE, LINES[1][:30]))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\n".join(["-----BEGIN CERTIFICATE-----", *LINES[1:5], "-----END CERTIFICATE-----"]), id="block"),
        pytest.param("\n".join(["-----BEGIN CERTIFICATE-----", *LINES[1:5]]), id="the beginning of a block"),
        pytest.param("\n".join([*LINES[1:5], "-----END CERTIFICATE-----"]), id="the end of a block"),
        pytest.param("\n".join(["-----BEGIN PGP SIGNATURE-----", "", *LINES[1:5]]), id="a signature"),
        pytest.param("\n".join(["Content-Transfer-Encoding: base64", "", *LINES[1:5]]), id="a part of a mail"),
        pytest.param("\n".join(LINES[1:3]), id="two lines"),
        pytest.param("\n".join(BODY[at : at + 76] for at in range(0, 400, 76)), id="another width"),
        pytest.param("\n".join(sha512(bytes([at])).hexdigest()[:64] for at in range(5)), id="hashes"),
        pytest.param(
            "\n".join(
                b64encode(b"the quick brown fox jumps over the lazy dog %05d" % at).decode()[:64] for at in range(4)
            ),
            id="text",
        ),
        pytest.param(
            "\n".join([b64encode(b"\x89PNG\r\n\x1a\n" + sha512(b"").digest()[:40]).decode(), *LINES[1:4]]),
            id="a picture",
        ),
        pytest.param(f"short\n{END}", id="the end alone"),
    ],
)
def test_what_is_public_stays(text: str) -> None:
    """Certificates, signatures, hashes and pictures; two lines of which nothing is known."""
    assert (scrub_text(text), streamed(text)) == ((text, 0), text)
