"""Which addresses are public. Pure, with its own tables: those of `ipaddress` change in Python's patch releases."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

NOT_PUBLIC_4: tuple[IPv4Network, ...] = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # shared by a provider's customers
            "127.0.0.0/8",  # loopback
            "169.254.0.0/16",  # link-local, with the metadata services of clouds
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # relays of 6to4, withdrawn
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, with the limited broadcast
        ),
    )
)
"""Networks that are not globally reachable, and multicast.

Source: IANA IPv4 Special-Purpose Address Registry (RFC 6890).
"""
UNICAST = IPv6Network("2000::/3")
"""No address outside it is global unicast. Source: IANA IPv6 Global Unicast Address Assignments (RFC 4291)."""
NOT_PUBLIC_6: tuple[IPv6Network, ...] = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, with Teredo, ORCHID and benchmarks
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4: carries an IPv4 address, and its relays are withdrawn
            "3fff::/20",  # documentation
        ),
    )
)
"""Networks within `UNICAST` that are not public. Source: IANA IPv6 Special-Purpose Address Registry (RFC 6890)."""
NAT64 = IPv6Network("64:ff9b::/96")
"""Addresses that embed an IPv4 address, by which networks without IPv4 reach that host. Source: RFC 6052, 2.1."""
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})
"""The first 32 bits of an interface identifier that embeds an IPv4 address. Source: RFC 5214, section 6.1."""
METADATA: frozenset[Address] = frozenset(
    {
        IPv4Address("169.254.169.254"),  # most clouds
        IPv4Address("169.254.170.2"),  # AWS, containers
        IPv4Address("169.254.170.23"),  # AWS, pods
        IPv4Address("100.100.100.200"),  # Alibaba
        IPv4Address("192.0.0.192"),  # Oracle
        IPv4Address("168.63.129.16"),  # Azure, public by its number only
        IPv6Address("fd00:ec2::254"),  # AWS
        IPv6Address("fd00:ec2::23"),  # AWS, pods
        IPv6Address("fd20:ce::254"),  # Google
    }
)
"""Where clouds hand out credentials. A policy that opens the network around such an address does not open it."""


def is_public(address: Address) -> bool:
    """Whether *address* leads to the same host from everywhere on the Internet.

    An IPv6 address that embeds an IPv4 address is public if the IPv4 address is (NAT64), or never
    (mapped, compatible, 6to4, Teredo, ISATAP).
    """
    if address in METADATA:
        return False
    if isinstance(address, IPv4Address):
        return not any(address in network for network in NOT_PUBLIC_4)
    if address.scope_id is not None:
        return False
    if address in NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    return address in UNICAST and not _is_special(address)


def _is_special(address: IPv6Address) -> bool:
    if (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return True
    return any(address in network for network in NOT_PUBLIC_6)


def is_opened(address: Address, opened: tuple[Network, ...]) -> bool:
    """Whether a network in *opened* contains *address*. A metadata service needs an entry of its address alone."""
    for network in opened:
        # A zone is part of an address, but a policy's networks have none.
        if address in network and not getattr(address, "scope_id", None):
            return network.num_addresses == 1 or not _is_metadata(address)
    return False


def _is_metadata(address: Address) -> bool:
    """Whether *address* is a metadata service's, or an IPv6 address that embeds one in any way."""
    if address in METADATA or isinstance(address, IPv4Address):
        return address in METADATA
    bits = int(address)
    # In the last 32 bits (mapped, compatible, NAT64, ISATAP), after 2002 (6to4), inverted in the last 32 bits (Teredo).
    return any(IPv4Address(one & 0xFFFF_FFFF) in METADATA for one in (bits, bits >> 80, ~bits))
