"""The network guard for a host's own requests, outside tool calls: for example for keys that sign tokens."""

from math import inf
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.api.network import Http, HttpLimits, NetworkPolicy
from toolcharter.gate.http import GovernedHttp
from toolcharter.guards.network.budget import Budget
from toolcharter.guards.network.checks import check_url
from toolcharter.guards.network.urls import parse_url

if TYPE_CHECKING:
    from toolcharter.guards.network import client as network_client
    from toolcharter.guards.network import lookup
else:
    network_client = lazy("toolcharter.guards.network.client")  # they need asyncio, and few hosts need them
    lookup = lazy("toolcharter.guards.network.lookup")


def open_http() -> Http:
    """Return HTTP for public addresses and those that a policy names: `rt.http` of tools, but bound to no call."""
    client = network_client.Client()
    return GovernedHttp(lambda: client, lambda: None, lambda: inf)


async def require_public(url: str, policy: NetworkPolicy, *, timeout_s: float = 5.0) -> str:
    """Check the text of a URL that is being registered, and each address of its host. Does not connect.

    Later requests must check the URL again, as those of `open_http` do, because the name may have other addresses then.

    Returns:
        The URL in its normal form, without its fragment.

    Raises:
        Denied: As for `Http.check`, and `private_address` for an address of the host.
        ToolError: `host_not_found`, `timed_out`.
    """
    parsed = parse_url(url)
    check_url(parsed, policy)
    budget = Budget(HttpLimits(timeout_s=timeout_s), inf)
    await lookup.aresolve_addresses(parsed, policy, budget, lookup.system_resolve)
    return str(parsed)
