"""Follow one request's redirects, without connections: decides what to send next, and when to stop. Pure."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import NamedTuple

from toolcharter.api.network import HttpAnswer, HttpLimits, NetworkPolicy
from toolcharter.api.reasons import CORE_REASONS, GUARD_REASONS, GuardReason, Reason
from toolcharter.errors import Denied, ToolError
from toolcharter.guards.network.checks import check_url
from toolcharter.guards.network.urls import Url, parse_url, resolve_reference

REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
METHOD_KEEPING_STATUSES = frozenset({307, 308})
"""Redirects after which a request keeps its method and content. Source: RFC 9110, sections 15.4.8 and 15.4.9."""
CROSS_ORIGIN_HEADERS = frozenset({"accept", "accept-language", "user-agent"})
"""The caller's headers that are sent to another origin. None of them could hold a credential."""
_CONTENT = "content-"
MANAGED_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that determine where a message goes or where it ends. A caller cannot set them."""

_MEANINGS = {str(reason): info.meaning for reason, info in (*CORE_REASONS.items(), *GUARD_REASONS.items())}


class HopRequest(NamedTuple):
    """The request of one hop."""

    url: Url
    method: str
    headers: tuple[tuple[str, str], ...]
    """The headers beside those in `MANAGED_HEADERS`; names in lower case."""
    content: bytes | Iterable[bytes] | AsyncIterator[bytes] = b""


class ResponseHead(NamedTuple):
    """The head of one hop's answer."""

    status: int
    headers: tuple[tuple[str, str], ...]
    """Names in lower case."""

    def header(self, name: str) -> str:
        """The first value of a header, or an empty text."""
        return next((value for key, value in self.headers if key == name), "")

    @property
    def encoding(self) -> str:
        """The body's content encoding. Several header lines form one list. Source: RFC 9110, section 5.3."""
        return ", ".join(value for key, value in self.headers if key == "content-encoding")


def own_headers(headers: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """Return a caller's headers with names in lower case.

    Raises:
        ToolError: `invalid_arguments`, for a header in `MANAGED_HEADERS`.
    """
    found = tuple((name.lower(), value) for name, value in (headers or {}).items())
    for name, _ in found:
        if name in MANAGED_HEADERS:
            raise ToolError(f"The header {name!r} cannot be set.", reason=Reason.INVALID_ARGUMENTS)
    return found


class RedirectChain:
    """One request and the redirects that it follows.

    Raises:
        Denied: The policy forbids the first URL.
    """

    def __init__(self, first: HopRequest, policy: NetworkPolicy, limits: HttpLimits) -> None:
        self.next = first
        """The next request to send."""
        self.policy = policy
        self._limits = limits
        self._visited: list[str] = []
        check_url(first.url, policy)

    def advance(self, head: ResponseHead) -> bool:
        """Whether *head* is a redirect. If so, sets `next` to the request that follows it.

        Raises:
            Denied: The policy forbids the redirect's target.
            ToolError: `too_many_redirects`.
        """
        target = head.header("location")
        if head.status not in REDIRECT_STATUSES or not target:
            return False
        self._visited.append(str(self.next.url))
        if len(self._visited) > self._limits.max_redirects:
            message = f"More than {self._limits.max_redirects} redirects, the last to {self.next.url.host_text!r}."
            raise ToolError(message, reason=GuardReason.TOO_MANY_REDIRECTS)
        try:
            self.next = self._redirected(_escaped(target), head.status)
        except Denied as denied:
            # In our own words: the denial may quote the URL, by which a stranger could address the model.
            said = f"A redirect from {self.next.url.host_text!r} is refused. {_MEANINGS[denied.reason]}"
            raise Denied(denied.reason, said) from denied
        return True

    def answer(self, head: ResponseHead, body: bytes, *, truncated: bool) -> HttpAnswer:
        """Build the answer of the last hop."""
        headers = dict(reversed(head.headers))
        return HttpAnswer(str(self.next.url), head.status, headers, body, truncated, tuple(self._visited))

    def _redirected(self, target: str, status: int) -> HopRequest:
        old = self.next
        url = resolve_reference(old.url, target)
        if old.url.scheme == "https" and url.scheme == "http":
            raise Denied(GuardReason.INSECURE_REDIRECT, "It leads from https to http.")
        check_url(url, self.policy)
        kept = old.headers if url.origin == old.url.origin else _cross_origin_headers(old.headers)
        if status in METHOD_KEEPING_STATUSES or old.method in {"GET", "HEAD"}:
            # Content meant for the first origin is not sent to another.
            content = old.content if url.origin == old.url.origin else b""
            return HopRequest(url, old.method, tuple(kept), content)
        return HopRequest(url, "GET", tuple(one for one in kept if not one[0].startswith(_CONTENT)))


def _cross_origin_headers(headers: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    return (one for one in headers if one[0] in CROSS_ORIGIN_HEADERS)


def _escaped(target: str) -> str:
    """Decode a header that was read as Latin-1 as UTF-8, which servers mostly send; keep it if it is not UTF-8."""
    try:
        return target.encode("latin-1").decode()
    except UnicodeError:
        return target


def first_request(url: str, method: str, headers: Mapping[str, str] | None, content: bytes) -> HopRequest:
    """Build the first request of a caller.

    Raises:
        Denied: As `parse_url`.
        ToolError: As `own_headers`.
    """
    return HopRequest(parse_url(url), method, own_headers(headers), content)
