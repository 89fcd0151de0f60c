"""Whether the process answers, and which of its parts are away."""

import httpx
import pytest

from toolcharter_service.service import Service

pytestmark = pytest.mark.slow


def test_a_part_that_is_away_is_named(url: str, service: Service) -> None:
    """Without parts that are away it is ready; it answers in any case."""
    assert httpx.get(f"{url}/readyz").json() == {"ready": True, "away": {}}

    async def away() -> str | None:
        return "No route to host."

    service.parts["bus"] = away
    try:
        unready = httpx.get(f"{url}/readyz")
    finally:
        del service.parts["bus"]

    assert (unready.status_code, unready.json()) == (503, {"ready": False, "away": {"bus": "No route to host."}})
    assert httpx.get(f"{url}/healthz").json() == {"status": "ok"}
