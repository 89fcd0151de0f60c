"""`toolcharter guard doctor`: what it says of agents that run their hooks, and of those that do not.

The agent here is a small program that speaks to its model and runs its hooks as Codex does; `make clients` has the real ones.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcharter_guard.settings import LOCATIONS

from .servers import end_servers

AGENT = """
import json, os, pathlib, subprocess, sys, tomllib, urllib.request
if sys.argv[1] == "--version":
    print("codex-cli 9.9.9"); sys.exit()
assert sys.argv[1] == "exec"
provider = next(word for word in sys.argv if word.startswith("model_providers."))
url = tomllib.loads(provider)["model_providers"]["guard-doctor"]["base_url"]
settings = tomllib.loads((pathlib.Path.home() / ".codex/config.toml").read_text())
hooks = {name for name in os.environ["HOOKED"].split() if "--ignore-user-config" not in sys.argv}
if "NEEDS_TRUST" in os.environ and "--dangerously-bypass-hook-trust" not in sys.argv:
    hooks = set()
def converse(said, hooks):
    while True:
        body = json.dumps({"input": said, "tools": []}).encode()
        with urllib.request.urlopen(urllib.request.Request(url + "/responses", body)) as answer:
            lines = [line[6:] for line in answer.read().decode().splitlines() if line.startswith("data: ")]
        item = next(event["item"] for event in map(json.loads, lines) if "item" in event)
        if item["type"] != "function_call":
            break
        args = json.loads(item["arguments"])
        output = "done"
        if item["name"] in hooks:
            asked = {"tool_name": item["name"], "tool_input": args, "hook_event_name": "PreToolUse"}
            if item["name"] == "exec_command":
                asked |= {"tool_name": "Bash", "tool_input": {"command": args["cmd"]}}
            hook = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
            done = subprocess.run(hook, shell=True, input=json.dumps(asked), capture_output=True, text=True)
            output = json.loads(done.stdout)["hookSpecificOutput"]["permissionDecisionReason"]
        elif item["name"] == "exec_command":
            output = subprocess.run(args["cmd"], shell=True, capture_output=True, text=True).stderr
        elif item["name"] == "spawn_agent":
            converse([{"role": "user", "content": args["message"]}], hooks if "inner" in hooks else set())
            output = json.dumps({"agent_id": "agent-1"})
        elif item["name"] == "wait_agent":
            assert args["targets"] == ["agent-1"]
        said.append({"type": "function_call_output", "call_id": item["call_id"], "output": output})
