"""Variants of our own of each kind of the samples, sixty and more of each, decided by the real gate by their text alone.

Every kind that is denied stands beside look-alikes that are not: nothing ordinary may be refused.
"""

import json
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from itertools import product

import pytest
from tests.rows import each_row

from toolcharter import Toolbox, build_tools
from toolcharter.guards.network.addresses import METADATA, NOT_PUBLIC_4, NOT_PUBLIC_6

LEAST = 60


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolbox]:
    folder = tmp_path_factory.mktemp("variants")
    tool = {"http_get": {"ports": [80, 443, 3000, 8080, 8443]}}
    (folder / "p.yaml").write_text(json.dumps({"profile": "p", "tools": tool}))
    with build_tools(folder / "p.yaml", workspace=folder, events=lambda _: None) as toolbox:
        yield toolbox


LOOPBACK = [f"127.{b}.{c}.{d}" for b, c, d in product((0, 1, 255), (0, 1, 255), (0, 1, 254))]
PRIVATE = [str(address) for network in NOT_PUBLIC_4 for address in (network[0], network[1], network[-1])]
NUMBERS = [0x7F000001, 0x0A000001, 0xA9FEA9FE, 0xC0A80101, 0x5DB8D822, 0, 1, 0xFFFFFFFF]


def numeric_forms() -> Iterator[str]:
    """Numbers of other bases and with parts left out, of public addresses, too."""
    for number in NUMBERS:
        a, b, c, d = number.to_bytes(4, "big")
        yield from (f"{number}", f"{number:#x}", f"{number:#X}", f"0{number:o}", f"0x{number:08x}", f"00{number}")
        yield from (f"{a}.{number & 0xFFFFFF}", f"{a}.{b}.{number & 0xFFFF}", f"{a:#x}.{b}.{c}.{d}")
        yield from (f"0{a:o}.0{b:o}.0{c:o}.0{d:o}", f"{a:#x}.{b:#x}.{c:#x}.{d:#x}", f"{a:03}.{b:03}.0{c}.{d:03}")
        yield from (f"{a}.{b}.{c}.{d:#x}", f"{a}.{b}.{c}.{d}.", f"{a}.{b}.{c}.{d}.0", f"{a + 256}.{b}.{c}.{d}")


