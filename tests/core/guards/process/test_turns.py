"""No more programs at a time than there is room for; the others wait."""

import resource
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.core.guards.process.conftest import job, shell, wait_until

from toolcharter.errors import ToolError
from toolcharter.guards.process import HostProgramRunner, turns
from toolcharter.guards.process.turns import MAX_PROGRAMS, Turns, max_programs


def test_programs_wait_for_their_turn(host: HostProgramRunner, workspace: Path) -> None:
    """With room for two, never are there three."""
    host._turns = Turns(2)
    script = "mkdir run.$0; ls -d run.* | wc -l; sleep 0.05; rmdir run.$0"

    def count(name: int) -> int:
        return int(host.run(job("sh", "-c", script, str(name))).stdout)

    with ThreadPoolExecutor(8) as pool:
        counts = set(pool.map(count, range(8)))

    assert counts <= {1, 2}
    assert list(workspace.iterdir()) == []


@pytest.mark.parametrize(
    ("seconds", "is_wanted"),
    [pytest.param(0.05, True, id="its time is up"), pytest.param(30, False, id="nobody wants it any more")],
)
def test_a_program_whose_turn_does_not_come_is_not_started(
    host: HostProgramRunner, workspace: Path, monkeypatch: pytest.MonkeyPatch, *, seconds: float, is_wanted: bool
) -> None:
    """The error says why, and the turn of the other is still its own."""
    monkeypatch.setattr(turns, "_BEAT_S", 0.01)
    host._turns = Turns(1)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(host.run, shell("touch begun; while [ ! -e end ]; do sleep 0.01; done; echo first"))
        assert wait_until((workspace / "begun").exists)

        began = time.monotonic()
        with pytest.raises(ToolError, match="none ended in time") as caught:
            host.run(job("touch", "second", seconds=seconds, is_wanted=lambda: is_wanted))

        assert (caught.value.reason, caught.value.retryable) == ("timed_out", True)
        assert time.monotonic() - began < 30
        (workspace / "end").touch()
        assert first.result(60).stdout == b"first\n"
    assert host.run(job("ls")).stdout == b"begun\nend\n"


def test_a_turn_ends_with_a_failure(host: HostProgramRunner) -> None:
    """Or soon none would be left."""
    host._turns = Turns(1)

    for _ in range(3):
        with pytest.raises(ToolError, match="not installed"):
            host.run(job("no-such-program"))

    assert host.run(job("echo", "x")).stdout == b"x\n"


@pytest.mark.parametrize(
    ("soft", "most"),
    [
        pytest.param(resource.RLIM_INFINITY, MAX_PROGRAMS, id="no limit"),
        pytest.param(1_048_576, MAX_PROGRAMS, id="more than are of use"),
        pytest.param(1024, 56, id="the usual one"),
        pytest.param(100, 1, id="next to none"),
    ],
)
def test_there_are_as_many_turns_as_descriptors_allow(monkeypatch: pytest.MonkeyPatch, soft: int, most: int) -> None:
    """At least one, that each program has its turn."""

    def getrlimit(_kind: int) -> tuple[int, int]:
        return soft, soft

    monkeypatch.setattr(resource, "getrlimit", getrlimit)

    assert max_programs() == most


def test_a_turn_that_ends_is_anothers() -> None:
    """Who waits is woken."""
    one, entered = Turns(1), threading.Event()

    def enter() -> None:
        with one.wait_for_turn(job("second")):
            entered.set()

    with ThreadPoolExecutor(1) as pool:
        with one.wait_for_turn(job("first")):
            waiting = pool.submit(enter)
            assert not entered.wait(0.1)
        waiting.result(60)

    assert entered.is_set()
