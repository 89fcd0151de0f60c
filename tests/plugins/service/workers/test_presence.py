"""Who works, as `GET /v1/workers` tells it: a real service and a real `toolcharter worker` on one bus."""

import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.service.header_identity import HeaderAuthenticator, identity_headers
from tests.plugins.service.serving import configured, serving
from tests.waiting import until

from toolcharter import StoreHandle
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service
from toolcharter_service.workers.presence import LISTED_S, MAX_LISTED, Presence

from .machines import Machines


@pytest.mark.slow
def test_processes_of_the_service_and_workers_are_listed(machines: Machines) -> None:
    """Each with its name, to those who look on in its tenant."""
    place = machines.folder / "service"
    place.mkdir()
    service = Service(configured(place, bus=machines.server.url), stores=StoreHandle(MemoryEngine))
    machines.worker()
    with (
        serving(create_app(service, auth=HeaderAuthenticator())) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=60) as client,
    ):

        def listed(tenant: str = "acme") -> list[dict[str, Any]]:
            answer = client.get("/v1/workers", headers=identity_headers("vera", "viewer", tenant=tenant))
            assert answer.status_code == 200, answer.text
            found: list[dict[str, Any]] = answer.json()["workers"]
            return found

        found: list[dict[str, Any]] = []

        def both_are_listed() -> bool:
            found[:] = listed()
            return len(found) == 2

        until(both_are_listed)
        others = listed("zoo")

    assert sorted(found[0]) == ["id", "jobs", "name", "seen"]
    assert [one["id"] == service.worker for one in found].count(True) == 1
    assert [one["jobs"] for one in found] == [0, 0]
    assert all(abs(time.time() - one["seen"]) < 60 for one in found)
    assert others == []


def ticking(times: list[float]) -> Callable[[], float]:
    """A clock that the test sets."""
    return lambda: times[-1]


def test_who_is_silent_is_forgotten_and_what_is_no_sign_is_dropped() -> None:
    """Neither messages of another shape nor a flood of names change what is listed."""
    times = [1000.0]
    presence = Presence({"acme"}, ticking(times))
    for payload in (
        b"",
        b"{}",
        b'{"id": "x", "name": "x", "jobs": -1}',
        b'{"id": "x", "name": "x", "jobs": 0, "seen": 1}',
    ):
        presence.record("acme", payload)
    assert presence.live_workers("acme") == []

    for number in range(MAX_LISTED + 5):
        presence.record("acme", b'{"id": "%d", "name": "w", "jobs": 3}' % number)
    assert len(presence.live_workers("acme")) == MAX_LISTED
    assert presence.live_workers("zoo") == []

    times.append(1000.0 + LISTED_S)
    presence.record("acme", b'{"id": "new", "name": "w", "jobs": 3}')
    assert [(one.id, one.seen, one.jobs) for one in presence.live_workers("acme")] == [("new", times[-1], 3)]
