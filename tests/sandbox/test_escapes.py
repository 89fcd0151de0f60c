"""Nothing gets out of a sandbox: attempts by line, asserted on the world and not on what a program says of itself."""

import time
from pathlib import Path
from typing import Any

import pytest
from tests.samples import sample_rows
from tests.sandbox.attempts import ATTEMPTS, ESCAPED, Attempt, attempt_of
from tests.sandbox.conftest import Host, OpenRunner, sandbox_runners

from toolcharter import Denied, Ended, Job, ProcessLimits, ProgramRunner, ToolError

ENV = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C"}
ROWS = sample_rows("security/sandbox_escapes")
SLACK_S = 30.0
TIME_S = {"bwrap": 1.0, "docker": 2.0}
"""Time to start and to use up what can be had."""

each_runner = pytest.mark.parametrize("name", sandbox_runners())


def job(host: Host, line: str, **chosen: Any) -> Job:
    """A shell that runs *line*, as `bash` would have it run."""
    given: dict[str, Any] = {"env": ENV, "protected": (".git",), "expires": time.monotonic() + 20.0, **chosen}
    return Job(("/bin/sh", "-c", host.fill(line)), **given)


def assert_contained(host: Host, runner: ProgramRunner, attempt: Attempt) -> None:
    ended = runner.run(job(host, attempt.line))

    output = ended.stdout + ended.stderr
    assert host.damage(output) == [], output.decode(errors="replace")
    assert ESCAPED not in output, output.decode(errors="replace")
    assert not ended.timed_out


@each_runner
@pytest.mark.parametrize("attempt", [pytest.param(attempt, id=f"{attempt.kind}-{attempt.id}") for attempt in ATTEMPTS])
def test_attempt_is_contained(name: str, attempt: Attempt, host: Host, open_runner: OpenRunner) -> None:
    """No attempt reads, writes, connects to or ends anything outside."""
    assert_contained(host, open_runner(name, host.workspace), attempt)


@each_runner
@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in ROWS if row["expect"] == "blocked"])
def test_blocked_sample_is_contained(name: str, row: dict[str, Any], host: Host, open_runner: OpenRunner) -> None:
    """The attempts of the samples get nowhere."""
    assert_contained(host, open_runner(name, host.workspace), attempt_of(row))


BOUNDED = {
    "yes": "yes",
    "errors without end": "yes >&2",
    "fork bomb": "b() { b | b & }; b; sleep @MARKER@",
    "processes that detach": "i=0; while [ $i -lt 50 ]; do setsid sleep @MARKER@ & i=$((i+1)); done; sleep @MARKER@",
    "memory": "perl -e '$x=q(a)x(1<<20); push @a,$x.$_ for 1..100000'; sleep @MARKER@",
    "spinning": "while :; do :; done",
    "deaf to TERM": "trap '' TERM HUP INT; while :; do sleep 1; done",
    "stopped by itself": "sleep @MARKER@ & kill -STOP $$",
    "silent and closed": "exec >&- 2>&- <&-; sleep @MARKER@",
    "ends, but not what it has started": "(setsid sleep @MARKER@ >/dev/null 2>&1 </dev/null &); nohup sleep @MARKER@ >/dev/null & exit 0",
    "holds the pipes open": "sleep @MARKER@ & exit 0",
}  # fmt: skip


@each_runner
@pytest.mark.parametrize("line", [pytest.param(line, id=name.replace(" ", "-")) for name, line in BOUNDED.items()])
def test_resources_are_bounded(name: str, line: str, host: Host, open_runner: OpenRunner) -> None:
    """A program ends with its time, keeps no more output than it may, and leaves no process."""
    assert_bounded(host, open_runner(name, host.workspace), line, TIME_S[name])


@each_runner
@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in ROWS if row["expect"] == "bounded"])
def test_bounded_sample_is_bounded(name: str, row: dict[str, Any], host: Host, open_runner: OpenRunner) -> None:
    """What the samples use up has an end."""
    assert_bounded(host, open_runner(name, host.workspace), row["cmd"], TIME_S[name])


