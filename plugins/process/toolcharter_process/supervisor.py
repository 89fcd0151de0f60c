"""The supervisor of a kept process: starts it, reads its output, answers requests, and ends it when its time is up.

A supervisor is a separate process with its own runner, and belongs to no toolbox. If it is killed, its program ends, as
the programs of a harness end with the harness. It exits when its program has ended.
"""

import base64
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from types import FrameType
from typing import IO, Any

from toolcharter import Denied, ToolError
from toolcharter_process import wire
from toolcharter_process.managed import ManagedProcess
from toolcharter_process.output_loop import OutputLoop
from toolcharter_process.state import KeptRecord, Log, Record, process_started, socket_name, unavailable
from toolcharter_process.supervised import CONFIRMED, STARTED, SupervisorSpec, failure_line
from toolcharter_process.watches import Notices

BEAT_S = 0.1
"""How long it waits for a request before it checks whether the process has ended, in seconds."""
LINGER_S = 60.0
"""How long it tries to record how the process ended, for example on a full disk, in seconds."""
_ENDINGS = frozenset({"killed", "closed"})


class Supervisor:
    """Supervises one process. Not thread-safe.

    Raises:
        Denied: As the runner.
        ToolError: As the runner; `state_unavailable`. No process and no record is left then.
    """

    def __init__(self, spec: SupervisorSpec) -> None:
        self._state = spec.state
        self._record = spec.record
        self._record.harness_pid = os.getpid()
        self._record.harness_started = process_started(os.getpid())
        self._notices = Notices()
        self._is_told_to_end = False
        self._stack = ExitStack()
        try:
            self._process = self._begin(spec)
        except BaseException:
            self._stack.close()
            self._state.forget(self._record.handle)
            raise

    def end(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """Request the end of the process; may be called as a signal handler."""
        self._is_told_to_end = True

    def forget(self) -> None:
        """End the process and remove its record, because no caller knows of it."""
        self._shut_down()
        self._state.forget(self._record.handle)

    def serve(self) -> None:
        """Answer requests until the process has ended and its end is recorded."""
        while not self._process.has_ended.is_set():
            if self._is_told_to_end:
                self._process.terminate("closed")
            self._answer_one()
        give_up = time.monotonic() + LINGER_S
        while not self._save_end() and time.monotonic() < give_up:
            self._answer_one()
        self._shut_down()

    def _begin(self, spec: SupervisorSpec) -> ManagedProcess:
        path = self._state.path(socket_name(self._record.handle))
        try:
            self._server = self._stack.enter_context(wire.listen(path))
            self._server.settimeout(BEAT_S)
            self._state.save(self._record)
            log = Log(self._state.path(f"{self._record.handle}.log"), spec.max_log_bytes)
        except OSError as error:
            raise unavailable(f"{error.strerror}") from error
        self._stack.callback(log.close)
        runner, running = spec.detached.start()
        self._stack.callback(runner.close)
        process = ManagedProcess(running, self._record, self._state, log, self._notices)
        process.expires = time.monotonic() + spec.max_runtime_s
        if spec.pattern:
            process.watch(spec.pattern)
        output_loop = OutputLoop()
        self._stack.callback(output_loop.close)
        output_loop.add(process)
        return process

    def _shut_down(self) -> None:
        """End the process, close the socket, and remove it."""
        self._stack.close()
        with suppress(OSError):
            self._state.path(socket_name(self._record.handle)).unlink()

    def _save_end(self) -> bool:
        """Save the end with the notices that no session has taken; return whether that succeeded."""
        kept = _kept_record(self._record)
        told, dropped = self._notices.take()
        kept.notices = [*kept.notices, *told]
        kept.notices_dropped += dropped
        try:
            self._state.save(self._record)
        except OSError:
            return False
        return True

    def _answer_one(self) -> None:
        with suppress(OSError):
            connection, request = wire.accept(self._server)
            wire.answer(connection, self._answer(request))

    def _answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self._answers[request["do"]](request)
        except (KeyError, TypeError, ValueError, OSError, ToolError) as error:
            return {"error": f"{type(error).__name__}: {error}"}

    @property
    def _answers(self) -> Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]:
        return {
            "status": self._status,
            "write": self._write,
            "signal": self._signal,
            "end": self._end,
            "watch": lambda request: {"watch": self._process.watch(request["pattern"])},
            "unwatch": lambda request: {"found": self._process.unwatch(request["watch"])},
            "notices": self._take_notices,
            "free": self._mark_free,
        }

    def _status(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"log_lost": self._record.log_lost, "watches": self._process.list_watches()}

    def _write(self, request: Mapping[str, Any]) -> dict[str, Any]:
        # The client sends the rest again, so that the supervisor never waits for a slow reader.
        return {"taken": self._process.write(base64.b64decode(request["data"], validate=True), 0.0)}

    def _signal(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self._process.signal(signal.Signals(request["number"]))
        return {}

    def _end(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self._process.terminate(request["why"] if request["why"] in _ENDINGS else "killed")
        return {}

    def _take_notices(self, _: Mapping[str, Any]) -> dict[str, Any]:
        notices, dropped = self._notices.take()
        return {"notices": notices, "dropped": dropped}

    def _mark_free(self, _: Mapping[str, Any]) -> dict[str, Any]:
        self._process.update_record(_set_free)
        return {}


def _kept_record(record: Record) -> KeptRecord:
    assert record.kept is not None  # noqa: S101 - supervisors have only kept processes; for the type checkers
    return record.kept


def _set_free(record: Record) -> None:
    _kept_record(record).is_free = True


def supervise(spec: SupervisorSpec, orders: IO[bytes], answers: IO[bytes]) -> None:
    """Start the process of *spec*, report on *answers* that it runs or why not, and serve.

    If *orders* does not confirm that the caller knows of the process, end it instead.
    """
    try:
        supervisor = Supervisor(spec)
    except (Denied, ToolError) as error:
        _send_line(answers, failure_line(error))
        return
    signal.signal(signal.SIGTERM, supervisor.end)
    _send_line(answers, STARTED)
    if orders.readline() == CONFIRMED:
        answers.close()
        supervisor.serve()
    else:
        supervisor.forget()


def _send_line(answers: IO[bytes], line: bytes) -> None:
    with suppress(BrokenPipeError):
        answers.write(line)
        answers.flush()


def main() -> None:
    """Read a spec from the harness, and supervise its process as a child of the system's first process."""
    spec = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own process, over our own pipe
    if os.fork():
        os._exit(0)  # our parent waits for this process; init reaps the child
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    supervise(spec, sys.stdin.buffer, sys.stdout.buffer)
