"""What leaves the gate, redacted: arguments in the detail the profile asks for, texts, names and reasons."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal

import orjson

from toolcharter.api.tool import REASON
from toolcharter.events.lines import cut, shape
from toolcharter.guards.secrets import hints, scrub_json, scrub_text

ArgsDetail = Literal["full", "shape", "none"]

_WORD = 16
"""No secret is shorter than so many characters."""
MAX_ID = 200
"""How much of an identifier that a host brings is kept, in characters."""
_MAX_ID_BYTES = 4096
"""How much of one is looked at."""
_MAX_NAME = 64
"""As long as a tool's name may be."""
_MAX_NAME_BYTES = 400
"""How much of a name that no tool has is looked at."""
MAX_SHOWN_BYTES = 65_536
"""Arguments that are longer even with their strings cut are shown by their shape, or not at all."""
_SMALL = 400
"""JSON of at most so many bytes holds no string that an event would have to cut."""


def _in_full(raw: bytes) -> bytes:
    if hints.match(raw) or b"\\n" in raw:
        raw, _ = scrub_json(raw)
    if len(raw) <= _SMALL:
        return raw
    short = orjson.dumps(cut(orjson.loads(raw)))
    return short if len(short) <= MAX_SHOWN_BYTES else _as_shape(raw)


def _as_shape(raw: bytes) -> bytes:
    short = orjson.dumps(cut(shape(orjson.loads(raw))))
    return short if len(short) <= MAX_SHOWN_BYTES else b"null"


REDACTORS: Mapping[ArgsDetail, Callable[[bytes], bytes]] = {
    "full": _in_full,
    "shape": _as_shape,
    "none": lambda _: b"null",
}
"""How arguments that are JSON text already are shown, by detail."""


def redact_args(args: Any, detail: ArgsDetail) -> bytes:
    """Arguments that nothing has read yet; what is no JSON is shown as text, or not at all."""
    try:
        return REDACTORS[detail](orjson.dumps(dict(args), default=repr))
    except Exception:  # noqa: BLE001 - a mapping of the caller's own may raise anything
        return b"null"


def redact_action(action: str | None) -> str | None:
    """An action on its events. A short word is shown as it is; no secret is that short."""
    if action is None or len(action) <= _WORD:
        return action
    return str(cut(scrub_text(action)[0]))


def redact_id(given: object) -> str:
    """An identifier or a name that a host brings: scrubbed text of bounded length that every event line can carry."""
    text = str(given).encode("utf-8", "backslashreplace")[:_MAX_ID_BYTES].decode(errors="ignore")
    return text if len(text) <= _WORD else _scrubbed_id(text)[:MAX_ID]


@lru_cache(maxsize=1024)
def _scrubbed_id(text: str) -> str:
    """Remembered: a parent's identifier and a session's name come again and again."""
    return scrub_text(text)[0] if hints.match(text.encode()) else text


def redact_name(name: object) -> str:
    """A name that no tool has, which may be anything."""
    if not isinstance(name, str):
        return f"<{type(name).__name__}>"
    return scrub_text(name.encode("utf-8", "backslashreplace")[:_MAX_NAME_BYTES].decode(errors="ignore"))[0][:_MAX_NAME]


def redact_text(text: str | None) -> str | None:
    """A message or a hint as it leaves the gate."""
    return None if text is None else scrubbed(text)[0]


def scrubbed(text: str) -> tuple[str, int]:
    """*text* without secrets, as a text that every host can carry, and how many secrets it held."""
    if type(text) is not str:
        text = str.__str__(str(text))  # a subclass may lie about its length
    # A lone surrogate is what no event line and no host can carry.
    data = text.encode("utf-8", "backslashreplace")
    if hints.match(data):
        return scrub_text(data.decode())
    return (text if len(text) == len(data) else data.decode()), 0


def as_reason_word(reason: str | None) -> str | None:
    """A reason as it leaves the gate: one word, made from a sentence if a tool gave one, and free of secrets."""
    if reason is None or REASON.fullmatch(reason):
        return reason
    word = re.sub(r"[^a-z0-9]+", "_", scrubbed(reason)[0].lower()).strip("_")
    return f"malformed_{word}"[:64]
