"""Streamable HTTP: loopback by default, a token for every request, Host and Origin checked."""

import hmac
from collections.abc import Iterable
from ipaddress import ip_address
from typing import NamedTuple

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from toolcharter_mcp.server import ProfileServer

LOOPBACK = "127.0.0.1"
PATH = "/mcp"
MAX_PORT = 65535


class Address(NamedTuple):
    """Where the server listens, and what it requires of clients."""

    host: str
    port: int
    token: str
    names: tuple[str, ...]
    """The hosts that clients may send in `Host` and `Origin`, without the port."""


def parse_address(text: str, token: str, names: Iterable[str] = ()) -> Address:
    """Parse `PORT`, `HOST:PORT` or `[IPv6]:PORT`.

    Args:
        text: The address as the user wrote it.
        token: The token that each request has to carry.
        names: The host names that clients may use. The names of loopback are added for a loopback address.

    Raises:
        ValueError: *text* is malformed; or it is not a loopback address, and *names* is empty.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or LOOPBACK
    if not (port.isascii() and port.isdigit() and int(port) <= MAX_PORT):
        raise ValueError("write PORT or HOST:PORT, such as 8931 or 127.0.0.1:8931.")
    try:
        is_loopback = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        raise ValueError("HOST has to be an IP address or `localhost`.") from None
    allowed = tuple(names)
    if not is_loopback and not allowed:
        raise ValueError(
            "other machines can reach this address: name the host names that clients use with --host-name."
        )
    if is_loopback:
        allowed += (LOOPBACK, "localhost", "[::1]")
    return Address(host, int(port), token, allowed)


def build_application(server: ProfileServer, address: Address) -> ASGIApp:
    """Return the ASGI application to serve at *address*."""
    security = TransportSecuritySettings(
        allowed_hosts=[form for name in address.names for form in (name, f"{name}:*")],
        allowed_origins=[f"{scheme}://{name}:*" for name in address.names for scheme in ("http", "https")],
    )
    inner: Starlette = server.http_application(PATH, address.host, security)
    return RequireToken(inner, address.token)


class RequireToken:
    """Answers 401 to every request without the token, and reads nothing else of such a request."""

    def __init__(self, inner: ASGIApp, token: str) -> None:
        self._inner = inner
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on requests that carry the token, and the events of the application's lifespan."""
        if scope["type"] != "lifespan":
            sent = [value for name, value in scope["headers"] if name == b"authorization"]
            if len(sent) != 1 or not hmac.compare_digest(sent[0], self._expected):
                refusal = PlainTextResponse("unauthorized", 401, {"WWW-Authenticate": "Bearer"})
                await refusal(scope, receive, send)
                return
        await self._inner(scope, receive, send)


def serve(server: ProfileServer, address: Address) -> None:
    """Serve until a signal ends it."""
    uvicorn.run(build_application(server, address), host=address.host, port=address.port, log_level="warning")
