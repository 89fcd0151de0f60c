"""Two users with two agents each, alone and in groups of two tenants, at random, over one store: nothing that one wrote is ever shown to another.

Everything that is written holds a marker of its own, and the model knows who wrote it and for whom. Each answer, error, inbox and event is
searched for all markers. `TOOLCHARTER_CROSSING_S=600` goes on for so many seconds, with new examples all the time.
"""

import json
import os
import re
import tempfile
import time
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.waiting import until

from toolcharter import Caller, LiveToolbox, build_tools, open_live
from toolcharter_agents import notifications, running, subagents

EVERYBODY = tuple(
    Caller(agent=agent, user=user, channel="telegram", peer="direct", chat=chat, agent_type="open")
    for agent in ("ada", "bob")
    for user, chat in (("kim", "7"), ("lee", "9"))
)
"""Two users, each with both agents."""
GROUPS = tuple((tenant, chat) for tenant in ("", "other") for chat in ("20", "21"))
"""Tenants and chats: both users are in each group, and both agents answer there."""
_MARKER = re.compile(r"zq\d+z")
_SENDS = {"unattended": True}
_JOBS = {**_SENDS, "allow_tasks": True, "allowed_actions": ["status", "list", "add", "update", "remove", "run", "runs"]}
_STARTS = {**_SENDS, "max_concurrent": 50, "max_children": 50}
TOOLS: dict[str, Any] = {
    **{name: {} for name in ("read_file", "write_file", "list_files", "grep", "glob")},
    **{name: {} for name in ("memory_search", "memory_get", "skill_search")},
    **dict.fromkeys(("memory", "team_tasks"), _SENDS),
    **{name: {} for name in ("session", "sessions_list", "sessions_history", "session_status")},
    **dict.fromkeys(("spawn", "subagents"), _STARTS),
    "delegate_to_agent": {**_STARTS, "targets": ["coder"]},
    "background_process": {"allow_input": True, "max_processes": 3},
    "sessions_send": _SENDS,
    "team_message": {**_SENDS, "members": ["ada", "bob"]},
    "schedule": {"allowed_actions": ["create", "list", "cancel"], "unattended": True},
    "cron": _JOBS,
    "nodes": {
        "allowed_actions": ["create", "add", "connect", "list", "run", "delete"],
        "allowed_tools": ["memory", "memory_search", "read_file"],
    },
}
_CHILD = [
    {"tool": "memory", "args": {"action": "recall"}},
    {"tool": "memory_search", "args": {"query": "secret"}},
    {"tool": "sessions_list", "args": {}},
]
PROFILE = {
    "profile": "p",
    "tools": TOOLS,
    "runner": "host",
    "allow": ["bash:echo *", "bash:read *", "background_process"],
    "capabilities": {"allow": ["*"], "max_safety": "high"},
    "extensions": {
        "context_files": {"unattended": True},
        "skills": {},
        "scheduler": {"look_s": 0.05},
        "scripted": {"runs": [{"calls": _CHILD, "answer": "{message}: {results}"}]},
    },
}
DOCUMENTS = ("USER.md", "AGENTS.md", "SOUL.md", "MEMORY.md", "memory/daily/2026-01-02.md", "memory/world/shared.md")
LOOKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("memory", {"action": "recall", "days": 30}),
    ("memory_search", {"query": "secret", "maxResults": 20}),
    *(("memory_get", {"path": path}) for path in DOCUMENTS[3:]),
    *(("read_file", {"path": path}) for path in DOCUMENTS),
    ("list_files", {"path": "."}),
    ("list_files", {"path": "memory"}),
    ("glob", {"pattern": "**/*"}),
    ("grep", {"pattern": "secret"}),
    ("session", {"action": "list"}),
    ("sessions_list", {}),
    ("session_status", {}),
    ("subagents", {"action": "list"}),
    ("team_tasks", {"action": "search"}),
    ("schedule", {"action": "list"}),
    ("cron", {"action": "status"}),
    ("cron", {"action": "list"}),
    ("nodes", {"action": "list"}),
    ("skill_search", {"query": "secret"}),
    ("background_process", {"action": "list"}),
)
"""What shows everything that there is to see."""
Aim = tuple[str, str, dict[str, Any]]
AIMED: tuple[Aim, ...] = (
    ("session", "session", {"action": "read", "session_id": "KEY"}),
    ("session", "sessions_history", {"session_key": "KEY", "include_tools": True}),
    ("session", "session_status", {"session_key": "KEY"}),
    ("session", "sessions_send", {"session_key": "KEY", "message": "TEXT"}),
    ("label", "sessions_history", {"session_key": "agent:ada:subagent:KEY"}),
    ("label", "sessions_send", {"label": "KEY", "message": "TEXT"}),
    ("subagent", "subagents", {"action": "cancel", "id": "KEY"}),
    ("subagent", "subagents", {"action": "steer", "id": "KEY", "message": "TEXT"}),
    ("task", "team_tasks", {"action": "claim", "task_id": "KEY"}),
    ("task", "team_tasks", {"action": "comment", "task_id": "KEY", "text": "TEXT"}),
    ("task", "team_tasks", {"action": "cancel", "task_id": "KEY"}),
    ("job", "schedule", {"action": "cancel", "schedule_id": "KEY"}),
    ("job", "cron", {"action": "runs", "jobId": "KEY"}),
    ("job", "cron", {"action": "run", "jobId": "KEY", "runMode": "force"}),
    ("job", "cron", {"action": "remove", "jobId": "KEY"}),
    *(
        ("process", "background_process", {"action": action, "handle": "KEY"})
        for action in ("status", "log", "capture")
    ),
    ("process", "background_process", {"action": "write", "handle": "KEY", "text": "TEXT\n"}),
    ("process", "background_process", {"action": "watch", "handle": "KEY", "pattern": "secret"}),
    ("process", "background_process", {"action": "kill", "handle": "KEY"}),
    ("graph", "nodes", {"action": "list", "graph": "KEY"}),
    ("graph", "nodes", {"action": "run", "graph": "KEY"}),
    ("graph", "nodes", {"action": "delete", "graph": "KEY"}),
)
"""Calls that name something of somebody, by its kind."""
LOOKS_AT_SESSIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("session", {"action": "list"}),
    ("session", {"action": "read", "session_id": "KEY"}),
    ("sessions_list", {}),
    ("sessions_history", {"session_key": "KEY", "include_tools": True}),
    ("session_status", {}),
    ("session_status", {"session_key": "KEY"}),
)
who = st.sampled_from(EVERYBODY)
worker = st.integers(0, 1)
where = st.sampled_from(GROUPS)


