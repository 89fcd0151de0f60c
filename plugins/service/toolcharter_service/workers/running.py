"""The handle of a background program on a worker, for the tool that started it."""

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson

from toolcharter import BusUnavailable, Denied, TerminalSize, ToolError
from toolcharter_service.workers.claim import POLL_S, STOP_S, Claim
from toolcharter_service.workers.job import parse_end
from toolcharter_service.workers.pieces import CALLER, PIECE_BYTES, StreamEndpoint, Waker

RETRY_S = 0.2
_LOST = -int(signal.SIGKILL)
_MAX_CONTROLS = 256
"""The most signals and terminal sizes that wait while the bus is unreachable. The oldest are dropped."""


class RemoteRunning:
    """Satisfies `Running`. A thread forwards input and output, with flow control in both directions."""

    def __init__(self, claim: Claim, on_close: Callable[["RemoteRunning"], object]) -> None:
        self._claim, self._on_close = claim, on_close
        self._waker = Waker()
        self._endpoint = StreamEndpoint(claim.target.bus, claim.target.tenant, claim.job_id, CALLER, self._waker)
        self._out, self._in, self._control = (
            self._endpoint.reader("out"),
            self._endpoint.writer("in"),
            self._endpoint.writer("ctl"),
        )
        self._lock = threading.Lock()
        self._input = bytearray()
        self._controls = deque[bytes](maxlen=_MAX_CONTROLS)
        self._unsent_input = self._unsent_control = b""
        """Pieces that the bus has not accepted yet. A retry has to write the same piece."""
        self._readable, self._writable = os.pipe()
        for descriptor in (self._readable, self._writable):
            os.set_blocking(descriptor, False)
        self._output = b""
        """Output that does not fit into the pipe, since the tool has not read it yet."""
        self._exit_code: int | None = None
        self._has_ended = threading.Event()
        self._is_closing = False
        self._poll_at = 0.0
        self._alive_at = time.monotonic()
        """The last time at which the worker was known to be alive."""
        self.lost: ToolError | None = None

    def begin(self, put: Callable[[], object]) -> None:
        """Submit the job with *put*, and return once a worker has started it.

        Raises:
            Denied: No worker took the job, or the worker refused it. Nothing was started.
            ToolError: `worker_lost`, or raised by the worker's runner.
        """
        try:
            put()
            while (piece := self._read_first()) is None:
                self._waker.wait(POLL_S)
            if piece[:1] == b"x":
                parse_end(piece)
        except BaseException:
            self._endpoint.close()
            self._waker.close()
            os.close(self._writable)
            os.close(self._readable)
            raise
        threading.Thread(target=self._forward, name=f"toolcharter-{self._claim.job_id}", daemon=True).start()

    @property
    def exit_code(self) -> int | None:
        """None while it runs. Negative: ended by that signal, or by SIGKILL if its worker is lost."""
        return self._exit_code

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when there is output."""
        return self._readable

    def read(self, max_bytes: int) -> bytes:
        """Read available output without waiting; empty if there is none, or its end is reached."""
        with self._lock, suppress(BlockingIOError):
            return b"" if self._is_closing else os.read(self._readable, max_bytes)
        return b""

    def write(self, data: bytes) -> int:
        """Accept as much of *data* as fits, without waiting. Return the number of bytes; 0 also if it has ended."""
        with self._lock:
            if self._has_ended.is_set() or self._is_closing:
                return 0
            taken = data[: PIECE_BYTES - len(self._input)]
            self._input += taken
        self._waker.wake()
        return len(taken)

    def resize(self, size: TerminalSize) -> None:
        """Change the size of its terminal. Does nothing without a terminal."""
        self._queue_control({"size": [size.rows, size.columns]})

    def signal(self, number: int) -> None:
        """Send a signal to all its processes."""
        self._queue_control({"signal": int(number)})

    def wait(self, timeout_s: float) -> int | None:
        """Wait for its end. Return its exit code; None if *timeout_s* is over first."""
        self._has_ended.wait(timeout_s)
        return self._exit_code

    def close(self) -> None:
        """Make the worker end it, and wait for that. May be called twice."""
        with self._lock:
            if self._is_closing:
                return
            self._is_closing = True
            os.close(self._readable)
        self._waker.wake()
        self._has_ended.wait(2 * STOP_S)
        self._on_close(self)

    def _queue_control(self, what: dict[str, Any]) -> None:
        with self._lock:
            self._controls.append(orjson.dumps(what))
        self._waker.wake()

    def _read_first(self) -> bytes | None:
        """Return the first piece, which says whether it has started; None if it is not there yet."""
        claim = self._claim
        try:
            self._endpoint.poll()
            piece = self._out.next()
            if piece is not None:
                return piece
            if not claim.is_taken():
                claim.require_in_time()
            elif claim.is_worker_alive():
                self._alive_at = time.monotonic()
            else:
                self._endpoint.poll()  # It may have started between the two requests.
                if (piece := self._out.next()) is None:
                    raise claim.lost_error("its lease has expired")
        except BusUnavailable as error:
            self._require_bus(error)
            return None
        return piece

    def _forward(self) -> None:
        try:
            while self._exit_code is None:
                try:
                    self._forward_once()
                except BusUnavailable as error:
                    self._require_bus(error)
                    self._waker.wait(RETRY_S)
                self._claim.require_end_in_time()
        except ToolError as error:
            self.lost = error
        finally:
            self._exit_code = _LOST if self._exit_code is None else self._exit_code
            self._has_ended.set()
            os.close(self._writable)
            self._endpoint.close()
            self._waker.close()

    def _forward_once(self) -> None:
        if self._is_closing and not self._claim.is_stopped:
            self._claim.stop()
        self._send()
        self._receive()
        now = time.monotonic()
        if self._exit_code is None and now >= self._poll_at:
            self._endpoint.poll()
            self._poll_at = now + POLL_S
            # If the worker has ended it, its last pieces wait until the tool has read the earlier output.
            if not self._output and not self._claim.is_worker_alive():
                self._receive()
                if not self._output and self._exit_code is None:
                    raise self._claim.lost_error("its lease has expired")
            self._alive_at = now
        if self._exit_code is None:
            self._waker.wait(self._poll_at - now, writable=self._writable if self._output else None)

    def _send(self) -> None:
        while self._control.has_room:
            with self._lock:
                if not self._unsent_control and self._controls:
                    self._unsent_control = self._controls.popleft()
            if not self._unsent_control:
                break
            self._control.put(self._unsent_control)
            self._unsent_control = b""
        while self._in.has_room:
            with self._lock:
                if not self._unsent_input:
                    self._unsent_input = bytes(self._input)
                    self._input.clear()
            if not self._unsent_input:
                break
            self._in.put(self._unsent_input)
            self._unsent_input = b""

    def _receive(self) -> None:
        """Write received output to the pipe, as far as the tool reads it."""
        while self._exit_code is None and self._flush_output():
            piece = self._out.next()
            if piece is None:
                return
            if piece[:1] == b"x":
                code = None
                with suppress(Denied, ToolError):  # It had started, so its only possible result is an exit code.
                    code = parse_end(piece).exit_code
                self._exit_code = _LOST if code is None else code
            else:
                self._output = piece[1:]

    def _flush_output(self) -> bool:
        try:
            while self._output and not self._is_closing:
                self._output = self._output[os.write(self._writable, self._output) :]
        except BlockingIOError:
            return False
        except BrokenPipeError:
            pass
        self._output = b""
        return True

    def _require_bus(self, error: BusUnavailable) -> None:
        """Raise `worker_lost` if the bus has been unreachable for so long that the worker has ended the program."""
        if time.monotonic() > self._alive_at + self._claim.target.lease_s + STOP_S:
            raise self._claim.lost_error("the bus is unreachable") from error