def assert_bounded(host: Host, runner: ProgramRunner, line: str, time_s: float) -> Ended:
    ended = run_bounded(host, runner, line, time_s)
    if not (host.workspace / "began").exists():  # On a busy machine the start has taken all of it.
        ended = run_bounded(host, runner, line, SLACK_S)

    assert (host.workspace / "began").exists()
    assert len(ended.stdout) <= 65_536
    assert len(ended.stderr) <= 65_536 + 200  # a runner may say there why a program ended
    assert host.damage(ended.stdout + ended.stderr) == []
    sizes = [file.stat().st_blocks * 512 for file in host.workspace.rglob("*") if not file.is_symlink()]
    assert max(sizes) <= 8 * 1024**2
    return ended


def run_bounded(host: Host, runner: ProgramRunner, line: str, time_s: float) -> Ended:
    limits = ProcessLimits(memory_bytes=256 * 1024**2, processes=64, file_bytes=8 * 1024**2)
    until = time.monotonic() + time_s
    ended = runner.run(job(host, f": > began\n{line}", expires=until, max_output_bytes=65_536, limits=limits))
    assert time.monotonic() < until + SLACK_S
    return ended


@each_runner
def test_files_have_a_size_limit(name: str, host: Host, open_runner: OpenRunner) -> None:
    """No file grows past the limit, in the workspace or in the sandbox's own folders."""
    line = "for f in big /tmp/big /dev/shm/big; do head -c 100000000 /dev/zero > $f; wc -c < $f; done"

    ended = assert_bounded(host, open_runner(name, host.workspace), line, time_s=20.0)

    assert all(int(size) <= 8 * 1024**2 for size in ended.stdout.split())


@each_runner
def test_descriptors_have_a_limit(name: str, host: Host, open_runner: OpenRunner) -> None:
    """No process opens more files than it may."""
    line = "perl -e 'while (open($f[@f],q(</dev/null))) {} print @f+0'"

    ended = open_runner(name, host.workspace).run(job(host, line, limits=ProcessLimits(open_files=64)))

    assert int(ended.stdout) <= 64


@each_runner
def test_read_only_job_writes_nothing(name: str, host: Host, open_runner: OpenRunner) -> None:
    """A job that may only read changes nothing in the workspace, and leaves no trace of what protects it."""
    before = sorted(map(str, host.workspace.rglob("*")))
    line = "echo x > new; echo x >> notes.txt; rm -rf notes.txt .venv; mkdir d; cat notes.txt"

    ended = open_runner(name, host.workspace).run(job(host, line, read_only=True))

    assert ended.stdout == b"notes\n"
    assert sorted(map(str, host.workspace.rglob("*"))) == before
    assert (host.workspace / "notes.txt").read_text() == "notes\n"
    assert host.damage(ended.stdout + ended.stderr) == []


@each_runner
def test_workspace_is_there_to_work_in(name: str, host: Host, open_runner: OpenRunner) -> None:
    """Contained is not crippled: files are read and written, programs of the workspace's own run, input arrives."""
    line = "cat; cat notes.txt; mkdir -p sub/deep; echo made > sub/deep/file; mv sub moved; pwd; rm notes.txt; echo $WORD; exit 7"
    asked = job(host, line, stdin=b"typed\n", env=ENV | {"WORD": "given"})

    ended = open_runner(name, host.workspace).run(asked)

    expected = f"typed\nnotes\n{host.workspace}\ngiven\n".encode()
    assert ended == Ended(7, expected, b"", truncated=False, timed_out=False)
    assert (host.workspace / "moved/deep/file").read_text() == "made\n"
    assert not (host.workspace / "notes.txt").exists()
    assert host.damage(b"") == []


OUTSIDE = {
    "parent": "..",
    "absolute": "@OUT@",
    "root": "/",
    "link": "way-out",
    "sibling": "../ws-old",
    "proc": "/proc/self",
}
REFUSALS = {"path_outside_workspace", "sandbox_unavailable", "protected_path", "invalid_arguments", "path_not_found"}


