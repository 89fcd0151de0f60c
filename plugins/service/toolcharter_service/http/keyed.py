"""`once`: a request that calls a tool, which runs at most once for an `Idempotency-Key`, and else ends with its client."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from toolcharter import Caller
from toolcharter_service.auth import Principal
from toolcharter_service.calls.idempotency import Answer, KeyedCalls, fingerprint_of
from toolcharter_service.calls.running import Calls, new_call_id
from toolcharter_service.http.encoding import json_answer
from toolcharter_service.http.headers import idempotency_key
from toolcharter_service.service import Service


async def once(
    service: Service,
    request: Request,
    principal: Principal,
    said: tuple[object, ...],
    make: Callable[[str], Awaitable[Response]],
) -> Response:
    """The answer of *make*, or what a former request with the same key was answered.

    Args:
        service: Whose keys and calls.
        request: May bear a key.
        principal: Who sends it; keys are its own.
        said: All of the request that counts: the same key with something else is refused.
        make: Makes the call with the identifier that it is given.

    Raises:
        HttpProblem: As `KeyedCalls.answer`, and what *make* raises.
    """
    key, call_id = idempotency_key(request), new_call_id()
    if key is None:
        return await service.part(Calls).attended(request, make(call_id), call_id)

    async def kept(call_id: str) -> Answer:
        made = await make(call_id)
        return Answer(made.status_code, bytes(made.body))

    mark = fingerprint_of(*said)
    work = service.part(KeyedCalls).answer(principal, key, mark, call_id, kept)
    return replayable(await service.part(Calls).kept(work))


def replayable(answer: Answer) -> Response:
    """The response of a keyed request; a second one says that it is one."""
    headers = {"Location": answer.location} if answer.location else {}
    if answer.replayed:
        headers["Idempotency-Replayed"] = "true"
    if answer.status in {429, 503}:
        headers["Retry-After"] = "1"
    return json_answer(answer.body, answer.status, headers)


def who(caller: Caller) -> list[str | None]:
    """What of a caller counts for a key."""
    return [caller.agent, caller.user, caller.session, caller.project]
