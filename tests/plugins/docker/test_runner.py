"""Programs in real containers: what they are given, how they end, and what is left when something goes wrong."""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.docker.conftest import OpenDocker, needs_docker, shell
from tests.sandbox.dockerd import Dockerd, shared
from tests.waiting import until

from toolcharter import Denied, Ended, Job, ProcessLimits, Running, TerminalSize, ToolError
from toolcharter_docker import container as container_module
from toolcharter_docker import runner as runner_module
from toolcharter_docker.leftovers import LABEL

pytestmark = needs_docker

MIB = 1024**2
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ListContainers = Callable[[str], list[str]]


def soon(seconds: float = 2.0) -> float:
    return time.monotonic() + seconds


def test_program_gets_what_it_is_given(open_docker: OpenDocker, workspace: Path) -> None:
    """Input, working folder, environment and user; output comes back by stream."""
    (workspace / "sub").mkdir()
    line = "cat; env | sort; pwd; id -u; echo wrong >&2; exit 3"

    ended = open_docker().run(shell(line, stdin=b"in\n", cwd="sub", env={"A": "b", "PATH": "/nowhere"}))

    said = f"in\nA=b\nHOME=/\nPATH={PATH}\nPWD={workspace}/sub\nSHLVL=1\n{workspace}/sub\n{os.geteuid()}\n"
    assert ended == Ended(3, said.encode(), b"wrong\n", truncated=False, timed_out=False)


def test_large_input_and_output_pass(open_docker: OpenDocker) -> None:
    """More than any buffer on the way holds, in both directions at once."""
    data = os.urandom(3_000_000)

    ended = open_docker().run(Job(("cat",), stdin=data, max_output_bytes=4_000_000))

    assert ended == Ended(0, data, b"", truncated=False, timed_out=False)


def test_input_nobody_reads_holds_nothing_up(open_docker: OpenDocker) -> None:
    """The program has closed its input or ends before all of it was written."""
    ended = open_docker().run(shell("exec <&-; echo done", stdin=b"x" * 3_000_000))

    assert ended == Ended(0, b"done\n", b"", truncated=False, timed_out=False)


def test_100_megabytes_are_read_and_dropped(open_docker: OpenDocker) -> None:
    """The first bytes are kept, memory stays bounded, the program is not held up."""
    ended = open_docker().run(shell("head -c 100000000 /dev/zero; echo end >&2", max_output_bytes=1000))

    assert ended == Ended(0, bytes(1000), b"end\n", truncated=True, timed_out=False)


@pytest.mark.parametrize(
    ("line", "code", "timed_out"),
    [
        pytest.param("exit 0", 0, False, id="success"),
        pytest.param("exit 255", 255, False, id="highest"),
        pytest.param("kill -9 $$", -9, False, id="killed"),
        pytest.param("kill -TERM $$; sleep 9", -15, False, id="terminated"),
        pytest.param("sleep 60", -15, True, id="out of time"),
        pytest.param("trap 'exit 5' TERM; while :; do sleep 0.1; done", 5, True, id="uses its grace"),
        pytest.param("trap '' TERM; while :; do sleep 1; done", -9, True, id="deaf to TERM"),
        pytest.param("exec >&- 2>&-; sleep 1; exit 4", 4, False, id="closes its output and goes on"),
        pytest.param("exec >&- 2>&-; sleep 60", -15, True, id="closes its output and stays"),
    ],
)
def test_end_is_told(line: str, code: int, timed_out, open_docker: OpenDocker) -> None:
    """Exit code or signal, and whether time was up."""
    ended = open_docker().run(shell(line, expires=soon(3 if timed_out else 60)))

    assert (ended.exit_code, ended.timed_out) == (code, timed_out)


def test_out_of_memory_is_told(open_docker: OpenDocker) -> None:
    """The kernel's reason stands in the error stream, since the signal alone says nothing."""
    ended = open_docker().run(Job(("tail", "/dev/zero"), limits=ProcessLimits(memory_bytes=20 * MIB)))

    message = b"\ntoolcharter: out of memory, of which it had 20971520 bytes\n"
    assert ended == Ended(-9, b"", message, truncated=False, timed_out=False)


@pytest.mark.parametrize(
    ("argv", "reason", "message"),
    [
        pytest.param(("nope",), "program_not_found", "The image has no program 'nope' that it can run.", id="missing"),
        pytest.param(("/etc",), "program_not_found", "The image has no program '/etc' that it can run.", id="folder"),
        pytest.param(("echo", "x" * 200_000), "invalid_arguments", "The arguments are too long.", id="too long"),
    ],
)
def test_program_that_cannot_start_is_told(argv: Any, reason: str, message: str, open_docker: OpenDocker) -> None:
    """An error of the call, not of the sandbox."""
    with pytest.raises(ToolError) as failed:
        open_docker().run(Job(argv))

    assert (failed.value.reason, failed.value.message) == (reason, message)


