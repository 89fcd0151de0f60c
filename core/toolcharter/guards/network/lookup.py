"""Resolve names to addresses: one lookup for each connection, in limited time, with every answer checked."""

import asyncio
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError

from toolcharter.api.network import NetworkPolicy
from toolcharter.api.reasons import GuardReason
from toolcharter.errors import ToolError
from toolcharter.guards.network.addresses import Address
from toolcharter.guards.network.budget import Budget, timeout_error
from toolcharter.guards.network.checks import check_answers
from toolcharter.guards.network.urls import Url

Resolve = Callable[[str, int], Sequence[str]]
"""`(name, port) -> addresses`. Blocks, and raises `OSError` if there are no addresses."""
MAX_LOOKUPS = 64
"""How many lookups may run in one process at a time. Each occupies a thread that cannot be cancelled."""
_slots = threading.BoundedSemaphore(MAX_LOOKUPS)


def system_resolve(name: str, port: int) -> list[str]:
    """Ask the system's resolver. An address that is valid in one zone only includes the zone (`fe80::1%2`)."""
    found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return [_with_zone(address) for *_, address in found]


def _with_zone(address: Sequence[object]) -> str:
    zone = (*address, 0, 0)[3]  # (host, port) of IPv4, (host, port, flow, zone) of IPv6
    return f"{address[0]}%{zone}" if zone else str(address[0])


def resolve_addresses(url: Url, policy: NetworkPolicy, budget: Budget, resolve: Resolve) -> tuple[Address, ...]:
    """Return the addresses that may be connected to for *url*, at least one.

    Raises:
        Denied: `private_address`.
        ToolError: `host_not_found`, `timed_out`.
    """
    if not isinstance(url.host, str):
        return (url.host,)
    try:
        answers = _start_lookup(resolve, url.host, url.port).result(budget.remaining_s())
    except (FutureTimeoutError, OSError) as error:
        raise _lookup_error(url.host, error) from error
    return _require_answers(url.host, answers, policy)


async def aresolve_addresses(url: Url, policy: NetworkPolicy, budget: Budget, resolve: Resolve) -> tuple[Address, ...]:
    """The same from asynchronous code."""
    if not isinstance(url.host, str):
        return (url.host,)
    try:
        async with asyncio.timeout(budget.remaining_s()):
            answers = await asyncio.wrap_future(_start_lookup(resolve, url.host, url.port))
    except (TimeoutError, OSError) as error:
        raise _lookup_error(url.host, error) from error
    return _require_answers(url.host, answers, policy)


def _require_answers(name: str, answers: Sequence[str], policy: NetworkPolicy) -> tuple[Address, ...]:
    addresses = check_answers(name, answers, policy)
    if not addresses:
        raise _lookup_error(name, OSError())
    return addresses


def _lookup_error(name: str, error: BaseException) -> ToolError:
    if isinstance(error, TimeoutError | FutureTimeoutError):
        return timeout_error()
    again = isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN
    message = f"The name {name!r} leads to no address."
    return ToolError(message, reason=GuardReason.HOST_NOT_FOUND, retryable=again)


def _start_lookup(resolve: Resolve, name: str, port: int) -> "Future[Sequence[str]]":
    """Look *name* up in a thread that does not keep the process alive."""
    slots = _slots
    if not slots.acquire(blocking=False):
        message = "Too many DNS lookups are running."
        raise ToolError(message, reason=GuardReason.HOST_NOT_FOUND, retryable=True)
    future: Future[Sequence[str]] = Future()
    future.set_running_or_notify_cancel()

    def work() -> None:
        try:
            future.set_result(resolve(name, port))
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits for the answer
            future.set_exception(error)
        finally:
            slots.release()

    threading.Thread(target=work, name="toolcharter look-up", daemon=True).start()
    return future
