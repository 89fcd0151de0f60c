"""What goes wrong around a sandbox: clear errors, no waiting, nothing left."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from tests.descriptors import open_descriptors
from tests.plugins.bwrap.conftest import Remembering, job, living, shell, wait_until
from tests.rows import each_row

from toolcharter import Denied, Ended, ProcessLimits, TerminalSize, ToolError
from toolcharter.guards.process import supervise
from toolcharter_bwrap import cgroups, pipes
from toolcharter_bwrap import program as bubblewrap
from toolcharter_bwrap.refusals import start_failure
from toolcharter_bwrap.runner import BwrapRunner

pytestmark = pytest.mark.needs_program("bwrap", package="bubblewrap")
Sh = Callable[..., Ended]


@pytest.mark.parametrize(
    ("script", "code", "output"),
    [
        pytest.param("echo before; sleep 60", -15, b"before\n", id="one that hears"),
        pytest.param(
            "trap 'echo bye; exit 7' TERM; while :; do sleep 0.05; done", 7, b"bye\n", id="one that ends in order"
        ),
        pytest.param("trap '' TERM; echo deaf; while :; do sleep 0.05; done", -9, b"deaf\n", id="one that is deaf"),
    ],
)
def test_a_program_over_its_time_is_ended(sh: Sh, script: str, code: int, output: bytes) -> None:
    """TERM reaches the program in the sandbox, and after the grace comes KILL."""
    ended = sh(script, seconds=0.5)

    assert (ended.exit_code, ended.stdout, ended.timed_out) == (code, output, True)


def test_what_stays_in_the_background_ends_with_the_program(sh: Sh) -> None:
    """The sandbox is for one program."""
    number = f"92{os.getpid()}"

    ended = sh(f"setsid sleep {number} & env -i setsid sleep {number} >/dev/null 2>&1 & sleep 0.1; exit 3")

    assert (ended.exit_code, living("sleep", number)) == (3, [])


def test_a_fork_bomb_stays_in_the_sandbox(sh: Sh) -> None:
    """It meets its limit; the call ends in its time, and nothing is left of it."""
    limits = ProcessLimits(processes=64)

    ended = sh("f() { f | f & }; f; sleep 1; echo done", seconds=5, limits=limits)

    assert b"Resource temporarily unavailable" in ended.stderr
    assert ended.stdout == b"done\n" or ended.timed_out
    assert wait_until(lambda: living("bash", "-c", "f() { f | f & }; f; sleep 1; echo done") == [])


def test_a_hundred_megabytes_are_read_and_dropped(sh: Sh) -> None:
    """On both streams."""
    ended = sh("head -c 100000000 /dev/zero; head -c 100000000 /dev/zero >&2", max_output_bytes=1000)

    assert (ended.exit_code, len(ended.stdout), len(ended.stderr), ended.truncated) == (0, 1000, 1000, True)


def test_many_calls_at_once_leave_nothing(runner: BwrapRunner) -> None:
    """Each has its own output, and no descriptor stays open."""
    runner.run(job("true"))
    before = open_descriptors()

    with ThreadPoolExecutor(16) as pool:
        outputs = list(pool.map(lambda number: runner.run(job("echo", str(number))).stdout, range(100)))

    assert outputs == [f"{number}\n".encode() for number in range(100)]
    assert open_descriptors() == before


def test_an_interrupt_ends_the_sandbox(runner: BwrapRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends the wait ends the program."""
    number = f"91{os.getpid()}"
    runner.run(job("true"))
    before = open_descriptors()

    def interrupt(*_: object) -> bool:
        assert wait_until(lambda: living("sleep", number) != [])
        raise KeyboardInterrupt

    monkeypatch.setattr(supervise._Supervision, "_serve_until", interrupt)
    with pytest.raises(KeyboardInterrupt):
        runner.run(job("sleep", number))

    assert (wait_until(lambda: living("sleep", number) == []), open_descriptors()) == (True, before)


PARENT = """
import sys
from pathlib import Path
from toolcharter import Job, RunnerScope
from toolcharter_bwrap.policy import BwrapPolicy
from toolcharter_bwrap.runner import BwrapRunner
runner = BwrapRunner(RunnerScope(Path(sys.argv[1])), BwrapPolicy())
running = runner.start(Job(("sleep", "{0}"), env={{"PATH": "/usr/bin:/bin"}}))
runner.run(Job(("sh", "-c", "setsid sleep {0} & sleep {0}"), env={{"PATH": "/usr/bin:/bin"}}))
"""


