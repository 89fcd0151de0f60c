"""`toolcharter mcp wrap`, `unwrap` and `trust`: settings of real forms, real servers, and the way back."""

import asyncio
import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from mcp import Client, StdioServerParameters

from toolcharter_mcp_bridge.clients import CLIENTS, Entry, Unreadable, servers_in, split_reference, with_servers
from toolcharter_mcp_bridge.trust_command import trust
from toolcharter_mcp_bridge.wrap import unwrap, wrap

from .bridge_setup import PYTHON, SERVERS, BridgeSetup

pytestmark = pytest.mark.slow
SDK = [PYTHON, str(SERVERS / "sdk.py")]
HIDDEN = "plain-words-nobody-knows"
PLAIN = {"command": SDK[0], "args": SDK[1:], "env": {"GIVEN": HIDDEN, "REFERRED": "${SOME_VARIABLE}"}}
FORMS: dict[str, tuple[str, Any]] = {
    "claude-code": (".mcp.json", {"mcpServers": {"My Calc": PLAIN}}),
    "gemini": (".gemini/settings.json", {"theme": "x", "mcpServers": {"calc": PLAIN}}),
    "opencode": (
        "opencode.json",
        {"mcp": {"calc": {"type": "local", "command": SDK, "environment": PLAIN["env"]}}, "permission": {"*": "ask"}},
    ),
    "vscode": (".vscode/mcp.json", {"inputs": [], "servers": {"calc": {"type": "stdio", **PLAIN}}}),
}


@pytest.fixture
def project(world: BridgeSetup, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOME_VARIABLE", "text")
    monkeypatch.setenv("HOME", str(world.folder / "home"))
    return world.workspace


def write(project: Path, client: str) -> Path:
    name, settings = FORMS[client]
    file = project / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(settings, indent=4))
    return file


def run(command: Any, *args: str, given: str = "") -> Result:
    return CliRunner().invoke(command, args, input=given)


def entry_of(client: str, settings: Any) -> tuple[list[str], dict[str, str]]:
    """The command and the environment of the one entry that is left."""
    ((name, entry),) = settings[CLIENTS[client].key].items()
    assert name == "toolcharter"
    found = CLIENTS[client].read(entry)
    return list(found.command), dict(found.env)


@pytest.mark.parametrize("client", sorted(FORMS))
def test_a_client_is_wrapped_and_unwrapped(project: Path, client: str) -> None:
    """One entry stands for all; what reads may, the rest asks; the way back restores every byte."""
    file = write(project, client)
    before = file.read_text()

    wrapped = run(wrap, client, "--project", str(project), given="y\n")

    assert wrapped.exit_code == 0, wrapped.output
    assert HIDDEN not in wrapped.output
    settings = json.loads(file.read_text())
    rest = {key: value for key, value in settings.items() if key != CLIENTS[client].key}
    assert rest == {key: value for key, value in FORMS[client][1].items() if key != CLIENTS[client].key}
    command, env = entry_of(client, settings)
    assert list(env.values()) == [HIDDEN]
    assert command[1:2] == ["mcp"]
    profile = Path(command[command.index("--profile") + 1])
    server = "my-calc" if client == "claude-code" else "calc"
    written = yaml.safe_load(profile.read_text())
    assert (written["mode"], written["allow"]) == ("ask", [f"mcp__{server}__add", "mcp_search"])
    assert HIDDEN not in profile.read_text()
    given = written["extensions"]["mcp_bridge"]["servers"][server]["env"]
    assert (given["REFERRED"], given["GIVEN"]) == ({"env": "SOME_VARIABLE"}, {"env": next(iter(env))})
    assert file.with_name(f"{file.name}.before-toolcharter").read_text() == before
    again = run(wrap, client, "--project", str(project), "--yes")
    assert "wrapped already" in again.output

    assert run(unwrap, client, "--project", str(project)).exit_code == 0

    assert file.read_text() == before
    assert not profile.exists()
    assert [path.name for path in file.parent.iterdir() if path.is_file()] == [file.name]
    assert "is not wrapped" in run(unwrap, client, "--project", str(project)).output


def test_the_one_entry_works(project: Path) -> None:
    """A client that starts it sees all tools at once; what reads runs, and nobody being there, the rest does not."""
    file = write(project, "claude-code")
    assert run(wrap, "claude-code", "--project", str(project), "--yes").exit_code == 0
    command, env = entry_of("claude-code", json.loads(file.read_text()))
    given = {**env, "XDG_STATE_HOME": os.environ["XDG_STATE_HOME"], "SOME_VARIABLE": "text"}

    async def use() -> tuple[list[str], str, str]:
        server = StdioServerParameters(command=command[0], args=command[1:], env=given, cwd=project)
        async with Client(server) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            added = await client.call_tool("mcp__my-calc__add", {"a": 1, "b": 2})
            shouted = await client.call_tool("mcp__my-calc__shout", {"text": "a"})
            return tools, added.content[0].text, shouted.content[0].text  # type: ignore[union-attr]

    tools, added, shouted = asyncio.run(use())

    assert sorted(tools) == ["mcp__my-calc__add", "mcp__my-calc__shout"]
    assert added.splitlines()[1] == "3"
    assert shouted.startswith("ERROR: denied_by_policy reason=approval_unavailable")


