"""The process guard: what a program starts with, how it ends, and what is left of it."""

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.core.guards.process.conftest import over_time
from tests.descriptors import open_descriptors

from toolcharter.errors import Denied, ToolError
from toolcharter.guards.process import HostProgramRunner, HostRunner, governed, marks
from toolcharter.guards.process import supervise as supervision

pytestmark = pytest.mark.slow

PYTHON = sys.executable


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def run(workspace: Path) -> Iterator[HostRunner]:
    run = HostRunner(workspace, deadline=lambda: math.inf, check=lambda: None)
    yield run
    run.close()


def python(code: str, *args: str) -> list[str]:
    return [PYTHON, "-S", "-c", code, *args]


def is_alive(pid: int) -> bool:
    """Running: neither gone nor a zombie that its new parent has not reaped yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # The second if it goes while it is read.
        return False


def wait_until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def test_a_program_gets_its_arguments_as_they_are(run: HostRunner) -> None:
    """No shell stands between a tool and its program."""
    completed = run(["printf", "%s|", "$HOME", "a b", "*", "; id", ""])

    assert (completed.argv, completed.exit_code, completed.stdout, completed.stderr) == (
        ("printf", "%s|", "$HOME", "a b", "*", "; id", ""),
        0,
        b"$HOME|a b|*|; id||",
        b"",
    )
    assert (completed.truncated, completed.timed_out) == (False, False)
    assert completed.elapsed_s > 0


def test_nothing_of_our_environment_reaches_a_program(run: HostRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment is built from an allow list, to which the tool adds."""
    monkeypatch.setenv("CANARY", "leaked")
    monkeypatch.setenv("LD_PRELOAD_CANARY", "leaked")

    completed = run(["env"], env={"MINE": "1"})

    assert set(completed.stdout.decode().split()) == {
        "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        "HOME=/nonexistent",
        "LANG=C.UTF-8",
        "LC_ALL=C.UTF-8",
        "MINE=1",
    }


def test_a_program_starts_in_the_workspace(run: HostRunner, workspace: Path) -> None:
    """Without another folder a program works in the workspace."""
    assert run(["pwd"]).stdout.decode().strip() == str(workspace)


def test_a_held_folder_is_entered_by_its_descriptor(run: HostRunner, workspace: Path, tmp_path: Path) -> None:
    """A folder that is swapped for a link after it was opened is still the one that was opened."""
    (workspace / "sub").mkdir()
    descriptor = os.open(workspace / "sub", os.O_RDONLY)
    (workspace / "sub").rename(workspace / "moved")
    (workspace / "sub").symlink_to(tmp_path)

    completed = run(["pwd", "-P"], cwd=SimpleNamespace(path="sub", fileno=lambda: descriptor))

    os.close(descriptor)
    assert completed.stdout.decode().strip() == str(workspace / "moved")


def test_without_proc_a_folder_is_entered_by_name(
    run: HostRunner, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no path leads to a descriptor, the folder's name is used, while it means that folder."""
    monkeypatch.setattr(governed, "DESCRIPTORS", "/nonexistent")
    (workspace / "sub").mkdir()
    descriptor = os.open(workspace / "sub", os.O_RDONLY)

    completed = run(["pwd"], cwd=SimpleNamespace(path="sub", fileno=lambda: descriptor))

    os.close(descriptor)
    assert completed.stdout.decode().strip() == str(workspace / "sub")


def test_without_proc_a_swapped_folder_is_refused(
    run: HostRunner, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that no longer means the folder that was opened starts nothing."""
    monkeypatch.setattr(governed, "DESCRIPTORS", "/nonexistent")
    descriptor = os.open(workspace, os.O_RDONLY)
    (workspace / "sub").symlink_to(tmp_path)

    with pytest.raises(ToolError, match="'sub' has changed"):
        run(["pwd"], cwd=SimpleNamespace(path="sub", fileno=lambda: descriptor))

    os.close(descriptor)


def test_standard_input_is_given_whole_and_closed(run: HostRunner) -> None:
    """More input than a pipe holds arrives while the program's output is read."""
    data = bytes(range(256)) * 4096

    assert run(["cat"], stdin=data, max_output_bytes=len(data)).stdout == data


def test_a_program_may_leave_its_input_unread(run: HostRunner) -> None:
    """A closed input is no failure of the call."""
    completed = run(python("import os, time; os.close(0); time.sleep(0.1); print('done')"), stdin=b"x" * 1_000_000)

    assert (completed.exit_code, completed.stdout) == (0, b"done\n")


def test_without_input_a_program_reads_nothing(run: HostRunner) -> None:
    """Standard input is empty, not ours."""
    assert run(["cat"]).stdout == b""


@pytest.mark.parametrize(
    ("size", "kept", "truncated"),
    [
        pytest.param(1000, 1000, False, id="at the limit"),
        pytest.param(1001, 1000, True, id="one past it"),
        pytest.param(0, 0, False, id="nothing"),
    ],
)
def test_output_is_kept_up_to_the_limit(run: HostRunner, size: int, kept: int, *, truncated: bool) -> None:
    """The first bytes of each stream are kept and the loss is told."""
    completed = run(["head", "-c", str(size), "/dev/zero"], max_output_bytes=1000)

    assert (len(completed.stdout), completed.truncated, completed.exit_code) == (kept, truncated, 0)


def test_dropped_output_costs_no_memory(workspace: Path) -> None:
    """100 MB on each stream are read to their end, and only the limit is held."""
    code = (
        "import math, resource, pathlib, sys\n"
        "from toolcharter.guards.process import HostRunner\n"
        "run = HostRunner(pathlib.Path(sys.argv[1]), deadline=lambda: math.inf, check=lambda: None)\n"
        "run(['true'])\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "done = run(['sh', '-c', 'head -c 100000000 /dev/zero; head -c 100000000 /dev/zero >&2; echo end >&2'])\n"
        "grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before\n"
        "print(done.exit_code, len(done.stdout), len(done.stderr), done.truncated, grown < 20_000)\n"
    )
    outer = HostRunner(workspace, deadline=lambda: math.inf, check=lambda: None)

    completed = outer([PYTHON, "-c", code, str(workspace)])

    assert (completed.stdout, completed.stderr) == (b"0 1000000 1000000 True True\n", b"")


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        pytest.param(["true"], 0, id="zero"),
        pytest.param(["sh", "-c", "exit 3"], 3, id="a status"),
        pytest.param(["sh", "-c", "kill -SEGV $$"], -11, id="a signal"),
    ],
)
def test_the_exit_status_tells_a_signal_by_its_sign(run: HostRunner, argv: list[str], code: int) -> None:
    """A program that was ended by a signal has its negative number as status."""
    assert run(argv).exit_code == code