def test_the_death_of_the_parent_ends_its_sandboxes(workspace: Path) -> None:
    """Those that are waited for, and those that run on."""
    number = f"90{os.getpid()}"
    parent = subprocess.Popen([sys.executable, "-c", PARENT.format(number), str(workspace)])
    assert wait_until(lambda: len(living("sleep", number)) == 3)

    parent.kill()

    parent.wait()
    assert wait_until(lambda: living("sleep", number) == [])
    assert wait_until(lambda: not list(Path("/sys/fs/cgroup").glob(f"*/toolcharter-{parent.pid}-*")))


def test_a_running_program_outlives_the_thread_that_started_it(runner: BwrapRunner) -> None:
    """The kernel would end a sandbox with that thread."""
    with ThreadPoolExecutor(1) as pool:
        program = pool.submit(runner.start, job("cat")).result()

    time.sleep(0.1)
    assert program.exit_code is None
    program.write(b"hello")
    said = bytearray()

    def heard() -> bool:
        said.extend(program.read(10))
        return said == b"hello"

    assert wait_until(heard)
    program.signal(15)
    assert program.wait(60) == -15
    program.close()


def test_a_terminal_is_the_programs_own(runner: BwrapRunner) -> None:
    """It controls the program in the sandbox, keys interrupt, and nothing can be put into it."""
    code = "import fcntl\ntry: fcntl.ioctl(0, 0x5412, b'x')\nexcept OSError as error: print(error.errno)"
    script = f'stty size < /dev/tty; /usr/bin/python3 -c "{code}"; echo ready; sleep 60'
    program = runner.start(shell(script), TerminalSize(30, 100))
    said = bytearray()

    def heard(wanted: bytes) -> bool:
        said.extend(program.read(1000))
        return wanted in said

    # While Python ends, bash would leave the key to it.
    assert wait_until(lambda: heard(b"30 100\r\n1\r\nready\r\n"))
    program.write(b"\x03")
    assert program.wait(60) in {-2, 130}
    program.close()


def test_a_runner_that_is_closed_ends_its_programs(open_runner: Callable[..., BwrapRunner]) -> None:
    """Those that run on."""
    runner = open_runner()
    programs = [runner.start(shell("trap '' TERM; echo trapped; sleep 60")) for _ in range(2)]
    for program in programs:
        assert select.select([program], [], [], 60)[0]
        assert program.read(100) == b"trapped\n"

    runner.close()

    assert [program.exit_code for program in programs] == [-9, -9]


