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
from toolcharter.guards.network.budget import Budget, timeout_error
from toolcharter.guards.network.connect import MAX_DIALS, attempt_timeout_s, check_peer, unreachable_error
from toolcharter.guards.network.lookup import Resolve, aresolve_addresses, resolve_addresses
from toolcharter.guards.network.streams import AsyncTimedStream, TimedStream
from toolcharter.guards.network.urls import Url

_FAILED = (httpcore.ConnectError, httpcore.ConnectTimeout)


class ConnectSettings(NamedTuple):
    """The policy, the budget and the means by which one request connects."""

    policy: NetworkPolicy
    budget: Budget
    resolve: Resolve
    tls: Callable[[], ssl.SSLContext]
    """Returns the TLS context, made when the first connection needs it."""


def dial(url: Url, settings: ConnectSettings) -> TimedStream:
    """Connect to the host of *url*, with TLS if its scheme is `https`.

    Raises:
        Denied: `private_address`.
        ToolError: `host_not_found`, `connection_failed`, `tls_failure`, `timed_out`.
    """
    addresses = resolve_addresses(url, settings.policy, settings.budget, settings.resolve)[:MAX_DIALS]
    for position, address in enumerate(addresses):
        share = attempt_timeout_s(settings.budget, addresses, position)
        try:
            inner = httpcore.SyncBackend().connect_tcp(str(address), url.port, share)
        except _FAILED:
            continue
        return _secure(inner, url, address, settings)
    raise unreachable_error(url, settings.budget)


async def adial(url: Url, settings: ConnectSettings) -> AsyncTimedStream:
    """The same from asynchronous code."""
    backend = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())  # without anyio it has another type
    addresses = (await aresolve_addresses(url, settings.policy, settings.budget, settings.resolve))[:MAX_DIALS]
    for position, address in enumerate(addresses):
        share = attempt_timeout_s(settings.budget, addresses, position)
        try:
            inner = await backend.connect_tcp(str(address), url.port, share)
        except _FAILED:
            continue
        return await _asecure(inner, url, address, settings)
    raise unreachable_error(url, settings.budget)


def _secure(inner: httpcore.NetworkStream, url: Url, address: Address, settings: ConnectSettings) -> TimedStream:
    """Check where the connection leads, and start TLS if the scheme of *url* is `https`."""
    stream = TimedStream(inner, settings.budget)
    try:
        check_peer(inner.get_extra_info("server_addr"), address, url.port)
        with translate_tls_errors(url):
            return stream if url.scheme == "http" else stream.start_tls(settings.tls(), url.host_text)
    except BaseException:
        stream.close()
        raise


async def _asecure(
    inner: httpcore.AsyncNetworkStream, url: Url, address: Address, settings: ConnectSettings
) -> AsyncTimedStream:
    stream = AsyncTimedStream(inner, settings.budget)
    try:
        check_peer(inner.get_extra_info("server_addr"), address, url.port)
        with translate_tls_errors(url):
            return stream if url.scheme == "http" else await stream.start_tls(settings.tls(), url.host_text)
    except BaseException:
        await stream.aclose()
        raise


@contextmanager
def translate_tls_errors(url: Url) -> Generator[None]:
    """Turn failures of the TLS handshake into `ToolError`s."""
    try:
        yield
    except httpcore.TimeoutException as error:
        raise timeout_error() from error
    except httpcore.NetworkError as error:
        why = getattr(error.__cause__, "verify_message", "") or "the handshake failed"
        message = f"{url.host_text!r} is not trusted: {why}."
        raise ToolError(message, reason=GuardReason.TLS_FAILURE) from error
