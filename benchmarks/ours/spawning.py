"""Starts a subagent, and builds a toolbox of the profile `orchestrator` over the same store."""

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from toolcharter import Caller, build_tools, open_store
from toolcharter_agents.states import Subagent

_FOLDER = tempfile.TemporaryDirectory(prefix="tc")
_PLACE = Path(_FOLDER.name)
_URL = f"sqlite:///{_PLACE / 'store.sqlite3'}"
_PROFILE = _PLACE / "spawning.yaml"
_WORKSPACE = _PLACE / "workspace"
_WORKSPACE.mkdir()
_PROFILE.write_text(
    json.dumps(
        {
            "profile": "spawning",
            "extends": ["orchestrator"],
            "store": _URL,
            "tools": {"sessions_spawn": {"unattended": True, "max_concurrent": 1000, "max_children": 1000}},
            "limits": {"calls_per_hour": 1_000_000},
            "extensions": {"scripted": {"runs": [{"answer": "done"}]}},
        }
    )
)
_ADA = Caller(agent="ada", user="kim")
_events: list[Any] = []
_toolbox = build_tools(_PROFILE, workspace=_WORKSPACE, caller=_ADA, events=_events.append)
_store = open_store(_URL).bound("", "toolcharter-agents")


def spawn() -> None:
    """Start a subagent."""
    result = _toolbox.call("sessions_spawn", {"task": "look"})
    assert result.outcome == "ok", result.text


def build() -> None:
    """Build a toolbox and close it."""
    build_tools(_PROFILE, workspace=_WORKSPACE, caller=_ADA, events=_events.append).close()


def after_batch() -> None:
    """Wait until the subagents have ended."""
    _events.clear()
    while _store.count(Subagent, where={"is_active": True}):
        time.sleep(0.005)


OPERATIONS = {"spawn": spawn, "build": build}
