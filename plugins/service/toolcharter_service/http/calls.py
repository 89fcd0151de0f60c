"""`POST /v1/calls`, `/v1/decide`, `/v1/explain`, `GET /v1/tools`: one evaluator decides, explains, lists and calls."""

import asyncio
import json
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Request
from starlette.responses import Response

from toolcharter_service.auth import CallerScope, Principal, Role, require
from toolcharter_service.calls.callers import caller_of
from toolcharter_service.calls.running import new_call_id
from toolcharter_service.http.headers import CALL_HEADERS, CALLER_HEADERS
from toolcharter_service.http.lean import LeanRoute
from toolcharter_service.http.models import CallAnswer, CallRequest, DecisionAnswer, ExplanationAnswer, ToolsAnswer
from toolcharter_service.service import Service

Caller_ = Annotated[Principal, require(Role.CALLER, scope=CallerScope.INVOKE_TOOL)]
Reader = Annotated[Principal, require(Role.CALLER, Role.VIEWER, scope=CallerScope.READ_REGISTRY)]


def encoded(value: Any) -> bytes:
    """*value* as JSON, whatever a tool put into it."""
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # A lone surrogate or a huge integer, which ASCII can carry.
        return json.dumps(value, default=str).encode()


def json_answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer with *value* as JSON."""
    return Response(encoded(value), status, headers, "application/json")


def routes(service: Service) -> APIRouter:
    """The routes."""
    router = APIRouter(prefix="/v1", tags=["calls"], route_class=LeanRoute)

    @router.post("/calls", response_model=CallAnswer, openapi_extra={"parameters": CALL_HEADERS})
    async def call(request: Request, body: CallRequest, principal: Caller_) -> Response:
        """Call a tool. A denial is an answer with status 200, too."""
        caller = caller_of(service, principal, request, session=body.session)
        call_id = new_call_id()
        work = service.calls.make(principal, caller, body.tool, body.args, call_id=call_id, headers=request.headers)
        return json_answer(await service.calls.attended(request, work, call_id))

    @router.post("/decide", response_model=DecisionAnswer, openapi_extra={"parameters": CALLER_HEADERS})
    async def decide(request: Request, body: CallRequest, principal: Caller_) -> Response:
        """What a call would meet; nothing is executed, counted or logged."""
        caller = caller_of(service, principal, request, session=body.session)
        view = service.view(caller, tenant=principal.tenant, agent=caller.agent)
        return json_answer(await asyncio.to_thread(view.decide, body.tool, body.args))

    @router.post("/explain", response_model=ExplanationAnswer, openapi_extra={"parameters": CALLER_HEADERS})
    async def explain(request: Request, body: CallRequest, principal: Caller_) -> Response:
        """Why a call would be decided as it is, stage by stage; nothing is executed, counted or logged."""
        caller = caller_of(service, principal, request, session=body.session)
        view = service.view(caller, tenant=principal.tenant, agent=caller.agent)
        return json_answer(await asyncio.to_thread(view.explain, body.tool, body.args))

    @router.get("/tools", response_model=ToolsAnswer, openapi_extra={"parameters": CALLER_HEADERS})
    async def tools(request: Request, principal: Reader) -> Response:
        """The tools of which some call of this caller might pass: what is not listed is denied."""
        caller = caller_of(service, principal, request)
        host = service.host(principal.tenant, caller.agent)
        found = await asyncio.to_thread(host.schemas, "json", caller=caller)
        return json_answer({"profile": host.profile, "profile_digest": host.digest, "tools": found})

    return router
