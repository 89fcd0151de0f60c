"""The baselines of all adapters: the same call through the bare gate, and a tool written for the framework alone."""

import tempfile
from pathlib import Path
from typing import Any

from toolcharter.hosts import open_host

TEXT = "The quick brown fox jumps over the lazy dog, again and again. " * 3 + "And rests there."[:14]
ARGS: dict[str, Any] = {"path": "src/app.py"}
PROFILE = "profile: bench\ntools: {read_file: {}}\nlimits: {calls_per_hour: 100000000}\n"

folder = tempfile.TemporaryDirectory()
workspace = Path(folder.name, "workspace")
(workspace / "src").mkdir(parents=True)
(workspace / "src/app.py").write_text(TEXT)
profile = Path(folder.name, "bench.yaml")
profile.write_text(PROFILE)
events = Path(folder.name, "events.jsonl")
host = open_host(profile, workspace=workspace, events=f"file:{events}")
assert TEXT in host.call("read_file", ARGS).text


def call() -> None:
    """Make one call through the gate alone."""
    host.call("read_file", ARGS)


async def acall() -> None:
    """Make the same call from asynchronous code."""
    await host.acall("read_file", ARGS)


def read(path: str) -> str:
    """Read a file, like a framework's own tool."""
    return (workspace / path).read_text()
