"""`Api`: sends requests of a page to the service's own routes, with the credentials of the page's user."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from fastapi import Request

from toolcharter import lazy
from toolcharter_service.auth.sessions import CSRF_FIELD, CSRF_HEADER

if TYPE_CHECKING:
    import httpx
else:
    httpx = lazy("httpx")  # slow to import, and only needed once a page is opened

_FORWARDED_HEADERS = ("authorization", "cookie", "host", "origin", "referer", "sec-fetch-site", "user-agent")
TIMEOUT_S = 120.0
"""The time limit of a page's request, in seconds."""


class Answer(NamedTuple):
    """The response of a route."""

    status: int
    data: Any
    """The parsed JSON body, or the text of any other body."""

    @property
    def ok(self) -> bool:
        """Whether the response is no error."""
        return self.status < 400  # noqa: PLR2004 - HTTP

    @property
    def problem(self) -> str:
        """The error as a sentence; empty if there is none."""
        if self.ok:
            return ""
        if isinstance(self.data, Mapping) and "error" in self.data:
            return f"{self.data['error']} ({self.data.get('reason')})"
        return f"The service answers with status {self.status}."


class Api:
    """A client of the service's API with the cookies, credentials and CSRF token of one request."""

    def __init__(self, request: Request, form: Mapping[str, Any] | None = None) -> None:
        headers = {name: request.headers[name] for name in _FORWARDED_HEADERS if name in request.headers}
        if form is not None and isinstance(token := form.get(CSRF_FIELD), str):
            headers[CSRF_HEADER] = token
        client = request.client
        self._headers = headers
        self._transport = httpx.ASGITransport(
            request.app, client=("", 0) if client is None else (client.host, client.port)
        )
        self._base = f"{request.url.scheme}://{request.headers.get('host', 'localhost')}"

    async def __call__(self, method: str, path: str, body: Any = None, *, segments: tuple[str, ...] = ()) -> Answer:
        """Send a request to a route.

        Args:
            method: The HTTP method.
            path: With `{}` for each of *segments*.
            body: The JSON body, if any.
            segments: The values for *path*. Each is quoted as one segment.
        """
        target = path.format(*(quote(one, safe="") for one in segments))
        sent: dict[str, Any] = {} if body is None else {"json": body}
        async with httpx.AsyncClient(transport=self._transport, base_url=self._base, timeout=TIMEOUT_S) as client:
            answer = await client.request(method, target, headers=self._headers, **sent)
        try:
            data = answer.json() if answer.content else None
        except ValueError:
            data = answer.text
        return Answer(answer.status_code, data)
