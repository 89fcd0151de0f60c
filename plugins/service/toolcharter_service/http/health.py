"""`/healthz`: whether the process answers. `/readyz`: which of its parts are unreachable."""

import asyncio

from fastapi import APIRouter, Response
from pydantic import BaseModel

from toolcharter import StoreUnavailable
from toolcharter_service.service import Service

READY_S = 2.0
"""How long one part may take to answer, in seconds."""


class Health(BaseModel):
    """The response of a running process."""

    status: str


class Readiness(BaseModel):
    """Whether all parts of the service can be reached."""

    ready: bool
    away: dict[str, str]
    """The unreachable parts, each with the reason."""


def routes(service: Service) -> APIRouter:
    """Return the routes, which need no credentials."""
    router = APIRouter(tags=["health"])

    async def store() -> str | None:
        try:
            await service.store("").asynchronous().last_change()
        except StoreUnavailable:
            return "The store cannot be reached."
        return None

    service.health_checks["store"] = store

    @router.get("/healthz")
    async def healthz() -> Health:
        return Health(status="ok")

    @router.get("/readyz", responses={503: {"model": Readiness}})
    async def readyz(response: Response) -> Readiness:
        names = list(service.health_checks)
        found = await asyncio.gather(*(_run_check(service, name) for name in names))
        away = {name: why for name, why in zip(names, found, strict=True) if why is not None}
        response.status_code = 503 if away else 200
        return Readiness(ready=not away, away=away)

    return router


async def _run_check(service: Service, name: str) -> str | None:
    try:
        async with asyncio.timeout(READY_S):
            return await service.health_checks[name]()
    except TimeoutError:
        return f"It did not answer in {READY_S:g} s."
    except Exception as error:  # noqa: BLE001 - a part whose check fails counts as unreachable
        return type(error).__name__
