"""`RecordApprover`: asks by a record, and waits until somebody has answered it, in whichever process."""

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
from toolcharter_service.calls.workers import is_alive
from toolcharter_service.service import Service, now

LOOK_S = 1.0
"""How often a question looks for its answer, in seconds; an answer in the same process wakes it at once."""
ALIVE_S = 10.0
"""How long a process counts as alive after it last said so, in seconds."""


class Asking(NamedTuple):
    """Who makes the present call."""

    name: str
    token_id: str
    stored_call: str = ""
    """The stored call that runs, if one does."""
    means: str = ""
    """Whether `token_id` names a token or a session."""
    person: str = ""
    """Who acts by its credentials."""


ASKING: ContextVar[Asking | None] = ContextVar("toolcharter_service_asking", default=None)
"""Set by whoever calls a tool for a request."""


NO_LONGER = "The token that asked for this call was revoked, or has expired."
HANDED_ON = "approval_handed_on"
"""The reason of a turn that was given up, since this process stops or another one has it: its body has not begun."""


def question_id(stored_call: str, request: ApprovalRequest) -> str:
    """The record of a stored call's question: the same in whichever process asks it, and another one for each question."""
    asked = "\0".join((request.digest, request.reason, request.message or ""))
    return f"{stored_call}-{hashlib.sha256(asked.encode()).hexdigest()[:24]}"


class RecordApprover:
    """Answers the questions of one tenant's toolboxes; an `Approver`."""

    def __init__(self, service: Service, worker: str, tenant: str) -> None:
        self._service = service
        self._tenant = tenant
        self._worker = worker

    async def __call__(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        """Keep a record of *request*, and wait for its answer; none if nobody answers in time."""
        store = self._service.store(self._tenant).asynchronous()
        record = self._record(request)
        here = self._worker, self._tenant, record.id
        _ASKED_HERE.add(here)
        try:
            answer = await self._answer(store, await self._asked(store, record))
        finally:
            _ASKED_HERE.discard(here)
        return answer if await self._still_holds() else ApprovalAnswer("deny", None, NO_LONGER)

    async def _still_holds(self) -> bool:
        """Whether who asked may still call; a stored call asks by itself.

        Raises:
            StoreUnavailable: Nobody knows, so the call is denied.
        """
        asking, holds = ASKING.get(), self._service.credential_holds
        if asking is None or asking.stored_call or holds is None:
            return True
        return await holds(self._tenant, asking.means, asking.token_id)

    async def _answer(self, store: AsyncStore, record: ApprovalRecord) -> ApprovalAnswer | None:
        try:
            while record.status == "pending":
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await _woken(self._tenant, record.id)
                with suppress(StoreUnavailable):  # The database may come back before the time is up.
                    found = await store.get(ApprovalRecord, record.id)
                    if found is None or question_of(found.record) != question_of(record):
                        return None
                    record = found.record
                if record.stored_call and record.worker != self._worker:
                    raise ApprovalHandedOn
        except asyncio.CancelledError:
            is_late = time.time() >= record.expires - LOOK_S / 2
            if is_late or not record.stored_call:  # A stored call is decided anew at its next turn.
                gone: Status = "expired" if is_late else "cancelled"
                with suppress(StoreUnavailable, StoreConflict):
                    await asyncio.shield(store.transact(partial(end_question, key=record.id, status=gone)))
            raise
        if record.status == "expired" or record.status == "cancelled":  # noqa: PLR1714 - type checkers narrow no set
            return None
        return ApprovalAnswer(record.status, record.answered_by, record.note)

    def _record(self, request: ApprovalRequest) -> ApprovalRecord:
        asking = ASKING.get() or Asking(request.caller.user or request.caller.agent or "", "")
        # A call within the stored one asks while that one's body runs: its question ends with the process.
        stored_call = asking.stored_call if asking.stored_call == request.call_id else ""
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
            requested_by=asking.name,
            person=asking.person,
            token_id=asking.token_id,
            digest=request.digest,
            reason=request.reason,
            message=request.message,
            always=request.always,
            why_not_always=request.why_not_always,
            asked_at=now(),
            expires=time.time() + request.timeout_s,
        )

    async def _asked(self, store: AsyncStore, record: ApprovalRecord) -> ApprovalRecord:
        with suppress(StoreConflict):
            await store.put(record, expected=0)
            return record
        found = await store.get(ApprovalRecord, record.id)
        if found is None or found.record.status in {"expired", "cancelled"} or _asks_else(found.record, record):
            await store.put(record, expected=None if found is None else found.version)
            return record
        # It has gone on waiting while nobody was there to wait for it, or has been answered.
        is_pending = found.record.status == "pending"
        update = {"worker": self._worker} | ({"expires": record.expires} if is_pending else {})
        taken = found.record.model_copy(update=update)
        await store.put(taken, expected=found.version)
        return taken


