"""`LeanRoute`: a documented route that bypasses FastAPI's slow request handling. `LeanPaths` finds the route."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from toolcharter_service.auth import Principal
from toolcharter_service.auth.dependency import RequireRole
from toolcharter_service.http.problems import HttpProblem, describe_faults, problem_of, problem_response

Lean = Callable[..., Awaitable[Response]]


class LeanRoute(APIRoute):
    """A route whose function takes `request`, `principal` and optionally `body`, and returns a `Response`.

    FastAPI reads the same signature for the OpenAPI document. Its costly steps are skipped: resolving dependencies, and
    serialising the response twice.
    """

    def get_route_handler(self) -> Callable[[Request], Any]:
        """Return the function that handles a request."""
        guard = next(one.call for one in self.dependant.dependencies if isinstance(one.call, RequireRole))
        function: Lean = self.endpoint
        body_field = self.body_field
        if body_field is None:

            async def without_body(request: Request) -> Response:
                return await function(request=request, principal=await guard(request), **request.path_params)

            return without_body
        model: Any = body_field.field_info.annotation
        assert issubclass(model, BaseModel)  # noqa: S101 - each of this service's lean routes takes one model

        async def with_body(request: Request) -> Response:
            principal: Principal = await guard(request)
            try:
                body = model.model_validate(request.scope["state"]["json"])
            except KeyError:
                raise HttpProblem(400, "body: it is missing.", "invalid_request") from None
            except ValidationError as error:
                raise HttpProblem(400, describe_faults(error.errors(include_url=False)), "invalid_request") from None
            return await function(request=request, body=body, principal=principal)

        return with_body


Handler = Callable[[Request], Awaitable[Response]]
_LOG = logging.getLogger("toolcharter.service")


class LeanPaths:
    """Middleware that calls lean routes directly. The router would search all routes one after the other, twice."""

    def __init__(self, app: ASGIApp, *, table: Mapping[tuple[str, str], Handler]) -> None:
        self._app = app
        self._table = table

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request to a lean route, or pass the request on."""
        handler = self._table.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if handler is None:
            await self._app(scope, receive, send)
            return
        try:
            response = await handler(Request(scope, receive))
        except Exception as error:  # noqa: BLE001 - answered, and logged if it is unexpected
            problem = problem_of(error)
            if problem.status == 500:  # noqa: PLR2004 - the status of unexpected errors
                _LOG.exception("A request failed.")
            response = problem_response(problem)
        await response(scope, receive, send)


def lean_table(routers: Iterable[APIRouter]) -> dict[tuple[str, str], Handler]:
    """Return the handlers of all lean routes whose paths have no parameters, by method and path."""
    return {
        (method, route.path): route.get_route_handler()
        for router in routers
        for route in router.routes
        if isinstance(route, LeanRoute) and "{" not in route.path
        for method in route.methods or ()
    }
