"""The README's section "Give it to your agent": each of its ways works as it stands there.

Its Python runs with the other pages' (`tests/test_docs_run.py`), its framework in `test_langchain.py`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from .readme import front_page

pytestmark = pytest.mark.slow
PROGRAMS = Path(sys.executable).parent


def test_section_comes_first() -> None:
    """Before all else, and as short as it promises: three lines, five, one command."""
    lines = {language: front_page(language).text.split("\n") for language in ("json", "python", "sh")}

    assert [len([line for line in text if line]) for text in lines.values()] == [3, 5, 1]


async def test_over_mcp(tmp_path: Path) -> None:
    """A client that starts the server by the three lines gets the profile's tools."""
    (entry,) = json.loads(front_page("json").text)["mcpServers"].values()
    (tmp_path / "notes.txt").write_text("first\n")
    server = StdioServerParameters(
        command=str(PROGRAMS / entry["command"]), args=entry["args"], cwd=str(tmp_path), env={"HOME": str(tmp_path)}
    )

    async with Client(server, read_timeout_seconds=60) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        read = await client.call_tool("read_file", {"path": "notes.txt"})
        push = await client.call_tool("git", {"action": "push"})

    assert {"read_file", "grep", "git"} <= names
    assert not read.is_error
    assert (push.is_error, (push.structured_content or {})["reason"]) == (True, "action_not_allowed")


def test_in_front_of_a_coding_agent(tmp_path: Path) -> None:
    """One command, which asks; then the line that it has put into the settings denies a push."""
    command = front_page("sh").text.partition("#")[0].strip()
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    environ = {"HOME": str(home), "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}

    def run(line: str, said: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", line], input=said, env=environ, cwd=project, capture_output=True, text=True, check=False
        )

    asked = run(command, "y\n")
    settings = json.loads((home / ".claude/settings.json").read_text())
    [hook] = settings["hooks"]["PreToolUse"][0]["hooks"]
    call = {"tool_name": "Bash", "tool_input": {"command": "git push"}, "cwd": str(project), "session_id": "s"}
    denied = run(hook["command"], json.dumps(call))

    assert asked.returncode == 0, asked.stderr
    assert "no_push" in denied.stdout
