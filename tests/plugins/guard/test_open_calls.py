"""A permitted call ends, with its closing event, when its agent reports the end: once, whatever the agent reports."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcharter.hosts import Host, open_host
from toolcharter_guard import judge as judging
from toolcharter_guard.agents import AGENTS
from toolcharter_guard.judge import Judge

SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"[:36]
SHELL = {
    "claude-code": "Bash",
    "codex": "Bash",
    "gemini": "run_shell_command",
    "opencode": "bash",
    "cursor": "Shell",
    "copilot": "bash",
}
AFTER = {
    "gemini": "AfterTool",
    "opencode": "tool.execute.after",
    "cursor": "postToolUse",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("old\n")
    return folder


@pytest.fixture
def lines() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def host(workspace: Path, lines: list[dict[str, Any]]) -> Iterator[Host]:
    with open_host("guarded", workspace=workspace, events=[lambda line: lines.append(dict(line))]) as host:
        yield host


@pytest.fixture
def ended(lines: list[dict[str, Any]]) -> Callable[[], list[tuple[str, str | None]]]:
    """Outcome and reason of the calls that have ended."""
    return lambda: [(each["outcome"], each["reason"]) for each in lines if each["event"] == "hook.tool.after"]


def before(command: str = "cat a.txt", tool: str = "Bash", **more: Any) -> str:
    args = more.pop("args", {"command": command})
    return json.dumps({"tool_name": tool, "tool_input": args, "session_id": "s", "hook_event_name": "Pre", **more})


def after(command: str = "cat a.txt", tool: str = "Bash", event: str = "PostToolUse", **more: Any) -> str:
    return before(command, tool, **{"hook_event_name": event, **more})


def test_the_closing_event_comes_with_the_agents_report(
    host: Host, workspace: Path, ended: Callable[[], object], lines: list[dict[str, Any]]
) -> None:
    """With what the agent's tool gave; nothing of it is in the event."""

    async def session() -> None:
        judge = Judge(AGENTS["codex"], host, workspace, keeps_open=True)
        assert await judge.answer(before(tool_use_id="1")) == {}
        assert (ended(), judge.is_waiting) == ([], True)
        assert await judge.answer(after(tool_use_id="1", tool_response=f"token {SECRET}\n")) == {}
        assert (ended(), judge.is_waiting) == ([("ok", None)], False)

    asyncio.run(session())

    assert [line["event"] for line in lines if line["call_id"]] == [
        "hook.tool.before",
        "hook.policy.before",
        "hook.tool.after",
    ]
    assert lines[-1]["redactions"] == 1
    assert SECRET not in json.dumps(lines)


def test_a_failure_that_the_agent_reports_is_one(host: Host, workspace: Path, ended: Callable[[], object]) -> None:
    """As a message of its own, or in the result."""

    async def session() -> None:
        claude = Judge(AGENTS["claude-code"], host, workspace, keeps_open=True)
        await claude.answer(before())
        await claude.answer(after(event="PostToolUseFailure", error="exit status 1"))
        gemini = Judge(AGENTS["gemini"], host, workspace, keeps_open=True)
        await gemini.answer(before(tool="run_shell_command"))
        failed = {"llmContent": "none", "error": {"message": "File not found"}}
        await gemini.answer(after(tool="run_shell_command", event="AfterTool", tool_response=failed))

    asyncio.run(session())

    assert ended() == [("error", "tool_error")] * 2


def test_what_is_never_reported_ends_with_the_guard(host: Host, workspace: Path, ended: Callable[[], object]) -> None:
    """So does the call that is open longest where there are too many."""

    async def session() -> None:
        judge = Judge(AGENTS["codex"], host, workspace, keeps_open=True)
        await judge.answer(before(tool_use_id="1"))
        await judge.answer(before(tool_use_id="2"))
        assert ended() == []
        await judge.end()

    asyncio.run(session())

    assert ended() == [("error", "tool_error")] * 2


