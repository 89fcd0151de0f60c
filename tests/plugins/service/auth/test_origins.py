"""Requests for other hosts and from other origins, and what browsers are told."""

from typing import Any

import httpx
import pytest
from tests.plugins.service.auth.conftest import Bearing, Deployment
from tests.rows import each_row

from toolcharter_service.auth.origins import Authority, read_authority, served_hosts
from toolcharter_service.auth.principal import Role


@pytest.fixture(scope="module")
def named(deployment: Deployment) -> httpx.Client:
    """A service that people reach by two names."""
    return deployment.start(hosts=("tools.example.org", "tools.example.net:8443"))


@pytest.fixture(scope="module")
def dev(deployment: Deployment) -> httpx.Client:
    """A service without tokens."""
    return deployment.start(dev=True)


def problem(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["reason"]


@each_row(
    "host",
    [
        "tools.example.org",
        "TOOLS.example.org",
        "tools.example.org.",
        "tools.example.org:1",
        "tools.example.net:8443",
        "localhost:8081",
        "127.0.0.1",
        "[::1]:8081",
    ],
)
def test_our_own_names_are_served(named: httpx.Client, bearing: Bearing, host: str) -> None:
    """Those of the configuration, and this machine's own, since it listens there."""
    answer = named.get("/v1/session", headers=bearing(Role.VIEWER) | {"Host": host})

    assert answer.status_code == 200


@each_row(
    "host",
    [
        "evil.example",
        "tools.example.org.evil.example",
        "tools.example.net",
        "127.0.0.1.nip.io",
        "192.168.0.1",
        "0.0.0.0",
    ],
)
def test_a_name_that_leads_here_is_not_ours_for_that(named: httpx.Client, dev: httpx.Client, host: str) -> None:
    """A page may have a name of its own lead to our address; what it then reads would be ours."""
    for client in (named, dev):
        assert problem(client.get("/v1/session", headers={"Host": host})) == (403, "host_not_allowed")


@each_row("host", ["", "a b", "user@tools.example.org", "tools.example.org/x", "tools.example.org:", "[::1", "a:b"])
def test_what_is_no_host_is_refused(named: httpx.Client, host: str) -> None:
    """It cannot be compared."""
    assert problem(named.get("/v1/session", headers={"Host": host})) == (400, "invalid_request")


@each_row(
    "headers",
    [
        pytest.param({"Origin": "https://evil.example"}, id="another site"),
        pytest.param({"Origin": "null"}, id="a frame without an origin"),
        pytest.param({"Origin": "http://localhost:3000"}, id="another port"),
        pytest.param({"Origin": "http://127.0.0.1"}, id="no port"),
        pytest.param({"Origin": "ftp://HOST"}, id="another scheme"),
        pytest.param({"Origin": "http://HOST/"}, id="no origin at all"),
        pytest.param({"Origin": "http://HOST@evil.example"}, id="a user"),
        pytest.param({"Origin": ""}, id="empty"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, id="cross-site, said by the browser"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, id="the same site, another origin"),
        pytest.param(
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, id="an image"
        ),
        pytest.param(
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, id="a frame"
        ),
    ],
)
def test_pages_of_other_origins_are_refused(dev: httpx.Client, headers: dict[str, str]) -> None:
    """Even where nobody needs a token; and nothing tells them that they may read an answer."""
    own = dev.base_url.netloc.decode()
    sent = {name: value.replace("HOST", own) for name, value in headers.items()}

    answers = [dev.request(method, "/v1/session", headers=sent) for method in ("GET", "POST", "OPTIONS", "DELETE")]

    assert [problem(answer) for answer in answers] == [(403, "origin_not_allowed")] * 4
    assert not [name for answer in answers for name in answer.headers if name.startswith("access-control")]


@each_row(
    ("headers", "status"),
    [
        pytest.param({"Origin": "http://HOST", "Sec-Fetch-Site": "same-origin"}, 200, id="our own page"),
        pytest.param({"Sec-Fetch-Site": "none"}, 200, id="the bar of the browser"),
        pytest.param(
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
            200,
            id="a link",
        ),
        pytest.param({}, 200, id="no browser"),
    ],
)
def test_our_own_pages_are_served(dev: httpx.Client, headers: dict[str, str], status: int) -> None:
    """And who follows a link to one."""
    own = dev.base_url.netloc.decode()

    answer = dev.get("/v1/session", headers={name: value.replace("HOST", own) for name, value in headers.items()})

    assert answer.status_code == status


def test_pages_of_ours_come_over_tls(named: httpx.Client, bearing: Bearing) -> None:
    """Else whoever stands between could write one; a proxy ends TLS in front of us."""
    header = bearing(Role.VIEWER) | {"Host": "tools.example.org"}

    states = [
        named.get("/v1/session", headers=header | {"Origin": origin}).status_code
        for origin in ("https://tools.example.org", "http://tools.example.org", "https://tools.example.org:8443")
    ]

    assert states == [200, 403, 403]


@each_row("header", ["Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode"])
def test_a_header_that_comes_twice_is_refused(named: httpx.Client, header: str) -> None:
    """What we judge is not what somebody else reads."""
    answer = named.get("/v1/session", headers=[("Host", "tools.example.org"), (header, "x"), (header, "y")])

    assert problem(answer) == (400, "duplicate_header")


def test_probes_ask_by_address(named: httpx.Client) -> None:
    """What watches the process has no name for it; a page may not."""
    assert named.get("/healthz", headers={"Host": "10.0.0.7:8081"}).status_code == 200
    assert named.get("/healthz", headers={"Host": "x.example", "Origin": "http://x.example"}).status_code == 403


@each_row("path", ["/v1/session", "/healthz", "/nowhere"])
def test_browsers_are_told_to_be_careful(dev: httpx.Client, path: str) -> None:
    """Whatever is answered."""
    told = {name: value for name, value in dev.get(path).headers.items() if name in _TOLD}

    assert told == _TOLD


_TOLD = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


@each_row(
    ("text", "authority"),
    [
        ("a.example", Authority("a.example", None)),
        ("[2001:DB8::1]:443", Authority("[2001:db8::1]", 443)),
        ("a.example:65536", None),
        ("a.example:-1", None),
        ("\u00e4.example", None),
        ("a.example,b.example", None),
    ],
)
def test_a_host_is_read_strictly(text: str, authority: Any) -> None:
    """What two programs could read differently is none."""
    assert read_authority(text) == authority


def test_an_entry_that_is_no_host_is_told() -> None:
    """At the start."""
    with pytest.raises(ValueError, match=r"^'https://x' is no host: write tools\.example\.org"):
        served_hosts(["https://x"], "127.0.0.1", dev=False)


def test_who_listens_for_others_serves_the_named_hosts_alone() -> None:
    """Loopback's names are served where it listens there."""
    served = served_hosts(["tools.example.org"], "0.0.0.0", dev=False)

    assert [served.accepts(Authority(name, 80)) for name in ("tools.example.org", "localhost")] == [True, False]
