"""What a policy lets be reached."""

import pytest
from pydantic import ValidationError
from tests.rows import each_row

from toolcharter import Denied, NetworkPolicy
from toolcharter.guards.network.checks import check_answers, check_url, matches_host
from toolcharter.guards.network.urls import parse_url


def verdict(url: str, **policy) -> str | None:
    try:
        check_url(parse_url(url), NetworkPolicy(**policy))
    except Denied as denied:
        return denied.reason
    return None


@each_row(
    "name",
    [
        "localhost",
        "a.b.localhost",
        "printer.local",
        "metadata.google.internal",
        "metadata",
        "x.intranet",
        "x.private",
        "x.corp",
        "x.home",
        "router.lan",
        "x.localdomain",
        "nas.home.arpa",
        "kubernetes.default.svc",
        "a.onion",
        "metadata.goog",
        "fritz.box",
        "speedport.ip",
    ],
)
def test_internal_names_are_private(name: str) -> None:
    """They are refused before anything is looked up."""
    assert verdict(f"http://{name}/") == "private_address"


@each_row(
    "name",
    [
        "localhost.example.com",
        "local.example",
        "home.arpa.example",
        "lan.de",
        "public.test",
        "goog.example",
        "shop.box",
    ],
)
def test_names_that_only_look_internal_are_not(name: str) -> None:
    """The end of a name decides, by whole parts."""
    assert verdict(f"http://{name}/") is None


@each_row(
    ("host", "allowed", "denied", "reason"),
    [
        pytest.param("example.com", ("example.com",), (), None, id="listed"),
        pytest.param("sub.example.com", ("example.com",), (), "domain_not_allowed", id="below one listed"),
        pytest.param("sub.example.com", ("*.example.com",), (), None, id="below a star"),
        pytest.param("example.com", ("*.example.com",), (), None, id="a star's own"),
        pytest.param("evilexample.com", ("*.example.com",), (), "domain_not_allowed", id="same letters"),
        pytest.param("example.com.evil.org", ("*.example.com",), (), "domain_not_allowed", id="at the beginning"),
        pytest.param("example.com", (), (), "domain_not_allowed", id="nothing listed"),
        pytest.param("EXAMPLE.com", ("*",), ("example.com",), "domain_not_allowed", id="denied in capitals"),
        pytest.param("a.example.tk", ("*",), ("*.tk",), "domain_not_allowed", id="denied end"),
        pytest.param("example.com", ("example.com",), ("example.com",), "domain_not_allowed", id="denied wins"),
        pytest.param("93.184.216.34", ("93.184.216.34",), (), None, id="number listed"),
        pytest.param("93.184.216.34", ("example.com",), (), "domain_not_allowed", id="number not listed"),
        pytest.param("m\u00fcnchen.example", ("xn--mnchen-3ya.example",), (), None, id="beyond ASCII"),
    ],
)
def test_domains(host: str, allowed: tuple[str, ...], denied: tuple[str, ...], reason: str | None) -> None:
    """Names are compared whole and without case; `denied_domains` wins."""
    assert verdict(f"http://{host}/", allowed_domains=allowed, denied_domains=denied) == reason


@each_row(
    ("url", "reason"),
    [
        ("http://example.com/", None),
        ("https://example.com/", None),
        ("https://example.com:8443/", None),
        ("http://example.com:25/", "port_not_allowed"),
        ("http://example.com:6379/", "port_not_allowed"),
    ],
)
def test_ports(url: str, reason: str | None) -> None:
    """Only the ports of the web by default."""
    assert verdict(url) == reason


