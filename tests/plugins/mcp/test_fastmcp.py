"""FastMCP's client drives the server, over stdio and HTTP, in both eras of the protocol."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from mcp.client.subscriptions import listen
from mcp.shared.subscriptions import ToolsListChanged
from mcp_types import ToolListChangedNotification

from . import lazy_fastmcp
from .serving import (
    DISCOVERING_PROFILE,
    MODES,
    NAMES,
    TOKEN,
    add_greet_tool,
    closing_events,
    events,
    hold_in_task,
    server_args,
    serving,
)

SHARING = pytest.mark.asyncio(loop_scope="module")
WAYS = list(product(["stdio", "http"], MODES))
Way = tuple[str, Any]


def transport(place: Path, url: str | None) -> "lazy_fastmcp.transports.ClientTransport":
    """The way to the server at *url*, or to one of *place* that the client starts itself."""
    if url is None:
        return lazy_fastmcp.transports.StdioTransport(
            sys.executable, server_args(place), cwd=str(place), keep_alive=False
        )
    return lazy_fastmcp.transports.StreamableHttpTransport(url, headers={"Authorization": f"Bearer {TOKEN}"})


@pytest.fixture(autouse=True, scope="module")
def no_finder_is_left() -> Iterator[None]:
    """FastMCP brings a finder of modules, for which every later toolbox of this process would search all installed packages."""
    yield
    sys.meta_path[:] = [each for each in sys.meta_path if getattr(each, "__module__", "") != "key_value"]


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def way(request: pytest.FixtureRequest) -> Way:
    """The transport, and the era of the protocol."""
    name, mode = request.param
    return name, mode


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(
    served: Path, way: Way, request: pytest.FixtureRequest
) -> "AsyncIterator[lazy_fastmcp.fastmcp.Client[Any]]":
    """A client that cannot ask its user."""
    name, mode = way
    url = request.getfixturevalue("url") if name == "http" else None
    async with hold_in_task(lazy_fastmcp.fastmcp.Client(transport(served, url), mode=mode, timeout=60)) as one:
        yield one


class Asking(NamedTuple):
    """A client that asks its user."""

    client: "lazy_fastmcp.fastmcp.Client[Any]"
    answers: list[Any]
    """What the user says, one after the other."""
    asked: list[str]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asking(served: Path, way: Way, request: pytest.FixtureRequest) -> AsyncIterator[Asking]:
    """One that asks its user."""
    name, mode = way
    answers: list[Any] = []
    asked: list[str] = []

    async def ask(message: str, response_type: Any, params: Any, context: Any) -> Any:
        asked.append(message)
        return answers.pop()

    url = request.getfixturevalue("url") if name == "http" else None
    async with hold_in_task(
        lazy_fastmcp.fastmcp.Client(transport(served, url), mode=mode, timeout=60, elicitation_handler=ask)
    ) as one:
        yield Asking(one, answers, asked)


@SHARING
async def test_tools_calls_and_refusals(shared: Path, client: "lazy_fastmcp.fastmcp.Client[Any]") -> None:
    """The data arrive as such; a refusal is a tool's error, with reason and hint, and raised if the client wants that."""
    (shared / "workspace/other.txt").write_text("x")
    names = [tool.name for tool in await client.list_tools()]
    read = await client.call_tool("read_file", {"path": "notes.txt"})
    denied = await client.call_tool("read_file", {"path": "../x"}, raise_on_error=False)
    unasked = await client.call_tool("delete_file", {"path": "notes.txt"}, raise_on_error=False)
    with pytest.raises(lazy_fastmcp.errors.ToolError, match="reason=not_in_allow"):
        await client.call_tool("bash", {"command": "touch x"})

    assert names == NAMES
    assert read.structured_content["content"] == "first\n"  # type: ignore[index]
    assert read.data is not None
    assert (denied.is_error, denied.structured_content["reason"]) == (True, "path_outside_workspace")  # type: ignore[index]
    assert unasked.structured_content == {
        "outcome": "denied",
        "reason": "approval_unavailable",
        "message": "There is no one to ask.",
        "hint": "Find a way that needs no approval.",
        "retryable": False,
    }


@SHARING
@pytest.mark.parametrize("agrees", [True, False])
async def test_the_clients_user_is_asked(shared: Path, asking: Asking, *, agrees: bool) -> None:
    """The call runs if the user says so, and only then."""
    asking.asked.clear()
    asking.answers[:] = [
        {"answer": "allow once"} if agrees else lazy_fastmcp.elicitation.ElicitResult(action="decline")
    ]

    done = await asking.client.call_tool("delete_file", {"path": "notes.txt"}, raise_on_error=False)

    [asked] = asking.asked
    assert 'path: "notes.txt"' in asked
    assert ((shared / "workspace/notes.txt").exists(), done.is_error) == (not agrees, not agrees)
    assert agrees or done.structured_content["reason"] == "approval_denied"  # type: ignore[index]


@SHARING
async def test_progress_and_cancelling(shared: Path, client: "lazy_fastmcp.fastmcp.Client[Any]") -> None:
    """A long call reports that it goes on; cancelling it ends its program, and the call has its closing event."""
    before = len(events(shared))
    heard = asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert message == "still running"
        heard.set()

    long = asyncio.ensure_future(client.call_tool("bash", {"command": "sleep 50"}, progress_handler=note))
    await asyncio.wait_for(heard.wait(), 40)
    long.cancel()
    with pytest.raises(asyncio.CancelledError):
        await long

    (after,) = await closing_events(shared, "bash", before)
    assert (after["tool"], after["reason"], after["elapsed_ms"] < 45_000) == ("bash", "cancelled", True)


async def test_changed_tools_are_announced(place: Path, way: Way) -> None:
    """To a client with a handshake unasked, to one of 2026-07-28 on its subscription."""
    name, mode = way
    (place / "served.yaml").write_text(DISCOVERING_PROFILE)
    heard = asyncio.Event()

    async def hear(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.set()

    with ExitStack() as servers:
        url = servers.enter_context(serving(place)) if name == "http" else None
        async with lazy_fastmcp.fastmcp.Client(
            transport(place, url), mode=mode, timeout=60, message_handler=hear
        ) as client:
            before = [tool.name for tool in await client.list_tools()]
            add_greet_tool(place)
            if client.protocol_version == "2026-07-28":
                async with listen(client.session, tools_list_changed=True) as changes:
                    await client.call_tool("reload_tools", {})
                    assert await asyncio.wait_for(anext(changes), 60) == ToolsListChanged()
            else:
                await client.call_tool("reload_tools", {})
            await asyncio.wait_for(heard.wait(), 60)
            after = [tool.name for tool in await client.list_tools()]

    assert (before, after) == (["read_file", "reload_tools"], ["read_file", "reload_tools", "greet"])
