"""One strict form of URLs: what is read, what is refused and why."""

import sys

import pytest
from tests.rows import each_row

from toolcharter import Denied
from toolcharter.guards.network.urls import MAX_URL, parse_url, resolve_reference


def reason_of(url: str) -> str:
    with pytest.raises(Denied) as caught:
        parse_url(url)
    return caught.value.reason


@each_row(
    ("text", "normal"),
    [
        ("http://example.com", "http://example.com/"),
        ("HTTPS://EXAMPLE.com:443/A?B#c", "https://example.com/A?B"),
        ("http://example.com:443/", "http://example.com:443/"),
        ("https://example.com?q", "https://example.com/?q"),
        ("https://example.com/a/../b/./c/..", "https://example.com/b/"),
        ("https://example.com/..", "https://example.com/"),
        ("https://en.wikipedia.org/wiki/Go_(programming_language)", None),
        ("https://example.com/a%20b?c=%5B&d[]=e|f{}", None),
        ("https://example.com//double//slash", None),
        ('http://example.com/"<a>^{b}`?"<a>^{b}`', "http://example.com/%22%3Ca%3E%5E%7Bb%7D%60?%22%3Ca%3E^{b}%60"),
        ("http://example.com/100%?%1&%zz", "http://example.com/100%25?%251&%25zz"),
        ("https://example.com/~user/@x:y;z=1,2", None),
        ("https://example.com/?u=http://127.0.0.1/@x", None),
        ("https://de.wikipedia.org/wiki/M\u00fcnchen?a=\u00e9", "https://de.wikipedia.org/wiki/M%C3%BCnchen?a=%C3%A9"),
        ("https://M\u00fcnchen.example.com/", "https://xn--mnchen-3ya.example.com/"),
        ("https://fa\u00df.de/", "https://xn--fa-hia.de/"),
        ("https://xn--mnchen-3ya.de/", None),
        ("https://a_b.example.com/", None),
        ("https://r3---sn-a.example.com/", None),
        ("http://93.184.216.34:8080/", None),
        ("http://[2606:4700:4700::1111]/", None),
        ("http://[2606:4700:4700::1111]:8080/", None),
        ("http://[2606:4700:4700::ABCD]/", "http://[2606:4700:4700::abcd]/"),
        ("http://[::ffff:93.184.216.34]/", "http://[::ffff:5db8:d822]/"),
    ],
)
def test_what_is_read(text: str, normal: str | None) -> None:
    """A plain URL has one normal form, and that form is its own."""
    url = parse_url(text)

    assert str(url) in {normal or text, (normal or text).replace("5db8:d822", "93.184.216.34")}
    assert parse_url(str(url)) == url


@each_row(
    "text",
    [
        "",
        "example.com",
        "//example.com/",
        "/path",
        "http:",
        "http:/example.com",
        "http:example.com",
        "http:///",
        "http:////127.0.0.1/",
        "http:\\\\example.com",
        "http://example.com\\@127.0.0.1/",
        "http://",
        "http://?",
        "http://:80/",
        "http://.",
        "http://..",
        "http://.example.com/",
        "http://example..com/",
        "http://example.com./",
        "http://-a.example/",
        "http://a-.example/",
        "http://exa mple.com/",
        " http://example.com/",
        "http://example.com/\n",
        "http://exam\tple.com/",
        "http://example.com/\0",
        "http://example.com/\x7f",
        "http://example.com/\u200b",
        "http://example.com/\u202e",
        "http://example.com/\ud800",
        "http://example.com/\u00a0",
        "http://<script>/",
        "http://ex%61mple.com/",
        "http://example.com%2f/",
        "http://a*b.example/",
        "http://a,b.example/",
        "http://[example.com]/",
        "http://[::1/",
        "http://::1/",
        "http://[::1]x/",
        "http://[fe80::1%25eth0]/",
        "http://[v1.x]/",
        "http://[:::1]/",
        "http://[1.2.3.4]/",
        "http://[::ffff:0x7f.1]/",
        "http://[0:0:0:0:0:0:0:1]/",
        "http://[2001:DB8:0::1]/",
        "http://example.com:/",
        "http://example.com:0/",
        "http://example.com:080/",
        "http://example.com:+80/",
        "http://example.com:8x/",
        "http://example.com:65536/",
        "http://example.com:80:80/",
        "http://example.com:\u0661/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.0.1.1/",
        "http://127.0.0.0x1/",
        "http://1.2.3.256/",
        "http://example.0x/",
        "http://example.123/",
        "http://127\u30020\u30020\u30021/",
        "http://\u0661\u0662\u0667.0.0.1/",
        "http://\uff45xample.com/",
        "http://\u2460.example/",
        "http://exam\u00adple.com/",
        "http://xn--a.example/",
        "http://xn--example-.com/",
        "http://a\u0301\u0301.\u0301.example/",
        f"http://{'a' * 64}.example/",
        f"http://{'a.' * 126}aa/",
        "http://example.com/a b",
        "http://example.com/a\\b",
    ],
)
def test_what_would_have_to_be_repaired(text: str) -> None:
    """No guess is made what a URL might mean."""
    assert reason_of(text) == "url_not_understood"


