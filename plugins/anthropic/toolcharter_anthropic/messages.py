"""Tool schemas for the Messages API, and the results to send back for the calls of a message.

Source: Anthropic, "Tool use"; anthropic 2.10.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from anthropic.types import Message, ToolParam, ToolResultBlockParam, ToolUseBlock

from toolcharter import ApprovalAnswer, Caller
from toolcharter.hosts import Host, HostResult, PendingApproval

MAX_THREADS = 16
"""How many calls of one message run at the same time in `answer_tool_uses`."""
Ask = Callable[[PendingApproval], ApprovalAnswer]
"""Asks a person about a call that needs approval, and returns the answer."""
AskAsync = Callable[[PendingApproval], Awaitable[ApprovalAnswer]]


def anthropic_tools(host: Host, *, caller: Caller | None = None) -> list[ToolParam]:
    """Return the tools of *host* as the argument `tools` of `client.messages.create`.

    Args:
        host: The host of the tools.
        caller: The caller of the tools; the host's own caller by default.
    """
    return [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
        for tool in host.tools(caller)
    ]


def answer_tool_uses(
    host: Host, message: Message, *, caller: Caller | None = None, ask: Ask | None = None
) -> list[ToolResultBlockParam]:
    """Make the calls of *message* at the same time, and return their results.

    Args:
        host: The host of the tools.
        message: The model's message. Tools that Anthropic runs (`server_tool_use`) are ignored.
        caller: The caller of the tools; the host's own caller by default.
        ask: Asks a person about calls that need approval. Without it, the model reads that no person could be asked.

    Returns:
        `tool_result` blocks in the order of the calls: the content of the next message of the role `user`.
    """
    calls = list(_tool_uses(message))

    def answer(call: ToolUseBlock) -> ToolResultBlockParam:
        result = host.call(call.name, call.input, call_id=call.id, caller=caller)
        if result.pending is not None and ask is not None:
            result = host.answer(result.pending.state, ask(result.pending))
        return _result_block(call, result)

    if len(calls) < 2:  # noqa: PLR2004 - a single call needs no threads
        return [answer(call) for call in calls]
    with ThreadPoolExecutor(min(len(calls), MAX_THREADS)) as threads:
        return list(threads.map(answer, calls))


async def aanswer_tool_uses(
    host: Host, message: Message, *, caller: Caller | None = None, ask: AskAsync | None = None
) -> list[ToolResultBlockParam]:
    """Make the calls as `answer_tool_uses` does, from asynchronous code. Cancelling the task ends the calls."""

    async def answer(call: ToolUseBlock) -> ToolResultBlockParam:
        result = await host.acall(call.name, call.input, call_id=call.id, caller=caller)
        if result.pending is not None and ask is not None:
            result = await host.aanswer(result.pending.state, await ask(result.pending))
        return _result_block(call, result)

    return list(await asyncio.gather(*map(answer, _tool_uses(message))))


def _tool_uses(message: Message) -> Iterator[ToolUseBlock]:
    return (block for block in message.content if block.type == "tool_use")


def _result_block(call: ToolUseBlock, result: HostResult) -> ToolResultBlockParam:
    return {"type": "tool_result", "tool_use_id": call.id, "content": result.text, "is_error": result.is_error}
