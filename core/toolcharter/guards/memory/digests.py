"""Short names for calls and texts, so that memory holds neither arguments nor output."""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import orjson

_BYTES = 16  # A chance meeting of two texts is as likely as a fault of the machine.
_CANONICAL = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


def of_call(tool: str, action: str | None, args: Mapping[str, Any]) -> bytes:
    """Name a call: equal for equal arguments, in whatever order they and the keys within them stand."""
    return _of_json([tool, action, dict(args)])


def of_args(args: Mapping[str, Any], names: Sequence[str]) -> bytes:
    """Name the values of the arguments called *names*; an absent one is null."""
    return _of_json([args.get(name) for name in names])


def _of_json(whole: list[Any]) -> bytes:
    try:
        # Validated arguments came from JSON; `repr` is for the types that validation makes of it.
        canonical = orjson.dumps(whole, default=repr, option=_CANONICAL)
    except TypeError:  # A default may hold what JSON has no room for: a huge number, half a character.
        canonical = json.dumps(whole, default=repr, sort_keys=True).encode()
    return blake2b(canonical, digest_size=_BYTES).digest()


def of_text(text: str) -> bytes:
    """Name a text, lone surrogates and all."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()
