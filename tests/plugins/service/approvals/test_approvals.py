"""Questions as records: answered once, in time, by somebody else, in whichever process, and what becomes of them."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.service.header_identity import HeaderAuthenticator, identity_headers
from tests.plugins.service.serving import configured

from toolcharter import ApprovalRequest, Caller, StoreHandle, StoreUnavailable
from toolcharter_service.approvals import REQUESTER, ApprovalRecord, RecordApprover, Requester, maintain_approvals
from toolcharter_service.approvals import record_approver as module
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
ANN = identity_headers("ann", "approver")
BOT = Requester("bot-token", "id-bot-token")


class Place:
    """A service, its client, and calls of an agent."""

    def __init__(self, service: Service, client: httpx.AsyncClient, stores: StoreHandle) -> None:
        self.service, self.client, self.stores = service, client, stores

    async def call(self, command: str, who: Requester = BOT, call_id: str | None = None) -> Any:
        REQUESTER.set(who)
        view = self.service.view(Caller(agent="reviewer"), tenant="acme", agent="reviewer")
        return await view.acall("bash", {"command": command}, call_id=call_id or who.stored_call or None)

    def calling(self, command: str, who: Requester = BOT, call_id: str | None = None) -> "asyncio.Task[Any]":
        return asyncio.create_task(self.call(command, who, call_id))

    async def waiting(self) -> dict[str, Any]:
        """The question that is asked, as soon as there is one."""
        while True:
            listed = await self.client.get("/v1/approvals?status=pending", headers=ANN)
            if listed.json()["approvals"]:
                return dict(listed.json()["approvals"][0])
            await asyncio.sleep(0.02)

    async def answer(self, question: dict[str, Any], answer: str = "allow_once", **more: Any) -> httpx.Response:
        who = more.pop("who", ANN)
        body = {"answer": answer, "digest": question["digest"], **more}
        return await self.client.post(f"/v1/approvals/{question['id']}", json=body, headers=who)

    async def end(self, question: dict[str, Any]) -> tuple[str, str]:
        """What became of a question that nobody answers."""
        async with asyncio.timeout(60):
            while (found := await self.status(question))[0] == "pending":  # noqa: ASYNC110 - nobody is woken by a record
                await asyncio.sleep(0.02)
        return found

    async def status(self, question: dict[str, Any]) -> tuple[str, str]:
        found = (await self.client.get(f"/v1/approvals/{question['id']}", headers=ANN)).json()
        return found["status"], found["note"]


@pytest.fixture
async def place(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    """A service with `PROFILE`, or with the profile that a test is given."""
    stores = StoreHandle(MemoryEngine)
    service = Service(configured(tmp_path, {"reviewer": getattr(request, "param", PROFILE)}), stores=stores)
    app = create_app(service, auth=HeaderAuthenticator())
    await service.start()
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield Place(service, client, stores)
    await service.stop()


async def test_a_call_runs_once_somebody_has_agreed(place: Place) -> None:
    """Who answers reads the whole of it; the event names them."""
    call = place.calling("echo hello")
    question = await place.waiting()
    assert (question["commands"], question["agent"], question["requested_by"]) == (
        ["echo hello"],
        "reviewer",
        "bot-token",
    )

    assert (await place.answer(question)).json()["answered_by"] == "ann"
    result = await asyncio.wait_for(call, 60)
    assert (result.outcome, result.text.strip()) == ("ok", "hello")


async def test_a_denial_has_the_words_of_who_denied(place: Place) -> None:
    """The agent reads why."""
    call = place.calling("echo no")
    await place.answer(await place.waiting(), "deny", message="Not today.")

    result = await asyncio.wait_for(call, 60)
    assert (result.outcome, result.reason, result.message) == ("denied", "approval_denied", "Not today.")


@pytest.mark.parametrize(
    ("more", "status", "reason"),
    [
        ({"who": identity_headers("bot-token", "approver")}, 403, "own_call"),
        ({"who": identity_headers("bot-token", "admin")}, 403, "own_call"),
        ({"who": identity_headers("cal", "caller")}, 403, "role_missing"),
        ({"who": identity_headers("vera", "viewer")}, 403, "role_missing"),
        ({"who": identity_headers("ann", "approver", tenant="other")}, 404, "unknown_approval"),
        ({"digest": "0" * 64}, 409, "digest_differs"),
    ],
)
async def test_who_may_not_answer(place: Place, more: dict[str, Any], status: int, reason: str) -> None:
    """Nor to what: the question goes on waiting."""
    call = place.calling("echo x")
    question = await place.waiting()
    refused = await place.answer(question, **more)

    assert (refused.status_code, refused.json()["reason"]) == (status, reason)
    assert (await place.status(question))[0] == "pending"
    await place.answer(question, "deny")
    assert (await asyncio.wait_for(call, 60)).reason == "approval_denied"


async def test_a_person_does_not_answer_for_their_own_token(place: Place) -> None:
    """Whatever the token is called: the call is that of its user."""
    REQUESTER.set(BOT)
    view = place.service.view(Caller(agent="reviewer", user="ann"), tenant="acme", agent="reviewer")
    call = asyncio.create_task(view.acall("bash", {"command": "echo x"}))
    question = await place.waiting()

    assert (await place.answer(question)).json()["reason"] == "own_call"
    assert (await place.answer(question, who=identity_headers("bea", "approver"))).status_code == 200
    assert (await asyncio.wait_for(call, 60)).outcome == "ok"


async def test_an_answer_counts_once(place: Place) -> None:
    """Of twenty that come at the same time, one."""
    call = place.calling("echo once")
    question = await place.waiting()
    answers = await asyncio.gather(*(place.answer(question, "allow_once" if i % 2 else "deny") for i in range(20)))

    assert sorted(answer.status_code for answer in answers) == [200, *[409] * 19]
    given = next(answer.json()["status"] for answer in answers if answer.status_code == 200)
    result = await asyncio.wait_for(call, 60)
    assert result.outcome == {"allow_once": "ok", "deny": "denied"}[given]


@pytest.mark.parametrize("place", [PROFILE.replace("60", "3")], indirect=True, ids=["hasty"])
async def test_an_answer_that_is_late_is_none(place: Place) -> None:
    """The record says what became of the question."""
    call = place.calling("echo late")
    question = await place.waiting()

    assert (await asyncio.wait_for(call, 60)).reason == "approval_timeout"
    assert await place.end(question) == ("expired", "No approver answered in time.")
    assert (await place.answer(question)).json()["reason"] == "expired"


async def test_a_call_that_is_given_up_takes_its_question_back(place: Place) -> None:
    """A client that hangs up cancels its call."""
    call = place.calling("echo gone")
    question = await place.waiting()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert (await place.end(question))[0] == "cancelled"
    assert (await place.answer(question)).json()["reason"] == "expired"


async def test_a_question_of_a_process_that_has_died_is_cancelled(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process says so; questions of stored calls go on waiting."""
    monkeypatch.setattr(module, "HEARTBEAT_TTL_S", 0.2)
    store = place.stores.bound("acme", "toolcharter-service")
    common: dict[str, Any] = {
        "tool": "bash",
        "action": None,
        "args": {},
        "commands": (),
        "profile": "p",
        "workspace": "/w",
    }
    common |= {
        "agent": "a",
        "user": "",
        "requested_by": "x",
        "token_id": "",
        "digest": "d",
        "reason": "r",
        "message": None,
    }
    common |= {"always": False, "why_not_always": None, "asked_at": "2026", "expires": time.time() + 60}
    for key, stored in (("dead", ""), ("kept", "call-1")):
        store.put(ApprovalRecord(id=key, call_id=key, stored_call=stored, worker="gone", **common))
    sweeping = asyncio.create_task(maintain_approvals(place.service, "alive"))
    status, note = await place.end({"id": "dead"})
    sweeping.cancel()

    assert status == "cancelled"
    assert "gone" in note
    assert (await place.status({"id": "kept"}))[0] == "pending"


