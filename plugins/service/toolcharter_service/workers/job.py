"""The protocol between the runner `remote` and its workers, in queues, keys and leases of the bus. Pure.

A job is an item of the queue `jobs-WORKSPACE`. Its key `claim-ID` is created once: by the worker that starts the job,
or by the runner that gives it up. So no program starts twice, or after its caller is gone. The lease `job-ID` is the
worker's heartbeat, and the lease `caller-RUNNER` the runner's. The key `stop-ID` ends the program. The keys
`out-ID-0`, `out-ID-1`, ... hold the output; the last of them holds the end of the program.

A background program is an item of the queue `programs-WORKSPACE`. Its output is the stream `out` of `pieces`, after a
first piece that says that it has started. Its input is the stream `in`, signals and terminal sizes the stream `ctl`.
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
"""The bus topic of messages with the id of a job whose state has changed."""
WITHDRAWN = b"withdrawn"
"""The claim of a runner that gave up its job."""
CHUNK_BYTES = 262_144
ACK_WAIT_S = 30.0
MAX_DELIVERIES = 3
MAX_LEFT_S = 86_400.0
"""The longest time limit of a job, in seconds."""
MAX_LEASE_S = 3_600.0
_ID = re.compile(r"[0-9a-f]{32}")


class RemoteJob(NamedTuple):
    """A job in a queue."""

    job_id: str
    job: Job
    """Its time limit counts from when the worker reads it."""
    hidden: tuple[HiddenPath, ...]
    lease_s: float
    needs_sandbox: bool
    caller: str
    """The id of the runner. If the runner no longer renews its lease, the worker ends the program."""
    goes_on: bool = False
    terminal: TerminalSize | None = None


def queue_name(workspace: str, *, goes_on: bool = False) -> str:
    """Return the queue of jobs in *workspace*; with *goes_on*, the queue of background programs."""
    return bus_name(f"{'programs' if goes_on else 'jobs'}-{workspace}")


def caller_lease(caller: str) -> str:
    """Return the name of the lease that is a runner's heartbeat."""
    return f"caller-{caller}"


def serialize_job(remote: RemoteJob) -> bytes:
    """Serialise a job as an item of the queue."""
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


def parse_job(item: bytes) -> RemoteJob:
    """Parse an item from `serialize_job`.

    Raises:
        ValueError: The item is no valid job.
    """
    try:
        document: dict[str, Any] = orjson.loads(item)
        job = Job(
            argv=tuple(map(str, document["argv"])),
            cwd=str(document["cwd"]),
            env={str(name): str(value) for name, value in document["env"].items()},
            stdin=base64.b64decode(document["stdin"], validate=True),
            expires=float("inf")
            if document["goes_on"] is True
            else time.monotonic() + _parse_seconds(document["left_s"], 0.0, MAX_LEFT_S),
            max_output_bytes=_parse_count(document["max_output_bytes"], 0),
            limits=ProcessLimits(
                **{
                    name: None if value is None else _parse_count(value, 1)
                    for name, value in document["limits"].items()
                }
            ),
            read_only=document["read_only"] is not False,
            protected=tuple(map(str, document["protected"])),
            network=document["network"] is True,
            drops_errors=document["drops_errors"] is True,
        )
        hidden = tuple(HiddenPath(str(path), bool(is_folder)) for path, is_folder in document["hidden"])
        terminal = document["terminal"]
        return RemoteJob(
            _parse_identifier(document["job_id"]),
            job,
            hidden,
            _parse_seconds(document["lease_s"], 1.0, MAX_LEASE_S),
            document["needs_sandbox"] is not False,
            _parse_identifier(document["caller"]),
            document["goes_on"] is True,
            None if terminal is None else TerminalSize(*(_parse_count(number, 1) for number in terminal)),
        )
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"this is no job: {error}") from error


