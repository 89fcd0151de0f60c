"""`ComputePool`: the child processes in which one toolbox parses untrusted text.

A parser in C holds the interpreter's lock while it works. A page or a selector on which it never finishes would block
every other call, the events and Ctrl-C. In a child process it blocks no other thread, and the kernel limits it.
"""

import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import IO, Any, cast

from toolcharter.api.reasons import Reason
from toolcharter.errors import ToolError
from toolcharter.guards.compute.worker import HEADER, encode_frame

MAX_WORKERS = 2
"""Child processes of one toolbox. A call waits while all of them are busy."""
MAX_ANSWER_BYTES = 8_000_000
"""The gate parses the answer in its own process, where a longer answer would delay other calls."""
_BEAT_S = 0.1
"""How often the pool checks whether the call still waits for the answer."""
_CHUNK = 1 << 20
_FUNCTION = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from toolcharter.guards.compute.worker import serve; serve(int(sys.argv[2]))"
)


class WorkerEnded(Exception):
    """The worker exited or was killed before it had answered."""


class Worker:
    """One child process, used by one thread at a time."""

    def __init__(self, search_path: list[str]) -> None:
        lifeline, self._lifeline = os.pipe()
        try:
            self._process = subprocess.Popen(
                # -I ignores PYTHONPATH, the current folder and the user's site folder; -S ignores `.pth` files and
                # `sitecustomize`; -B writes no bytecode.
                [sys.executable, "-I", "-S", "-B", "-c", _BOOT, json.dumps(search_path), str(lifeline)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                env=_ENVIRONMENT,
                pass_fds=(lifeline,),
                start_new_session=True,  # Only the parent receives Ctrl-C; it then ends the worker.
            )
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(lifeline)
        pipes = (self._process.stdin, self._process.stdout)
        self._input, self._output = (cast("IO[bytes]", pipe).fileno() for pipe in pipes)
        for descriptor in (self._input, self._output):
            os.set_blocking(descriptor, False)
        self.close = weakref.finalize(self, _kill_worker, self._process, self._lifeline, os.getpid())

    @property
    def pid(self) -> int:
        """The worker's process number."""
        return self._process.pid

    def ask(self, request: bytes, expires: float, is_wanted: Callable[[], bool]) -> Any:
        """Send *request* and return the answer.

        Raises:
            WorkerEnded: The worker ended before it had answered.
            TimeoutError: *expires*, on `time.monotonic`'s clock, has passed, or the answer is no longer wanted.
            ValueError: The answer is longer than `MAX_ANSWER_BYTES`, or is not JSON.
        """
        pending, answer = memoryview(request), bytearray()
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        poll.register(self._input, select.POLLOUT)
        while (size := _size_of(answer)) is None or len(answer) < HEADER.size + size:
            left = expires - time.monotonic()
            if left <= 0 or not is_wanted():
                raise TimeoutError
            for descriptor, _ in poll.poll(min(left, _BEAT_S) * 1000):
                if descriptor == self._output:
                    answer += self._receive()
                else:
                    pending = pending[self._send(pending) :]
                    if not pending:
                        poll.unregister(self._input)
        return json.loads(answer[HEADER.size :])

    def end_signal(self) -> int:
        """Return the signal that ended the process, or 0 if no signal did. The process must have ended."""
        return max(0, -self._process.wait())

    def _receive(self) -> bytes:
        try:
            piece = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return b""
        if not piece:
            raise WorkerEnded
        return piece

    def _send(self, pending: memoryview) -> int:
        try:
            return os.write(self._input, pending[:_CHUNK])
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise WorkerEnded from None


class ComputePool:
    """Runs functions in workers, at most `MAX_WORKERS` at a time. Safe from many threads, and after a fork.

    The first call that needs a worker starts it, and the pool keeps it for the next call. A worker that exceeded a
    limit, crashed or was interrupted is killed and replaced. *get_search_path* is called at each start of a worker
    and returns the folders that the worker imports from.
    """

    def __init__(self, get_search_path: Callable[[], list[str]]) -> None:
        self._get_search_path = get_search_path
        self._closed = False
        self._idle: list[Worker] = []
        self._renew()

    def __call__(
        self,
        function: str,
        args: tuple[Any, ...],
        *,
        expires: float,
        is_wanted: Callable[[], bool],
        cpu_s: float,
        memory_bytes: int,
    ) -> Any:
        """Return the result of *function* (`package.module:name`) for *args*.

        Raises:
            ToolError: The `ToolError` that the function raised; `timed_out` past *expires* or *cpu_s*; `tool_error`
                beyond *memory_bytes*, or if the parser crashed; `unexpected_failure` for any other exception.
            ValueError: *function* is not such a name, or *args* cannot be written as JSON.
        """
        if not _FUNCTION.fullmatch(function):
            message = f"{function!r} does not name a function as 'package.module:name'"
            raise ValueError(message)
        limits = {"cpu_s": max(1, round(cpu_s)), "memory_bytes": memory_bytes}
        request = encode_frame({"function": function, "args": args, **limits})
        self._wait_for_turn(expires, is_wanted)
        free_workers = self._free_workers
        worker: Worker | None = None
        try:
            worker = self._get_worker()
            answer = worker.ask(request, expires, is_wanted)
            value = _value_of(answer, function, memory_bytes)
            if not answer.get("worn"):
                self._return_to_idle(worker)
                worker = None
        except WorkerEnded:
            assert worker is not None  # noqa: S101 - only `ask` raises it; for the type checkers
            raise _worker_ended_error(worker.end_signal(), function, cpu_s) from None
        except TimeoutError:
            raise _timeout_error(function) from None
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            message = f"The answer of {function} cannot be read: {type(error).__name__}."
            raise ToolError(message, reason=Reason.UNEXPECTED_FAILURE) from error
        finally:
            if worker is not None:
                worker.close()
            free_workers.release()
        return value

    def close(self) -> None:
        """End the idle workers. A busy worker ends with its call."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()

    def pids(self) -> list[int]:
        """The process numbers of the idle workers."""
        with self._lock:
            return [worker.pid for worker in self._idle]

    def _renew(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._free_workers = threading.Semaphore(MAX_WORKERS)
        self._idle = []

    def _wait_for_turn(self, expires: float, is_wanted: Callable[[], bool]) -> None:
        if self._owner != os.getpid():  # After a fork, the child holds the parent's pipes but has no workers.
            self._renew()
        while not self._free_workers.acquire(timeout=max(0.0, min(_BEAT_S, expires - time.monotonic()))):
            if time.monotonic() >= expires or not is_wanted():
                raise _timeout_error("a free parser")

    def _get_worker(self) -> Worker:
        with self._lock:
            if self._closed:
                raise ToolError("The toolbox is closed.", reason=Reason.CANCELLED)
            if self._idle:
                return self._idle.pop()
        try:
            return Worker(self._get_search_path())
        except OSError as error:
            raise ToolError(f"No child process could be started: {error.strerror}.", retryable=True) from error

    def _return_to_idle(self, worker: Worker) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(worker)
                return
        worker.close()


def _size_of(answer: bytearray) -> int | None:
    if len(answer) < HEADER.size:
        return None
    size: int = HEADER.unpack_from(answer)[0]
    if size > MAX_ANSWER_BYTES:
        message = f"an answer of {size} bytes"
        raise ValueError(message)
    return size


def _value_of(answer: dict[str, Any], function: str, memory_bytes: int) -> Any:
    if "value" in answer:
        return answer["value"]
    if "memory" in answer:
        message = f"{function} needs more than {memory_bytes // 1_000_000} MB of memory for this input."
        raise ToolError(message, reason=Reason.TOOL_ERROR)
    if "error" in answer:
        told = answer["error"]
        raise ToolError(
            str(told["message"]),
            reason=str(told["reason"]),
            hint=None if told["hint"] is None else str(told["hint"]),
            retryable=bool(told["retryable"]),
        )
    raise ToolError(f"{function} failed: {answer.get('raised')}", reason=Reason.UNEXPECTED_FAILURE)


def _worker_ended_error(number: int, function: str, cpu_s: float) -> ToolError:
    if number == signal.SIGXCPU:
        message = f"{function} took more than {cpu_s:g} s of processor time for this input."
        return ToolError(message, reason=Reason.TIMED_OUT, retryable=False)
    how = f"by signal {number}" if number else "without an answer"
    return ToolError(f"{function} ended {how} while it read this input.", reason=Reason.TOOL_ERROR)


def _timeout_error(what: str) -> ToolError:
    return ToolError(f"The call had no time left to wait for {what}.", reason=Reason.TIMED_OUT, retryable=True)


def _kill_worker(process: "subprocess.Popen[bytes]", lifeline: int, owner: int) -> None:
    """Kill a worker and close its pipes. A forked child only closes the pipes: the worker is its parent's."""
    if owner == os.getpid():
        process.kill()
        process.wait()
    os.close(lifeline)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
