"""pydantic-ai: `ToolManager.handle_call` of a profile's tool and of its own, which waits for a disk in a thread."""

import asyncio
from typing import Any

from bare import ARGS, acall, host, read
from pydantic_ai import RunContext
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset
from pydantic_ai.usage import RunUsage

from toolcharter_pydantic_ai import ProfileToolset


def _manager(toolset: AbstractToolset[Any]) -> ToolManager[Any]:
    run = RunContext(deps=None, model=TestModel(), usage=RunUsage(), prompt=None, messages=[], run_step=0)
    return asyncio.run(ToolManager(toolset).for_run_step(run))


ours, own = _manager(ProfileToolset(host)), _manager(FunctionToolset([read]))
OURS = ToolCallPart(tool_name="read_file", args=ARGS, tool_call_id="call")
OWN = ToolCallPart(tool_name="read", args=ARGS, tool_call_id="call")


async def adapter() -> None:
    """Make one call through our adapter."""
    await ours.handle_call(OURS)


async def native() -> None:
    """Make one call of pydantic-ai's own tool."""
    await own.handle_call(OWN)


OPERATIONS = {"bare": acall, "adapter": adapter, "native": native}
