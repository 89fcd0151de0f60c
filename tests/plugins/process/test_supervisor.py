"""The supervisor from within: what it answers, and what it does when nobody hears it or nothing can be written."""

import errno
import io
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.plugins.process.conftest import until

from toolcharter import Denied, Detached, Job, TerminalSize, ToolError
from toolcharter.guards.process import HostProgramRunner, NoRunner
from toolcharter_process import supervised, supervisor, wire
from toolcharter_process.process_table import new_record
from toolcharter_process.state import KeptRecord, ProcessState, Record, socket_name
from toolcharter_process.supervised import CONFIRMED, STARTED, SupervisedProcess, SupervisorSpec, take_notices
from toolcharter_process.supervisor import Supervisor, main, supervise

CONSOLE = TerminalSize(24, 80)


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """A supervisor sets what a process does with signals: here that is the tests'."""
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def state(workspace: Path) -> ProcessState:
    folder = ProcessState(None, workspace).with_fixed_path()
    folder.prepare()
    return folder


@pytest.fixture
def spec(workspace: Path, state: ProcessState) -> Callable[..., SupervisorSpec]:
    """Make the spec of a supervisor for one line of sh."""

    def make(line: str, pattern: str = "", opener: Any = None, max_runtime_s: float = 60.0) -> SupervisorSpec:
        record = new_record("s", line, CONSOLE)
        record.kept = KeptRecord(owners="h", origin_pid=os.getpid(), origin_started="1")
        job = Job(("sh", "-c", line), env={"PATH": "/usr/bin:/bin"})
        detached = Detached(opener or partial(HostProgramRunner, workspace), job, CONSOLE)
        return SupervisorSpec(record, state, detached, pattern, 10_000, max_runtime_s)

    return make


@pytest.fixture
def serving(spec: Callable[..., SupervisorSpec]) -> Iterator[Callable[..., SupervisedProcess]]:
    """Have a supervisor serve, in a thread of ours."""
    served: list[tuple[Supervisor, threading.Thread]] = []

    def serve(line: str, **more: Any) -> SupervisedProcess:
        one = spec(line, **more)
        found = Supervisor(one)
        thread = threading.Thread(target=found.serve)
        thread.start()
        served.append((found, thread))
        return SupervisedProcess(one.record.model_copy(deep=True), one.state)

    yield serve
    for one, thread in served:
        one.end()
        thread.join()


def test_a_supervisor_answers_what_calls_ask(serving: Callable[..., SupervisedProcess]) -> None:
    """Each method is one question; none waits for the process."""
    process = serving("stty -echo; echo begun; read x; echo got $x; sleep 60", pattern="begun")
    until(lambda: process.list_watches() == [{"watch": "w1", "pattern": "begun"}])
    [notice] = until(lambda: process.notices()[0])

    assert notice["text"] == "begun"
    assert (process.watch(""), process.unwatch("w1"), process.unwatch("w9"), process.unwatch("")) == (
        "w2",
        True,
        False,
        True,
    )
    assert process.write(b"one\n", time.monotonic() + 5) == 4
    process.mark_free()
    process.refresh()
    process.signal(signal.SIGCONT)
    process.terminate("because")
    process.wait_for_end(60)

    kept = process.record.kept
    assert kept is not None
    assert (process.record.ended, process.record.exit_code, kept.is_free) == ("killed", -15, True)


def test_what_nobody_reads_is_not_waited_for_without_end(serving: Callable[..., SupervisedProcess]) -> None:
    """The writer learns how much was taken."""
    process = serving("stty raw -echo; echo ready; sleep 60", pattern="ready")
    until(lambda: process.notices()[0])

    assert process.write(b"x" * 60_000, time.monotonic() + 0.3) < 60_000


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"do": "fly"}, id="unknown"),
        pytest.param({"do": []}, id="no name"),
        pytest.param({"do": "write", "data": "?"}, id="no base64"),
        pytest.param({"do": "write", "data": 7}, id="no text"),
        pytest.param({"do": "signal", "number": 4000}, id="no signal"),
        pytest.param({"do": "watch", "pattern": "("}, id="no pattern"),
        pytest.param({"do": "end"}, id="no reason"),
    ],
)
def test_a_question_without_sense_is_refused(serving: Callable[..., SupervisedProcess], asked: dict[str, Any]) -> None:
    """And the next one answered."""
    process = serving("sleep 60")
    path = process._state.path(socket_name(process.record.handle))

    assert "error" in wire.ask(path, os.getpid(), asked)

    assert process.list_watches() == []