def test_codex_keeps_its_other_tables(project: Path) -> None:
    """Comments and tables stay as they are; the tables of servers are written anew."""
    file = project / ".codex/config.toml"
    file.parent.mkdir()
    before = (
        '# mine\nmodel = "x"\n\n[mcp_servers.calc]\n'
        f"command = {json.dumps(SDK[0])}\nargs = {json.dumps(SDK[1:])}\n"
        '[mcp_servers.calc.env]\nGIVEN = "text"\n\n[profiles.a]  # keep\nb = 1\n'
    )
    file.write_text(before)

    assert run(wrap, "codex", "--project", str(project), "--yes").exit_code == 0

    text = file.read_text()
    assert text.startswith('# mine\nmodel = "x"\n\n[profiles.a]  # keep\nb = 1\n\n[mcp_servers.toolcharter]\n')
    settings = tomllib.loads(text)
    assert entry_of("codex", settings)[1] == {"MCP_CALC_GIVEN": "text"}
    file.write_text(text.replace('model = "x"', 'model = "y"') + "\n[mcp_servers.new]\ncommand = 'later'\n")

    assert run(unwrap, "codex", "--project", str(project)).exit_code == 0

    after = tomllib.loads(file.read_text())
    assert after["model"] == "y"
    assert after["mcp_servers"] == {**tomllib.loads(before)["mcp_servers"], "new": {"command": "later"}}


def test_who_says_no_changes_nothing(project: Path) -> None:
    """Shown first; nothing is written before somebody agrees."""
    file = write(project, "vscode")
    before = file.read_text()

    result = run(wrap, "vscode", "--project", str(project), given="n\n")

    assert result.exit_code == 1
    assert "mcp__calc__add" in result.output
    assert file.read_text() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mcpServers": {}}', "names no MCP server"),
        ('{"mcpServers": []}', "is no mapping of servers"),
        ("{ // comment\n}", "it is not understood"),
        ("[]", "it is no mapping"),
        ('{"mcpServers": {"x": {"type": "unknown"}}}', "names no MCP server"),
        (None, "There are no settings of claude-code"),
    ],
)
def test_settings_that_are_not_understood(project: Path, text: str | None, said: str) -> None:
    """They stay as they are."""
    file = project / ".mcp.json"
    if text is not None:
        file.write_text(text)

    result = run(wrap, "claude-code", "--project", str(project), "--yes")

    assert (result.exit_code, said in result.output) == (1, True), result.output
    assert text is None or file.read_text() == text


def test_forms_of_entries() -> None:
    """What the clients' pages show, remote servers among it."""
    forms: dict[str, dict[str, Any]] = {
        "claude-code": {"type": "sse", "url": "https://a.example/sse", "headers": {"X": "${T}"}},
        "codex": {"url": "https://a.example/mcp", "bearer_token_env_var": "T"},
        "gemini": {"url": "https://a.example/sse"},
        "opencode": {"type": "remote", "url": "https://a.example/mcp", "headers": {"X": "{env:T}"}},
        "vscode": {"type": "http", "url": "https://a.example/mcp"},
    }

    assert {client: CLIENTS[client].read(entry) for client, entry in forms.items()} == {
        "claude-code": Entry(url="https://a.example/sse", is_sse=True, headers={"X": "${T}"}),
        "codex": Entry(url="https://a.example/mcp", is_sse=False, headers={"Authorization": "Bearer ${T}"}),
        "gemini": Entry(url="https://a.example/sse", is_sse=True, headers={}),
        "opencode": Entry(url="https://a.example/mcp", is_sse=False, headers={"X": "{env:T}"}),
        "vscode": Entry(url="https://a.example/mcp", is_sse=False, headers={}),
    }


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("${A}", ("", "A")),
        ("Bearer ${env:A_1}", ("Bearer ", "A_1")),
        ("{env:A}", ("", "A")),
        ("Bearer $A", ("Bearer ", "A")),
        ("plain", None),
        ("${A} and more", None),
        ("$A$B", None),
        ("${input:a}", None),
    ],
)
def test_references(value: str, found: tuple[str, str] | None) -> None:
    """A text and a variable behind it; all else is a value."""
    assert split_reference(value) == found


def test_tables_that_would_be_lost() -> None:
    """Inline tables of servers cannot be taken out by lines."""
    text = 'mcp_servers = {a = {command = "x"}}\n'

    assert servers_in(CLIENTS["codex"], text, is_toml=True) == {"a": {"command": "x"}}
    with pytest.raises(Unreadable, match="not understood"):
        with_servers(CLIENTS["codex"], text, {"b": {"command": "y"}}, is_toml=True)


def test_all_tools_are_agreed_to_at_once(world: BridgeSetup) -> None:
    """New ones and changed ones are shown; afterwards nobody is asked."""
    world.orders({"name": "echo", "description": "Says it."}, "other")
    path = world.profile({"raw": world.raw}, trust="ask")
    arguments = ("--profile", str(path), "--workspace", str(world.workspace))

    declined = run(trust, *arguments, given="n\n")
    agreed = run(trust, *arguments, given="y\n")
    world.orders({"name": "echo", "description": "Says more."}, "other")
    changed = run(trust, *arguments, "--yes")

    assert "Agreed to 0 tools." in declined.output
    schema = "    type: 'object'\n    properties.text.type: 'string'\n    required.0: 'text'\n"
    assert f"raw: echo is new\n  echo: Says it.\n{schema}raw: other is new" in agreed.output
    assert "Agreed to 2 tools." in agreed.output
    assert "raw: echo has changed\n  description:\n  - Says it.\n  + Says more." in changed.output
    assert world.open({"raw": world.raw}, trust="ask").call("mcp__raw__echo", {"text": "x"}).outcome == "ok"
    assert world.asked == []
