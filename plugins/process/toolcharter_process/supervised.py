"""The toolbox's side of processes that outlive their session. Each has a supervisor, which is a process of its own."""

import base64
import json
import os
import pickle
import select
import subprocess
import time
from contextlib import suppress
from typing import Any, NamedTuple

from toolcharter import Denied, Detached, ToolError, python_command
from toolcharter_process.policy import ProcessReason
from toolcharter_process.state import ProcessState, Record, socket_name
from toolcharter_process.watches import Notice, compile_pattern
from toolcharter_process.wire import ask

POLL_S = 0.02
CONFIRMED = b"go on\n"
"""Sent to a supervisor once its answer has arrived; without it, the supervisor ends what it has started."""
EXIT_WAIT_S = 2.0
"""How long a supervisor that no longer answers may take to record its process's end, in seconds."""
START_S = 30.0
"""How long a supervisor may take to start, in seconds."""
STARTED = b"started\n"
_MAIN = "from toolcharter_process.supervisor import main; main()"
_MOST_AT_ONCE = 65_536


class SupervisorSpec(NamedTuple):
    """The process that a supervisor starts, and its limits."""

    record: Record
    state: ProcessState
    detached: Detached
    pattern: str
    max_log_bytes: int
    max_runtime_s: float


class SupervisedProcess:
    """A process that has a supervisor. It has the methods of `ManagedProcess` that calls use.

    Raises:
        ToolError: From each method except `wait_for_end`: `not_running`, if the supervisor cannot be reached.
    """

    def __init__(self, record: Record, state: ProcessState) -> None:
        self.record = record
        self._state = state

    def refresh(self) -> None:
        """Update the record with facts that only the supervisor knows so far."""
        told = self._ask_or_see_end("status")
        self.record.log_lost = bool(told.get("log_lost", self.record.log_lost))

    def wait_for_end(self, timeout_s: float) -> None:
        """Wait until the record holds the process's end, the supervisor is gone, or *timeout_s* is over."""
        until = time.monotonic() + timeout_s
        while self.record.ended is None and self.record.has_owner() and time.monotonic() < until:
            time.sleep(POLL_S)
            self.record = self._state.load(self.record.handle) or self.record

    def signal(self, number: int) -> None:
        """Send a signal to the process and all that it started."""
        self._ask("signal", number=int(number))

    def terminate(self, why: str) -> None:
        """Ask the supervisor to end the process."""
        self._ask_or_see_end("end", why=why)

    def write(self, data: bytes, until: float) -> int:
        """Write *data* to its input, waiting no longer than *until*; return how many bytes it took."""
        left = data
        while left:
            taken = self._ask("write", data=base64.b64encode(left).decode()).get("taken", 0)
            left = left[taken:]
            if not taken:
                if time.monotonic() > until:
                    break
                time.sleep(POLL_S)
        return len(data) - len(left)

    def watch(self, pattern: str) -> str:
        """Add a watch; raises as `Watches.add`."""
        compile_pattern(pattern)
        return str(self._ask("watch", pattern=pattern)["watch"])

    def unwatch(self, name: str) -> bool:
        """Remove a watch, or all watches if *name* is empty; return whether there was such a watch."""
        return bool(self._ask("unwatch", watch=name)["found"])

    def list_watches(self) -> list[dict[str, str]]:
        """Return its watches; none if it has ended."""
        found: list[dict[str, str]] = self._ask_or_see_end("status").get("watches", [])
        return found

    def notices(self) -> tuple[list[Notice], int]:
        """Take the notices since the last call of this method, and how many were dropped."""
        told = self._ask("notices")
        return told["notices"], told["dropped"]

    def mark_free(self) -> None:
        """Notify the supervisor that the toolbox is being closed."""
        self._ask("free")

    def _ask_or_see_end(self, what: str, **more: Any) -> dict[str, Any]:
        """Return the answer; empty if the process has ended: its supervisor exits once it has recorded the end."""
        try:
            return self._ask(what, **more)
        except ToolError:
            self.wait_for_end(EXIT_WAIT_S)
            self.record = self._state.load(self.record.handle) or self.record
            if self.record.ended is None:
                raise
            return {}

    def _ask(self, what: str, **more: Any) -> dict[str, Any]:
        record = self.record
        # The process number may be reused by now, and another process must not be asked.
        if not record.has_owner():
            raise ToolError(f"The process {record.handle!r} does not exist any more.", reason=ProcessReason.NOT_RUNNING)
        path = self._state.path(socket_name(record.handle))
        try:
            told = ask(path, record.harness_pid, {"do": what, **more})
        except OSError as error:
            message = f"The process {record.handle!r} runs, but its supervisor cannot be reached: {error}."
            raise ToolError(message, reason=ProcessReason.NOT_RUNNING) from error
        if "error" in told:
            raise ToolError(f"The supervisor of {record.handle!r} refuses: {told['error']}.", retryable=False)
        return told


