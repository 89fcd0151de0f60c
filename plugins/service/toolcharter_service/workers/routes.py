"""`GET /v1/workers`: lists the live workers. The route also publishes this process's own heartbeat."""

import asyncio
from typing import Annotated

from fastapi import APIRouter

from toolcharter_service.auth import Principal, Role
from toolcharter_service.auth.dependency import require
from toolcharter_service.calls.stored import StoredCalls
from toolcharter_service.http.problems import error_responses
from toolcharter_service.service import Service
from toolcharter_service.workers.presence import SAYS_S, TOPIC, Presence, Sign, Workers


def routes(service: Service) -> APIRouter:
    """Return the route `/v1/workers`. The service sends and receives heartbeats from its start until its stop."""
    router, presence = APIRouter(prefix="/v1/workers", tags=["workers"]), Presence(service.config.tenants)

    async def say() -> None:
        bus = service.bus
        if bus is None:
            return
        subscription = await asyncio.to_thread(bus.subscribe, TOPIC, presence.heard)
        name = f"service-{service.worker[:8]}"
        try:
            while True:
                for tenant in service.config.tenants:
                    sign = Sign(id=service.worker, name=name, jobs=service.part(StoredCalls).running(tenant))
                    bus.publish(tenant, TOPIC, sign.model_dump_json().encode())
                await asyncio.sleep(SAYS_S)
        finally:
            subscription.close()

    service.run_in_background("workers", say)

    @router.get("", responses=error_responses())
    async def workers(principal: Annotated[Principal, require(Role.VIEWER)]) -> Workers:
        return Workers(workers=presence.of(principal.tenant))

    return router
