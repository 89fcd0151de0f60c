"""Stored calls are shared out at once where there is a bus, and by looking each second where there is none."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from tests.plugins.service.header_identity import HeaderAuthenticator, identity_headers
from tests.plugins.service.serving import configured, serving
from tests.waiting import until

from toolcharter.guards.store.handle import StoreHandle
from toolcharter_service.calls import stored
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service
from toolcharter_service.workers.process_bus import ProcessBus

pytestmark = pytest.mark.slow
ANN = identity_headers("ann", "caller,viewer,operator")


class Heard(ProcessBus):
    """One bus for both services, which says how many of them listen, and can be away."""

    is_away = False

    def publish(self, tenant: str, topic: str, payload: bytes = b"") -> None:
        if not self.is_away:
            super().publish(tenant, topic, payload)

    def listeners(self) -> int:
        """How many hear of stored calls."""
        return len(self._subscribers.get(stored.TOPIC, ()))


class Two(NamedTuple):
    """The addresses of two workers over one store."""

    first: str
    second: str
    bus: Heard


@pytest.fixture
def two(
    request: pytest.FixtureRequest, tmp_path: Path, stores: StoreHandle, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Two]:
    """Each has room for one stored call, and looks as often as the parameter says."""
    monkeypatch.setattr(stored, "MAX_RUNNING", 1)
    monkeypatch.setattr(stored, "POLL_S", request.param)
    first = Service(configured(tmp_path), stores=stores)
    second = Service(first.file, stores=stores)
    bus = Heard()
    apps = [create_app(each, auth=HeaderAuthenticator()) for each in (first, second)]
    for service in (first, second):
        service.bus.close()
        service.bus = bus
    with serving(apps[0]) as one, serving(apps[1]) as other:
        until(lambda: bus.listeners() == 2)
        yield Two(one, other, bus)
    bus.close()


def leave(url: str, command: str) -> str:
    """Where to look for a call that runs by itself."""
    body = {"tool": "bash", "args": {"command": command}}
    answer = httpx.post(f"{url}/v1/calls", json=body, headers={"Prefer": "respond-async", **ANN}, timeout=60)
    return str(answer.headers["location"])


def state(url: str, place: str) -> str:
    """Of a stored call."""
    return str(httpx.get(f"{url}{place}", headers=ANN, timeout=60).json()["state"])


@pytest.mark.parametrize("two", [3600.0], indirect=True)
def test_whoever_has_room_takes_a_call_at_once(two: Two) -> None:
    """Though nobody looks for an hour; and a call is cancelled through the worker that does not run it."""
    long = leave(two.first, "sleep 25")
    until(lambda: state(two.first, long) == "running")
    short = [leave(two.first, f"echo {number}") for number in range(5)]
    until(lambda: {state(two.first, place) for place in short} == {"done"})
    assert state(two.second, long) == "running"

    httpx.post(f"{two.second}{long}/cancel", headers=ANN, timeout=60).raise_for_status()
    until(lambda: state(two.first, long) == "cancelled")


@pytest.mark.parametrize("two", [1.0], indirect=True)
def test_without_a_bus_it_is_found_within_seconds(two: Two) -> None:
    """By looking each second."""
    two.bus.is_away = True
    long = leave(two.first, "sleep 25")
    until(lambda: state(two.first, long) == "running")
    place = leave(two.first, "echo found")
    until(lambda: state(two.first, place) == "done")
    httpx.post(f"{two.second}{long}/cancel", headers=ANN, timeout=60)
    until(lambda: state(two.first, long) == "cancelled")
