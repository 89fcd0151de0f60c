"""What the runner `remote` and its workers tell each other, in keys of the bus. Pure.

A job is an item of the queue `jobs-WORKSPACE`. Its key `claim-ID` is created once, by the worker that starts it or by the
runner that gives it up, so that no program starts twice or after its caller has gone. The lease `job-ID` says that the
worker lives. `stop-ID` ends the program. The keys `out-ID-0`, `out-ID-1`, ... hold what came of it, the last one how it ended.
"""

import base64
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import orjson

from toolcharter import Denied, Ended, HiddenPath, Job, ProcessLimits, ToolError, bus_name

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


def queue_name(workspace: str) -> str:
    """The queue of the jobs in *workspace*."""
    return bus_name(f"jobs-{workspace}")


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
            expires=time.monotonic() + float(told["left_s"]),
            max_output_bytes=int(told["max_output_bytes"]),
            limits=ProcessLimits(**told["limits"]),
            read_only=told["read_only"] is not False,
            protected=tuple(map(str, told["protected"])),
            network=told["network"] is True,
        )
        hidden = tuple(HiddenPath(str(path), bool(is_folder)) for path, is_folder in told["hidden"])
        return RemoteJob(
            bus_name(told["job_id"]), job, hidden, float(told["lease_s"]), told["needs_sandbox"] is not False
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this is no job: {error}") from error


def chunks(outcome: Ended | Denied | ToolError) -> Iterator[bytes]:
    """What came of a job, piece by piece; the last one says how it ended."""
    end: dict[str, Any]
    if isinstance(outcome, Ended):
        for mark, stream in ((b"o", outcome.stdout), (b"e", outcome.stderr)):
            for start in range(0, len(stream), CHUNK_BYTES):
                yield mark + stream[start : start + CHUNK_BYTES]
        end = {"exit_code": outcome.exit_code, "truncated": outcome.truncated, "timed_out": outcome.timed_out}
    else:
        kind = "denied" if isinstance(outcome, Denied) else "error"
        end = {"kind": kind, "reason": outcome.reason, "message": outcome.message, "hint": outcome.hint}
    yield b"x" + orjson.dumps(end)


class Gathered:
    """Puts the pieces together."""

    def __init__(self) -> None:
        self.count = 0
        self._streams = {b"o": bytearray(), b"e": bytearray()}

    def add(self, chunk: bytes) -> Ended | None:
        """Take the next piece; how the job ended, if it is the last.

        Raises:
            Denied: The worker refused it.
            ToolError: It could not be run.
        """
        self.count += 1
        if chunk[:1] in self._streams:
            self._streams[chunk[:1]] += chunk[1:]
            return None
        end: Mapping[str, Any] = orjson.loads(chunk[1:])
        if end.get("kind") == "denied":
            raise Denied(end["reason"], end["message"], hint=end["hint"])
        if end.get("kind") == "error":
            raise ToolError(end["message"], reason=end["reason"], hint=end["hint"])
        return Ended(
            exit_code=end["exit_code"],
            stdout=bytes(self._streams[b"o"]),
            stderr=bytes(self._streams[b"e"]),
            truncated=end["truncated"],
            timed_out=end["timed_out"],
        )
