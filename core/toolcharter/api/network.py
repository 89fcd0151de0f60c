"""The network as tools see it: their policy, limits, answers, and the protocol of `rt.http`."""

import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Annotated, NamedTuple, Protocol

from pydantic import Field, field_validator

from toolcharter.api.policy import ToolPolicy

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

    import httpx

NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*")
"""A host name in the form in which it is compared: lower case, ASCII, no dot at the end."""
MAX_NAME = 253
"""The longest name, in characters. Source: RFC 1035, section 2.3.4, without the root's dot."""
Port = Annotated[int, Field(ge=1, le=65_535)]


class NetworkPolicy(ToolPolicy):
    """What one profile lets a tool reach on the network; a tool's policy extends it."""

    allowed_domains: tuple[str, ...] = ("*",)
    """The only hosts that may be reached: `example.com` is that host, `*.example.com` is that host and all its
    subdomains, `*` is any host. An address, such as `93.184.216.34`, is written as in a URL, but without brackets."""
    denied_domains: tuple[str, ...] = ()
    """Hosts that may not be reached, in the same form; wins over `allowed_domains`."""
    ports: tuple[Port, ...] = (80, 443, 8080, 8443)
    """The ports that may be reached."""
    allowed_private: tuple[str, ...] = ()
    """Addresses and networks that may be reached although they are not public (`10.1.2.3`, `192.168.7.0/24`), and
    internal names that may be looked up (`wiki.intranet`). A host with an internal name needs both: an entry for its
    name and one for its address. A metadata service needs its exact address."""

    @field_validator("allowed_domains", "denied_domains")
    @classmethod
    def _check_domains(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            if pattern != "*" and not _is_host(pattern, pattern.removeprefix("*.")):
                raise ValueError(f"{pattern!r} is no host; {_suggest_form(pattern)}")
        return patterns

    @field_validator("allowed_private")
    @classmethod
    def _check_private(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        for entry in entries:
            if _is_no_network(entry) and not _is_name(entry):
                raise ValueError(
                    f"{entry!r} is no address, network or host name; {_suggest_form(entry, _NETWORK_ADVICE)}"
                )
        return entries


_HOST_ADVICE = "write one such as 'example.com' or '*.example.com'"
_NETWORK_ADVICE = "write one such as '10.1.2.0/24', '10.1.2.3' or 'wiki.intranet'"
_MISTAKES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r".*[/@?#\\]"), "write the host alone, without scheme, user or path"),
    (re.compile(r"[^:]+:[0-9]+\Z"), "write the host alone; ports belong in `ports`"),
    (re.compile(r"\[.*\]"), "write an IPv6 address without brackets"),
    (re.compile(r".*:.*:"), "write an IPv6 address in its shortest form, in lower case"),
    (re.compile(r".*\.\Z"), "write it without the dot at its end"),
    (re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\Z"), "write all four numbers of an address, in decimal"),
    (re.compile(r".*[A-Z]"), "write it in lower case"),
    (re.compile(r".*[^\x00-\x7f]"), "write it as 'xn--...'"),
    (re.compile(r".+\*"), "a star may be at the beginning only, as in '*.example.com'"),
)


def _suggest_form(entry: str, otherwise: str = _HOST_ADVICE) -> str:
    """Advice about the probable mistake in an entry that is no host."""
    is_network = otherwise == _NETWORK_ADVICE and "/" in entry and "//" not in entry
    return next((advice for trap, advice in _MISTAKES if not is_network and trap.match(entry)), otherwise)


def _is_host(pattern: str, name: str) -> bool:
    """Whether *pattern* is a host name, with or without `*.`, or an address in the form in which it is compared."""
    return _is_name(name) or (pattern == name and _is_address(name))


def _is_name(text: str) -> bool:
    """Whether a host can have this name. A text that ends in a number is an address to all programs, or invalid."""
    return len(text) <= MAX_NAME and bool(NAME.fullmatch(text)) and not is_number(text.rpartition(".")[2])


def is_number(label: str) -> bool:
    """Whether URL parsers read a host that ends in *label* as an address. Source: WHATWG URL, "ends in a number"."""
    return label.isdigit() or (label.startswith("0x") and all(c in "0123456789abcdef" for c in label[2:]))


def _is_address(text: str) -> bool:
    try:
        return str(ip_address(text)) == text
    except ValueError:
        return False