def test_no_time_left_starts_nothing(open_docker: OpenDocker, workspace: Path) -> None:
    """Neither at once nor after waiting for its turn."""
    runner = open_docker(containers=1)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(runner.run, shell("touch begun; until [ -e go ]; do sleep 0.1; done"))
        until((workspace / "begun").exists)
        for expires in (soon(0.3), soon(-1)):
            with pytest.raises(ToolError) as failed:
                runner.run(shell("touch second", expires=expires))
            assert (failed.value.reason, failed.value.message) == (
                "timed_out",
                "There was no time left to start a program.",
            )
        (workspace / "go").touch()
        assert first.result().exit_code == 0


def test_read_roots_are_readable(open_docker: OpenDocker, tmp_path: Path) -> None:
    """At their own paths, and not writable."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root/file").write_text("there\n")
    line = f"cat {tmp_path}/root/file; echo x > {tmp_path}/root/new"

    ended = open_docker(read_roots=[str(tmp_path / "root")]).run(shell(line))

    assert ended.stdout == b"there\n"
    assert [path.name for path in (tmp_path / "root").iterdir()] == ["file"]


def read_until(running: Running, wanted: bytes) -> bytes:
    said, limit = b"", soon(60)
    while wanted not in said and time.monotonic() < limit:
        select.select([running], [], [], 0.1)
        said += running.read(64)
    return said


def test_background_program_without_terminal(open_docker: OpenDocker) -> None:
    """Both streams are one, its input is open, signals reach it, its end is known."""
    running = open_docker().start(shell("read a; echo $a; sleep 1; echo wrong >&2; sleep 60"))

    assert running.read(10) == b""
    assert running.write(b"typed\n") == 6
    assert sorted(read_until(running, b"typed\nwrong\n").split()) == [b"typed", b"wrong"]
    assert (running.exit_code, running.wait(0.1)) == (None, None)
    running.resize(TerminalSize(9, 9))
    running.signal(signal.SIGTERM)
    assert (running.wait(60), running.exit_code) == (-15, -15)
    running.signal(signal.SIGTERM)
    running.close()
    running.close()
    assert (running.read(10), running.write(b"x")) == (b"", 0)


def test_background_program_on_a_terminal(open_docker: OpenDocker) -> None:
    """It has a size, a new size, and control characters; docker's own keys do not detach from it."""
    running = open_docker().start(
        shell(
            'while [ -z "$(stty size 2>/dev/null)" ]; do sleep 0.1; done; stty size; read a; stty size; cat -v',
            env={"TERM": "xterm"},
        ),
        TerminalSize(40, 99),
    )

    # It arrives when the program runs already.
    first = read_until(running, b"\n")
    running.resize(TerminalSize(7, 8))
    running.write(b"\x10\x11go\n")
    said = read_until(running, b"7 8\r\n")
    running.write(b"\x03")

    assert first == b"40 99\r\n"
    assert said.endswith(b"7 8\r\n")
    assert running.wait(60) == -2
    running.close()


def test_close_ends_what_still_runs(open_docker: OpenDocker, workspace: Path, containers: ListContainers) -> None:
    """No container and no placeholder outlives the runner; a closed one starts nothing, and may be closed again."""
    runner = open_docker(("missing",))
    running = runner.start(Job(("sleep", "1000")))
    assert [path.name for path in workspace.iterdir()] == ["missing"]

    runner.close()

    assert running.wait(60) == -9
    assert list(workspace.iterdir()) == []
    assert containers(f"{LABEL}={runner._owner}") == []
    with pytest.raises(Denied, match="The runner is closed"):
        runner.run(Job(("true",)))
    running.close()


def test_interrupted_run_leaves_nothing(
    open_docker: OpenDocker, monkeypatch: pytest.MonkeyPatch, containers: ListContainers
) -> None:
    """A cancellation in the middle, wherever it comes from, ends the container."""
    runner = open_docker()

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner_module, "serve_container", interrupt)
    with pytest.raises(KeyboardInterrupt):
        runner.run(Job(("sleep", "1000")))

    assert containers(f"{LABEL}={runner._owner}") == []


