"""`toolcharter guard`: real settings files, a home of its own; processes where an agent starts one."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from toolcharter.cli.group import toolcharter
from toolcharter_guard import client
from toolcharter_guard.agents import AGENTS
from toolcharter_guard.settings import LOCATIONS, SettingsError, compute_edit

from .servers import end_servers

OTHERS = {
    "claude-code": '{"model": "opus", "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"command": "mine"}]}]}}',
    "codex": 'model = "m"  # a comment\n\n[[hooks.PreToolUse]]\nmatcher = "x"\n',
    "gemini": '{"theme": "dark", "hooks": {"BeforeTool": []}}',
    "cursor": '{"version": 1, "hooks": {"afterFileEdit": [{"command": "mine"}]}}',
    "copilot": '{"version": 1, "hooks": {}}',
}


class Desk:
    """A home and a project, and the command run in them."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir()
        self.project.mkdir()

    def run(self, *words: str, stdin: str = "") -> Result:
        """The command in this process, as its user types it."""
        environment = {"HOME": str(self.home), "XDG_STATE_HOME": None}
        with chdir(self.project):
            return CliRunner().invoke(toolcharter, ["guard", *words], input=stdin, env=environment)

    def start(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """The command as a process of its own."""
        return subprocess.run(
            [sys.executable, "-m", "toolcharter", "guard", *words],
            input=stdin,
            capture_output=True,
            text=True,
            env={"HOME": str(self.home), "PATH": os.environ["PATH"]},
            cwd=self.project,
            check=False,
        )

    def message(self, command: str) -> str:
        said = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}}
        return json.dumps({**said, "cwd": str(self.project)})


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    yield Desk(tmp_path)
    end_servers(tmp_path)


@pytest.mark.parametrize("agent", AGENTS)
def test_an_entry_is_added_and_removed_and_others_stay(agent: str, desk: Desk) -> None:
    """The change is shown, what the file held is kept beside it, and uninstalling gives back the same settings."""
    file = desk.home / LOCATIONS[agent].user
    if agent in OTHERS:
        file.parent.mkdir(parents=True)
        file.write_text(OTHERS[agent])

    installed = desk.run("install", agent, "--yes")
    text = file.read_text()
    again = desk.run("install", agent, "--yes")
    removed = desk.run("uninstall", agent, "--yes")

    assert (installed.exit_code, again.exit_code, removed.exit_code) == (0, 0, 0), installed.stderr
    assert "+" in installed.stdout
    assert text.count("guard") >= 1
    assert "nothing to change" in again.stdout
    if agent in OTHERS:
        assert file.with_name(f"{file.name}.before-toolcharter").exists()
        assert _others(agent, file.read_text()) == _others(agent, OTHERS[agent])
    if agent == "codex":
        assert file.read_text() == OTHERS[agent]


def _others(agent: str, text: str) -> Any:
    settings = tomllib.loads(text) if agent == "codex" else json.loads(text)
    settings["hooks"] = {event: entries for event, entries in settings.get("hooks", {}).items() if entries}
    return settings


@pytest.mark.parametrize("agent", [agent for agent in AGENTS if agent != "opencode"])
def test_the_installed_command_answers(agent: str, desk: Desk) -> None:
    """The very line that the settings hold, as the agent would start it, denies a push."""
    assert desk.run("install", agent, "--project", "--yes").exit_code == 0
    text = (desk.project / LOCATIONS[agent].project).read_text()
    settings = tomllib.loads(text) if agent == "codex" else json.loads(text)
    (line,) = {found for found in _commands(settings["hooks"]) if "guard hook" in found}
    tool = {"gemini": "run_shell_command", "cursor": "Shell", "copilot": "bash"}.get(agent, "Bash")
    keys = AGENTS[agent].keys
    said = {keys["tool"]: tool, keys["args"]: {"command": "git push"}, "cwd": str(desk.project)}

    environment = {"HOME": str(desk.home), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["sh", "-c", line], input=json.dumps(said), capture_output=True, text=True, env=environment, check=False
    )

    assert (done.returncode, "no_push" in done.stdout) == (0, True), done.stderr