def _is_no_network(entry: str) -> bool:
    try:
        ip_network(entry)
    except ValueError:
        return True
    return False


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """The limits of one request, including its redirects."""

    timeout_s: float = 30.0
    """From the look-up of the name to the last byte, in seconds; the call's own deadline if that is sooner."""
    max_bytes: int = 1_000_000
    """The size of the body, after decompression."""
    max_redirects: int = 5
    max_headers: int = 200
    """Header lines of one answer; together they may have 100 KiB."""


class HttpAnswer(NamedTuple):
    """One answer, read to its end or to the limit. All of it comes from the server, which is not trusted."""

    url: str
    """The URL of the last request, after redirects, without a fragment."""
    status: int
    headers: Mapping[str, str]
    """By name in lower case; if a header is repeated, its first value."""
    body: bytes
    """Decompressed."""
    truncated: bool
    """Whether the body was longer than `max_bytes`; `body` is then its beginning."""
    redirects: tuple[str, ...] = ()
    """The URLs that led here, in order."""


class Connect(Protocol):
    """Checks a host and a port and connects to them, from asynchronous code."""

    def __call__(self, host: str, port: int, /) -> Awaitable[tuple["StreamReader", "StreamWriter"]]:
        """Connect as `Http.connector` describes."""
        ...


class Http(Protocol):
    """`rt.http`: HTTP to public addresses, and to private addresses that a policy names.

    Every method except `check` acts on the world and is refused before the mark. The function that `connector` returns
    may be used after the call, until the toolbox closes. All methods raise `Denied`
    for forbidden requests (`private_address`, `url_not_understood`, `scheme_not_allowed`,
    `credentials_in_url`, `domain_not_allowed`, `port_not_allowed`, `insecure_redirect`) and
    `ToolError` for failures (`host_not_found`, `connection_failed`, `tls_failure`, `timed_out`,
    `invalid_response`, `response_too_large`, `too_many_redirects`).
    """

    def check(self, url: str, policy: NetworkPolicy, /) -> str:
        """Check the text of *url* against *policy*. No name is looked up, so this may be called before the mark.

        Returns:
            The URL in its normal form, without its fragment.
        """
        ...

    def fetch(
        self,
        url: str,
        policy: NetworkPolicy,
        /,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
        limits: HttpLimits | None = None,
    ) -> HttpAnswer:
        """Send one request and follow its redirects; each redirect is checked like the first URL.

        The name of each hop is looked up once, every address in the answer is checked, and the
        connection goes to a checked address. Proxy variables are ignored and cookies are not kept. A
        redirect to another origin gets, of *headers*, only `Accept`, `Accept-Language` and `User-Agent`.

        Args:
            url: The URL, as a model writes it.
            policy: What may be reached.
            method: In capitals.
            headers: Added to the standard headers; `Host` and headers that frame a message are refused.
            content: The body.
            limits: The limits of the request.
        """
        ...

    async def afetch(
        self,
        url: str,
        policy: NetworkPolicy,
        /,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
        limits: HttpLimits | None = None,
    ) -> HttpAnswer:
        """`fetch` from asynchronous code."""
        ...

    def transport(self, policy: NetworkPolicy, /, *, limits: HttpLimits | None = None) -> "httpx.BaseTransport":
        """Return a transport for a library's `httpx.Client`. Each hop is guarded; the client follows redirects itself.

        Reading a body beyond the limit raises `ToolError` (`response_too_large`).
        """
        ...

    def async_transport(
        self, policy: NetworkPolicy, /, *, limits: HttpLimits | None = None
    ) -> "httpx.AsyncBaseTransport":
        """`transport` for an `httpx.AsyncClient`."""
        ...

    def connector(self, policy: NetworkPolicy, /, *, timeout_s: float = 15.0) -> Connect:
        """Return a function that connects to a host and port, for other protocols or beyond the end of the call.

        The host and port are checked like those of a URL: the name is looked up once, every address in the answer is
        checked, the connection goes to a checked address, and the peer's address is verified. The function does no TLS,
        and *timeout_s* is its only deadline.

        Args:
            policy: What may be reached.
            timeout_s: For the look-up and the connection together, in seconds.

        Returns:
            `await connect(host, port)`, for any asyncio event loop; *host* is a name, or an address without brackets.
            It raises the errors that `fetch` raises.
        """
        ...
