"""`create_app`: the application over one `Service`; each part's routes are named in one list."""

import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial

from fastapi import APIRouter, FastAPI, Request

from toolcharter_service import approvals, grants
from toolcharter_service.auth import Authenticator, Principal, dev_principal
from toolcharter_service.http import health
from toolcharter_service.http.problems import HttpProblem, install_problems
from toolcharter_service.service import Service

ROUTERS: tuple[Callable[[Service], APIRouter], ...] = (health.routes, approvals.routes, grants.routes)
"""Each part of the service gives its routes as one function."""


def create_app(service: Service, *, auth: Authenticator | None = None) -> FastAPI:
    """The application.

    Args:
        service: It is started and stopped with the application.
        auth: Says who asks; by default that of the configuration.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    worker = secrets.token_hex(8)
    service.approver = partial(approvals.RecordApprover, service, worker)
    service.run_in_background("approvals", partial(approvals.keep_approvals, service, worker))
    app = FastAPI(title="toolcharter", docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.service = service
    app.state.auth = auth or (DevAuth(service) if service.dev else _Nobody())
    install_problems(app)
    for routes in ROUTERS:
        app.include_router(routes(service))
    return app


class DevAuth:
    """Everybody is the developer: for `serve --dev`, which listens on loopback alone."""

    def __init__(self, service: Service) -> None:
        self._principal = dev_principal(next(iter(service.config.tenants)))

    async def principal(self, _: Request, /) -> Principal:
        """The developer."""
        return self._principal


class _Nobody:
    async def principal(self, _: Request, /) -> Principal:
        raise HttpProblem(401, "This needs a token.", "unauthenticated", headers={"WWW-Authenticate": "Bearer"})
