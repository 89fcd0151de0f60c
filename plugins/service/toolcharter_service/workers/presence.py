"""The live workers: processes of the service and of `toolcharter worker`, which publish heartbeats on the bus."""

import time
from collections.abc import Callable, Collection
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

TOPIC = "workers"
HEARTBEAT_S = 2.0
"""The time between two heartbeats of a worker, in seconds."""
LISTED_S = 10.0
"""How long a worker without a heartbeat is still listed, in seconds."""
MAX_LISTED = 1000
"""The most workers of a tenant that are listed."""
_Word = Annotated[str, Field(min_length=1, max_length=200)]


class WorkerHeartbeat(BaseModel, extra="forbid"):
    """The heartbeat of a worker, for one tenant."""

    id: _Word
    """The unique id of the process."""
    name: _Word
    jobs: Annotated[int, Field(ge=0)]
    """How many of the tenant's jobs it runs now."""


class WorkerSeen(WorkerHeartbeat):
    """A worker, and when its last heartbeat came."""

    seen: float
    """The time of its last heartbeat, in seconds since 1970."""


class Workers(BaseModel):
    """The tenant's live workers: processes of the service and of `toolcharter worker`."""

    workers: list[WorkerSeen]
    """The workers, sorted by name."""


class Presence:
    """Collects the heartbeats that this process receives.

    Args:
        tenants: The existing tenants. Heartbeats for other tenants are ignored.
        clock: Returns the time in seconds since 1970.
    """

    def __init__(self, tenants: Collection[str], clock: Callable[[], float] = time.time) -> None:
        self._tenants = tenants
        self._clock = clock
        self._seen: dict[str, dict[str, WorkerSeen]] = {}

    def record(self, tenant: str, payload: bytes) -> None:
        """Note a heartbeat. An invalid message is ignored."""
        try:
            heartbeat = WorkerHeartbeat.model_validate_json(payload)
        except ValidationError:
            return
        if tenant not in self._tenants:
            return
        seen = {one.id: one for one in self.live_workers(tenant)}
        seen[heartbeat.id] = WorkerSeen(**heartbeat.model_dump(), seen=self._clock())
        if len(seen) <= MAX_LISTED:
            self._seen[tenant] = seen

    def live_workers(self, tenant: str) -> list[WorkerSeen]:
        """Return the live workers of *tenant*."""
        since = self._clock() - LISTED_S
        lately = [one for one in self._seen.get(tenant, {}).values() if one.seen > since]
        return sorted(lately, key=lambda one: (one.name, one.id))