def _commands(settings: Any) -> list[str]:
    if isinstance(settings, dict):
        own = [value for key, value in settings.items() if key in {"command", "bash"} and isinstance(value, str)]
        return own + [found for value in settings.values() for found in _commands(value)]
    return [found for value in settings for found in _commands(value)] if isinstance(settings, list) else []


@pytest.mark.parametrize(
    ("agent", "text"),
    [
        ("claude-code", "{ // a comment\n}"),
        ("gemini", "[]"),
        ("codex", "model = "),
        ("codex", "# toolcharter guard: begin\n"),
        ("opencode", "export const Mine = 1"),
        ("cursor", '{"hooks": []}'),
    ],
)
def test_settings_that_are_not_understood_stay_as_they_are(agent: str, text: str, desk: Desk) -> None:
    """The command says so and ends with status 2."""
    file = desk.home / LOCATIONS[agent].user
    file.parent.mkdir(parents=True)
    file.write_text(text)

    done = desk.run("install", agent, "--yes")

    assert (done.exit_code, file.read_text()) == (2, text)
    assert "is left as it is" in done.stderr
    with pytest.raises(SettingsError):
        compute_edit(agent, file, "toolcharter guard hook x")


def test_nothing_is_written_without_a_yes(desk: Desk) -> None:
    """The change is shown first."""
    done = desk.run("install", "claude-code", stdin="n\n")

    assert "Nothing was written." in done.stdout
    assert not (desk.home / ".claude/settings.json").exists()


def test_a_profile_with_faults_is_not_installed(desk: Desk) -> None:
    """A hook that can judge nothing would deny everything."""
    (desk.project / "bad.yaml").write_text("profile: bad\ntols: {}\n")

    done = desk.run("install", "codex", "--profile", "./bad.yaml", "--yes")

    assert (done.exit_code, (desk.home / ".codex").exists()) == (2, False)
    assert "tols" in done.stderr


def test_status_says_where_the_guard_is(desk: Desk) -> None:
    """For each agent the user's settings and the project's."""
    desk.run("install", "claude-code", "--yes")

    done = desk.start("status")

    lines = {tuple(line.split(": ")[:2]) for line in done.stdout.splitlines()}
    assert done.returncode == 0
    assert any(".claude/settings.json" in head and state.startswith("guarded") for head, state in lines)
    assert sum(state == "no settings" for _, state in lines) == 2 * len(AGENTS) - 1


@pytest.mark.parametrize("agent", AGENTS)
def test_status_tells_what_became_of_an_entry(agent: str, desk: Desk) -> None:
    """As installed, changed, removed, installed again, and taken out by `uninstall`."""
    desk.run("install", agent, "--yes")
    file = desk.home / LOCATIONS[agent].user
    text = file.read_text()

    def state() -> tuple[int, str]:
        done = desk.run("status")
        (line,) = [line for line in done.stdout.splitlines() if str(file) in line]
        return done.exit_code, line.split(": ")[1]

    assert state() == (0, "guarded")
    file.write_text(text.replace("guarded", "observed"))
    assert state() == (1, "CHANGED since it was installed")
    file.write_text("" if agent in {"codex", "opencode"} else "{}")
    assert state() == (1, "REMOVED since it was installed")
    file.unlink()
    assert state() == (1, "REMOVED since it was installed")
    desk.run("install", agent, "--yes")
    assert state() == (0, "guarded")
    desk.run("uninstall", agent, "--yes")
    assert state() == (0, "not guarded")


