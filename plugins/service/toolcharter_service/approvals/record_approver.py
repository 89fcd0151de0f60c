"""`RecordApprover`: stores a question as a record, and waits until an approver has answered it at any process."""

import asyncio
import hashlib
import json
import secrets
import time
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import NamedTuple

from toolcharter import (
    ApprovalAnswer,
    ApprovalHandedOn,
    ApprovalRequest,
    AsyncStore,
    StoreConflict,
    StoreTransaction,
    StoreUnavailable,
)
from toolcharter_service.approvals.records import ApprovalRecord, Status
from toolcharter_service.calls.workers import is_worker_alive
from toolcharter_service.service import Service, now

POLL_S = 1.0
"""The polling interval for an answer, in seconds. An answer at the same process wakes the waiting call at once."""
HEARTBEAT_TTL_S = 10.0
"""How long a process counts as alive after its last heartbeat, in seconds."""


class Requester(NamedTuple):
    """The principal that makes the current call."""

    name: str
    token_id: str
    stored_call: str = ""
    """The id of the stored call that runs; empty for any other call."""
    means: str = ""
    """The `means` of the principal: whether `token_id` names a token or a session."""
    person: str = ""
    """The person acting through its credentials."""


REQUESTER: ContextVar[Requester | None] = ContextVar("toolcharter_service_asking", default=None)
"""Set by the code that calls a tool for a request."""


CREDENTIAL_REVOKED = "The token that asked for this call was revoked, or has expired."
APPROVAL_HANDED_ON = "approval_handed_on"
"""The reason of a turn given up before the tool's body began: this process stops, or another process has the call."""


def question_id(stored_call: str, request: ApprovalRequest) -> str:
    """Return the record id of a stored call's question. All processes get the same id; each question has its own."""
    asked = "\0".join((request.digest, request.reason, request.message or ""))
    return f"{stored_call}-{hashlib.sha256(asked.encode()).hexdigest()[:24]}"


class RecordApprover:
    """Answers the questions of one tenant's toolboxes; an `Approver`."""

    def __init__(self, service: Service, worker: str, tenant: str) -> None:
        self._service = service
        self._tenant = tenant
        self._worker = worker

    async def __call__(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        """Store a record of *request*, and wait for its answer; None if no approver answers in time."""
        store = self._service.store(self._tenant).asynchronous()
        record = self._build_record(request)
        here = self._worker, self._tenant, record.id
        _WAITED_FOR_HERE.add(here)
        try:
            answer = await self._wait_for_answer(store, await self._store_question(store, record))
        finally:
            _WAITED_FOR_HERE.discard(here)
        return answer if await self._is_requester_valid() else ApprovalAnswer("deny", None, CREDENTIAL_REVOKED)

    async def _is_requester_valid(self) -> bool:
        """Whether the caller's credentials are still valid. A stored call checks its own.

        Raises:
            StoreUnavailable: That cannot be found out, so the call is denied.
        """
        requester, is_valid = REQUESTER.get(), self._service.is_credential_valid
        if requester is None or requester.stored_call or is_valid is None:
            return True
        return await is_valid(self._tenant, requester.means, requester.token_id)

    async def _wait_for_answer(self, store: AsyncStore, record: ApprovalRecord) -> ApprovalAnswer | None:
        try:
            while record.status == "pending":
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_S):
                        await _wait_for_wake(self._tenant, record.id)
                with suppress(StoreUnavailable):  # The database may come back before the deadline.
                    found = await store.get(ApprovalRecord, record.id)
                    if found is None or question_of(found.record) != question_of(record):
                        return None
                    record = found.record
                if record.stored_call and record.worker != self._worker:
                    raise ApprovalHandedOn
        except asyncio.CancelledError:
            is_late = time.time() >= record.expires - POLL_S / 2
            if is_late or not record.stored_call:  # A stored call is decided again at its next turn.
                gone: Status = "expired" if is_late else "cancelled"
                with suppress(StoreUnavailable, StoreConflict):
                    await asyncio.shield(store.transact(partial(end_question, key=record.id, status=gone)))
            raise
        if record.status == "expired" or record.status == "cancelled":  # noqa: PLR1714 - type checkers narrow no set
            return None
        return ApprovalAnswer(record.status, record.answered_by, record.note)

    def _build_record(self, request: ApprovalRequest) -> ApprovalRecord:
        requester = REQUESTER.get() or Requester(request.caller.user or request.caller.agent or "", "")
        # A nested call asks while the stored call's body runs: its question ends with the process.
        stored_call = requester.stored_call if requester.stored_call == request.call_id else ""
        return ApprovalRecord(
            id=question_id(stored_call, request) if stored_call else secrets.token_urlsafe(16),
            call_id=request.call_id,
            stored_call=stored_call,
            worker=self._worker,
            tool=request.tool,
            action=request.action,
            args=json.loads(json.dumps(dict(request.args), default=str)),
            commands=request.commands,
            profile=request.profile,
            workspace=str(request.workspace),
            agent=request.caller.agent or "",
            user=request.caller.user or "",
            requested_by=requester.name,
            person=requester.person,
            token_id=requester.token_id,
            digest=request.digest,
            reason=request.reason,
            message=request.message,
            always=request.always,
            why_not_always=request.why_not_always,
            asked_at=now(),
            expires=time.time() + request.timeout_s,
        )

    async def _store_question(self, store: AsyncStore, record: ApprovalRecord) -> ApprovalRecord:
        with suppress(StoreConflict):
            await store.put(record, expected=0)
            return record
        found = await store.get(ApprovalRecord, record.id)
        if (
            found is None
            or found.record.status in {"expired", "cancelled"}
            or _shows_other_question(found.record, record)
        ):
            await store.put(record, expected=None if found is None else found.version)
            return record
        # The question is from an earlier turn: it is still pending, or has been answered meanwhile.
        is_pending = found.record.status == "pending"
        update = {"worker": self._worker} | ({"expires": record.expires} if is_pending else {})
        taken = found.record.model_copy(update=update)
        await store.put(taken, expected=found.version)
        return taken


