"""Real sandboxes."""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from toolcharter import Ended, Job, RunnerScope
from toolcharter_bwrap.policy import BwrapPolicy
from toolcharter_bwrap.runner import BwrapRunner

ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent"}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def open_runner(workspace: Path) -> Iterator[Callable[..., BwrapRunner]]:
    """Opens runners that end with the test."""
    opened: list[BwrapRunner] = []

    def open_runner(*protected: str, **policy: Any) -> BwrapRunner:
        opened.append(BwrapRunner(RunnerScope(workspace, protected), BwrapPolicy(**policy)))
        return opened[-1]

    yield open_runner
    for runner in opened:
        runner.close()


@pytest.fixture
def runner(open_runner: Callable[..., BwrapRunner]) -> BwrapRunner:
    return open_runner()


@pytest.fixture
def sh(runner: BwrapRunner) -> Callable[..., Ended]:
    """Runs one line in a sandbox with the default policy."""
    return lambda script, **more: runner.run(shell(script, **more))


def job(*argv: str, seconds: float = 30, **more: Any) -> Job:
    return Job(argv, **{"env": ENVIRONMENT, "expires": time.monotonic() + seconds, **more})


def shell(script: str, **more: Any) -> Job:
    return job("bash", "-c", script, **more)


def wait_until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60  # On a busy machine all of it takes its time; on others nobody waits.
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def living(*argv: str) -> list[int]:
    """The processes of this host with this command line, whatever the program's folder, that are no zombies."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _command(entry) == argv]


def _command(entry: Path) -> tuple[str, ...]:
    try:
        program, *arguments = (entry / "cmdline").read_text().split("\0")[:-1] or [""]
    except (FileNotFoundError, ProcessLookupError):
        return ()
    return (Path(program).name, *arguments)


class Remembering:
    """A keeper that only remembers."""

    def __init__(self) -> None:
        self.folders: list[str] = []

    def add(self, folder: str) -> None:
        self.folders.append(folder)

    def drop(self, folder: str) -> None:
        self.folders.remove(folder)
