"""Schemas for the Responses and Chat Completions APIs, and the answers to the calls of a response."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple

from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from toolcharter import ApprovalAnswer, Caller
from toolcharter.hosts import Host, HostResult, PendingApproval, arguments_of

MAX_THREADS = 16
"""How many calls of one response run at the same time in `answer_calls`."""
Ask = Callable[[PendingApproval], ApprovalAnswer]
"""Asks a person about a call that needs one, and returns the answer."""
AskAsync = Callable[[PendingApproval], Awaitable[ApprovalAnswer]]


def openai_tools(
    host: Host, api: Literal["responses", "chat"] = "responses", *, strict: bool = False, caller: Caller | None = None
) -> list[dict[str, Any]]:
    """Return *host*'s tools as the argument `tools` of `client.responses.create` or `client.chat.completions.create`.

    Args:
        host: The host of the profile.
        api: Which of the two interfaces.
        strict: Write schemas for strict mode: every argument is required, and one with a default may be null.
        caller: Who will call, if it is not the host's own caller.
    """
    return host.schemas("openai" if api == "responses" else "openai-chat", strict=strict, caller=caller)


class _Call(NamedTuple):
    id: str
    name: str
    arguments: str
    is_chat: bool

    def output_item(self, result: HostResult) -> dict[str, Any]:
        """Return the item or message that goes back to the model."""
        if self.is_chat:
            return {"role": "tool", "tool_call_id": self.id, "content": result.text}
        return {"type": "function_call_output", "call_id": self.id, "output": result.text}


def answer_calls(
    host: Host, response: Response | ChatCompletion, *, caller: Caller | None = None, ask: Ask | None = None
) -> list[dict[str, Any]]:
    """Make the calls that *response* asks for, at the same time; return what to send back, in the order of the calls.

    Args:
        host: The host of the profile.
        response: A response of either interface. Of a chat completion, only the first choice is read.
        caller: Who calls, if it is not the host's own caller.
        ask: Asks a person about a call that needs one. Without it the model reads that no one could be asked.

    Returns:
        Items of `input` (`function_call_output`), or messages of the role `tool`.
    """
    calls = list(_calls_of(response))

    def answer(call: _Call) -> dict[str, Any]:
        result = host.call(call.name, arguments_of(call.arguments), call_id=call.id, caller=caller)
        if result.pending is not None and ask is not None:
            result = host.answer(result.pending.state, ask(result.pending))
        return call.output_item(result)

    if len(calls) < 2:  # noqa: PLR2004 - one needs no threads
        return [answer(call) for call in calls]
    with ThreadPoolExecutor(min(len(calls), MAX_THREADS)) as threads:
        return list(threads.map(answer, calls))


async def aanswer_calls(
    host: Host, response: Response | ChatCompletion, *, caller: Caller | None = None, ask: AskAsync | None = None
) -> list[dict[str, Any]]:
    """Do the same as `answer_calls` in asynchronous code. Cancelling the task ends the calls."""

    async def answer(call: _Call) -> dict[str, Any]:
        result = await host.acall(call.name, arguments_of(call.arguments), call_id=call.id, caller=caller)
        if result.pending is not None and ask is not None:
            result = await host.aanswer(result.pending.state, await ask(result.pending))
        return call.output_item(result)

    return list(await asyncio.gather(*map(answer, _calls_of(response))))


def _calls_of(response: Response | ChatCompletion) -> Iterator[_Call]:
    if isinstance(response, Response):
        for item in response.output:
            if item.type == "function_call":
                yield _Call(item.call_id, item.name, item.arguments, is_chat=False)
    elif response.choices:
        for call in response.choices[0].message.tool_calls or ():
            if call.type == "function":
                yield _Call(call.id, call.function.name, call.function.arguments, is_chat=True)
