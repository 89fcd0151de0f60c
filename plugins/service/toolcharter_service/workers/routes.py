"""`GET /v1/workers`: lists the live workers. The route also publishes this process's own heartbeat."""

import asyncio
from typing import Annotated

from fastapi import APIRouter

from toolcharter_service.auth import Principal, Role
from toolcharter_service.auth.dependency import require
from toolcharter_service.calls.stored import StoredCalls
from toolcharter_service.http.problems import error_responses
from toolcharter_service.service import Service
from toolcharter_service.workers.presence import HEARTBEAT_S, TOPIC, Presence, WorkerHeartbeat, Workers


def routes(service: Service) -> APIRouter:
    """Return the route `/v1/workers`. The service sends and receives heartbeats from its start until its stop."""
    router, presence = APIRouter(prefix="/v1/workers", tags=["workers"]), Presence(service.config.tenants)

    async def send_heartbeats() -> None:
        bus = service.bus
        if bus is None:
            return
        subscription = await asyncio.to_thread(bus.subscribe, TOPIC, presence.record)
        name = f"service-{service.worker[:8]}"
        try:
            while True:
                for tenant in service.config.tenants:
                    heartbeat = WorkerHeartbeat(
                        id=service.worker, name=name, jobs=service.part(StoredCalls).running(tenant)
                    )
                    bus.publish(tenant, TOPIC, heartbeat.model_dump_json().encode())
                await asyncio.sleep(HEARTBEAT_S)
        finally:
            subscription.close()

    service.run_in_background("workers", send_heartbeats)

    @router.get("", responses=error_responses())
    async def workers(principal: Annotated[Principal, require(Role.VIEWER)]) -> Workers:
        return Workers(workers=presence.live_workers(principal.tenant))

    return router
