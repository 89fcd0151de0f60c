"""Stored calls that wait for a person while processes come and go: asked until answered, run once, counted once."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.plugins.service.header_identity import HeaderAuthenticator, identity_headers
from tests.plugins.service.serving import configured

from toolcharter import StoreUnavailable, open_store
from toolcharter_nats.envelope import messages
from toolcharter_service.approvals import ApprovalRecord
from toolcharter_service.calls import waiting as waiting_module
from toolcharter_service.calls.records import StoredCall
from toolcharter_service.calls.stored import StoredCalls
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service

PROFILE = """
profile: asking
description: Asks before each line of a shell.
runner: host
mode: ask
tools: {bash: {}}
approvals: {timeout_s: 60}
"""
ANN, BOT = identity_headers("ann", "approver"), identity_headers("bot", "caller,operator")
CALL = {"tool": "bash", "args": {"command": "echo once >>ran.txt"}}


class Process:
    """A service with its client."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.app = create_app(service, auth=HeaderAuthenticator())
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://127.0.0.1")

    async def leave(self) -> str:
        """A stored call."""
        answer = await self.client.post("/v1/calls", json=CALL, headers={"Prefer": "respond-async", **BOT})
        return str(answer.json()["id"])

    async def state(self, call_id: str) -> str:
        """Of a stored call."""
        return str((await self.client.get(f"/v1/calls/{call_id}", headers=BOT)).json()["state"])

    async def questions(self, status: str = "pending") -> list[dict[str, Any]]:
        """Those that approvers see."""
        listed = await self.client.get(f"/v1/approvals?status={status}", headers=ANN)
        return list(listed.json()["approvals"])

    async def allow(self) -> None:
        """Answer the one question that waits."""
        (question,) = await until(self.questions)
        given = {"answer": "allow_once", "digest": question["digest"]}
        (await self.client.post(f"/v1/approvals/{question['id']}", json=given, headers=ANN)).raise_for_status()

    def stand_still(self) -> None:
        """Take no call from now on, as a process that is paused."""
        vars(self.service.part(StoredCalls))["_take_queued"] = _nothing


