"""A world of its own, and both ways to ask for something in it."""

import asyncio
import ssl
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import Any

import pytest
import trustme
from tests.core.guards.network.fake_internet import FakeInternet, install_fake_internet

from toolcharter import HttpAnswer, HttpLimits, NetworkPolicy
from toolcharter.guards.network.client import Client


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeInternet]:
    yield from install_fake_internet(monkeypatch)


@pytest.fixture
def certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ssl.SSLContext]:
    """Servers' TLS for a name, by an authority that this process trusts."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))

    def context(name: str) -> ssl.SSLContext:
        made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert(name).configure_cert(made)
        return made

    return context


Fetch = Callable[..., HttpAnswer]


@pytest.fixture(params=["sync", "async"])
def fetch(request: pytest.FixtureRequest) -> Fetch:
    """One request, from synchronous code and from asynchronous."""

    def run(url: str, *, policy: dict[str, Any] | None = None, limits: HttpLimits | None = None, **given: Any) -> Any:
        given = {"deadline": inf, "limits": limits, **given}
        bounds = NetworkPolicy(**(policy or {}))
        if request.param == "sync":
            return Client().fetch(url, bounds, **given)
        return asyncio.run(Client().afetch(url, bounds, **given))

    return run
