"""Start one program and see it to its end: pipes drained, time kept, the whole group gone after."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import IO

CHUNK_BYTES = 65_536
GRACE_S = 0.5
POLL_S = 0.02

_ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Launch:
    """All that a program is started with. A runner that confines programs rewrites one of these."""

    executable: str
    """Absolute."""
    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    stdin: bytes
    expires: float
    """On `time.monotonic`'s clock, in seconds; may be infinite."""
    max_output_bytes: int
    """Kept of each stream."""
    pass_fds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a supervised program ended."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    truncated: bool
    timed_out: bool


class _Kept:
    """The first bytes of a stream; the rest is counted and dropped."""

    def __init__(self, limit: int) -> None:
        self.data = bytearray()
        self.truncated = False
        self._limit = limit

    def add(self, chunk: bytes) -> None:
        room = self._limit - len(self.data)
        self.data += chunk[:room]
        self.truncated = self.truncated or len(chunk) > room


def supervise(launch: Launch) -> Ended:
    """Run *launch* to its end, or to the end of its time.

    The program leads a session and process group of its own. When it has ended, by itself or
    not, whatever is left of the group is killed; so is all of it if this call is interrupted.

    Raises:
        OSError: The program could not be started.
        ValueError: An argument or variable holds NUL or cannot be encoded.
    """
    process = subprocess.Popen(  # noqa: S603 - no shell; the caller has pinned the program
        list(launch.argv),
        executable=launch.executable,
        cwd=launch.cwd,
        env=dict(launch.env),
        stdin=subprocess.PIPE if launch.stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,  # with neither preexec_fn nor uid, CPython starts it by vfork
        pass_fds=launch.pass_fds,
    )
    try:
        return _Supervision(process, launch).run()
    finally:
        _end_group(process)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


class _Supervision:
    """One pass over a running program's pipes."""

    def __init__(self, process: subprocess.Popen[bytes], launch: Launch) -> None:
        self._process = process
        self._launch = launch
        self._pending = memoryview(launch.stdin)
        self._kept = {pipe: _Kept(launch.max_output_bytes) for pipe in _outputs(process)}
        self._has_ended = False
        self._selector = selectors.DefaultSelector()

    def run(self) -> Ended:
        with ExitStack() as stack:
            stack.callback(self._selector.close)
            self._watch_pipes()
            self._watch_end(stack)
            timed_out = not self._attend(self._launch.expires)
            if timed_out:
                self._terminate()
            _end_group(self._process)
            self._read_rest()
        out, err = self._kept.values()
        return Ended(
            exit_code=self._process.returncode,
            stdout=bytes(out.data),
            stderr=bytes(err.data),
            truncated=out.truncated or err.truncated,
            timed_out=timed_out,
        )

    def _watch_pipes(self) -> None:
        for pipe in self._kept:
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, self._read)
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
            self._selector.register(self._process.stdin, selectors.EVENT_WRITE, self._write)

    def _watch_end(self, stack: ExitStack) -> None:
        # Without a descriptor for the process (macOS, old kernels) `_attend` polls instead.
        with suppress(OSError, AttributeError):
            descriptor = os.pidfd_open(self._process.pid)
            stack.callback(os.close, descriptor)
            self._selector.register(descriptor, selectors.EVENT_READ, _ENDED)

    def _attend(self, until: float) -> bool:
        """Serve the pipes until the program has ended; false if it had not by *until*."""
        polls = _ENDED not in {key.data for key in self._selector.get_map().values()}
        while not self._has_ended:
            left = until - time.monotonic()
            if left <= 0:
                return False
            wait = min(left, POLL_S if polls else 3600.0)
            for key, _ in self._selector.select(wait):
                if key.data is _ENDED:
                    self._has_ended = True
                else:
                    key.data(key.fileobj)
            if polls:
                self._has_ended = _is_waiting(self._process.pid)
        return True

    def _read(self, pipe: IO[bytes]) -> None:
        chunk = os.read(pipe.fileno(), CHUNK_BYTES)
        self._kept[pipe].add(chunk)
        if not chunk:
            self._selector.unregister(pipe)

    def _write(self, pipe: IO[bytes]) -> None:
        try:
            self._pending = self._pending[os.write(pipe.fileno(), self._pending[:CHUNK_BYTES]) :]
        except BrokenPipeError:  # the program does not want the rest
            self._pending = self._pending[:0]
        if not self._pending:
            self._selector.unregister(pipe)
            pipe.close()

    def _terminate(self) -> None:
        _signal_group(self._process.pid, signal.SIGTERM)
        self._attend(time.monotonic() + GRACE_S)

    def _read_rest(self) -> None:
        # Only what is there: a descendant that left the group may hold the pipe open for ever.
        for pipe in self._kept:
            with suppress(BlockingIOError):
                while pipe in self._selector.get_map():
                    self._read(pipe)


def _outputs(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdout is not None  # noqa: S101 - both are asked for above; this tells the type checkers
    assert process.stderr is not None  # noqa: S101 - as above
    return process.stdout, process.stderr


def _is_waiting(pid: int) -> bool:
    """Whether the child has ended and waits to be reaped; it is left so, to keep its number taken."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill whatever is left of the group, then reap the leader: until then its number is not reused."""
    if process.returncode is None:
        _signal_group(process.pid, signal.SIGKILL)
        process.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    # EPERM: macOS answers so for a group of zombies, Linux for one of programs with other rights.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
