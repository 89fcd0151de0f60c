"""`Client`: sends requests and follows their redirects, and prepares httpx transports, which make one hop each."""

import ssl
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.api.network import Connect, HttpAnswer, HttpLimits, NetworkPolicy
from toolcharter.errors import ToolError
from toolcharter.guards.network.budget import Budget
from toolcharter.guards.network.connect import connect
from toolcharter.guards.network.lookup import Resolve, system_resolve
from toolcharter.guards.network.redirects import RedirectChain, first_request

if TYPE_CHECKING:
    import httpx

    from toolcharter.guards.network import dial
    from toolcharter.guards.network import exchange as network_exchange
else:
    httpx = lazy("httpx")
    dial = lazy("toolcharter.guards.network.dial")
    network_exchange = lazy("toolcharter.guards.network.exchange")


class Client:
    """The HTTP client of one toolbox. It keeps no connection, cookie or answer.

    Args:
        resolve: Looks names up; the system's resolver by default.
    """

    def __init__(self, resolve: Resolve = system_resolve) -> None:
        self._resolve = resolve

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """Verifies certificates and names, with certifi's bundle or the one in `SSL_CERT_FILE` or `SSL_CERT_DIR`."""
        context = httpx.create_ssl_context()
        context.set_alpn_protocols(["http/1.1"])
        return context

    def settings(self, policy: NetworkPolicy, limits: HttpLimits | None, deadline: float) -> "dial.ConnectSettings":
        """Return the connection settings of a request whose time begins now.

        Raises:
            ToolError: The extra `toolcharter[http]` is not installed.
        """
        try:
            settings = dial.ConnectSettings
        except ImportError as error:
            message = "HTTP needs the extra: pip install 'toolcharter[http]'."
            raise ToolError(message) from error
        return settings(policy, Budget(limits or HttpLimits(), deadline), self._resolve, lambda: self.tls)

    def connector(self, policy: NetworkPolicy, timeout_s: float) -> Connect:
        """Implement `rt.http.connector`."""
        return lambda host, port: connect(host, port, policy, self._resolve, timeout_s)

    def fetch(
        self,
        url: str,
        policy: NetworkPolicy,
        /,
        *,
        deadline: float,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
        limits: HttpLimits | None = None,
    ) -> HttpAnswer:
        """Implement `rt.http.fetch`. *deadline* is on `time.monotonic`'s clock, in seconds."""
        chain = RedirectChain(first_request(url, method, headers, content), policy, limits or HttpLimits())
        settings = self.settings(policy, limits, deadline)

        while True:
            with network_exchange.exchange(chain.next, settings) as response:
                if not chain.advance(response.head):
                    body = b"".join(response.body())
                    return chain.answer(response.head, body, truncated=response.truncated)

    async def afetch(
        self,
        url: str,
        policy: NetworkPolicy,
        /,
        *,
        deadline: float,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
        limits: HttpLimits | None = None,
    ) -> HttpAnswer:
        """Implement `rt.http.afetch`."""
        chain = RedirectChain(first_request(url, method, headers, content), policy, limits or HttpLimits())
        settings = self.settings(policy, limits, deadline)

        while True:
            async with network_exchange.aexchange(chain.next, settings) as response:
                if not chain.advance(response.head):
                    body = b"".join([piece async for piece in response.abody()])
                    return chain.answer(response.head, body, truncated=response.truncated)
