"""What is remembered of credentials is renewed in the background, and that ends with the service."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.service.serving import configured

from toolcharter.guards.store.handle import StoreHandle
from toolcharter_service.auth.verified import VerifiedCredentials
from toolcharter_service.service import Service


class UnchangedStore:
    """Nothing happens in it."""

    async def last_change(self) -> int:
        return 0


@pytest.mark.parametrize("turns", range(6))
async def test_watching_ends_whenever_it_is_cancelled(turns: int) -> None:
    """Also in the very turn of the event loop in which it hears that something has changed."""
    verified = VerifiedCredentials(cast("Any", UnchangedStore()), 60)
    watching = asyncio.create_task(verified.poll_changes())
    await asyncio.sleep(0.01)

    verified.poll_now()
    for _ in range(turns):
        await asyncio.sleep(0)
    watching.cancel()
    await asyncio.wait([watching], timeout=60)

    assert watching.cancelled()


async def test_a_service_stops_though_a_library_loses_a_cancellation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs in the background is cancelled until it has ended."""
    monkeypatch.setattr("toolcharter_service.service._CANCELLED_S", 0.01)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    service, lost = Service(configured(tmp_path), stores=StoreHandle(MemoryEngine)), list[str]()

    async def stubborn() -> None:
        while True:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                if len(lost) == 3:
                    raise
                lost.append("cancellation")

    service.run_in_background("stubborn", stubborn)
    await service.start()
    await asyncio.sleep(0)

    async with asyncio.timeout(60):
        await service.stop()

    assert len(lost) == 3
