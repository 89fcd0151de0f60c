"""`Session`: what one connection takes, and what ends it."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import pytest
from tests.rows import each_row

from toolcharter import TraceContext, within_trace
from toolcharter_mcp_bridge.wire import LEGACY, MODERN, ConnectionLost, ServerError, Session


class Recorded:
    """A link that keeps what is sent, and answers by a function."""

    version = ""

    def __init__(self, session: Session, answer: Callable[[Mapping[str, Any]], Any] = lambda _: None) -> None:
        self.sent: list[Mapping[str, Any]] = []
        self._session = session
        self._answer = answer
        session.link = self

    async def send(self, message: Mapping[str, Any]) -> None:
        self.sent.append(message)
        answer = self._answer(message)
        if answer is not None:
            self._session.feed(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}))


def with_session(use: Callable[[Session], Coroutine[Any, Any, Any]]) -> Any:
    async def go() -> Any:
        async with asyncio.timeout(60):
            return await use(Session())

    return asyncio.run(go())


def test_a_handshake_of_old() -> None:
    """The version is what the server says, and its name is noted."""

    def answer(message: Mapping[str, Any]) -> Any:
        if message["method"] != "initialize":
            return None
        info = {"name": "s", "version": "2"}
        return {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}}

    async def use(session: Session) -> None:
        link = Recorded(session, answer)
        await session.initialize()
        assert (link.version, session.server, session.has_tools) == ("2025-06-18", ("s", "2"), True)
        assert [message["method"] for message in link.sent] == ["initialize", "notifications/initialized"]
        assert link.sent[0]["params"]["protocolVersion"] == LEGACY

    with_session(use)


@pytest.mark.parametrize("is_modern", [False, True])
def test_a_call_names_its_trace(is_modern) -> None:
    """In `_meta`, beside what the protocol wants there; other requests have none."""
    trace = TraceContext("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a=b")

    def answer(message: Mapping[str, Any]) -> Any:
        if message["method"] == "initialize" and is_modern:
            return {"error": {"code": -32022, "message": "no"}}
        return {"result": {}} if "id" in message else None

    async def use(session: Session) -> None:
        link = Recorded(session, answer)
        with within_trace(trace):
            await session.initialize()
            await session.request("tools/call", {"name": "t"})
        await session.request("tools/call", {"name": "t"})
        named = [message.get("params", {}).get("_meta", {}).get("traceparent") for message in link.sent]
        assert named == [*[None] * (len(named) - 2), trace.traceparent, None]
        assert (len(link.sent[-2]["params"]["_meta"]), "_meta" in link.sent[-1]["params"]) == (
            (5, True) if is_modern else (2, False)
        )

    with_session(use)


def test_a_server_without_a_handshake() -> None:
    """It is asked in the way of 2026-07-28, in which each request says who asks."""

    def answer(message: Mapping[str, Any]) -> Any:
        if message["method"] == "initialize":
            return {"error": {"code": -32022, "message": "no"}}
        return {
            "result": {"capabilities": {}, "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "new"}}},
        }

    async def use(session: Session) -> None:
        link = Recorded(session, answer)
        await session.initialize()
        await session.ping()
        assert (link.version, session.server, session.has_tools) == (MODERN, ("new", ""), False)
        assert [message["method"] for message in link.sent] == ["initialize", "server/discover", "server/discover"]
        assert link.sent[1]["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == MODERN

    with_session(use)


def test_a_server_that_wants_no_client() -> None:
    """Any other error is one."""

    async def use(session: Session) -> None:
        Recorded(session, lambda _: {"error": {"code": 1, "message": "go away"}})
        with pytest.raises(ServerError, match="go away"):
            await session.initialize()

    with_session(use)


@each_row(
    ("line", "answer"),
    [
        pytest.param('{"id": 7, "method": "ping"}', {"id": 7, "result": {}}, id="ping"),
        pytest.param('{"id": "x", "method": "roots/list"}', {"id": "x", "error": -32601}, id="roots"),
        pytest.param('[{"id": 1, "method": "sampling/createMessage"}]', {"id": 1, "error": -32601}, id="in-a-list"),
    ],
)
def test_requests_of_the_server(line: str, answer: dict[str, Any]) -> None:
    """It may ask whether we are there, and for nothing else."""

    async def use(session: Session) -> None:
        link = Recorded(session)
        session.feed(line)
        await asyncio.sleep(0)
        (sent,) = link.sent
        found = {"id": sent["id"], **({"error": sent["error"]["code"]} if "error" in sent else {"result": {}})}
        assert found == answer

    with_session(use)


@each_row(
    ("line", "times", "why"),
    [
        pytest.param("{", 101, "It sends lines that are no JSON-RPC.", id="no-json"),
        pytest.param("[5]", 101, "It sends lines that are no JSON-RPC.", id="no-object"),
        pytest.param(
            json.dumps({"id": "x" * 201, "method": "ping"}), 101, "It sends lines that are no", id="long-number"
        ),
        pytest.param(
            '{"id": ' + "[" * 900 + "]" * 900 + ', "method": "ping"}', 101, "It sends lines", id="deep-number"
        ),
        pytest.param('{"id": true, "method": "ping"}', 101, "It sends lines", id="no-number"),
        pytest.param('{"method": "x"}', 1001, "It sent more than 1000 messages in 10 s", id="notifications"),
        pytest.param('{"id": 1, "result": {}}', 1001, "It sent more than 1000 messages in 10 s", id="answers"),
        pytest.param('{"id": 1, "method": "ping"}', 17, "It does not read the answers to its requests.", id="requests"),
    ],
)
def test_what_ends_a_connection(line: str, times: int, why: str) -> None:
    """Up to there it goes on; afterwards nothing is taken any more, and who waits is told."""

    async def use(session: Session) -> None:
        Recorded(session)
        waiting = asyncio.ensure_future(session.request("tools/list", {}))
        await asyncio.sleep(0)
        line_ = line.replace('"id": 1, "result"', '"id": 99, "result"')
        for _ in range(times - 1):
            session.feed(line_)
        assert not session.lost.done()
        session.feed(line_)
        assert session.lost.result().startswith(why)
        with pytest.raises(ConnectionLost, match=why.split(".", maxsplit=1)[0]):
            await waiting
        with pytest.raises(ConnectionLost):
            await session.request("ping", {})
        heard = session.heard
        session.feed('{"method": "x"}')
        assert session.heard == heard

    with_session(use)


def test_answers_find_their_requests() -> None:
    """In any order; one that is no object is an error."""

    async def use(session: Session) -> None:
        Recorded(session)
        one, two, three = (asyncio.ensure_future(session.request("x", {"n": n})) for n in range(3))
        await asyncio.sleep(0)
        assert session.is_busy
        session.feed('{"id": 2, "result": {"a": 2}}')
        session.feed('{"id": true, "result": {"a": 0}}')
        session.feed('{"id": 1, "result": {"a": 1}}')
        session.feed('{"id": 3, "result": 5}')
        assert (await one, await two) == ({"a": 1}, {"a": 2})
        with pytest.raises(ServerError, match="no message"):
            await three
        session.fail(3, ConnectionLost("late"))
        assert not session.is_busy

    with_session(use)


def test_who_gives_up_tells_the_server() -> None:
    """A cancelled call is cancelled there, too."""

    async def use(session: Session) -> None:
        link = Recorded(session)
        call = asyncio.ensure_future(session.request("tools/call", {"name": "x"}))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await asyncio.sleep(0)
        assert link.sent[-1] == {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}

    with_session(use)


def test_without_a_link_nothing_is_sent() -> None:
    """Before there is one, and where it breaks."""

    async def use(session: Session) -> None:
        with pytest.raises(ConnectionLost, match="There is no connection"):
            await session.request("ping", {})
        session.feed('{"id": 1, "method": "ping"}')
        await asyncio.sleep(0)
        assert session.lost.result() == "There is no connection."

    with_session(use)


def test_changed_tools_are_noticed() -> None:
    """The one notification that means something."""

    async def use(session: Session) -> None:
        session.feed('{"method": "notifications/tools/list_changed"}')
        assert session.changed.is_set()

    with_session(use)
