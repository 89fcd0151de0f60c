"""An agent of the OpenAI Agents SDK with a profile's tools: one call is allowed, one is denied, and the model goes on.

Run it with a model of OpenAI's (`OPENAI_API_KEY`); the tests run `converse` with a scripted one.
"""

import asyncio
import tempfile
from pathlib import Path

from agents import Agent, Model, Runner

from toolcharter.hosts import open_host
from toolcharter_openai.agents_sdk import agent_tools


async def converse(workspace: Path, model: str | Model | None = None) -> str:
    """What the agent says in the end about the files in *workspace*."""
    with open_host("reviewer", workspace=workspace, events=f"file:{workspace}.jsonl") as host:
        agent = Agent(
            name="reviewer",
            instructions="Read notes.txt, then /etc/passwd. If a tool refuses, say why and go on without it.",
            model=model,
            tools=[*agent_tools(host)],
        )
        return str((await Runner.run(agent, "Go.")).final_output)


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    (folder / "notes.txt").write_text("Buy milk.\n")
    print(asyncio.run(converse(folder)))
