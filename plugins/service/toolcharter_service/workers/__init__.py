"""Many workers: the bus, the runner `remote` and the command `toolcharter worker`."""

from toolcharter_service.workers.service_bus import keep_bus

__all__ = ["keep_bus"]
