"""`ComputePool`, with real processes."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import until

from toolcharter.errors import ToolError
from toolcharter.guards.compute import MAX_WORKERS, ComputePool
from toolcharter.guards.compute.pool import MAX_ANSWER_BYTES

pytestmark = pytest.mark.slow

HERE = Path(__file__).resolve().parent
FAR = 120.0
"""Seconds that no test takes on any machine, but for one that hangs."""
Ask = Callable[..., Any]


@pytest.fixture(autouse=True)
def _found_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))


@pytest.fixture
def pool() -> Iterator[ComputePool]:
    pool = ComputePool(lambda: sys.path)
    yield pool
    pool.close()


@pytest.fixture
def ask(pool: ComputePool) -> Ask:
    """Has a worker call a function of `worker_functions`."""

    def run(
        function: str,
        *args: Any,
        within_s: float = FAR,
        cpu_s: float = 60,
        memory_bytes: int = 512_000_000,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> Any:
        return pool(
            f"worker_functions:{function}",
            args,
            expires=time.monotonic() + within_s,
            is_wanted=is_wanted,
            cpu_s=cpu_s,
            memory_bytes=memory_bytes,
        )

    return run


def is_gone(pid: int) -> bool:
    """Whether the process has ended, soon."""
    until = time.monotonic() + FAR
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}:
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize(
    "value",
    ["", "text", "\ud800 \x00 \u2028", 0, -1.5, True, None, [], {}, {"a": [1, {"b": None}]}, "x" * 3_000_000],
    ids=lambda value: repr(value)[:20],
)
def test_values_arrive_as_they_were(ask: Ask, value: Any) -> None:
    """Whatever JSON can say goes to a worker and comes back unchanged, lone surrogates and long texts included."""
    assert ask("echo_args", value, value) == [value, value]


def test_a_worker_serves_one_call_after_another(ask: Ask, pool: ComputePool) -> None:
    """The first call starts a worker, and the next ones find it there."""
    first = ask("process_id")

    assert [ask("process_id"), ask("process_id"), *pool.pids()] == [first, first, first]
    assert first != os.getpid()


def test_a_large_parent_makes_no_worker_large(ask: Ask) -> None:
    """The kernel tells a program the peak of the process that started it, too; workers are kept all the same."""
    ballast = bytearray(b"x") * 400_000_000

    assert len({ask("process_id") for _ in range(3)}) == 1
    assert len(ballast) == 400_000_000


def test_a_worker_is_replaced_in_time(ask: Ask) -> None:
    """A worker serves a bounded number of calls."""
    assert len({ask("process_id") for _ in range(201)}) == 2


def test_the_lock_of_a_worker_stops_nobody_else(ask: Ask) -> None:
    """While a parser holds its interpreter's lock, other threads go on, other parsers work, and the call ends on time."""
    steps = 0
    ended = threading.Event()

    def others() -> None:
        nonlocal steps
        while not ended.is_set():
            ask("echo_args", 1)
            steps += 1

    thread = threading.Thread(target=others)
    thread.start()
    try:
        for within_s in (2, 20, 60):  # A busy machine may need the first seconds to start the workers.
            before = steps
            with pytest.raises(ToolError) as caught:
                ask("hold_the_lock", 3600, within_s=within_s)
            made = steps - before
            if made > 3:
                break
    finally:
        ended.set()
        thread.join()

    assert (caught.value.reason, caught.value.retryable) == ("timed_out", True)
    assert made > 3


@pytest.mark.parametrize(("function", "args"), [("burn", ()), ("burn_in_c", (60_000_000,))])
def test_processor_time_is_bounded(ask: Ask, function: str, args: tuple[Any, ...]) -> None:
    """A worker that uses up its processor time ends, in whatever code it is, long before the call's own time."""
    with pytest.raises(ToolError) as caught:
        ask(function, *args, cpu_s=1)

    assert (caught.value.reason, caught.value.message, caught.value.retryable) == (
        "timed_out",
        f"worker_functions:{function} took more than 1 s of processor time for this input.",
        False,
    )


