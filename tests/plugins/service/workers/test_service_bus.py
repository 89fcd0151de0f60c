"""The bus of a service: away, back, and named by `/readyz`."""

from pathlib import Path

import httpx
import pytest
from tests.plugins.nats.servers import NatsServer
from tests.plugins.service.header_identity import HeaderAuthenticator, identity_headers
from tests.plugins.service.serving import configured, serving
from tests.waiting import until

from toolcharter.guards.store.handle import StoreHandle
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service

pytestmark = pytest.mark.slow


def test_a_service_whose_bus_is_away_goes_on_and_says_so(tmp_path: Path, stores: StoreHandle) -> None:
    """`/readyz` names the part; calls are answered; all is well again by itself."""
    server = NatsServer(tmp_path / "nats")
    server.start()
    service = Service(configured(tmp_path, bus=server.url), stores=stores)
    with serving(create_app(service, auth=HeaderAuthenticator())) as url:

        def away() -> list[str]:
            return list(httpx.get(f"{url}/readyz", timeout=60).json()["away"])

        until(lambda: away() == [])
        server.stop()
        until(lambda: away() == ["bus"])
        called = httpx.post(
            f"{url}/v1/calls",
            json={"tool": "list_files", "args": {}},
            headers=identity_headers("ada", "caller"),
            timeout=60,
        )
        assert (called.status_code, called.json()["outcome"]) == (200, "ok"), called.text
        server.start()
        until(lambda: away() == [])
    server.stop()


def test_a_service_without_a_bus_has_one_within_its_process(tmp_path: Path, stores: StoreHandle) -> None:
    """For its own parts."""
    service = Service(configured(tmp_path), stores=stores)
    with serving(create_app(service, auth=HeaderAuthenticator())):
        heard: list[tuple[str, bytes]] = []
        service.bus.subscribe("topic", lambda *message: heard.append(message))
        service.bus.publish("acme", "topic", b"hello")
        until(lambda: heard == [("acme", b"hello")])
    assert service.bus.health() == "it is closed"
