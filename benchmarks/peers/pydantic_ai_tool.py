"""pydantic-ai, ungoverned: `ToolManager.handle_call`, its own path from a model's call to a result.

An `async` tool runs in place; a plain function runs in a thread, which costs several times as much.
"""

import asyncio

from pydantic_ai import RunContext
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RunUsage

toolset = FunctionToolset()


@toolset.tool_plain
async def read(path: str, limit: int = 10) -> str:  # noqa: ARG001 - the same tool everywhere
    """Read a file."""
    return "x" * 200


@toolset.tool_plain
def read_sync(path: str, limit: int = 10) -> str:  # noqa: ARG001 - the same tool everywhere
    """Read a file."""
    return "x" * 200


def _manager() -> ToolManager:
    run = RunContext(deps=None, model=TestModel(), usage=RunUsage(), prompt=None, messages=[], run_step=0)
    return asyncio.run(ToolManager(toolset).for_run_step(run))


manager = _manager()
args = {"path": "src/app.py", "limit": 3}
part = ToolCallPart(tool_name="read", args=args, tool_call_id="call")
sync_part = ToolCallPart(tool_name="read_sync", args=args, tool_call_id="call")


async def call() -> None:
    """Make one call of an asynchronous tool: the fastest public interface."""
    await manager.handle_call(part)


async def sync_tool() -> None:
    """Make one call of a synchronous tool."""
    await manager.handle_call(sync_part)


OPERATIONS = {"call": call, "sync_tool": sync_tool}
