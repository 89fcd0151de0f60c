"""`create_app`: builds the application of one `Service`. One list names the routes of each part."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial

from fastapi import APIRouter, FastAPI

from toolcharter_service import approvals, grants, monitor, unreadable, watch
from toolcharter_service.auth import admin_routes, login_routes, secret_routes
from toolcharter_service.auth.authenticator import ServiceAuth
from toolcharter_service.auth.dependency import Authenticator
from toolcharter_service.auth.origins import OriginGuard, served_hosts
from toolcharter_service.calls.running import Calls
from toolcharter_service.calls.stored import StoredCalls
from toolcharter_service.custom import routes as custom_routes
from toolcharter_service.generated import routes as generated_routes
from toolcharter_service.http import calls, events, health, invoke, metrics
from toolcharter_service.http.document import complete_document
from toolcharter_service.http.lean import LeanPaths, lean_table
from toolcharter_service.http.problems import install_problems
from toolcharter_service.http.stopping import announcing_stop
from toolcharter_service.http.strict import StrictRequests
from toolcharter_service.registry import routes as tool_routes
from toolcharter_service.service import Service
from toolcharter_service.workers import routes as worker_routes
from toolcharter_service.workers.service_bus import keep_bus

ROUTERS: tuple[Callable[[Service], APIRouter], ...] = (
    calls.routes,
    invoke.routes,
    events.routes,
    metrics.routes,
    health.routes,
    login_routes.routes,
    admin_routes.routes,
    secret_routes.routes,
    approvals.routes,
    grants.routes,
    watch.routes,
    tool_routes.routes,
    custom_routes.routes,
    generated_routes.routes,
    worker_routes.routes,
    unreadable.routes,
    monitor.routes,
)
"""For each part of the service, the function that returns its routes."""


def create_app(service: Service, *, auth: Authenticator | None = None) -> FastAPI:
    """Build the application.

    Args:
        service: It is started and stopped with the application.
        auth: Authenticates requests; by default as the configuration says.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        await service.start()
        with announcing_stop(service):
            try:
                yield
            finally:
                await service.stop()

    Calls(service)
    stored = StoredCalls(service)
    service.approver = lambda tenant: stored.approver(tenant, approvals.RecordApprover(service, service.worker, tenant))
    watch.record_usage(service)
    keep_bus(service)
    service.run_in_background("approvals", partial(approvals.maintain_approvals, service, service.worker))
    app = FastAPI(title="toolcharter", docs_url=None, redoc_url=None, redirect_slashes=False, lifespan=lifespan)
    app.state.service = service
    app.state.auth = auth or ServiceAuth(service)
    install_problems(app)
    routers = [routes(service) for routes in ROUTERS]
    # Not by `include_router`, which copies each route and searches one router after the other.
    app.router.routes.extend(route for router in routers for route in router.routes)
    complete_document(app)
    # The middleware that is added last sees a request first.
    app.add_middleware(LeanPaths, table=lean_table(routers))
    app.add_middleware(StrictRequests, dev=service.dev)
    listen = service.config.listen.host
    app.add_middleware(OriginGuard, served=served_hosts(service.config.hosts, listen, dev=service.dev))
    return app