def in_group(by: Caller, group: tuple[str, str]) -> Caller:
    """One of them, as it writes in a group."""
    return replace(by, tenant=group[0], chat=group[1], peer="group")


def group_key(by: Caller) -> str:
    """The key of the group's session with the agent."""
    return f"agent:{by.agent}:telegram:group:{by.chat}"


def same_group(by: Caller) -> tuple[str | None, str]:
    """Who the markers said in a group are for: all who are in it, with the same agent."""
    return by.agent, f"{by.tenant}/{by.chat}"


class Machine(RuleBasedStateMachine):
    """Two workers over one store; each call goes through one of them."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        place = Path(self.folder.name)
        (place / "ws/.toolcharter/agents").mkdir(parents=True)
        (place / "ws/.toolcharter/agents/coder.md").write_text("---\nname: coder\n---\nYou write code.\n")
        self.sent = place / "sent"
        self.sent.mkdir(mode=0o700)
        way = {"deliver": "local", "url": f"local:{self.sent}/lines", "targets": ["*"], "unattended": True}
        tools = {**TOOLS, "message": {"channels": {"mail": way}}}
        profile = place / "p.yaml"
        profile.write_text(json.dumps({**PROFILE, "tools": tools, "store": f"sqlite://{place / 'store.db'}"}))
        self.events: list[Mapping[str, Any]] = []
        self.workers: list[LiveToolbox] = [
            open_live(profile, workspace=place / "ws", caller=EVERYBODY[0], events=self.events.append) for _ in range(2)
        ]
        self.readers: dict[str, set[tuple[str | None, str | None]]] = {}
        self.things: list[tuple[str, str, Caller]] = []
        self.given: dict[tuple[str | None, str | None], str] = {}
        for number, one in enumerate(EVERYBODY):
            self.workers[number % 2].record("user", self.marked(one), caller=one)
            self.things.append(("session", f"agent:{one.agent}:telegram:direct:{one.chat}", one))
            self.makes_a_task(0, one)
            self.makes_a_job(0, one, is_cron=True)
            self.makes_a_job(0, one, is_cron=False)
            self.makes_a_graph(0, one, has_own_name=True)
            self.spawns(0, one, has_own_label=True)
            self.starts_a_process(0, one)
        for group in GROUPS:
            for one in EVERYBODY[::2]:
                self.says_in_a_group(0, one, group)
            here = [in_group(one, group) for one in EVERYBODY]
            self.things += [("session", group_key(one), replace(one, user="group")) for one in here]

    def marked(self, writer: Caller, *, for_all_agents: bool = False) -> str:
        """A text that only *writer*, or all agents of its user, may be shown."""
        marker = f"zq{len(self.readers)}z"
        agents = ("ada", "bob") if for_all_agents else (writer.agent,)
        self.readers[marker] = {(agent, writer.user) for agent in agents}
        return f"secret {marker}"

    def call(self, worker: int, by: Caller, tool: str, args: Mapping[str, Any]) -> Any:
        given = json.dumps(args)
        # Kept here, since events cut long arguments.
        self.given[by.agent, by.user] = self.given.get((by.agent, by.user), "") + given
        result = self.workers[worker].current.for_caller(by).call(tool, args)
        shown = (result.text, result.data, result.message, result.hint)
        group = same_group(by) if by.peer == "group" else None
        self.check(by.agent, by.user, shown, f"{tool} {dict(args)}", given=given, group=group)
        return result

    def check(
        self,
        agent: str | None,
        user: str | None,
        shown: object,
        where: str,
        given: str = "",
        group: tuple[str | None, str] | None = None,
    ) -> None:
        """Nothing in *shown* is another's, but what the caller itself has *given* and what was said in its *group*."""
        found = {*_MARKER.findall(repr(shown))} - {*_MARKER.findall(given)}
        crossed = {one: self.readers[one] for one in found if not {(agent, user), group} & self.readers[one]}
        assert not crossed, f"{agent}, {user} in {where}: {crossed} in {shown!r}"

    @rule(worker=worker, by=who, action=st.sampled_from(["remember", "reflect", "update_world"]))
    def writes_memory(self, worker: int, by: Caller, action: str) -> None:
        """And finds it; what the agent does for the user's world, both agents find."""
        text = self.marked(by, for_all_agents=action == "update_world")
        topic = {"topic": "shared"} if action == "update_world" else {}

        self.call(worker, by, "memory", {"action": action, "content": text, **topic})

        for reader in EVERYBODY:
            recalled = self.call(worker, reader, "memory", {"action": "recall"})
            may = (reader.agent, reader.user) in self.readers[text.split()[1]]
            assert (text in recalled.text) == may

    @rule(worker=worker, by=who, path=st.sampled_from(DOCUMENTS))
    def writes_a_file(self, worker: int, by: Caller, path: str) -> None:
        text = self.marked(by, for_all_agents="world" in path)

        assert self.call(worker, by, "write_file", {"path": path, "content": text}).outcome == "ok"
        assert text in self.call(worker, by, "read_file", {"path": path}).text

    @rule(worker=worker, by=who)
    def says(self, worker: int, by: Caller) -> None:
        self.workers[worker].record("user", self.marked(by), caller=by)

    @rule(worker=worker, by=who, group=where)
    def says_in_a_group(self, worker: int, by: Caller, group: tuple[str, str]) -> None:
        """And each member reads it there, in the same session."""
        here, marker = in_group(by, group), f"zq{len(self.readers)}z"
        self.readers[marker] = {same_group(here)}
        self.workers[worker].record("user", f"secret {marker}", caller=here)

        for one in EVERYBODY:
            if one.agent == by.agent:
                key = {"session_key": group_key(here), "limit": 1}
                assert marker in self.call(worker, in_group(one, group), "sessions_history", key).text

    @rule(worker=worker, by=who, group=where, look=st.sampled_from(LOOKS_AT_SESSIONS), number=st.integers(0, 99))
    def looks_in_a_group(
        self, worker: int, by: Caller, group: tuple[str, str], look: tuple[str, dict[str, Any]], number: int
    ) -> None:
        """At lists, and at any session that there is."""
        here, (tool, args) = in_group(by, group), look
        sessions = [key for kind, key, _ in self.things if kind == "session"]

        self.call(worker, here, tool, _named(args, sessions[number % len(sessions)]))

    @rule(worker=worker, by=who, has_own_label=st.booleans())
    def spawns(self, worker: int, by: Caller, has_own_label: bool) -> None:  # noqa: FBT001 - Hypothesis gives it
        """Two users may well call theirs the same."""
        label = self.marked(by).split()[1] if has_own_label else "work"
        result = self.call(worker, by, "spawn", {"task": self.marked(by), "label": label})

        assert result.outcome == "ok", result.text
        self.things += [("subagent", result.data["id"], by), ("label", label, by)]

    @rule(worker=worker, by=who)
    def delegates(self, worker: int, by: Caller) -> None:
        """The other agent works for the same user: it is told the task, and finds what is its own."""
        task = self.marked(by)
        self.readers[task.split()[1]].add(("coder", by.user))
        result = self.call(worker, by, "delegate_to_agent", {"target_agent_id": "coder", "task": task})
        assert task in result.text

    @rule(worker=worker, by=who)
    def starts_a_process(self, worker: int, by: Caller) -> None:
        """Which waits for a line, and says one before that."""
        command = f"echo {self.marked(by)}; read line"
        result = self.call(worker, by, "background_process", {"action": "spawn", "command": command})
        assert result.reason in {None, "too_many_processes"}, result.text
        if result.outcome == "ok":
            self.things.append(("process", result.data["handle"], by))

    @rule(worker=worker, by=who, path=st.sampled_from(["", *DOCUMENTS]), chat=st.sampled_from(["7", "9"]))
    def sends_a_message(self, worker: int, by: Caller, path: str, chat: str) -> None:
        """To a chat of any user; with what it may be sent, the sender has read."""
        text = f"{self.marked(by)} MEDIA:{path}" if path else self.marked(by)
        given = {"message": text, "channel": "mail", "target": chat, "forward": True, "forward_reason": "they ask"}
        result = self.call(worker, by, "message", {"action": "send", **given})
        assert path or result.outcome == "ok", result.text

    @rule(worker=worker, by=who, to=st.sampled_from(["ada", "bob"]))
    def writes_to_a_colleague(self, worker: int, by: Caller, to: str) -> None:
        text = self.marked(by)
        self.readers[text.split()[1]].add((to, by.user))
        assert self.call(worker, by, "team_message", {"to": to, "text": text}).data["reached"]

    @rule(worker=worker, by=who)
    def makes_a_task(self, worker: int, by: Caller) -> None:
        """For all agents of the user's team."""
        subject = self.marked(by, for_all_agents=True)
        result = self.call(worker, by, "team_tasks", {"action": "create", "subject": subject})
        self.things.append(("task", result.data["task"]["id"], by))

    @rule(worker=worker, by=who, is_cron=st.booleans())
    def makes_a_job(self, worker: int, by: Caller, is_cron: bool) -> None:  # noqa: FBT001 - Hypothesis gives it
        text = self.marked(by)
        if is_cron:
            job = {"name": text, "schedule": {"kind": "every", "everyMs": 3_600_000}, "message": text}
            result = self.call(worker, by, "cron", {"action": "add", "job": job})
        else:
            result = self.call(worker, by, "schedule", {"action": "create", "every_seconds": 3600, "message": text})
        assert result.outcome in {"ok", "denied"}, result.text
        if result.outcome == "ok":
            found = re.search(r"'id': '([^']+)'", repr(result.data))
            assert found, result.data
            self.things.append(("job", found[1], by))

    @rule(worker=worker, by=who, has_own_name=st.booleans())
    def makes_a_graph(self, worker: int, by: Caller, has_own_name: bool) -> None:  # noqa: FBT001 - Hypothesis gives it
        name = self.marked(by).split()[1] if has_own_name else "graph"
        self.call(worker, by, "nodes", {"action": "create", "graph": name})
        recall = {"tool": "memory", "arguments": {"action": "recall"}}
        self.call(worker, by, "nodes", {"action": "add", "graph": name, "node": f"n{len(self.readers)}", **recall})
        self.things.append(("graph", name, by))

    @rule(worker=worker, by=who, look=st.sampled_from(LOOKS))
    def looks(self, worker: int, by: Caller, look: tuple[str, dict[str, Any]]) -> None:
        self.call(worker, by, *look)

    @rule(
        worker=worker, by=who, aims=st.lists(st.sampled_from(AIMED), min_size=1, max_size=5), number=st.integers(0, 99)
    )
    def aims_at_something(self, worker: int, by: Caller, aims: list[Aim], number: int) -> None:
        """Of another user it is answered like something that there never was."""
        for kind, tool, args in aims:
            there = [(key, owner) for found, key, owner in self.things if found == kind]
            key, owner = there[number % len(there)]
            # A user's agents may share it, so that both may read what is written there.
            text = self.marked(by, for_all_agents=True) if kind == "task" else self.marked(by)
            given = {
                name: value.replace("TEXT", text) if isinstance(value, str) else value for name, value in args.items()
            }

            made = self.call(worker, by, tool, _named(given, key))

            # Names that each user chooses may be the caller's own as well.
            if owner.user != by.user and key not in {"work", "graph"}:
                never = re.sub(r"\d+(?=z$)|.$", lambda end: "0" if end[0] != "0" else "1", key, count=1)
                unknown = self.call(worker, by, tool, _named(given, never))
                assert (made.reason, made.text.replace(key, never)) == (unknown.reason, unknown.text)

    @rule(worker=worker, by=who)
    def takes_its_turn(self, worker: int, by: Caller) -> None:
        told = self.workers[worker].inbox(caller=by)
        self.check(by.agent, by.user, [item.as_data() for item in told], "the inbox")

    @rule()
    def all_subagents_end(self) -> None:
        until(lambda: not any(self.running(one) for one in EVERYBODY))

    def running(self, by: Caller) -> bool:
        found = self.call(0, by, "subagents", {"action": "list"}).data["subagents"]
        return any(one["state"] in {"spawning", "running"} for one in found)

    def teardown(self) -> None:
        """Everybody looks at everything, and the events are each caller's own."""
        if not hasattr(self, "workers"):
            return
        try:
            self.all_subagents_end()
            for by in EVERYBODY:
                for look in LOOKS:
                    self.call(1, by, *look)
                for key in (key for kind, key, _ in self.things if kind == "session"):
                    self.call(0, by, "sessions_history", {"session_key": key, "include_tools": True})
                self.takes_its_turn(0, by)
        finally:
            for worker in self.workers:
                worker.close()
            sent = [json.loads(line) for file in self.sent.iterdir() for line in file.read_text().splitlines()]
            self.folder.cleanup()
        for one in sent:
            files = [b64decode(media["base64"]) for media in one["message"]["media"]]
            self.check(one["agent"], one["user"], (one, files), "a message")
        for event in self.events:
            agent, user = event.get("agent"), event.get("user")
            self.check(agent, user, event, "an event", given=self.given.get((agent, user), ""))


