"""`Idempotency-Key`: a call runs at most once, whoever asks again, on whichever worker, after whatever death."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.plugins.service.header_identity import HeaderAuthenticator, identity_headers
from tests.plugins.service.serving import configured, leaving, serving, until_event

from toolcharter.guards.store.handle import StoreHandle
from toolcharter_service.calls import idempotency
from toolcharter_service.calls.idempotency import delete_expired
from toolcharter_service.calls.records import KeyedCall
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service

pytestmark = pytest.mark.slow
ANN = identity_headers("ann", "caller,viewer,operator")


@pytest.fixture(scope="module")
def workers(place: Path, stores: StoreHandle) -> Iterator[tuple[str, str]]:
    """The addresses of two workers over one store."""
    first = Service(configured(place), stores=stores)
    second = Service(first.file, stores=stores)
    with (
        serving(create_app(first, auth=HeaderAuthenticator())) as one,
        serving(create_app(second, auth=HeaderAuthenticator())) as two,
    ):
        yield one, two


@pytest.fixture
def counter(place: Path, workers: object) -> Path:
    """What the calls of a test write to."""
    del workers
    return place / "profile0"


def _append(url: str, key: str, name: str, who: dict[str, str] = ANN, **more: Any) -> httpx.Response:
    """A call that leaves a file, and its events."""
    body = {"tool": "write_file", "args": {"path": name, "content": "once"}, **more}
    return httpx.post(f"{url}/v1/calls", json=body, headers={"Idempotency-Key": key, **who}, timeout=60)


def test_an_answer_is_replayed_on_every_worker(workers: tuple[str, str], counter: Path) -> None:
    """To the letter, and marked; the call has run once."""
    answers = [_append(url, "k-replay", "replay.txt") for url in (*workers, *workers)]

    assert {answer.text for answer in answers} == {answers[0].text}
    assert answers[0].json()["outcome"] == "ok"
    assert [answer.headers.get("idempotency-replayed") for answer in answers] == [None, "true", "true", "true"]
    assert _runs(counter, "replay.txt") == 1


def test_what_json_can_say_has_a_fingerprint() -> None:
    """Integers of any size, and halves of pairs of surrogates; another value has another one."""
    said = [{"n": 2**64}, {"n": -(2**63) - 1}, {"n": 2**64 + 1}, {"\ud800": 1}, {"\ud801": 1}]

    marks = [idempotency.fingerprint_of("calls", one) for one in said]

    assert len({*marks}) == len(said)
    assert marks == [idempotency.fingerprint_of("calls", dict(one)) for one in said]


def test_another_body_with_the_same_key_is_refused(workers: tuple[str, str]) -> None:
    """Also another session; the same JSON in another order is the same body."""
    _append(workers[0], "k-other", "other.txt")

    answers = [_append(workers[1], "k-other", "another.txt"), _append(workers[0], "k-other", "other.txt", session="s")]

    assert [(one.status_code, one.json()["reason"]) for one in answers] == [(422, "idempotency_key_reused")] * 2


def test_every_route_that_calls_keeps_to_a_key(workers: tuple[str, str], counter: Path) -> None:
    """Whoever sends a key to the routes of other gateways has the same promise; a key of one route is none of another."""
    wrong: dict[str, Any] = {}
    for path in ("/v1/tools/invoke", "/api/v1/tools/tool_file_write/invoke"):
        name = f"keyed{len(path)}.txt"

        def said(given: dict[str, str], path: str = path) -> dict[str, Any]:
            return given if path.startswith("/api") else {"tool": "write_file", "args": given}

        body = said({"path": name, "content": "once"})
        headers = {"Idempotency-Key": f"k-{len(path)}", **ANN}
        answers = [httpx.post(url + path, json=body, headers=headers, timeout=60) for url in (*workers, workers[0])]
        other = httpx.post(workers[1] + path, json=said({"path": "x", "content": ""}), headers=headers, timeout=60)
        elsewhere = _append(workers[0], f"k-{len(path)}", name)
        found = (
            {one.text for one in answers} == {answers[0].text} and answers[0].status_code == 200,
            [one.headers.get("idempotency-replayed") for one in answers],
            [one.status_code for one in (other, elsewhere)],
            _runs(counter, name),
        )
        if found != (True, [None, "true", "true"], [422, 422], 1):
            wrong[path] = found, answers[0].text
    assert wrong == {}


def test_a_key_is_its_owners(workers: tuple[str, str], counter: Path) -> None:
    """Another principal with the same key makes another call, and sees nothing of the first."""
    mine = _append(workers[0], "k-owner", "mine.txt")
    theirs = _append(workers[0], "k-owner", "theirs.txt", identity_headers("bob", "caller"))

    assert [one.json()["outcome"] for one in (mine, theirs)] == ["ok", "ok"]
    assert (counter / "theirs.txt").exists()


def test_of_many_at_once_one_runs(workers: tuple[str, str], counter: Path) -> None:
    """The others are told to come back, and then get its answer."""
    with ThreadPoolExecutor(16) as pool:
        asked = [pool.submit(_append, url, "k-many", "many.txt") for url in [*workers] * 8]
        answers = [one.result() for one in asked]
    after = _append(workers[0], "k-many", "many.txt")

    ok = [one for one in answers if one.status_code == 200]
    refused = [one for one in answers if one.status_code != 200]
    assert {one.text for one in ok} == {after.text}
    assert {(one.status_code, one.json()["reason"], one.headers["retry-after"]) for one in refused} <= {
        (409, "call_in_progress", "1")
    }
    assert after.json()["outcome"] == "ok"
    assert _runs(counter, "many.txt") == 1


def test_a_call_whose_worker_has_died_is_never_made_again(
    workers: tuple[str, str], stores: StoreHandle, counter: Path
) -> None:
    """Nobody knows whether it has run; the key says so for the rest of its day."""
    fingerprint = KeyedCall(
        owner="token:ann#id-ann",
        key="k-dead",
        fingerprint="",
        worker="gone",
        call_id="c1",
        expires=int(time.time()) + 60,
    )
    store = stores.bound("acme", "toolcharter-service")
    store.put(fingerprint)
    body = {"tool": "write_file", "args": {"path": "dead.txt", "content": "once"}}
    mark = idempotency.fingerprint_of("calls", ["reviewer", "ann", None, None], body["tool"], body["args"], not body)
    store.put(fingerprint.model_copy(update={"fingerprint": mark}))

    # A process that was held up itself takes nobody for dead until it has gone on for a while.
    answers, end = [], time.monotonic() + 60
    for url in workers:
        while (answer := _append(url, "k-dead", "dead.txt")).json()["reason"] == "call_in_progress":
            assert time.monotonic() < end
            time.sleep(0.1)
        answers.append(answer)

    assert [(one.status_code, one.json()["reason"], one.json()["call_id"]) for one in answers] == [
        (409, "outcome_unknown", "c1")
    ] * 2
    assert not (counter / "dead.txt").exists()


def test_a_client_that_leaves_does_not_end_a_call_with_a_key(workers: tuple[str, str], place: Path) -> None:
    """Whoever asks again gets its answer."""
    body = {"tool": "bash", "args": {"command": "sleep 5"}}
    headers = {"Idempotency-Key": "k-left", **ANN}
    with leaving(workers[0], body, headers):
        until_event(place, "hook.tool.before", "sleep 5")

    until, answer = time.monotonic() + 60, httpx.post(f"{workers[1]}/v1/calls", json=body, headers=headers, timeout=60)
    early = answer.json()["reason"]
    while answer.status_code == 409 and time.monotonic() < until:
        time.sleep(0.1)
        answer = httpx.post(f"{workers[1]}/v1/calls", json=body, headers=headers, timeout=60)

    assert early == "call_in_progress"
    assert (answer.status_code, answer.json()["outcome"]) == (200, "ok")
    assert answer.headers["idempotency-replayed"] == "true"


async def test_a_key_can_be_used_again_after_its_day(
    workers: tuple[str, str], stores: StoreHandle, place: Path
) -> None:
    """What has expired counts as not there, and is deleted."""
    store = stores.bound("acme", "toolcharter-service")
    old = KeyedCall(
        owner="token:ann#id-ann", key="k-old", fingerprint="x", worker="w", call_id="c", status=200, expires=1
    )
    store.put(old)
    store.put(old.model_copy(update={"key": "k-older"}))

    answer = _append(workers[0], "k-old", "old.txt")
    await delete_expired(Service(configured(place / "profile0"), stores=stores), "acme")

    assert answer.json()["outcome"] == "ok"
    assert store.get(KeyedCall, "token:ann#id-ann", "k-older") is None
    assert store.get(KeyedCall, "token:ann#id-ann", "k-old") is not None


def test_a_stored_call_runs_by_itself_on_any_worker(workers: tuple[str, str]) -> None:
    """202 with where to look; every worker says what came of it, to its owner and to who looks on."""
    headers = {"Prefer": "respond-async", **ANN}
    body = {"tool": "bash", "args": {"command": "echo stored"}}

    answer = httpx.post(f"{workers[0]}/v1/calls", json=body, headers=headers, timeout=60)
    place = answer.headers["location"]
    found = _until_ended(workers[1], place)
    seen = [
        httpx.get(f"{workers[0]}{place}", headers=who, timeout=60).status_code
        for who in (
            ANN,
            identity_headers("eve", "caller"),
            identity_headers("vic", "viewer"),
            identity_headers("ann", "admin", tenant="other"),
        )
    ]

    assert (answer.status_code, answer.json()["state"]) == (202, "queued")
    assert answer.headers["preference-applied"] == "respond-async"
    assert (found["state"], found["result"]["text"], found["result"]["call_id"]) == ("done", "stored\n", found["id"])
    assert seen[:3] == [200, 404, 200]


def test_a_key_stores_one_call(workers: tuple[str, str]) -> None:
    """The same 202 for every request with it."""
    headers = {"Prefer": "respond-async", "Idempotency-Key": "k-async", **ANN}
    body = {"tool": "bash", "args": {"command": "echo once"}}

    answers = [httpx.post(f"{url}/v1/calls", json=body, headers=headers, timeout=60) for url in workers]

    assert [one.status_code for one in answers] == [202, 202]
    assert answers[0].json()["id"] == answers[1].json()["id"]


def test_a_stored_call_is_cancelled_from_any_worker(workers: tuple[str, str]) -> None:
    """Within a second or two where another one runs it; a second time is too late."""
    headers = {"Prefer": "respond-async", **ANN}
    body = {"tool": "bash", "args": {"command": "sleep 25"}}
    place = httpx.post(f"{workers[0]}/v1/calls", json=body, headers=headers, timeout=60).headers["location"]
    until = time.monotonic() + 60
    while _state(workers[0], place)["state"] == "queued" and time.monotonic() < until:
        time.sleep(0.05)

    cancelled = httpx.post(f"{workers[1]}{place}/cancel", headers=ANN, timeout=60)
    found = _until_ended(workers[0], place)
    again = httpx.post(f"{workers[1]}{place}/cancel", headers=ANN, timeout=60)

    assert (cancelled.status_code, found["state"], found["result"]) == (200, "cancelled", None)
    assert (again.status_code, again.json()["reason"]) == (409, "call_ended")


def _runs(workspace: Path, name: str) -> int:
    """How many calls have begun to write the file *name*."""
    lines = (workspace.parent / "events.jsonl").read_text().splitlines()
    return sum('"hook.tool.before"' in line and f'"path":"{name}"' in line for line in lines)


def _state(url: str, place: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{url}{place}", headers=ANN, timeout=60).json()
    return found


def _until_ended(url: str, place: str) -> dict[str, Any]:
    until = time.monotonic() + 60
    while (found := _state(url, place))["state"] in {"queued", "running"} and time.monotonic() < until:
        time.sleep(0.05)
    return found
