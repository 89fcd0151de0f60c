"""Plain connections to checked hosts, for tools that speak another protocol or keep a connection beyond a call.

This module needs no extra; `dial` shares its rules.
"""

import asyncio
from asyncio import StreamReader, StreamWriter
from ipaddress import ip_address
from math import inf
from typing import Any

from toolcharter.api.network import HttpLimits, NetworkPolicy
from toolcharter.api.reasons import GuardReason, Reason
from toolcharter.errors import Denied, ToolError
from toolcharter.guards.network.addresses import Address
from toolcharter.guards.network.budget import Budget
from toolcharter.guards.network.checks import check_url
from toolcharter.guards.network.hosts import parse_host, parse_ipv6
from toolcharter.guards.network.lookup import Resolve, aresolve_addresses
from toolcharter.guards.network.urls import Url

MAX_DIALS = 4
"""How many of a host's addresses are tried."""


async def connect(
    host: str, port: int, policy: NetworkPolicy, resolve: Resolve, timeout_s: float
) -> tuple[StreamReader, StreamWriter]:
    """Connect to *host* under *policy*: the function that `rt.http.connector` returns."""
    url = Url("http", parse_ipv6(host) if ":" in host else parse_host(host), port, "/")
    check_url(url, policy)
    budget = Budget(HttpLimits(timeout_s=timeout_s), inf)
    addresses = (await aresolve_addresses(url, policy, budget, resolve))[:MAX_DIALS]
    for position, address in enumerate(addresses):
        try:
            async with asyncio.timeout(attempt_timeout_s(budget, addresses, position)):
                reader, writer = await asyncio.open_connection(str(address), port)
        except (OSError, TimeoutError):
            continue
        try:
            check_peer(writer.get_extra_info("peername"), address, port)
        except Denied:
            writer.close()
            raise
        return reader, writer
    raise unreachable_error(url, budget)


def check_peer(peer: Any, address: Address, port: int) -> None:
    """Refuse a connection whose peer is not the address and port that were checked.

    Raises:
        Denied: `private_address`.
    """
    if (ip_address(peer[0]), peer[1]) != (address, port):
        raise Denied(Reason.PRIVATE_ADDRESS, "The connection leads to another address than the one that was checked.")


def attempt_timeout_s(budget: Budget, addresses: tuple[Address, ...], position: int) -> float:
    """The time for one address, in seconds: an equal share of what is left, so that each address is tried."""
    return budget.remaining_s() / (len(addresses) - position)


def unreachable_error(url: Url, budget: Budget) -> ToolError:
    """The error for a host of which no address accepts a connection. Raises `timed_out` if no time is left."""
    budget.remaining_s()
    message = f"{url.host_text!r} does not accept connections on port {url.port}."
    return ToolError(message, reason=GuardReason.CONNECTION_FAILED, retryable=True)
