"""`ProfileServer`: a host's tools as an MCP server, for clients of protocol 2026-07-28 and for older ones."""

import asyncio
import json
import re
import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import anyio
from mcp.server import InitializationOptions, NotificationOptions, Server, ServerRequestContext
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
    NotificationParams,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.applications import Starlette

from toolcharter import ApprovalAnswer, read_trace, within_trace
from toolcharter.hosts import Host, HostResult, PendingApproval, StateRejected

QUESTION_KEY = "approval"
"""The key of the one input that a call may require."""
ANSWERS = ("allow once", "deny")
PROGRESS_INTERVAL_S = 1.0
"""How long a call runs between two notifications of its progress, in seconds."""
PLAIN_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""The identifiers of requests that events repeat as they are."""
ANNOUNCE_TIMEOUT_S = 10.0
"""How long one client may take to accept the notification that tools have changed, in seconds."""
ANSWER_SCHEMA: dict[str, Any] = {
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
        self._sessions: set[ServerSession] = set()
        """One session for each open connection whose client made a handshake."""
        self._server = _AnnouncingServer(
            "toolcharter",
            version=version("toolcharter-mcp"),
            title=f"toolcharter: {host.profile}",
            lifespan=self._announcing_reloads,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        self._server.add_notification_handler("notifications/initialized", NotificationParams, self._hold_session)

    async def run(self, incoming: Any, outgoing: Any) -> None:
        """Serve one connection on a pair of streams until the client leaves."""
        await self._server.run(incoming, outgoing, self._server.create_initialization_options())

    def http_application(self, path: str, host: str, security: TransportSecuritySettings) -> Starlette:
        """Return the ASGI application, without the check of the token."""
        return self._server.streamable_http_app(streamable_http_path=path, host=host, transport_security=security)

    @property
    def server(self) -> Server[Any]:
        """The server of the SDK."""
        return self._server

    @asynccontextmanager
    async def _announcing_reloads(self, _: Server[Any]) -> AsyncGenerator[None]:
        """Announce changed tools to clients for as long as the server runs, over every transport."""
        loop = asyncio.get_running_loop()
        announcements: set[asyncio.Task[None]] = set()

        def begin() -> None:
            task = loop.create_task(self._announce_change())
            announcements.add(task)
            task.add_done_callback(announcements.discard)

        def note(_: Host) -> None:
            loop.call_soon_threadsafe(begin)  # The thread of the reload does not wait for clients.

        end = self._host.subscribe(note)
        try:
            yield
        finally:
            end()
            for task in announcements:
                task.cancel()

    async def _hold_session(self, ctx: Context, _: NotificationParams) -> None:
        """Announce changed tools to a connection until it ends, which cancels this handler.

        Clients of 2026-07-28 make no handshake. They get only the notifications that they have subscribed to.
        """
        session = ctx.session
        if any(known.client_params is session.client_params for known in self._sessions):
            return
        self._sessions.add(session)
        try:
            await anyio.sleep_forever()
        finally:
            self._sessions.discard(session)

    async def _announce_change(self) -> None:
        await self._bus.publish(ToolsListChanged())
        await asyncio.gather(*(_announce(session) for session in self._sessions))

    async def _list_tools(self, _: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[Tool.model_validate(tool) for tool in self._host.schemas("mcp")])

    async def _call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        beside = asyncio.create_task(_report_progress(ctx))
        try:
            with within_trace(read_trace(ctx.meta)):  # SEP-414 defines the trace's keys there.
                return await self._run_call(ctx, params)
        finally:
            beside.cancel()

    async def _run_call(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        args: Mapping[str, Any] = params.arguments or {}
        if params.request_state is not None:
            given = (params.input_responses or {}).get(QUESTION_KEY)
            return _to_result(await self._resume_call(params.request_state, given, params.name, args))
        result = await self._host.acall(params.name, args, call_id=_call_id(ctx))
        if result.pending is None or not _can_ask(ctx):
            return _to_result(result)
        question = ElicitRequestFormParams(message=_question_text(result.pending), requested_schema=ANSWER_SCHEMA)
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return InputRequiredResult(
                input_requests={QUESTION_KEY: ElicitRequest(params=question)}, request_state=result.pending.state
            )
        answer = await ctx.session.elicit_form(question.message, ANSWER_SCHEMA, ctx.request_id)
        return _to_result(await self._resume_call(result.pending.state, answer, params.name, args))

    async def _resume_call(self, state: str, given: object, name: str, args: Mapping[str, Any]) -> HostResult:
        """Make the call that a person was asked about, with their answer. Only "allow once" allows the call."""
        agreed = (
            isinstance(given, ElicitResult)
            and given.action == "accept"
            and (given.content or {}).get("answer") == ANSWERS[0]
        )
        try:
            return await self._host.aanswer(state, ApprovalAnswer("allow_once" if agreed else "deny"), of=(name, args))
        except StateRejected as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None


class _AnnouncingServer(Server[Any]):
    """Declares in each handshake that it announces changed tools. The SDK's HTTP transport would not declare it."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


async def _announce(session: ServerSession) -> None:
    with anyio.move_on_after(ANNOUNCE_TIMEOUT_S):
        await session.send_tool_list_changed()


def _call_id(ctx: Context) -> str:
    """Return the client's request identifier, made unique: each client counts from one, and may send any text."""
    sent = str(ctx.request_id)
    return f"mcp-{sent if PLAIN_ID.fullmatch(sent) else 'x'}-{secrets.token_hex(4)}"


def _can_ask(ctx: Context) -> bool:
    """Return whether the client has declared that it can ask its user."""
    known = ctx.session.client_capabilities
    return known is not None and known.elicitation is not None


def _question_text(pending: PendingApproval) -> str:
    """Describe the call as it will run, for the client's user."""
    request = pending.request
    lines = [f"The agent wants to call {request.tool!r} in {request.workspace}."]
    lines += [f"It runs: {_escape_line_breaks(command)}" for command in request.commands]
    lines += [f"{name}: {json.dumps(value, ensure_ascii=True)}" for name, value in request.args.items()]
    lines += [f"A person has to agree: {request.message or request.reason}"]
    return "\n".join(lines)


def _escape_line_breaks(command: str) -> str:
    """Return *command* without line breaks: text after a line break would look like another line of the question."""
    return command if command.isascii() and command.isprintable() else json.dumps(command)


def _to_result(result: HostResult) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=result.text)],
        structured_content=result.structured,
        is_error=result.is_error,
    )


async def _report_progress(ctx: Context) -> None:
    """Report each second that the call is still running. The SDK drops the report if the client did not ask for it."""
    began = anyio.current_time()
    while True:
        await anyio.sleep(PROGRESS_INTERVAL_S)
        await ctx.session.report_progress(anyio.current_time() - began, message="still running")
