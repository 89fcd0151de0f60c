"""Runs the scrubber, and `re` with five common kinds of tokens, on clean text and on text made to be slow."""

import os
import re
from functools import cache, partial
from time import perf_counter

from toolcharter.guards.secrets import scrub_bytes

SIZES = {
    "200 bytes": 200,
    "10 KB": 10_000,
    "1 MB": 1_000_000,
    "50 MB": int(os.environ.get("BENCH_LARGEST", "50_000_000")),
}
HOSTILE = {
    "prefixes": b"sk-",
    "keys": b"password=",
    "keys and quotes": b'token="',
    "escapes": b'secret: "\\\\',
    "bearers": b"Bearer a ",
    "keys that lead nowhere": b"api_key = \n",
    "nested values": b"token=token:",
    "schemes": b"a://b:",
    "headers": b"-----BEGIN " + b"PRIVATE KEY-----",
    "tokens almost": b"eyJ.eyJ.",
    "invalid bytes": b"\xff\xfetoken ",
    "masks": b"password=[REDACTED] ",
    "quotes left open": b"password='a token=\"b ",
    "flags": b"--token x ",
    "cookies": b"Cookie: a=b; ",
    "users": b"curl -u a:b ",
    "percent escapes": b"%2D",
    "unseen characters": b"s\xe2\x80\x8bk-",
    "base64 of a key": b"cGFzc3dvcmQ",
    "elements": b"<token>a</token>",
    "members of one line": b'"password": "CharField", ',
    "commands of one line": b"docker login --password ",
}
SECRETS = {
    "tokens": b"AKIA" + b"ABCDEFGHIJKLMNOP ",
    "passwords": b"password=hunter22 ",
    "addresses": b"://a:hunter2@ ",
    "blocks": b"-----BEGIN " + b"RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n",
}
"""Texts of secrets alone: each is found, checked and masked."""
_LINE = b"def area(width: float, height: float) -> float:  # the quick brown fox, %d\n    return width * height\n\n"


by_re = re.compile(
    rb"sk-ant-[A-Za-z0-9-]{20,}|sk-[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{36,}|AKIA[A-Z0-9]{16}"
    rb"|(?i:api[_-]?key|token|secret|password|bearer|authorization)\s*[:=]\s*[\"']?\S{8,}[\"']?"
)
"""Only five kinds: with all of ours, `re` would take some twenty times as long."""


@cache
def clean(size: int) -> bytes:
    """Return *size* bytes of source code without secrets."""
    lines = b"".join(_LINE % number for number in range(min(size, 100_000) // 80 + 2))
    return (lines * (size // len(lines) + 1))[:size]


def scrub(size: str) -> None:
    """Run the scrubber on clean text."""
    scrub_bytes(clean(SIZES[size]))


def substitute(size: str) -> None:
    """Run `re` on the same text."""
    by_re.sub(b"[REDACTED]", clean(SIZES[size]))


def hostile_rate(size: int) -> float:
    """Return the scrubber's lowest rate on *size* bytes of any hostile kind, in MB/s."""
    return min(_rate(unit * (size // len(unit))) for unit in HOSTILE.values())


def secrets_rate(size: int) -> float:
    """Return the scrubber's lowest rate on *size* bytes of secrets alone, in MB/s."""
    return min(_rate(unit * (size // len(unit))) for unit in SECRETS.values())


def hostile_growth(size: int) -> float:
    """Return the time for four times *size* / four times the time for *size*, for the worst hostile kind."""
    return (
        max(
            _seconds(unit * (4 * size // len(unit))) / _seconds(unit * (size // len(unit))) for unit in HOSTILE.values()
        )
        / 4
    )


def _rate(data: bytes) -> float:
    return len(data) / 1e6 / _seconds(data)


def _seconds(data: bytes) -> float:
    best = float("inf")
    for _ in range(10):
        started = perf_counter()
        scrub_bytes(data)
        best = min(best, perf_counter() - started)
    return best


OPERATIONS = {
    **{f"ours {size}": partial(scrub, size) for size in SIZES},
    **{f"re {size}": partial(substitute, size) for size in SIZES},
}
REPORTS = {"hostile_rate": hostile_rate, "secrets_rate": secrets_rate, "hostile_growth": hostile_growth}
