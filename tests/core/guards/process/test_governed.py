"""`rt.run`, `rt.inspect` and `rt.spawn`: the jobs that are made of what a tool says."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from toolcharter.api.call import TraceContext
from toolcharter.api.job import Job, ProcessLimits
from toolcharter.api.runner import Ended, Running, TerminalSize
from toolcharter.api.trace import within_trace
from toolcharter.errors import Denied, ToolError
from toolcharter.guards.process import GovernedRunner, NoRunner

CLEAN = {
    "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
    "HOME": "/nonexistent",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
}

RUNNING = cast("Running", object())


class Recorder:
    """A runner that only remembers."""

    name = "recorder"
    is_sandbox = True

    def __init__(self) -> None:
        self.jobs: list[tuple[Job, Any]] = []

    def run(self, job: Job, /) -> Ended:
        self.jobs.append((job, "run"))
        return Ended(3, b"out", b"err", truncated=True, timed_out=False)

    def start(self, job: Job, terminal: TerminalSize | None = None, /) -> Running:
        self.jobs.append((job, terminal))
        return RUNNING

    def close(self) -> None: ...


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@contextmanager
def held(folder: Path) -> Iterator[Any]:
    """A folder as `rt.paths` gives it."""
    descriptor = os.open(folder, os.O_RDONLY)
    yield SimpleNamespace(path=folder.name, fileno=lambda: descriptor)
    os.close(descriptor)


def governed(recorder: Any, workspace: Path, **more: Any) -> GovernedRunner:
    return GovernedRunner(lambda: recorder, workspace, deadline=lambda: math.inf, check=lambda: None, **more)


def test_a_run_becomes_a_job(recorder: Recorder, workspace: Path) -> None:
    """With all that the tool said, and all that the gate knows."""
    run = governed(recorder, workspace, read_only=True, protected=lambda: (".git",))
    limits = ProcessLimits(cpu_s=1)

    completed = run(["a", "b"], env={"X": "1"}, stdin=b"in", max_output_bytes=7, limits=limits, network=True)

    expected = Job(
        ("a", "b"),
        env={**CLEAN, "X": "1"},
        stdin=b"in",
        max_output_bytes=7,
        limits=limits,
        read_only=True,
        protected=(".git",),
        network=True,
    )
    assert recorder.jobs == [(expected, "run")]
    assert completed[:-1] == (("a", "b"), 3, b"out", b"err", True, False)
    assert completed.elapsed_s >= 0


@pytest.mark.parametrize(
    ("terminal", "added"),
    [
        pytest.param(None, {}, id="pipes"),
        pytest.param(TerminalSize(1, 2), {"TERM": "xterm-256color"}, id="terminal"),
    ],
)
def test_a_spawned_program_becomes_a_job(
    recorder: Recorder, workspace: Path, terminal: TerminalSize | None, added: dict[str, str]
) -> None:
    """On a terminal it knows of which kind that is."""
    (workspace / "sub").mkdir()
    spawn = governed(recorder, workspace).spawn

    with held(workspace / "sub") as folder:
        running = spawn(["a"], cwd=folder, terminal=terminal)

    assert running is RUNNING
    assert recorder.jobs == [(Job(("a",), cwd="sub", env={**CLEAN, **added}), terminal)]


def test_a_call_out_of_time_spawns_nothing(recorder: Recorder, workspace: Path) -> None:
    """As it runs nothing."""
    late = GovernedRunner(lambda: recorder, workspace, deadline=lambda: 0.0, check=lambda: None)

    with pytest.raises(ToolError) as caught:
        late.spawn(["a"])

    assert (caught.value.reason, recorder.jobs) == ("timed_out", [])


def test_a_folder_that_left_the_workspace_is_refused(recorder: Recorder, workspace: Path, tmp_path: Path) -> None:
    """A folder is held, and where it is now counts."""
    (workspace / "sub").mkdir()
    with held(workspace / "sub") as folder:
        (workspace / "sub").rename(tmp_path / "away")
        with pytest.raises(ToolError, match="has left the workspace"):
            governed(recorder, workspace)(["a"], cwd=folder)


def test_a_folder_that_is_gone_is_refused(recorder: Recorder, workspace: Path) -> None:
    """There is no place to start in."""
    (workspace / "sub").mkdir()
    with held(workspace / "sub") as folder:
        (workspace / "sub").rmdir()
        with pytest.raises(ToolError, match="has changed"):
            governed(recorder, workspace)(["a"], cwd=folder)


def test_without_a_runner_nothing_runs(workspace: Path) -> None:
    """The refusal says what to write into the profile."""
    none = NoRunner()
    run = governed(none, workspace)

    for start in (run, run.spawn):
        with pytest.raises(Denied, match="names no runner") as caught:
            start(["true"])
        assert (caught.value.reason, "`runner: host`" in str(caught.value.hint)) == ("sandbox_unavailable", True)
    none.close()


def test_a_program_is_told_the_trace_of_its_call(recorder: Recorder, workspace: Path) -> None:
    """One variable of hexadecimal digits, where a trace is known; what the tool says itself goes first."""
    run = governed(recorder, workspace)
    trace = TraceContext("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a=$(b)")

    with within_trace(trace):
        run(["a"])
        run.spawn(["a"])
        run(["a"], env={"TRACEPARENT": "own"})

    told = [job.env for job, _ in recorder.jobs]
    parents = (trace.traceparent, trace.traceparent, "own")
    assert told == [{**CLEAN, "TRACEPARENT": parent} for parent in parents]
