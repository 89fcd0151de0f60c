"""Real coding agents use our tools over MCP, and none of their own, with the settings of the plugin's README.

The model is scripted, and home and environment are the client's own. `make clients` installs the clients and runs these
tests; elsewhere those whose client is missing are skipped.
"""

import json
import shlex
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pages import ROOT, blocks
from toolcharter_guard.scripted import Chat, Gemini, Messages, Responses, ScriptedModel, Step

from ..guard.test_real_clients import Desk, client  # noqa: TID252 - the tests are no package with a name
from .serving import NAMES, TOKEN, events, server_args, serving

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "notes.txt"}),
    ("read_file", {"path": "../served.yaml"}),
    ("delete_file", {"path": "notes.txt"}),
]
ENDS = [("read_file", "ok", None), ("read_file", "denied", "path_outside_workspace")]


def snippet(language: str, word: str) -> str:
    """The README's first block that names *word*."""
    page = (ROOT / "plugins/mcp/README.md").read_text()
    return next(block.text for block in blocks(page) if block.language == language and word in block.text)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = tmp_path / "desk"
    made.mkdir()
    return Desk(made)


@pytest.fixture(params=["stdio", "http"])
def url(place: Path, request: pytest.FixtureRequest) -> Iterator[str | None]:
    """The address of the server; None if the client starts it."""
    with ExitStack() as stack:
        yield stack.enter_context(serving(place)) if request.param == "http" else None


def ends(place: Path) -> list[tuple[str, str, str | None]]:
    """Of each call its tool, outcome and reason."""
    return [
        (event["tool"], event["outcome"], event["reason"])
        for event in events(place)
        if event["event"] == "hook.tool.after"
    ]


def test_claude_code(place: Path, desk: Desk, url: str | None) -> None:
    """It asks its user by a form, which `claude --print` declines."""
    claude = client("claude")
    settings = json.loads(snippet("json", "mcpServers"))
    server: dict[str, Any] = {"command": sys.executable, "args": server_args(place)}
    if url:
        header = {"Authorization": "Bearer ${TOOLCHARTER_MCP_TOKEN}"}
        server = {"type": "http", "url": url, "headers": header}
    settings["mcpServers"]["toolcharter"] = server
    (desk.project / ".mcp.json").write_text(json.dumps(settings))
    _, *options = shlex.split(snippet("sh", "claude "))
    script: list[Step] = [(f"mcp__toolcharter__{name}", args) for name, args in CALLS]

    with ScriptedModel(Messages, [*script, ("Bash", {"command": "touch x"})]).serving() as model:
        done = desk.run(
            *(claude, "--print", "go", *options),
            ANTHROPIC_BASE_URL=f"http://127.0.0.1:{model.server_port}",
            ANTHROPIC_API_KEY="none",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            TOOLCHARTER_MCP_TOKEN=TOKEN,
        )

    assert done.returncode == 0, done.stdout + done.stderr
    read, outside, asked, own = model.results
    assert "first" in read
    assert "reason=path_outside_workspace" in outside
    assert "reason=approval_denied" in asked
    assert "No such tool available: Bash" in own
    assert set(model.tools) - {"DeferredToolPlaceholder"} == {f"mcp__toolcharter__{name}" for name in NAMES}
    refusals = [("delete_file", "denied", "approval_unavailable"), ("delete_file", "denied", "approval_denied")]
    assert ends(place) == [*ENDS, *refusals]


def test_gemini(place: Path, desk: Desk, url: str | None) -> None:
    """It has no form to ask its user, so that what needs a person is refused."""
    gemini = client("gemini")
    settings = json.loads(snippet("json", "mcp_toolcharter_*"))
    server: dict[str, Any] = {"command": sys.executable, "args": server_args(place)}
    if url:
        server = {"httpUrl": url, "headers": {"Authorization": "Bearer $TOOLCHARTER_MCP_TOKEN"}}
    settings["mcpServers"]["toolcharter"] = server
    settings["security"] = {"auth": {"selectedType": "gemini-api-key"}}
    desk.write(".gemini/settings.json", settings)
    script: list[Step] = [(f"mcp_toolcharter_{name}", args) for name, args in CALLS]

    with ScriptedModel(Gemini, [*script, ("run_shell_command", {"command": "touch x"})]).serving() as model:
        done = desk.run(
            *(gemini, "--skip-trust", "-m", "gemini-2.5-flash", "-p", "go"),
            GOOGLE_GEMINI_BASE_URL=f"http://127.0.0.1:{model.server_port}",
            GEMINI_API_KEY="none",
            TOOLCHARTER_MCP_TOKEN=TOKEN,
        )

    assert done.returncode == 0, done.stderr
    read, outside, asked, own = (json.dumps(answer) for answer in model.results)
    assert "first" in read
    assert "reason=path_outside_workspace" in outside
    assert "reason=approval_unavailable" in asked
    assert 'Tool \\"run_shell_command\\" not found' in own
    assert sorted(model.tools) == sorted(f"mcp_toolcharter_{name}" for name in NAMES)
    assert ends(place) == [*ENDS, ("delete_file", "denied", "approval_unavailable")]


