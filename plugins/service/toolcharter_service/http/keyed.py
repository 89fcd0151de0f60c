"""`respond_once`: runs a request's call at most once per `Idempotency-Key`; without a key, it ends with its client."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from toolcharter import Caller
from toolcharter_service.auth import Principal
from toolcharter_service.calls.idempotency import Answer, KeyedCalls, fingerprint_of
from toolcharter_service.calls.running import Calls, new_call_id
from toolcharter_service.http.encoding import json_response
from toolcharter_service.http.headers import idempotency_key
from toolcharter_service.service import Service


async def respond_once(
    service: Service,
    request: Request,
    principal: Principal,
    request_parts: tuple[object, ...],
    make: Callable[[str], Awaitable[Response]],
) -> Response:
    """Return the response of *make*, or the response to an earlier request with the same key.

    Args:
        service: The service with the keys and calls.
        request: The request, which may have a key.
        principal: The sender of the request, which owns the key.
        request_parts: The parts of the request that must not change: the key is refused for another request.
        make: Makes the call with the id that it is given.

    Raises:
        HttpProblem: As `KeyedCalls.answer_once`, or raised by *make*.
    """
    key, call_id = idempotency_key(request), new_call_id()
    if key is None:
        return await service.part(Calls).cancel_on_disconnect(request, make(call_id), call_id)

    async def make_answer(call_id: str) -> Answer:
        made = await make(call_id)
        return Answer(made.status_code, bytes(made.body))

    fingerprint = fingerprint_of(*request_parts)
    work = service.part(KeyedCalls).answer_once(principal, key, fingerprint, call_id, make_answer)
    return keyed_response(await service.part(Calls).shield(work))


def keyed_response(answer: Answer) -> Response:
    """Build the response of a keyed request. A header marks a repeated response."""
    headers = {"Location": answer.location} if answer.location else {}
    if answer.replayed:
        headers["Idempotency-Replayed"] = "true"
    if answer.status in {429, 503}:
        headers["Retry-After"] = "1"
    return json_response(answer.body, answer.status, headers)


def caller_key(caller: Caller) -> list[str | None]:
    """Return the parts of a caller that must be the same for the same key."""
    return [caller.agent, caller.user, caller.session, caller.project]