def test_processor_time_counts_for_each_call(ask: Ask) -> None:
    """What earlier calls have used is not taken from a later one."""
    for _ in range(3):
        with pytest.raises(ToolError):
            ask("fail")
    assert ask("echo_args", cpu_s=1) == []


def test_memory_is_bounded(ask: Ask) -> None:
    """A worker that asks for more memory than it may have fails with a reason and is replaced."""
    first = ask("process_id")

    with pytest.raises(ToolError) as caught:
        ask("allocate", 600_000_000)

    assert (caught.value.reason, caught.value.message) == (
        "tool_error",
        "worker_functions:allocate needs more than 512 MB of memory for this input.",
    )
    assert ask("allocate", 100_000_000) == 100_000_000
    assert ask("process_id") != first


def test_each_call_has_its_own_limit_of_memory(ask: Ask) -> None:
    """A worker may take more for one call than for the one before."""
    with pytest.raises(ToolError):
        ask("allocate", 300_000_000, memory_bytes=200_000_000)

    assert ask("allocate", 300_000_000, memory_bytes=900_000_000) == 300_000_000


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("crash", "worker_functions:crash ended by signal 11 while it read this input."),
        ("exit_process", "worker_functions:exit_process ended without an answer while it read this input."),
    ],
)
def test_a_crash_is_an_error_of_the_call(ask: Ask, function: str, message: str) -> None:
    """A worker that dies takes nobody with it; the call says so and the next one works."""
    with pytest.raises(ToolError) as caught:
        ask(function)

    assert (caught.value.reason, caught.value.message) == ("tool_error", message)
    assert ask("echo_args", 1) == [1]


def test_errors_of_a_tool_arrive_whole(ask: Ask) -> None:
    """A `ToolError` of the function is one of the caller, with reason, hint and whether to try again."""
    with pytest.raises(ToolError) as caught:
        ask("refuse")

    error = caught.value
    assert (error.message, error.reason, error.hint, error.retryable) == (
        "This is no page.",
        "no_html",
        "Try another.",
        True,
    )


@pytest.mark.parametrize(
    ("function", "args", "said"),
    [
        ("fail", (), "worker_functions:fail failed: KeyError: 'of a stranger'"),
        (
            "missing",
            (),
            "worker_functions:missing failed: AttributeError: module 'worker_functions' has no attribute 'missing'",
        ),
        ("no_json", (), "the function returned a value that is not JSON"),
        ("nested_lists", (100_000,), "the function returned a value that is not JSON"),
    ],
)
def test_other_errors_are_unexpected(ask: Ask, function: str, args: tuple[Any, ...], said: str) -> None:
    """Any other exception, and an answer that is no JSON, is an `unexpected_failure` that says what it was."""
    with pytest.raises(ToolError) as caught:
        ask(function, *args)

    assert caught.value.reason == "unexpected_failure"
    assert said in caught.value.message


def test_an_answer_is_bounded(ask: Ask) -> None:
    """What a worker may send has a limit, whatever it announces."""
    with pytest.raises(ToolError) as caught:
        ask("long_text", MAX_ANSWER_BYTES + 1, memory_bytes=2_000_000_000)

    assert caught.value.reason == "unexpected_failure"
    assert ask("echo_args", 1) == [1]


def test_noise_is_no_answer(ask: Ask) -> None:
    """What a parser prints, by whatever stream, does not get between the answers."""
    assert [ask("write_to_streams"), ask("echo_args", 1)] == ["said", [1]]


@pytest.mark.parametrize("name", ["os", "os.path", "os:", ":system", "os:path.join", "../x:y", "os:system\n", "a b:c"])
def test_a_function_is_named_in_one_form(pool: ComputePool, name: str) -> None:
    """What does not read `package.module:name` is the plugin's mistake."""
    with pytest.raises(ValueError, match="does not name a function"):
        pool(name, (), expires=FAR, is_wanted=lambda: True, cpu_s=1, memory_bytes=1)


