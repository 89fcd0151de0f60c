"""The actions of the tool: each checks its arguments, then returns a function that does the work."""

import signal
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from toolcharter import Denied, TerminalSize, ToolError, scrub_text
from toolcharter_process.keys import key_bytes
from toolcharter_process.managed import GRACE_S, describe_end
from toolcharter_process.policy import ProcessReason
from toolcharter_process.process_table import ProcessTable, SessionProcess
from toolcharter_process.screen import render_screen, strip_controls
from toolcharter_process.watches import compile_pattern

Action = Literal["spawn", "list", "status", "log", "capture", "send_keys", "write", "kill", "watch", "unwatch"]
Signal = Literal["TERM", "INT", "HUP", "QUIT", "KILL", "USR1", "USR2", "STOP", "CONT", "WINCH"]

INPUT_ACTIONS = frozenset({"send_keys", "write"})
STARTUP_S = 0.15
"""How long `spawn` waits to see whether a process fails at once, in seconds."""
INPUT_S = 5.0
"""How long a process may take to read its input, in seconds."""
MAX_INPUT_BYTES = 65_536


class Request(NamedTuple):
    """The arguments of one call."""

    session: str
    deadline: float
    command: str
    handle: str
    text: str
    keys: str | list[str]
    signal: Signal | None
    lines: int
    pattern: str
    watch: str
    size: TerminalSize


class Answer(NamedTuple):
    """The result of a call: text for the model, and structured data."""

    text: str
    data: dict[str, Any]


Work = Callable[[], Answer]


def spawn(processes: ProcessTable, request: Request) -> Work:
    """Start a command on its own terminal."""
    command = _require_argument("command", request.command)
    processes.require_room(request.session)
    compile_pattern(request.pattern)

    def work() -> Answer:
        process = processes.spawn(request.session, command, request.size, request.pattern)
        process.wait_for_end(STARTUP_S)
        seen = processes.find(request.session, process.record.handle)
        text = f"{_line(seen)}\n{_output(processes, seen, request.lines)}".rstrip("\n")
        return Answer(text, {**seen.describe(), "watches": process.list_watches()})

    return work


def list_processes(processes: ProcessTable, request: Request) -> Work:
    """List the session's processes, latest first."""

    def work() -> Answer:
        found = processes.list_for(request.session)
        text = "\n".join(map(_line, found)) or "There are no processes."
        return Answer(text, {"processes": [seen.describe() for seen in found]})

    return work


def status(processes: ProcessTable, request: Request) -> Work:
    """Report the state of one process."""
    handle = _require_argument("handle", request.handle)

    def work() -> Answer:
        seen = processes.find(request.session, handle)
        watches = seen.live.list_watches() if seen.live else []
        return Answer(_line(seen), {**seen.describe(), "watches": watches})

    return work


def log(processes: ProcessTable, request: Request) -> Work:
    """Show the end of a process's output, as plain text."""
    handle = _require_argument("handle", request.handle)

    def work() -> Answer:
        seen = processes.find(request.session, handle)
        output = _output(processes, seen, request.lines)
        return Answer(f"{_line(seen)}\n{output}", {**seen.describe(), "output": output})

    return work


def capture(processes: ProcessTable, request: Request) -> Work:
    """Show a process's terminal as a person would see it."""
    handle = _require_argument("handle", request.handle)

    def work() -> Answer:
        seen = processes.find(request.session, handle)
        size = TerminalSize(seen.record.rows, seen.record.columns)
        picture = render_screen(_mask_secrets(processes.state.log(handle, processes.policy.max_log_bytes)), size)
        screen = "\n".join(picture.lines)
        cursor = {"row": picture.row, "column": picture.column}
        return Answer(
            f"{_line(seen)}\n{screen}", {**seen.describe(), "screen": screen, "cursor": cursor, **size._asdict()}
        )

    return work


def send_keys(processes: ProcessTable, request: Request) -> Work:
    """Press keys on a process's terminal."""
    _require_input(processes)
    return _input_work(processes, request, key_bytes(request.keys))


def write(processes: ProcessTable, request: Request) -> Work:
    """Type text on a process's terminal."""
    _require_input(processes)
    return _input_work(processes, request, _require_argument("text", request.text).encode(errors="replace"))