def take_notices(state: ProcessState, record: Record) -> tuple[tuple[list[Notice], int], bool]:
    """Take the notices of a kept process, and whether these are its last."""
    if record.has_owner():
        try:
            return SupervisedProcess(record, state).notices(), False
        except ToolError:
            return ([], 0), False
    kept = record.kept
    if kept is None or not (kept.notices or kept.notices_dropped):
        return ([], 0), True
    told = kept.notices, kept.notices_dropped
    kept.notices, kept.notices_dropped = [], 0
    state.save(record)
    return told, True


def start_supervisor(spec: SupervisorSpec, deadline: float) -> None:
    """Start a supervisor for *spec*; its program is running when this returns.

    Raises:
        Denied: As the runner in the supervisor.
        ToolError: As the runner; `state_unavailable`; `timed_out`, at *deadline*, on `time.monotonic`'s clock;
            `tool_error`, if the supervisor does not start. No program is left running then.
    """
    said = b""
    with suppress(BrokenPipeError), _launch_supervisor() as process:
        try:
            said = _confirm_start(process, spec, deadline)
        finally:
            # The launcher is not needed any more. The supervisor ends its program if it has not read CONFIRMED by now.
            process.kill()
    if said != STARTED:
        raise _parse_failure(said)


def _confirm_start(process: "subprocess.Popen[bytes]", spec: SupervisorSpec, deadline: float) -> bytes:
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None  # noqa: S101 - `_launch_supervisor` makes the pipes; for the type checkers
    assert stdout is not None  # noqa: S101 - as above
    stdin.write(pickle.dumps(spec))
    stdin.flush()
    said = _answer(stdout.fileno(), min(deadline, time.monotonic() + START_S))
    if said == STARTED:
        stdin.write(CONFIRMED)
        stdin.flush()
    return said


def _launch_supervisor() -> "subprocess.Popen[bytes]":
    variables = {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C.UTF-8"}
    return subprocess.Popen(  # noqa: S603 - our own module, by our own Python
        python_command(_MAIN), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/",
        env=variables, start_new_session=True,
    )  # fmt: skip


def _answer(descriptor: int, deadline: float) -> bytes:
    said = b""
    while not said.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            raise ToolError("The supervisor did not start in time.", reason="timed_out", retryable=True)
        if not (piece := os.read(descriptor, _MOST_AT_ONCE)):
            return b""
        said += piece
    return said


def failure_line(error: Denied | ToolError) -> bytes:
    """Encode an error for the supervisor's answer."""
    facts = {"denied": isinstance(error, Denied), "reason": error.reason, "message": error.message, "hint": error.hint}
    return json.dumps(facts).encode() + b"\n"


def _parse_failure(said: bytes) -> Denied | ToolError:
    if not said:
        return ToolError("The supervisor of the process did not start.")
    facts = json.loads(said)
    if facts["denied"]:
        return Denied(facts["reason"], facts["message"], hint=facts["hint"])
    return ToolError(facts["message"], reason=facts["reason"], hint=facts["hint"])
