"""The OpenAI Agents SDK: `on_invoke_tool` of a profile's tool and of its own; the dispatcher for Responses alone."""

import json
from typing import Any

from agents import function_tool
from agents.tool_context import ToolContext
from bare import ARGS, acall, host, read
from openai.types.responses import Response, ResponseFunctionToolCall

from toolcharter_openai import aanswer_calls
from toolcharter_openai.agents_sdk import agent_tools

(ours,) = agent_tools(host)
own = function_tool(read)
ARGUMENTS = json.dumps({**ARGS, **dict.fromkeys(set(ours.params_json_schema["properties"]) - set(ARGS))})
OWN_ARGUMENTS = json.dumps(ARGS)
context: Any = ToolContext(context=None, tool_name="read_file", tool_call_id="call", tool_arguments=ARGUMENTS)
own_context: Any = ToolContext(context=None, tool_name="read", tool_call_id="call", tool_arguments=OWN_ARGUMENTS)
CALL = ResponseFunctionToolCall(type="function_call", call_id="call", name="read_file", arguments=ARGUMENTS)
RESPONSE = Response.model_construct(output=[CALL])


async def adapter() -> None:
    """One call of ours."""
    await ours.on_invoke_tool(context, ARGUMENTS)


async def native() -> None:
    """One call of its own."""
    await own.on_invoke_tool(own_context, OWN_ARGUMENTS)


async def dispatched() -> None:
    """One call of ours in a response."""
    await aanswer_calls(host, RESPONSE)


OPERATIONS = {"bare": acall, "adapter": adapter, "native": native, "dispatched": dispatched}
