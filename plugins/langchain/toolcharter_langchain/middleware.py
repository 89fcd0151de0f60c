"""An agent's own tools behind the gate."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from toolcharter import Caller, ToolError, scrub_value
from toolcharter.hosts import Host, HostResult
from toolcharter_langchain.approvals import Approvals
from toolcharter_langchain.tools import ProfileTool, to_message

Response = ToolMessage | Command[Any]


class GovernMiddleware(AgentMiddleware[Any, Any, Any]):
    """Sends every call of a tool that is not a profile's through the gate: rules, approvals, limits, events, scrubbing.

    The profile has to allow such a tool by its name, `allow: ["custom:NAME"]`. If the tool returns a message, its text
    is scrubbed and other content is dropped. If it returns a `Command`, the command's messages are scrubbed.

    Args:
        host: The host whose profile governs the calls.
        caller: Returns who makes the call of a request; by default the host's own caller.
    """

    def __init__(self, host: Host, *, caller: Callable[[ToolCallRequest], Caller | None] | None = None) -> None:
        super().__init__()
        self._host = host
        self._caller = caller
        self._approvals = Approvals()

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Response]) -> Response:
        """Make the call of *request* if the gate allows it, and return what the model sees."""
        if isinstance(request.tool, ProfileTool):
            return handler(request)
        call, caller, holder = request.tool_call, self._caller and self._caller(request), _ResponseHolder()

        def body(args: dict[str, Any]) -> Any:
            try:
                return holder.keep_response(handler(request.override(tool_call={**call, "args": args})))
            except GraphBubbleUp as stop:
                raise holder.keep_interrupt(stop) from stop

        schema = _visible_schema(request.tool)
        ids: dict[str, Any] = {"call_id": call["id"], "caller": caller}
        make = partial(self._host.govern, call["name"], call["args"], body, parameters=schema, **ids)
        pending = self._approvals.find_pending(call["id"], call["name"], call["args"], caller)
        result = make() if pending is None else None
        if pending := pending or (result and result.pending):
            answer = self._approvals.ask(call["id"], call["name"], call["args"], caller, pending)
            if answer is not None:
                result = self._host.answer(pending.state, answer, body=body, parameters=schema)
        return holder.to_response(result or make(), call["name"], call["id"])

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Response]]
    ) -> Response:
        """Do the same as `wrap_tool_call` in asynchronous code."""
        if isinstance(request.tool, ProfileTool):
            return await handler(request)
        call, caller, holder = request.tool_call, self._caller and self._caller(request), _ResponseHolder()

        async def body(args: dict[str, Any]) -> Any:
            try:
                return holder.keep_response(await handler(request.override(tool_call={**call, "args": args})))
            except GraphBubbleUp as stop:
                raise holder.keep_interrupt(stop) from stop

        schema = _visible_schema(request.tool)
        ids: dict[str, Any] = {"call_id": call["id"], "caller": caller}
        make = partial(self._host.agovern, call["name"], call["args"], body, parameters=schema, **ids)
        pending = self._approvals.find_pending(call["id"], call["name"], call["args"], caller)
        result = await make() if pending is None else None
        if pending := pending or (result and result.pending):
            answer = self._approvals.ask(call["id"], call["name"], call["args"], caller, pending)
            if answer is not None:
                result = await self._host.aanswer(pending.state, answer, body=body, parameters=schema)
        return holder.to_response(result or await make(), call["name"], call["id"])


class _ResponseHolder:
    """The `Command` that the tool returned or the interrupt that it raised: the gate's result holds neither."""

    def __init__(self) -> None:
        self._command: Command[Any] | None = None
        self._interrupt: GraphBubbleUp | None = None

    def keep_response(self, response: Response) -> str:
        """Return the text of *response* for the gate; keep a `Command`, which has no text.

        Raises:
            ToolError: The tool has failed.
        """
        if isinstance(response, Command):
            self._command = _scrub_command(response)
            return ""
        text = response.text
        if response.status == "error":
            raise ToolError(text, reason="tool_failed")
        return text

    def keep_interrupt(self, stop: GraphBubbleUp) -> ToolError:
        """Keep the interrupt that the tool itself has raised; return the error that the gate gets instead."""
        self._interrupt = stop
        return ToolError("The tool has interrupted the graph.", reason="interrupted")

    def to_response(self, result: HostResult, name: str, call_id: str | None) -> Response:
        """Return what the model sees, or raise the tool's own interrupt again."""
        if self._interrupt is not None:
            raise self._interrupt
        if self._command is not None and not result.is_error:
            return self._command
        message = to_message(result, name, call_id or "")
        assert isinstance(message, ToolMessage)  # noqa: S101 - the call has an identifier
        return message


def _scrub_command(command: Command[Any]) -> Command[Any]:
    """Return *command* with its messages scrubbed; its other updates of the graph's state are unchanged."""
    update: Any = command.update
    if not isinstance(update, dict) or not isinstance(messages := update.get("messages"), list):
        return command
    return replace(command, update={**update, "messages": [_scrub_message(message) for message in messages]})


def _scrub_message(message: Any) -> Any:
    if not isinstance(message, BaseMessage):
        return scrub_value(message)[0]
    changed = {"content": scrub_value(message.content)[0]}
    if isinstance(message, ToolMessage):
        changed["artifact"] = scrub_value(message.artifact)[0]
    return message.model_copy(update=changed)


def _visible_schema(tool: BaseTool | None) -> dict[str, Any] | None:
    """Return the JSON Schema of the arguments that the model gives *tool*, without those that LangChain injects."""
    if tool is None:
        return None
    schema: dict[str, Any] = convert_to_openai_tool(tool)["function"].get("parameters") or {"type": "object"}
    return schema
