"""Parse host names and numeric hosts, of which only one spelling is accepted. Pure.

A host that some resolver might read differently is refused, not repaired: numbers in other bases
or with parts left out, percent escapes, letters that a mapping would turn into others.
"""

from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.api.network import MAX_NAME, NAME, is_number
from toolcharter.api.reasons import GuardReason
from toolcharter.errors import Denied

if TYPE_CHECKING:
    import idna
else:
    idna = lazy("idna")

_SHOWN = 80
"""How many characters of a host a message repeats."""
INTERNAL = frozenset(
    [
        "localhost",
        "local",
        "localdomain",
        "internal",
        "intranet",
        "private",
        "corp",
        "home",
        "lan",
        "mail",
        "onion",
        "alt",
        "svc",
        "cluster",
        "consul",
        "nomad",
        "docker",
        "mesos",
        "home.arpa",
        "metadata.goog",
        "fritz.box",
        "speedport.ip",
    ]
)
"""Names that, like every name below them, belong to one network or one machine.

Source: RFC 6761 and 6762 (with appendix G), 7686, 8375, 9476; ICANN's resolution on `internal` (2024). The names of
clusters and container platforms, no top-level domains: documentation of Kubernetes, Consul, Nomad, Docker, Mesos-DNS.
Names of one machine below a public domain: Google's metadata server, the routers of AVM and Telekom.
"""

Host = str | IPv4Address | IPv6Address


def unclear_url(what: str) -> Denied:
    """The denial of a URL that must be written differently."""
    return Denied(GuardReason.URL_NOT_UNDERSTOOD, what, hint="Write the URL as https://host/path, percent-encoded.")


def parse_host(text: str) -> Host:
    """Parse a host name or an IPv4 address, without a port.

    Raises:
        Denied: `url_not_understood`.
    """
    name = text.lower() if text.isascii() else _to_ascii(text)
    if len(name) > MAX_NAME or not NAME.fullmatch(name):
        raise unclear_url(f"{text[:_SHOWN]!r} is no host name.")
    labels = name.split(".")
    if is_number(labels[-1]):
        return parse_ipv4(name)
    for label in labels:
        if label.startswith("xn--") and not _is_canonical_punycode(label):
            raise unclear_url(f"{label!r} is no host name.")
    return name


def parse_ipv4(text: str) -> IPv4Address:
    """Parse four decimal numbers without leading zeros."""
    try:
        return IPv4Address(text)
    except AddressValueError:
        raise unclear_url(f"{text[:_SHOWN]!r} is a number that programs read as different addresses.") from None


def parse_ipv6(text: str) -> IPv6Address:
    """Parse an address in the form of RFC 5952, without brackets or a zone."""
    try:
        address = IPv6Address(text)
    except AddressValueError:
        raise unclear_url(f"{text[:_SHOWN]!r} is no IPv6 address.") from None
    if address.scope_id or text.lower() not in {str(address), _mapped(address)}:
        raise unclear_url(f"{text[:_SHOWN]!r} is not the usual form of this address, {address}.")
    return address


def is_internal(name: str) -> bool:
    """Whether *name* belongs to one network or one machine: it has no dot, or ends in a name from `INTERNAL`."""
    labels = name.split(".")
    return len(labels) == 1 or labels[-1] in INTERNAL or ".".join(labels[-2:]) in INTERNAL


def _mapped(address: IPv6Address) -> str:
    return f"::ffff:{address.ipv4_mapped}"


def _to_ascii(text: str) -> str:
    """Encode a non-ASCII name as resolvers need it. Any mapping other than to lower case is refused.

    Source: UTS 46, non-transitional, and IDNA 2008 (RFC 5891).
    """
    lower = text.lower()
    try:
        if idna.uts46_remap(lower, std3_rules=True, transitional=False) != lower:
            raise unclear_url(f"{text[:_SHOWN]!r} contains letters that are written differently in a host name.")
        encoded: bytes = idna.encode(lower)
    except UnicodeError:  # IDNAError is one
        raise unclear_url(f"{text[:_SHOWN]!r} is no host name.") from None
    except ImportError:
        raise _missing_idna() from None
    return encoded.decode()


def _is_canonical_punycode(label: str) -> bool:
    """Whether the label `xn--...` decodes to a label that encodes to the same label again."""
    try:
        return bool(idna.encode(idna.decode(label)) == label.encode())
    except UnicodeError:
        return False
    except ImportError:
        raise _missing_idna() from None


def _missing_idna() -> Denied:
    return unclear_url("A host beyond ASCII needs the extra: pip install 'toolcharter[http]'.")
