"""The tool as a profile builds it: its lines by `bash:` rules, its other actions by name, on each runner."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.process.conftest import until

from toolcharter import Toolbox, ToolResult, build_tools

OpenBox = Callable[..., Toolbox]
LOOKING = tuple(f"background_process:{action}" for action in ("list", "status", "log", "capture", "kill", "write"))
BWRAP = pytest.mark.needs_program("bwrap", package="bubblewrap")
RUNNERS = [pytest.param("host", id="host"), pytest.param("bwrap", id="bwrap", marks=BWRAP)]


@pytest.fixture
def open_box(workspace: Path, tmp_path: Path) -> Iterator[OpenBox]:
    with ExitStack() as stack:

        def build(*allow: str, runner: str = "host", mode: str = "policy", **policy: Any) -> Toolbox:
            tools = {"background_process": policy}
            written = {"profile": "test", "mode": mode, "runner": runner, "allow": allow, "tools": tools}
            profile = tmp_path / "profile.yaml"
            profile.write_text(json.dumps(written))
            return stack.enter_context(build_tools(profile, workspace=workspace, events=_ignore))

        yield build


def use(box: Toolbox, action: str, **args: Any) -> ToolResult:
    return box.call("process", {"action": action, **args})


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_process_lives_on_each_runner(open_box: OpenBox, workspace: Path, runner: str) -> None:
    """Started, typed to, drawn and ended alike; it works in the workspace."""
    (workspace / "names.txt").write_text("ann\n")
    box = open_box("bash:cat *", *LOOKING, runner=runner, allow_input=True)

    started = use(box, "spawn", command="cat names.txt -", rows=5, columns=20)

    handle = started.data["handle"]
    until(lambda: use(box, "capture", handle=handle).data["screen"] == "ann")
    assert use(box, "write", handle=handle, text="bob\n").outcome == "ok"
    until(lambda: use(box, "capture", handle=handle).data["screen"] == "ann\nbob\nbob")
    assert use(box, "kill", handle=handle).data["state"] == "ended"
    assert [one["handle"] for one in use(box, "list").data["processes"]] == [handle]


@pytest.mark.parametrize("command", ["ls", "cat names.txt; ls", "cat /etc/passwd"])
@pytest.mark.parametrize("runner", RUNNERS)
def test_a_line_that_no_rule_covers_is_not_started(open_box: OpenBox, runner: str, command: str) -> None:
    """As with `bash`."""
    box = open_box("bash:cat *", *LOOKING, runner=runner)

    result = use(box, "spawn", command=command)

    assert (result.outcome, result.reason) == ("denied", "not_in_allow")
    assert use(box, "list").data["processes"] == []


def test_the_catastrophic_is_started_in_no_mode(open_box: OpenBox) -> None:
    """The floor holds for processes, too."""
    result = use(open_box(mode="dangerous"), "spawn", command="rm -rf /")

    assert (result.outcome, result.reason) == ("denied", "denied_by_floor")


def test_other_actions_are_allowed_by_name(open_box: OpenBox) -> None:
    """No `bash:` rule covers what runs nothing."""
    box = open_box("bash:*")

    assert box.decide("background_process", {"action": "list"}).reason == "not_in_allow"


def test_many_calls_at_a_time_end_well(open_box: OpenBox) -> None:
    """The limit holds however many ask at once, and each that was started has a handle of its own."""
    box = open_box("bash:sleep *", *LOOKING, max_processes=5)

    async def crowd() -> list[ToolResult]:
        calls = (box["background_process"].acall(action="spawn", command="sleep 60") for _ in range(20))
        return list(await asyncio.gather(*calls))

    results = asyncio.run(crowd())

    handles = {result.data["handle"] for result in results if result.outcome == "ok"}
    assert (len(handles), {result.reason for result in results}) == (5, {None, "too_many_processes"})


def _ignore(event: object) -> None:
    """These tests are not about events."""
