"""The OpenAI Agents SDK: `on_invoke_tool` of a profile's tool and of its own tool, and our dispatcher for Responses."""

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
    """Make one call through our adapter."""
    await ours.on_invoke_tool(context, ARGUMENTS)


async def native() -> None:
    """Make one call of the SDK's own tool."""
    await own.on_invoke_tool(own_context, OWN_ARGUMENTS)


async def dispatched() -> None:
    """Make one call through our dispatcher, in a response."""
    await aanswer_calls(host, RESPONSE)


OPERATIONS = {"bare": acall, "adapter": adapter, "native": native, "dispatched": dispatched}
