"""`Calls`: calls under way for requests. One ends with its client, unless a key keeps it, and with the service."""

import asyncio
import os
from collections.abc import Awaitable, Coroutine, Mapping
from typing import Any, TypeVar

from starlette.requests import Request

from toolcharter import Caller, ToolResult, read_trace, within_trace
from toolcharter_service.approvals.asking import ASKING, Asking
from toolcharter_service.auth import Principal
from toolcharter_service.http.problems import HttpProblem
from toolcharter_service.service import Service

T = TypeVar("T")
WATCH_AFTER_S = 0.05
"""How long a call runs before anybody looks whether its client is still there, in seconds; twice that, at most."""


def new_call_id() -> str:
    """An identifier that no other call has."""
    return os.urandom(16).hex()


class Calls:
    """Makes calls, and knows those under way in this process."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._live: set[_Attended] = set()
        self._looking: asyncio.AbstractEventLoop | None = None
        """The loop that has a timer, one for all calls: each would have to make one of its own, and to cancel it."""
        self._kept: set[asyncio.Task[Any]] = set()
        service.keep(self)
        service.on_stopping.append(self._begin_stop)
        service.on_stop.append(self.wait_for_kept)

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
        """One governed call; a denial is a result.

        Args:
            principal: Who asks for it.
            caller: Who calls.
            tool: As the client wrote it.
            args: As the client wrote them.
            call_id: What its events bear.
            headers: The request's, which may name a trace.
            stored_call: Of which stored call it is the turn.
        """
        host = self._service.host(principal.tenant, caller.agent)
        token = ASKING.set(Asking(principal.name, principal.token_id, stored_call, principal.means, principal.person))
        try:
            with within_trace(read_trace(headers)):
                return (await host.acall(tool, args, call_id=call_id, caller=caller)).result
        finally:
            ASKING.reset(token)

    async def attended(self, request: Request, work: Awaitable[T], call_id: str) -> T:
        """What *work* gives, which is cancelled if the client leaves, or some time after the service begins to stop.

        Raises:
            HttpProblem: It was cancelled.
        """
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in one
        attended = _Attended(task, request)
        self._live.add(attended)
        loop = asyncio.get_running_loop()
        if self._looking is not loop:
            self._look_later(loop)
        try:
            return await work
        except asyncio.CancelledError:
            if attended.why is None:
                raise
            task.uncancel()
            raise _ended(attended.why, call_id) from None
        finally:
            self._live.discard(attended)
            attended.leave()

    async def kept(self, work: Coroutine[Any, Any, T]) -> T:
        """What *work* gives, which goes on if the client leaves.

        Raises:
            HttpProblem: The service stops, and waits no longer.
        """
        task = asyncio.create_task(work)
        self._kept.add(task)
        task.add_done_callback(self._kept.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            waiting = asyncio.current_task()
            if waiting is None or not self._service.stopping.is_set():
                raise
            waiting.uncancel()
            text = "The service stops; ask again for what came of the call."
            raise HttpProblem(503, text, "service_stopping", headers={"Retry-After": "1"}) from None

    async def wait_for_kept(self) -> None:
        """Wait for calls that go on without a client, and cancel what takes too long."""
        if self._kept:
            _, late = await asyncio.wait(self._kept, timeout=self._service.config.stop_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        self._looking = loop
        loop.call_later(WATCH_AFTER_S, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        for attended in self._live:
            attended.look()
        if self._live:
            self._look_later(loop)
        else:
            self._looking = None

    def _begin_stop(self) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(self._service.config.stop_s, self._end_all)

    def _end_all(self) -> None:
        for attended in list(self._live):
            attended.end("service_stopping")


class _Attended:
    """One call whose client may leave."""

    def __init__(self, task: "asyncio.Task[Any]", request: Request) -> None:
        self.why: str | None = None
        self._task = task
        self._request = request
        self._is_old = False
        self._watcher: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Watch over the client, from the second look on."""
        if self._is_old and self._watcher is None:
            self._watcher = asyncio.create_task(self._see_it_leave())
        self._is_old = True

    def leave(self) -> None:
        if self._watcher is not None:
            self._watcher.cancel()

    def end(self, why: str) -> None:
        self.why = why
        self._task.cancel()

    async def _see_it_leave(self) -> None:
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self.end("client_left")


def _ended(why: str, call_id: str) -> HttpProblem:
    if why == "client_left":
        return HttpProblem(499, "The client left, so the call was cancelled.", why, call_id)  # nobody reads it
    return HttpProblem(503, "The service stops, so the call was cancelled.", why, call_id, {"Retry-After": "1"})