def test_the_oldest_of_too_many_open_calls_is_ended(
    host: Host, workspace: Path, ended: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent whose user refuses calls reports no end of them."""
    monkeypatch.setattr(judging, "MAX_OPEN_CALLS", 2)

    async def session() -> None:
        judge = Judge(AGENTS["codex"], host, workspace, keeps_open=True)
        for number in range(3):
            await judge.answer(before(tool_use_id=str(number)))
        assert ended() == [("error", "tool_error")]
        await judge.answer(after(tool_use_id="0", tool_response="late"))
        await judge.answer(after(tool_use_id="2", tool_response="x"))
        assert ended() == [("error", "tool_error"), ("ok", None)]
        await judge.end()

    asyncio.run(session())


def test_calls_without_numbers_are_told_apart_by_their_arguments(
    host: Host, workspace: Path, lines: list[dict[str, Any]]
) -> None:
    """Gemini CLI numbers none; two equal ones may be under way, and each report ends what it is about."""

    async def session() -> None:
        judge = Judge(AGENTS["gemini"], host, workspace, keeps_open=True)
        for command in ("cat a.txt", "ls"):
            await judge.answer(before(command, "run_shell_command"))
        await judge.answer(after("ls", "run_shell_command", "AfterTool", tool_response={"llmContent": "a.txt"}))
        assert [line["call_id"] for line in lines if line["event"] == "hook.tool.after"] == [lines[-1]["call_id"]]
        begun = [line["call_id"] for line in lines if line["event"] == "hook.tool.before"]
        assert lines[-1]["call_id"] == begun[1]
        await judge.end()

    asyncio.run(session())


def test_no_part_of_a_patch_stays_open_if_another_is_denied(
    host: Host, workspace: Path, ended: Callable[[], list[tuple[str, str | None]]]
) -> None:
    """The agent does none of it."""
    patch = "*** Begin Patch\n*** Add File: new.py\n+x\n*** Add File: ../out.py\n+x\n*** End Patch"

    async def session() -> None:
        judge = Judge(AGENTS["codex"], host, workspace, keeps_open=True)
        said = await judge.answer(before(tool="apply_patch", args={"command": patch}))
        assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert not judge.is_waiting

    asyncio.run(session())

    assert ended() == [("denied", "path_outside_workspace"), ("error", "tool_error")]


@pytest.mark.parametrize(
    ("agent", "output", "answer"),
    [
        (
            "claude-code",
            {"stdout": f"token {SECRET}", "stderr": "", "interrupted": False},
            {"stdout": "token [REDACTED]", "stderr": "", "interrupted": False},
        ),
        (
            "gemini",
            {"llmContent": f"token {SECRET}", "returnDisplay": "x"},
            "toolcharter has masked secrets in this result:\ntoken [REDACTED]",
        ),
        ("opencode", f"token {SECRET}", "token [REDACTED]"),
        ("copilot", {"resultType": "success", "textResultForLlm": f"token {SECRET}"}, "token [REDACTED]"),
        ("codex", f"token {SECRET}", None),
        ("cursor", f"token {SECRET}", None),
    ],
)
def test_output_is_scrubbed_where_the_agent_lets_a_hook_replace_it(
    agent: str, output: object, answer: object, host: Host, workspace: Path
) -> None:
    """In the form that the agent's tool gave, whether the guard knows the call or not; clean output is left alone."""
    keys = AGENTS[agent].keys
    event = AFTER.get(agent, "PostToolUse")

    def text(value: object) -> str:
        more: dict[str, Any] = {keys["output"]: value, keys["tool"]: SHELL[agent]}
        return after(tool=SHELL[agent], event=event, **more)

    async def session() -> tuple[dict[str, Any], dict[str, Any]]:
        judge = Judge(AGENTS[agent], host, workspace, keeps_open=True)
        clean = await judge.answer(text("clean"))
        return clean, await judge.answer(text(output))

    clean, said = asyncio.run(session())

    nested = said.get("hookSpecificOutput") or said.get("modifiedResult") or said
    assert clean == {}
    names = ("reason", "updatedToolOutput", "output", "textResultForLlm")
    assert next((nested[name] for name in names if name in nested), None) == answer


def test_cursor_lets_a_hook_replace_what_an_mcp_server_gives(host: Host, workspace: Path) -> None:
    """And nothing else; the answer is in the form of the server's result."""
    found = {"content": [{"type": "text", "text": f"token {SECRET}"}]}

    def said(output: str) -> dict[str, Any]:
        text = after(tool="MCP:find", event="postToolUse", tool_output=output)
        return asyncio.run(Judge(AGENTS["cursor"], host, workspace).answer(text))

    clean = {"content": [{"type": "text", "text": "token [REDACTED]"}]}
    assert said(json.dumps(found)) == {"updated_mcp_tool_output": clean}
    assert said(f"no JSON {SECRET}") == {}


def test_a_file_has_to_be_read_before_it_is_edited(workspace: Path) -> None:
    """As it is: after its own edits the agent need not read it again, after anybody else's it must."""
    profile = workspace.parent / "own.yaml"
    profile.write_text("profile: own\nextends: [guarded]\nsession_guards: {read_before_write: {mode: strict}}\n")
    file = workspace / "a.txt"

    async def session() -> list[bool]:
        with open_host(profile, workspace=workspace, events=[lambda _: None]) as host:
            judge = Judge(AGENTS["claude-code"], host, workspace, keeps_open=True)

            async def made(tool: str, **args: str) -> bool:
                if await judge.answer(before(tool=tool, args={"file_path": str(file), **args})):
                    return False
                if tool == "Edit":
                    file.write_text(args["new_string"])
                await judge.answer(after(tool=tool, args={"file_path": str(file), **args}, tool_response="done"))
                return True

            edits = [await made("Edit", old_string="old", new_string="a")]
            assert await made("Read")
            edits += [await made("Edit", old_string=old, new_string=new) for old, new in ("ab", "bc")]
            file.write_text("another's")
            return [*edits, await made("Edit", old_string="c", new_string="d")]

    assert asyncio.run(session()) == [False, True, True, False]


def test_a_failure_that_copilot_reports_ends_the_call(
    host: Host, workspace: Path, ended: Callable[[], list[tuple[str, str | None]]]
) -> None:
    """By a message that names no event: it has an error where the first has none."""
    call = {
        "toolName": "bash",
        "toolArgs": json.dumps({"command": "cat a.txt"}),
        "sessionId": "s",
        "cwd": str(workspace),
    }

    async def session() -> None:
        judge = Judge(AGENTS["copilot"], host, workspace, keeps_open=True)
        assert await judge.answer(json.dumps(call)) == {}
        await judge.answer(json.dumps({**call, "error": "exit status 1"}))

    asyncio.run(session())

    assert ended() == [("error", "tool_error")]