def _named(args: Mapping[str, Any], key: str) -> dict[str, Any]:
    """*args* with *key* in the place of KEY."""
    return {name: value.replace("KEY", key) if isinstance(value, str) else value for name, value in args.items()}


@pytest.mark.slow
def test_nothing_crosses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No answer, listing, hit, inbox, error or event of one holds what another wrote, whatever the order."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(notifications, "BATCH_S", 0.01)
    monkeypatch.setattr(running, "CHECK_EVERY_S", 0.02)
    monkeypatch.setattr(subagents, "STOP_WAIT_S", 0.01)
    machine = Machine.TestCase
    ends = time.monotonic() + float(os.environ.get("TOOLCHARTER_CROSSING_S", "0"))
    machine.settings = settings(max_examples=3, stateful_step_count=20, deadline=None)
    machine().runTest()
    while time.monotonic() < ends:
        machine().runTest()


def test_callers_without_a_session_share_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a guard remembers of one user's calls, answers from memory among them, is not another user's with the same agent."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/shared.md").write_text("Old.\n")
    guards = {"cached_reads": {"seconds": 60}, "read_before_write": {"mode": "strict"}}
    tools: dict[str, Any] = {"read_file": {}, "write_file": {}}
    kept = {"context_files": {"unattended": True}}
    profile = {"profile": "p", "tools": tools, "session_guards": guards, "extensions": kept}
    (tmp_path / "p.json").write_text(json.dumps({**profile, "store": f"sqlite://{tmp_path / 'store.db'}"}))
    with build_tools(tmp_path / "p.json", workspace=tmp_path / "ws", events=lambda _: None) as toolbox:
        kim, lee = (toolbox.for_caller(one) for one in EVERYBODY[:2])
        for view, text in ((kim, "Of Kim."), (lee, "Of Lee.")):
            assert view.call("write_file", {"path": "USER.md", "content": text}).outcome == "ok"
        kim.call("read_file", {"path": "shared.md"})

        read = [view.call("read_file", {"path": "USER.md"}).text for view in (kim, lee, kim)]
        blind = lee.call("write_file", {"path": "shared.md", "content": "New.\n"})

    assert read == ["Of Kim.", "Of Lee.", "Of Kim."]
    assert blind.reason == "precondition_failed"
