"""`GET /metrics`: counts of the calls of the token's tenant, for Prometheus. Each worker counts its own calls."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from toolcharter_service.auth import Principal, Role
from toolcharter_service.auth.dependency import require
from toolcharter_service.call_counts import CallCounts
from toolcharter_service.http.lean import LeanRoute
from toolcharter_service.http.problems import error_responses
from toolcharter_service.live_events import LiveSink
from toolcharter_service.service import Service

FORMAT = "text/plain; version=0.0.4; charset=utf-8"
_TEXT: dict[str, Any] = {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The metrics."}


def routes(service: Service) -> APIRouter:
    """Return the route."""
    counts = {name: CallCounts(service.worker[:8]) for name in service.config.tenants}
    service.tenant_sinks.append(lambda tenant: LiveSink(counts[tenant].add))
    router = APIRouter(tags=["health"], route_class=LeanRoute)

    @router.get("/metrics", response_class=Response, responses={**error_responses(), 200: _TEXT})
    async def metrics(request: Request, principal: Annotated[Principal, require(Role.VIEWER)]) -> Response:  # noqa: ARG001 - every lean route takes it
        """Return the metrics of this worker."""
        return Response(counts[principal.tenant].text(), media_type=FORMAT)

    return router