def question_of(record: ApprovalRecord) -> ApprovalRecord:
    """What an approver was shown: it does not change, unless another program has changed it."""
    same = {"worker": "", "status": "pending", "expires": 0.0, "answered_by": None, "answered_at": None, "note": None}
    return record.model_copy(update=same)


def _asks_else(found: ApprovalRecord, record: ApprovalRecord) -> bool:
    """Whether *found*, which an earlier turn of the same call has asked, shows something else than *record*."""
    same = {"asked_at": "", "requested_by": "", "person": "", "token_id": ""}
    return question_of(found).model_copy(update=same) != question_of(record).model_copy(update=same)


async def keep_approvals(service: Service, worker: str) -> None:
    """Say that *worker* is alive, and end the questions of processes that are not, until cancelled."""
    holders = service.store("").asynchronous()
    while True:
        with suppress(StoreUnavailable, StoreConflict):
            await holders.lease(f"worker/{worker}", holder=worker, ttl_s=ALIVE_S)
            service.steadiness.told()
            for tenant in service.config.tenants:
                await _sweep(service, tenant, worker)
        await asyncio.sleep(ALIVE_S / 4)


async def _sweep(service: Service, tenant: str, worker: str) -> None:
    store, after, alive = service.store(tenant).asynchronous(), "", {worker: True}
    while True:
        page = await store.page(ApprovalRecord, where={"status": "pending"}, after=after)
        for stored in page.records:
            record = stored.record
            if record.stored_call:  # It ends with its call.
                continue
            if record.worker not in alive:
                alive[record.worker] = await is_alive(service, record.worker)
            # This process may have asked without having heard so, and gone on as if nobody could be asked.
            is_asked = alive[record.worker] and (record.worker != worker or (worker, tenant, record.id) in _ASKED_HERE)
            if not is_asked or time.time() > record.expires + ALIVE_S:
                status: Status = "expired" if is_asked else "cancelled"
                with suppress(StoreConflict):
                    await store.transact(partial(end_question, key=record.id, status=status))
        after = page.after
        if not after:
            return


def end_question(transaction: StoreTransaction, *, key: str, status: Status) -> None:
    """End the question *key*, if there is one and nobody has answered it."""
    why = (
        "Nobody answered in time."
        if status == "expired"
        else "Who asked is gone: the connection, the process or the call."
    )
    found = transaction.get(ApprovalRecord, key) if key else None
    if found is not None and found.record.status == "pending":
        ended = found.record.model_copy(update={"status": status, "answered_at": now(), "note": why})
        transaction.put(ended, expected=found.version)


_ASKED_HERE: set[tuple[str, str, str]] = set()
"""By process, tenant and record, the questions that wait in this process."""
_waiting: dict[tuple[str, str], asyncio.Event] = {}
"""By tenant and question, what wakes who waits in this process."""


async def _woken(tenant: str, key: str) -> None:
    event = _waiting.setdefault((tenant, key), asyncio.Event())
    try:
        await event.wait()
    finally:
        _waiting.pop((tenant, key), None)


def wake(tenant: str, key: str) -> None:
    """Have who waits for the answer look now, if that one is in this process."""
    event = _waiting.get((tenant, key))
    if event is not None:
        event.set()