def test_a_worker_gets_a_clean_environment(ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Variables, current folder and a search path with the workspace in it stay with the parent; no file is written."""
    monkeypatch.setenv("SOME_TOKEN", "value")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "json.py").write_text("raise SystemExit('imported from the workspace')")
    target = tmp_path / "written"

    found = ask("process_environment")

    assert sorted(found["environment"]) == ["HOME", "LANG", "LC_ALL", "PATH"]
    assert found["cwd"] == "/"
    assert found["path"] == sys.path  # what the pool was told
    assert ask("write", str(target)) == "OSError"
    assert target.read_bytes() == b""


def test_more_callers_than_workers_take_turns(ask: Ask) -> None:
    """Every caller is served, by no more processes than there are workers."""
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(ask("process_id"))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 12
    assert len(set(found)) <= MAX_WORKERS


def test_waiting_for_a_turn_ends_on_time(ask: Ask, pool: ComputePool) -> None:
    """A caller that finds all workers at work waits no longer than its own time."""
    wanted = threading.Event()
    wanted.set()
    busy = [
        threading.Thread(target=_quietly, args=(lambda: ask("hold_the_lock", 3600, is_wanted=wanted.is_set),))
        for _ in range(MAX_WORKERS)
    ]
    for thread in busy:
        thread.start()
    until(lambda: pool._free_workers._value == 0)

    with pytest.raises(ToolError) as caught:
        ask("echo_args", within_s=0.2)
    wanted.clear()
    for thread in busy:
        thread.join()

    assert caught.value.reason == "timed_out"
    assert ask("echo_args", 1) == [1]


def _quietly(run: Callable[[], Any]) -> None:
    with suppress(ToolError):
        run()


def test_what_nobody_wants_is_ended(ask: Ask) -> None:
    """A parser whose call has been given up is killed, though the call had time left."""
    with pytest.raises(ToolError) as caught:
        ask("hold_the_lock", 3600, is_wanted=lambda: False)

    assert caught.value.reason == "timed_out"


def test_closing_ends_the_workers(ask: Ask, pool: ComputePool) -> None:
    """After `close` no worker is left, and none is started."""
    pid = ask("process_id")

    pool.close()

    assert is_gone(pid)
    with pytest.raises(ToolError) as caught:
        ask("process_id")
    assert (caught.value.reason, caught.value.message) == ("cancelled", "The toolbox is closed.")


_PARENT = """
import sys, time
sys.path.insert(0, {here!r})
from pathlib import Path
from toolcharter.guards.compute import ComputePool
pool = ComputePool(lambda: sys.path)
def ask(name, *args):
    return pool("worker_functions:" + name, args, expires=time.monotonic() + 3600, is_wanted=lambda: True, cpu_s=3600,
                memory_bytes=512_000_000)
print(ask("process_id"), flush=True)
{then}
"""


@pytest.mark.parametrize(
    ("then", "number"),
    [
        ("time.sleep(3600)", signal.SIGKILL),
        ("ask('hold_the_lock', 3600)", signal.SIGKILL),
        ("ask('burn_in_c', 900_000_000)", signal.SIGKILL),
        ("ask('hold_the_lock', 3600)", signal.SIGINT),
        (
            "import threading; t = threading.Thread(target=ask, args=('hold_the_lock', 3600), daemon=True); t.start(); time.sleep(1)",
            None,
        ),
        ("", None),
    ],
    ids=["idle, killed", "locked, killed", "burning, killed", "locked, Ctrl-C", "locked, ended", "idle, ended"],
)
def test_a_worker_dies_with_its_parent(then: str, number: int | None) -> None:
    """However the parent ends, and whatever the worker is doing then, no worker is left; Ctrl-C ends a waiting parent."""
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT.format(here=str(HERE), then=then)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        if number is not None:
            time.sleep(0.5)
            parent.send_signal(number)
        parent.wait(FAR)

    assert is_gone(worker)


def test_a_fork_has_workers_of_its_own(ask: Ask, pool: ComputePool) -> None:
    """A child that was forked from a process with workers starts others, and leaves the parent's alone when it ends."""
    before = ask("process_id")
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:  # pragma: no cover - in another process
        try:
            os.write(writing, str(ask("process_id")).encode())
            pool.close()
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answers:
        theirs = int(answers.read())
    os.waitpid(child, 0)

    assert theirs != before
    assert ask("process_id") == before
    assert is_gone(theirs)
