"""The bus of the service: opened with it, named by `/readyz`, closed with it. Without one, versions are polled each second."""

import asyncio

from toolcharter import Bus, open_bus
from toolcharter_service.config import url_of
from toolcharter_service.service import Service


def keep_bus(service: Service) -> None:
    """Open the bus that the configuration names, or one within this process, before *service* starts.

    Raises:
        ConfigurationError: The URL cannot be used. A server that is away is waited for, and nothing waits with it.
    """
    bus: Bus = open_bus("process:" if service.config.bus is None else url_of(service.config.bus))
    service.bus = bus

    async def health() -> str | None:
        return bus.health()

    async def close() -> None:
        await asyncio.to_thread(bus.close)

    service.parts["bus"] = health
    service.on_stop.append(close)
