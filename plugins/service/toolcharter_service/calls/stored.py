"""`StoredCalls`: calls that run without a waiting client. One worker takes each; the gate decides it at its turn."""

import asyncio
import time
from contextlib import AsyncExitStack, suppress
from typing import Any

import orjson

from toolcharter import (
    AsyncStore,
    BusUnavailable,
    Caller,
    StoreConflict,
    Stored,
    StoreTransaction,
    StoreUnavailable,
)
from toolcharter_service.approvals.record_approver import APPROVAL_HANDED_ON, CREDENTIAL_REVOKED, end_question
from toolcharter_service.auth import Principal
from toolcharter_service.calls.records import ENDED, State, StoredCall
from toolcharter_service.calls.running import Calls
from toolcharter_service.calls.waiting import AsyncApprover, WaitingCalls
from toolcharter_service.calls.workers import is_worker_alive
from toolcharter_service.http.encoding import encode_json
from toolcharter_service.http.problems import HttpProblem
from toolcharter_service.service import Service, UnknownAgent, now

RETENTION_S = 86_400
"""How long a stored call and its result are kept, in seconds."""
POLL_S = 1.0
"""The polling interval for new calls of other workers and for requests to cancel, in seconds. With a bus, messages
announce both at once."""
TOPIC = "stored-calls"
"""The bus topic for waiting calls that the sending worker has no room for, and for `CANCEL_MESSAGE`."""
CANCEL_MESSAGE = b"cancels"
MAX_RUNNING = 32
"""The most stored calls that one worker runs at once. Further calls wait for any worker."""
MAX_WAITING = 10_000
"""The most calls of a tenant that may wait for their turn."""
MAX_RESULT_BYTES = 900_000


