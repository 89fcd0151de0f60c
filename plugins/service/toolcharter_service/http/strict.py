"""`StrictRequests`: validates every request before a route sees it, and adds headers to every response."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolcharter_service.http.json_body import MAX_BODY_BYTES, read_json
from toolcharter_service.http.problems import HttpProblem, problem_response

BODY_S = 20.0
"""How long a client may take to send a body, in seconds."""
MAX_FIELD_BYTES = 24_576
"""The longest value of a header."""
SINGLE_HEADERS = frozenset(
    {
        b"authorization",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"cookie",
        b"host",
        b"idempotency-key",
        b"last-event-id",
        b"origin",
        b"prefer",
        b"traceparent",
        b"transfer-encoding",
        b"x-agent-id",
        b"x-caller-scopes",
        b"x-csrf-token",
        b"x-project-id",
    }
)
"""Headers that may occur once: a proxy in front of this service might use another of two values than it does."""
JSON_ONLY = ("/v1/", "/api/")
"""Paths where a body has to be JSON."""
FORMS = (b"application/x-www-form-urlencoded", b"multipart/form-data")
DEV_WARNING = (b"x-toolcharter-warning", b"serve --dev: every user of this machine may call every tool of the profile")
HARDENING_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]


class StrictRequests:
    """Middleware that reads complete bodies, refuses malformed or too large requests, and adds headers to responses.

    It stores a parsed JSON body in `scope["state"]["json"]`, so no route has to parse it again.
    """

    def __init__(self, app: ASGIApp, *, dev: bool = False) -> None:
        self._app = app
        self._added = [*HARDENING_HEADERS, DEV_WARNING] if dev else HARDENING_HEADERS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a well-formed request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = message.setdefault("headers", [])
                names = {name for name, _ in given}
                message["headers"] = [*given, *(pair for pair in self._added if pair[0] not in names)]
            await send(message)

        try:
            body = await _read_body(scope, receive)
        except HttpProblem as problem:
            await problem_response(problem)(scope, receive, send_hardened)
            return
        if body is None:
            await self._app(scope, receive, send_hardened)
            return
        unread: Message | None = {"type": "http.request", "body": body, "more_body": False}

        async def replay_body() -> Message:
            nonlocal unread
            message, unread = unread, None
            return await receive() if message is None else message

        await self._app(scope, replay_body, send_hardened)


async def _read_body(scope: Scope, receive: Receive) -> bytes | None:
    """Read the complete body; None if there is none.

    Raises:
        HttpProblem: A header is duplicate or too long, or the body is too large, too slow or malformed.
    """
    sent: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if len(value) > MAX_FIELD_BYTES:
            raise HttpProblem(431, f"{_header_text(name)}: the header is too long.", "header_too_long")
        if name in sent and name in SINGLE_HEADERS:
            raise HttpProblem(400, f"{_header_text(name)}: the header occurs twice.", "duplicate_header")
        sent[name] = value
    length = sent.get(b"content-length")
    if b"transfer-encoding" in sent:
        if length is not None:
            what = "content-length: there is a transfer-encoding, too."
            raise HttpProblem(400, what, "duplicate_header", headers=_CLOSE)
    elif length is None or length == b"0":
        return None
    elif not length.isdigit() or len(length) > _MAX_DIGITS or int(length) > MAX_BODY_BYTES:
        raise _too_large()
    kind = _content_type(scope, sent)
    try:
        async with asyncio.timeout(BODY_S):
            body = await _receive_all(receive)
    except TimeoutError:
        raise HttpProblem(408, f"The body did not come in {BODY_S:g} s.", "body_too_slow", headers=_CLOSE) from None
    if kind == b"application/json" and body:
        scope.setdefault("state", {})["json"] = read_json(body)
    return body


async def _receive_all(receive: Receive) -> bytes:
    first = await receive()
    if first["type"] == "http.request" and not first.get("more_body"):
        whole: bytes = first.get("body", b"")
        return whole
    parts, size, message = list[bytes](), 0, first
    while True:
        if message["type"] == "http.disconnect":
            raise HttpProblem(400, "The client left before the body was there.", "client_left")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BODY_BYTES:
            raise _too_large()
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()


def _content_type(scope: Scope, sent: dict[bytes, bytes]) -> bytes:
    """Return the media type of the body.

    Raises:
        HttpProblem: The route does not accept it.
    """
    if sent.get(b"content-encoding", b"identity").lower() != b"identity":
        raise HttpProblem(415, "content-encoding: send the body without an encoding.", "unsupported_media_type")
    kind, _, parameters = sent.get(b"content-type", b"").partition(b";")
    kind = kind.strip().lower()
    named = [one.replace(b'"', b"").strip().lower() for one in parameters.split(b";")]
    is_text_else = any(one.startswith(b"charset") and one not in {b"charset=utf-8", b"charset=utf8"} for one in named)
    if kind == b"application/json" and not is_text_else:
        return kind
    if kind in FORMS and not scope["path"].startswith(JSON_ONLY):
        return kind
    raise HttpProblem(415, "content-type: send application/json in UTF-8.", "unsupported_media_type")


def _too_large() -> HttpProblem:
    return HttpProblem(413, f"The body has more than {MAX_BODY_BYTES} bytes.", "body_too_large", headers=_CLOSE)


def _header_text(name: bytes) -> str:
    return name[:64].decode("latin-1")


_MAX_DIGITS = 20
"""The most digits of a body's length: Python refuses to parse thousands of digits."""
_CLOSE = {"Connection": "close"}
"""The connection is closed, since the rest of the body is not read."""
