"""Who works: processes of the service and `toolcharter worker` say so over the bus."""

import time
from collections.abc import Callable, Collection
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

TOPIC = "workers"
SAYS_S = 2.0
"""How often a worker says that it is there, in seconds."""
FORGOTTEN_S = 10.0
"""After how many seconds without a word it is listed no more."""
HEARD_MAX = 1000
"""Of how many workers of a tenant it is known when they were heard of."""
_Word = Annotated[str, Field(min_length=1, max_length=200)]


class Sign(BaseModel, extra="forbid"):
    """What a worker says of itself, to one tenant."""

    id: _Word
    """No other process has it."""
    name: _Word
    jobs: Annotated[int, Field(ge=0)]
    """How many of the tenant's jobs it runs just now."""


class WorkerSeen(Sign):
    """A worker as it was heard of."""

    seen: float
    """When, in seconds since 1970."""


class Workers(BaseModel):
    """The workers of the tenant that were heard of in the last seconds: processes of the service, and `toolcharter worker`."""

    workers: list[WorkerSeen]
    """Sorted by name."""


class Presence:
    """What was heard of workers in this process.

    Args:
        tenants: Those that there are: of others nothing is noted, whatever comes over the bus.
        clock: Seconds since 1970.
    """

    def __init__(self, tenants: Collection[str], clock: Callable[[], float] = time.time) -> None:
        self._tenants = tenants
        self._clock = clock
        self._heard: dict[str, dict[str, WorkerSeen]] = {}

    def heard(self, tenant: str, payload: bytes) -> None:
        """Note a sign; what is none is dropped."""
        try:
            sign = Sign.model_validate_json(payload)
        except ValidationError:
            return
        if tenant not in self._tenants:
            return
        heard = {one.id: one for one in self.of(tenant)}
        heard[sign.id] = WorkerSeen(**sign.model_dump(), seen=self._clock())
        if len(heard) <= HEARD_MAX:
            self._heard[tenant] = heard

    def of(self, tenant: str) -> list[WorkerSeen]:
        """The workers of *tenant* that have said something lately."""
        since = self._clock() - FORGOTTEN_S
        lately = [one for one in self._heard.get(tenant, {}).values() if one.seen > since]
        return sorted(lately, key=lambda one: (one.name, one.id))
