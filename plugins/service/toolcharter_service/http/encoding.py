"""Encodes responses as JSON."""

import json
from dataclasses import asdict, is_dataclass
from typing import Any

import orjson
from starlette.responses import Response


def encode_json(value: Any) -> bytes:
    """Encode *value* as JSON, whatever types a tool put into it."""
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # A lone surrogate or a huge integer, which ASCII can carry.
        plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
        return json.dumps(plain, default=str).encode()


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a response with *value* as JSON."""
    return Response(value if isinstance(value, bytes) else encode_json(value), status, headers, "application/json")
