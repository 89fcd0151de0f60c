"""Nothing of a program is left, however it hides and however we end."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import pytest
from tests.core.guards.process.conftest import job, living, over_time, shell, wait_until

from toolcharter.guards.process import HostProgramRunner, marks
from toolcharter.guards.process.keeper import Keeper
from toolcharter.guards.process.marks import NO_MARK, Mark, end_marked, end_runner, new_mark, signal_marked

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not marks.highest_mark(), reason="nothing can be marked here")]

# A number that no other test sleeps for, and how each hides what sleeps.
HIDING = [
    pytest.param("setsid sleep {0} & while ! pgrep -xf 'sleep {0}' >/dev/null; do :; done", id="a session of its own"),
    pytest.param("nohup sleep {0} >/dev/null 2>&1 & sleep 0.1", id="deaf to hang-ups"),
    pytest.param("(setsid sh -c 'sleep {0} & exit' &) ; sleep 0.1", id="forked twice"),
    pytest.param("env -i setsid sleep {0} </dev/null >/dev/null 2>&1 & sleep 0.1", id="no environment"),
    pytest.param("setsid sh -c 'trap \"\" TERM HUP; sleep {0}' & sleep 0.1", id="deaf to requests"),
]
DAEMON = """
import os
for _ in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
os.closerange(0, 256)
os.execve("/usr/bin/sleep", ["sleep", "{0}"], {{}})
"""


@pytest.mark.parametrize("script", HIDING)
def test_what_hides_is_found(host: HostProgramRunner, script: str) -> None:
    """Descendants die with their program, wherever they went."""
    number = f"98{os.getpid()}"

    ended = host.run(shell(script.format(number) + "; exit 3"))

    assert (ended.exit_code, ended.timed_out, living("sleep", number)) == (3, False, [])


def test_what_holds_a_program_cannot_be_stopped_by_it(host: HostProgramRunner) -> None:
    """A stopped nursery would end nothing, and start none of the programs that come after."""
    number = f"97{os.getpid()}"

    ended = host.run(shell(f"setsid sleep {number} & kill -STOP $PPID; sleep 0.1; kill -STOP $PPID; exit 3"))

    assert (ended.exit_code, ended.timed_out, living("sleep", number)) == (3, False, [])
    assert host.run(shell("exit 4")).exit_code == 4


def test_a_daemon_is_found(host: HostProgramRunner) -> None:
    """Without parents, session, environment and descriptors a program still has its limits."""
    number = f"97{os.getpid()}"

    host.run(job(sys.executable, "-S", "-c", DAEMON.format(number)))

    assert living("sleep", number) == []


def test_what_forks_while_it_is_killed_is_killed(host: HostProgramRunner) -> None:
    """A program that goes on by new processes is faster than no sweep."""
    script = 'f() { sleep 0.001; setsid sh -c "$0" "$0" & }; f; f'

    ended = host.run(job("sh", "-c", script, script, seconds=0.5))

    assert ended.exit_code in {0, -15}
    assert wait_until(lambda: living("sh", "-c", script, script) == [])
    time.sleep(0.1)
    assert living("sh", "-c", script, script) == []


PARENT = """
import sys, time
from pathlib import Path
from toolcharter.guards.process import HostProgramRunner
from toolcharter.api.job import Job
host = HostProgramRunner(Path(sys.argv[1]))
print(flush=True)
host.run(Job(("sh", "-c", "setsid sleep {0} & sleep {0}"), env={{"PATH": "/usr/bin:/bin"}}))
"""


def test_the_death_of_the_parent_is_that_of_its_programs(workspace: Path) -> None:
    """Nobody but the keeper can clean up behind a parent that is killed."""
    number = f"96{os.getpid()}"
    parent = subprocess.Popen([sys.executable, "-c", PARENT.format(number), str(workspace)])
    assert wait_until(lambda: len(living("sleep", number)) == 2)

    parent.kill()

    parent.wait()
    assert wait_until(lambda: living("sleep", number) == [])


def test_a_runner_that_is_closed_ends_the_programs_of_other_threads(host: HostProgramRunner) -> None:
    """The call that waits for one learns that it was killed."""
    number = f"95{os.getpid()}"
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(host.run, job("sleep", number))
        assert wait_until(lambda: living("sleep", number) != [])

        host.close()

        assert ended.result(60).exit_code == -9


def released(keeper: Keeper, *, detach: bool = True) -> tuple[IO[bytes], subprocess.Popen[bytes]]:
    """The keeper's pipe and process, which it then leaves alone."""
    assert keeper._release is not None
    found = keeper._release.detach() if detach else keeper._release.peek()
    assert found is not None
    pipe, process, _ = found[2]
    return pipe, process


def test_a_keeper_removes_empty_folders_of_ours(tmp_path: Path) -> None:
    """What it was told of and was not dropped, is ours by the sticky bit, and is empty: only that."""
    folders = {name: tmp_path / name for name in ("ours", "dropped", "full", "theirs", "a b", "inner")}
    folders["inner"] = folders["ours"] / "inner"
    for folder in folders.values():
        folder.mkdir()
        folder.chmod(0o755 if folder == folders["theirs"] else 0o1755)
    (folders["full"] / "file").touch()
    keeper = Keeper(1 << 50)
    for folder in folders.values():
        keeper.add(str(folder))
    keeper.drop(str(folders["dropped"]))

    # As when we die: the pipe ends without a word.
    pipe, process = released(keeper)
    pipe.close()

    assert process.wait(60) is not None
    left = {"dropped", "full", "theirs"}
    assert {name for name, folder in folders.items() if folder.exists()} == left


