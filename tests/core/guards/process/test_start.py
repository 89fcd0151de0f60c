"""Programs of the runner `host`: whatever they do to stay, they end."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.core.guards.process.conftest import job, living, shell, wait_until

from toolcharter.api.job import Job
from toolcharter.errors import ToolError
from toolcharter.guards.process import HostProgramRunner
from toolcharter.guards.process.marks import is_marked

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="subreapers are Linux's")]

UNMARKED = "prlimit --rttime=100000000:100000000"
AS_ROOT = "prlimit --rttime=unlimited:unlimited"
_CAPABILITIES = Path("/proc/self/status").read_text().partition("CapEff:\t")[2].partition("\n")[0]
# Source: capabilities(7), CAP_SYS_RESOURCE, which containers often take from root.
RAISES = pytest.mark.skipif(not int(_CAPABILITIES, 16) >> 24 & 1, reason="needs the right to raise limits")
SCRIPTS = [
    pytest.param(f"setsid {UNMARKED} sleep {{0}} & sleep 0.1", id="without a mark"),
    pytest.param(
        f"setsid {AS_ROOT} sleep {{0}} & sleep 0.1",
        id="without a limit",
        marks=RAISES,
    ),
    pytest.param(f"(setsid {UNMARKED} setsid sh -c 'sleep {{0}} & exit' &) ; sleep 0.1", id="forked twice"),
    pytest.param(
        f"env -i {UNMARKED} nohup setsid sleep {{0}} </dev/null >/dev/null 2>&1 & sleep 0.1", id="nothing left"
    ),
    pytest.param(f"setsid {UNMARKED} sh -c 'trap \"\" TERM HUP INT; sleep {{0}}; sleep {{0}}' & sleep 0.1", id="deaf"),
    pytest.param(f"setsid {UNMARKED} sleep {{0}} & kill -STOP $!; sleep 0.1", id="stopped"),
    pytest.param(f"setsid {UNMARKED} sleep {{0}} & sleep 0.1; kill -9 $PPID; sleep {{0}}", id="without its nursery"),
    pytest.param(
        f"setsid {UNMARKED} sleep {{0}} & sleep 0.1; read -r _ _ _ guardian _ </proc/$PPID/stat;"
        " kill -STOP $guardian; kill -STOP $PPID",
        id="guardian and nursery stopped",
    ),
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_a_program_starts_ends_with_it(host: HostProgramRunner, script: str) -> None:
    """No limit that it lowers, no session, no parent and no deafness keeps a descendant alive."""
    number = f"88{os.getpid()}"

    host.run(shell(script.format(number), seconds=5))

    assert wait_until(lambda: living("sleep", number) == [])


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_a_program_starts_ends_with_the_toolbox(host: HostProgramRunner, script: str) -> None:
    """The same for a program that goes on when its call has ended."""
    number = f"87{os.getpid()}"
    program = host.start(shell(script.format(number) + f"; sleep {number}"))
    # What ends with its nursery may have come and gone between two looks.
    assert wait_until(lambda: len(living("sleep", number)) > 0 or program.exit_code is not None)

    host.close()

    assert wait_until(lambda: living("sleep", number) == [])
    assert program.exit_code is not None


PARENT = """
import sys
from pathlib import Path
from toolcharter.guards.process import HostProgramRunner
from toolcharter.api.job import Job
host = HostProgramRunner(Path(sys.argv[1]))
host.run(Job(("sh", "-c", "{script}; sleep {number}"), env={{"PATH": "/usr/bin:/bin"}}))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_what_a_program_starts_ends_with_the_harness(workspace: Path, number: int) -> None:
    """However the process ends that asked for it."""
    seconds = f"86{os.getpid()}"
    script = PARENT.format(script=f"setsid {UNMARKED} sleep {seconds} & true", number=seconds)
    parent = subprocess.Popen([sys.executable, "-c", script, str(workspace)], stderr=subprocess.DEVNULL)
    assert wait_until(lambda: len(living("sleep", seconds)) == 2)

    parent.send_signal(number)

    parent.wait()
    assert wait_until(lambda: living("sleep", seconds) == [])


def test_a_runner_whose_nursery_was_killed_goes_on(host: HostProgramRunner) -> None:
    """The program that killed it ends; the next one has a new one."""
    number = f"85{os.getpid()}"
    killing = f"setsid {UNMARKED} sleep {number} & read -r _ _ _ nursery _ </proc/$PPID/stat; kill -9 $nursery; sleep {number}"

    host.run(shell(killing, seconds=2))

    assert wait_until(lambda: living("sleep", number) == [])
    assert host.run(shell("exit 3")).exit_code == 3


STOPPING = "read -r _ _ _ guardian _ </proc/$PPID/stat; kill -STOP $guardian $PPID; exec sleep {0}"
STOPPING_ON = (
    f"read -r _ _ _ guardian _ </proc/$PPID/stat; setsid {UNMARKED} sh -c"
    " 'while :; do kill -STOP $0 $1; done' $guardian $PPID & exec sleep {0}"
)


