"""Clients learn of changed tools: after a handshake by themselves, since 2026-07-28 if they have subscribed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.subscriptions import ToolsListChanged
from mcp_types import ToolListChangedNotification

from .serving import GROWING, MODES, TOKEN, connected, grow, serving

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(params=["stdio", "http"])
async def connect(place: Path, request: pytest.FixtureRequest) -> AsyncIterator[Connect]:
    """What makes a client: of a server of its own, or of one that all share."""
    (place / "served.yaml").write_text(GROWING)
    if request.param == "stdio":
        yield lambda mode, **more: connected(place, mode, **more)
        return

    with serving(place) as url:

        @asynccontextmanager
        async def over_http(mode: Any, **more: Any) -> AsyncIterator[Client]:
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http,
                Client(streamable_http_client(url, http_client=http), mode=mode, **more) as client,
            ):
                yield client

        yield over_http


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools]


async def test_after_a_handshake_they_are_notified(place: Path, connect: Connect) -> None:
    """Unasked, as 2025-11-25 has it; the handshake says so. The list is then another."""
    heard = asyncio.Event()

    async def hear(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.set()

    async with connect("legacy", message_handler=hear) as client:
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed
        before = await names(client)
        await client.call_tool("read_file", {"path": "notes.txt"})
        assert not heard.is_set()
        grow(place)
        await client.call_tool("reload_tools", {})
        await asyncio.wait_for(heard.wait(), 20)
        after = await names(client)
        greeted = await client.call_tool("greet", {})

    assert (before, after) == (["read_file", "reload_tools"], ["read_file", "reload_tools", "greet"])
    assert greeted.content[0].text == "hello\n"  # type: ignore[union-attr]


@pytest.mark.parametrize("subscribes", [True, False])
async def test_since_2026_they_are_notified_if_they_have_subscribed(
    place: Path, connect: Connect, *, subscribes: bool
) -> None:
    """Once, on the subscription's own stream. Without one nothing arrives: that version forbids it."""
    heard: list[Any] = []

    async def hear(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.append(message)

    async with connect("auto", message_handler=hear) as client, AsyncExitStack() as subscriptions:
        before = await names(client)
        changes = []
        if subscribes:
            changes.append(await subscriptions.enter_async_context(client.listen(tools_list_changed=True)))
        grow(place)
        await client.call_tool("reload_tools", {})
        changed = [await asyncio.wait_for(anext(each), 20) for each in changes]
        after = await names(client)

    assert (before, after) == (["read_file", "reload_tools"], ["read_file", "reload_tools", "greet"])
    assert [type(each) for each in changed] == [ToolsListChanged] * subscribes
    assert len(heard) == subscribes
    assert all("io.modelcontextprotocol/subscriptionId" in each.params.meta for each in heard)


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_learns_of_a_reload_that_another_has_asked_for(place: Path, mode: str) -> None:
    """Over HTTP clients share the tools: each learns, whoever has had them loaded, and one that left disturbs none."""
    (place / "served.yaml").write_text(GROWING)
    heard = asyncio.Event()

    async def hear(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.set()

    @asynccontextmanager
    async def client(url: str, **more: Any) -> AsyncIterator[Client]:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http,
            Client(streamable_http_client(url, http_client=http), **more) as one,
        ):
            yield one

    with serving(place) as url:
        async with client(url, mode="legacy") as gone:
            await names(gone)
        async with client(url, mode="legacy", message_handler=hear) as idle, client(url, mode=mode) as other:
            await asyncio.sleep(0.5)  # Until the idle client's stream of notifications is open.
            grow(place)
            done = await other.call_tool("reload_tools", {})
            await asyncio.wait_for(heard.wait(), 20)
            after = await names(idle)

    assert not done.is_error
    assert after == ["read_file", "reload_tools", "greet"]
