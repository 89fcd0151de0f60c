"""What `make run` runs: examples/sessions.py, the calls of three agents, and examples/day.py, a day of two that remember and delegate."""

import fcntl
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path("examples/sessions.py")
_LEFT_BY_OTHERS = re.compile(r"/__pycache__/|^!! (run|dist|\.\w+)/")
_ENDS = {"hook.tool.after", "hook.policy.deny"}
NO_BWRAP = "No bubblewrap was found, so the coder's programs did not run. Install it: apt-get install bubblewrap"


@pytest.fixture(autouse=True)
def _one_at_a_time(project_root: Path) -> Iterator[None]:
    """The events of all lie in the same files of the checkout."""
    with (project_root / SCRIPT).open() as script:
        fcntl.flock(script, fcntl.LOCK_EX)
        yield


def run(project_root: Path, script: Path = SCRIPT, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("COV", "PYTEST"))}
    return subprocess.run(
        [sys.executable, script],
        cwd=project_root,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def status(project_root: Path) -> list[str]:
    """What is changed, new or ignored in the checkout, but for what tests that run beside this one leave in it."""
    listed = ["git", "status", "--porcelain", "--ignored"]
    ran = subprocess.run(listed, cwd=project_root, capture_output=True, text=True, check=True)
    return [line for line in ran.stdout.splitlines() if not _LEFT_BY_OTHERS.search(line)]


def calls(project_root: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project_root / f"examples/{name}.jsonl").read_text().splitlines()]


def tables(stdout: str) -> list[list[str]]:
    """The lines of each session: its heading, one row per call, and what became of its events."""
    return [part.splitlines() for part in stdout.split("\n\n") if part.startswith("call")]


@pytest.mark.needs_program("git")
@pytest.mark.needs_program("bwrap", package="bubblewrap")
def test_every_call_ends_as_it_must(project_root: Path) -> None:
    """A table for each session with one row per call, events where the line below each says, and the checkout as it was."""
    before = status(project_root)

    ran = run(project_root)

    assert (ran.stderr, ran.returncode, status(project_root)) == ("", 0, before)
    for (heading, *rows, last), (name, profile) in zip(
        tables(ran.stdout),
        [("review", "reviewer"), ("code", "coder"), ("research", "researcher-here")],
        strict=True,
    ):
        events = Path(last.rpartition(" ")[2])
        assert heading.split() == ["call", "outcome", "reason", "time"]
        assert [row.split()[0] for row in rows] == [call["tool"] for call in calls(project_root, name)]
        assert events == Path(f"run/{name}-events.jsonl")
        lines = (project_root / events).read_text().splitlines()
        assert {json.loads(line)["profile"] for line in lines} == {profile}


@pytest.fixture
def without_bwrap(tmp_path: Path) -> str:
    """A PATH with all that this one has, but for one program."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            if program.name != "bwrap" and not (folder / program.name).exists():
                (folder / program.name).symlink_to(program)
    return str(folder)


@pytest.mark.needs_program("git")
def test_a_missing_sandbox_is_told(project_root: Path, monkeypatch, capsys, without_bwrap: str) -> None:
    """What the coder may run would be refused, what it may not is refused as ever, and the line that helps is shown."""
    example = runpy.run_path(str(project_root / SCRIPT))
    monkeypatch.setenv("PATH", without_bwrap)
    monkeypatch.setitem(example["has_sandbox"].__globals__, "find_spec", lambda _: None)
    told: list[Any] = []

    def note(session: Any) -> int:
        told.append(session)
        return 0

    monkeypatch.setitem(example["main"].__globals__, "run", note)

    status = example["main"]()

    assert (capsys.readouterr().out, status) == (f"{NO_BWRAP}\n", 0)
    assert told == [example["REVIEW"], example["CODE"], example["RESEARCH"]]
    refused, ok, unable = example["CODE"].refused, ("ok", None), ("denied", "sandbox_unavailable")
    usual = {call["id"]: unable if call["tool"] == "bash" else ok for call in calls(project_root, "code")}
    assert {call["id"]: example["CODE"].wanted(call) for call in calls(project_root, "code")} == {**usual, **refused}
    assert list(usual.values()).count(unable) > len(refused)


@pytest.mark.needs_program("git")
def test_surprise_ends_with_status_1(project_root: Path, capsys) -> None:
    """A call that ends otherwise than expected is named, and fails `make run`."""
    example = runpy.run_path(str(project_root / SCRIPT))
    review = example["REVIEW"]
    other = review._replace(refused={**review.refused, "6": ("denied", "protected_path")})

    status = example["run"](other)

    told = "Not as expected: list_files path=core/toolcharter\n"
    assert (capsys.readouterr().err, status) == (told, 1)


@pytest.mark.needs_program("git")
def test_a_session_that_cannot_begin_ends_with_its_status(project_root: Path, capfd) -> None:
    """As `toolcharter run` says it."""
    example = runpy.run_path(str(project_root / SCRIPT))

    status = example["run"](example["REVIEW"]._replace(profile="no-such-profile"))

    assert status == 2
    assert "no-such-profile" in capfd.readouterr().err


def test_a_day_ends_as_it_must(project_root: Path) -> None:
    """What the page orders is denied or asked, what subagents say comes as data, and all of it is told by events."""
    ran = run(project_root, Path("examples/day.py"))

    assert (ran.stderr, ran.returncode) == ("", 0)
    last = ran.stdout.splitlines()[-1]
    events = [json.loads(line) for line in (project_root / last.rpartition(" ")[2]).read_text().splitlines()]
    ended = {(event["tool"], event.get("reason")) for event in events if event["event"] in _ENDS}
    assert {("schedule", "approval_denied"), ("message", "channel_not_allowed"), ("memory", "approval_denied")} <= ended
    assert "    > The train leaves on Tuesdays." in ran.stdout.splitlines()