converse([], hooks)
"""
ALL = "exec_command view_image write_stdin inner"


class Desk:
    """A home, a project, and an agent on the PATH that runs its hooks for some tools."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project, self.programs = folder / "home", folder / "project", folder / "bin"
        for each in (self.home, self.project, self.programs):
            each.mkdir()
        script = folder / "agent.py"
        script.write_text(AGENT)
        agent = self.programs / "codex"
        agent.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(script))} "$@"\n')
        agent.chmod(0o755)

    def run(self, *words: str, hooked: str = ALL, **more: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(self.programs), "/usr/bin", "/bin"])
        return subprocess.run(
            [sys.executable, "-m", "toolcharter", "guard", *words],
            capture_output=True,
            text=True,
            env={"HOME": str(self.home), "PATH": path, "HOOKED": hooked, **more},
            cwd=self.project,
            check=False,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One for the module: the doctor changes nothing."""
    made = Desk(tmp_path_factory.mktemp("desk"))
    assert made.run("install", "codex", "--yes").returncode == 0
    yield made
    end_servers(made.home)


@pytest.fixture
def desk(installed: Desk) -> Iterator[Desk]:
    """The same, with the settings as the guard has installed them."""
    file = installed.home / LOCATIONS["codex"].user
    text = file.read_text()
    yield installed
    file.write_text(text)


@pytest.fixture(scope="module")
def guarded(installed: Desk) -> subprocess.CompletedProcess[str]:
    """What the doctor says of an agent that runs its hooks."""
    return installed.run("doctor")


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line.strip() for line in done.stdout.splitlines()]


def test_an_agent_that_runs_its_hooks_is_guarded(desk: Desk, guarded: subprocess.CompletedProcess[str]) -> None:
    """Each of its tools is named, and so is the option that switches the hooks off."""
    done = guarded

    assert done.returncode == 0, done.stdout
    assert "the hook denies a forbidden call" in lines(done)
    assert f"{desk.programs / 'codex'}, version 9.9.9:" in lines(done)
    assert "exec_command: the guard denies a forbidden call" in lines(done)
    assert "view_image: the guard denies a forbidden call" in lines(done)
    assert "--ignore-user-config: not guarded, because Codex runs no hooks with this option" in lines(done)
    assert not any("write_stdin" in line for line in lines(done))


def test_a_tool_without_hooks_is_told(desk: Desk) -> None:
    """One that is known for it is a finding, any other a failure."""
    known = desk.run("doctor", hooked="exec_command view_image inner")
    unknown = desk.run("doctor", hooked="exec_command inner")

    assert known.returncode == 0
    assert "write_stdin: not guarded, because Codex runs no hook for it" in lines(known)
    assert unknown.returncode == 1
    assert "FAILED: view_image: a forbidden call did not reach the guard" in lines(unknown)


def test_subagents_are_tried(desk: Desk, guarded: subprocess.CompletedProcess[str]) -> None:
    """One whose calls do not meet the guard is a failure; where the profile permits none, that is said."""
    passing = desk.run("doctor", hooked=ALL.replace(" inner", ""))
    denied = desk.run("doctor", hooked=f"{ALL} spawn_agent")

    assert "subagents: a subagent's forbidden call is denied by the guard" in lines(guarded)
    assert passing.returncode == 1
    assert "FAILED: subagents: a subagent's forbidden call did not reach the guard" in lines(passing)
    assert denied.returncode == 0
    assert "subagents: not tested, because the profile permits none" in lines(denied)


def test_an_agent_that_runs_no_hooks_is_told_and_nothing_happens(desk: Desk) -> None:
    """The call that is tried does no harm where nothing refuses it, and leaves nothing behind."""
    before = sorted(desk.project.rglob("*"))

    done = desk.run("doctor", hooked="")

    assert done.returncode == 1
    assert "FAILED: exec_command: a forbidden call did not reach the guard" in lines(done)
    assert sorted(desk.project.rglob("*")) == before
    assert list((desk.home / ".local/state/toolcharter").glob("guard-doctor-*")) == []


def test_an_agent_that_does_not_trust_the_hook_is_told(desk: Desk) -> None:
    """The same call is refused as soon as the hook is trusted."""
    done = desk.run("doctor", NEEDS_TRUST="1")

    assert done.returncode == 1
    assert "FAILED: Codex does not trust the hook yet: start it, and confirm the hook." in lines(done)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("true # toolcharter guard hook codex", "the hook lets a forbidden call pass, with status 0"),
        ("exit 1 # toolcharter guard hook codex", "the hook lets a forbidden call pass, with status 1"),
        ("echo no profile >&2; exit 2 # toolcharter guard hook codex", "the hook denies every call: no profile"),
    ],
)
def test_a_hook_that_does_not_judge_is_told(command: str, said: str, desk: Desk) -> None:
    """Whatever the settings name is what is tried."""
    file = desk.home / LOCATIONS["codex"].user
    text = file.read_text()
    start = text.index("command = ")
    line = text[start : text.index("\n", start)]
    file.write_text(text.replace(line, f'command = "{command}"'))

    done = desk.run("doctor", "codex")

    assert done.returncode == 1
    assert f"FAILED: {said}" in done.stdout


def test_agents_that_cannot_be_started_are_tried_by_their_hook(desk: Desk) -> None:
    """And an agent without the guard is none that is guarded."""
    desk.run("install", "cursor", "--yes")

    alone = desk.run("doctor", "cursor")
    without = desk.run("doctor", "copilot")
    desk.run("uninstall", "cursor", "--yes")
    desk.run("uninstall", "codex", "--yes")
    none = desk.run("doctor")

    assert alone.returncode == 0
    assert "Cursor itself is not tested: it cannot be started without an account." in lines(alone)
    assert (without.returncode, "copilot: not guarded" in without.stdout) == (1, True)
    assert (none.returncode, "No agent is guarded" in none.stdout) == (1, True)
