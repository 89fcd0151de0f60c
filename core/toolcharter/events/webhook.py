"""`WebhookSender`: one JSON object to a URL of the operator's, with an HTTP POST.

No redirect is followed, no cookie kept, no proxy variable obeyed, and of the answer only its head is read. Private
addresses are reached: the URL comes from a profile or from an administrator, never from a model or a repository.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from importlib.util import find_spec
from random import random
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from toolcharter.events.lane import NotDelivered, Pause

if TYPE_CHECKING:
    import httpx

TIMEOUT_S = 5.0
"""How long to wait for a connection, the next part of the answer's head, or to be rid of the request, in seconds."""
ATTEMPTS = 3
BACKOFF_S = 0.5
"""The longest wait before the second attempt, in seconds; it doubles with each."""
RETRY_AFTER_MAX_S = 30.0
"""How much of a `Retry-After` is obeyed, in seconds."""
TOO_MANY_REQUESTS = 429
_OK, _REDIRECT, _CLIENT_ERROR, _SERVER_ERROR = (range(first, first + 100) for first in (200, 300, 400, 500))


class Notification(NamedTuple):
    """One call that somebody wants to know of."""

    fields: Mapping[str, Any]
    """Of the event that closes the call."""
    match: str
    """The text of the rule that matches the call."""
    delivery: str
    """The same for each attempt, and for no other notification."""

    def payload(self) -> dict[str, Any]:
        """What is delivered."""
        return {**self.fields, "notify": {"match": self.match}}


class Endpoint(NamedTuple):
    """A URL without its credentials."""

    url: str
    authorization: str | None
    """The header's value."""
    origin: str
    """What messages may show: a path or a query is often a secret, too."""


def parse_endpoint(url: str) -> Endpoint:
    """Read the URL of a webhook.

    Raises:
        ValueError: It is none; the text does not repeat it.
    """
    if not url.isprintable() or " " in url or "\\" in url:
        raise ValueError("the URL holds a blank, a control character or a backslash")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # its text quotes what it cannot read, which may be a password
        raise ValueError("the URL's host or port cannot be read") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise ValueError("the URL is not `http://HOST/...` or `https://HOST/...`")
    place = f"[{host}]" if ":" in host else host
    netloc = place if port is None else f"{place}:{port}"
    bare = urlunsplit((parts.scheme, netloc, parts.path, parts.query, ""))
    return Endpoint(bare, _basic(parts.username, parts.password), f"{parts.scheme}://{netloc}")


def _basic(user: str | None, password: str | None) -> str | None:
    """Credentials as a header. Source: RFC 7617, section 2."""
    if not user and not password:
        return None
    pair = f"{unquote(user or '')}:{unquote(password or '')}"
    return "Basic " + b64encode(pair.encode()).decode()


def can_send() -> bool:
    """Whether the HTTP library is installed; it is imported only by the thread that first needs it."""
    return find_spec("httpx") is not None


class _Attempt(NamedTuple):
    """An attempt that did not deliver."""

    why: str
    final: bool = False
    wait_s: float = 0.0
    """What the other side asks for."""


class WebhookSender:
    """Delivers to one URL, each notification over a connection of its own."""

    def __init__(
        self, endpoint: Endpoint, *, timeout_s: float = TIMEOUT_S, jitter: Callable[[], float] = random
    ) -> None:
        import httpx  # noqa: PLC0415 - an optional library, and 100 ms that only this thread pays

        self._httpx = httpx
        self._endpoint = endpoint
        self._url = httpx.URL(endpoint.url)
        self._timeout = httpx.Timeout(timeout_s).as_dict()
        self._jitter = jitter
        # Not a Client: that logs whole URLs. From the environment a transport takes certificates and nothing else.
        self._transport = httpx.HTTPTransport(limits=httpx.Limits(max_keepalive_connections=0))
        self._headers = {"Content-Type": "application/json", "User-Agent": f"toolcharter/{version('toolcharter')}"}
        if endpoint.authorization is not None:
            self._headers["Authorization"] = endpoint.authorization

    def send(self, notification: Notification, pause: Pause) -> None:
        """Deliver *notification*, with up to `ATTEMPTS` attempts.

        Raises:
            NotDelivered: The other side refused it, or could not be reached, or *pause* said to give up.
        """
        body = json.dumps(notification.payload(), default=str).encode()
        # A host may choose a call's id, and a header is no place for every character.
        delivery = quote(notification.delivery, safe="", errors="backslashreplace")
        attempt = 1
        while (failed := self._attempt(body, delivery)) is not None:
            if failed.final or attempt == ATTEMPTS or pause(self._wait_s(attempt, failed)):
                tries = "1 attempt" if attempt == 1 else f"{attempt} attempts"
                raise NotDelivered(f"{self._endpoint.origin}: {failed.why} ({tries})")
            attempt += 1

    def _wait_s(self, attempt: int, failed: _Attempt) -> float:
        """Between half and all of the backoff, so that many senders do not come back together."""
        longest = BACKOFF_S * 2.0 ** (attempt - 1)
        return max(failed.wait_s, longest * (1 + self._jitter()) / 2)

    def _attempt(self, body: bytes, delivery: str) -> _Attempt | None:
        request = self._httpx.Request(
            "POST",
            self._url,
            headers={**self._headers, "X-Toolcharter-Delivery": delivery},
            content=body,
            extensions={"timeout": self._timeout},
        )
        try:
            response = self._transport.handle_request(request)
        except self._httpx.TransportError as error:
            return _Attempt(self._told(error))
        response.close()  # its body is nobody's business, and may never end
        return _judged(response)

    def _told(self, error: "httpx.TransportError") -> str:
        """What is known of *error*; only a failure to connect has a text that the other side cannot have written."""
        name = type(error).__name__
        return f"{name}: {error}" if isinstance(error, self._httpx.ConnectError) else name

    def close(self) -> None:
        """Let go of the connections."""
        self._transport.close()


def _judged(response: "httpx.Response") -> _Attempt | None:
    status = response.status_code
    if status in _OK:
        return None
    if status in _REDIRECT:
        return _Attempt(f"answered {status}, and redirects are not followed", final=True)
    again = status == TOO_MANY_REQUESTS or status in _SERVER_ERROR
    return _Attempt(f"answered {status}", not again, retry_after_s(response.headers))


def retry_after_s(headers: Mapping[str, str]) -> float:
    """How long the other side asks to be left alone, in seconds: 0 to `RETRY_AFTER_MAX_S`.

    A date counts from the answer's own `Date`, so that nobody's clock has to be right.

    Source: RFC 9110, section 10.2.3.
    """
    asked = headers.get("retry-after", "").strip()
    try:
        if asked.isdigit():
            seconds = float(asked)
        else:
            seconds = (parsedate_to_datetime(asked) - parsedate_to_datetime(headers["date"])).total_seconds()
    except (ValueError, TypeError, KeyError, OverflowError):  # no number, no date, or one of them without a time zone
        return 0.0
    return min(max(seconds, 0.0), RETRY_AFTER_MAX_S)
