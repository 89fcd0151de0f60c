"""FastMCP's client drives the server, over stdio and HTTP, in both eras of the protocol."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import ClientTransport, StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError
from mcp.client.subscriptions import listen
from mcp.shared.subscriptions import ToolsListChanged
from mcp_types import ToolListChangedNotification

from .serving import GROWING, MODES, NAMES, TOKEN, events, grow, serving, words

Connect = Callable[..., AbstractAsyncContextManager[Client[Any]]]


@pytest.fixture(params=["stdio", "http"])
def open_server(place: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[str], ClientTransport]]:
    """What serves a profile, and gives the way to it."""
    if request.param == "stdio":

        def over_stdio(profile: str) -> ClientTransport:
            (place / "served.yaml").write_text(profile or (place / "served.yaml").read_text())
            return StdioTransport(sys.executable, words(place), cwd=str(place), keep_alive=False)

        yield over_stdio
        return

    servers = []

    def over_http(profile: str) -> ClientTransport:
        (place / "served.yaml").write_text(profile or (place / "served.yaml").read_text())
        servers.append(serving(place))
        return StreamableHttpTransport(servers[-1].__enter__(), headers={"Authorization": f"Bearer {TOKEN}"})

    yield over_http
    for server in servers:
        server.__exit__(None, None, None)


@pytest.fixture(params=MODES)
def connect(open_server: Callable[[str], ClientTransport], request: pytest.FixtureRequest) -> Connect:
    """What makes a client."""

    @asynccontextmanager
    async def connected(profile: str = "", **more: Any) -> AsyncIterator[Client[Any]]:
        async with Client(open_server(profile), mode=request.param, timeout=60, **more) as client:
            yield client

    return connected


async def test_tools_calls_and_refusals(place: Path, connect: Connect) -> None:
    """The data arrive as such; a refusal is a tool's error, with reason and hint, and raised if the client wants that."""
    (place / "workspace/other.txt").write_text("x")
    async with connect() as client:
        names = [tool.name for tool in await client.list_tools()]
        read = await client.call_tool("read_file", {"path": "notes.txt"})
        denied = await client.call_tool("read_file", {"path": "../x"}, raise_on_error=False)
        unasked = await client.call_tool("delete_file", {"path": "notes.txt"}, raise_on_error=False)
        with pytest.raises(ToolError, match="reason=not_in_allow"):
            await client.call_tool("bash", {"command": "touch x"})

    assert names == NAMES
    assert read.structured_content["content"] == "first\n"  # type: ignore[index]
    assert read.data is not None
    assert (denied.is_error, denied.structured_content["reason"]) == (True, "path_outside_workspace")  # type: ignore[index]
    assert unasked.structured_content == {
        "outcome": "denied",
        "reason": "approval_unavailable",
        "message": "There is no one to ask.",
        "hint": "Take another way that needs nobody's consent.",
        "retryable": False,
    }


@pytest.mark.parametrize("agrees", [True, False])
async def test_the_clients_user_is_asked(place: Path, connect: Connect, *, agrees: bool) -> None:
    """The call runs if the user says so, and only then."""
    asked: list[str] = []

    async def ask(message: str, response_type: Any, params: Any, context: Any) -> Any:
        asked.append(message)
        return {"answer": "allow once"} if agrees else ElicitResult(action="decline")

    async with connect(elicitation_handler=ask) as client:
        done = await client.call_tool("delete_file", {"path": "notes.txt"}, raise_on_error=False)

    assert len(asked) == 1
    assert 'path: "notes.txt"' in asked[0]
    assert ((place / "workspace/notes.txt").exists(), done.is_error) == (not agrees, not agrees)
    assert agrees or done.structured_content["reason"] == "approval_denied"  # type: ignore[index]


async def test_progress_and_cancelling(place: Path, connect: Connect) -> None:
    """A long call reports that it goes on; cancelling it ends its program, and the call has its closing event."""
    heard = asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert message == "still running"
        heard.set()

    async with connect() as client:
        long = asyncio.ensure_future(client.call_tool("bash", {"command": "sleep 25"}, progress_handler=note))
        await asyncio.wait_for(heard.wait(), 20)
        long.cancel()
        with pytest.raises(asyncio.CancelledError):
            await long
        for _ in range(100):
            closed = [event for event in events(place) if event["event"] == "hook.tool.after"]
            if closed:
                break
            await asyncio.sleep(0.1)

    (after,) = closed
    assert (after["tool"], after["reason"], after["elapsed_ms"] < 20_000) == ("bash", "cancelled", True)


async def test_changed_tools_are_announced(place: Path, connect: Connect) -> None:
    """To a client with a handshake unasked, to one of 2026-07-28 on its subscription."""
    heard = asyncio.Event()

    async def hear(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.set()

    async with connect(GROWING, message_handler=hear) as client:
        before = [tool.name for tool in await client.list_tools()]
        grow(place)
        if client.protocol_version == "2026-07-28":
            async with listen(client.session, tools_list_changed=True) as changes:
                await client.call_tool("reload_tools", {})
                assert await asyncio.wait_for(anext(changes), 20) == ToolsListChanged()
        else:
            await client.call_tool("reload_tools", {})
        await asyncio.wait_for(heard.wait(), 20)
        after = [tool.name for tool in await client.list_tools()]

    assert (before, after) == (["read_file", "reload_tools"], ["read_file", "reload_tools", "greet"])
