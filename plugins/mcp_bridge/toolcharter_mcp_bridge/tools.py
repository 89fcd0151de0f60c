"""Makes a toolcharter tool of a server's tool: its spec, its body, and the translation of its result."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import orjson

from toolcharter import Caller, Reason, ToolContext, ToolPolicy, ToolRuntime, ToolSpec
from toolcharter_mcp_bridge.policy import BridgeReason, McpBridgePolicy, ServerPolicy
from toolcharter_mcp_bridge.server import Offer, Unavailable
from toolcharter_mcp_bridge.texts import fence_text, full_name, visible_text
from toolcharter_mcp_bridge.wire import ConnectionLost, ServerError

_LONGEST_MESSAGE = 2_000
_MAX_PARTS = 1_000
"""The maximum number of parts of a result that are read."""


class Servers(Protocol):
    """The part of the bridge that a tool needs."""

    def admit(self, server: str, tool: str, call_id: str) -> str | None:
        """Return None if the tool may run now, or else the message of a denial with `tool_changed`."""
        ...

    def send(self, server: str, tool: str, args: Mapping[str, Any], caller: Caller) -> Awaitable[Mapping[str, Any]]:
        """Call the tool for *caller*; raises as `Server.call`, and `KeyError` if the server does not list the tool."""
        ...


class ShownTool(NamedTuple):
    """A tool as agents see it: the definition that a person approved last, or else the server's current one."""

    server: str
    offer: Offer

    @property
    def name(self) -> str:
        """`mcp__server__tool`."""
        return full_name(self.server, self.offer.definition.name)


def spec_of(shown: ShownTool, server: ServerPolicy, bridge: McpBridgePolicy, servers: Servers) -> ToolSpec[ToolPolicy]:
    """Return the spec of a tool."""
    definition = shown.offer.definition

    def build(_workspace: Path, _policy: ToolPolicy, rt: ToolRuntime) -> Callable[..., Any]:
        return partial(_run, _Tool(shown.server, definition.name, shown.name, bridge, servers, rt))

    return ToolSpec(
        shown.name,
        ToolPolicy,
        build,
        reasons=BridgeReason,
        capabilities=server.capabilities,
        safety=server.safety,
        kind="mcp",
        staged=True,
        parameters=shown.offer.parameters,
        path_arguments=(),
        description=f"{definition.description or definition.name} (A tool of the MCP server {shown.server!r}.)",
        fingerprint=definition.hash,
    )


class _Tool(NamedTuple):
    server: str
    name: str
    full: str
    bridge: McpBridgePolicy
    servers: Servers
    rt: ToolRuntime


async def _run(tool: _Tool, **args: Any) -> str:
    ctx = tool.rt.start(tool.full, **args)
    ctx.policy_passed()
    if (objection := tool.servers.admit(tool.server, tool.name, ctx.call_id)) is not None:
        return ctx.deny(BridgeReason.TOOL_CHANGED, objection)
    try:
        answer = await tool.servers.send(tool.server, tool.name, args, tool.rt.caller)
    except ServerError as error:
        return ctx.error(_fence(tool, visible_text(str(error), _LONGEST_MESSAGE)), reason=BridgeReason.SERVER_ERROR)
    except (KeyError, Unavailable, ConnectionLost, TimeoutError) as error:
        reason, said = _FAILURES[type(error)]
        retryable = reason in {BridgeReason.SERVER_UNAVAILABLE, Reason.TIMED_OUT}
        return ctx.error(said.format(repr(tool.server), error), reason=reason, retryable=retryable)
    return _to_result(tool, ctx, answer)


_FAILURES: dict[type[Exception], tuple[str, str]] = {
    KeyError: (BridgeReason.TOOL_GONE, "The server {} does not have this tool any more."),
    Unavailable: (BridgeReason.SERVER_UNAVAILABLE, "The server {} cannot be reached: {}"),
    ConnectionLost: (
        BridgeReason.CONNECTION_LOST,
        "The connection to {} was lost, and the call may have run or not: {}",
    ),
    TimeoutError: (Reason.TIMED_OUT, "The server {} did not answer in time."),
}


def _to_result(tool: _Tool, ctx: ToolContext, answer: Mapping[str, Any]) -> str:
    if "inputRequests" in answer or answer.get("resultType") == "input_required":
        message = f"The server {tool.server!r} asks for input before it answers, which the bridge does not support."
        return ctx.error(message, reason=BridgeReason.INPUT_REQUIRED)
    text, truncated, data = answer_text(answer, tool.bridge.max_output_chars)
    if answer.get("isError") is True:
        return ctx.error(_fence(tool, text), reason=Reason.TOOL_ERROR, truncated=truncated)
    return ctx.ok(_fence(tool, text), data=data, truncated=truncated)


def _fence(tool: _Tool, text: str) -> str:
    return fence_text(tool.server, text) if tool.bridge.mark_output else text


def answer_text(answer: Mapping[str, Any], most: int) -> tuple[str, bool, Any]:
    """Return a result's parts as one text; whether text is missing; and the structured form, if there is one."""
    content = answer.get("content")
    parts = content if isinstance(content, list) else []
    text = "\n".join(_part(part) for part in parts[:_MAX_PARTS])
    return text[:most], len(text) > most or len(parts) > _MAX_PARTS, _data(answer, most)


def _part(part: object) -> str:
    if not isinstance(part, dict):
        return "[unreadable]"
    kind = visible_text(part.get("type"), 20)
    if kind == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    resource = part.get("resource")
    if kind == "resource" and isinstance(resource, dict) and isinstance(resource.get("text"), str):
        return str(resource["text"])
    if kind == "resource_link":
        return f"[resource {visible_text(part.get('name'), 200)}: {visible_text(part.get('uri'), 500)}]"
    data = part.get("data", resource.get("blob") if isinstance(resource, dict) else None)
    size = len(data) * 3 // 4 if isinstance(data, str) else 0
    return f"[{kind or 'unknown'} {visible_text(part.get('mimeType'), 100)}, {size} bytes: left out]"


def _data(answer: Mapping[str, Any], most: int) -> Any:
    data = answer.get("structuredContent")
    if not isinstance(data, dict):
        return None
    with suppress(TypeError, ValueError, RecursionError):
        return data if len(orjson.dumps(data)) <= most else None
    return None


async def in_loop(
    loop: asyncio.AbstractEventLoop, make: Callable[[], "Awaitable[Mapping[str, Any]]"]
) -> Mapping[str, Any]:
    """Await the result of *make* in another thread's *loop*. Cancelling the wait here cancels the work there."""

    async def there() -> Mapping[str, Any]:
        return await make()

    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(there(), loop))
