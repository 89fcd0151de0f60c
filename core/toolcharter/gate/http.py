"""`GovernedHttp`: the network guard bound to the calls of one tool."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.api.call import trace_headers
from toolcharter.api.network import Connect, HttpAnswer, HttpLimits, NetworkPolicy
from toolcharter.guards.network.checks import check_url
from toolcharter.guards.network.urls import parse_url

if TYPE_CHECKING:
    import httpx

    from toolcharter.guards.network import transport
    from toolcharter.guards.network.client import Client
    from toolcharter.guards.network.dial import ConnectSettings
else:
    transport = lazy("toolcharter.guards.network.transport")


class GovernedHttp:
    """`rt.http`.

    Args:
        client: Returns the toolbox's client; called for each request.
        check: Raises if the tool may not act: before its mark, in a dry run, after its call.
        deadline: Returns when the current call must have ended.
    """

    def __init__(
        self, client: "Callable[[], Client]", check: Callable[[], None], deadline: Callable[[], float]
    ) -> None:
        self._client = client
        self._check = check
        self._deadline = deadline

    def check(self, url: str, policy: NetworkPolicy, /) -> str:
        """Check *url* without looking up its name."""
        parsed = parse_url(url)
        check_url(parsed, policy)
        return str(parsed)

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
        """Send one request and follow its redirects."""
        self._check()
        sent = {**(headers or {}), **trace_headers(headers)}
        return self._client().fetch(
            url, policy, deadline=self._deadline(), method=method, headers=sent, content=content, limits=limits
        )

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
        self._check()
        sent = {**(headers or {}), **trace_headers(headers)}
        return await self._client().afetch(
            url, policy, deadline=self._deadline(), method=method, headers=sent, content=content, limits=limits
        )

    def transport(self, policy: NetworkPolicy, /, *, limits: HttpLimits | None = None) -> "httpx.BaseTransport":
        """Return a transport for an `httpx.Client`."""
        return transport.GuardedTransport(partial(self._settings, policy, limits))

    def async_transport(
        self, policy: NetworkPolicy, /, *, limits: HttpLimits | None = None
    ) -> "httpx.AsyncBaseTransport":
        """Return a transport for an `httpx.AsyncClient`."""
        return transport.AsyncGuardedTransport(partial(self._settings, policy, limits))

    def connector(self, policy: NetworkPolicy, /, *, timeout_s: float = 15.0) -> Connect:
        """Return a function that connects to a host and port."""
        self._check()
        return self._client().connector(policy, timeout_s)

    def _settings(self, policy: NetworkPolicy, limits: HttpLimits | None) -> "ConnectSettings":
        self._check()
        return self._client().settings(policy, limits, self._deadline())
