"""Run one program to its end: drain its pipes, enforce its deadline, and kill all its processes afterwards."""

import os
import selectors
import signal
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import IO

from toolcharter.api.reasons import Reason
from toolcharter.api.runner import Ended
from toolcharter.errors import ToolError
from toolcharter.guards.process.launch import Launch, StartedProgram
from toolcharter.guards.process.start import start_program

CHUNK_BYTES = 65_536
GRACE_S = 0.5
BEAT_S = 0.1
"""How often `Launch.is_wanted` is called while a program runs, in seconds."""
POLL_S = 0.02

_ENDED = "ended"


class _BoundedBuffer:
    """The first bytes of a stream. The rest is dropped, and `truncated` is set."""

    def __init__(self, limit: int) -> None:
        self.data = bytearray()
        self.truncated = False
        self._limit = limit

    def add(self, chunk: bytes) -> None:
        room = self._limit - len(self.data)
        self.data += chunk[:room]
        self.truncated = self.truncated or len(chunk) > room


def supervise(launch: Launch) -> Ended:
    """Run *launch* until it ends or its time is up.

    The program leads its own session and process group. When it has ended, by itself or not, every
    process that is left of the group or has its mark is killed. The same happens if this call is
    interrupted.

    Raises:
        ToolError: `invalid_arguments`, if an argument or variable holds NUL or cannot be encoded; `tool_error`, if the
            system does not start the program.
    """
    with ExitStack() as pipes:
        with translate_start_errors(launch), ExitStack() as theirs:
            stdin = os.pipe() if launch.stdin else (os.open(os.devnull, os.O_RDONLY), None)
            theirs.callback(os.close, stdin[0])
            ours = None if stdin[1] is None else pipes.enter_context(os.fdopen(stdin[1], "wb", 0))
            outputs = [_output_pipe(pipes, theirs) for _ in range(2)]
            started = start_program(launch, (stdin[0], outputs[0][1], outputs[1][1]))
        try:
            return _Supervision(started, launch, ours, [one for one, _ in outputs]).run()
        finally:
            started.end()


def _output_pipe(ours: ExitStack, theirs: ExitStack) -> tuple[IO[bytes], int]:
    """Make a pipe, and return the end that we read and the end that the program writes to."""
    reading, writing = os.pipe()
    theirs.callback(os.close, writing)
    return ours.enter_context(os.fdopen(reading, "rb", 0)), writing


@contextmanager
def translate_start_errors(launch: Launch) -> Generator[None]:
    """Turn a failed start into a `ToolError`, and close `Launch.pass_fds` in any case."""
    try:
        yield
    except ValueError as error:
        raise ToolError(f"{launch.name}: {error}", reason=Reason.INVALID_ARGUMENTS) from error
    except OSError as error:
        raise ToolError(f"{launch.name} did not start: {error.strerror}", reason=Reason.TOOL_ERROR) from error
    finally:
        for descriptor in launch.pass_fds:
            os.close(descriptor)


class _Supervision:
    """Serves the pipes of one running program."""

    def __init__(
        self, started: StartedProgram, launch: Launch, stdin: IO[bytes] | None, outputs: Sequence[IO[bytes]]
    ) -> None:
        self._started = started
        self._launch = launch
        self._stdin = stdin
        self._pending = memoryview(launch.stdin)
        self._buffers = {pipe: _BoundedBuffer(launch.max_output_bytes) for pipe in outputs}
        self._has_ended = False
        self._selector = selectors.DefaultSelector()

    def run(self) -> Ended:
        with ExitStack() as stack:
            stack.callback(self._selector.close)
            self._watch_pipes()
            self._watch_end()
            timed_out = not self._serve_until(self._launch.expires, self._launch.is_wanted)
            if timed_out:
                self._terminate()
            status = self._started.end()
            self._read_rest()
        out, err = self._buffers.values()
        ended = Ended(
            exit_code=self._launch.exit_code(status),
            stdout=bytes(out.data),
            stderr=bytes(err.data),
            truncated=out.truncated or err.truncated,
            timed_out=timed_out,
        )
        self._launch.check(ended)
        return ended

    def _watch_pipes(self) -> None:
        for pipe in self._buffers:
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, self._read)
        if self._stdin is not None:
            os.set_blocking(self._stdin.fileno(), False)
            self._selector.register(self._stdin, selectors.EVENT_WRITE, self._write)

    def _watch_end(self) -> None:
        # Without a descriptor for the process (macOS, old kernels) `_serve_until` polls instead.
        descriptor = self._started.end_descriptor()
        if descriptor is not None:
            self._selector.register(descriptor, selectors.EVENT_READ, _ENDED)

    def _serve_until(self, until: float, is_wanted: Callable[[], bool] | None = None) -> bool:
        """Serve the pipes until the program ends. Return False if *until* passes first or it is no longer wanted."""
        polls = _ENDED not in {key.data for key in self._selector.get_map().values()}
        beat_s = POLL_S if polls else BEAT_S if is_wanted is not None else 3600.0
        while not self._has_ended:
            left = until - time.monotonic()
            if left <= 0 or (is_wanted is not None and not is_wanted()):
                return False
            for key, _ in self._selector.select(min(left, beat_s)):
                if key.data is _ENDED:
                    self._has_ended = True
                else:
                    key.data(key.fileobj)
            if polls:
                self._has_ended = self._started.status() is not None
        return True

    def _read(self, pipe: IO[bytes]) -> None:
        chunk = os.read(pipe.fileno(), CHUNK_BYTES)
        self._buffers[pipe].add(chunk)
        if not chunk:
            self._selector.unregister(pipe)

    def _write(self, pipe: IO[bytes]) -> None:
        try:
            self._pending = self._pending[os.write(pipe.fileno(), self._pending[:CHUNK_BYTES]) :]
        except BrokenPipeError:  # the program has closed its input
            self._pending = self._pending[:0]
        if not self._pending:
            self._selector.unregister(pipe)
            pipe.close()

    def _terminate(self) -> None:
        self._started.signal(signal.SIGTERM)
        self._serve_until(time.monotonic() + GRACE_S)

    def _read_rest(self) -> None:
        # Without waiting: if programs cannot be marked, a descendant outside the group may keep the pipe open for ever.
        for pipe in self._buffers:
            with suppress(BlockingIOError):
                while pipe in self._selector.get_map():
                    self._read(pipe)
