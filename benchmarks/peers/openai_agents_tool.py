"""openai-agents, ungoverned: `on_invoke_tool` of an asynchronous tool, with the arguments as JSON text."""

from agents import function_tool
from agents.tool_context import ToolContext

ARGUMENTS = '{"path": "src/app.py", "limit": 3}'


@function_tool
async def read(path: str, limit: int = 10) -> str:  # noqa: ARG001 - the same tool everywhere
    """Read a file."""
    return "x" * 200


context = ToolContext(context=None, tool_name="read", tool_call_id="call", tool_arguments=ARGUMENTS)


async def call() -> None:
    """Make one call."""
    await read.on_invoke_tool(context, ARGUMENTS)


OPERATIONS = {"call": call}
