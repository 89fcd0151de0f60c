"""`WaitingCalls`: stored calls of this process that wait for an approver. None has begun: any process can run them."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from toolcharter import (
    ApprovalAnswer,
    ApprovalHandedOn,
    ApprovalRequest,
    AsyncStore,
    StoreConflict,
    StoreTransaction,
    StoreUnavailable,
)
from toolcharter_service.approvals.record_approver import CREDENTIAL_REVOKED, REQUESTER, end_question, question_id
from toolcharter_service.calls.records import ENDED, State, StoredCall
from toolcharter_service.service import Service

T = TypeVar("T")
RETRY_S = 1.0
"""The pause before an unreachable store is asked again, in seconds."""
AsyncApprover = Callable[[ApprovalRequest], Awaitable[ApprovalAnswer | None]]


class WaitingCalls:
    """Marks stored calls as waiting until they get an answer. A waiting call has not begun, and survives a restart."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waiting: dict[str, asyncio.Task[ApprovalAnswer | None]] = {}
        """For each stored call, the task that waits for the answer."""
        self._stopping: set[str] = set()
        """The stored calls that have to stop waiting."""
        self._closing = False

    def __len__(self) -> int:
        """Return how many calls wait."""
        return len(self._waiting)

    def stop_waiting(self, call_id: str) -> None:
        """Make a call stop waiting here, if it does."""
        task = self._waiting.get(call_id)
        if task is not None:
            self._stopping.add(call_id)
            task.cancel()

    def close(self) -> None:
        """Make all calls stop waiting here, since the process stops."""
        self._closing = True
        for call_id in tuple(self._waiting):
            self.stop_waiting(call_id)

    def approver(self, tenant: str, inner: AsyncApprover) -> AsyncApprover:
        """Wrap *inner*: a stored call that this process gives up raises `ApprovalHandedOn` instead of an answer."""

        async def ask(request: ApprovalRequest) -> ApprovalAnswer | None:
            requester = REQUESTER.get()
            if requester is None or requester.stored_call != request.call_id:
                return await inner(request)
            asked = self._waiting[request.call_id] = asyncio.create_task(self._ask_and_mark(tenant, request, inner))
            if self._closing:
                self.stop_waiting(request.call_id)
            try:
                return await asked
            except asyncio.CancelledError:
                if request.call_id in self._stopping:
                    raise ApprovalHandedOn from None
                raise
            finally:
                self._stopping.discard(request.call_id)
                del self._waiting[request.call_id]

        return ask

    async def _ask_and_mark(self, tenant: str, request: ApprovalRequest, inner: AsyncApprover) -> ApprovalAnswer | None:
        question = question_id(request.call_id, request)
        await _retry_while_unreachable(partial(self._store_state, tenant, request.call_id, "waiting", question))
        answer = await _retry_while_unreachable(partial(inner, request))
        # Marked before the body begins, since another process may run a call that is marked as waiting.
        record = await _retry_while_unreachable(
            partial(self._store_state, tenant, request.call_id, "running", question)
        )
        if record is not None and not await _retry_while_unreachable(partial(self.is_token_valid, tenant, record)):
            return ApprovalAnswer("deny", None, CREDENTIAL_REVOKED)
        return answer

    async def _store_state(self, tenant: str, call_id: str, state: State, question: str) -> StoredCall | None:
        """Store the state and question of a call that this worker runs. An earlier question of the call is cancelled.

        Returns:
            The call; None if it was deleted. Then no process runs it again.

        Raises:
            ApprovalHandedOn: This worker no longer runs it.
        """

        def store_state(transaction: StoreTransaction) -> StoredCall | None:
            found = transaction.get(StoredCall, call_id)
            if found is None:
                return None
            if found.record.worker != self._service.worker or found.record.state in ENDED:
                raise ApprovalHandedOn
            if found.record.question != question:
                end_question(transaction, key=found.record.question, status="cancelled")
            record = found.record.model_copy(update={"state": state, "question": question})
            transaction.put(record, expected=found.version)
            return record

        return await self._store(tenant).transact(store_state)

    async def is_token_valid(self, tenant: str, record: StoredCall) -> bool:
        """Whether the token that stored the call is still valid. True for a call that was stored without a token."""
        is_valid = self._service.is_token_valid
        return is_valid is None or not record.owner.startswith("token:") or await is_valid(tenant, record.token_id)

    def _store(self, tenant: str) -> AsyncStore:
        return self._service.store(tenant).asynchronous()


async def _retry_while_unreachable(ask: Callable[[], Awaitable[T]]) -> T:
    """Await *ask*, and retry while the store is unreachable, since the call has not begun."""
    while True:
        with suppress(StoreUnavailable, StoreConflict):
            return await ask()
        await asyncio.sleep(RETRY_S)
