"""`LeanRoute`: a documented route without FastAPI's way to its function, for what is called most. `LeanPaths` finds it."""

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
from toolcharter_service.http.problems import HttpProblem, faults_in_words, problem_of, problem_response

Lean = Callable[..., Awaitable[Response]]


class LeanRoute(APIRoute):
    """Its function takes `request`, `principal` and, if it has one, `body`; and gives a `Response`.

    FastAPI reads the same signature for the OpenAPI document. What costs time is left out: solving dependencies,
    and turning the answer into JSON twice.
    """

    def get_route_handler(self) -> Callable[[Request], Any]:
        """What runs for a request."""
        guard = next(one.call for one in self.dependant.dependencies if isinstance(one.call, RequireRole))
        function: Lean = self.endpoint
        body_field = self.body_field
        if body_field is None:

            async def without_body(request: Request) -> Response:
                return await function(request=request, principal=await guard(request), **request.path_params)

            return without_body
        model: Any = body_field.field_info.annotation
        assert issubclass(model, BaseModel)  # noqa: S101 - ours take one model each

        async def with_body(request: Request) -> Response:
            principal: Principal = await guard(request)
            try:
                body = model.model_validate(request.scope["state"]["json"])
            except KeyError:
                raise HttpProblem(400, "body: there is none.", "invalid_request") from None
            except ValidationError as error:
                raise HttpProblem(400, faults_in_words(error.errors(include_url=False)), "invalid_request") from None
            return await function(request=request, body=body, principal=principal)

        return with_body


Handler = Callable[[Request], Awaitable[Response]]
_LOG = logging.getLogger("toolcharter.service")


class LeanPaths:
    """Takes requests to lean routes past the router, which would look at one route after the other, twice."""

    def __init__(self, app: ASGIApp, *, table: Mapping[tuple[str, str], Handler]) -> None:
        self._app = app
        self._table = table

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on."""
        handler = self._table.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if handler is None:
            await self._app(scope, receive, send)
            return
        try:
            response = await handler(Request(scope, receive))
        except Exception as error:  # noqa: BLE001 - answered, and logged if nobody expected it
            problem = problem_of(error)
            if problem.status == 500:  # noqa: PLR2004 - of what is not expected
                _LOG.exception("A request failed.")
            response = problem_response(problem)
        await response(scope, receive, send)


def lean_table(routers: Iterable[APIRouter]) -> dict[tuple[str, str], Handler]:
    """The lean routes of *routers* without parameters in their paths."""
    return {
        (method, route.path): route.get_route_handler()
        for router in routers
        for route in router.routes
        if isinstance(route, LeanRoute) and "{" not in route.path
        for method in route.methods or ()
    }
