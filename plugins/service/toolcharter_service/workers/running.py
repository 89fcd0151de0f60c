"""A program that goes on at a worker, as the tool that started it has it."""

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
from toolcharter_service.workers.job import end_of
from toolcharter_service.workers.pieces import CALLER, PIECE_BYTES, Bell, Side

RETRY_S = 0.2
_LOST = -int(signal.SIGKILL)
_MOST_TOLD = 256
"""Signals and sizes that wait while the bus is away; of more the oldest go."""


class RemoteRunning:
    """Satisfies `Running`. A thread of its own carries what goes in and out; where one side waits, so does the other."""

    def __init__(self, claim: Claim, on_close: Callable[["RemoteRunning"], object]) -> None:
        self._claim, self._on_close = claim, on_close
        self._bell = Bell()
        self._side = Side(claim.place.bus, claim.place.tenant, claim.job_id, CALLER, self._bell)
        self._out, self._in, self._control = self._side.reader("out"), self._side.writer("in"), self._side.writer("ctl")
        self._lock = threading.Lock()
        self._input = bytearray()
        self._told = deque[bytes](maxlen=_MOST_TOLD)
        self._sending = self._telling = b""
        """Pieces that the bus has not taken yet: what is put once more has to be the same."""
        self._readable, self._writable = os.pipe()
        for descriptor in (self._readable, self._writable):
            os.set_blocking(descriptor, False)
        self._output = b""
        """What the tool has not read yet, beyond what the pipe holds."""
        self._exit_code: int | None = None
        self._has_ended = threading.Event()
        self._is_closing = False
        self._look_at = 0.0
        self._seen = time.monotonic()
        """When the worker was known to live."""
        self.lost: ToolError | None = None

    def begin(self, put: Callable[[], object]) -> None:
        """Put its job, and return when a worker has started it.

        Raises:
            Denied: No worker took it, or the one that did refuses it. Nothing was started.
            ToolError: `worker_lost`, and what the worker's runner raises.
        """
        try:
            put()
            while (piece := self._first()) is None:
                self._bell.wait(POLL_S)
            if piece[:1] == b"x":
                end_of(piece)
        except BaseException:
            self._side.close()
            self._bell.close()
            os.close(self._writable)
            os.close(self._readable)
            raise
        threading.Thread(target=self._carry, name=f"toolcharter-{self._claim.job_id}", daemon=True).start()

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative: ended by that signal, KILL too if its worker is lost."""
        return self._exit_code

    def fileno(self) -> int:
        """What becomes readable when there is output."""
        return self._readable

    def read(self, max_bytes: int) -> bytes:
        """Output that is there, without waiting; empty if there is none or no more."""
        with self._lock, suppress(BlockingIOError):
            return b"" if self._is_closing else os.read(self._readable, max_bytes)
        return b""

    def write(self, data: bytes) -> int:
        """Take what fits of *data* for its input, without waiting; 0 also where it has ended."""
        with self._lock:
            if self._has_ended.is_set() or self._is_closing:
                return 0
            taken = data[: PIECE_BYTES - len(self._input)]
            self._input += taken
        self._bell.ring()
        return len(taken)

    def resize(self, size: TerminalSize) -> None:
        """Tell a program on a terminal its new size; nothing without a terminal."""
        self._tell({"size": [size.rows, size.columns]})

    def signal(self, number: int) -> None:
        """Send a signal to all of it."""
        self._tell({"signal": int(number)})

    def wait(self, timeout_s: float) -> int | None:
        """Wait for its end; None if the time is up first."""
        self._has_ended.wait(timeout_s)
        return self._exit_code

    def close(self) -> None:
        """Have the worker end it, and wait for that. May be called twice."""
        with self._lock:
            if self._is_closing:
                return
            self._is_closing = True
            os.close(self._readable)
        self._bell.ring()
        self._has_ended.wait(2 * STOP_S)
        self._on_close(self)

    def _tell(self, what: dict[str, Any]) -> None:
        with self._lock:
            self._told.append(orjson.dumps(what))
        self._bell.ring()

    def _first(self) -> bytes | None:
        """The piece that says whether it has started, if it is there."""
        claim = self._claim
        try:
            self._side.look()
            piece = self._out.next()
            if piece is not None:
                return piece
            if not claim.is_taken():
                claim.require_in_time()
            elif claim.has_holder():
                self._seen = time.monotonic()
            else:
                self._side.look()  # It may have said so between the two questions.
                if (piece := self._out.next()) is None:
                    raise claim.lost("it has given no sign of life")
        except BusUnavailable as error:
            self._require_bus(error)
            return None
        return piece

    def _carry(self) -> None:
        try:
            while self._exit_code is None:
                try:
                    self._round()
                except BusUnavailable as error:
                    self._require_bus(error)
                    self._bell.wait(RETRY_S)
                self._claim.require_end_in_time()
        except ToolError as error:
            self.lost = error
        finally:
            self._exit_code = _LOST if self._exit_code is None else self._exit_code
            self._has_ended.set()
            os.close(self._writable)
            self._side.close()
            self._bell.close()

    def _round(self) -> None:
        if self._is_closing and not self._claim.is_stopped:
            self._claim.stop()
        self._send()
        self._receive()
        now = time.monotonic()
        if self._exit_code is None and now >= self._look_at:
            self._side.look()
            self._look_at = now + POLL_S
            # Of a worker that has ended it, the last pieces wait until the tool has read those before.
            if not self._output and not self._claim.has_holder():
                self._receive()
                if not self._output and self._exit_code is None:
                    raise self._claim.lost("it has given no sign of life")
            self._seen = now
        if self._exit_code is None:
            self._bell.wait(self._look_at - now, writable=self._writable if self._output else None)

    def _send(self) -> None:
        while self._control.has_room:
            with self._lock:
                if not self._telling and self._told:
                    self._telling = self._told.popleft()
            if not self._telling:
                break
            self._control.put(self._telling)
            self._telling = b""
        while self._in.has_room:
            with self._lock:
                if not self._sending:
                    self._sending = bytes(self._input)
                    self._input.clear()
            if not self._sending:
                break
            self._in.put(self._sending)
            self._sending = b""

    def _receive(self) -> None:
        """Hand over what has come, as far as the tool reads it."""
        while self._exit_code is None and self._is_handed_over():
            piece = self._out.next()
            if piece is None:
                return
            if piece[:1] == b"x":
                code = None
                with suppress(Denied, ToolError):  # It has begun, so that nobody hears why it ends otherwise.
                    code = end_of(piece).exit_code
                self._exit_code = _LOST if code is None else code
            else:
                self._output = piece[1:]

    def _is_handed_over(self) -> bool:
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
        """Give the worker up if the bus is away for so long that it has ended the program."""
        if time.monotonic() > self._seen + self._claim.place.lease_s + STOP_S:
            raise self._claim.lost("the bus is away") from error
