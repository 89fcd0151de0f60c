"""`Idempotency-Key`: a call with a key runs at most once, on all workers together; its response is kept for a day.

A record is created before the body runs, and only one process can create it. If that process dies, the service cannot
know whether the body has run: requests with the key then get an error that says so, and the call is never retried.

Source: IETF draft "The Idempotency-Key HTTP Header Field", draft-ietf-httpapi-idempotency-key-header.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from toolcharter import StoreConflict, StoreUnavailable
from toolcharter_service.auth import Principal
from toolcharter_service.calls.records import KeyedCall
from toolcharter_service.calls.workers import is_worker_alive
from toolcharter_service.http.problems import HttpProblem, problem_of
from toolcharter_service.service import Service

RETENTION_S = 86_400
"""How long a response is kept, in seconds."""
MAX_ANSWER_BYTES = 900_000
"""The largest response that is kept. In place of a larger one, an error says that the call has run."""
SAVE_RETRY_S = 1.0
"""The pause before saving a response is retried, in seconds."""
MAX_CHECKS = 30
"""How many times the store is asked for a key whose write may have succeeded."""
PURGE_PAUSE_S = 600.0
"""The time between two deletions of expired records, in seconds."""


class Answer(NamedTuple):
    """The response to a request."""

    status: int
    body: bytes
    replayed: bool = False
    location: str = ""
    """The URL of the resource that the request created."""


def fingerprint_of(*parts: object) -> str:
    """Hash the parts that two requests with the same key must have in common."""
    try:
        text = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS, default=str)
    except TypeError:  # an integer of more than 64 bits, or half a pair of surrogates
        text = json.dumps(parts, sort_keys=True, default=str).encode()
    return hashlib.sha256(text).hexdigest()


@dataclass
class _UnusedKey:
    """A key that may be stored although its call was not made."""

    tenant: str
    owner: str
    key: str
    checks: int = 0
    """How many times the store has been asked for the key."""


class KeyedCalls:
    """The keys of one process."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._running: set[tuple[str, str, str]] = set()
        self._unused: dict[str, _UnusedKey] = {}
        """By call id, the keys whose write failed here but may have reached the store. Nothing has run for them."""
        service.add_part(self)
        service.run_in_background("expired keys", self._purge_expired)
        service.run_in_background("unused keys", self._delete_unused)

    async def answer_once(
        self,
        principal: Principal,
        key: str,
        fingerprint: str,
        call_id: str,
        make: Callable[[str], Awaitable[Answer]],
        *,
        repeatable: bool = False,
    ) -> Answer:
        """Return the response to a request with a key: that of *make*, which runs at most once for it.

        Args:
            principal: The owner of the key.
            key: As the client wrote it.
            fingerprint: Of the request.
            call_id: Of the call that *make* would make.
            make: Makes the call with the id that it is given.
            repeatable: Whether *make* has no further effect if it runs again with the same id. It then runs again if
                its process has died, or could not find out the result.

        Raises:
            HttpProblem: 409 `call_in_progress` or `outcome_unknown`; 422 `idempotency_key_reused`.
            StoreUnavailable: The store cannot say whether the key was used. Nothing has run; the key can be used again.
        """
        store, owner = self._service.store(principal.tenant).asynchronous(), principal.owner
        mine = KeyedCall(
            owner=owner,
            key=key,
            fingerprint=fingerprint,
            worker=self._service.worker,
            call_id=call_id,
            expires=int(time.time()) + RETENTION_S,
        )
        running = principal.tenant, owner, key
        if running in self._running:
            raise _in_progress(call_id)
        self._running.add(running)
        try:
            expected = 0
            found = await store.get(KeyedCall, owner, key)
            if found is not None:
                expected = found.version
                if found.record.expires > time.time():
                    if not repeatable or found.record.status or found.record.fingerprint != fingerprint:
                        return await self._replay(found.record, fingerprint)
                    mine = mine.model_copy(update={"call_id": found.record.call_id})
            try:
                version = await store.put(mine, expected=expected)
            except StoreUnavailable:
                if not repeatable:
                    self._unused[mine.call_id] = _UnusedKey(principal.tenant, owner, key)
                raise
            except StoreConflict:  # Another worker was faster.
                found = await store.get(KeyedCall, owner, key)
                if found is None:
                    raise _in_progress(call_id) from None
                return await self._replay(found.record, fingerprint)
            answer = await _make_answer(make, mine.call_id, repeatable=repeatable)
            await self._save(principal.tenant, mine, answer, version)
            return answer
        finally:
            self._running.discard(running)

    async def _replay(self, record: KeyedCall, fingerprint: str) -> Answer:
        if record.fingerprint != fingerprint:
            raise HttpProblem(422, "idempotency-key: it was used for another request.", "idempotency_key_reused")
        if record.status:
            return Answer(record.status, record.answer.encode(), replayed=True)
        is_mine = record.worker == self._service.worker
        if record.call_id in self._unused or (not is_mine and await is_worker_alive(self._service, record.worker)):
            raise _in_progress(record.call_id)
        text = "The process that ran the call is gone; the call may or may not have had its effect."
        raise HttpProblem(409, text, "outcome_unknown", record.call_id)

    async def _save(self, tenant: str, record: KeyedCall, answer: Answer, version: int) -> None:
        """Store *answer*, retrying as long as necessary. Until then the key's call counts as running."""
        body = answer.body
        if len(body) > MAX_ANSWER_BYTES:
            text = "The call has run; its answer was too large to be kept."
            body = orjson.dumps({"error": text, "reason": "answer_too_large", "call_id": record.call_id})
            answer = Answer(409, body)
        done = record.model_copy(update={"status": answer.status, "answer": body.decode()})
        store = self._service.store(tenant).asynchronous()
        for _ in range(int(RETENTION_S / SAVE_RETRY_S)):
            with suppress(StoreUnavailable):
                with suppress(StoreConflict):
                    await store.put(done, expected=version)
                return
            await asyncio.sleep(SAVE_RETRY_S)

    async def _delete_unused(self) -> None:
        """Delete keys that were stored for calls that were not made, so that clients can use them again."""
        while True:
            for call_id, unused in list(self._unused.items()):
                store = self._service.store(unused.tenant).asynchronous()
                with suppress(StoreUnavailable, StoreConflict):
                    found = await store.get(KeyedCall, unused.owner, unused.key)
                    is_it = found is not None and found.record.call_id == call_id and not found.record.status
                    if found is not None and is_it:
                        await store.delete(KeyedCall, unused.owner, unused.key, expected=found.version)
                    unused.checks += 1
                    # Asked several times: a database that hung may still write the key.
                    if is_it or unused.checks >= MAX_CHECKS:
                        del self._unused[call_id]
            await asyncio.sleep(SAVE_RETRY_S)

    async def _purge_expired(self) -> None:
        while True:
            for tenant in self._service.config.tenants:
                with suppress(StoreUnavailable):
                    await delete_expired(self._service, tenant)
            await asyncio.sleep(PURGE_PAUSE_S)


