"""`HttpProblem`: an answer that is an error."""

from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response


class HttpProblem(Exception):
    """A request that is answered with a status of 400 or more, as `{"error", "reason", "call_id"}`."""

    def __init__(
        self,
        status: int,
        error: str,
        reason: str,
        call_id: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(error)
        self.status = status
        self.error = error
        self.reason = reason
        self.call_id = call_id
        self.headers = dict(headers or {})


class Problem(BaseModel):
    """The answer to a request that was refused or failed."""

    error: str
    """A sentence for people."""
    reason: str
    """A stable word."""
    call_id: str | None = None
    """Of the call that the request has made, if it has made one."""


def answers(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The problems that a route may answer with, for its document: those of every route, and *codes*."""
    return {code: {"model": Problem} for code in sorted({400, 401, 403, 503, *codes})}


def problem_response(problem: HttpProblem) -> Response:
    """The answer."""
    body = {"error": problem.error, "reason": problem.reason, "call_id": problem.call_id}
    return Response(orjson.dumps(body), problem.status, problem.headers, "application/json")


def install_problems(app: FastAPI) -> None:
    """Have *app* answer every error in the one form; nothing of an exception's text leaves."""

    async def on_problem(_: Request, error: Exception) -> Response:
        assert isinstance(error, HttpProblem)  # noqa: S101 - Starlette calls it for no other
        return problem_response(error)

    async def on_http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 - as above
        reason = _REASONS.get(error.status_code, "invalid_request")
        return problem_response(HttpProblem(error.status_code, f"{error.detail}.", reason, headers=error.headers or {}))

    async def on_invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101 - as above
        return problem_response(HttpProblem(400, _sentence(error), "invalid_request"))

    app.add_exception_handler(HttpProblem, on_problem)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(RequestValidationError, on_invalid)


_REASONS = {404: "unknown_route", 405: "method_not_allowed"}


def _sentence(error: RequestValidationError) -> str:
    """Every fault of the request, each with its place."""
    faults = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
    return f"{'; '.join(faults)}."