def test_a_program_over_its_time_is_terminated(run: HostRunner) -> None:
    """What was written until then is kept."""
    completed = over_time(lambda limit_s: run(["sh", "-c", "echo before; sleep 60"], timeout_s=limit_s), b"before\n")

    assert (completed.exit_code, completed.stdout, completed.timed_out) == (-15, b"before\n", True)


def test_a_program_may_end_in_order_when_terminated(run: HostRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """TERM comes first, and what a program still says in its grace is read."""
    monkeypatch.setattr(supervision, "GRACE_S", 60.0)
    script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"

    completed = over_time(lambda limit_s: run(["sh", "-c", script], timeout_s=limit_s), b"ready\n")

    assert (completed.exit_code, completed.stdout, completed.timed_out) == (7, b"ready\nbye\n", True)


def test_a_program_that_ignores_the_request_is_killed(run: HostRunner) -> None:
    """After the grace comes KILL."""
    script = "trap '' TERM; echo ready; while :; do sleep 0.05; done"

    completed = over_time(lambda limit_s: run(["sh", "-c", script], timeout_s=limit_s), b"ready\n")

    assert (completed.exit_code, completed.timed_out) == (-9, True)


def test_the_deadline_of_the_call_counts_if_it_is_sooner(workspace: Path) -> None:
    """No program outlives its call, whatever time its tool gives it."""
    run = HostRunner(workspace, deadline=lambda: time.monotonic() + 0.3, check=lambda: None)

    assert run(["sleep", "60"], timeout_s=60).timed_out


def test_a_call_out_of_time_starts_nothing(workspace: Path) -> None:
    """Past the deadline the answer is an error, not a program that is killed at once."""
    run = HostRunner(workspace, deadline=lambda: 0.0, check=lambda: None)

    with pytest.raises(ToolError) as caught:
        run(["touch", "canary"])

    assert (caught.value.reason, caught.value.retryable) == ("timed_out", True)
    assert not (workspace / "canary").exists()


@pytest.mark.parametrize("is_late", [pytest.param(False, id="in time"), pytest.param(True, id="over time")])
def test_descendants_die_with_the_program(run: HostRunner, workspace: Path, *, is_late: bool) -> None:
    """What a program leaves behind in its group is killed, even if it ignores TERM and holds the pipes."""
    rest = "echo begun; sleep 60" if is_late else ":"
    script = (
        f"sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 0.05; done' & while [ ! -s pid ]; do :; done; {rest}"
    )

    if is_late:
        over_time(lambda limit_s: run(["sh", "-c", script], timeout_s=limit_s), b"begun\n")
    else:
        assert not run(["sh", "-c", script]).timed_out

    child = int((workspace / "pid").read_text())
    assert wait_until(lambda: not is_alive(child))


def test_a_descendant_that_left_the_group_does_not_hold_the_call(
    run: HostRunner, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing can be marked or watched, the end of the program ends the call, though others hold its pipes."""
    monkeypatch.setattr(marks, "new_runner_mark", lambda: 0)
    monkeypatch.setattr(HostProgramRunner, "_get_nursery", lambda _: None)
    code = (
        "import os, time, pathlib\n"
        "if os.fork() == 0:\n"
        "    os.setsid(); pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(60)\n"
        "while not os.path.exists('pid') or not open('pid').read(): pass\n"
        "print('done')\n"
    )

    completed = run(python(code), timeout_s=30)

    os.kill(int((workspace / "pid").read_text()), 9)
    assert (completed.exit_code, completed.stdout, completed.timed_out) == (0, b"done\n", False)


def test_a_program_may_close_its_pipes_and_go_on(run: HostRunner) -> None:
    """The end of the output is not the end of the program."""
    completed = run(["sh", "-c", "exec >&- 2>&-; sleep 0.2; exit 5"])

    assert completed.exit_code == 5


def test_an_interrupt_kills_the_group(run: HostRunner, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends the wait ends the program, without a zombie or an open pipe."""
    run(["true"])
    before = open_descriptors()

    def interrupt(*_: object) -> bool:
        assert wait_until(lambda: (workspace / "pid").exists() and bool((workspace / "pid").read_text().strip()))
        raise KeyboardInterrupt

    monkeypatch.setattr(supervision._Supervision, "_serve_until", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(["sh", "-c", "echo $$ > pid; sleep 60"])

    assert not Path("/proc", (workspace / "pid").read_text().strip()).exists()
    assert open_descriptors() == before


def test_without_a_process_descriptor_the_end_is_polled(run: HostRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Systems without pidfd_open see the same ends."""
    monkeypatch.delattr(os, "pidfd_open")

    results = [run(["sh", "-c", "echo a; sleep 0.1; exit 4"]), run(["sleep", "60"], timeout_s=0.2)]

    assert [(each.exit_code, each.stdout, each.timed_out) for each in results] == [(4, b"a\n", False), (-15, b"", True)]


def test_the_program_leads_a_session_of_its_own(run: HostRunner) -> None:
    """No terminal of ours can be reached and no signal of ours is shared."""
    completed = run(python("import os; print(os.getsid(0) == os.getpid() == os.getpgid(0))"))

    assert completed.stdout == b"True\n"


def test_none_of_our_descriptors_is_inherited(run: HostRunner, tmp_path: Path) -> None:
    """A program has its three streams and nothing else of ours."""
    with (tmp_path / "open").open("w") as ours:
        os.set_inheritable(ours.fileno(), True)  # noqa: FBT003 - positional only
        completed = run(python("import os; print([n for n in range(3, 256) if os.path.exists(f'/proc/self/fd/{n}')])"))

    assert completed.stdout == b"[]\n"


MANY_THREADS = """
import math, os, sys, threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from toolcharter.guards.process import HostRunner

def descriptors():
    return sorted(os.listdir("/proc/self/fd"))

run = HostRunner(Path(sys.argv[1]), deadline=lambda: math.inf, check=lambda: None)
run(["true"])
before = descriptors()
with ThreadPoolExecutor(16) as pool:
    outputs = list(pool.map(lambda number: run(["echo", str(number)]).stdout, range(200)))
print(outputs == [f"{number}\\n".encode() for number in range(200)])
print(descriptors() == before, threading.active_count())
run.close()
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no child left")
"""


def test_many_threads_share_a_runner(workspace: Path) -> None:
    """Calls of many threads keep apart, and nothing stays open or unreaped."""
    # In a process of its own: other tests of this one leave threads and descriptors that end when they like.
    done = subprocess.run(
        [sys.executable, "-c", MANY_THREADS, str(workspace)], capture_output=True, text=True, check=True
    )

    assert done.stdout == "True\nTrue 1\nno child left\n"


def test_the_check_comes_before_everything(workspace: Path) -> None:
    """A refused runner does not even look for the program."""

    def refuse() -> None:
        raise Denied("sandbox_unavailable")

    run = HostRunner(workspace, deadline=lambda: math.inf, check=refuse)

    with pytest.raises(Denied, match="sandbox_unavailable"):
        run([])


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        pytest.param([], "program_not_found", id="empty vector"),
        pytest.param([""], "program_not_found", id="empty name"),
        pytest.param(["no-such-program-here"], "program_not_found", id="missing name"),
        pytest.param(["/no/such/program"], "program_not_found", id="missing path"),
        pytest.param(["./tool"], "program_not_found", id="relative path"),
        pytest.param(["bin/tool"], "program_not_found", id="relative path without a dot"),
        pytest.param(["/etc"], "program_not_found", id="a folder"),
        pytest.param(["/etc/passwd"], "program_not_found", id="not executable"),
        pytest.param(["tr\0ue"], "program_not_found", id="NUL in the name"),
        pytest.param(["echo", "a\0b"], "invalid_arguments", id="NUL in an argument"),
        pytest.param(["echo", "\ud800"], "invalid_arguments", id="lone surrogate"),
        pytest.param(["echo", "x" * 10_000_000], "tool_error", id="longer than the system takes"),
    ],
)
def test_what_cannot_be_started_is_an_error(run: HostRunner, workspace: Path, argv: list[str], reason: str) -> None:
    """Malformed and missing programs are errors, whatever lies in the workspace."""
    for place in (workspace / "tool", workspace / "bin" / "tool"):
        place.parent.mkdir(exist_ok=True)
        place.write_text("#!/bin/sh\necho hello\n")
        place.chmod(0o755)

    with pytest.raises(ToolError) as caught:
        run(argv)

    assert caught.value.reason == reason