class StoredCalls:
    """Stores calls, and runs those that this worker takes."""

    def __init__(self, service: Service) -> None:
        self._service = service
        service.add_part(self)
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._maybe_taken: set[tuple[str, str]] = set()
        """The calls whose taking failed here but may have succeeded in the store. They have not begun."""
        self._waiting = WaitingCalls(service)
        self._wake = asyncio.Event()
        self._maintain_at = 0.0
        service.run_in_background("stored calls", self._poll)
        service.on_stop.append(self._wait_for_running)

    async def submit(
        self,
        principal: Principal,
        caller: Caller,
        call_id: str,
        tool: str,
        args: dict[str, Any],
        traceparent: str | None,
    ) -> StoredCall:
        """Store a call. It runs soon.

        Raises:
            HttpProblem: 429, too many calls wait.
            StoreUnavailable: The call may or may not be stored. Another attempt with the same *call_id* stores it once.
        """
        store = self._store(principal.tenant)
        if await store.count(StoredCall, where={"state": "queued"}) >= MAX_WAITING:
            raise HttpProblem(
                429, "Too many calls wait for their turn.", "too_many_calls", headers={"Retry-After": "5"}
            )
        record = StoredCall(
            id=call_id,
            owner=principal.owner,
            name=principal.name,
            token_id=principal.token_id,
            person=principal.person,
            tool=tool,
            args=encode_json(args).decode(),
            agent=caller.agent,
            session=caller.session,
            user=caller.user,
            project=caller.project,
            traceparent=traceparent,
            created_at=now(),
            expires=int(time.time()) + RETENTION_S,
        )
        try:
            await store.put(record, expected=0)
        except StoreConflict:  # An earlier attempt stored it, but got no answer.
            found = await store.get(StoredCall, call_id)
            record = record if found is None else found.record
        self._wake.set()
        if self._free_slots() <= 0 or self._service.stopping.is_set():
            self._notify_workers(principal.tenant)
        return record

    def running(self, tenant: str) -> int:
        """Count the stored calls of *tenant* that this process runs, or that wait here for an approval."""
        return sum(owner == tenant for owner, _ in self._tasks)

    async def find(self, tenant: str, call_id: str) -> Stored[StoredCall] | None:
        """Return the stored call with this id; None if there is none."""
        return await self._store(tenant).get(StoredCall, call_id)

    async def cancel(self, tenant: str, call_id: str) -> StoredCall:
        """Cancel a call that has not ended: at once, or within a second if another worker runs it and there is no bus.

        Raises:
            HttpProblem: 404; 409 if the call has ended.
        """

        def change(transaction: StoreTransaction) -> StoredCall:
            found = transaction.get(StoredCall, call_id)
            if found is None:
                raise HttpProblem(404, "There is no such call.", "unknown_call")
            if found.record.state in ENDED:
                raise HttpProblem(409, "The call has ended.", "call_ended", call_id)
            record = found.record.model_copy(update={"cancels": True})
            if record.state == "queued":
                record = record.model_copy(update={"state": "cancelled", "finished_at": now()})
                end_question(transaction, key=record.question, status="cancelled")
            transaction.put(record, expected=found.version)
            return record

        try:
            record = await self._store(tenant).transact(change)
        except StoreConflict:
            raise HttpProblem(409, "The call changes too fast; try again.", "store_conflict", call_id) from None
        task = self._tasks.get((tenant, call_id))
        if task is not None:
            task.cancel()
        elif record.state not in ENDED:
            self._notify_workers(tenant, CANCEL_MESSAGE)
        return record

    def approver(self, tenant: str, inner: AsyncApprover) -> AsyncApprover:
        """Wrap *inner* for stored calls: a call that waits for an approver then survives a restart."""
        return self._waiting.approver(tenant, inner)

    def _store(self, tenant: str) -> AsyncStore:
        return self._service.store(tenant).asynchronous()

    def _free_slots(self) -> int:
        """Return how many more calls may run here."""
        return MAX_RUNNING - (len(self._tasks) - len(self._waiting))

    def _notify_workers(self, tenant: str, what: bytes = b"queued") -> None:
        """Publish a message that makes the other workers poll at once, if there is a bus."""
        if self._service.bus is not None:
            self._service.bus.publish(tenant, TOPIC, what)

    async def _poll(self) -> None:
        loop, bus = asyncio.get_running_loop(), self._service.bus

        def wake(what: bytes) -> None:
            self._maintain_at = 0.0 if what == CANCEL_MESSAGE else self._maintain_at
            self._wake.set()

        def on_message(_: str, what: bytes) -> None:
            loop.call_soon_threadsafe(wake, what)

        async with AsyncExitStack() as stack:
            if bus is not None:
                with suppress(BusUnavailable):
                    stack.callback((await asyncio.to_thread(bus.subscribe, TOPIC, on_message)).close)
            while not self._service.stopping.is_set():
                self._wake.clear()
                is_due = loop.time() >= self._maintain_at
                self._maintain_at = loop.time() + POLL_S if is_due else self._maintain_at
                for tenant in self._service.config.tenants:
                    with suppress(StoreUnavailable):
                        await self._take_queued(tenant)
                        if is_due:
                            await self._maintain(tenant)
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(self._maintain_at):
                        await self._wake.wait()

    async def _take_queued(self, tenant: str) -> None:
        """Take the calls that have waited longest, as many as fit. Wake the other workers if more calls may wait."""
        free = self._free_slots()
        if free <= 0:
            return
        after, where = "", {"state": "queued"}
        while True:
            page = await self._store(tenant).page(StoredCall, where=where, order="expires", after=after, limit=free)
            after = page.after
            if page.records or not after:  # Unreadable records do not hold up the others.
                break
        if len(page.records) == free:
            self._notify_workers(tenant)
        await asyncio.gather(*(self._take_one(tenant, stored) for stored in page.records))

    async def _take_one(self, tenant: str, stored: Stored[StoredCall]) -> None:
        taken = stored.record.model_copy(update={"state": "running", "worker": self._service.worker})
        try:
            await self._store(tenant).put(taken, expected=stored.version)
        except StoreConflict:  # Another worker has taken it.
            return
        except StoreUnavailable:
            self._maybe_taken.add((tenant, taken.id))
            return
        self._maybe_taken.discard((tenant, taken.id))
        self._tasks[tenant, taken.id] = asyncio.create_task(self._run(tenant, taken))

    async def _run(self, tenant: str, record: StoredCall) -> None:
        try:
            await self._run_once(tenant, record)
        finally:
            self._tasks.pop((tenant, record.id), None)
            self._wake.set()

    async def _run_once(self, tenant: str, record: StoredCall) -> None:
        state: State = "done"
        try:
            answer = await self._make_call(tenant, record)
            state = "queued" if answer is None else "done"
        except asyncio.CancelledError:
            state, answer = "cancelled", b""
        except Exception as error:  # noqa: BLE001 - it becomes the call's result
            answer = encode_json(_failure(record.id, error))
        answer = answer or b""
        if len(answer) > MAX_RESULT_BYTES:
            answer = encode_json(_failure(record.id, ValueError("the result is too large to be kept")))
        change: dict[str, Any] = {"state": state, "answer": answer.decode(), "finished_at": now()}
        if state == "queued":
            change = {"state": state, "worker": ""}
        for _ in range(int(RETENTION_S / POLL_S)):
            if await self._store_end(tenant, record.id, change):
                return
            await asyncio.sleep(POLL_S)

    async def _is_token_valid(self, tenant: str, record: StoredCall) -> bool:
        """Like `WaitingCalls.is_token_valid`, but waits for an unreachable store, since the call has not begun."""
        while True:
            with suppress(StoreUnavailable):
                return await self._waiting.is_token_valid(tenant, record)
            await asyncio.sleep(POLL_S)

    async def _make_call(self, tenant: str, record: StoredCall) -> bytes | None:
        """Make the call and return its result as JSON; None if it has not begun and has to wait for another turn."""
        if not await self._is_token_valid(tenant, record):
            self._service.emit(
                "service.admin",
                action="call_dropped",
                tenant=tenant,
                by=record.owner,
                target=record.id,
                tool=record.tool,
            )
            denied = {"outcome": "denied", "reason": "unauthenticated", "message": CREDENTIAL_REVOKED}
            return encode_json(
                _failure(record.id, LookupError(CREDENTIAL_REVOKED))
                | denied
                | {"text": f"DENIED: {CREDENTIAL_REVOKED}"}
            )
        principal = Principal(
            tenant, record.name, frozenset(), token_id=record.token_id, user=record.user, maker=record.person
        )
        caller = Caller(record.agent, session=record.session, user=record.user, project=record.project, tenant=tenant)
        headers = {} if record.traceparent is None else {"traceparent": record.traceparent}
        try:
            result = await self._service.part(Calls).make(
                principal,
                caller,
                record.tool,
                orjson.loads(record.args),
                call_id=record.id,
                headers=headers,
                stored_call=record.id,
            )
        except UnknownAgent:
            return encode_json(_failure(record.id, LookupError("the agent is no longer there")))
        return None if (result.outcome, result.reason) == ("denied", APPROVAL_HANDED_ON) else encode_json(result)

    async def _store_end(self, tenant: str, call_id: str, change: dict[str, Any]) -> bool:
        """Store the end of a turn. Return False if the store cannot be reached now."""

        def store_end(transaction: StoreTransaction) -> State | None:
            found = transaction.get(StoredCall, call_id)
            if found is None or found.record.worker != self._service.worker or found.record.state in ENDED:
                return None
            record = found.record.model_copy(update=change)
            if record.state == "queued" and record.cancels:
                record = record.model_copy(update={"state": "cancelled", "finished_at": now()})
            if record.state in ENDED:
                end_question(transaction, key=record.question, status="cancelled")
            transaction.put(record, expected=found.version)
            return record.state

        try:
            if await self._store(tenant).transact(store_end) == "queued":
                self._notify_workers(tenant)
        except (StoreUnavailable, StoreConflict):
            return False
        return True

    async def _maintain(self, tenant: str) -> None:
        """Cancel own calls on request, requeue or end the calls of dead workers, and delete expired calls."""
        store, alive = self._store(tenant), dict[str, bool]()
        for state in ("running", "waiting"):
            for stored in (await store.page(StoredCall, where={"state": state}, limit=1_000)).records:
                await self._maintain_one(tenant, stored, alive)
        page = await store.page(StoredCall, order="expires", limit=100)
        while not page.records and page.after:  # Unreadable records stay, and do not hold up the others.
            page = await store.page(StoredCall, order="expires", after=page.after, limit=100)
        for stored in page.records:
            if stored.record.expires > time.time():
                break
            with suppress(StoreConflict):
                await store.delete(StoredCall, stored.record.id, expected=stored.version)

    async def _maintain_one(self, tenant: str, stored: Stored[StoredCall], alive: dict[str, bool]) -> None:
        record = stored.record
        task = self._tasks.get((tenant, record.id))
        if task is not None:
            if record.cancels:
                task.cancel()
            elif record.worker != self._service.worker:
                self._waiting.stop_waiting(record.id)
            return
        if record.worker not in alive:
            other = record.worker != self._service.worker
            alive[record.worker] = other and await is_worker_alive(self._service, record.worker)
        if alive[record.worker]:
            return
        # A call that waited for an approver has not begun. Any other call may have had its effect.
        has_not_begun = record.state == "waiting" or (
            record.worker == self._service.worker and (tenant, record.id) in self._maybe_taken
        )
        change = {"state": "queued", "worker": ""} if has_not_begun else {"state": "lost", "finished_at": now()}
        given_up = record.model_copy(update=change)

        def give_up(transaction: StoreTransaction) -> None:
            transaction.put(given_up, expected=stored.version)
            if given_up.state in ENDED:
                end_question(transaction, key=record.question, status="cancelled")

        with suppress(StoreConflict):
            await self._store(tenant).transact(give_up)

    async def _wait_for_running(self) -> None:
        """Wait for running calls, and cancel those that take too long. Calls waiting for an approver are handed on."""
        self._waiting.close()
        if self._tasks:
            tasks = set(self._tasks.values())
            _, late = await asyncio.wait(tasks, timeout=self._service.config.stop_s)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=2 * POLL_S)


def _failure(call_id: str, error: Exception) -> dict[str, Any]:
    """Build the result of a call that could not be made."""
    message = str(error) if isinstance(error, LookupError | ValueError) else type(error).__name__
    return {
        "outcome": "error",
        "text": f"ERROR: the call could not be made: {message}",
        "user_text": None,
        "data": None,
        "reason": "unexpected_failure",
        "message": message,
        "hint": None,
        "retryable": False,
        "exit_code": None,
        "truncated": False,
        "redactions": 0,
        "call_id": call_id,
        "elapsed_ms": 0.0,
    }
