"""`Idempotency-Key`: a call with a key runs at most once, on all workers together; its answer stays for a day.

A record is made before the body runs, and only one process can make it. If that process dies, nobody knows whether the
body has run: the key is answered with an error that says so, and the call is never made again.

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
from toolcharter_service.calls.workers import is_alive
from toolcharter_service.http.problems import HttpProblem, problem_of
from toolcharter_service.service import Service

KEPT_S = 86_400
"""How long an answer stays, in seconds."""
MAX_ANSWER_BYTES = 900_000
"""Of a larger answer only what came of the call stays."""
SAVE_AGAIN_S = 1.0
"""How long it takes until an answer that the store did not take is offered again, in seconds."""
LOOKS = 30
"""How often a key that the store may have taken is looked for."""
SWEEP_S = 600.0
"""How often records that have expired are deleted, in seconds."""


class Answer(NamedTuple):
    """What a request is answered with."""

    status: int
    body: bytes
    replayed: bool = False
    location: str = ""
    """Of what it made."""


def fingerprint_of(*parts: object) -> str:
    """What two requests with one key have to have in common."""
    try:
        text = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS, default=str)
    except TypeError:  # an integer of more than 64 bits, or half a pair of surrogates
        text = json.dumps(parts, sort_keys=True, default=str).encode()
    return hashlib.sha256(text).hexdigest()


@dataclass
class _Unused:
    """A key that may have been taken for a call that was not made."""

    tenant: str
    owner: str
    key: str
    looks: int = 0
    """How often the store has said whether it has the key."""


class KeyedCalls:
    """The keys of one process."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._running: set[tuple[str, str, str]] = set()
        self._unused: dict[str, _Unused] = {}
        """By call, keys that the store may have taken without this process having heard so: nothing has run for them."""
        service.keep(self)
        service.run_in_background("expired keys", self._sweep)
        service.run_in_background("unused keys", self._release)

    async def answer(
        self,
        principal: Principal,
        key: str,
        fingerprint: str,
        call_id: str,
        make: Callable[[str], Awaitable[Answer]],
        *,
        repeatable: bool = False,
    ) -> Answer:
        """The answer to a request with a key: that of *make*, which runs at most once for it.

        Args:
            principal: Whose key it is.
            key: As the client wrote it.
            fingerprint: Of the request.
            call_id: Of the call that *make* would make.
            make: Makes the call with the identifier that it is given.
            repeatable: Whether the same identifier again has no further effect: then *make* goes on where its process has
                died, or has not heard what came of it.

        Raises:
            HttpProblem: 409 `call_in_progress` or `outcome_unknown`; 422 `idempotency_key_reused`.
            StoreUnavailable: It cannot be known whether the key was used; nothing has run, and the key can be used again.
        """
        store, owner = self._service.store(principal.tenant).asynchronous(), principal.owner
        mine = KeyedCall(
            owner=owner,
            key=key,
            fingerprint=fingerprint,
            worker=self._service.worker,
            call_id=call_id,
            expires=int(time.time()) + KEPT_S,
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
                        return await self._known(found.record, fingerprint)
                    mine = mine.model_copy(update={"call_id": found.record.call_id})
            try:
                version = await store.put(mine, expected=expected)
            except StoreUnavailable:
                if not repeatable:
                    self._unused[mine.call_id] = _Unused(principal.tenant, owner, key)
                raise
            except StoreConflict:  # Another worker was faster.
                found = await store.get(KeyedCall, owner, key)
                if found is None:
                    raise _in_progress(call_id) from None
                return await self._known(found.record, fingerprint)
            answer = await _made(make, mine.call_id, repeatable=repeatable)
            await self._save(principal.tenant, mine, answer, version)
            return answer
        finally:
            self._running.discard(running)

    async def _known(self, record: KeyedCall, fingerprint: str) -> Answer:
        if record.fingerprint != fingerprint:
            raise HttpProblem(422, "idempotency-key: it was used for another request.", "idempotency_key_reused")
        if record.status:
            return Answer(record.status, record.answer.encode(), replayed=True)
        is_mine = record.worker == self._service.worker
        if record.call_id in self._unused or (not is_mine and await is_alive(self._service, record.worker)):
            raise _in_progress(record.call_id)
        text = "The process that ran the call is gone; nobody knows whether it has had its effect."
        raise HttpProblem(409, text, "outcome_unknown", record.call_id)

    async def _save(self, tenant: str, record: KeyedCall, answer: Answer, version: int) -> None:
        """Keep *answer* as long as it takes: until then the key says that the call is under way."""
        body = answer.body
        if len(body) > MAX_ANSWER_BYTES:
            text = "The call has run; its answer was too large to be kept."
            body = orjson.dumps({"error": text, "reason": "answer_too_large", "call_id": record.call_id})
            answer = Answer(409, body)
        done = record.model_copy(update={"status": answer.status, "answer": body.decode()})
        store = self._service.store(tenant).asynchronous()
        for _ in range(int(KEPT_S / SAVE_AGAIN_S)):
            with suppress(StoreUnavailable):
                with suppress(StoreConflict):
                    await store.put(done, expected=version)
                return
            await asyncio.sleep(SAVE_AGAIN_S)

    async def _release(self) -> None:
        """Have keys used again that were taken for nothing."""
        while True:
            for call_id, unused in list(self._unused.items()):
                store = self._service.store(unused.tenant).asynchronous()
                with suppress(StoreUnavailable, StoreConflict):
                    found = await store.get(KeyedCall, unused.owner, unused.key)
                    is_it = found is not None and found.record.call_id == call_id and not found.record.status
                    if found is not None and is_it:
                        await store.delete(KeyedCall, unused.owner, unused.key, expected=found.version)
                    unused.looks += 1
                    # A database that stood still may take it later.
                    if is_it or unused.looks >= LOOKS:
                        del self._unused[call_id]
            await asyncio.sleep(SAVE_AGAIN_S)

    async def _sweep(self) -> None:
        while True:
            for tenant in self._service.config.tenants:
                with suppress(StoreUnavailable):
                    await delete_expired(self._service, tenant)
            await asyncio.sleep(SWEEP_S)


async def delete_expired(service: Service, tenant: str) -> None:
    """Delete the keys of *tenant* whose day is over."""
    store, after = service.store(tenant).asynchronous(), ""
    while True:
        page = await store.page(KeyedCall, order="expires", after=after, limit=100)
        old = [stored for stored in page.records if stored.record.expires <= time.time()]
        for stored in old:
            with suppress(StoreConflict):
                await store.delete(KeyedCall, stored.record.owner, stored.record.key, expected=stored.version)
        after = page.after  # What cannot be read stays, and keeps no other.
        if len(old) < len(page.records) or not after:
            return


async def _made(make: Callable[[str], Awaitable[Answer]], call_id: str, *, repeatable: bool) -> Answer:
    """The answer of *make*; what it raises is one, too, and is answered again.

    Raises:
        StoreUnavailable: It is to be made again.
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
    text = "A call with this key is under way."
    return HttpProblem(409, text, "call_in_progress", call_id, {"Retry-After": "1"})
