"""The contract of hosts, held by the MCP server, for clients of both eras of the protocol."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from mcp import Client
from mcp_types import ElicitResult, TextContent

from toolcharter_mcp.server import ProfileServer

from .contract import Adapter, Call, HostContract, Place, SeenResult


class McpClient(Adapter):
    """The SDK's client of a server in the same process, after 2026-07-28 as the SDK chooses."""

    mode: ClassVar[Any] = "auto"

    async def run(self, calls: Sequence[Call]) -> list[SeenResult]:
        async with Client(ProfileServer(self.host).server, mode=self.mode) as client:
            made = await asyncio.gather(*(client.call_tool(one.name, one.args) for one in calls))
        return [_seen(result) for result in made]

    async def answer(self, call: Call, *, granted: bool) -> SeenResult:
        async def ask(context: Any, params: Any) -> Any:
            return ElicitResult(action="accept", content={"answer": "allow once" if granted else "deny"})

        server = ProfileServer(self.host).server
        async with Client(server, mode=self.mode, elicitation_callback=ask) as client:
            return _seen(await client.call_tool(call.name, call.args))


class OlderClient(McpClient):
    """The same with the handshake of the versions before."""

    mode = "legacy"


class McpPlace(Place):
    """The server makes the identifiers of calls: the n-th that the log has is that of `call_n`, a sole one that of all."""

    def shown(self, call_id: str | None = None) -> list[tuple[str, str | None, str | None]]:
        if call_id is None:
            return super().shown()
        known = list(dict.fromkeys(event["call_id"] for event in self.events()))
        return super().shown(known[0] if len(known) == 1 else known[int(call_id.removeprefix("call_"))])


class TestMcp(HostContract):
    """Clients of 2026-07-28."""

    adapter = McpClient

    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return McpPlace(tmp_path / "framework")


class TestOlderMcp(TestMcp):
    """Clients of 2025-11-25 and before."""

    adapter = OlderClient


def _seen(result: Any) -> SeenResult:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return SeenResult(content.text, result.is_error)
