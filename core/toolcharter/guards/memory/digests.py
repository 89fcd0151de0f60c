"""Short names for calls and texts, so that memory holds neither arguments nor output."""

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import orjson

_BYTES = 16  # A chance meeting of two texts is as likely as a fault of the machine.
_CANONICAL = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


def of_call(tool: str, action: str | None, args: Mapping[str, Any]) -> bytes:
    """Name a call: equal for equal arguments, in whatever order they and the keys within them stand."""
    whole = [tool, action, dict(args)]
    try:
        # Validated arguments came from JSON; `repr` is for the types that validation makes of it.
        canonical = orjson.dumps(whole, default=repr, option=_CANONICAL)
    except TypeError:  # A default may hold what JSON has no room for: a huge number, half a character.
        canonical = json.dumps(whole, default=repr, sort_keys=True).encode()
    return blake2b(canonical, digest_size=_BYTES).digest()


def of_text(text: str) -> bytes:
    """Name a text, lone surrogates and all."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()
