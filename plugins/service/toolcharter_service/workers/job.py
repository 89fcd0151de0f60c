"""What the runner `remote` and its workers tell each other, in keys of the bus. Pure.

A job is an item of the queue `jobs-WORKSPACE`. Its key `claim-ID` is created once, by the worker that starts it or by the
runner that gives it up, so that no program starts twice or after its caller has gone. The lease `job-ID` says that the
worker lives, the lease `caller-RUNNER` that the runner does. `stop-ID` ends the program. The keys `out-ID-0`, `out-ID-1`,
... hold what came of it, the last one how it ended.

A program that goes on is an item of the queue `programs-WORKSPACE`. What it writes is the stream `out` of `pieces`, after
a piece that says it has started; its input is the stream `in`, signals and sizes of its terminal are the stream `ctl`.
"""

import base64
import re
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Literal, NamedTuple

import orjson
from pydantic import BaseModel, ValidationError

from toolcharter import Denied, Ended, HiddenPath, Job, ProcessLimits, TerminalSize, ToolError, bus_name

TOPIC = "jobs"
"""Messages with the identifier of a job of which there is something new."""
WITHDRAWN = b"withdrawn"
"""The claim of a runner that gave its job up."""
CHUNK_BYTES = 262_144
ACK_WAIT_S = 30.0
MAX_DELIVERIES = 3
MAX_LEFT_S = 86_400.0
"""How long a job may run at most, whatever it says, in seconds."""
MAX_LEASE_S = 3_600.0
_ID = re.compile(r"[0-9a-f]{32}")


class RemoteJob(NamedTuple):
    """A job on its way."""

    job_id: str
    job: Job
    """Its time is what is left, from when it is read."""
    hidden: tuple[HiddenPath, ...]
    lease_s: float
    needs_sandbox: bool
    caller: str
    """Of which runner: the program ends when nobody renews its lease."""
    goes_on: bool = False
    terminal: TerminalSize | None = None


def queue_name(workspace: str, *, goes_on: bool = False) -> str:
    """The queue of the jobs in *workspace* that run to their end, or of those that go on."""
    return bus_name(f"{'programs' if goes_on else 'jobs'}-{workspace}")


def caller_lease(caller: str) -> str:
    """The lease by which a runner says that it is there."""
    return f"caller-{caller}"


def written(remote: RemoteJob) -> bytes:
    """The item of the queue."""
    job = remote.job
    document = {
        "job_id": remote.job_id,
        "argv": job.argv,
        "cwd": job.cwd,
        "env": dict(job.env),
        "stdin": base64.b64encode(job.stdin).decode(),
        "left_s": max(0.0, min(job.expires - time.monotonic(), MAX_LEFT_S)),
        "max_output_bytes": job.max_output_bytes,
        "limits": asdict(job.limits),
        "read_only": job.read_only,
        "protected": job.protected,
        "network": job.network,
        "hidden": [tuple(path) for path in remote.hidden],
        "lease_s": remote.lease_s,
        "needs_sandbox": remote.needs_sandbox,
        "caller": remote.caller,
        "goes_on": remote.goes_on,
        "terminal": None if remote.terminal is None else list(remote.terminal),
        "drops_errors": job.drops_errors,
    }
    return orjson.dumps(document)


def read(item: bytes) -> RemoteJob:
    """What `written` wrote.

    Raises:
        ValueError: It did not write this.
    """
    try:
        told: dict[str, Any] = orjson.loads(item)
        job = Job(
            argv=tuple(map(str, told["argv"])),
            cwd=str(told["cwd"]),
            env={str(name): str(value) for name, value in told["env"].items()},
            stdin=base64.b64decode(told["stdin"], validate=True),
            expires=float("inf")
            if told["goes_on"] is True
            else time.monotonic() + _seconds(told["left_s"], 0.0, MAX_LEFT_S),
            max_output_bytes=_count(told["max_output_bytes"], 0),
            limits=ProcessLimits(
                **{name: None if value is None else _count(value, 1) for name, value in told["limits"].items()}
            ),
            read_only=told["read_only"] is not False,
            protected=tuple(map(str, told["protected"])),
            network=told["network"] is True,
            drops_errors=told["drops_errors"] is True,
        )
        hidden = tuple(HiddenPath(str(path), bool(is_folder)) for path, is_folder in told["hidden"])
        terminal = told["terminal"]
        return RemoteJob(
            _identifier(told["job_id"]),
            job,
            hidden,
            _seconds(told["lease_s"], 1.0, MAX_LEASE_S),
            told["needs_sandbox"] is not False,
            _identifier(told["caller"]),
            told["goes_on"] is True,
            None if terminal is None else TerminalSize(*(_count(number, 1) for number in terminal)),
        )
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"this is no job: {error}") from error