def question_of(record: ApprovalRecord) -> ApprovalRecord:
    """Return the part of *record* that the approver is shown. It changes only if another program edits the record."""
    same = {"worker": "", "status": "pending", "expires": 0.0, "answered_by": None, "answered_at": None, "note": None}
    return record.model_copy(update=same)


def _shows_other_question(found: ApprovalRecord, record: ApprovalRecord) -> bool:
    """Whether *found*, the question of an earlier turn of the call, shows an approver anything else than *record*."""
    same = {"asked_at": "", "requested_by": "", "person": "", "token_id": ""}
    return question_of(found).model_copy(update=same) != question_of(record).model_copy(update=same)


async def maintain_approvals(service: Service, worker: str) -> None:
    """Renew the heartbeat of *worker*, and end the questions of dead processes, until cancelled."""
    holders = service.store("").asynchronous()
    while True:
        with suppress(StoreUnavailable, StoreConflict):
            await holders.lease(f"worker/{worker}", holder=worker, ttl_s=HEARTBEAT_TTL_S)
            service.heartbeat.record_renewal()
            for tenant in service.config.tenants:
                await _end_abandoned(service, tenant, worker)
        await asyncio.sleep(HEARTBEAT_TTL_S / 4)


async def _end_abandoned(service: Service, tenant: str, worker: str) -> None:
    store, after, alive = service.store(tenant).asynchronous(), "", {worker: True}
    while True:
        page = await store.page(ApprovalRecord, where={"status": "pending"}, after=after)
        for stored in page.records:
            record = stored.record
            if record.stored_call:  # It ends with its call.
                continue
            if record.worker not in alive:
                alive[record.worker] = await is_worker_alive(service, record.worker)
            # A question of this process may be abandoned: its write failed here after the store had accepted it.
            is_asked = alive[record.worker] and (
                record.worker != worker or (worker, tenant, record.id) in _WAITED_FOR_HERE
            )
            if not is_asked or time.time() > record.expires + HEARTBEAT_TTL_S:
                status: Status = "expired" if is_asked else "cancelled"
                with suppress(StoreConflict):
                    await store.transact(partial(end_question, key=record.id, status=status))
        after = page.after
        if not after:
            return


def end_question(transaction: StoreTransaction, *, key: str, status: Status) -> None:
    """End the question *key* if it exists and is still pending."""
    why = (
        "No approver answered in time."
        if status == "expired"
        else "The call no longer waits: its client, its process or the call itself is gone."
    )
    found = transaction.get(ApprovalRecord, key) if key else None
    if found is not None and found.record.status == "pending":
        ended = found.record.model_copy(update={"status": status, "answered_at": now(), "note": why})
        transaction.put(ended, expected=found.version)


_WAITED_FOR_HERE: set[tuple[str, str, str]] = set()
"""The worker, tenant and record id of each question that a call in this process waits for."""
_wake_events: dict[tuple[str, str], asyncio.Event] = {}
"""For each tenant and record id, the event that wakes the call waiting in this process."""


async def _wait_for_wake(tenant: str, key: str) -> None:
    event = _wake_events.setdefault((tenant, key), asyncio.Event())
    try:
        await event.wait()
    finally:
        _wake_events.pop((tenant, key), None)


def wake(tenant: str, key: str) -> None:
    """Wake the call that waits for this answer, if it waits in this process."""
    event = _wake_events.get((tenant, key))
    if event is not None:
        event.set()
