"""A chain of `llm` with a profile's tools: one call is allowed, one is denied, and the model goes on.

Run it with the name of a model that `llm models` lists; the tests run `converse` with a scripted one.
"""

import sys
import tempfile
from pathlib import Path

import llm

from toolcharter.hosts import open_host
from toolcharter_llm import llm_tools

TASK = "Read notes.txt, then /etc/passwd. If a tool refuses, say why and go on without it."


def converse(workspace: Path, model: llm.Model) -> str:
    """What the model says in the end about the files in *workspace*."""
    with open_host("reviewer", workspace=workspace, events=f"file:{workspace}.jsonl") as host:
        return model.chain(TASK, tools=[*llm_tools(host)]).text()


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    (folder / "notes.txt").write_text("Buy milk.\n")
    print(converse(folder, llm.get_model(sys.argv[1])))
