"""One request and its redirects, without the connections: what to send next, and when to stop. Pure."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import NamedTuple

from toolcharter.api.network import HttpAnswer, HttpLimits, NetworkPolicy
from toolcharter.api.reasons import CORE_REASONS, GUARD_REASONS, GuardReason, Reason
from toolcharter.errors import Denied, ToolError
from toolcharter.guards.network.judge import judge_url
from toolcharter.guards.network.urls import Url, parse_url, resolve_reference

MOVED = frozenset({301, 302, 303, 307, 308})
KEEPS_METHOD = frozenset({307, 308})
"""Redirects after which a request is sent again as it was. Source: RFC 9110, sections 15.4.8 and 15.4.9."""
CROSSING = frozenset({"accept", "accept-language", "user-agent"})
"""The caller's headers that another origin may see: none that could hold a credential."""
_CONTENT = "content-"
OURS = frozenset(
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
"""Headers that say where a message goes or where it ends; a caller has no say in them."""

_MEANINGS = {str(reason): info.meaning for reason, info in (*CORE_REASONS.items(), *GUARD_REASONS.items())}


class Sent(NamedTuple):
    """One request of one hop."""

    url: Url
    method: str
    headers: tuple[tuple[str, str], ...]
    """Beside ours; names in lower case."""
    content: bytes | Iterable[bytes] | AsyncIterator[bytes] = b""


class Received(NamedTuple):
    """The head of one answer."""

    status: int
    headers: tuple[tuple[str, str], ...]
    """Names in lower case."""

    def header(self, name: str) -> str:
        """The first value of a header, or nothing."""
        return next((value for key, value in self.headers if key == name), "")

    @property
    def encoding(self) -> str:
        """How the body is encoded; several lines are one list. Source: RFC 9110, section 5.3."""
        return ", ".join(value for key, value in self.headers if key == "content-encoding")


def own_headers(headers: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """A caller's headers, with names in lower case.

    Raises:
        ToolError: `invalid_arguments`, for one that only we may set.
    """
    found = tuple((name.lower(), value) for name, value in (headers or {}).items())
    for name, _ in found:
        if name in OURS:
            raise ToolError(f"The header {name!r} cannot be set.", reason=Reason.INVALID_ARGUMENTS)
    return found


class Journey:
    """A request on its way.

    Raises:
        Denied: The first URL is one that may not be reached.
    """

    def __init__(self, first: Sent, policy: NetworkPolicy, limits: HttpLimits) -> None:
        self.next = first
        """The request to send."""
        self.policy = policy
        self._limits = limits
        self._passed: list[str] = []
        judge_url(first.url, policy)

    def goes_on(self, received: Received) -> bool:
        """Whether *received* is a redirect; `next` then is what to send.

        Raises:
            Denied: It leads to a forbidden place.
            ToolError: `too_many_redirects`.
        """
        target = received.header("location")
        if received.status not in MOVED or not target:
            return False
        self._passed.append(str(self.next.url))
        if len(self._passed) > self._limits.max_redirects:
            message = f"More than {self._limits.max_redirects} redirects, the last to {self.next.url.host_text!r}."
            raise ToolError(message, reason=GuardReason.TOO_MANY_REDIRECTS)
        try:
            self.next = self._moved(_escaped(target), received.status)
        except Denied as denied:
            # In our words: those of the denial may quote what a stranger wants a model to read.
            said = f"A redirect from {self.next.url.host_text!r} is refused. {_MEANINGS[denied.reason]}"
            raise Denied(denied.reason, said) from denied
        return True

    def answer(self, received: Received, body: bytes, *, truncated: bool) -> HttpAnswer:
        """The end of the way."""
        headers = dict(reversed(received.headers))
        return HttpAnswer(str(self.next.url), received.status, headers, body, truncated, tuple(self._passed))

    def _moved(self, target: str, status: int) -> Sent:
        old = self.next
        url = resolve_reference(old.url, target)
        if old.url.scheme == "https" and url.scheme == "http":
            raise Denied(GuardReason.INSECURE_REDIRECT, "It leads from https to http.")
        judge_url(url, self.policy)
        kept = old.headers if url.origin == old.url.origin else _crossing(old.headers)
        if status in KEEPS_METHOD or old.method in {"GET", "HEAD"}:
            # The content of the first origin is not for another.
            content = old.content if url.origin == old.url.origin else b""
            return Sent(url, old.method, tuple(kept), content)
        return Sent(url, "GET", tuple(one for one in kept if not one[0].startswith(_CONTENT)))


def _crossing(headers: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    return (one for one in headers if one[0] in CROSSING)


def _escaped(target: str) -> str:
    """A header's bytes, read as Latin-1, as the text they mostly are: UTF-8."""
    try:
        return target.encode("latin-1").decode()
    except UnicodeError:
        return target


def first_step(url: str, method: str, headers: Mapping[str, str] | None, content: bytes) -> Sent:
    """The request that a caller asks for.

    Raises:
        Denied: As `parse_url`.
        ToolError: As `own_headers`.
    """
    return Sent(parse_url(url), method, own_headers(headers), content)
