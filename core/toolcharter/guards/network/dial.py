"""Connections to checked addresses, and to nothing else."""

import ssl
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import NamedTuple, cast

import httpcore

from toolcharter.api.network import NetworkPolicy
from toolcharter.api.reasons import GuardReason
from toolcharter.errors import ToolError
from toolcharter.guards.network.addresses import Address
from toolcharter.guards.network.budget import Budget, out_of_time
from toolcharter.guards.network.connect import MAX_DIALS, check_peer, share_of, unreachable
from toolcharter.guards.network.lookup import Resolve, aaddresses_of, addresses_of
from toolcharter.guards.network.streams import AsyncTimedStream, TimedStream
from toolcharter.guards.network.urls import Url

_FAILED = (httpcore.ConnectError, httpcore.ConnectTimeout)


class Lines(NamedTuple):
    """The policy, the budget and the means by which one request connects."""

    policy: NetworkPolicy
    budget: Budget
    resolve: Resolve
    tls: Callable[[], ssl.SSLContext]
    """Returns the TLS context, made when the first connection needs it."""


def dial(url: Url, lines: Lines) -> TimedStream:
    """Connect to the host of *url*, with TLS if its scheme is `https`.

    Raises:
        Denied: `private_address`.
        ToolError: `host_not_found`, `connection_failed`, `tls_failure`, `timed_out`.
    """
    addresses = addresses_of(url, lines.policy, lines.budget, lines.resolve)[:MAX_DIALS]
    for position, address in enumerate(addresses):
        share = share_of(lines.budget, addresses, position)
        try:
            inner = httpcore.SyncBackend().connect_tcp(str(address), url.port, share)
        except _FAILED:
            continue
        return _secured(inner, url, address, lines)
    raise unreachable(url, lines.budget)


async def adial(url: Url, lines: Lines) -> AsyncTimedStream:
    """The same from asynchronous code."""
    backend = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())  # without anyio it has another type
    addresses = (await aaddresses_of(url, lines.policy, lines.budget, lines.resolve))[:MAX_DIALS]
    for position, address in enumerate(addresses):
        share = share_of(lines.budget, addresses, position)
        try:
            inner = await backend.connect_tcp(str(address), url.port, share)
        except _FAILED:
            continue
        return await _asecured(inner, url, address, lines)
    raise unreachable(url, lines.budget)


def _secured(inner: httpcore.NetworkStream, url: Url, address: Address, lines: Lines) -> TimedStream:
    """Check where the connection leads, and start TLS if the scheme of *url* is `https`."""
    stream = TimedStream(inner, lines.budget)
    try:
        check_peer(inner.get_extra_info("server_addr"), address, url.port)
        with handshaking(url):
            return stream if url.scheme == "http" else stream.start_tls(lines.tls(), url.host_text)
    except BaseException:
        stream.close()
        raise


async def _asecured(inner: httpcore.AsyncNetworkStream, url: Url, address: Address, lines: Lines) -> AsyncTimedStream:
    stream = AsyncTimedStream(inner, lines.budget)
    try:
        check_peer(inner.get_extra_info("server_addr"), address, url.port)
        with handshaking(url):
            return stream if url.scheme == "http" else await stream.start_tls(lines.tls(), url.host_text)
    except BaseException:
        await stream.aclose()
        raise


@contextmanager
def handshaking(url: Url) -> Generator[None]:
    """Turn failures of the TLS handshake into `ToolError`s."""
    try:
        yield
    except httpcore.TimeoutException as error:
        raise out_of_time() from error
    except httpcore.NetworkError as error:
        why = getattr(error.__cause__, "verify_message", "") or "the handshake failed"
        message = f"{url.host_text!r} is not trusted: {why}."
        raise ToolError(message, reason=GuardReason.TLS_FAILURE) from error