def test_without_bubblewrap_nothing_runs(runner: BwrapRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing falls back to the host."""

    def missing(_name: str) -> str:
        raise ToolError("not installed", reason="program_not_found")

    def no_wheel(name: str) -> object:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(runner.programs, "resolve", missing)
    monkeypatch.setattr(bubblewrap, "distribution", no_wheel)
    bubblewrap.bundled_bubblewrap.cache_clear()
    for start in (runner.run, runner.start):
        with pytest.raises(Denied, match="Bubblewrap is not installed") as caught:
            start(job("true"))
        assert (caught.value.reason, "apt-get install bubblewrap" in str(caught.value.hint)) == (
            "sandbox_unavailable",
            True,
        )


def test_a_sandbox_that_cannot_be_made_is_refused(open_runner: Callable[..., BwrapRunner], tmp_path: Path) -> None:
    """With bubblewrap's own words, and what to do; also before a program is started to run on."""
    runner = open_runner(read_roots=(tmp_path / "missing",))

    for start in (runner.run, runner.start):
        with pytest.raises(Denied, match="could not make a sandbox: Can't find source path") as caught:
            start(job("true"))
        assert (caught.value.reason, "read_roots" in str(caught.value.hint)) == ("sandbox_unavailable", True)


@each_row(
    ("said", "cause", "hint"),
    [
        pytest.param(
            b"bwrap: setting up uid map: Permission denied\n", "uid map", "unprivileged_userns_clone", id="map"
        ),
        pytest.param(b"x\nbwrap: No permissions to create new namespace\n", "new namespace", "AppArmor", id="none"),
        pytest.param(b"bwrap: Can't mount proc on /newroot/proc: EPERM\n", "mount proc", "systempaths", id="proc"),
        pytest.param(b"bwrap: something new\n", "something new", "None", id="unknown"),
        pytest.param(b"", "gave no reason", "None", id="silent"),
    ],
)
def test_a_refusal_of_the_kernel_has_a_hint(said: bytes, cause: str, hint: str) -> None:
    """For the causes that are known."""
    denied = start_failure(said)

    assert (denied.reason, cause in str(denied.message), hint in str(denied.hint)) == (
        "sandbox_unavailable",
        True,
        True,
    )


def test_descriptors_that_run_out_leave_none_open(runner: BwrapRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in the middle closes what was opened before it."""
    runner.run(job("true"))
    before = open_descriptors()

    def none_left() -> tuple[int, int]:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "pipe", none_left)
    with pytest.raises(ToolError, match="true could not be run: Too many open files") as caught:
        runner.run(job("true"))

    assert (caught.value.retryable, open_descriptors()) == (True, before)
    assert pipes.Pipes(3, 4, 5, 6).inherited == (3, 4, 5)


@pytest.fixture
def fresh_groups() -> Iterator[None]:
    cgroups._parent_group.cache_clear()
    yield
    cgroups._parent_group.cache_clear()


@pytest.mark.usefixtures("fresh_groups")
@pytest.mark.parametrize(
    ("lines", "made"),
    [
        pytest.param("4:pids:/own\n", "pids/own", id="version 1"),
        pytest.param("4:pids:/elsewhere\n", "pids", id="version 1, in a container"),
        pytest.param("4:cpu,cpuacct:/\n0::/own\n", "own", id="version 2"),
        pytest.param("1:name=systemd:/\n", None, id="none"),
        pytest.param(None, None, id="no /proc"),
    ],
)
def test_processes_of_root_are_counted_by_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str | None, made: str | None
) -> None:
    """Where there is a controller that counts them."""
    for place in ("pids/own", "own"):
        (tmp_path / place).mkdir(parents=True)
    read = Path.read_text

    def read_text(path: Path) -> str:
        if lines is None:
            raise FileNotFoundError
        return lines if str(path) == "/proc/self/cgroup" else read(path)

    monkeypatch.setattr(Path, "read_text", read_text)
    monkeypatch.setattr(cgroups, "_ROOT", tmp_path)
    monkeypatch.setattr(cgroups, "_has_controller", lambda probe: probe.is_dir())
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    removed: list[Path] = []
    monkeypatch.setattr(cgroups, "_remove", removed.append)

    with cgroups.limit_processes(10, Remembering()) as prefix:
        pass

    assert (prefix[:2], [str(group.parent) for group in removed]) == (
        (("/bin/sh", "-c"), [str(tmp_path / made)]) if made else ((), [])
    )


@pytest.mark.usefixtures("fresh_groups")
def test_a_group_is_removed_when_it_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Soon, or not at all: the call does not wait for ever."""
    monkeypatch.setattr(cgroups, "_REMOVAL_TIMEOUT_S", 0.05)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").touch()
    (tmp_path / "empty").mkdir()

    for name in ("full", "empty"):
        cgroups._remove(tmp_path / name)

    assert [entry.name for entry in tmp_path.iterdir()] == ["full"]


@pytest.mark.parametrize(
    ("files", "entered"),
    [
        pytest.param(("tasks", "cgroup.procs"), "tasks", id="version 1"),
        pytest.param(("cgroup.procs",), "cgroup.procs", id="version 2"),
    ],
)
def test_a_program_enters_its_group_as_a_thread_where_it_can(
    tmp_path: Path, files: tuple[str, ...], entered: str
) -> None:
    """Moving a process makes every fork of the system wait, and takes as long as a whole run."""
    for name in files:
        (tmp_path / name).touch()

    assert cgroups._entry_file(tmp_path) == tmp_path / entered


@pytest.mark.parametrize(("processes", "user"), [(None, 0), (10, 5)])
def test_others_need_no_group(monkeypatch: pytest.MonkeyPatch, processes: int | None, user: int) -> None:
    """The kernel counts what is not root's."""
    monkeypatch.setattr(os, "geteuid", lambda: user)

    with cgroups.limit_processes(processes, Remembering()) as prefix:
        assert prefix == ()
