"""A host's own requests under the network guard, and URLs that somebody registers."""

from collections.abc import Iterator

import pytest
from tests.core.guards.network.fake_internet import FakeInternet, answer, install_fake_internet

from toolcharter import Denied, NetworkPolicy, ToolError
from toolcharter.hosts import open_http, require_public


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeInternet]:
    yield from install_fake_internet(monkeypatch)


def test_a_host_fetches_under_the_guard(world: FakeInternet) -> None:
    """A public address is reached, a private one is not; no call is needed."""
    world.put("keys.example.com", answer(b"{}"))
    world.names["inside.example.com"] = [["10.0.0.7"]]
    http = open_http()

    assert http.fetch("http://keys.example.com/jwks", NetworkPolicy()).body == b"{}"
    with pytest.raises(Denied) as raised:
        http.fetch("http://inside.example.com/jwks", NetworkPolicy())
    assert raised.value.reason == "private_address"


async def test_a_url_is_judged_when_it_is_registered(world: FakeInternet) -> None:
    """Its text is read, its name looked up, and nothing connected."""
    world.put("hooks.example.com", answer())

    url = await require_public("http://HOOKS.example.com:80/a?b#c", NetworkPolicy())

    assert (url, world.looked_up, world.connected) == ("http://hooks.example.com/a?b", ["hooks.example.com"], [])


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1/", "private_address"),
        ("http://inside.example.com/", "private_address"),
        ("http://localhost/", "private_address"),
        ("ftp://hooks.example.com/", "scheme_not_allowed"),
        ("http://ann:pw@hooks.example.com/", "credentials_in_url"),
        ("http://hooks.example.com:22/", "port_not_allowed"),
        ("http:hooks", "url_not_understood"),
    ],
)
async def test_a_url_that_leads_inside_is_refused(world: FakeInternet, url: str, reason: str) -> None:
    """By its letters, or by where its name leads."""
    world.put("hooks.example.com", answer())
    world.names["inside.example.com"] = [["93.184.216.34", "169.254.169.254"]]

    with pytest.raises(Denied) as raised:
        await require_public(url, NetworkPolicy())

    assert raised.value.reason == reason


async def test_a_url_that_leads_nowhere_is_an_error(world: FakeInternet) -> None:
    """A name that nobody knows cannot be judged."""
    with pytest.raises(ToolError) as raised:
        await require_public("http://gone.example.com/", NetworkPolicy())

    assert raised.value.reason == "host_not_found"
