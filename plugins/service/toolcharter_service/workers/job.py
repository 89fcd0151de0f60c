"""What the runner `remote` and its workers tell each other, in keys of the bus. Pure.

A job is an item of the queue `jobs-WORKSPACE`. Its key `claim-ID` is created once, by the worker that starts it or by the
runner that gives it up, so that no program starts twice or after its caller has gone. The lease `job-ID` says that the
worker lives, the lease `caller-RUNNER` that the runner does. `stop-ID` ends the program. The keys `out-ID-0`, `out-ID-1`,
... hold what came of it, the last one how it ended.

A program that goes on is an item of the queue `programs-WORKSPACE`. What it writes is the stream `out` of `pieces`, after
a piece that says it has started; its input is the stream `in`, signals and sizes of its terminal are the stream `ctl`.
"""

import base64
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import orjson

from toolcharter import Denied, Ended, HiddenPath, Job, ProcessLimits, TerminalSize, ToolError, bus_name

TOPIC = "jobs"
"""Messages with the identifier of a job of which there is something new."""
WITHDRAWN = b"withdrawn"
"""The claim of a runner that gave its job up."""
CHUNK_BYTES = 262_144
ACK_WAIT_S = 30.0
MAX_DELIVERIES = 3


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
        "left_s": max(0.0, min(job.expires - time.monotonic(), 86_400.0)),
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
            expires=float("inf") if told["goes_on"] is True else time.monotonic() + float(told["left_s"]),
            max_output_bytes=int(told["max_output_bytes"]),
            limits=ProcessLimits(**told["limits"]),
            read_only=told["read_only"] is not False,
            protected=tuple(map(str, told["protected"])),
            network=told["network"] is True,
            drops_errors=told["drops_errors"] is True,
        )
        hidden = tuple(HiddenPath(str(path), bool(is_folder)) for path, is_folder in told["hidden"])
        terminal = told["terminal"]
        return RemoteJob(
            bus_name(told["job_id"]),
            job,
            hidden,
            float(told["lease_s"]),
            told["needs_sandbox"] is not False,
            bus_name(told["caller"]),
            told["goes_on"] is True,
            None if terminal is None else TerminalSize(*map(int, terminal)),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this is no job: {error}") from error


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


def end_of(piece: bytes) -> Mapping[str, Any]:
    """What the last piece says.

    Raises:
        Denied: The worker refused it.
        ToolError: It could not be run.
    """
    end: Mapping[str, Any] = orjson.loads(piece[1:])
    if end.get("kind") == "denied":
        raise Denied(end["reason"], end["message"], hint=end["hint"])
    if end.get("kind") == "error":
        raise ToolError(end["message"], reason=end["reason"], hint=end["hint"])
    return end


class Gathered:
    """Puts the pieces together."""

    def __init__(self) -> None:
        self.count = 0
        self._streams = {b"o": bytearray(), b"e": bytearray()}

    def add(self, chunk: bytes) -> Ended | None:
        """Take the next piece; how the job ended, if it is the last. Errors as of `end_of`."""
        self.count += 1
        if chunk[:1] in self._streams:
            self._streams[chunk[:1]] += chunk[1:]
            return None
        end = end_of(chunk)
        return Ended(
            exit_code=end["exit_code"],
            stdout=bytes(self._streams[b"o"]),
            stderr=bytes(self._streams[b"e"]),
            truncated=end["truncated"],
            timed_out=end["timed_out"],
        )
