"""Clients learn of changed tools: after a handshake by themselves, since 2026-07-28 if they have subscribed."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.subscriptions import ToolsListChanged
from mcp_types import ToolListChangedNotification

from .serving import DISCOVERING_PROFILE, MODES, TOKEN, add_greet_tool, connect_client, serving

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(scope="module")
def growing(served: Path) -> Path:
    """A folder whose profile finds tools while it serves."""
    (served / "served.yaml").write_text(DISCOVERING_PROFILE)
    return served


@pytest.fixture(scope="module")
def url(growing: Path) -> Iterator[str]:
    """A server of it, which all tests over HTTP share."""
    with serving(growing) as address:
        yield address


@asynccontextmanager
async def over_http(url: str, mode: Any, **more: Any) -> AsyncIterator[Client]:
    """A client of a server that runs already."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, **more) as client,
    ):
        yield client


async def forget_what_grew(place: Path, url: str) -> None:
    """Have the server serve what it began with."""
    rmtree(place / "tools", ignore_errors=True)
    async with over_http(url, "auto") as client:
        await client.call_tool("reload_tools", {})
        assert await names(client) == ["read_file", "reload_tools"]


class Served(NamedTuple):
    """A server, as clients reach it."""

    place: Path
    connect: Connect


@pytest.fixture(params=["stdio", "http"])
async def server(place: Path, growing: Path, request: pytest.FixtureRequest) -> Served:
    """One that each client starts itself, or the one that all share."""
    if request.param == "http":
        url = request.getfixturevalue("url")
        await forget_what_grew(growing, url)
        return Served(growing, partial(over_http, url))
    (place / "served.yaml").write_text(DISCOVERING_PROFILE)
    return Served(place, partial(connect_client, place))


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools]


async def test_after_a_handshake_they_are_notified(server: Served) -> None:
    """Unasked, as 2025-11-25 has it; the handshake says so. The list is then another."""
    heard = asyncio.Event()

    async def hear(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.set()

    async with server.connect("legacy", message_handler=hear) as client:
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed
        before = await names(client)
        await client.call_tool("read_file", {"path": "notes.txt"})
        assert not heard.is_set()
        add_greet_tool(server.place)
        await client.call_tool("reload_tools", {})
        await asyncio.wait_for(heard.wait(), 60)
        after = await names(client)
        greeted = await client.call_tool("greet", {})

    assert (before, after) == (["read_file", "reload_tools"], ["read_file", "reload_tools", "greet"])
    assert greeted.content[0].text == "hello\n"  # type: ignore[union-attr]


@pytest.mark.parametrize("subscribes", [True, False])
async def test_since_2026_they_are_notified_if_they_have_subscribed(server: Served, *, subscribes: bool) -> None:
    """Once, on the subscription's own stream. Without one nothing arrives: that version forbids it."""
    heard: list[Any] = []

    async def hear(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.append(message)

    async with server.connect("auto", message_handler=hear) as client, AsyncExitStack() as subscriptions:
        before = await names(client)
        changes = []
        if subscribes:
            changes.append(await subscriptions.enter_async_context(client.listen(tools_list_changed=True)))
        add_greet_tool(server.place)
        await client.call_tool("reload_tools", {})
        changed = [await asyncio.wait_for(anext(each), 60) for each in changes]
        after = await names(client)

    assert (before, after) == (["read_file", "reload_tools"], ["read_file", "reload_tools", "greet"])
    assert [type(each) for each in changed] == [ToolsListChanged] * subscribes
    assert len(heard) == subscribes
    assert all("io.modelcontextprotocol/subscriptionId" in each.params.meta for each in heard)


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_learns_of_a_reload_that_another_has_asked_for(growing: Path, url: str, mode: str) -> None:
    """Over HTTP clients share the tools: each learns, whoever has had them loaded, and one that left disturbs none."""
    await forget_what_grew(growing, url)
    heard = asyncio.Event()

    async def hear(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.set()

    async with over_http(url, "legacy") as gone:
        await names(gone)
    async with over_http(url, "legacy", message_handler=hear) as idle, over_http(url, mode) as other:
        for patience_s in (0.5, 5, 60):
            await asyncio.sleep(0.5)  # Until the idle client's stream of notifications is open; it may take longer.
            if patience_s > 0.5:
                await forget_what_grew(growing, url)
            add_greet_tool(growing)
            done = await other.call_tool("reload_tools", {})
            with suppress(TimeoutError):
                await asyncio.wait_for(heard.wait(), patience_s)
                break
        assert heard.is_set()
        after = await names(idle)

    assert not done.is_error
    assert after == ["read_file", "reload_tools", "greet"]
