"""The stream of events: in order, each once, from where one has left, and what ends it."""

import json
import socket
from pathlib import Path

import httpx
import pytest
from tests.plugins.service.serving import NoStores, configured, serving

from toolcharter_service import live_events
from toolcharter_service.http.app import create_app
from toolcharter_service.live_events import LiveEvent, TenantEvents
from toolcharter_service.service import Service

pytestmark = pytest.mark.slow


def _messages(answer: httpx.Response, count: int) -> list[dict[str, str]]:
    """The first messages of a stream, by their fields."""
    found: list[dict[str, str]] = []
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        else:
            if "data" in fields:
                found.append(fields)
            fields = {}
        if len(found) == count:
            break
    return found


def _call(url: str) -> None:
    httpx.post(f"{url}/v1/calls", json={"tool": "list_files", "args": {}}, timeout=60)


def test_events_come_as_they_happen_and_again_behind_the_last_that_was_seen(url: str) -> None:
    """Each once and in order."""
    with httpx.stream("GET", f"{url}/v1/events", timeout=30) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        _call(url)
        first = _messages(stream, 3)
    names = [json.loads(one["data"])["event"] for one in first]
    with httpx.stream("GET", f"{url}/v1/events", headers={"Last-Event-ID": first[0]["id"]}, timeout=30) as stream:
        again = _messages(stream, 2)

    assert names[-3:] in (
        ["hook.tool.before", "hook.policy.before", "hook.tool.after"],
        ["toolbox.open", "hook.tool.before", "hook.policy.before"],
    )
    assert again == first[1:]


def test_who_comes_back_too_late_is_told(url: str) -> None:
    """Also with the number of another process."""
    with httpx.stream("GET", f"{url}/v1/events", headers={"Last-Event-ID": "beef-1"}, timeout=30) as stream:
        [gap] = _messages(stream, 1)

    assert (gap["event"], gap["data"]) == ("gap", '{"reason":"events_lost"}')


@pytest.fixture
def small_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_events, "MAX_QUEUED", 3)


async def test_who_is_too_slow_is_dropped_and_nobody_waits_for_it(small_queues: None) -> None:
    """The queue holds what it may, and no event after it."""
    del small_queues
    events = TenantEvents()
    listener = events.add_listener(lambda _: True, None)
    assert listener is not None

    events.add(b"".join(b'{"n":%d}\n' % number for number in range(5)))

    assert [live.line for live in listener.take()] == [b'{"n":0}', b'{"n":1}', b'{"n":2}']
    assert listener.is_dropped


async def test_a_listener_gets_what_it_may_see() -> None:
    """The events of other agents are not queued."""
    events = TenantEvents()

    def own(live: LiveEvent) -> bool:
        return live.agent == "a"

    listener = events.add_listener(own, None)
    assert listener is not None

    events.add(b'{"agent":"a","n":1}\n{"agent":"b","n":2}\n')

    assert [live.line for live in listener.take()] == [b'{"agent":"a","n":1}']


def test_a_stop_ends_streams_and_says_so(tmp_path: Path) -> None:
    """The server does not wait for them."""
    service = Service(configured(tmp_path), stores=NoStores(), dev=True)
    with serving(create_app(service)) as url, httpx.stream("GET", f"{url}/v1/events", timeout=30) as stream:
        service.loop.call_soon_threadsafe(service.begin_stop)
        [closing] = _messages(stream, 1)
    with (
        pytest.raises(OSError, match=r"."),
        socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=5),
    ):
        pass

    assert (closing["event"], closing["data"]) == ("closing", '{"reason":"service_stopping"}')
