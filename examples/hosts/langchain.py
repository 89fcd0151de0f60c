"""A LangChain agent with a profile's tools: one call is allowed, one is denied, and the model goes on.

Run it with the name of a model, such as `openai:gpt-5`; the tests run `converse` with a scripted one.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from langchain.agents import create_agent

from toolcharter.hosts import open_host
from toolcharter_langchain import langchain_tools

TASK = "Read notes.txt, then /etc/passwd. If a tool refuses, say why and go on without it."


def converse(workspace: Path, model: Any) -> str:
    """What the agent says in the end about the files in *workspace*."""
    with open_host("reviewer", workspace=workspace, events=f"file:{workspace}.jsonl") as host:
        agent: Any = create_agent(model, langchain_tools(host))
        state = agent.invoke({"messages": [("user", TASK)]})
    return str(state["messages"][-1].content)


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    (folder / "notes.txt").write_text("Buy milk.\n")
    print(converse(folder, sys.argv[1]))