def embedded() -> Iterator[str]:
    """IPv6 addresses that carry a private IPv4 address, in each of the ways there are."""
    for text in ("127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "100.64.0.1", "0.0.0.0", "172.16.0.1"):
        bits = int(IPv4Address(text))
        yield str(IPv6Address(0xFFFF << 32 | bits))
        yield f"::ffff:{text}"
        yield str(IPv6Address(int(IPv6Address("64:ff9b::")) | bits))
        yield str(IPv6Address(int(IPv6Address("64:ff9b:1::")) | bits))
        yield str(IPv6Address(0x2002 << 112 | bits << 80))
        yield str(IPv6Address(0x2002 << 112 | bits << 80 | 1))
        yield str(IPv6Address(0x2001 << 112 | bits ^ 0xFFFF_FFFF))
        yield str(IPv6Address(int(IPv6Address("2606:4700::5efe:0:0")) | bits))
        yield str(IPv6Address(int(IPv6Address("2606:4700::200:5efe:0:0")) | bits))
    yield from (str(network[1]) for network in NOT_PUBLIC_6)


SECRET_ENDS = (
    "localhost",
    "local",
    "localdomain",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "home.arpa",
)
INTERNAL = [
    f"{front}{end}" for end, front in product(SECRET_ENDS, ("a.", "A.B.", "1-2.", "_x.", "xn--mnchen-3ya.", "10."))
]
SINGLE = [
    "metadata",
    "router",
    "wpad",
    "db",
    "redis",
    "kubernetes",
    "localhost",
    "svc",
    "intranet",
    "gateway",
    "localDomain",
]
DOTS = ("\u3002", "\uff0e", "\uff61")
ODD_HOSTS = [
    *(f"127{dot}0{dot}0{dot}1" for dot in DOTS),
    *(f"example{dot}com" for dot in DOTS),
    *("".join(chr(ord(c) + 0xFEE0) if c.isalnum() else c for c in host) for host in ("localhost", "127.0.0.1", "a.de")),
    *("".join(f"%{ord(c):02x}" for c in host) for host in ("localhost", "127.0.0.1", "a.de", "10.1")),
    *(f"{digit}.0.0.1" for digit in ("\u0661\u0662\u0667", "\u096f", "\u2460", "\u00b2", "\u2165", "\uff11\uff10")),
    *(f"exam{hidden}ple.com" for hidden in ("\u00ad", "\u200b", "\u200d", "\u2060", "\ufeff", "\u202e", "\u180e", "\u034f")),
    *(f"ex{mark}ample.com" for mark in ("%00", "%0d%0a", "%2e", "%2f", "%3a", "%40", "%5c", "%25", "%20", "%E3%80%82")),
    *(f"{ligature}.example" for ligature in ("\ufb01", "\u2122", "\u33c2", "\u2488", "\u1d43", "\u210c", "\uff21", "\u2100")),
    *(f"a{mark}b.example" for mark in ("*", "!", "$", "&", "'", "(", ")", ",", ";", "=", "+", "~", "|", "^", "`", "{", "}")),
]  # fmt: skip
USERS = [
    f"http://{user}@{host}/"
    for user, host in product(
        ("u", "u:p", ":", "", "example.com", "example.com:80", "a%40b", "x@y", "1.1.1.1", "[::1]", "%00", "token:"),
        ("example.com", "127.0.0.1", "[::1]", "localhost", "93.184.216.34"),
    )
]
MALFORMED = [
    form.replace("HOST", host)
    for form, host in product(
        (
            *("http:HOST", "http:/HOST/", "http:///HOST/", "http:////HOST/", "//HOST/", "HOST", "http:\\\\HOST/"),
            *(
                "http//HOST/",
                " http://HOST/",
                "http://HOST/ x",
                "http://HOST:/",
                "http://HOST:00080/",
                "http://HOST:0/",
            ),
            *("http://HOST:65536/", "http://HOST:80:80/", "http://HOST:8o/", "http://HOST:+80/", "http://HOST:-1/"),
            *("http://HOST\\x", "http://HOST/\n", "http://HOST/\0", "http://.HOST/", "http://HOST../"),
            *("http://[HOST]/", "http://HOST./", "http://HOST]/"),
        ),
        ("example.com", "127.0.0.1", "93.184.216.34"),
    )
]
SCHEMES = [
    f"{scheme}:{rest}"
    for scheme, rest in product(
        (
            "file",
            "ftp",
            "gopher",
            "data",
            "javascript",
            "ws",
            "wss",
            "blob",
            "view-source",
            "jar",
            "ldap",
            "httpx",
            "FILE",
        ),
        ("//example.com/", "//127.0.0.1/", "///etc/passwd", "x", "http://example.com/"),
    )
]
PORTS = [f"http://{host}:{port}/" for host, port in product(("example.com", "93.184.216.34", "[2606:4700::1111]"), (
    *(1, 7, 21, 22, 23, 25, 53, 79, 81, 110, 111, 135, 139, 389, 445, 465, 587, 2375, 3306, 5432, 6379, 9200, 11211),
    65535,
))]  # fmt: skip
PATHS = [
    f"http://{host}:3000{rest}"
    for host, rest in product(
        ("127.0.0.1", "10.0.0.1", "[::1]", "169.254.169.254", "localhost", "metadata.google.internal"),
        (
            "",
            "/",
            "/%2e%2e/",
            "/a/../b",
            "?q=http://example.com/",
            "#@example.com",
            "/@example.com",
            "/;x=1",
            "//x",
            "/*",
        ),
    )
]
IP_URLS = ("http://{}/", "https://{}/", "http://{}:8080/x?y#z", "HTTP://{}")
DENIED: dict[str, tuple[str, list[str]]] = {
    "loopback": ("private_address", [form.format(host) for host in LOOPBACK for form in IP_URLS]),
    "private": ("private_address", [form.format(host) for host in PRIVATE for form in IP_URLS]),
    "metadata": (
        "private_address",
        [f"http://{f'[{one}]' if one.version == 6 else one}{rest}" for one in METADATA
         for rest in ("/", "/latest/meta-data/", "/x?y", "/#z", ":8080/", "/metadata/v1", "/a;b")],
    ),
    "embedded": ("private_address", [f"http://[{host}]/" for host in embedded()]),
    "numeric": ("url_not_understood", [form.format(host) for host in numeric_forms() for form in IP_URLS]),
    "internal": ("private_address", [f"https://{host}/" for host in (*INTERNAL, *SINGLE)]),
    "encoding": ("url_not_understood", [f"http://{host}/" for host in ODD_HOSTS]),
    "userinfo": ("credentials_in_url", USERS),
    "malformed": ("url_not_understood", MALFORMED),
    "scheme": ("scheme_not_allowed", SCHEMES),
    "port": ("port_not_allowed", PORTS),
    "path": ("private_address", PATHS),
}  # fmt: skip


@each_row("kind", DENIED)
def test_variants_that_are_denied(box: Toolbox, kind: str) -> None:
    """Each for its own reason, before anything is looked up."""
    reason, urls = DENIED[kind]

    found = {url: box.decide("http_get", {"url": url}) for url in urls}

    assert len(found) >= LEAST
    assert {url: (one.outcome, one.reason) for url, one in found.items() if one.reason != reason} == {}


BESIDE = [str(address) for network in NOT_PUBLIC_4[1:-2] for address in (network[0] - 1, network[-1] + 1)]
HOSTS = [
    *("example.com", "EXAMPLE.com", "a.b.c.d.e.f.example", "3com.com", "1.example", "10.example.com", "127.0.0.1.nip.io"),
    *("0x7f.example", "0177.example", "2130706433.example", "localhost.example.com", "local.example", "lan.de", "corp.com"),
    *("internal.example", "home.arpa.example", "metadata.example", "a--b.example", "_dmarc.example.com", "a_b.example.com"),
    *("x.a.example", f"{'a' * 63}.example", "a.museum", "xn--mnchen-3ya.example", "svc.example"),
    *("m\u00fcnchen.example", "M\u00dcNCHEN.example", "stra\u00dfe.example", "\u65e5\u672c\u8a9e.jp", "\u0440\u0444.example"),
    *("\u05d0\u05d1.example", "\u0e44\u0e17\u0e22.example", "\u0627\u0644.example", "fa\u00df.example", "caf\u00e9.fr"),
    *("\u03bf\u03c2.gr", "xn--caf-dma.fr", "r3---sn-4g5e6nez.googlevideo.com", "a.co.uk", "t.co"),
]  # fmt: skip
RESTS = [
    *("", "/", "/a", "/a/", "?", "?q", "/?q=a+b&c=%20", "#", "#frag/@x", "/%7Euser", "/a%2Fb", "/a%2e%2e/b", "/../a", "/./"),
    *("/a;b=c", "/a,b", "/a:b", "/a@b", "/a=b", "/a+b", "/a!b", "/a'b", "/a(b)", "/a*b", "/$a", "/~a", "/a[b]", "/a|b"),
    *("/?u=http://127.0.0.1/", "/?to=localhost", "/http://10.0.0.1/", "/?a[]=1&b[x]=2", "/?q=\u00fc", "/\u65e5\u672c", "//a//b"),
    *("/%E6%97%A5", "/?q=%25", "/#\u00fc", "/?a=b?c", "/a?b#c?d", "/?q={a}", "/?q=a|b", "/?q=a^b", "/?q='a'", "/a%00b", "/?;"),
]  # fmt: skip
PUBLIC_6 = [
    *(
        "2606:4700:4700::1111",
        "2001:4860:4860::8888",
        "2620:fe::fe",
        "2a00:1450:4001:81b::200e",
        "2400:cb00:2048:1::6814:1",
    ),
    *(
        "64:ff9b::5db8:d822",
        "2a02::1",
        "2c0f:fb50::1",
        "2001:200::1",
        "2001:db7::1",
        "2001:db9::1",
        "2003::1",
        "3ffe::1",
    ),
]
ALLOWED: dict[str, list[str]] = {
    "hosts": [form.format(host) for host in HOSTS for form in ("http://{}/", "https://{}", "https://{}:8443/a?b#c")],
    "paths": [f"https://{host}{rest}" for host in ("example.com", "93.184.216.34") for rest in RESTS],
    "addresses": [form.format(host) for host in BESIDE for form in IP_URLS],
    "ipv6": [form.format(f"[{host}]") for host in (*PUBLIC_6, *map(str.upper, PUBLIC_6)) for form in IP_URLS],
    "ports": [f"http{s}://{host}:{port}/" for s in ("", "s") for port in (80, 443, 3000, 8080, 8443)
              for host in ("example.com", "EXAMPLE.com", "1.1.1.1", "[2606:4700::1111]", "m\u00fcnchen.example", "a.b", "1a.b")],
}  # fmt: skip


@each_row("kind", ALLOWED)
def test_look_alikes_that_are_allowed(box: Toolbox, kind: str) -> None:
    """Hosts, paths and ports as pages have them, however odd they look."""
    found = {url: box.decide("http_get", {"url": url}) for url in ALLOWED[kind]}

    assert len(found) >= LEAST
    assert {url: (one.outcome, one.reason) for url, one in found.items() if one.outcome != "allow"} == {}