def test_a_runner_whose_guardian_and_nursery_were_stopped_goes_on(host: HostProgramRunner) -> None:
    """The next program starts, and the one that stopped them ends with its call."""
    number = f"81{os.getpid()}"
    stopping = host.start(shell(STOPPING.format(number)))
    assert wait_until(lambda: len(living("sleep", number)) == 1)

    ended = host.run(shell("exit 3"))

    assert (ended.exit_code, stopping.exit_code) == (3, None)
    stopping.close()
    assert living("sleep", number) == []


def test_a_program_that_stops_them_again_and_again_ends(host: HostProgramRunner) -> None:
    """It ends with all that the nursery holds; the next program has a nursery of its own."""
    number = f"80{os.getpid()}"
    stopping = host.start(shell(STOPPING_ON.format(number)))
    assert wait_until(lambda: len(living("sleep", number)) == 1)

    stopping.close()

    assert wait_until(lambda: living("sleep", number) == [])
    assert host.run(shell("exit 3")).exit_code == 3


def test_stopping_guardian_and_nursery_outlives_no_harness(workspace: Path) -> None:
    """Both go on when the process has been killed that started them, and end what they hold."""
    number = f"79{os.getpid()}"
    script = STOPPING.format(number).replace("exec", f"setsid {UNMARKED} sleep {number} & exec")
    code = PARENT.format(script=script, number=number)
    parent = subprocess.Popen([sys.executable, "-c", code, str(workspace)], stderr=subprocess.DEVNULL)
    assert wait_until(lambda: len(living("sleep", number)) == 2)

    parent.kill()

    parent.wait()
    assert wait_until(lambda: living("sleep", number) == [])


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -9 $$", -9), ("kill -15 $$", -15), ("true", 0)])
def test_a_program_ends_as_it_ended(host: HostProgramRunner, script: str, code: int) -> None:
    """Its own status, negative by a signal, whatever it left behind."""
    assert host.run(shell(f"sleep 60 & {script}")).exit_code == code


def test_signals_reach_all_of_a_program(host: HostProgramRunner) -> None:
    """Those that left its group, too; what is deaf to them dies with `close`."""
    number = f"84{os.getpid()}"
    program = host.start(shell(f"setsid sleep {number} & trap : TERM; while :; do sleep {number}; done"))
    assert wait_until(lambda: len(living("sleep", number)) == 2)
    first = living("sleep", number)

    program.signal(signal.SIGTERM)

    assert wait_until(lambda: not set(first) & set(living("sleep", number)))
    assert program.exit_code is None
    program.close()
    assert living("sleep", number) == []


def test_what_a_daemon_leaves_stays_until_the_program_is_closed(host: HostProgramRunner) -> None:
    """A program that goes on in the background is not its first process alone."""
    number = f"83{os.getpid()}"
    program = host.start(shell(f"setsid sleep {number} >/dev/null 2>&1 & exit 5"))

    assert program.wait(60) == 5
    assert wait_until(lambda: len(living("sleep", number)) == 1)
    program.close()
    assert living("sleep", number) == []


def test_programs_start_with_usual_signals(host: HostProgramRunner) -> None:
    """What a watcher ignores, its program does not."""
    found = host.run(job("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")).stdout

    # The C library keeps 32 and 33 for itself.
    assert [int(word, 16) & 0x7FFFFFFF for word in found.split()[1::2]] == [0, 0]


def test_programs_get_no_descriptor_of_ours(host: HostProgramRunner) -> None:
    """Only their three streams."""
    assert host.run(shell("ls /proc/self/fd | wc -l")).stdout.split() == [b"4"]  # one is that of the folder itself


def test_what_cannot_be_started_is_told(host: HostProgramRunner) -> None:
    """The system's own word, and nothing is left."""
    with pytest.raises(ToolError, match="did not start: No such file or directory"):
        host.run(Job(("true",), cwd="missing", env={}))
    with pytest.raises(ToolError, match="null byte"):
        host.run(job("true", "a\0b"))
    with pytest.raises(ToolError, match="illegal environment variable name"):
        host.run(Job(("true",), env={"a=b": "c"}))


def test_long_arguments_arrive(host: HostProgramRunner) -> None:
    """More than a socket takes at once."""
    words = ["x" * 100_000] * 10

    assert host.run(job("printf", "%s", *words)).stdout == "".join(words).encode()


def test_many_programs_at_once(host: HostProgramRunner) -> None:
    """Each has a watcher of its own, and hears only of its own end."""
    with ThreadPoolExecutor(16) as pool:
        ended = pool.map(lambda code: host.run(shell(f"sleep 0.0{code % 10}; echo {code}; exit {code}")), range(100))

    assert [(one.exit_code, int(one.stdout)) for one in ended] == [(code, code) for code in range(100)]


@pytest.mark.parametrize("before", ["", UNMARKED, pytest.param(AS_ROOT, marks=RAISES)])
def test_a_program_is_known_for_one(host: HostProgramRunner, before: str) -> None:
    """It cannot pass for a process that nobody's runner started by changing its limits."""
    number = f"82{os.getpid()}"
    program = host.start(shell(f"{before} sleep {number}"))
    assert wait_until(lambda: len(living("sleep", number)) == 1)

    assert is_marked(living("sleep", number)[0])
    assert not is_marked(os.getpid())
    program.close()
