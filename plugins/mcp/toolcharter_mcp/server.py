"""`ProfileServer`: a host's tools as an MCP server, for clients of 2026-07-28 and for those of the handshake before."""

import asyncio
import json
import threading
from collections.abc import Mapping
from typing import Any
from weakref import WeakSet

import anyio
import anyio.from_thread
import anyio.lowlevel
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ToolsListChanged
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.applications import Starlette

from toolcharter import ApprovalAnswer
from toolcharter.hosts import Host, HostResult, PendingApproval, StateRejected

QUESTION = "approval"
"""The key of the one input that a call may require."""
ANSWERS = ("allow once", "deny")
PROGRESS_S = 1.0
"""How long a call runs between two notifications of its progress, in seconds."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "title": "May this call run?", "enum": list(ANSWERS)}},
    "required": ["answer"],
}
Context = ServerRequestContext[Any, Any]


class ProfileServer:
    """The tools of one host, in the profile's order, which is the same for every connection."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._bus = InMemorySubscriptionBus()
        self._sessions: WeakSet[ServerSession] = WeakSet()
        self._server: Server[Any] = Server(
            "toolcharter",
            title=f"toolcharter: {host.profile}",
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=ListenHandler(self._bus),
        )

    async def run(self, incoming: Any, outgoing: Any) -> None:
        """Serve one connection on a pair of streams until the client leaves."""
        options = self._server.create_initialization_options(NotificationOptions(tools_changed=True))
        end = self._announce_reloads()
        try:
            await self._server.run(incoming, outgoing, options)
        finally:
            end()

    def http_application(self, path: str, host: str, security: TransportSecuritySettings) -> Starlette:
        """The ASGI application, without the check of a token."""
        return self._server.streamable_http_app(streamable_http_path=path, host=host, transport_security=security)

    @property
    def server(self) -> Server[Any]:
        """The server of the SDK."""
        return self._server

    def _announce_reloads(self) -> Any:
        """Have clients learn of changed tools; returns what ends that."""
        token = anyio.lowlevel.current_token()
        loop_thread = threading.get_ident()

        def announce(_: Host) -> None:
            if threading.get_ident() != loop_thread:
                anyio.from_thread.run(self._changed, token=token)

        return self._host.subscribe(announce)

    async def _changed(self) -> None:
        await self._bus.publish(ToolsListChanged())
        for session in list(self._sessions):
            await session.send_tool_list_changed()

    async def _list_tools(self, ctx: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
        self._sessions.add(ctx.session)
        return ListToolsResult(tools=[Tool.model_validate(tool) for tool in self._host.schemas("mcp")])

    async def _call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        self._sessions.add(ctx.session)
        beside = asyncio.create_task(_report_progress(ctx))
        try:
            return await self._answered(ctx, params)
        finally:
            beside.cancel()

    async def _answered(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        args: Mapping[str, Any] = params.arguments or {}
        if params.request_state is not None:
            given = (params.input_responses or {}).get(QUESTION)
            return _result(await self._redeem(params.request_state, given, params.name, args))
        result = await self._host.acall(params.name, args, call_id=_call_id(ctx))
        if result.pending is None or not _can_ask(ctx):
            return _result(result)
        question = ElicitRequestFormParams(message=_message(result.pending), requested_schema=SCHEMA)
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return InputRequiredResult(
                input_requests={QUESTION: ElicitRequest(params=question)}, request_state=result.pending.state
            )
        answer = await ctx.session.elicit_form(question.message, SCHEMA, ctx.request_id)
        return _result(await self._redeem(result.pending.state, answer, params.name, args))

    async def _redeem(self, state: str, given: object, name: str, args: Mapping[str, Any]) -> HostResult:
        """Make the call that a person was asked about, with their answer; anything but "allow once" is a refusal."""
        agreed = (
            isinstance(given, ElicitResult)
            and given.action == "accept"
            and (given.content or {}).get("answer") == ANSWERS[0]
        )
        try:
            return await self._host.aanswer(state, ApprovalAnswer("allow_once" if agreed else "deny"), of=(name, args))
        except StateRejected as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None


def _call_id(ctx: Context) -> str | None:
    return None if ctx.request_id is None else f"mcp-{ctx.request_id}"


def _can_ask(ctx: Context) -> bool:
    """Whether the client has said that it can ask its user."""
    known = ctx.session.client_capabilities
    return known is not None and known.elicitation is not None


def _message(pending: PendingApproval) -> str:
    """What the client's user reads: the call as it will run."""
    asked = pending.request
    lines = [f"The agent wants to call {asked.tool!r} in {asked.workspace}."]
    lines += [f"It runs: {command}" for command in asked.commands]
    lines += [f"{name}: {json.dumps(value, ensure_ascii=True)}" for name, value in asked.args.items()]
    lines += [f"A person has to agree: {asked.message or asked.reason}"]
    return "\n".join(lines)


def _result(result: HostResult) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=result.text)],
        structured_content=result.structured,
        is_error=result.is_error,
    )


async def _report_progress(ctx: Context) -> None:
    """Say each second that the call goes on; the SDK drops it if the client did not ask."""
    began = anyio.current_time()
    while True:
        await anyio.sleep(PROGRESS_S)
        await ctx.session.report_progress(anyio.current_time() - began, message="still running")
