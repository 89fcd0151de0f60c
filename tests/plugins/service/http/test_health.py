"""Whether the process answers, and which of its parts are away."""

from pathlib import Path

import httpx
import pytest
from tests.plugins.service.serving import NoStores, configured, serving

from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service

pytestmark = pytest.mark.slow


def test_a_part_that_is_away_is_named(url: str, service: Service) -> None:
    """Without parts that are away it is ready; it answers in any case."""
    assert httpx.get(f"{url}/readyz", timeout=60).json() == {"ready": True, "away": {}}

    async def away() -> str | None:
        return "No route to host."

    service.health_checks["bus"] = away
    try:
        unready = httpx.get(f"{url}/readyz", timeout=60)
    finally:
        del service.health_checks["bus"]

    assert (unready.status_code, unready.json()) == (503, {"ready": False, "away": {"bus": "No route to host."}})
    assert httpx.get(f"{url}/healthz", timeout=60).json() == {"status": "ok"}


def test_a_store_that_is_away_is_named(tmp_path: Path) -> None:
    """The process goes on: tools that need no store are called."""
    service = Service(configured(tmp_path), stores=NoStores(), dev=True)
    with serving(create_app(service)) as url:
        unready = httpx.get(f"{url}/readyz", timeout=60)
        called = httpx.post(f"{url}/v1/calls", json={"tool": "list_files"}, timeout=60)
        keyed = httpx.post(f"{url}/v1/calls", json={"tool": "list_files"}, headers={"Idempotency-Key": "k"}, timeout=60)

    assert unready.status_code == 503
    assert unready.json()["away"]["store"] == "The store cannot be reached."
    assert (called.status_code, called.json()["outcome"]) == (200, "ok")
    assert (keyed.status_code, keyed.json()["reason"]) == (503, "store_unavailable")
