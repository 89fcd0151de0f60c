"""A background program on its worker: forwards its output, and passes input and signals to it, while it is wanted."""

import time
from collections.abc import Callable

import orjson

from toolcharter import BusUnavailable, Denied, Running, TerminalSize, ToolError
from toolcharter_service.workers.job import last_piece
from toolcharter_service.workers.pieces import PIECE_BYTES, WINDOW, StreamEndpoint, Waker

POLL_S = 1.0
"""The polling interval for pieces whose messages were lost, in seconds."""
TICK_S = 0.5
"""The polling interval for the end of a program whose output stays open, in seconds."""
LAST_ROUNDS = 64
"""How many rounds of output are forwarded after a program's end: its own child processes may keep printing."""
_SHORTEST_S, _LONGEST_S = 0.01, 0.5
"""The shortest and longest pause before writing again to a program that does not read its input, in seconds."""
RETRY_S = 0.2


class BackgroundProgram:
    """Attends one program that runs on this worker, in one thread."""

    def __init__(self, endpoint: StreamEndpoint, waker: Waker) -> None:
        self._waker, self._endpoint = waker, endpoint
        self._out, self._in, self._control = endpoint.writer("out"), endpoint.reader("in"), endpoint.reader("ctl")
        self._unsent = b"s"
        """A piece that the bus has not accepted yet. The first piece says that the program has started."""
        self._input = b""
        """Input that the program has not read yet."""
        self._patience_s = _SHORTEST_S
        self._output_ended = False
        """Whether its output has ended."""
        self._rounds_after_end = 0
        self._poll_at = 0.0

    def supervise(self, running: Running, is_wanted: Callable[[], bool], expires: float) -> int | None:
        """Attend *running* until it ends, is no longer wanted, or its time is over. Return its exit code."""
        while is_wanted() and time.monotonic() < expires:
            try:
                if self._forward_once(running):
                    break
            except BusUnavailable:
                self._waker.wait(RETRY_S)
        running.close()
        return running.exit_code

    def end(self, outcome: int | Denied | ToolError | None, is_waited_for: Callable[[], bool]) -> None:
        """Send how the program ended, or why it did not start, as long as the caller waits for it."""
        has_begun = not isinstance(outcome, (Denied, ToolError))
        # `has_room` does not matter for the last pieces: the reader takes them, or is gone.
        pieces = [self._unsent, last_piece(outcome)] if self._unsent and has_begun else [last_piece(outcome)]
        while pieces and is_waited_for():
            try:
                self._out.put(pieces[0])
                del pieces[0]
            except BusUnavailable:
                self._waker.wait(RETRY_S)
        self._in.drop()
        self._control.drop()

    def _forward_once(self, running: Running) -> bool:
        """Forward input, output and signals, then wait. Return whether the program has ended and all is sent."""
        if (now := time.monotonic()) > self._poll_at:
            self._endpoint.poll()
            self._poll_at = now + POLL_S
        self._apply_controls(running)
        self._forward_input(running)
        has_ended = running.exit_code is not None
        is_drained = self._send_output(running)
        self._rounds_after_end += has_ended
        if has_ended and (is_drained or self._rounds_after_end > LAST_ROUNDS):
            return True
        if self._out.has_room and not is_drained:
            return False
        timeout_s = min(TICK_S, self._poll_at - now, self._patience_s if self._input else TICK_S)
        wants_output = self._out.has_room and not self._output_ended
        if self._waker.wait(timeout_s, readable=running.fileno() if wants_output else None):
            self._output_ended = not self._send_piece(running)
            if self._output_ended:
                running.wait(TICK_S)  # A program usually ends when its output does.
        return False

    def _apply_controls(self, running: Running) -> None:
        while (piece := self._control.next()) is not None:
            control = orjson.loads(piece)
            if "signal" in control:
                running.signal(control["signal"])
            else:
                running.resize(TerminalSize(*control["size"]))

    def _forward_input(self, running: Running) -> None:
        while True:
            self._input = self._input or self._in.next() or b""
            if not self._input:
                return
            written = running.write(self._input)
            self._input = self._input[written:]
            if self._input:
                self._patience_s = _SHORTEST_S if written else min(2 * self._patience_s, _LONGEST_S)
                return
            self._patience_s = _SHORTEST_S

    def _send_output(self, running: Running) -> bool:
        """Send up to `WINDOW` pieces of output while there is room. Return whether no output is left."""
        for _ in range(WINDOW):
            if not self._out.has_room:
                return False
            if not self._send_piece(running):
                return True
        return False

    def _send_piece(self, running: Running) -> bool:
        if not self._unsent:
            output = running.read(PIECE_BYTES)
            if not output:
                return False
            self._unsent = b"o" + output
        self._out.put(self._unsent)
        self._unsent = b""
        return True
