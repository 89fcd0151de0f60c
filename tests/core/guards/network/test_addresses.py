"""Which addresses are public, by the registries, with both neighbours of each range."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.guards.network.addresses import METADATA, NOT_PUBLIC_4, NOT_PUBLIC_6, UNICAST, is_public

OUTSIDE = {
    "0.0.0.0/8": (None, "1.0.0.0"),
    "10.0.0.0/8": ("9.255.255.255", "11.0.0.0"),
    "100.64.0.0/10": ("100.63.255.255", "100.128.0.0"),
    "127.0.0.0/8": ("126.255.255.255", "128.0.0.0"),
    "169.254.0.0/16": ("169.253.255.255", "169.255.0.0"),
    "172.16.0.0/12": ("172.15.255.255", "172.32.0.0"),
    "192.0.0.0/24": ("191.255.255.255", "192.0.1.0"),
    "192.0.2.0/24": ("192.0.1.255", "192.0.3.0"),
    "192.88.99.0/24": ("192.88.98.255", "192.88.100.0"),
    "192.168.0.0/16": ("192.167.255.255", "192.169.0.0"),
    "198.18.0.0/15": ("198.17.255.255", "198.20.0.0"),
    "198.51.100.0/24": ("198.51.99.255", "198.51.101.0"),
    "203.0.113.0/24": ("203.0.112.255", "203.0.114.0"),
    "224.0.0.0/4": ("223.255.255.255", None),
    "240.0.0.0/4": (None, None),
    "2001::/23": ("2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"),
    "2001:db8::/32": ("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"),
    "2002::/16": ("2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"),
    "3fff::/20": ("3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"),
}


@each_row("network", [*NOT_PUBLIC_4, *NOT_PUBLIC_6], ids=str)
def test_a_range_ends_where_the_registry_says(network) -> None:
    """Its first and last address are not public, those beside it are."""
    before, after = OUTSIDE[str(network)]

    assert not is_public(network[0])
    assert not is_public(network[-1])
    for neighbour in (before, after):
        assert neighbour is None or is_public(ip_address(neighbour))


@each_row(
    "text",
    [
        pytest.param("::", id="unspecified"),
        pytest.param("::1", id="loopback"),
        pytest.param("::7f00:1", id="compatible"),
        pytest.param("::ffff:10.0.0.1", id="mapped, private"),
        pytest.param("::ffff:93.184.216.34", id="mapped, public"),
        pytest.param("::ffff:0:93.184.216.34", id="translated"),
        pytest.param("64:ff9b::a00:1", id="NAT64, private"),
        pytest.param("64:ff9b::a9fe:a9fe", id="NAT64, metadata"),
        pytest.param("64:ff9b:1::5db8:d822", id="NAT64, local"),
        pytest.param("100::1", id="discard"),
        pytest.param("2001:0:5db8:d822::", id="Teredo"),
        pytest.param("2002:5db8:d822::", id="6to4"),
        pytest.param("2606:4700::5efe:a00:1", id="ISATAP"),
        pytest.param("2606:4700::200:5efe:a00:1", id="ISATAP, universal"),
        pytest.param("4000::1", id="not assigned"),
        pytest.param("5f00::1", id="SRv6"),
        pytest.param("fc00::1", id="unique local"),
        pytest.param("fe80::1", id="link-local"),
        pytest.param("fec0::1", id="site-local"),
        pytest.param("ff02::1", id="multicast"),
        pytest.param("2606:4700:4700::1111%2", id="scoped"),
        *(pytest.param(str(one), id=f"metadata {one}") for one in sorted(METADATA, key=str)),
    ],
)
def test_what_is_not_public(text: str) -> None:
    """Everything but global unicast, and what carries an IPv4 address in another form than NAT64's."""
    assert not is_public(ip_address(text))


@each_row(
    "text",
    [
        "1.1.1.1",
        "93.184.216.34",
        "2606:4700:4700::1111",
        "2001:4860:4860::8888",
        "64:ff9b::5db8:d822",
        "2620:4f:8000::1",
    ],
)
def test_what_is_public(text: str) -> None:
    """Addresses of known hosts, and a public one behind NAT64."""
    assert is_public(ip_address(text))


@pytest.mark.slow
@given(st.ip_addresses(v=4))
def test_nothing_is_public_that_python_calls_otherwise(address: IPv4Address) -> None:
    """Our table is never wider than that of `ipaddress`."""
    assert address.is_global or not is_public(address)


@pytest.mark.slow
@given(st.ip_addresses(v=6, network=str(UNICAST)))
def test_no_ipv6_is_public_that_python_calls_otherwise(address: IPv6Address) -> None:
    """Nor is that for IPv6."""
    assert address.is_global or not is_public(address)


@pytest.mark.slow
@given(st.ip_addresses(v=4))
def test_what_nat64_carries_decides(address: IPv4Address) -> None:
    """Behind NAT64 an address is as public as it is by itself."""
    assert is_public(IPv6Address(int(IPv6Address("64:ff9b::")) + int(address))) == is_public(address)