def test_exchanged_protected_path_is_noticed(
    open_docker: OpenDocker, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon follows the path by itself: what lies there after the start is compared with what lay there before."""
    (workspace / "kept").mkdir()
    real = container_module.Container.start

    def start(container: Any) -> None:
        real(container)
        (workspace / "kept").rename(workspace / "old")

    monkeypatch.setattr(container_module.Container, "start", start)

    with pytest.raises(Denied) as refused:
        open_docker(("kept",)).run(shell("sleep 60"))

    assert (refused.value.reason, refused.value.message) == (
        "protected_path",
        "'kept' was replaced while the container started.",
    )


CHILD = """
import sys, pathlib
from toolcharter import Job, RunnerScope
from toolcharter_docker.policy import DockerPolicy
from toolcharter_docker.runner import DockerRunner
image, host, workspace = sys.argv[1:]
runner = DockerRunner(DockerPolicy(image=image, host=host), RunnerScope(pathlib.Path(workspace), ("missing",)))
running = runner.start(Job(("sleep", "1000")))
print(runner._owner, runner._watchdog._process.pid, flush=True)
running.wait(1000)
"""


def test_death_of_the_parent_leaves_nothing(dockerd: Dockerd, workspace: Path, containers: ListContainers) -> None:
    """The watchdog removes the containers of a harness that was killed, and what their mounts lay on."""
    argv = [sys.executable, "-c", CHILD, dockerd.image, dockerd.host, str(workspace)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        owner, watchdog = child.stdout.readline().split()
        assert len(containers(f"{LABEL}={owner}")) == 1
        child.kill()

    until(lambda: not Path("/proc", watchdog).exists())

    assert containers(f"{LABEL}={owner}") == []
    assert list(workspace.iterdir()) == []


def test_orphans_are_swept_by_the_next_runner(
    dockerd: Dockerd, open_docker: OpenDocker, workspace: Path, containers: ListContainers
) -> None:
    """If the watchdog died with its harness, the next runner of this machine removes what they left."""
    argv = [sys.executable, "-c", CHILD, dockerd.image, dockerd.host, str(workspace)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        owner, watchdog = child.stdout.readline().split()
        os.kill(int(watchdog), signal.SIGKILL)
        child.kill()

    open_docker(("missing",)).run(Job(("true",)))

    assert containers(f"{LABEL}={owner}") == []
    assert list(workspace.iterdir()) == []


def test_missing_image_is_not_pulled(open_docker: OpenDocker) -> None:
    """The network has no surprises: the refusal says how to get the image."""
    with pytest.raises(Denied) as refused:
        open_docker(image="nobody/nothing:1").run(Job(("true",)))

    assert (refused.value.reason, refused.value.message, refused.value.hint) == (
        "sandbox_unavailable",
        "The Docker daemon has no image 'nobody/nothing:1', and toolcharter never pulls images.",
        "docker pull nobody/nothing:1, or docker import FILE.tar nobody/nothing:1",
    )


def test_missing_daemon_runs_nothing(open_docker: OpenDocker, workspace: Path, tmp_path: Path) -> None:
    """Nothing falls back to the host."""
    runner = open_docker(host=f"unix://{tmp_path}/none.sock")

    with pytest.raises(Denied) as refused:
        runner.run(shell("touch ran"))

    assert refused.value.reason == "sandbox_unavailable"
    assert str(refused.value.message).startswith(f"No Docker daemon listens at '{tmp_path}/none.sock'")
    assert list(workspace.iterdir()) == []


def test_many_calls_at_a_time(open_docker: OpenDocker, containers: ListContainers) -> None:
    """They wait for their turn; each gets its own answer, and nothing is left."""
    runner = open_docker(containers=4)

    with ThreadPoolExecutor(24) as pool:
        ended = list(pool.map(lambda n: runner.run(Job(("echo", str(n)))).stdout, range(24)))

    assert ended == [f"{n}\n".encode() for n in range(24)]
    assert containers(f"{LABEL}={runner._owner}") == []
    assert {thread.name for thread in threading.enumerate() if thread.name.startswith("docker-")} == set()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.usefixtures("forgiving")
def test_daemon_that_dies_is_told(short_path: Path, workspace: Path, open_docker: OpenDocker) -> None:
    """In the middle of a program that is an error which says that work may be done; after it, the sandbox is missing."""
    with shared(short_path / "d") as daemon:
        runner = open_docker(host=daemon.host)
        runner.run(Job(("true",)))
        running = runner.start(Job(("sleep", "1000")))
        with ThreadPoolExecutor() as pool:
            started = pool.submit(runner.run, shell("touch begun; sleep 1000"))
            until((workspace / "begun").exists)
            os.kill(daemon.pid, signal.SIGKILL)
            with pytest.raises(ToolError) as failed:
                started.result(60)
        assert running.wait(60) == -9
        with pytest.raises(Denied) as refused:
            runner.run(Job(("true",)))
        runner.close()

    assert failed.value.reason == "tool_error"
    assert str(failed.value.message).endswith("went away while the program ran; the program may have done its work.")
    assert refused.value.reason == "sandbox_unavailable"