def test_codex(place: Path, desk: Desk, url: str | None) -> None:
    """It asks its user by a form, which `codex exec` declines; of its own tools those stay that act on nothing."""
    codex = client("codex")
    text = snippet("toml", "mcp_servers")
    settings = tomllib.loads(text)["mcp_servers"]["toolcharter"]
    here = f"command = {json.dumps(sys.executable)}\nargs = {json.dumps(server_args(place))}"
    if url:
        here = f'url = "{url}"\nbearer_token_env_var = "TOOLCHARTER_MCP_TOKEN"'
    there = f"command = {json.dumps(settings['command'])}\nargs = {json.dumps(settings['args'])}"
    assert there in text
    script: list[Step] = [(f"mcp__toolcharter/{name}", args) for name, args in CALLS]

    with ScriptedModel(Responses, [*script, ("exec_command", {"cmd": "touch x"})]).serving() as model:
        desk.write(
            ".codex/config.toml",
            f'model = "scripted"\nmodel_provider = "local"\n{text.replace(there, here)}\n'
            f'[model_providers.local]\nname = "local"\nbase_url = "http://127.0.0.1:{model.server_port}/v1"\n'
            'wire_api = "responses"\n',
        )
        done = desk.run(codex, "exec", "--skip-git-repo-check", "go", TOOLCHARTER_MCP_TOKEN=TOKEN)

    assert done.returncode == 0, done.stderr
    assert "ignor" not in done.stderr
    read, outside, asked, own = model.results
    assert "first" in read
    assert '"reason":"path_outside_workspace"' in outside
    assert '"reason":"approval_denied"' in asked
    assert "unsupported call: exec_command" in own
    others = {"list_mcp_resource_templates", "list_mcp_resources", "read_mcp_resource", "request_user_input"}
    assert set(model.tools) == {*NAMES, *others}
    refusals = [("delete_file", "denied", "approval_unavailable"), ("delete_file", "denied", "approval_denied")]
    assert ends(place) == [*ENDS, *refusals]


def test_opencode(place: Path, desk: Desk, url: str | None) -> None:
    """It has no form either."""
    opencode = client("opencode")
    settings = json.loads(snippet("json", 'toolcharter_*": "allow'))
    server: dict[str, Any] = {"type": "local", "command": [sys.executable, *server_args(place)]}
    if url:
        server = {"type": "remote", "url": url, "headers": {"Authorization": "Bearer {env:TOOLCHARTER_MCP_TOKEN}"}}
    settings["mcp"]["toolcharter"] = server
    script: list[Step] = [(f"toolcharter_{name}", args) for name, args in CALLS]

    with ScriptedModel(Chat, [*script, ("bash", {"command": "touch x", "description": "x"})]).serving() as model:
        local = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"http://127.0.0.1:{model.server_port}/v1"},
            "models": {"scripted": {}},
        }
        desk.write(".config/opencode/opencode.json", {**settings, "provider": {"local": local}})
        done = desk.run(opencode, "run", "-m", "local/scripted", "go", TOOLCHARTER_MCP_TOKEN=TOKEN)

    assert done.returncode == 0, done.stderr
    read, outside, asked, own = model.results
    assert "first" in read
    assert "reason=path_outside_workspace" in outside
    assert "reason=approval_unavailable" in asked
    assert "unavailable tool" in own
    assert sorted(model.tools) == sorted(f"toolcharter_{name}" for name in NAMES)
    assert ends(place) == [*ENDS, ("delete_file", "denied", "approval_unavailable")]
