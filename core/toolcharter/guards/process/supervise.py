"""Start one program and see it to its end: pipes drained, time kept, all that it started gone after."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO

from toolcharter.errors import ToolError
from toolcharter.guards.process.launch import Launch
from toolcharter.guards.process.marks import end_marked, signal_marked
from toolcharter.spec.reasons import Reason
from toolcharter.spec.runner import Ended

CHUNK_BYTES = 65_536
GRACE_S = 0.5
BEAT_S = 0.1
"""How often it is asked whether anybody still waits for a program, in seconds."""
POLL_S = 0.02

_ENDED = "ended"


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
    not, whatever is left of the group or has its mark is killed; so is all of it if this call is
    interrupted.

    Raises:
        ToolError: `invalid_arguments`, if an argument or variable holds NUL or cannot be encoded; `tool_error`, if the
            system does not start the program.
    """
    with starting(launch):
        process = subprocess.Popen(  # noqa: S603 - no shell; the caller has pinned the program
            list(launch.argv),
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
        end_all(process, launch)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


@contextmanager
def starting(launch: Launch) -> Generator[None]:
    """Say in a tool's words why a program does not start, and let go of what was for it alone."""
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
            timed_out = not self._attend(self._launch.expires, self._launch.is_wanted)
            if timed_out:
                self._terminate()
            end_all(self._process, self._launch)
            self._read_rest()
        out, err = self._kept.values()
        ended = Ended(
            exit_code=self._launch.exit_code(self._process.returncode),
            stdout=bytes(out.data),
            stderr=bytes(err.data),
            truncated=out.truncated or err.truncated,
            timed_out=timed_out,
        )
        self._launch.check(ended)
        return ended

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

    def _attend(self, until: float, is_wanted: Callable[[], bool] | None = None) -> bool:
        """Serve the pipes until the program has ended; false if it had not by *until*, or when nobody wanted it."""
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
                self._has_ended = status_of(self._process.pid) is not None
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
        signal_all(self._process.pid, self._launch, signal.SIGTERM)
        self._attend(time.monotonic() + GRACE_S)

    def _read_rest(self) -> None:
        # Only what is there: where nothing is marked, a descendant that left the group may hold the pipe for ever.
        for pipe in self._kept:
            with suppress(BlockingIOError):
                while pipe in self._selector.get_map():
                    self._read(pipe)


def _outputs(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdout is not None  # noqa: S101 - both are asked for above; this tells the type checkers
    assert process.stderr is not None  # noqa: S101 - as above
    return process.stdout, process.stderr


def status_of(pid: int) -> int | None:
    """How the child ended, negative by a signal; None if it has not. It is left unreaped, to keep its number taken."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def signal_all(pid: int, launch: Launch, number: int) -> None:
    """Signal the group that the unreaped child leads, and all that has left it.

    Of a sandbox only the programs inside hear of it: the death of what holds them would be theirs, without a grace.
    """
    if not launch.is_contained:
        _signal_group(pid, number)
    signal_marked(launch.mark, number, after=pid, but_group=None if launch.is_contained else pid)


def end_all(process: subprocess.Popen[bytes], launch: Launch) -> None:
    """Kill whatever is left of it, then reap the leader: until then its number is not reused."""
    if process.returncode is None:
        _signal_group(process.pid, signal.SIGKILL)
        end_marked(launch.mark, after=process.pid)
        process.wait()


def _signal_group(group: int, number: int) -> None:
    # EPERM: macOS answers so for a group of zombies, Linux for one of programs with other rights.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