def refused_for(runner: ProgramRunner, asked: Job) -> str:
    """The reason for which *asked* does not run."""
    try:
        ended = runner.run(asked)
    except (Denied, ToolError) as refusal:
        return refusal.reason
    pytest.fail(f"it ran: {ended}")


@each_runner
@pytest.mark.parametrize("folder", [pytest.param(folder, id=name) for name, folder in OUTSIDE.items()])
def test_working_folder_outside_is_refused(name: str, folder: str, host: Host, open_runner: OpenRunner) -> None:
    """The model chooses no root: a working folder outside the workspace runs nothing. Source: CVE-2025-59532."""
    runner = open_runner(name, host.workspace)

    assert refused_for(runner, job(host, "echo x > ran; echo x > @WS@/ran", cwd=host.fill(folder))) in REFUSALS
    assert not (host.workspace / "ran").exists()
    assert host.damage(b"") == []


@each_runner
@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in ROWS if row["expect"] == "refuse"])
def test_refused_sample_is_refused(name: str, row: dict[str, Any], host: Host, open_runner: OpenRunner) -> None:
    """What the samples want refused is one of the refusals that are tried here."""
    assert "working directory outside" in row["cmd"], "a sample of a new kind: write its test"
    test_working_folder_outside_is_refused(name, "..", host, open_runner)


@each_runner
def test_protected_link_is_refused(name: str, host: Host, open_runner: OpenRunner) -> None:
    """A protected name that is a link cannot be held: nothing runs, and what it leads to is not shown."""
    (host.workspace / ".toolcharter").symlink_to(host.outside)
    runner = open_runner(name, host.workspace)

    assert refused_for(runner, job(host, "cat .toolcharter/secret.txt")) in REFUSALS


@each_runner
def test_nothing_is_left_in_the_workspace(name: str, host: Host, open_runner: OpenRunner) -> None:
    """What keeps missing paths from being created is gone with the program."""
    before = sorted(map(str, host.workspace.rglob("*")))
    runner = open_runner(name, host.workspace)

    for line in ("true", "sleep 30", "kill -9 $$"):
        runner.run(job(host, line, expires=time.monotonic() + TIME_S[name]))

    assert sorted(map(str, host.workspace.rglob("*"))) == before


@each_runner
def test_programs_at_a_time_protect_and_leave_nothing(name: str, host: Host, open_runner: OpenRunner) -> None:
    """One program's end takes no protection from another, and the last one leaves no trace."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - one test needs it

    before = sorted(map(str, host.workspace.rglob("*")))
    runners = [open_runner(name, host.workspace) for _ in range(2)]
    line = "for i in 1 2 3 4 5 6 7 8 9; do mkdir .toolcharter late; echo x > .toolcharter/p; [ -e .toolcharter/p ] && echo esc''aped; sleep 0.0%d; done"

    with ThreadPoolExecutor(6) as pool:
        ended = list(pool.map(lambda n: runners[n % 2].run(job(host, line % n)), range(6)))

    assert [ESCAPED in result.stdout for result in ended] == [False] * 6
    assert sorted(map(str, host.workspace.rglob("*"))) == before


@each_runner
def test_background_program_is_contained(name: str, host: Host, open_runner: OpenRunner) -> None:
    """What goes on while its tool returns is contained the same way, and ends with all it has started."""
    from toolcharter import TerminalSize  # noqa: PLC0415 - one test needs it

    running = open_runner(name, host.workspace).start(
        job(
            host, "cat @HOME@/.aws/credentials; echo x > @OUT@/new; mkdir .toolcharter; sleep @MARKER@ & sleep @MARKER@"
        ),
        TerminalSize(24, 80),
    )
    said, until = b"", time.monotonic() + 10
    while b".toolcharter" not in said and time.monotonic() < until:
        said += running.read(4096)
        time.sleep(0.05)
    running.close()

    assert b".toolcharter" in said
    assert running.exit_code is not None
    assert host.damage(said) == []
    assert not Path(host.workspace, ".toolcharter").exists()
