"""`HttpProblem`: an error response."""

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import BaseModel

from toolcharter import (
    StoreConflict,
    StoreUnavailable,
    ToolboxClosed,
    ToolcharterError,
    ToolResult,
    UnreadableRecord,
    lazy,
)

if TYPE_CHECKING:
    import fastapi
    from fastapi import exceptions as fastapi_errors
    from starlette import exceptions as starlette_errors
    from starlette import responses
else:  # saves half a second where the command line uses `HttpProblem` without serving requests
    fastapi_errors, starlette_errors = lazy("fastapi.exceptions"), lazy("starlette.exceptions")
    responses = lazy("starlette.responses")


class HttpProblem(Exception):
    """An error response with a status of 400 or more and the body `{"error", "reason", "call_id"}`."""

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
    """The response to a request that was refused or failed."""

    error: str
    """A sentence for people."""
    reason: str
    """A stable word."""
    call_id: str | None = None
    """The id of the call that the request made, if it made one."""


PROBLEM_CONTENT = {"application/json": {"schema": {"$ref": f"#/components/schemas/{Problem.__name__}"}}}
"""The content of an error response in the OpenAPI document."""


def error_responses(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Return the error responses of a route for the OpenAPI document: those of every route, and *codes*."""
    # Not as `model`: FastAPI would build a validator for each response of each route, three quarters of the start-up.
    return {
        code: {"description": HTTPStatus(code).phrase, "content": PROBLEM_CONTENT}
        for code in sorted({400, 401, 403, 503, *codes})
    }


def problem_response(problem: HttpProblem) -> "responses.Response":
    """Build the response."""
    body = {"error": problem.error, "reason": problem.reason, "call_id": problem.call_id}
    return responses.Response(orjson.dumps(body), problem.status, problem.headers, "application/json")


def problem_of_call(result: ToolResult, status: int, error: str | None = None) -> HttpProblem:
    """Convert the result of a denied or failed call to a problem. *error* is by default the call's own message."""
    # Only a rate limit knows when a retry may succeed. Its message ends with the time.
    told = _WAIT.search(result.message or "")
    headers = {"Retry-After": told[1] if told else "1"} if status in {429, 503} else None
    words = error if error is not None else result.message or result.text
    return HttpProblem(status, words, result.reason or "tool_error", result.call_id or None, headers)


_WAIT = re.compile(r"; try again in ([1-9][0-9]{0,8}) s\.\Z")


def problem_of(error: Exception) -> HttpProblem:  # noqa: PLR0911 - one answer for each kind
    """Convert an exception to a problem. The text of an unexpected exception is not disclosed."""
    match error:
        case HttpProblem():
            return error
        case starlette_errors.HTTPException():
            reason = _REASONS.get(error.status_code, "invalid_request")
            return HttpProblem(error.status_code, f"{error.detail}.", reason, headers=error.headers)
        case fastapi_errors.RequestValidationError():
            return HttpProblem(400, describe_faults(error.errors()), "invalid_request")
        case UnreadableRecord():
            text = "A record of the store cannot be read: another program or version has written it."
            return HttpProblem(503, text, "store_unavailable", headers={"Retry-After": "60"})
        case StoreUnavailable():
            text = " ".join(filter(None, ("The store cannot be reached.", error.hint)))
            return HttpProblem(503, text, "store_unavailable", headers={"Retry-After": "1"})
        case StoreConflict():
            return HttpProblem(409, "Another request changed it at the same time.", "store_conflict")
        case ToolboxClosed():
            return HttpProblem(503, "The service is stopping.", "service_stopping", headers={"Retry-After": "1"})
        case _:
            return HttpProblem(500, "The service failed; its log says why.", "unexpected_failure")


def install_problems(app: "fastapi.FastAPI") -> None:
    """Make *app* answer every error as an `HttpProblem`."""

    async def answer(_: "fastapi.Request", error: Exception) -> "responses.Response":
        return problem_response(problem_of(error))

    of_framework = (starlette_errors.HTTPException, fastapi_errors.RequestValidationError)
    for kind in (HttpProblem, *of_framework, ToolcharterError, Exception):
        app.add_exception_handler(kind, answer)


_REASONS = {404: "unknown_route", 405: "method_not_allowed"}
_MAX_FAULTS = 20


def describe_faults(faults: Sequence[Any]) -> str:
    """Join the faults that pydantic found in a request, up to `_MAX_FAULTS`, each with its place."""
    told = []
    for fault in faults[:_MAX_FAULTS]:
        place = ".".join(map(str, fault["loc"][1:] if fault["loc"][:1] == ("body",) else fault["loc"])) or "body"
        told.append(f"{place[:200]}: {fault['msg']}")
    return f"{'; '.join(told)}."