def test_a_folder_is_kept_in_mind_as_long_as_one_run_needs_it(tmp_path: Path) -> None:
    """Several runs may have added the same."""
    folders = [tmp_path / name for name in ("needed", "needed/within", "done")]
    keeper = Keeper(1 << 50)
    for folder in folders:
        folder.mkdir()
        folder.chmod(0o1755)
        for tell in (keeper.add, keeper.add, keeper.drop):
            tell(str(folder))
    keeper.drop(str(folders[-1]))

    pipe, process = released(keeper)
    pipe.close()

    assert process.wait(60) is not None
    assert [entry.name for entry in tmp_path.iterdir()] == ["done"]


def test_a_keeper_keeps_up_with_a_thousand_runs_at_a_time(tmp_path: Path) -> None:
    """Whoever tells it of a folder waits where it does not."""
    keeper = Keeper(1 << 50)
    names = [f"{tmp_path}/{'long' * 10}{number}" for number in range(3000)]

    began = time.monotonic()
    for tell in (keeper.add, keeper.drop):
        for name in names:
            tell(name)
    keeper.close()

    assert time.monotonic() - began < 10


def test_a_keeper_may_be_closed_unused_and_twice() -> None:
    """Closing is for the end, whatever was before."""
    unused, used, unneeded = Keeper(1 << 50), Keeper(1 << 50), Keeper(0)
    used.watch()
    used.watch()
    unneeded.watch()

    for keeper in (unused, used, used, unneeded):
        keeper.close()

    assert used._pipe is unused._pipe is unneeded._pipe is None


def test_a_keeper_that_was_killed_is_no_failure() -> None:
    """Closing does its work without it."""
    keeper = Keeper(1 << 50)
    keeper.watch()
    _, process = released(keeper, detach=False)
    process.kill()
    process.wait()

    keeper.close()

    assert keeper._pipe is None


def test_nothing_is_marked_where_that_cannot_be(monkeypatch: pytest.MonkeyPatch, host: HostProgramRunner) -> None:
    """Without marks programs run, and their groups are killed."""
    monkeypatch.setattr(marks, "highest_mark", lambda: 0)

    assert (marks.new_runner_mark(), new_mark(0), signal_marked(NO_MARK, 0, after=1)) == (0, NO_MARK, False)
    end_runner(0)
    assert host.run(job("echo", "a")).stdout == b"a\n"


@pytest.mark.parametrize(
    ("missing", "hard"),
    [
        pytest.param("resource.prlimit", None, id="no such call"),
        pytest.param(None, 1 << 30, id="a low limit already"),
    ],
)
def test_the_highest_mark_is_what_can_be_set(
    monkeypatch: pytest.MonkeyPatch, missing: str | None, hard: int | None
) -> None:
    """A system without the call, or one with a limit that leaves no room for marks, has none."""
    marks.highest_mark.cache_clear()
    if missing:
        monkeypatch.delattr(missing)
    else:
        monkeypatch.setattr("resource.getrlimit", lambda _: (hard, hard))

    highest = marks.highest_mark()

    marks.highest_mark.cache_clear()
    assert highest == 0


def test_after_numbers_began_anew_all_processes_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A descendant may have a lower number than its program."""
    monkeypatch.setattr(marks, "_newest_process", lambda: 1)
    mark = Mark(12345 << 30, 54321 << 30)
    number = f"78{os.getpid()}"
    process = subprocess.Popen(["prlimit", f"--rttime={mark.run}:{mark.runner}", "--", "sleep", number])
    assert wait_until(lambda: living("sleep", number) == [process.pid] and not living("--", "sleep", number))

    end_marked(mark, after=2)

    assert process.wait(60) == -signal.SIGKILL


def test_a_group_that_has_had_its_signal_gets_no_second(workspace: Path, host: HostProgramRunner) -> None:
    """A program counts the requests to end: one."""
    # It goes on for a while after the first.
    loop = "i=0; while [ $i -lt {0} ]; do sleep 0.05; [ $n = 0 ] || i=$((i+1)); done"
    script = f"n=0; trap 'n=$((n+1))' TERM; echo ready; {loop}; echo $n"

    # Longer than any grace.
    ended = over_time(lambda seconds: host.run(shell(script.format(9999), seconds=seconds)), b"ready\n")

    assert (ended.exit_code, ended.stdout) == (-9, b"ready\n")
    running = host.start(shell(script.format(20)))
    said = bytearray()

    def is_ready() -> bool:
        said.extend(running.read(100))
        return said == b"ready\n"

    assert wait_until(is_ready)
    running.signal(signal.SIGTERM)
    assert running.wait(60) == 0
    assert running.read(100).endswith(b"1\n")


def test_a_process_that_is_gone_is_not_alive() -> None:
    """Between two looks at it, it may end."""
    process = subprocess.Popen(["true"])
    process.wait()

    assert not marks._is_alive(process.pid)