async def delete_expired(service: Service, tenant: str) -> None:
    """Delete the expired keys of *tenant*."""
    store, after = service.store(tenant).asynchronous(), ""
    while True:
        page = await store.page(KeyedCall, order="expires", after=after, limit=100)
        old = [stored for stored in page.records if stored.record.expires <= time.time()]
        for stored in old:
            with suppress(StoreConflict):
                await store.delete(KeyedCall, stored.record.owner, stored.record.key, expected=stored.version)
        after = page.after  # Unreadable records stay, and do not hold up the others.
        if len(old) < len(page.records) or not after:
            return


async def _make_answer(make: Callable[[str], Awaitable[Answer]], call_id: str, *, repeatable: bool) -> Answer:
    """Run *make* and return its response. An exception becomes a response that is kept and repeated, too.

    Raises:
        StoreUnavailable: A repeatable *make* failed, and has to run again.
    """
    try:
        return await make(call_id)
    except Exception as error:
        if repeatable and isinstance(error, StoreUnavailable):
            raise
        problem = problem_of(error)
        body = {"error": problem.error, "reason": problem.reason, "call_id": problem.call_id or call_id}
        return Answer(problem.status, orjson.dumps(body))


def _in_progress(call_id: str) -> HttpProblem:
    text = "A call with this key is running."
    return HttpProblem(409, text, "call_in_progress", call_id, {"Retry-After": "1"})
