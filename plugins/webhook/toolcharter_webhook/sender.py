"""`WebhookSender`: posts one JSON object to one URL, with up to `ATTEMPTS` attempts.

Only the thread that delivers imports this module, because importing httpx takes 100 ms.
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
"""How long to wait for a connection, for sending the request, or for the next part of the answer's head, in seconds."""
ATTEMPTS = 3
BACKOFF_S = 0.5
"""The longest wait before the second attempt, in seconds; it doubles with each attempt."""
RETRY_AFTER_MAX_S = 30.0
"""The longest `Retry-After` that is obeyed, in seconds; a longer one is cut to it."""
TOO_MANY_REQUESTS = 429
_OK, _REDIRECT, _CLIENT_ERROR, _SERVER_ERROR = (range(first, first + 100) for first in (200, 300, 400, 500))


class _FailedAttempt(NamedTuple):
    """An attempt that did not deliver."""

    why: str
    final: bool = False
    wait_s: float = 0.0
    """The wait that the server asks for, in seconds."""


class WebhookSender:
    """Delivers to one URL. Each notification has its own connection."""

    def __init__(
        self, endpoint: Endpoint, *, timeout_s: float = TIMEOUT_S, jitter: Callable[[], float] = random
    ) -> None:
        self._endpoint = endpoint
        self._url = httpx.URL(endpoint.url)
        self._timeout = httpx.Timeout(timeout_s).as_dict()
        self._jitter = jitter
        # Not a Client, which logs whole URLs. A transport reads only certificates from the environment.
        self._transport = httpx.HTTPTransport(limits=httpx.Limits(max_keepalive_connections=0))
        self._headers = {"Content-Type": "application/json", "User-Agent": f"toolcharter/{version('toolcharter')}"}
        if endpoint.authorization is not None:
            self._headers["Authorization"] = endpoint.authorization

    def send(self, item: Deliverable, pause: Pause) -> None:
        """Deliver *item*, with up to `ATTEMPTS` attempts.

        Raises:
            NotDelivered: The server refused the item or could not be reached, or *pause* returned true.
        """
        body = json.dumps(item.payload(), default=str).encode()
        # A host may choose a call's identifier, and not every character is allowed in a header.
        delivery = quote(item.delivery, safe="", errors="backslashreplace")
        attempt = 1
        while (failed := self._attempt(body, delivery)) is not None:
            if failed.final or attempt == ATTEMPTS or pause(self._wait_s(attempt, failed)):
                tries = "1 attempt" if attempt == 1 else f"{attempt} attempts"
                raise NotDelivered(f"{self._endpoint.origin}: {failed.why} ({tries})")
            attempt += 1

    def _wait_s(self, attempt: int, failed: _FailedAttempt) -> float:
        """Return a random wait from half to all of the backoff, so that many senders do not retry at the same time."""
        longest = BACKOFF_S * 2.0 ** (attempt - 1)
        return max(failed.wait_s, longest * (1 + self._jitter()) / 2)

    def _attempt(self, body: bytes, delivery: str) -> _FailedAttempt | None:
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
            return _FailedAttempt(self._describe_error(error))
        response.close()  # the body is not needed, and may never end
        return _check_response(response)

    def _describe_error(self, error: httpx.TransportError) -> str:
        """Describe *error*; only for a failed connection with its text, which the server cannot have written."""
        name = type(error).__name__
        return f"{name}: {error}" if isinstance(error, httpx.ConnectError) else name

    def close(self) -> None:
        """Close the transport."""
        self._transport.close()


def _check_response(response: httpx.Response) -> _FailedAttempt | None:
    status = response.status_code
    if status in _OK:
        return None
    if status in _REDIRECT:
        return _FailedAttempt(f"answered {status}, and redirects are not followed", final=True)
    again = status == TOO_MANY_REQUESTS or status in _SERVER_ERROR
    return _FailedAttempt(f"answered {status}", not again, retry_after_s(response.headers))


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Return how long the server asks to wait, in seconds, from 0 to `RETRY_AFTER_MAX_S`.

    A date counts from the answer's own `Date`, so that neither clock has to be right.

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
