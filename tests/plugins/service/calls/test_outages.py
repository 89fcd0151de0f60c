"""Keys and stored calls over a store that takes what it is given, and is gone before it says so."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import httpx
import pytest
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.service.header_identity import HeaderAuthenticator, identity_headers
from tests.plugins.service.serving import configured, serving
from typing_extensions import override

from toolcharter import EngineTransaction, Scope, StoreUnavailable
from toolcharter.guards.store.handle import StoreHandle
from toolcharter_service.calls import stored as stored_module
from toolcharter_service.calls.records import KeyedCall, StoredCall
from toolcharter_service.calls.running import Calls
from toolcharter_service.calls.workers import is_worker_alive
from toolcharter_service.heartbeat import OwnHeartbeat
from toolcharter_service.http.app import create_app
from toolcharter_service.http.problems import HttpProblem
from toolcharter_service.service import Service

pytestmark = pytest.mark.slow
T = TypeVar("T")
ANN = identity_headers("ann", "caller,viewer")
SOON_S = 60.0


class Forgetful(MemoryEngine):
    """Does what it is asked, and for the kind `forgets` says once that it is away."""

    forgets = ""

    @override
    def transact(self, scope: Scope, work: Callable[[EngineTransaction], T], /, *, timeout_s: float) -> T:
        before = self._of_kind()
        result = super().transact(scope, work, timeout_s=timeout_s)
        if self.forgets and self._of_kind() != before:
            self.forgets = ""
            raise StoreUnavailable("It took longer than the time that was left.")
        return result

    def _of_kind(self) -> list[Any]:
        return [found[1] for (_, kind, _), found in self.content.rows.items() if kind == self.forgets]


class Place:
    """A service over such a store."""

    def __init__(self, folder: Path) -> None:
        self.engine = Forgetful()
        self.stores = StoreHandle(lambda: self.engine)
        self.service = Service(configured(folder), stores=self.stores)
        self.store = self.stores.bound("acme", "toolcharter-service")
        self.url = ""

    def call(self, command: str, **headers: str) -> httpx.Response:
        """Call `bash`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        body = {"tool": "bash", "args": {"command": command}}
        return httpx.post(f"{self.url}/v1/calls", json=body, headers={**ANN, **named}, timeout=60)

    def until_called(self, command: str, status: int, **headers: str) -> httpx.Response:
        """Call until it is answered with *status*, as a client does that is told to come back."""
        end = time.monotonic() + SOON_S
        while (answer := self.call(command, **headers)).status_code != status:
            assert (answer.json()["reason"], time.monotonic() < end) == ("call_in_progress", True)
            time.sleep(0.1)
        return answer

    def ended(self, call_id: str) -> StoredCall:
        """A stored call, as soon as it has ended."""
        end = time.monotonic() + SOON_S
        while True:
            found = self.store.get(StoredCall, call_id)
            if found is not None and found.record.state in {"done", "lost", "cancelled"}:
                return found.record
            assert time.monotonic() < end, "it did not end"
            time.sleep(0.05)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """One that is served."""
    made = Place(tmp_path)
    with serving(create_app(made.service, auth=HeaderAuthenticator())) as made.url:
        yield made


def test_a_key_that_was_taken_for_nothing_can_be_used_again(place: Place) -> None:
    """The store kept it and did not say so: nothing has run, and its client is not told for a day that nobody knows."""
    place.engine.forgets = "keyed_call"

    first = place.call("echo once", Idempotency_Key="k")
    again = place.until_called("echo once", 200, Idempotency_Key="k")

    assert (first.status_code, first.json()["reason"]) == (503, "store_unavailable")
    assert (again.json()["outcome"], again.json()["text"]) == ("ok", "once\n")


@pytest.mark.parametrize("kind", ["keyed_call", "stored_call"])
def test_a_key_stores_one_call_though_the_store_did_not_say_so(place: Place, kind: str) -> None:
    """The same key goes on where the first attempt was left, and nothing is stored twice."""
    place.engine.forgets = kind

    first = place.call("echo once", Idempotency_Key="k", Prefer="respond-async")
    again = place.until_called("echo once", 202, Idempotency_Key="k", Prefer="respond-async")
    later = place.call("echo once", Idempotency_Key="k", Prefer="respond-async")

    assert first.status_code == 503
    assert (later.status_code, later.json()["id"]) == (202, again.json()["id"])
    assert again.headers["location"] == f"/v1/calls/{again.json()['id']}"
    assert place.ended(again.json()["id"]).state == "done"
    assert len(place.store.page(StoredCall).records) == 1


