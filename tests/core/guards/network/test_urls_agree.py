"""What we read of a URL is what a parser of the WHATWG's reads of it: nobody sees another host than we judge."""

from ipaddress import ip_address
from urllib.parse import unquote_to_bytes

import ada_url
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolcharter import Denied
from toolcharter.guards.network.urls import DEFAULT_PORTS, parse_url, resolve_reference

pytestmark = pytest.mark.slow

HOSTS = st.sampled_from(
    (  # noqa: SIM905 - the list would be three times as long
        "example.com EXAMPLE.com a_b.example 127.0.0.1 127.1 0x7f.1 2130706433 1.2.3.4 [::1] [2606:4700::1] "
        "[::ffff:1.2.3.4] m\u00fcnchen.de fa\u00df.de \uff45xample.com 127\u30020\u30020\u30021 xn--mnchen-3ya.de xn--a.de "
        "example.com. u@example.com u:p@h ex%61mple.com example.0x1 a..b -a.b [::1 ::1 \u2460.de \u05d0.com a\u200db.de"
    ).split(" ")
)
PORTS = st.sampled_from(["", ":", ":80", ":443", ":8080", ":080", ":0", ":65536", ":+80", ":8\t0", ":\u0661"])
TAILS = st.sampled_from(
    [
        "",
        "/",
        "/a/../b",
        "/a/./",
        "/..",
        "//c",
        "/%2e%2e/d",
        "?q=http://x@y",
        "/\\x",
        "#f",
        "/\u00e9?\u00e9",
        "/a b",
        "@x",
    ]
)
SCHEMES = st.sampled_from(
    ["http://", "https://", "HTTP://", "http:", "http:/", "http:///", "http:\\\\", "ftp://", "//"]
)
BASES = ["http://example.com/a/b?c", "https://example.com:8443", "http://[2606:4700::1]/"]
PIECES = st.text(alphabet="ahtp:/\\?#@[].0123x%2e-_ \t\n\u00e9\uff0e\u3002\u200b'\"<>{}|^`&=+,;!*()$~", max_size=12)


@st.composite
def urls(draw: st.DrawFn) -> str:
    parts = [draw(SCHEMES), draw(HOSTS | PIECES), draw(PORTS), draw(TAILS), draw(PIECES | st.just(""))]
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), draw(PIECES))
    return "".join(parts)


def same(text: str, whatwg: ada_url.URL) -> None:
    """Hold what we make of *text* against what is made of it elsewhere."""
    ours = parse_url(text)
    host = whatwg.hostname.strip("[]")
    assert whatwg.protocol == f"{ours.scheme}:"
    assert (whatwg.username, whatwg.password) == ("", "")
    assert (host if isinstance(ours.host, str) else ip_address(host)) == ours.host
    assert (whatwg.port or str(DEFAULT_PORTS[ours.scheme])) == str(ours.port)
    assert unquote_to_bytes(whatwg.search[1:]) == unquote_to_bytes(ours.target.partition("?")[2])


@given(urls() | st.text(max_size=30).map(lambda text: f"http://{text}"))
@settings(max_examples=2_000)
@example("http://example.com\\@127.0.0.1/")
@example("http://[::ffff:127.0.0.1]/")
def test_a_url_that_we_read_means_the_same_elsewhere(text: str) -> None:
    """Scheme, host, port and query; what we refuse does not matter."""
    try:
        parse_url(text)
    except Denied:
        return
    same(text, ada_url.URL(text))


@given(st.sampled_from(BASES), TAILS | PIECES | urls())
@settings(max_examples=1_000)
def test_a_redirect_that_we_follow_means_the_same_elsewhere(base: str, reference: str) -> None:
    """The origin to which a reference leads is the one to which a browser would go."""
    try:
        ours = resolve_reference(parse_url(base), reference)
    except Denied:
        return
    assert ada_url.URL(reference, base).origin == ada_url.URL(ours.origin).origin


@given(urls())
@settings(max_examples=500)
def test_the_normal_form_is_its_own(text: str) -> None:
    """Reading twice changes nothing."""
    try:
        url = parse_url(text)
    except Denied:
        return
    assert parse_url(str(url)) == url
