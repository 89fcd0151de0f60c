"""The optional headers of requests to tools, for the OpenAPI document; parses `Idempotency-Key` and `Prefer`."""

from typing import Any

from starlette.requests import Request

from toolcharter_service.http.problems import HttpProblem

_WORD = "^[!-~]{1,128}$"
KEY = "^[!-~]{1,255}$"


def _header(name: str, about: str, pattern: str) -> dict[str, Any]:
    schema = {"type": "string", "pattern": pattern}
    return {"name": name, "in": "header", "required": False, "description": about, "schema": schema}


CALLER_HEADERS = [
    _header("X-Agent-ID", "The agent that calls, as far as the token allows.", _WORD),
    _header("X-Project-ID", "The project that it works on, as far as the token allows.", _WORD),
    _header("X-Caller-Scopes", "Narrows the token: `read_registry`, `invoke_tool`, separated by commas.", "^[ -~]*$"),
]
KEYED_HEADERS = [
    *CALLER_HEADERS,
    _header("Idempotency-Key", "The call runs at most once for this key. Its answer is kept for a day.", KEY),
]
CALL_HEADERS = [
    *KEYED_HEADERS,
    _header("Prefer", "`respond-async`: answer 202 at once, and run the call without a waiting client.", "^[ -~]*$"),
]


def values_of(request: Request, name: bytes) -> list[str]:
    """Return the values of a header by its *name* in lower case. Only these are decoded, to keep every call fast."""
    return [value.decode("latin-1") for known, value in request.scope["headers"] if known == name]


def idempotency_key(request: Request) -> str | None:
    """Return the idempotency key of *request*; None if it has none.

    Raises:
        HttpProblem: The key is invalid.
    """
    given = values_of(request, b"idempotency-key")
    if not given:
        return None
    key = given[0].removeprefix('"').removesuffix('"')  # A structured field is a quoted string.
    if not 0 < len(key) <= 255 or not key.isascii() or not key.isprintable() or " " in key:  # noqa: PLR2004 - as `KEY` says
        raise HttpProblem(400, "idempotency-key: write 1 to 255 printable characters of ASCII.", "invalid_request")
    return key


def prefers_async(request: Request) -> bool:
    """Whether the client prefers an asynchronous response. Source: RFC 7240, section 4.1."""
    given = values_of(request, b"prefer")[:1]
    return any(part.partition(";")[0].strip().lower() == "respond-async" for text in given for part in text.split(","))