def test_a_key_whose_process_died_before_it_stored_the_call_stores_it(place: Place) -> None:
    """What was to be stored has no other effect: there is no need to say that nobody knows."""
    first = place.call("echo once", Idempotency_Key="k", Prefer="respond-async")
    place.ended(first.json()["id"])
    found = place.store.get(KeyedCall, "token:ann#id-ann", "k")
    assert found is not None
    place.store.delete(StoredCall, first.json()["id"])
    place.store.put(found.record.model_copy(update={"status": 0, "answer": "", "worker": "gone"}))

    again = place.call("echo once", Idempotency_Key="k", Prefer="respond-async")

    assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])
    assert place.ended(first.json()["id"]).state == "done"


def test_a_stored_call_that_was_taken_unheard_runs(place: Place) -> None:
    """The process knows that it has not begun it."""
    record = _queued("a" * 32, 100)
    taking = threading.Event()
    plain = place.engine.transact

    def transact(scope: Scope, work: Callable[[EngineTransaction], T], /, *, timeout_s: float) -> T:
        result = plain(scope, work, timeout_s=timeout_s)
        found = place.engine.content.rows.get((scope, "stored_call", (record.id,)))
        if found is not None and '"running"' in found[0].document and not taking.is_set():
            taking.set()
            raise StoreUnavailable("It took longer than the time that was left.")
        return result

    place.engine.transact = transact  # type: ignore[method-assign]
    place.store.put(record)

    assert place.ended(record.id).state == "done"
    assert taking.is_set()


def test_a_stored_call_waits_for_the_store_that_knows_its_token(place: Place) -> None:
    """It has not begun: that nobody can say whether its token holds does not end it."""
    asked: list[str] = []

    async def holds(_: str, token: str) -> bool:
        asked.append(token)
        if len(asked) == 1:
            raise StoreUnavailable("It is away.")
        return True

    place.service.is_token_valid = holds
    record = _queued("b" * 32, 100)
    place.store.put(record)

    ended = place.ended(record.id)

    assert (ended.state, '"outcome":"ok"' in ended.answer, len(asked)) == ("done", True, 2)


def test_who_has_waited_longest_is_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the calls are called: none is passed over as long as others come."""
    monkeypatch.setattr(stored_module, "MAX_RUNNING", 1)
    place = Place(tmp_path)
    for number, name in enumerate("fbeacd"):
        place.store.put(_queued(name * 32, 1_000 + number))
    with serving(create_app(place.service, auth=HeaderAuthenticator())):
        ended = [place.ended(name * 32) for name in "fbeacd"]

    assert [one.id[0] for one in sorted(ended, key=lambda one: one.finished_at or "")] == [*"fbeacd"]


async def test_who_comes_back_first_takes_nobody_for_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What kept this process from saying that it is there may have kept the others from it, too."""
    now = 1_000.0
    monkeypatch.setattr("toolcharter_service.heartbeat.time", SimpleNamespace(monotonic=lambda: now))
    steady, service = OwnHeartbeat(), Place(tmp_path).service
    judged = [steady.may_declare_dead]
    steady.record_renewal()
    for step_s, tells in ((2.5, True), (5.5, False), (0, True), (9, True), (2, True)):
        now += step_s
        if tells:
            steady.record_renewal()
        judged.append(steady.may_declare_dead)
    service.heartbeat = steady
    steady.record_renewal()
    now += 6

    assert judged == [True, True, False, False, False, False]
    assert await is_worker_alive(service, "gone")


async def test_who_waits_for_a_service_that_stops_is_told_to_ask_again(tmp_path: Path) -> None:
    """Rather than that the service has failed: what the server cancels is the waiting, not the call."""
    service = Place(tmp_path).service
    ended = asyncio.Event()
    waiting = asyncio.create_task(Calls(service).shield(ended.wait()))
    await asyncio.sleep(0)
    service.stopping.set()
    waiting.cancel()

    with pytest.raises(HttpProblem) as told:
        await waiting
    ended.set()

    assert (told.value.status, told.value.reason, told.value.headers) == (503, "service_stopping", {"Retry-After": "1"})


def _queued(call_id: str, expires_in_s: int) -> StoredCall:
    return StoredCall(
        id=call_id,
        owner="token:ann#id-ann",
        name="ann",
        token_id="id-ann",
        tool="bash",
        args='{"command": "echo once"}',
        agent="reviewer",
        session=None,
        user=None,
        project=None,
        traceparent=None,
        created_at="2026-11-24T20:00:00.000000Z",
        expires=int(time.time()) + expires_in_s,
    )