class Place:
    """Two processes over one store, which is a file."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.store = open_store(url).bound("acme", "toolcharter-service")
        file = configured(folder, {"reviewer": PROFILE})
        self.first, self.second = (Process(Service(file, stores=open_store(url))) for _ in range(2))

    def ran(self) -> int:
        """How often the call has run."""
        file = self.folder / "profile0" / "ran.txt"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def ends(self, call_id: str) -> list[tuple[str, str | None]]:
        """Outcome and reason of each last event of a call."""
        events = map(json.loads, (self.folder / "events.jsonl").read_text().splitlines())
        return [
            (event["outcome"], event["reason"])
            for event in events
            if event["event"] == "hook.tool.after" and event["call_id"] == call_id
        ]

    def usage(self, call_id: str) -> list[str]:
        """The statuses of a call's usage rows."""
        lines = [
            line for path in self.folder.glob("state/**/tool_calls_*.log") for line in path.read_text().splitlines()
        ]
        rows = [json.loads(line.partition("] ")[2]) for line in lines]
        return [row["status"] for row in rows if row["id"] == call_id]

    def put(self, call_id: str, **change: Any) -> None:
        """Change the record of a stored call, as another process does."""
        found = self.store.get(StoredCall, call_id)
        assert found is not None
        self.store.put(found.record.model_copy(update=change), expected=found.version)


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    """The first process has started."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(waiting_module, "RETRY_S", 0.05)
    made = Place(tmp_path, f"sqlite://{tmp_path / 'store.db'}")
    await made.first.service.start()
    yield made
    for process in (made.first, made.second):
        await process.service.stop()


async def _nothing(_: str) -> None:
    """Takes the place of what is not to happen."""


async def until(ask: Callable[[], Any]) -> Any:
    """What *ask* gives as soon as it is something."""
    async with asyncio.timeout(30):
        while True:
            found = await ask()
            if found:
                return found
            await asyncio.sleep(0.02)


async def until_state(process: Process, call_id: str, state: str) -> None:
    """Wait for it."""

    async def is_so() -> bool:
        return await process.state(call_id) == state

    await until(is_so)


async def test_a_worker_that_stood_still_gives_its_turn_up(place: Place) -> None:
    """Another one asks meanwhile: the call runs and counts once, and the event of the turn that came to nothing says so.

    The sink `nats:` tells it once, as what became of it.
    """
    call_id = await place.first.leave()
    await until(place.first.questions)
    place.first.stand_still()
    place.put(call_id, state="queued", worker="")
    await place.second.service.start()
    await until_state(place.second, call_id, "waiting")

    await place.second.allow()
    await until_state(place.second, call_id, "done")
    await place.first.service.stop()
    await place.second.service.stop()

    assert (place.ran(), place.usage(call_id)) == (1, ["success"])
    assert sorted(place.ends(call_id), key=str) == [
        ("denied", "approval_handed_on"),
        ("ok", None),
    ]
    told = [json.loads(each.body) for each in messages((place.folder / "events.jsonl").read_bytes())]
    of_call = [each["type"] for each in told if each["payload"]["metadata"].get("call_id") == call_id]
    assert of_call == ["agi.tool.invoked", "agi.tool.invoked", "agi.tool.result"]
    assert len({each["event_id"] for each in told if each["type"] == "agi.tool.invoked"}) == 1


async def test_a_process_that_stops_hands_its_waiting_calls_on(place: Place) -> None:
    """At once, to whoever is there; the question stays the same, and the call counts once."""
    call_id = await place.first.leave()
    (asked,) = await until(place.first.questions)
    await place.second.service.start()
    async with asyncio.timeout(place.first.service.config.stop_s):
        await place.first.service.stop()
    await until_state(place.second, call_id, "waiting")

    assert [each["id"] for each in await place.second.questions()] == [asked["id"]]
    await place.second.allow()
    await until_state(place.second, call_id, "done")
    await place.second.service.stop()
    assert (place.ran(), place.usage(call_id)) == (1, ["success"])


async def test_a_call_that_is_cancelled_takes_its_question_back(place: Place) -> None:
    """Where a process runs it, and where it waits for its next turn."""
    called = [await place.first.leave()]
    await until(place.first.questions)
    await place.first.client.post(f"/v1/calls/{called[0]}/cancel", headers=BOT)
    await until_state(place.first, called[0], "cancelled")

    called.append(await place.first.leave())
    await until(place.first.questions)
    place.first.stand_still()
    place.put(called[1], state="queued", worker="")
    await place.first.client.post(f"/v1/calls/{called[1]}/cancel", headers=BOT)

    ended = await place.first.questions("cancelled")
    assert sorted(each["call_id"] for each in ended) == sorted(called)
    assert (await place.first.questions(), all(each["note"] for each in ended)) == ([], True)


async def test_each_question_of_a_call_waits_for_its_own_answer(place: Place) -> None:
    """One that has been answered says nothing to another one of a later turn, though it is of the same call."""
    call_id = await place.first.leave()
    (first,) = await until(place.first.questions)
    place.first.stand_still()
    record = place.store.get(ApprovalRecord, first["id"])
    assert record is not None
    other = record.record.model_copy(update={"id": f"{call_id}-other", "message": "The tool has changed."})
    place.store.put(other.model_copy(update={"status": "allow_once", "answered_by": "ann"}))
    place.put(call_id, state="queued", worker="", question=other.id)
    await place.second.service.start()
    await until_state(place.second, call_id, "waiting")

    assert [each["id"] for each in await place.second.questions()] == [first["id"]]
    await place.second.allow()
    await until_state(place.second, call_id, "done")


async def test_a_call_waits_for_the_store_that_keeps_its_question(place: Place) -> None:
    """It has not begun: that nobody can be asked now does not end it."""
    failing = list(range(3))
    store = type(place.first.service.store("acme").asynchronous())
    put = store.put

    async def unheard(self: Any, record: Any, **more: Any) -> int:
        version = await put(self, record, **more)
        if isinstance(record, ApprovalRecord) and failing:
            failing.pop()
            raise StoreUnavailable("It took longer than the time that was left.")
        return version

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "put", unheard)
        call_id = await place.first.leave()
        await place.first.allow()
        await until_state(place.first, call_id, "done")

    assert (place.ran(), failing) == (1, [])