def test_a_refusal_is_told(serving: Callable[..., SupervisedProcess]) -> None:
    """As the error of the call."""
    process = serving("sleep 60")

    with pytest.raises(ToolError, match="refuses: ValueError"):
        process.signal(4000)


@pytest.mark.parametrize("said", [b"", b"\n", b"{\n", b"[]\n", b"\xff\n"])
def test_who_says_nothing_of_sense_gets_no_answer(serving: Callable[..., SupervisedProcess], said: bytes) -> None:
    """And keeps nobody else waiting for long."""
    process = serving("sleep 60")
    with socket.socket(socket.AF_UNIX) as connection:
        with wire._short_name(process._state.path(socket_name(process.record.handle))) as name:
            connection.connect(name)
        connection.sendall(said)
        connection.shutdown(socket.SHUT_WR)

        assert connection.recv(100) == b""

    assert process.list_watches() == []


def test_another_user_is_not_answered(
    serving: Callable[..., SupervisedProcess], state: ProcessState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is one believed who listens in a supervisor's place."""
    process = serving("sleep 60")
    path = state.path(socket_name(process.record.handle))
    with pytest.raises(wire.WrongPeer, match="another process"):
        wire.ask(path, 1, {"do": "status"})
    with monkeypatch.context() as patch:
        patch.setattr(wire, "is_marked", lambda _: True)
        with pytest.raises(ToolError, match="cannot be reached") as caught:
            process.list_watches()

    assert caught.value.reason == "not_running"


def test_a_place_that_is_taken_is_an_error(tmp_path: Path) -> None:
    """A socket is never put over something else."""
    (tmp_path / "a.sock").touch()

    with pytest.raises(OSError, match="in use"):
        wire.listen(tmp_path / "a.sock")


@pytest.mark.parametrize("line", ["true", "echo x; sleep 60"])
def test_what_nobody_has_heard_of_does_not_go_on(spec: Callable[..., SupervisorSpec], line: str) -> None:
    """A harness that dies before its call is answered leaves nothing."""
    one, answers = spec(line), io.BytesIO()

    supervise(one, io.BytesIO(b""), answers)

    assert answers.getvalue() == STARTED
    assert list(one.state.path("").iterdir()) == []


def test_what_somebody_has_heard_of_goes_on(spec: Callable[..., SupervisorSpec]) -> None:
    """To its end, which is remembered, also if the harness hears no more."""
    one = spec("exit 4", pattern="never")
    reader, writer = os.pipe()
    os.close(reader)

    supervise(one, io.BytesIO(CONFIRMED), os.fdopen(writer, "wb", buffering=0))

    record = one.state.load(one.record.handle)
    assert record is not None
    assert (record.ended, record.exit_code) == ("exited", 4)
    assert not one.state.path(socket_name(record.handle)).exists()


@pytest.mark.parametrize(
    ("opener", "reason"),
    [
        pytest.param(NoRunner, "sandbox_unavailable", id="denied"),
        pytest.param(None, "program_not_found", id="error"),
    ],
)
def test_why_nothing_was_started_is_told(spec: Callable[..., SupervisorSpec], opener: Any, reason: str) -> None:
    """And nothing is remembered."""
    one, answers = spec("true", opener=opener), io.BytesIO()
    if opener is None:
        job = Job(("no-such-program",))
        one = one._replace(detached=Detached(one.detached.opener, job, CONSOLE))

    supervise(one, io.BytesIO(CONFIRMED), answers)

    failure = supervised._parse_failure(answers.getvalue())
    assert (isinstance(failure, Denied), failure.reason) == (opener is not None, reason)
    assert list(one.state.path("").iterdir()) == []


def test_a_state_folder_that_is_gone_is_told(spec: Callable[..., SupervisorSpec]) -> None:
    """Nothing is started that could not be found again."""
    one, answers = spec("true"), io.BytesIO()
    one.state.path("").rmdir()

    supervise(one, io.BytesIO(CONFIRMED), answers)

    assert supervised._parse_failure(answers.getvalue()).reason == "state_unavailable"


def test_an_end_is_written_as_soon_as_it_can_be(
    spec: Callable[..., SupervisorSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk loses nothing but output, if there is room again in time; else the end is lost."""
    save, tries = ProcessState.save, list[str]()

    def full(folder: ProcessState, record: Record) -> None:
        if record.ended:
            tries.append(record.handle)
            if len(tries) < 4:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        save(folder, record)

    monkeypatch.setattr(ProcessState, "save", full)
    one, other = spec("exit 4"), spec("exit 5")
    supervise(one, io.BytesIO(CONFIRMED), io.BytesIO())
    monkeypatch.setattr(supervisor, "LINGER_S", 0.0)
    tries.clear()
    supervise(other, io.BytesIO(CONFIRMED), io.BytesIO())

    found = [one.state.load(each.record.handle) for each in (one, other)]
    assert [record and record.exit_code for record in found] == [4, None]


def test_notices_of_what_nobody_can_be_asked_are_not_lost(
    state: ProcessState, spec: Callable[..., SupervisorSpec]
) -> None:
    """They wait in the record; of one whose process lives and does not answer there may be more."""
    record = spec("true").record
    assert take_notices(state, record) == (([], 0), False)
    record.harness_started = "1"
    assert record.kept is not None
    assert take_notices(state, record) == (([], 0), True)
    notice = {"handle": record.handle, "watch": "w1", "event": "exit", "text": "x"}
    record.kept.notices, record.kept.notices_dropped = [notice], 2

    assert take_notices(state, record) == (([notice], 2), True)

    assert take_notices(state, record) == (([], 0), True)
    with pytest.raises(ToolError, match="does not exist any more"):
        SupervisedProcess(record, state).list_watches()


@pytest.mark.parametrize(
    ("script", "left_s", "said"),
    [
        pytest.param("exec head -c 10 >/dev/null", 60, "did not start", id="ends"),
        pytest.param("exec <&-; sleep 0.2", 60, "did not start", id="does not listen"),
        pytest.param("cat >/dev/null", 1.5, "in time", id="says nothing"),
    ],
)
def test_a_supervisor_that_does_not_come_up_is_an_error(
    spec: Callable[..., SupervisorSpec], monkeypatch: pytest.MonkeyPatch, script: str, left_s: float, said: str
) -> None:
    """Whatever became of it."""

    def launched() -> "subprocess.Popen[bytes]":
        return subprocess.Popen(["/bin/sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    monkeypatch.setattr(supervised, "_launch_supervisor", launched)

    asked = spec("true" + " " * (200_000 if "exec <" in script else 0))
    with pytest.raises(ToolError, match=said):
        supervised.start_supervisor(asked, time.monotonic() + left_s)


def test_a_supervisor_is_nobodys_child(spec: Callable[..., SupervisorSpec], monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that was started ends, and its child goes on."""
    done: list[tuple[Any, ...]] = []
    monkeypatch.setattr(supervisor, "supervise", lambda *args: done.append(args))
    for child in (0, 7):
        stream = io.BytesIO(pickle.dumps(spec("true")))
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
        monkeypatch.setattr(os, "fork", lambda child=child: child)
        monkeypatch.setattr(os, "_exit", sys.exit)
        if child:
            with pytest.raises(SystemExit):
                main()
        else:
            main()

    assert [args[0].record.command for args in done] == ["true"]
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
