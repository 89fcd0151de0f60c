"""Limits: what a program may take, and what we leave it."""

import resource
import sys
from pathlib import Path

import pytest
from tests.core.guards.process.conftest import job, shell

from toolcharter.api.job import ProcessLimits
from toolcharter.errors import ToolError
from toolcharter.guards.process import HostProgramRunner, limits
from toolcharter.guards.process.limits import count_system_threads, limited
from toolcharter.guards.process.marks import Mark

NONE = ProcessLimits(memory_bytes=None, processes=None, open_files=None, file_bytes=None)
READ = (
    "import resource as r; print([r.getrlimit(n) for n in (r.RLIMIT_AS, r.RLIMIT_NOFILE, r.RLIMIT_FSIZE, r.RLIMIT_CPU,"
    " r.RLIMIT_CORE)])"
)


@pytest.fixture(params=["prlimit", "python"])
def launcher(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every claim holds with the system's program and with ours."""
    limits._launcher.cache_clear()
    if request.param == "python":
        monkeypatch.setattr(limits, "PRLIMIT", "/nonexistent")
    request.addfinalizer(limits._launcher.cache_clear)  # noqa: PT021 - it has to run where this ends
    return request.param


@pytest.mark.usefixtures("launcher")
def test_a_program_has_its_limits(host: HostProgramRunner) -> None:
    """Soft and hard, so that it cannot raise them; and it dumps no core."""
    wanted = ProcessLimits(memory_bytes=1 << 30, open_files=100, file_bytes=1000, cpu_s=7)

    ended = host.run(job(sys.executable, "-S", "-c", READ, limits=wanted))

    assert eval(ended.stdout) == [(1 << 30, 1 << 30), (100, 100), (1000, 1000), (7, 7), (0, 0)]


def test_a_limit_above_ours_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody but root can raise one, and asking for it would stop the program."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (10, 20))

    command = limited(["/bin/true"], ProcessLimits(None, 5, 1000, None), Mark(3, 4), other_processes=100)

    assert command[1:] == ("--nproc=20:20", "--nofile=20:20", "--core=0:0", "--rttime=3:4", "--", "/bin/true")


def test_without_limits_a_program_dumps_no_core() -> None:
    """None is the system's own."""
    assert limited(["/bin/true"], NONE)[1:] == ("--core=0:0", "--", "/bin/true")


@pytest.mark.parametrize(
    ("limit", "script", "says"),
    [
        pytest.param({"memory_bytes": 300_000_000}, "x = bytearray(500_000_000)", b"MemoryError", id="memory"),
        pytest.param(
            {"open_files": 20}, "x = [open('/dev/null') for _ in range(30)]", b"Too many open files", id="files"
        ),
        pytest.param(
            {"file_bytes": 1000},
            "import os; f = os.open('x', 65); os.write(f, bytes(1000)); os.write(f, b'.')",
            b"File too large",
            id="file",
        ),
    ],
)
def test_a_program_that_takes_too_much_fails(
    host: HostProgramRunner, limit: dict[str, int], script: str, says: bytes
) -> None:
    """The limit is the program's own trouble, and it says so."""
    ended = host.run(job(sys.executable, "-S", "-c", script, limits=ProcessLimits(**limit)))

    assert ended.exit_code == 1
    assert says in ended.stderr


@pytest.mark.slow
def test_a_program_out_of_processor_time_is_killed(host: HostProgramRunner) -> None:
    """By the kernel, whatever the time of the call."""
    ended = host.run(shell("while :; do :; done", limits=ProcessLimits(cpu_s=1)))

    assert (ended.exit_code, ended.timed_out) == (-9, False)


def test_where_threads_cannot_be_counted_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without /proc the limit of processes is the one that was asked for."""
    assert count_system_threads() > 1

    def missing(*_: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", missing)
    assert count_system_threads() == 0


def test_a_full_disk_is_the_programs_trouble(host: HostProgramRunner) -> None:
    """It is told so, and the call ends in order."""
    ended = host.run(shell("echo some > /dev/full; echo $?; exit 4"))

    assert (ended.exit_code, ended.stdout) == (4, b"1\n") or ended.stdout == b"2\n"
    assert b"No space left" in ended.stderr or b"I/O error" in ended.stderr


@pytest.mark.parametrize("cwd", ["/etc", "..", "a/../.."])
def test_a_folder_that_cannot_be_in_the_workspace_is_refused(host: HostProgramRunner, cwd: str) -> None:
    """A runner does not take its caller's word for it."""
    with pytest.raises(ToolError) as caught:
        host.run(job("true", cwd=cwd))

    assert caught.value.reason == "invalid_arguments"


def test_a_program_starts_in_the_folder_of_its_job(host: HostProgramRunner, workspace: Path) -> None:
    """Relative to the workspace."""
    (workspace / "a/b").mkdir(parents=True)

    assert host.run(job("pwd", cwd="a/b")).stdout.decode().strip() == str(workspace / "a/b")
