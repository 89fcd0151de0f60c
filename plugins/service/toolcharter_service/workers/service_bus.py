"""The bus of the service: opened and closed with it, and checked by `/readyz`. Without a bus, the store is polled."""

import asyncio

from toolcharter import Bus, ConfigurationError, open_bus
from toolcharter_service.config import is_unset, url_of
from toolcharter_service.service import Service

_OWN = "process:"


def keep_bus(service: Service) -> None:
    """Open the configured bus, or a bus within this process, before *service* starts.

    An invalid URL stops the start. If the server is unreachable, the bus connects later, and the start does not wait.
    """
    named = service.config.bus
    try:
        bus: Bus = open_bus(_OWN if named is None or is_unset(named) else url_of(named))
    except ConfigurationError as error:
        service.faults += service.file.locate_faults(error, "bus")
        bus = open_bus(_OWN)
    service.bus = bus

    async def health() -> str | None:
        return bus.health()

    async def close() -> None:
        await asyncio.to_thread(bus.close)

    service.health_checks["bus"] = health
    service.on_stop.append(close)