def kill(processes: ProcessTable, request: Request) -> Work:
    """End a process and all processes that it started, or send it a signal."""
    handle = _require_argument("handle", request.handle)

    def work() -> Answer:
        if request.signal is not None:
            processes.find_running(request.session, handle).signal(signal.Signals[f"SIG{request.signal}"])
        elif (live := processes.find(request.session, handle).live) is not None:
            live.terminate("killed")
            live.wait_for_end(max(0.0, min(GRACE_S + 2, request.deadline - time.monotonic())))
        seen = processes.find(request.session, handle)
        return Answer(_line(seen), seen.describe())

    return work


def watch(processes: ProcessTable, request: Request) -> Work:
    """Watch a process for lines that match a pattern, or for its end."""
    handle = _require_argument("handle", request.handle)
    compile_pattern(request.pattern)

    def work() -> Answer:
        process = processes.find_running(request.session, handle)
        if len(process.list_watches()) >= processes.policy.max_watches:
            raise ToolError(
                f"There are {processes.policy.max_watches} watches on {handle!r} already.",
                reason=ProcessReason.TOO_MANY_WATCHES,
            )
        name = process.watch(request.pattern)
        what = f"lines that match {request.pattern!r}" if request.pattern else "its end"
        return Answer(f"{name} watches {handle} for {what}; see `notices`.", {"handle": handle, "watch": name})

    return work


def unwatch(processes: ProcessTable, request: Request) -> Work:
    """End one watch, or all watches on a process."""
    handle = _require_argument("handle", request.handle)

    def work() -> Answer:
        process = processes.find_running(request.session, handle)
        if not process.unwatch(request.watch):
            raise ToolError(f"There is no watch {request.watch[:40]!r}.", reason=ProcessReason.UNKNOWN_WATCH)
        return Answer(f"{request.watch or 'Nothing'} watches {handle} no more.", {"watches": process.list_watches()})

    return work


ACTIONS: Mapping[str, Callable[[ProcessTable, Request], Work]] = {
    "spawn": spawn,
    "list": list_processes,
    "status": status,
    "log": log,
    "capture": capture,
    "send_keys": send_keys,
    "write": write,
    "kill": kill,
    "watch": watch,
    "unwatch": unwatch,
}


def _require_argument(name: str, value: str) -> str:
    if not value.strip() and (name != "text" or not value):
        raise ToolError(f"The action needs {name!r}.", reason=ProcessReason.MISSING_ARGUMENT)
    return value


def _require_input(processes: ProcessTable) -> None:
    if not processes.policy.allow_input:
        raise Denied(
            ProcessReason.INPUT_NOT_ALLOWED,
            "The profile does not allow input to processes.",
            hint="Give the command everything that it needs in its arguments; `kill` with signal INT interrupts it.",
        )


def _input_work(processes: ProcessTable, request: Request, data: bytes) -> Work:
    handle = _require_argument("handle", request.handle)
    if len(data) > MAX_INPUT_BYTES:
        raise ToolError(f"The text is longer than {MAX_INPUT_BYTES} bytes.", reason=ProcessReason.INPUT_NOT_TAKEN)

    def work() -> Answer:
        process = processes.find_running(request.session, handle)
        taken = process.write(data, min(time.monotonic() + INPUT_S, request.deadline - 0.5))
        if taken < len(data):
            raise ToolError(
                f"The process took {taken} of {len(data)} bytes.", reason=ProcessReason.INPUT_NOT_TAKEN, retryable=False
            )
        return Answer(f"Sent {taken} bytes to {handle}.", {"handle": handle, "bytes": taken})

    return work


def _line(seen: SessionProcess) -> str:
    record = seen.record
    state = f"ended ({describe_end(record)})" if seen.state == "ended" else seen.state
    return f"{record.handle} {state}: {record.command}"


def _output(processes: ProcessTable, seen: SessionProcess, lines: int) -> str:
    """Return the last *lines* lines of the log. A first line whose beginning is lost is left out."""
    data = processes.state.log(seen.record.handle, processes.policy.max_log_bytes)
    text = scrub_text(strip_controls(data.decode(errors="replace")))[
        0
    ]  # before the cut: a key is recognized by its first line
    shown = text.removesuffix("\n").split("\n")[-lines:]
    return "\n".join(shown)


def _mask_secrets(output: bytes) -> bytes:
    """Return *output* without secrets. A terminal would break a long secret into lines that cannot be recognized."""
    text, count = scrub_text(output.decode(errors="replace"))
    return text.encode() if count else output
