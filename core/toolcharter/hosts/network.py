"""The network guard for a host's own requests: those that no call of a tool makes, such as for keys that sign tokens."""

from math import inf
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.api.network import Http, HttpLimits, NetworkPolicy
from toolcharter.gate.http import GovernedHttp
from toolcharter.guards.network.budget import Budget
from toolcharter.guards.network.judge import judge_url
from toolcharter.guards.network.urls import parse_url

if TYPE_CHECKING:
    from toolcharter.guards.network import client as network_client
    from toolcharter.guards.network import lookup
else:
    network_client = lazy("toolcharter.guards.network.client")  # they need asyncio, and few hosts need them
    lookup = lazy("toolcharter.guards.network.lookup")


def open_http() -> Http:
    """HTTP to public addresses, and to those that a policy names: what tools have as `rt.http`, bound to no call."""
    client = network_client.Client()
    return GovernedHttp(lambda: client, lambda: None, lambda: inf)


async def require_public(url: str, policy: NetworkPolicy, *, timeout_s: float = 5.0) -> str:
    """Judge a URL that somebody registers: its text, and each address that its name leads to now. Nothing is connected.

    Whoever requests it later judges it again, as `open_http` does: a name may lead elsewhere by then.

    Returns:
        The URL in its normal form, without its fragment.

    Raises:
        Denied: As `Http.check`, and `private_address` for what the name leads to.
        ToolError: `host_not_found`, `timed_out`.
    """
    parsed = parse_url(url)
    judge_url(parsed, policy)
    budget = Budget(HttpLimits(timeout_s=timeout_s), inf)
    await lookup.aaddresses_of(parsed, policy, budget, lookup.system_resolve)
    return str(parsed)