@each_row(
    "text",
    ["file:///etc/passwd", "ftp://x", "javascript:alert(1)", "blob:http://example.com/x", "gopher://a", "x-y+z.1:a"],
)
def test_other_schemes(text: str) -> None:
    """Only http and https are fetched, and that is why."""
    assert reason_of(text) == "scheme_not_allowed"


@pytest.mark.parametrize(
    "text",
    ["http://u@example.com/", "http://u:p@example.com/", "http://example.com:80@127.0.0.1/", "http://@example.com/"],
)
def test_credentials(text: str) -> None:
    """Whoever stands before an @ is a user, whatever it looks like; the message repeats nothing of it."""
    with pytest.raises(Denied) as caught:
        parse_url(text)
    assert (caught.value.reason, caught.value.message) == (
        "credentials_in_url",
        "The URL names a user before its host; leave that out.",
    )


@pytest.mark.parametrize(("length", "fits"), [(MAX_URL, True), (MAX_URL + 1, False)], ids=["at the limit", "past it"])
def test_the_length_is_limited(length: int, fits) -> None:
    """At the limit and one past it."""
    text = "http://example.com/".ljust(length, "a")

    if fits:
        assert str(parse_url(text)) == text
    else:
        assert reason_of(text) == "url_not_understood"


@each_row(
    ("reference", "target"),
    [
        ("", "http://a.example/b/c?d"),
        ("#e", "http://a.example/b/c?d"),
        ("?", "http://a.example/b/c?"),
        ("?e", "http://a.example/b/c?e"),
        ("e", "http://a.example/b/e"),
        ("e?f#g", "http://a.example/b/e?f"),
        ("./", "http://a.example/b/"),
        ("../e", "http://a.example/e"),
        ("../../../e", "http://a.example/e"),
        ("/e", "http://a.example/e"),
        ("//b.example", "http://b.example/"),
        ("https://b.example/e", "https://b.example/e"),
        ("e:f", None),
        ("/a b", None),
        ("//u@b.example", None),
        ("//127.1/", None),
    ],
)
def test_references(reference: str, target: str | None) -> None:
    """A redirect leads where RFC 3986 says, section 5.4, or nowhere."""
    base = parse_url("http://a.example/b/c?d")

    if target is not None:
        assert str(resolve_reference(base, reference)) == target
        return
    with pytest.raises(Denied):
        resolve_reference(base, reference)


def test_a_reference_to_nothing_keeps_a_url_without_query() -> None:
    """No question mark is made up."""
    assert str(resolve_reference(parse_url("http://a.example/b"), "#c")) == "http://a.example/b"


@pytest.mark.parametrize("url", ["https://m\u00fcnchen.example/", "https://xn--mnchen-3ya.example/"])
def test_a_name_beyond_ascii_needs_the_extra(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without idna such a name is refused, not passed on as it is."""
    monkeypatch.setitem(sys.modules, "idna", None)

    with pytest.raises(Denied) as caught:
        parse_url(url)
    assert caught.value.message == "A host beyond ASCII needs the extra: pip install 'toolcharter[http]'."