@pytest.mark.parametrize(
    ("agent", "more"),
    [
        ("claude-code", {"disableAllHooks": True}),
        ("gemini", {"hooksConfig": {"enabled": False}}),
        ("codex", "[features]\nhooks = false\n"),
        ("copilot", {"disableAllHooks": True}),
    ],
)
def test_status_tells_that_hooks_are_switched_off(agent: str, more: Any, desk: Desk) -> None:
    """An entry that no agent reads guards nothing."""
    desk.run("install", agent, "--yes")
    file = desk.home / LOCATIONS[agent].user
    text = file.read_text()
    file.write_text(text + more if isinstance(more, str) else json.dumps({**json.loads(text), **more}))

    done = desk.run("status")

    assert done.exit_code == 1
    assert "SWITCHED OFF by" in done.stdout


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("claude-code", "project/.claude/settings.local.json"),
        ("claude-code", "project/.claude/settings.json"),
        ("copilot", "project/.github/copilot/settings.json"),
        ("copilot", "home/.copilot/settings.json"),
    ],
)
def test_status_tells_where_else_hooks_are_switched_off(agent: str, name: str, desk: Desk) -> None:
    """In a file beside the one that holds the entry."""
    desk.run("install", agent, "--yes")
    assert desk.run("status").exit_code == 0
    file = desk.home.parent / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('{"disableAllHooks": true}')

    done = desk.run("status")

    assert done.exit_code == 1
    assert f"SWITCHED OFF by disableAllHooks = true in {file}" in done.stdout


@pytest.mark.parametrize("agent", [agent for agent in AGENTS if agent != "opencode"])
def test_the_agents_own_setting_for_failures_is_written(agent: str, tmp_path: Path) -> None:
    """Those that have one block what fails or is late; each waits longer than the hook needs to deny by itself."""
    _, text = compute_edit(agent, tmp_path / "none", "toolcharter guard hook x")
    found = tomllib.loads(text) if agent == "codex" else json.loads(text)
    entries = [entry for entries in found["hooks"].values() for entry in entries]
    hooks = [hook for entry in entries for hook in entry.get("hooks", [entry])]

    waits = [hook.get("timeout", hook.get("timeoutSec")) / (1000 if agent == "gemini" else 1) for hook in hooks]
    assert min(waits) > client.DEADLINE_S
    first = {key: value for key, value in hooks[0].items() if key in {"onFailure", "failClosed"}}
    assert first == {"claude-code": {"onFailure": "block"}, "cursor": {"failClosed": True}}.get(agent, {})


def test_an_entry_of_somebody_else_is_told_apart(desk: Desk) -> None:
    """One that came with the project, for instance: this user's `install` has not written it."""
    desk.run("install", "gemini", "--project", "--yes")
    (desk.home / ".local/state/toolcharter/guard-installed.json").unlink()

    done = desk.run("status")

    assert "guarded, by an entry that `install` did not write" in done.stdout


@pytest.mark.parametrize(
    ("stdin", "words"),
    [
        ("no JSON", ()),
        ("", ()),
        ("{}", ()),
        ('{"tool_name": "Bash", "tool_input": {"command": "ls"}}', ("--profile", "no_such_profile")),
        ('{"tool_name": "Bash", "tool_input": {"command": "ls"}}', ("--workspace", "/no/such/folder")),
        ('{"tool_name": "Bash", "tool_input": {"command": "ls"}}', ("--events", "file:/no/such/folder/x")),
    ],
    ids=["text", "empty", "object", "profile", "workspace", "events"],
)
def test_what_cannot_be_judged_is_blocked(stdin: str, words: tuple[str, ...], desk: Desk) -> None:
    """Exit status 2, which every agent takes as a block, with the reason on standard error; never a pass in silence."""
    done = desk.run("hook", "claude-code", *words, stdin=stdin)

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.strip()


def test_a_process_that_cannot_judge_ends_with_the_same_status(desk: Desk) -> None:
    """As an agent sees it."""
    done = desk.start("hook", "claude-code", stdin="no JSON")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip()


def test_events_go_to_the_users_state_folder(desk: Desk) -> None:
    """Where the project's tools cannot write."""
    done = desk.start("hook", "codex", stdin=desk.message("git push"))

    file = desk.home / ".local/state/toolcharter/guard.jsonl"
    assert (done.returncode, "no_push" in file.read_text()) == (0, True)
