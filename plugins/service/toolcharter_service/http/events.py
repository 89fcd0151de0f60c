"""`GET /v1/events`: streams events as they happen, as server-sent events.

Source: WHATWG HTML, section 9.2 "Server-sent events".
"""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from toolcharter_service.auth import Principal, Role
from toolcharter_service.auth.dependency import require
from toolcharter_service.http.lean import LeanRoute
from toolcharter_service.http.problems import HttpProblem, error_responses
from toolcharter_service.live_events import Listener, LiveEvent, LiveSink, TenantEvents
from toolcharter_service.service import Service

TOKEN_CHECK_S = 1.0
"""The time between two checks whether the stream's token is still valid, in seconds."""
COMMENT_S = 15.0
"""How long a stream is silent before a comment keeps the connection open, in seconds."""
SEND_S = 30.0
"""How long a client may take to receive a chunk, in seconds."""
MayListen = Annotated[Principal, require(Role.VIEWER, Role.CALLER)]
_STREAM: dict[str, Any] = {
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
    "description": "A stream of events. The `data` of each event is an event line as JSON.",
}
_LAST_ID = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The `id` of the last event received. The stream continues after it, as far as events are kept.",
    "schema": {"type": "string"},
}


def routes(service: Service) -> APIRouter:
    """Return the route. Each tenant has its own events."""
    epoch = secrets.token_hex(4)  # Event numbers of another process mean other events.
    tenants: dict[str, TenantEvents] = {name: TenantEvents() for name in service.config.tenants}
    service.tenant_sinks.append(lambda tenant: LiveSink(tenants[tenant].add))
    router = APIRouter(prefix="/v1", tags=["events"], route_class=LeanRoute)

    @router.get(
        "/events",
        response_class=Response,
        responses={**error_responses(429), 200: _STREAM},
        openapi_extra={"parameters": [_LAST_ID]},
    )
    async def events(request: Request, principal: MayListen) -> Response:
        """Stream events of calls: all of the tenant's for a viewer; those of its agents and user for a caller."""
        after = _parse_last_id(request.headers.get("last-event-id"), epoch)
        listener = tenants[principal.tenant].add_listener(_event_filter(principal), after)
        if listener is None:
            raise HttpProblem(429, "Too many streams are open.", "too_many_streams", headers={"Retry-After": "10"})
        return _Stream(service, request, principal, listener, epoch)

    return router


def _parse_last_id(last: str | None, epoch: str) -> int | None:
    if last is None:
        return None
    known, _, number = last.partition("-")
    return int(number) if known == epoch and number.isdigit() and len(number) < 16 else -1  # noqa: PLR2004 - as an id


def _event_filter(principal: Principal) -> Any:
    looks_on, agents, user = principal.has(Role.VIEWER), principal.agents, principal.user

    def may_see(live: LiveEvent) -> bool:
        if agents is not None and live.agent not in agents:
            return False
        # An agent may serve many people: a mere caller sees only the calls for its own user.
        return looks_on or (live.user == user and (user is not None or agents is not None))

    return may_see


class _Stream(Response):
    """Sends a listener's events until the client disconnects or is too slow, the token ends, or the service stops."""

    def __init__(
        self, service: Service, request: Request, principal: Principal, listener: Listener, epoch: str
    ) -> None:
        super().__init__(media_type="text/event-stream")
        del self.headers["content-length"]
        self.headers["x-accel-buffering"] = "no"
        self._service = service
        self._request = request
        self._principal = principal
        self._listener = listener
        self._epoch = epoch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - the request has both
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        gone = self._gone = asyncio.create_task(self._wait_for_disconnect())
        try:
            async for chunk in self._chunks():
                if gone.done():
                    break
                # A client that reads nothing blocks here. Meanwhile its queue fills, and it is dropped.
                async with asyncio.timeout(SEND_S):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if not gone.done():
                async with asyncio.timeout(SEND_S):
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            return
        finally:
            gone.cancel()
            self._listener.close()

    async def _wait_for_disconnect(self) -> None:
        while (await self._request.receive())["type"] != "http.disconnect":
            pass

    async def _chunks(self) -> AsyncGenerator[bytes]:
        listener, said = self._listener, time.monotonic()
        yield b"retry: 1000\n\n"
        if listener.has_gap:
            yield _encode_event("gap", b'{"reason":"events_lost"}')
        while True:
            # Checked before anything is sent: a bearer must not see events from after the token was revoked.
            if not await self._is_token_valid():
                yield _encode_event("closing", b'{"reason":"unauthenticated"}')
                return
            for live in listener.take():
                said = time.monotonic()
                yield b"id: %s-%d\ndata: %s\n\n" % (self._epoch.encode(), live.number, live.line)
            if listener.is_dropped:
                yield _encode_event("dropped", b'{"reason":"too_slow"}')
                return
            if self._service.stopping.is_set():
                yield _encode_event("closing", b'{"reason":"service_stopping"}')
                return
            if time.monotonic() - said > COMMENT_S:
                said = time.monotonic()
                yield b":\n\n"
            await listener.wait(TOKEN_CHECK_S)
            if self._gone.done():
                return

    async def _is_token_valid(self) -> bool:
        try:
            present: Principal = await self._request.app.state.auth.principal(self._request)
        except HttpProblem as problem:
            return problem.status == 503  # noqa: PLR2004 - the store is unreachable; the token was valid a second ago
        return present == self._principal


def _encode_event(event: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (event.encode(), data)
