"""Check a URL, and then its addresses, against a policy. Pure."""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address, ip_network

from toolcharter.api.network import NetworkPolicy
from toolcharter.api.reasons import GuardReason, Reason
from toolcharter.errors import Denied
from toolcharter.guards.network.addresses import Address, Network, is_opened, is_public
from toolcharter.guards.network.hosts import is_internal
from toolcharter.guards.network.urls import Url


def check_url(url: Url, policy: NetworkPolicy) -> None:
    """Check everything that the text of *url* shows without a DNS lookup.

    Raises:
        Denied: `private_address`, `domain_not_allowed`, `port_not_allowed`.
    """
    if isinstance(url.host, str):
        if is_internal(url.host) and url.host not in policy.allowed_private:
            raise _private_address(
                f"The name {url.host!r} belongs to an internal network.", "this name and its address"
            )
    else:
        check_address(url.host, policy)
    host = url.host_text
    if matches_host(policy.denied_domains, host) or not matches_host(policy.allowed_domains, host):
        raise Denied(GuardReason.DOMAIN_NOT_ALLOWED, f"The profile does not let this tool reach {host!r}.")
    if url.port not in policy.ports:
        raise Denied(GuardReason.PORT_NOT_ALLOWED, f"The profile does not let this tool reach port {url.port}.")


def check_address(address: Address, policy: NetworkPolicy) -> None:
    """Deny an address that is neither public nor opened by the policy.

    Raises:
        Denied: `private_address`.
    """
    if not is_public(address) and not is_opened(address, _networks(policy.allowed_private)):
        raise _private_address(f"{address} is not a public address.", "this address")


def check_answers(name: str, answers: Iterable[str], policy: NetworkPolicy) -> tuple[Address, ...]:
    """Turn the answers of one DNS lookup into addresses, or refuse all of them.

    Args:
        name: The name that was looked up.
        answers: Textual IPv4 or IPv6 addresses, without port or brackets.
        policy: Says which addresses are allowed beside public ones.

    Returns:
        Each address once, in the order of *answers*. Connect to one of these, not to the name: a
        second lookup may answer differently (DNS rebinding).

    Raises:
        Denied: `private_address`, if even one answer is not reachable for this policy.
    """
    addresses = tuple(dict.fromkeys(map(ip_address, answers)))
    for address in addresses:
        try:
            check_address(address, policy)
        except Denied:
            what = f"The name {name!r} leads to an address that is not public."
            raise _private_address(
                what, "the name and every address that it leads to"
            ) from None  # does not reveal the address
    return addresses


def matches_host(patterns: Iterable[str], host: str) -> bool:
    """Whether one of *patterns* matches *host*.

    `example.com` matches that host alone, `*.example.com` also every host below it, `*` every host.
    """
    return any(
        pattern in {"*", host} or (pattern.startswith("*.") and f".{host}".endswith(pattern[1:]))
        for pattern in patterns
    )


@lru_cache(maxsize=128)
def _networks(entries: tuple[str, ...]) -> tuple[Network, ...]:
    """The *entries* that are addresses or networks, without the names."""
    found: list[Network] = []
    for entry in entries:
        try:
            found.append(ip_network(entry))
        except ValueError:
            continue
    return tuple(found)


def _private_address(what: str, missing: str) -> Denied:
    return Denied(Reason.PRIVATE_ADDRESS, what, hint=f"The profile would have to name {missing} in `allowed_private`.")
