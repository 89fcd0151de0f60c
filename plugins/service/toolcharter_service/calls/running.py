"""`Calls`: the running calls of requests. A call is cancelled if its client disconnects, unless it has a key.

When the service stops, it cancels the calls that take too long.
"""

import asyncio
import os
from collections.abc import Awaitable, Coroutine, Mapping
from typing import Any, TypeVar

from starlette.requests import Request

from toolcharter import Caller, ToolResult, read_trace, within_trace
from toolcharter_service.approvals.record_approver import REQUESTER, Requester
from toolcharter_service.auth import Principal
from toolcharter_service.http.problems import HttpProblem
from toolcharter_service.service import Service

T = TypeVar("T")
WATCH_AFTER_S = 0.05
"""How long a call runs before its client's connection is watched, in seconds; at most twice as long."""


def new_call_id() -> str:
    """Return a unique id for a call."""
    return os.urandom(16).hex()


class Calls:
    """Makes calls, and tracks the running calls of this process."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._watched: set[_WatchedCall] = set()
        self._timer_loop: asyncio.AbstractEventLoop | None = None
        """The event loop with the running timer. One timer serves all calls, which is cheaper than one per call."""
        self._shielded: set[asyncio.Task[Any]] = set()
        service.add_part(self)
        service.on_stopping.append(self._begin_stop)
        service.on_stop.append(self.wait_for_shielded)

    async def make(
        self,
        principal: Principal,
        caller: Caller,
        tool: str,
        args: Mapping[str, Any],
        *,
        call_id: str,
        headers: Mapping[str, str],
        stored_call: str = "",
    ) -> ToolResult:
        """Make one call through the gate. A denial is a result, too.

        Args:
            principal: The sender of the request.
            caller: The caller of the tool.
            tool: As the client wrote it.
            args: As the client wrote them.
            call_id: The id in its events.
            headers: The request's headers, which may name a trace.
            stored_call: The id of the stored call whose turn this is; empty for any other call.
        """
        host = self._service.host(principal.tenant, caller.agent)
        token = REQUESTER.set(
            Requester(principal.name, principal.token_id, stored_call, principal.means, principal.person)
        )
        try:
            with within_trace(read_trace(headers)):
                return (await host.acall(tool, args, call_id=call_id, caller=caller)).result
        finally:
            REQUESTER.reset(token)

    async def cancel_on_disconnect(self, request: Request, work: Awaitable[T], call_id: str) -> T:
        """Await *work*. Cancel it if the client disconnects, or `stop_s` after the service begins to stop.

        Raises:
            HttpProblem: It was cancelled.
        """
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in one
        watched = _WatchedCall(task, request)
        self._watched.add(watched)
        loop = asyncio.get_running_loop()
        if self._timer_loop is not loop:
            self._start_timer(loop)
        try:
            return await work
        except asyncio.CancelledError:
            if watched.cancel_reason is None:
                raise
            task.uncancel()
            raise _cancelled_problem(watched.cancel_reason, call_id) from None
        finally:
            self._watched.discard(watched)
            watched.stop_watching()

    async def shield(self, work: Coroutine[Any, Any, T]) -> T:
        """Await *work*, which continues if the client disconnects.

        Raises:
            HttpProblem: The service stops and no longer waits for *work*.
        """
        task = asyncio.create_task(work)
        self._shielded.add(task)
        task.add_done_callback(self._shielded.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            waiting = asyncio.current_task()
            if waiting is None or not self._service.stopping.is_set():
                raise
            waiting.uncancel()
            text = "The service is stopping; repeat the request to get the result of the call."
            raise HttpProblem(503, text, "service_stopping", headers={"Retry-After": "1"}) from None

    async def wait_for_shielded(self) -> None:
        """Wait for calls that continue without a client, and cancel those that take longer than `stop_s`."""
        if self._shielded:
            _, late = await asyncio.wait(self._shielded, timeout=self._service.config.stop_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _start_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer_loop = loop
        loop.call_later(WATCH_AFTER_S, self._on_timer, loop)

    def _on_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        for watched in self._watched:
            watched.watch_if_old()
        if self._watched:
            self._start_timer(loop)
        else:
            self._timer_loop = None

    def _begin_stop(self) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(self._service.config.stop_s, self._cancel_all)

    def _cancel_all(self) -> None:
        for watched in list(self._watched):
            watched.cancel("service_stopping")


class _WatchedCall:
    """A running call whose client may disconnect."""

    def __init__(self, task: "asyncio.Task[Any]", request: Request) -> None:
        self.cancel_reason: str | None = None
        self._task = task
        self._request = request
        self._is_old = False
        self._watcher: asyncio.Task[None] | None = None

    def watch_if_old(self) -> None:
        """Begin to watch the client's connection, at the second call of this method."""
        if self._is_old and self._watcher is None:
            self._watcher = asyncio.create_task(self._wait_for_disconnect())
        self._is_old = True

    def stop_watching(self) -> None:
        if self._watcher is not None:
            self._watcher.cancel()

    def cancel(self, cancel_reason: str) -> None:
        self.cancel_reason = cancel_reason
        self._task.cancel()

    async def _wait_for_disconnect(self) -> None:
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self.cancel("client_left")


def _cancelled_problem(cancel_reason: str, call_id: str) -> HttpProblem:
    if cancel_reason == "client_left":
        return HttpProblem(499, "The client left, so the call was cancelled.", cancel_reason, call_id)  # never sent
    return HttpProblem(
        503, "The service is stopping, so the call was cancelled.", cancel_reason, call_id, {"Retry-After": "1"}
    )
