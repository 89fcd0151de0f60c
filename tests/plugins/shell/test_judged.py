"""The tools as a profile builds them: what its rules allow runs as it was judged, in its sandbox, and nothing else does."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from toolcharter import Toolbox, build_tools

OpenBox = Callable[..., Toolbox]
BWRAP = pytest.mark.needs_program("bwrap", package="bubblewrap")


@pytest.fixture
def open_box(workspace: Path, tmp_path: Path) -> Iterator[OpenBox]:
    """Open a toolbox of both tools under rules."""
    with ExitStack() as stack:

        def build(*allow: str, mode: str = "policy", runner: str = "host", **policies: Any) -> Toolbox:
            tools = {"bash": {}, "execute_code": {}, **policies}
            written = {"profile": "test", "mode": mode, "runner": runner, "allow": allow, "tools": tools}
            profile = tmp_path / "profile.yaml"
            profile.write_text(json.dumps(written))
            return stack.enter_context(build_tools(profile, workspace=workspace, events=_ignore))

        yield build


def test_what_is_allowed_runs(open_box: OpenBox, workspace: Path) -> None:
    """Each command of a line by a rule; names of the tool and its argument as agents know them."""
    (workspace / "a.txt").write_text("b\na\n")
    box = open_box("bash:cat *", "bash:sort")

    result = box.call("exec", {"cmd": "cat a.txt | sort"})

    assert (result.outcome, result.text) == ("ok", "a\nb\n")


@pytest.mark.parametrize("command", ["ls", "cat a.txt; ls", "cat $(ls)", "cat /etc/passwd", "cat a.txt > b.txt"])
def test_what_is_not_allowed_does_not(open_box: OpenBox, workspace: Path, command: str) -> None:
    """One command that no rule covers is enough."""
    result = open_box("bash:cat *").call("bash", {"command": command})

    assert (result.outcome, result.reason) == ("denied", "not_in_allow")
    assert list(workspace.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    ["sh", "bash -s", "bash -", "cat | sh", "sh -s x", 'eval "$(cat)"', 'read x; eval "$x"', "source /dev/stdin"],
)
@pytest.mark.parametrize("mode", ["policy", "dangerous"])
def test_no_shell_runs_its_input(open_box: OpenBox, workspace: Path, command: str, mode: str) -> None:
    """What a call gives as input is not judged, so that nothing may take it for commands; in no mode."""
    allow = ["bash:*"] if mode == "policy" else []
    box = open_box(*allow, mode=mode, bash={"stdin": True})

    result = box.call("bash", {"command": command, "stdin": "touch bypassed\n"})

    assert result.outcome == "denied"
    assert result.reason in {"not_understood", "denied_by_floor"}
    assert list(workspace.iterdir()) == []


def test_input_feeds_what_is_allowed(open_box: OpenBox) -> None:
    """A reader gets it."""
    box = open_box("bash:sort", bash={"stdin": True})

    assert box.call("bash", {"command": "sort", "stdin": "b\na\n"}).text == "a\nb\n"


@pytest.mark.parametrize(
    ("args", "stage", "reason"),
    [
        pytest.param({"language": "bash", "code": "echo hi"}, "tool", "sandbox_unavailable", id="a line"),
        pytest.param({"language": "python", "code": "1"}, "tool", "sandbox_unavailable", id="an interpreter"),
        pytest.param({"language": "bash", "code": "echo hi; ls"}, "mode", "not_in_allow", id="another line"),
        pytest.param({"language": "javascript", "code": "1"}, "mode", "not_in_allow", id="another interpreter"),
    ],
)
def test_code_needs_a_rule_and_a_sandbox(open_box: OpenBox, args: dict[str, str], stage: str, reason: str) -> None:
    """Rules come first; the host is never enough."""
    decision = open_box("bash:echo *", "bash:python3 -").decide("execute_code", args)

    assert (decision.outcome, decision.stage, decision.reason) == ("deny", stage, reason)


@BWRAP
@pytest.mark.parametrize(
    ("language", "code", "printed"),
    [
        pytest.param("python", "open('made', 'w').write('x'); print(6 * 7)", "42\n", id="python"),
        pytest.param("bash", "echo x > made; echo 42", "42\n", id="bash"),
    ],
)
def test_code_runs_in_the_sandbox(open_box: OpenBox, workspace: Path, language: str, code: str, printed: str) -> None:
    """It works in the workspace, as far as rules let it."""
    box = open_box("bash:*", runner="bwrap")

    result = box.call("execute_code", {"language": language, "code": code})

    assert (result.outcome, result.text, (workspace / "made").read_text().strip()) == ("ok", printed, "x")


@BWRAP
def test_code_does_not_leave_the_sandbox(open_box: OpenBox, tmp_path: Path) -> None:
    """Neither files outside nor the network are there for it."""
    (tmp_path / "secret.txt").write_text("secret")
    code = (
        "import socket, sys\n"
        "for attempt in (lambda: open(sys.argv[0] or '../secret.txt'), lambda: open('/etc/made', 'w'),\n"
        "                lambda: socket.create_connection(('1.1.1.1', 53), 2)):\n"
        "    try:\n        attempt()\n        print('escaped')\n"
        "    except OSError as error:\n        print('held')\n"
    ).replace("sys.argv[0] or ", "")

    result = open_box("bash:python3 -", runner="bwrap").call("execute_code", {"language": "python", "code": code})

    assert result.data["stdout"] == "held\nheld\nheld\n"


@BWRAP
def test_a_line_in_the_sandbox_may_take_longer(open_box: OpenBox) -> None:
    """The time of the sandbox counts, not the host's."""
    box = open_box("bash:*", runner="bwrap", bash={"max_host_timeout_s": 0.1, "default_timeout_s": 20.0})

    assert box.call("bash", {"command": "sleep 0.5; echo done"}).text == "done\n"


def test_asynchronous_callers_do_not_wait_for_a_program(open_box: OpenBox, workspace: Path) -> None:
    """The loop goes on while a line runs: each of these ends when all have begun."""
    (workspace / "begun").mkdir()
    line = "touch begun/$$; until [ $(ls begun | wc -l) = 8 ]; do sleep 0.1; done"
    box = open_box(mode="dangerous")

    async def all_of_them() -> list[str]:
        calls = (box["bash"].acall(command=line, timeout_ms=60_000) for _ in range(8))
        return [result.outcome for result in await asyncio.gather(*calls)]

    assert asyncio.run(all_of_them()) == ["ok"] * 8


def test_many_lines_at_a_time_end_well(open_box: OpenBox) -> None:
    """Each call has its own program and its own output."""
    box = open_box("bash:echo *")

    async def crowd() -> list[str]:
        results = await asyncio.gather(*(box["bash"].acall(command=f"echo {number}") for number in range(100)))
        return [str(result) for result in results]

    assert asyncio.run(crowd()) == [f"{number}\n" for number in range(100)]


def test_much_output_is_kept_within_its_limit(open_box: OpenBox) -> None:
    """A program that prints without end neither hangs nor fills the memory."""
    box = open_box("bash:*", bash={"max_output_bytes": 1000})

    result = box.call("bash", {"command": "head -c 100000000 /dev/zero | tr '\\0' x"})

    assert (result.outcome, len(result.data["stdout"]), result.data["truncated"]) == ("ok", 1000, True)


def _ignore(event: object) -> None:
    """These tests are not about events."""
