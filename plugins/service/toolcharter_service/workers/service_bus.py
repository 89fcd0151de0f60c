"""The bus of the service: opened with it, named by `/readyz`, closed with it. Without one, versions are polled each second."""

import asyncio

from toolcharter import Bus, ConfigurationError, open_bus
from toolcharter_service.config import is_unset, url_of
from toolcharter_service.service import Service

_OWN = "process:"


def keep_bus(service: Service) -> None:
    """Open the bus that the configuration names, or one within this process, before *service* starts.

    A URL that cannot be used stops the start. A server that is away is waited for, and nothing waits with it.
    """
    named = service.config.bus
    try:
        bus: Bus = open_bus(_OWN if named is None or is_unset(named) else url_of(named))
    except ConfigurationError as error:
        service.faults += service.file.placed(error, "bus")
        bus = open_bus(_OWN)
    service.bus = bus

    async def health() -> str | None:
        return bus.health()

    async def close() -> None:
        await asyncio.to_thread(bus.close)

    service.parts["bus"] = health
    service.on_stop.append(close)