def _seconds(value: Any, least: float, most: float) -> float:
    """A time that somebody else has written: a worker would wait for one that is no number without end.

    Raises:
        ValueError: It is out of bounds.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ValueError(f"{value!r} is no time from {least:g} to {most:g} seconds")
    return float(value)


def _count(value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{value!r} is no count of at least {least}")
    return value


def _identifier(value: Any) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise ValueError(f"{value!r} is no identifier of a job or a runner")
    return value


def chunks(outcome: Ended | Denied | ToolError) -> Iterator[bytes]:
    """What came of a job, piece by piece; the last one says how it ended."""
    if not isinstance(outcome, Ended):
        yield failure(outcome)
        return
    for mark, stream in ((b"o", outcome.stdout), (b"e", outcome.stderr)):
        for start in range(0, len(stream), CHUNK_BYTES):
            yield mark + stream[start : start + CHUNK_BYTES]
    end = {"exit_code": outcome.exit_code, "truncated": outcome.truncated, "timed_out": outcome.timed_out}
    yield b"x" + orjson.dumps(end)


def failure(error: Denied | ToolError) -> bytes:
    """The last piece of what was refused, or could not be run."""
    kind = "denied" if isinstance(error, Denied) else "error"
    end = {"kind": kind, "reason": error.reason, "message": error.message, "hint": error.hint}
    return b"x" + orjson.dumps(end)


def end_of_program(outcome: int | Denied | ToolError | None) -> bytes:
    """The last piece of a program that went on, or has not begun."""
    return failure(outcome) if isinstance(outcome, (Denied, ToolError)) else b"x" + orjson.dumps({"exit_code": outcome})


class End(BaseModel, strict=True, extra="forbid"):
    """How a program ended, as the last piece says."""

    kind: Literal["ended", "denied", "error"] = "ended"
    reason: str = ""
    message: str | None = None
    hint: str | None = None
    exit_code: int | None = None
    """None for a program that has not ended by itself."""
    truncated: bool = False
    timed_out: bool = False


def end_of(piece: bytes) -> End:
    """What the last piece says.

    Raises:
        Denied: The worker refused it.
        ToolError: It could not be run; `worker_lost`, if no worker has written this.
    """
    try:
        end = End.model_validate_json(piece[1:])
    except ValidationError:
        raise ToolError("What has come is no end of a program.", reason="worker_lost") from None
    if end.kind == "denied":
        raise Denied(end.reason, end.message, hint=end.hint)
    if end.kind == "error":
        raise ToolError(end.message or "It could not be run.", reason=end.reason, hint=end.hint)
    return end


class Gathered:
    """Puts the pieces together.

    Args:
        max_bytes: Of each stream: a worker sends no more, and somebody else who writes to the bus is not gathered for.
    """

    def __init__(self, max_bytes: int) -> None:
        self.count = 0
        self._max_bytes = max_bytes
        self._streams = {b"o": bytearray(), b"e": bytearray()}

    def add(self, chunk: bytes) -> Ended | None:
        """Take the next piece; how the job ended, if it is the last. Errors as of `end_of`, and `worker_lost` for too much."""
        self.count += 1
        if chunk[:1] in self._streams:
            stream = self._streams[chunk[:1]]
            stream += chunk[1:]
            if len(stream) > self._max_bytes:
                raise ToolError("More output has come than a worker sends.", reason="worker_lost")
            return None
        end = end_of(chunk)
        if end.exit_code is None:
            raise ToolError("What has come is no end of a program.", reason="worker_lost")
        return Ended(
            exit_code=end.exit_code,
            stdout=bytes(self._streams[b"o"]),
            stderr=bytes(self._streams[b"e"]),
            truncated=end.truncated,
            timed_out=end.timed_out,
        )
