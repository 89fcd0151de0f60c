"""A Pydantic AI agent with a profile's tools: one call is allowed, one is denied, and the model goes on.

Run it with the name of a model, such as `openai:gpt-5`; the tests run `converse` with a scripted one.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

from pydantic_ai import Agent

from toolcharter.hosts import open_host
from toolcharter_pydantic_ai import ProfileToolset

TASK = "Read notes.txt, then /etc/passwd. If a tool refuses, say why and go on without it."


async def converse(workspace: Path, model: Any) -> str:
    """What the agent says in the end about the files in *workspace*."""
    with open_host("reviewer", workspace=workspace, events=f"file:{workspace}.jsonl") as host:
        agent = Agent(model, toolsets=[ProfileToolset(host)])
        return (await agent.run(TASK)).output


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    (folder / "notes.txt").write_text("Buy milk.\n")
    print(asyncio.run(converse(folder, sys.argv[1])))
