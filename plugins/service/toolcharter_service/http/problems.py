"""`HttpProblem`: an answer that is an error."""

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
else:  # half a second; who reads a configuration or keeps a password raises `HttpProblem` and answers no request
    fastapi_errors, starlette_errors = lazy("fastapi.exceptions"), lazy("starlette.exceptions")
    responses = lazy("starlette.responses")


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


PROBLEM_CONTENT = {"application/json": {"schema": {"$ref": f"#/components/schemas/{Problem.__name__}"}}}
"""A problem in an OpenAPI document."""


def answers(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The problems that a route may answer with, for its document: those of every route, and *codes*."""
    # Not as `model`: FastAPI would build one validator for each answer of each route, three quarters of a start.
    return {
        code: {"description": HTTPStatus(code).phrase, "content": PROBLEM_CONTENT}
        for code in sorted({400, 401, 403, 503, *codes})
    }


def problem_response(problem: HttpProblem) -> "responses.Response":
    """The answer."""
    body = {"error": problem.error, "reason": problem.reason, "call_id": problem.call_id}
    return responses.Response(orjson.dumps(body), problem.status, problem.headers, "application/json")


def problem_of_call(result: ToolResult, status: int, error: str | None = None) -> HttpProblem:
    """How a call that was refused or has failed is answered with *status*; *error* is by default the call's own message."""
    # Only a limit knows when there is room again, and says so at the end of its message.
    told = _WAIT.search(result.message or "")
    headers = {"Retry-After": told[1] if told else "1"} if status in {429, 503} else None
    words = error if error is not None else result.message or result.text
    return HttpProblem(status, words, result.reason or "tool_error", result.call_id or None, headers)


_WAIT = re.compile(r"; try again in ([1-9][0-9]{0,8}) s\.\Z")


def problem_of(error: Exception) -> HttpProblem:  # noqa: PLR0911 - one answer for each kind
    """How an exception is answered; nothing of the text of one that is not expected leaves."""
    match error:
        case HttpProblem():
            return error
        case starlette_errors.HTTPException():
            reason = _REASONS.get(error.status_code, "invalid_request")
            return HttpProblem(error.status_code, f"{error.detail}.", reason, headers=error.headers)
        case fastapi_errors.RequestValidationError():
            return HttpProblem(400, faults_in_words(error.errors()), "invalid_request")
        case UnreadableRecord():
            text = "A record of the store cannot be read: another program or version has written it."
            return HttpProblem(503, text, "store_unavailable", headers={"Retry-After": "60"})
        case StoreUnavailable():
            text = " ".join(filter(None, ("The store cannot be reached.", error.hint)))
            return HttpProblem(503, text, "store_unavailable", headers={"Retry-After": "1"})
        case StoreConflict():
            return HttpProblem(409, "Somebody else changed it at the same time.", "store_conflict")
        case ToolboxClosed():
            return HttpProblem(503, "The service stops.", "service_stopping", headers={"Retry-After": "1"})
        case _:
            return HttpProblem(500, "The service failed; its log says why.", "unexpected_failure")


def install_problems(app: "fastapi.FastAPI") -> None:
    """Have *app* answer every error in the one form."""

    async def answer(_: "fastapi.Request", error: Exception) -> "responses.Response":
        return problem_response(problem_of(error))

    of_framework = (starlette_errors.HTTPException, fastapi_errors.RequestValidationError)
    for kind in (HttpProblem, *of_framework, ToolcharterError, Exception):
        app.add_exception_handler(kind, answer)


_REASONS = {404: "unknown_route", 405: "method_not_allowed"}
_MAX_FAULTS = 20


def faults_in_words(faults: Sequence[Any]) -> str:
    """Every fault that pydantic found in a request, each with its place."""
    told = []
    for fault in faults[:_MAX_FAULTS]:
        place = ".".join(map(str, fault["loc"][1:] if fault["loc"][:1] == ("body",) else fault["loc"])) or "body"
        told.append(f"{place[:200]}: {fault['msg']}")
    return f"{'; '.join(told)}."