@each_row(
    ("url", "opened", "reason"),
    [
        pytest.param("http://10.1.2.3/", ("10.1.2.3",), None, id="address"),
        pytest.param("http://10.1.2.4/", ("10.1.2.3",), "private_address", id="beside it"),
        pytest.param("http://10.1.2.4/", ("10.1.2.0/24",), None, id="network"),
        pytest.param("http://[fd12::1]/", ("fd12::/16",), None, id="IPv6"),
        pytest.param("http://[::ffff:10.1.2.3]/", ("10.1.2.3",), "private_address", id="mapped"),
        pytest.param("http://169.254.169.254/", ("169.254.0.0/16",), "private_address", id="metadata by its network"),
        pytest.param("http://169.254.169.254/", ("169.254.169.254",), None, id="metadata by its address"),
        *(
            pytest.param(f"http://[{one}]/", ("::/0", "0.0.0.0/0"), "private_address", id=f"metadata in {one}")
            for one in (
                "::ffff:a9fe:a9fe",
                "::a9fe:a9fe",
                "64:ff9b::a9fe:a9fe",
                "64:ff9b:1::a9fe:a9fe",
                "2002:a9fe:a9fe::1",
                "2001:0:4136:e378:8000:63bf:5601:5601",
                "fe80::5efe:a9fe:a9fe",
            )
        ),
        pytest.param("http://[64:ff9b::a9fe:a9fe]/", ("64:ff9b::a9fe:a9fe",), None, id="the very one that carries it"),
        pytest.param("http://[::ffff:a00:1]/", ("::/0",), None, id="another one that is carried"),
        pytest.param("http://wiki.intranet/", ("wiki.intranet",), None, id="name"),
        pytest.param("http://wiki.intranet/", ("10.1.2.3",), "private_address", id="name that is not listed"),
        pytest.param("http://a.wiki.intranet/", ("wiki.intranet",), "private_address", id="below a name"),
    ],
)
def test_private_addresses_that_are_named(url: str, opened: tuple[str, ...], reason: str | None) -> None:
    """A policy opens addresses by naming them; a metadata service by its very address only."""
    assert verdict(url, allowed_private=opened) == reason


def test_an_opened_name_opens_no_address() -> None:
    """What the name leads to must be named, too."""
    policy = NetworkPolicy(allowed_private=("wiki.intranet", "10.1.2.0/24"))

    assert list(map(str, check_answers("wiki.intranet", ["10.1.2.3", "10.1.2.3"], policy))) == ["10.1.2.3"]
    with pytest.raises(Denied, match=r"The name 'wiki\.intranet' leads to an address that is not public\."):
        check_answers("wiki.intranet", ["10.1.2.3", "10.1.3.3"], policy)


@pytest.mark.parametrize(
    ("url", "missing"),
    [
        pytest.param("http://wiki.intranet/", "this name and its address", id="name"),
        pytest.param("http://10.1.2.3/", "this address", id="address"),
    ],
)
def test_what_would_open_a_private_address_is_told(url: str, missing: str) -> None:
    """The hint names what the profile lacks."""
    with pytest.raises(Denied) as caught:
        check_url(parse_url(url), NetworkPolicy())

    assert caught.value.hint == f"The profile would have to name {missing} in `allowed_private`."


def test_where_a_name_leads_is_not_told() -> None:
    """The hint says that addresses are missing, and not which: a model could map a network by that."""
    with pytest.raises(Denied) as caught:
        check_answers("wiki.intranet", ["10.1.2.3"], NetworkPolicy(allowed_private=("wiki.intranet",)))

    needed = "the name and every address that it leads to"
    assert caught.value.hint == f"The profile would have to name {needed} in `allowed_private`."
    assert "10.1.2.3" not in f"{caught.value.message} {caught.value.hint}"


def test_an_address_with_a_zone_is_never_opened() -> None:
    """Which network a zone means depends on the machine."""
    with pytest.raises(Denied):
        check_answers("x.example", ["fe80::1%2"], NetworkPolicy(allowed_private=("fe80::/10",)))


def test_an_answer_that_is_no_address_is_no_way_around() -> None:
    """A resolver that gives something else stops the request."""
    with pytest.raises(ValueError, match="does not appear to be an IPv4 or IPv6 address"):
        check_answers("x.example", ["0x7f.1"], NetworkPolicy())


ALONE = "write the host alone, without scheme, user or path"
DOMAIN = "write one such as 'example.com' or '*.example.com'"
PRIVATE = "write one such as '10.1.2.0/24', '10.1.2.3' or 'wiki.intranet'"
NUMBERS = "write all four numbers of an address, in decimal"


