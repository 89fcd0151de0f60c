"""A loop over Anthropic's messages with a profile's tools: one call is allowed, one is denied, and the model goes on.

Run it with a model of Anthropic's (`ANTHROPIC_API_KEY`); the tests run `converse` against a server of their own.
"""

import sys
import tempfile
from pathlib import Path

from anthropic import Anthropic
from anthropic.types import MessageParam

from toolcharter.hosts import open_host
from toolcharter_anthropic import answer_tool_uses, anthropic_tools

TASK = "Read notes.txt, then /etc/passwd. If a tool refuses, say why and go on without it."


def converse(client: Anthropic, model: str, workspace: Path) -> str:
    """What the model says in the end about the files in *workspace*."""
    messages: list[MessageParam] = [{"role": "user", "content": TASK}]
    with open_host("reviewer", workspace=workspace, events=f"file:{workspace}.jsonl") as host:
        while True:
            tools = anthropic_tools(host)
            message = client.messages.create(model=model, max_tokens=1000, messages=messages, tools=tools)
            if message.stop_reason != "tool_use":
                return "".join(block.text for block in message.content if block.type == "text")
            messages.append({"role": "assistant", "content": message.content})
            messages.append({"role": "user", "content": answer_tool_uses(host, message)})


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    (folder / "notes.txt").write_text("Buy milk.\n")
    print(converse(Anthropic(), sys.argv[1], folder))
