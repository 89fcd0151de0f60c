"""`OriginGuard`: refuses requests for other hosts and from other origins, before any route, and adds security headers.

A page of another site can make a browser send requests here: to this service's name, or to the page's own name after it
resolves to this service's address (DNS rebinding). The browser's headers reveal both, before the request is
authenticated. There are no CORS headers, so no page of another origin can read a response.
"""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolcharter_service.http.problems import HttpProblem, problem_response

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
PROBES = frozenset({"/healthz", "/readyz"})
"""Paths that load balancers request by IP address. Their responses disclose nothing."""
_MAX_PATH = 2_000
_DEFAULT_PORTS = {"http": 80, "https": 443}
_SAME_SITE = frozenset({"same-origin", "none"})
SECURITY_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"referrer-policy", b"same-origin"),  # `no-referrer` would make browsers send `Origin: null` with forms.
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
"""Added to every response that does not set them itself."""
_TLS_HEADER = (b"strict-transport-security", b"max-age=31536000")


class Authority(NamedTuple):
    """A host and optional port, as in the header `Host`: lower case, IPv6 in brackets."""

    name: str
    port: int | None


@lru_cache(maxsize=256)
def read_authority(text: str) -> Authority | None:
    """Parse the value of the header `Host`; None if it is invalid."""
    if not text.isascii() or not text.isprintable() or any(sign in text for sign in "/\\@?# ,"):
        return None
    try:
        parts = urlsplit(f"//{text}")
        name, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not name or text.endswith(":"):
        return None
    return Authority(f"[{name}]" if ":" in name else name.removesuffix("."), port)


class ServedHosts(NamedTuple):
    """The hosts that the service accepts requests for."""

    hosts: frozenset[Authority]

    def accepts(self, authority: Authority) -> bool:
        """Whether requests for *authority* are accepted. An entry without a port accepts every port."""
        return authority in self.hosts or Authority(authority.name, None) in self.hosts


def served_hosts(hosts: Iterable[str], listen: str, *, dev: bool) -> ServedHosts:
    """Return the configured hosts, and the names of loopback if the service listens on loopback.

    Raises:
        ValueError: An entry is no host.
    """
    is_local = dev or ip_address(listen).is_loopback
    named: set[Authority] = set()
    for text in (*hosts, *(LOOPBACK if is_local else ())):
        authority = read_authority(text)
        if authority is None:
            raise ValueError(f"{text!r} is no host: write tools.example.org or tools.example.org:8443, say.")
        named.add(authority)
    return ServedHosts(frozenset(named))


class OriginGuard:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, served: ServedHosts) -> None:
        self._app = app
        self._served = served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = _HTTPS_HEADERS if scope["scheme"] == "https" else SECURITY_HEADERS

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", ()))
                names = {name.lower() for name, _ in given}
                message["headers"] = [*given, *(one for one in headers if one[0] not in names)]
            await send(message)

        try:
            self._require_allowed(scope)
        except HttpProblem as problem:
            await problem_response(problem)(scope, receive, guarded)
        else:
            await self._app(scope, receive, guarded)

    def _require_allowed(self, scope: Scope) -> None:
        texts: dict[bytes, str] = {}
        for name, value in scope["headers"]:
            if name in _CHECKED_HEADERS:
                if name in texts:
                    raise HttpProblem(400, "A header occurs twice that may occur once.", "duplicate_header")
                texts[name] = value.decode("latin-1")
        if scope["path"] in PROBES and b"origin" not in texts:
            return
        host = read_authority(texts.get(b"host", ""))
        if host is None:
            raise HttpProblem(400, "The header Host names no host.", "invalid_request")
        if not self._served.accepts(host):
            raise HttpProblem(403, "This host is not served here.", "host_not_allowed")
        origin, site = texts.get(b"origin"), texts.get(b"sec-fetch-site")
        if origin is not None and not _is_own_origin(host, origin):
            raise HttpProblem(403, "Pages of other origins may not send requests.", "origin_not_allowed")
        if site is not None and site not in _SAME_SITE and not _is_link(scope["method"], texts):
            raise HttpProblem(403, "Pages of other sites may not send requests.", "origin_not_allowed")


_CHECKED_HEADERS = frozenset({b"host", b"origin", b"sec-fetch-site", b"sec-fetch-mode", b"sec-fetch-dest"})
_HTTPS_HEADERS = (*SECURITY_HEADERS, _TLS_HEADER)


def _is_own_origin(host: Authority, origin: str) -> bool:
    """Whether *origin* is the origin of *host*, the request's host: with https, or on loopback.

    The request's own scheme does not matter, since a proxy may terminate TLS in front of this service.
    """
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    found = read_authority(parts.netloc)
    if found is None or parts.scheme not in _DEFAULT_PORTS or origin != f"{parts.scheme}://{parts.netloc}":
        return False
    default = _DEFAULT_PORTS[parts.scheme]
    is_private = parts.scheme == "https" or found.name in LOOPBACK
    return is_private and found.name == host.name and (found.port or default) == (host.port or default)


def _is_link(method: str, texts: dict[bytes, str]) -> bool:
    """Whether a person followed a link from another site. Only that person sees the response to such a GET."""
    is_page = texts.get(b"sec-fetch-mode") == "navigate" and texts.get(b"sec-fetch-dest") == "document"
    return method == "GET" and is_page


def local_path(text: str | None) -> str:
    r"""Return the redirect target after a login: *text* if it is a local path, else `/`.

    Browsers treat a backslash as a slash, and drop tabs and line breaks: `/\\evil` and `/<tab>/evil` lead elsewhere.
    """
    if text is None or not text.startswith("/") or text.startswith("//") or len(text) > _MAX_PATH:
        return "/"
    return "/" if "\\" in text or not text.isascii() or not text.isprintable() or " " in text else text
