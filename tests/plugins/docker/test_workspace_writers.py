"""Programs that run at the same time cannot replace what is mounted for each other."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.docker.conftest import shell
from tests.sandbox.dockerd import Dockerd

from toolcharter import Denied, Job, RunnerScope
from toolcharter.guards.paths.hidden import HiddenFiles
from toolcharter.profile.settings import DEFAULT_HIDDEN
from toolcharter_docker import SPEC
from toolcharter_docker import container as container_module
from toolcharter_docker.placeholders import HeldPath
from toolcharter_docker.runner import DockerRunner
from toolcharter_docker.workspace_writers import WorkspaceWriter, WorkspaceWriters

WORD = "hunter" + "2"
WAY, OTHER, SHUT = HeldPath("sub", True, (1, 1)), HeldPath("sub", True, (1, 2)), HeldPath("sub", False, (1, 1))  # noqa: FBT003 - as printed
BELOW = HeldPath("sub/.git", False, (1, 3))  # noqa: FBT003 - as above


@pytest.fixture
def runner(dockerd: Dockerd, workspace: Path) -> Iterator[DockerRunner]:
    policy = SPEC.policy.from_profile({"image": dockerd.image, "host": dockerd.host})
    opened = SPEC.build(workspace, policy).open_runner(
        RunnerScope(workspace, (".git",), HiddenFiles(workspace, DEFAULT_HIDDEN))
    )
    yield opened
    opened.close()


@pytest.mark.needs_program("dockerd", package="docker.io")
@pytest.mark.needs_program("busybox", package="busybox-static")
def test_no_older_program_exchanges_what_is_mounted(
    runner: DockerRunner, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link that lies on a folder's name for a moment does not lead the daemon out of the workspace."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "key").write_text(WORD)
    (workspace / "sub").mkdir()
    older = runner.start(Job(("/bin/sh",)))
    (workspace / "sub/.env").write_text("A=1")
    real = container_module.Container.start

    def order(line: str, mark: Path) -> None:
        older.write(f"{line}\n".encode())
        until = time.monotonic() + 60
        while mark.is_symlink() is not line.startswith("mv sub") and time.monotonic() < until:
            time.sleep(0.01)

    def start(container: Any) -> None:
        order(f"mv sub old; ln -s {outside} sub", workspace / "sub")
        real(container)
        order("rm sub; mv old sub", workspace / "sub")

    monkeypatch.setattr(container_module.Container, "start", start)
    seen = b""
    refused = ""
    try:
        seen = runner.run(shell("cat sub/key; echo taken > sub/mark")).stdout
    except Denied as denial:
        refused = f"{denial.reason}: {denial.message}"
    older.close()

    assert (seen, (outside / "mark").exists()) == (b"", False)
    assert refused == (
        "protected_path: 'sub' could be replaced by a program that was started before this path had to be protected. "
        "Wait until that program has ended, or end it, and try again."
    )


@pytest.mark.needs_program("dockerd", package="docker.io")
@pytest.mark.needs_program("busybox", package="busybox-static")
@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "by itself"])
def test_program_starts_when_the_older_one_has_ended(runner: DockerRunner, workspace: Path, *, is_closed: bool) -> None:
    """The refusal says what to do, and that is enough."""
    (workspace / "sub").mkdir()
    older = runner.start(Job(("/bin/sh",)))
    (workspace / "sub/.env").write_text("A=1")
    with pytest.raises(Denied):
        runner.run(shell("true"))
    if is_closed:
        older.close()
    else:
        older.write(b"exit 0\n")
        assert older.wait(60) == 0

    assert runner.run(shell("echo ran")).stdout == b"ran\n"


@pytest.mark.parametrize(
    ("own", "others", "loose"),
    [
        pytest.param([WAY], [WAY], None, id="holds it too"),
        pytest.param([], [WAY], "sub", id="holds nothing"),
        pytest.param([OTHER], [WAY], "sub", id="holds what lay there before"),
        pytest.param([WAY], [WAY, BELOW], "sub/.git", id="may write around it"),
        pytest.param([SHUT], [SHUT, BELOW], None, id="may write nothing around it"),
        pytest.param([WAY], [], None, id="holds more"),
    ],
)
def test_what_a_program_could_replace(own: list[HeldPath], others: list[HeldPath], loose: str | None) -> None:
    """Whatever it neither holds itself nor sees below something read-only."""
    assert WorkspaceWriter(own, is_brief=True).first_replaceable(WorkspaceWriter(others, is_brief=True)) == loose


def test_brief_program_is_waited_for() -> None:
    """The place is free as soon as the other one has left."""
    neighbours = WorkspaceWriters()
    first = neighbours.enter([], time.monotonic() + 9, None, is_brief=True)
    assert isinstance(first, WorkspaceWriter)
    threading.Timer(0.2, neighbours.leave, [first]).start()

    assert isinstance(neighbours.enter([WAY], time.monotonic() + 9, None, is_brief=True), WorkspaceWriter)


@pytest.mark.parametrize(
    ("is_brief", "left_s", "is_wanted"),
    [(False, 9.0, None), (True, -1.0, None), (True, 9.0, lambda: False)],
    ids=["background", "out of time", "unwanted"],
)
def test_nothing_is_waited_for_in_vain(is_brief: Any, left_s: float, is_wanted: Any) -> None:
    """A background program, the end of the time, a caller that has gone."""
    neighbours = WorkspaceWriters()
    neighbours.enter([], time.monotonic() + 9, None, is_brief=is_brief)

    assert neighbours.enter([WAY], time.monotonic() + left_s, is_wanted, is_brief=True) == "sub"


def test_newcomer_waits_for_mounts_that_it_could_change() -> None:
    """What holds less waits until the mounts of what holds more are made, and then no longer."""
    neighbours = WorkspaceWriters()
    first = neighbours.enter([WAY], time.monotonic() + 9, None, is_brief=False)
    assert isinstance(first, WorkspaceWriter)
    assert neighbours.enter([], time.monotonic() - 1, None, is_brief=True) == "sub"
    neighbours.mark_mounted(first)

    assert isinstance(neighbours.enter([], time.monotonic() - 1, None, is_brief=True), WorkspaceWriter)
