"""`WebhookSender`: one JSON object to one URL, with an HTTP POST, in up to `ATTEMPTS` attempts.

Only the thread that delivers imports this module, because httpx takes 100 ms.
"""

import json
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from random import random
from typing import NamedTuple
from urllib.parse import quote

import httpx

from toolcharter import Deliverable, NotDelivered, Pause
from toolcharter_webhook.endpoint import Endpoint

TIMEOUT_S = 5.0
"""How long to wait for a connection, the next part of the answer's head, or to be rid of the request, in seconds."""
ATTEMPTS = 3
BACKOFF_S = 0.5
"""The longest wait before the second attempt, in seconds; it doubles with each."""
RETRY_AFTER_MAX_S = 30.0
"""How much of a `Retry-After` is obeyed, in seconds."""
TOO_MANY_REQUESTS = 429
_OK, _REDIRECT, _CLIENT_ERROR, _SERVER_ERROR = (range(first, first + 100) for first in (200, 300, 400, 500))


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
        self._endpoint = endpoint
        self._url = httpx.URL(endpoint.url)
        self._timeout = httpx.Timeout(timeout_s).as_dict()
        self._jitter = jitter
        # Not a Client: that logs whole URLs. From the environment a transport takes certificates and nothing else.
        self._transport = httpx.HTTPTransport(limits=httpx.Limits(max_keepalive_connections=0))
        self._headers = {"Content-Type": "application/json", "User-Agent": f"toolcharter/{version('toolcharter')}"}
        if endpoint.authorization is not None:
            self._headers["Authorization"] = endpoint.authorization

    def send(self, item: Deliverable, pause: Pause) -> None:
        """Deliver *item*, with up to `ATTEMPTS` attempts.

        Raises:
            NotDelivered: The other side refused it, or could not be reached, or *pause* said to give up.
        """
        body = json.dumps(item.payload(), default=str).encode()
        # A host may choose a call's id, and a header is no place for every character.
        delivery = quote(item.delivery, safe="", errors="backslashreplace")
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
        request = httpx.Request(
            "POST",
            self._url,
            headers={**self._headers, "X-Toolcharter-Delivery": delivery},
            content=body,
            extensions={"timeout": self._timeout},
        )
        try:
            response = self._transport.handle_request(request)
        except httpx.TransportError as error:
            return _Attempt(self._told(error))
        response.close()  # its body is nobody's business, and may never end
        return _judged(response)

    def _told(self, error: httpx.TransportError) -> str:
        """What is known of *error*; only a failure to connect has a text that the other side cannot have written."""
        name = type(error).__name__
        return f"{name}: {error}" if isinstance(error, httpx.ConnectError) else name

    def close(self) -> None:
        """Let go of the connections."""
        self._transport.close()


def _judged(response: httpx.Response) -> _Attempt | None:
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
