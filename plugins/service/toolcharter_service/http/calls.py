"""`POST /v1/calls`, `/v1/decide`, `/v1/explain`, `GET /v1/tools`: one evaluator decides, explains, lists and calls."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Request
from starlette.responses import Response

from toolcharter_service.auth import CallerScope, Principal, Role
from toolcharter_service.auth.dependency import require
from toolcharter_service.calls.callers import caller_of
from toolcharter_service.calls.idempotency import Answer, KeyedCalls, fingerprint_of
from toolcharter_service.calls.running import Calls, new_call_id
from toolcharter_service.calls.stored import StoredCalls
from toolcharter_service.grants.listing import filter_open_tools
from toolcharter_service.http.encoding import encode_json, json_response
from toolcharter_service.http.headers import CALL_HEADERS, CALLER_HEADERS, idempotency_key, prefers_async
from toolcharter_service.http.keyed import caller_key, keyed_response
from toolcharter_service.http.lean import LeanRoute
from toolcharter_service.http.models import (
    CallAnswer,
    CallRequest,
    DecisionAnswer,
    ExplanationAnswer,
    StoredCallAnswer,
    ToolsAnswer,
)
from toolcharter_service.http.problems import error_responses
from toolcharter_service.http.stored_calls import stored_answer, stored_routes
from toolcharter_service.service import Service

MayCall = Annotated[Principal, require(Role.CALLER, scope=CallerScope.INVOKE_TOOL)]
MayRead = Annotated[Principal, require(Role.CALLER, Role.VIEWER, scope=CallerScope.READ_REGISTRY)]
_PROBLEMS = error_responses(400, 401, 403, 404, 408, 413, 415, 431, 503)
_CALL_ANSWERS = {
    **_PROBLEMS,
    **error_responses(409, 422, 429),
    202: {"model": StoredCallAnswer, "description": "The call is stored, and runs without a waiting client."},
}


def routes(service: Service) -> APIRouter:
    """Return the routes."""
    keys, stored = KeyedCalls(service), service.part(StoredCalls)
    router = APIRouter(prefix="/v1", tags=["calls"], route_class=LeanRoute)

    @router.post(
        "/calls", response_model=CallAnswer, responses=_CALL_ANSWERS, openapi_extra={"parameters": CALL_HEADERS}
    )
    async def call(request: Request, body: CallRequest, principal: MayCall) -> Response:
        """Call a tool. A denial is also answered with status 200."""
        caller = caller_of(service, principal, request, session=body.session)
        call_id, key, is_async = new_call_id(), idempotency_key(request), prefers_async(request)
        if key is None and not is_async:
            work = service.part(Calls).make(
                principal, caller, body.tool, body.args, call_id=call_id, headers=request.headers
            )
            return json_response(await service.part(Calls).cancel_on_disconnect(request, work, call_id))

        async def make(call_id: str) -> Answer:
            if is_async:
                trace = request.headers.get("traceparent")
                record = await stored.submit(principal, caller, call_id, body.tool, body.args, trace)
                return Answer(202, encode_json(stored_answer(record)), location=f"/v1/calls/{call_id}")
            result = await service.part(Calls).make(
                principal, caller, body.tool, body.args, call_id=call_id, headers=request.headers
            )
            return Answer(200, encode_json(result))

        if key is None:
            return _response(await service.part(Calls).shield(make(call_id)), is_async=True)
        fingerprint = fingerprint_of("calls", caller_key(caller), body.tool, body.args, is_async)
        answer = await service.part(Calls).shield(
            keys.answer_once(principal, key, fingerprint, call_id, make, repeatable=is_async)
        )
        return _response(answer, is_async=is_async)

    @router.post(
        "/decide", response_model=DecisionAnswer, responses=_PROBLEMS, openapi_extra={"parameters": CALLER_HEADERS}
    )
    async def decide(request: Request, body: CallRequest, principal: MayCall) -> Response:
        """Return the decision about a call. Nothing is executed, counted or logged."""
        caller = caller_of(service, principal, request, session=body.session)
        view = service.view(caller, tenant=principal.tenant, agent=caller.agent)
        return json_response(await asyncio.to_thread(view.decide, body.tool, body.args))

    @router.post(
        "/explain", response_model=ExplanationAnswer, responses=_PROBLEMS, openapi_extra={"parameters": CALLER_HEADERS}
    )
    async def explain(request: Request, body: CallRequest, principal: MayCall) -> Response:
        """Explain the decision about a call, stage by stage. Nothing is executed, counted or logged."""
        caller = caller_of(service, principal, request, session=body.session)
        view = service.view(caller, tenant=principal.tenant, agent=caller.agent)
        return json_response(await asyncio.to_thread(view.explain, body.tool, body.args))

    @router.get("/tools", response_model=ToolsAnswer, responses=_PROBLEMS, openapi_extra={"parameters": CALLER_HEADERS})
    async def tools(request: Request, principal: MayRead) -> Response:
        """List the tools that this caller may be allowed to call. Calls of other tools are denied."""
        caller = caller_of(service, principal, request)
        host = service.host(principal.tenant, caller.agent)
        found = await asyncio.to_thread(host.schemas, "json", caller=caller)
        names = [tool["name"] for tool in found]
        shown = await asyncio.to_thread(filter_open_tools, service, principal.tenant, caller, names)
        found = [tool for tool in found if tool["name"] in shown]
        return json_response({"profile": host.profile, "profile_digest": host.digest, "tools": found})

    router.include_router(stored_routes(stored))
    return router


def _response(answer: Answer, *, is_async: bool) -> Response:
    response = keyed_response(answer)
    if is_async:
        response.headers["Preference-Applied"] = "respond-async"
    return response