@each_row("field", ["allowed_domains", "denied_domains"])
@each_row(
    ("entry", "advice"),
    [
        ("Example.com", "write it in lower case"),
        ("https://example.com", ALONE),
        ("//example.com", ALONE),
        ("example.com/", ALONE),
        ("user@example.com", ALONE),
        ("10.0.0.0/8", ALONE),
        ("example.com:443", "write the host alone; ports belong in `ports`"),
        ("m\u00fcnchen.example", "write it as 'xn--...'"),
        ("*example.com", DOMAIN),
        ("example.*", "a star may be at the beginning only, as in '*.example.com'"),
        ("a.*.example", "a star may be at the beginning only, as in '*.example.com'"),
        ("*.*.example", "a star may be at the beginning only, as in '*.example.com'"),
        ("*.", "write it without the dot at its end"),
        (".example.com", DOMAIN),
        ("example.com.", "write it without the dot at its end"),
        ("exa mple.com", DOMAIN),
        ("", DOMAIN),
        ("10.1.2", NUMBERS),
        ("127.1", NUMBERS),
        ("2130706433", NUMBERS),
        ("0x7f.0.0.1", NUMBERS),
        ("010.0.0.1", NUMBERS),
        ("*.1.2.3.4", NUMBERS),
        ("*.34", NUMBERS),
        ("example.0x1f", NUMBERS),
        ("[2606:4700::1111]", "write an IPv6 address without brackets"),
        ("2606:4700:0::1111", "write an IPv6 address in its shortest form, in lower case"),
        ("a." * 126 + "aa", DOMAIN),
    ],
)
def test_domains_that_would_never_match_are_refused(field: str, entry: str, advice: str) -> None:
    """A misspelt entry stops the start and says what to write; it does not lie there in vain."""
    with pytest.raises(ValidationError) as caught:
        NetworkPolicy.from_profile({field: [entry]})

    assert caught.value.errors()[0]["msg"] == f"Value error, {entry!r} is no host; {advice}"


@each_row(
    ("entry", "advice"),
    [
        ("10.1.2", NUMBERS),
        ("10.1", NUMBERS),
        ("10", NUMBERS),
        ("0x7f.1", NUMBERS),
        ("192.168.7.256", NUMBERS),
        ("10.1.2.03", NUMBERS),
        ("10.0.0.1/8", PRIVATE),
        ("10.1.2/24", PRIVATE),
        ("http://10.1.2.3/", ALONE),
        ("10.1.2.3:8080", "write the host alone; ports belong in `ports`"),
        ("[fd00::1]", "write an IPv6 address without brackets"),
        ("*.intranet", PRIVATE),
        ("*", PRIVATE),
        ("Wiki.intranet", "write it in lower case"),
        ("", PRIVATE),
    ],
)
def test_private_entries_that_would_never_match_are_refused(entry: str, advice: str) -> None:
    """What looks like a number is an address or a mistake, and never a name."""
    with pytest.raises(ValidationError) as caught:
        NetworkPolicy.from_profile({"allowed_private": [entry]})

    assert caught.value.errors()[0]["msg"] == (f"Value error, {entry!r} is no address, network or host name; {advice}")


@pytest.mark.parametrize("port", [0, 65536])
def test_ports_that_there_are_not_are_refused(port: int) -> None:
    """Both ends of what a port can be."""
    with pytest.raises(ValidationError):
        NetworkPolicy.from_profile({"ports": [port]})


@each_row(
    ("entry", "host"),
    [
        ("*", "example.com"),
        ("example.com", "example.com"),
        ("*.example.com", "a.b.example.com"),
        ("*.com", "example.com"),
        ("_dmarc.example.com", "_dmarc.example.com"),
        ("a--b.example", "a--b.example"),
        ("3com.com", "3com.com"),
        ("1.2.3.4.example", "1.2.3.4.example"),
        ("xn--mnchen-3ya.example", "m\u00fcnchen.example"),
        ("93.184.216.34", "93.184.216.34"),
        ("2606:4700::1111", "[2606:4700::1111]"),
        ("a." * 125 + "aaa", "a." * 125 + "aaa"),
    ],
)
def test_domains_that_are_taken(entry: str, host: str) -> None:
    """Each matches the host that it names, and keeps it out where it is denied."""
    assert verdict(f"http://{host}/", **NetworkPolicy.from_profile({"allowed_domains": [entry]}).model_dump()) is None
    assert verdict(f"http://{host}/", denied_domains=(entry,)) == "domain_not_allowed"


def test_covers() -> None:
    """The rule on patterns, by itself."""
    assert matches_host(("a.example", "*.b.example"), "x.b.example")
    assert not matches_host((), "a.example")
