"""Agents and their sessions, built by the real gate over a real store: SQLite, and others where the store could matter."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from toolcharter import AgentResult, AgentTask, Caller, LiveToolbox, Store, ToolResult, open_live, open_store

ADA = Caller(agent="ada", user="kim", channel="telegram", peer="direct", chat="7")
"""Whose session is `agent:ada:telegram:direct:7`."""
ADAS = "agent:ada:telegram:direct:7"
BOB = Caller(agent="bob", user="kim", channel="telegram", peer="direct", chat="7")
LEE = Caller(agent="ada", user="lee", channel="telegram", peer="group", chat="9")
TOOLS: dict[str, Any] = {
    "session": {},
    "sessions_list": {},
    "sessions_history": {},
    "sessions_send": {},
    "session_status": {},
    "sessions_spawn": {"models": ["big"]},
    "spawn": {},
    "subagents": {},
    "team_tasks": {},
    "team_message": {"members": ["bob", "eve"]},
}


ASKING = ("spawn", "sessions_spawn", "subagents", "delegate_to_agent", "sessions_send", "team_message", "team_tasks")
"""Tools that ask a person; a world waives that, unless a test says otherwise."""


class Host:
    """Runs agents in a test: each waits until the test lets it answer."""

    def __init__(self) -> None:
        self.tasks: list[AgentTask] = []
        self.may_answer = threading.Event()
        self.result = AgentResult("done", 3, 4, 2)
        self.begun = threading.Semaphore(0)

    def run(self, task: AgentTask) -> AgentResult:
        self.tasks.append(task)
        self.begun.release()
        while not self.may_answer.wait(0.01):
            if task.is_cancelled():
                break
        return self.result


class AgentWorker:
    """One worker: a live toolbox over the test's store, whose agents a `Host` runs."""

    def __init__(self, live: LiveToolbox, host: Host, store_url: str) -> None:
        self.live = live
        self.host = host
        self._url = store_url

    def call(self, tool: str, caller: Caller = ADA, /, **args: Any) -> ToolResult:
        return self.live.current.for_caller(caller).call(tool, args)

    def said(self, text: str, caller: Caller = ADA, role: Any = "user") -> None:
        self.live.record(role, text, caller=caller)

    def told(self, caller: Caller = ADA) -> list[str]:
        return [item.text for item in self.live.inbox(caller=caller)]

    def states(self, caller: Caller = ADA) -> dict[str, str]:
        found = self.call("subagents", caller, action="list").data["subagents"]
        return {one["label"]: one["state"] for one in found}


MakeWorker = Callable[..., AgentWorker]


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """The records that the tools see."""
    with open_store(store_url) as handle:
        yield handle.bound("", "toolcharter-agents")


@pytest.fixture
def make_world(tmp_path: Path, store_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeWorker]:
    """Builds workers over the store of the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "ws").mkdir(exist_ok=True)
    with ExitStack() as stack:

        def build(tools: dict[str, Any] | None = None, /, **settings: Any) -> AgentWorker:
            listed = TOOLS if tools is None else tools
            written = {
                "profile": "test",
                "store": store_url,
                "tools": {
                    name: {"unattended": True, **policy} if name in ASKING else policy
                    for name, policy in listed.items()
                },
                "extensions": {"scripted": {"runs": []}},
                "limits": {"timeout_s": 60},
                **settings,
            }
            profile = tmp_path / "profile.yaml"
            profile.write_text(json.dumps(written))
            live = stack.enter_context(open_live(profile, workspace=tmp_path / "ws", caller=ADA, events=_ignore))
            host = Host()
            if "extensions" not in settings:
                live._base.agent_host = host.run
            return AgentWorker(live, host, store_url)

        yield build


@pytest.fixture
def world(make_world: MakeWorker) -> AgentWorker:
    """One worker with all tools."""
    return make_world()


def _ignore(event: object) -> None:
    """These tests are not about events."""
