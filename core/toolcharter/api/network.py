"""What tools see of the network: the policy that bounds them, limits, answers, and the protocol of `rt.http`."""

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
"""A host name in the form it is compared in: lower case, ASCII, no dot at its end."""
MAX_NAME = 253
"""The longest name, in characters. Source: RFC 1035, section 2.3.4, without the root's dot."""
Port = Annotated[int, Field(ge=1, le=65_535)]


class NetworkPolicy(ToolPolicy):
    """What one profile lets a tool reach on the network; a tool's policy extends it."""

    allowed_domains: tuple[str, ...] = ("*",)
    """The only hosts that may be reached: `example.com` is that host, `*.example.com` it and all below, `*` any;
    an address, `93.184.216.34`, is that one as a URL writes it, without brackets."""
    denied_domains: tuple[str, ...] = ()
    """Hosts that may not be reached, in the same form; wins over `allowed_domains`."""
    ports: tuple[Port, ...] = (80, 443, 8080, 8443)
    """The ports that may be reached."""
    allowed_private: tuple[str, ...] = ()
    """Addresses and networks that may be reached though they are not public (`10.1.2.3`, `192.168.7.0/24`), and
    internal names that may be looked up (`wiki.intranet`). A host needs both; a metadata service its very address."""

    @field_validator("allowed_domains", "denied_domains")
    @classmethod
    def _patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            if pattern != "*" and not _is_host(pattern, pattern.removeprefix("*.")):
                raise ValueError(f"{pattern!r} is no host; {_advice(pattern)}")
        return patterns

    @field_validator("allowed_private")
    @classmethod
    def _private(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        for entry in entries:
            if _is_no_network(entry) and not _is_name(entry):
                raise ValueError(f"{entry!r} is no address, network or host name; {_advice(entry, _NETWORK)}")
        return entries


_HOST = "write one such as 'example.com' or '*.example.com'"
_NETWORK = "write one such as '10.1.2.0/24', '10.1.2.3' or 'wiki.intranet'"
_TRAPS: tuple[tuple[re.Pattern[str], str], ...] = (
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


def _advice(entry: str, otherwise: str = _HOST) -> str:
    """What is probably wrong with an entry that is no host."""
    is_network = otherwise == _NETWORK and "/" in entry and "//" not in entry
    return next((advice for trap, advice in _TRAPS if not is_network and trap.match(entry)), otherwise)


def _is_host(pattern: str, name: str) -> bool:
    """Whether *pattern* can be for a host: a name, with `*.` or without, or an address as it is compared."""
    return _is_name(name) or (pattern == name and _is_address(name))


def _is_name(text: str) -> bool:
    """Whether a host can have this name. What ends in a number is an address to all programs, or nothing."""
    return len(text) <= MAX_NAME and bool(NAME.fullmatch(text)) and not is_number(text.rpartition(".")[2])


def is_number(label: str) -> bool:
    """Whether a parser of URLs takes a host that ends so for a number. Source: WHATWG URL, "ends in a number"."""
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
    """How much one request may take, its redirects included."""

    timeout_s: float = 30.0
    """From the look-up of the name to the last byte, in seconds; the call's own deadline if that is sooner."""
    max_bytes: int = 1_000_000
    """Of a body, after decompression."""
    max_redirects: int = 5
    max_headers: int = 200
    """Header lines of one answer; together they may have 100 KiB."""


class HttpAnswer(NamedTuple):
    """One answer, read to its end or to the limit. All of it comes from the server, which is not trusted."""

    url: str
    """Of the last request, redirects followed; without a fragment."""
    status: int
    headers: Mapping[str, str]
    """By name in lower case; of a repeated one the first."""
    body: bytes
    """Decompressed."""
    truncated: bool
    """The body is longer than `max_bytes`; this is its beginning."""
    redirects: tuple[str, ...] = ()
    """The URLs that led here, in order."""


class Connect(Protocol):
    """Connects to a host and a port that have been judged, from asynchronous code."""

    def __call__(self, host: str, port: int, /) -> Awaitable[tuple["StreamReader", "StreamWriter"]]:
        """As `Http.connector` says."""
        ...


class Http(Protocol):
    """`rt.http`: HTTP to public addresses, and to those that a policy names.

    Every method but `check` acts on the world and is refused above the mark; what `connector` gives may be used after
    the call, until the toolbox closes. All raise `Denied`
    for what is forbidden (`private_address`, `url_not_understood`, `scheme_not_allowed`,
    `credentials_in_url`, `domain_not_allowed`, `port_not_allowed`, `insecure_redirect`) and
    `ToolError` for what fails (`host_not_found`, `connection_failed`, `tls_failure`, `timed_out`,
    `invalid_response`, `response_too_large`, `too_many_redirects`).
    """

    def check(self, url: str, policy: NetworkPolicy, /) -> str:
        """Judge *url* as far as its text goes; nothing is looked up, so this may be called above the mark.

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
        """Send one request and follow its redirects, each judged as the first URL is.

        The name of each hop is looked up once, every answer is checked, and the address that was
        checked is dialled. No proxy variable is obeyed and no cookie kept; to another origin go no
        headers of the caller's but `Accept`, `Accept-Language` and `User-Agent`.

        Args:
            url: As a model writes it.
            policy: What may be reached.
            method: In capitals.
            headers: Added to ours; `Host` and what frames a message are refused.
            content: The body.
            limits: How much the request may take.
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
        """The same from asynchronous code."""
        ...

    def transport(self, policy: NetworkPolicy, /, *, limits: HttpLimits | None = None) -> "httpx.BaseTransport":
        """For an `httpx.Client` of a library's: one hop per request, under the same guard; the client redirects.

        A body beyond the limit raises `ToolError` (`response_too_large`) where it is read.
        """
        ...

    def async_transport(
        self, policy: NetworkPolicy, /, *, limits: HttpLimits | None = None
    ) -> "httpx.AsyncBaseTransport":
        """The same for an `httpx.AsyncClient`."""
        ...

    def connector(self, policy: NetworkPolicy, /, *, timeout_s: float = 15.0) -> Connect:
        """What connects to a host and port, for protocols of another kind and for what a tool keeps beyond its call.

        Each connection is judged as a URL of its host and port is, the name looked up once, every answer checked, the
        address that was checked dialled, and the peer verified. It speaks no TLS and knows no deadline but its own.

        Args:
            policy: What may be reached.
            timeout_s: For the look-up and the connection together, in seconds.

        Returns:
            `await connect(host, port)`, for any event loop of asyncio; *host* is a name, or an address without brackets.
            It raises as `fetch` does.
        """
        ...