def _parse_seconds(value: Any, least: float, most: float) -> float:
    """Validate a time from the bus. A worker could wait for ever for a time that is no number.

    Raises:
        ValueError: It is no number from *least* to *most*.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ValueError(f"{value!r} is no time from {least:g} to {most:g} seconds")
    return float(value)


def _parse_count(value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{value!r} is no count of at least {least}")
    return value


def _parse_identifier(value: Any) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise ValueError(f"{value!r} is no identifier of a job or a runner")
    return value


def result_chunks(outcome: Ended | Denied | ToolError) -> Iterator[bytes]:
    """Yield the result of a job in chunks. The last chunk describes its end."""
    if not isinstance(outcome, Ended):
        yield failure_chunk(outcome)
        return
    for mark, stream in ((b"o", outcome.stdout), (b"e", outcome.stderr)):
        for start in range(0, len(stream), CHUNK_BYTES):
            yield mark + stream[start : start + CHUNK_BYTES]
    end = {"exit_code": outcome.exit_code, "truncated": outcome.truncated, "timed_out": outcome.timed_out}
    yield b"x" + orjson.dumps(end)


def failure_chunk(error: Denied | ToolError) -> bytes:
    """Return the last chunk of a job that was refused or failed."""
    kind = "denied" if isinstance(error, Denied) else "error"
    end = {"kind": kind, "reason": error.reason, "message": error.message, "hint": error.hint}
    return b"x" + orjson.dumps(end)


def last_piece(outcome: int | Denied | ToolError | None) -> bytes:
    """Return the last piece of a background program, or of one that could not be started."""
    return (
        failure_chunk(outcome)
        if isinstance(outcome, (Denied, ToolError))
        else b"x" + orjson.dumps({"exit_code": outcome})
    )


class ProgramEnd(BaseModel, strict=True, extra="forbid"):
    """The end of a program, parsed from the last piece."""

    kind: Literal["ended", "denied", "error"] = "ended"
    reason: str = ""
    message: str | None = None
    hint: str | None = None
    exit_code: int | None = None
    """None if the program was ended before it had an exit code."""
    truncated: bool = False
    timed_out: bool = False


def parse_end(piece: bytes) -> ProgramEnd:
    """Parse the last piece.

    Raises:
        Denied: The worker refused the job.
        ToolError: The job failed; `worker_lost`, if no worker has written the piece.
    """
    try:
        end = ProgramEnd.model_validate_json(piece[1:])
    except ValidationError:
        raise ToolError("The end of the program's result is invalid.", reason="worker_lost") from None
    if end.kind == "denied":
        raise Denied(end.reason, end.message, hint=end.hint)
    if end.kind == "error":
        raise ToolError(end.message or "It could not be run.", reason=end.reason, hint=end.hint)
    return end


class ResultAssembler:
    """Joins the chunks of a job's result.

    Args:
        max_bytes: The most bytes of each stream. A worker sends no more; another program on the bus might.
    """

    def __init__(self, max_bytes: int) -> None:
        self.count = 0
        self._max_bytes = max_bytes
        self._streams = {b"o": bytearray(), b"e": bytearray()}

    def add(self, chunk: bytes) -> Ended | None:
        """Add the next chunk. Return the result of the job if this is the last chunk.

        Raises:
            Denied: As `parse_end`.
            ToolError: As `parse_end`; `worker_lost`, if there is too much output, or the end is invalid.
        """
        self.count += 1
        if chunk[:1] in self._streams:
            stream = self._streams[chunk[:1]]
            stream += chunk[1:]
            if len(stream) > self._max_bytes:
                raise ToolError("There is more output than a worker sends.", reason="worker_lost")
            return None
        end = parse_end(chunk)
        if end.exit_code is None:
            raise ToolError("The end of the program's result is invalid.", reason="worker_lost")
        return Ended(
            exit_code=end.exit_code,
            stdout=bytes(self._streams[b"o"]),
            stderr=bytes(self._streams[b"e"]),
            truncated=end.truncated,
            timed_out=end.timed_out,
        )
