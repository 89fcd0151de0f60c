"""Searches a small and a large memory through the gate, and reads a routed file and a file on disk."""

import atexit
import os
import random
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from toolcharter import Caller, Toolbox, ToolResult, build_tools

CHUNKS_OF_A_DOCUMENT = 250
_FOLDER = tempfile.TemporaryDirectory(prefix="tc")
_WORKSPACE = Path(_FOLDER.name, "workspace")
_PROFILE = """\
profile: remembering
store: sqlite://{store}
extensions: {{context_files: {{}}}}
tools: {{read_file: {{}}, memory: {{max_bytes: 500000, max_document_bytes: 500000, unattended: true}}, memory_search: {{}}}}
"""
_RANDOM = random.Random(7)
# Frequencies as in a language: the second word is half as frequent as the first, the third a third.
_WORDS = [f"word{number}" for number in range(20_000)]
_WEIGHTS = [1 / (number + 1) for number in range(len(_WORDS))]


def _document(chunks: int) -> str:
    """Return a text of *chunks* paragraphs, each of which becomes a chunk."""
    words = iter(_RANDOM.choices(_WORDS, _WEIGHTS, k=chunks * 110))
    return "\n\n".join(" ".join(next(words) for _ in range(110)) for _ in range(chunks))


def _toolbox() -> Toolbox:
    _WORKSPACE.mkdir()
    profile = Path(_FOLDER.name, "remembering.yaml")
    profile.write_text(_PROFILE.format(store=f"{_FOLDER.name}/store.sqlite3"))
    toolbox = build_tools(profile, workspace=_WORKSPACE, events=f"file:{_FOLDER.name}/events.jsonl")
    atexit.register(toolbox.close)
    return toolbox


def _ok(result: ToolResult) -> ToolResult:
    if result.outcome != "ok":
        raise SystemExit(str(result))
    return result


def _remembering(toolbox: Toolbox, user: str, chunks: int) -> Toolbox:
    """Return the tools of a user whose memory holds *chunks* chunks."""
    view = toolbox.for_caller(Caller(agent="ada", user=user))
    for number, start in enumerate(range(0, chunks, CHUNKS_OF_A_DOCUMENT)):
        text = _document(min(CHUNKS_OF_A_DOCUMENT, chunks - start))
        _ok(view.call("memory", {"action": "update_world", "topic": f"topic{number}", "content": text}))
    return view


_tools = _toolbox()
_few = _remembering(_tools, "kim", 1_000)
_many = _remembering(_tools, "lee", int(os.environ.get("BENCH_CHUNKS", "100000")))
_TEXT = "The quick brown fox jumps over the lazy dog, again and again.\n" * 60
(_WORKSPACE / "plain.md").write_text(_TEXT)
_ok(_few.call("memory", {"action": "reflect", "content": _TEXT}))


def _search(view: Toolbox, query: str) -> None:
    if not _ok(view.call("memory_search", {"query": query})).data["hits"]:
        raise SystemExit(f"Nothing was found for {query!r}.")


OPERATIONS: dict[str, Callable[[], Any]] = {
    # One word that every second chunk has, and one that few have.
    "few": partial(_search, _few, "word3 word900"),
    "many": partial(_search, _many, "word3 word900"),
    "routed read": lambda: _ok(_few.call("read_file", {"path": "MEMORY.md"})),
    "plain read": lambda: _ok(_few.call("read_file", {"path": "plain.md"})),
}