async def test_a_question_that_was_kept_unheard_is_ended(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store took it and did not say so: the call went on as if nobody could be asked, and nobody waits for an answer."""
    monkeypatch.setattr(module, "HEARTBEAT_TTL_S", 0.2)
    store = type(place.service.store("acme").asynchronous())
    put = store.put

    async def unheard(self: Any, record: Any, **more: Any) -> int:
        await put(self, record, **more)
        raise StoreUnavailable("It took longer than the time that was left.")

    with monkeypatch.context() as patch:
        patch.setattr(store, "put", unheard)
        result = await place.call("echo unheard")
    question = await place.waiting()
    sweeping = asyncio.create_task(maintain_approvals(place.service, place.service.worker))
    ended = await place.end(question)
    sweeping.cancel()

    assert (result.outcome, result.reason) == ("denied", "approval_unavailable")
    assert ended[0] == "cancelled"


async def test_a_call_within_a_stored_one_asks_as_any_other(place: Place) -> None:
    """The stored call has begun by then: it does not wait, and is not to be made again after a death."""
    inner = place.calling("echo within", BOT._replace(stored_call="outer"), call_id="inner")
    question = await place.waiting()
    assert (question["call_id"], question["stored_call"]) == ("inner", "")

    await place.answer(question)
    assert (await asyncio.wait_for(inner, 60)).outcome == "ok"


async def test_an_answer_says_nothing_to_another_question_of_the_same_call(place: Place) -> None:
    """A rule has asked, and at a later turn the tool has changed: the call is the same, and what a person agreed to is not."""
    approver: Callable[[ApprovalRequest], Any] = RecordApprover(place.service, "w", "acme")
    request = ApprovalRequest(
        tool="bash",
        action=None,
        args={},
        commands=(),
        workspace=Path(),
        profile="asking",
        caller=Caller(agent="reviewer"),
        call_id="call-1",
        digest="d" * 64,
        reason="asked_by_rule",
        message=None,
        always=False,
        why_not_always=None,
        always_until=None,
        timeout_s=60.0,
    )
    REQUESTER.set(BOT._replace(stored_call="call-1"))
    first = asyncio.create_task(approver(request))
    await place.answer(await place.waiting())
    assert (await asyncio.wait_for(first, 60)).answer == "allow_once"

    second = asyncio.create_task(approver(request._replace(reason="tool_changed", message="Another one.")))
    question = await asyncio.wait_for(place.waiting(), 60)
    assert (question["message"], second.done()) == ("Another one.", False)
    await place.answer(question, "deny")
    assert (await asyncio.wait_for(second, 60)).answer == "deny"


async def test_a_stored_call_finds_its_answer_after_a_restart(place: Place) -> None:
    """It is asked in one process, answered while none runs it, and allowed in the next; another line is asked anew."""
    stored = BOT._replace(stored_call="call-1")
    first = place.calling("echo stored", stored)
    question = await place.waiting()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert (await place.status(question))[0] == "pending"
    assert (await place.answer(question)).status_code == 200

    assert (await asyncio.wait_for(place.call("echo stored", stored), 60)).outcome == "ok"
    other = place.calling("echo other", stored)
    assert (await place.waiting())["commands"] == ["echo other"]
    other.cancel()


async def test_an_answer_from_another_process_is_seen(place: Place) -> None:
    """There nobody wakes who waits: it looks each second."""
    call = place.calling("echo far")
    question = await place.waiting()
    store = place.stores.bound("acme", "toolcharter-service")
    found = store.get(ApprovalRecord, question["id"])
    assert found is not None
    store.put(found.record.model_copy(update={"status": "allow_once", "answered_by": "ann"}))

    assert (await asyncio.wait_for(call, 60)).outcome == "ok"


def test_an_approver_has_a_store_for_each_tenant() -> None:
    """The callable that a toolbox is given knows its tenant, and nothing of others."""
    asked: list[str] = []

    class Stores:
        def store(self, tenant: str) -> Any:
            asked.append(tenant)
            raise RuntimeError

    approver: Callable[..., Any] = RecordApprover(Stores(), "w", "acme")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError):
        asyncio.run(approver(None))
    assert asked == ["acme"]
