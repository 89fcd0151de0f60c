"""Redacts everything that leaves the gate: arguments in the profile's level of detail, texts, names and reasons."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal

import orjson

from toolcharter.api.tool import REASON
from toolcharter.events.lines import cut, shape
from toolcharter.guards.secrets import hints, scrub_json, scrub_text

ArgsDetail = Literal["full", "shape", "none"]

_MAX_SHORT_TEXT = 16
"""Texts of up to this many characters are shown as they are: no secret is that short."""
MAX_ID = 200
"""A host's identifier is truncated to this many characters."""
_MAX_ID_BYTES = 4096
"""How many bytes of a host's identifier are scrubbed; the rest is dropped before."""
_MAX_NAME = 64
"""The longest name of a tool, in characters."""
_MAX_NAME_BYTES = 400
"""How many bytes of an unknown tool's name are scrubbed; the rest is dropped before."""
MAX_SHOWN_BYTES = 65_536
"""Arguments that are longer than this after their strings were truncated are shown by their shape, or not at all."""
_MAX_UNCUT_BYTES = 400
"""JSON of at most this many bytes contains no string that an event would truncate."""


def _redact_in_full(raw: bytes) -> bytes:
    if hints.match(raw) or b"\\n" in raw:
        raw, _ = scrub_json(raw)
    if len(raw) <= _MAX_UNCUT_BYTES:
        return raw
    short = orjson.dumps(cut(orjson.loads(raw)))
    return short if len(short) <= MAX_SHOWN_BYTES else _redact_to_shape(raw)


def _redact_to_shape(raw: bytes) -> bytes:
    short = orjson.dumps(cut(shape(orjson.loads(raw))))
    return short if len(short) <= MAX_SHOWN_BYTES else b"null"


REDACTORS: Mapping[ArgsDetail, Callable[[bytes], bytes]] = {
    "full": _redact_in_full,
    "shape": _redact_to_shape,
    "none": lambda _: b"null",
}
"""Redacts arguments that are JSON text, by level of detail."""


def redact_args(args: Any, detail: ArgsDetail) -> bytes:
    """Redact arguments that were not validated yet. Values that are no JSON are shown as text, or not at all."""
    try:
        return REDACTORS[detail](orjson.dumps(dict(args), default=repr))
    except Exception:  # noqa: BLE001 - a mapping of the caller's own may raise anything
        return b"null"


def redact_action(action: str | None) -> str | None:
    """Redact an action for events. A short word is shown as it is, because no secret is that short."""
    if action is None or len(action) <= _MAX_SHORT_TEXT:
        return action
    return str(cut(scrub_text(action)[0]))


def redact_id(given: object) -> str:
    """Redact a host's identifier or name: scrubbed text of bounded length that every event line can carry."""
    text = str(given).encode("utf-8", "backslashreplace")[:_MAX_ID_BYTES].decode(errors="ignore")
    return text if len(text) <= _MAX_SHORT_TEXT else _scrub_id(text)[:MAX_ID]


@lru_cache(maxsize=1024)
def _scrub_id(text: str) -> str:
    """Scrub *text*. Cached, because the identifiers of parents and the names of sessions repeat."""
    return scrub_text(text)[0] if hints.match(text.encode()) else text


def redact_name(name: object) -> str:
    """Redact a name that no tool has. It may be any object."""
    if not isinstance(name, str):
        return f"<{type(name).__name__}>"
    return scrub_text(name.encode("utf-8", "backslashreplace")[:_MAX_NAME_BYTES].decode(errors="ignore"))[0][:_MAX_NAME]


def redact_text(text: str | None) -> str | None:
    """Redact a message or a hint."""
    return None if text is None else mask_secrets(text)[0]


def mask_secrets(text: str) -> tuple[str, int]:
    """Return *text* with its secrets masked, in a form that every host can carry, and the number of secrets."""
    if type(text) is not str:
        text = str.__str__(str(text))  # a subclass may lie about its length
    # No event line and no host can carry a lone surrogate.
    data = text.encode("utf-8", "backslashreplace")
    if hints.match(data):
        return scrub_text(data.decode())
    return (text if len(text) == len(data) else data.decode()), 0


def as_reason_word(reason: str | None) -> str | None:
    """Return *reason* if it is a valid word, else `malformed_` and a word made from it, without secrets."""
    if reason is None or REASON.fullmatch(reason):
        return reason
    word = re.sub(r"[^a-z0-9]+", "_", mask_secrets(reason)[0].lower()).strip("_")
    return f"malformed_{word}"[:64]
