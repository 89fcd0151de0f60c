"""A workspace, the runner `host` in it, and ways to look at processes."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from toolcharter.api.job import Job
from toolcharter.api.runner import Ended
from toolcharter.api.runtime import Completed
from toolcharter.guards.process import HostProgramRunner

Out = TypeVar("Out", Ended, Completed)
ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/bin:/bin"}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def host(workspace: Path) -> Iterator[HostProgramRunner]:
    runner = HostProgramRunner(workspace)
    yield runner
    runner.close()


def job(*argv: str, seconds: float = 120, **more: Any) -> Job:
    return Job(argv, **{"env": ENVIRONMENT, "expires": time.monotonic() + seconds, **more})


def shell(script: str, **more: Any) -> Job:
    return job("sh", "-c", script, **more)


def wait_until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60  # On a busy machine all of it takes its time; on others nobody waits.
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    is_met = condition()  # Once more: the last look may have taken long.
    if not is_met:  # pytest shows beside the failure which processes there were.
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                stat, words = (entry / "stat").read_bytes(), (entry / "cmdline").read_bytes()
                sys.stdout.write(f"{stat[:80]!r} {words[:200]!r}\n")
    return is_met


def over_time(run: Callable[[float], Out], begun: bytes) -> Out:
    """What *run* gives with so few seconds that a program is over its time, yet has said *begun*: a busy machine starts it late."""
    for seconds in (0.3, 3.0, 30.0):
        ended = run(seconds)
        assert ended.timed_out
        if begun in ended.stdout:
            break
    return ended


def living(*argv: str) -> list[int]:
    """The processes with this command line that are no zombies."""
    wanted = b"".join(word.encode() + b"\0" for word in argv)
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _runs(entry, wanted)]


def _runs(entry: Path, wanted: bytes) -> bool:
    try:
        return (entry / "cmdline").read_bytes().endswith(wanted)
    except (FileNotFoundError, ProcessLookupError):
        return False
