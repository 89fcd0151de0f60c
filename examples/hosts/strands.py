"""A Strands agent with a profile's tools: one call is allowed, one is denied, and the model goes on.

Run it with Amazon Bedrock's default model; the tests run `converse` with a scripted one.
"""

import tempfile
from pathlib import Path
from typing import Any

from strands import Agent

from toolcharter.hosts import open_host
from toolcharter_strands import strands_tools

TASK = "Read notes.txt, then /etc/passwd. If a tool refuses, say why and go on without it."


def converse(workspace: Path, model: Any = None) -> str:
    """What the agent says in the end about the files in *workspace*."""
    with open_host("reviewer", workspace=workspace, events=f"file:{workspace}.jsonl") as host:
        agent = Agent(model, tools=[*strands_tools(host)], callback_handler=None)
        return str(agent(TASK))


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    (folder / "notes.txt").write_text("Buy milk.\n")
    print(converse(folder))
