"""Programs that keep running after their tool has returned: on pipes, or on their own terminal."""

import fcntl
import os
import select
import signal
import struct
import termios
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import replace

from toolcharter.api.runner import TerminalSize
from toolcharter.guards.process.launch import Launch, StartedProgram
from toolcharter.guards.process.start import start_program
from toolcharter.guards.process.supervise import GRACE_S, POLL_S, translate_start_errors

_MOST_INPUT_BYTES = 65_536


class RunningProgram:
    """Satisfies `Running`. Closes *output* and *input_*, which are the same descriptor if there is a terminal."""

    lost: None = None
    on_end: ExitStack
    """Closed after the program has been closed."""

    def __init__(self, started: StartedProgram, launch: Launch, output: int, input_: int) -> None:
        self._started = started
        self._launch = launch
        self._output = output
        self._input = input_
        self.on_end = ExitStack()
        self._exit_code: int | None = None
        self._is_open = True
        self._lock = threading.Lock()
        for descriptor in {output, input_}:
            os.set_blocking(descriptor, False)

    @property
    def exit_code(self) -> int | None:
        """None while the program runs; negative if that signal ended it."""
        with self._lock:
            return self._status()

    def fileno(self) -> int:
        """The descriptor that becomes readable when there is output."""
        return self._output

    def read(self, max_bytes: int) -> bytes:
        """Return the available output, without waiting; empty if there is none yet or no more."""
        # EIO: no program has the terminal open any more.
        with suppress(OSError):
            return os.read(self._output, max_bytes) if self._is_open else b""
        return b""

    def write(self, data: bytes) -> int:
        """Write as much input as fits, without waiting, and return the number of bytes; 0 if the input is closed."""
        with suppress(OSError):
            return os.write(self._input, data[:_MOST_INPUT_BYTES]) if self._is_open and data else 0
        return 0

    def resize(self, size: TerminalSize) -> None:
        """Set the size of the program's terminal. Does nothing without a terminal."""
        if self._is_open and self._output == self._input:
            set_size(self._output, size)

    def signal(self, number: int) -> None:
        """Send a signal to all of the program's processes that are alive."""
        with self._lock:
            if self._is_open:
                self._started.signal(number)

    def wait(self, timeout_s: float) -> int | None:
        """Wait for the program's end and return its exit code; None if the time is up first."""
        until = time.monotonic() + timeout_s
        while (code := self.exit_code) is None and (left := until - time.monotonic()) > 0:
            self._wait_for_end(left)
        return code

    def close(self) -> None:
        """End the program and all its processes (TERM, `GRACE_S`, KILL), and release its descriptors."""
        self.signal(signal.SIGTERM)
        self.wait(GRACE_S if self._is_open else 0)
        with self._lock:
            if not self._is_open:
                return
            self._exit_code = self._launch.exit_code(self._started.end())
            self._is_open = False
            for descriptor in {self._output, self._input}:
                os.close(descriptor)
        self.on_end.close()

    def _status(self) -> int | None:
        if self._exit_code is None:
            status = self._started.status()
            self._exit_code = None if status is None else self._launch.exit_code(status)
        return self._exit_code

    def _wait_for_end(self, most_s: float) -> None:
        descriptor = self._started.end_descriptor()
        if descriptor is None or descriptor < 0:
            time.sleep(min(most_s, POLL_S))
            return
        ends = select.poll()
        ends.register(descriptor, select.POLLIN)
        ends.poll(most_s * 1000)


def start_on_pipes(launch: Launch, *, drops_errors: bool = False) -> RunningProgram:
    """Start *launch* with a pipe for its input and one for both outputs, or with its standard error dropped.

    Raises as `supervise` does.
    """
    with translate_start_errors(launch), ExitStack() as theirs, ExitStack() as ours:
        stdin, input_ = os.pipe()
        theirs.callback(os.close, stdin)
        ours.callback(os.close, input_)
        output, stdout = os.pipe()
        theirs.callback(os.close, stdout)
        ours.callback(os.close, output)
        stderr = stdout
        if drops_errors:
            stderr = os.open(os.devnull, os.O_WRONLY)
            theirs.callback(os.close, stderr)
        program = RunningProgram(
            start_program(replace(launch, lingers=True), (stdin, stdout, stderr)), launch, output, input_
        )
        ours.pop_all()
        return program


def start_on_terminal(launch: Launch, size: TerminalSize) -> RunningProgram:
    """Start *launch* with a new terminal for its three streams. Raises as `supervise` does.

    The command of *launch* must make it the controlling terminal: see `controlling`.
    """
    ours, theirs = os.openpty()
    try:
        set_size(theirs, size)
        with translate_start_errors(launch):
            return RunningProgram(
                start_program(replace(launch, lingers=True), (theirs, theirs, theirs)), launch, ours, ours
            )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)


def set_size(terminal: int, size: TerminalSize) -> None:
    """Set a terminal's size. Its programs receive WINCH. Source: TIOCSWINSZ(2const)."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size.rows, size.columns, 0, 0))
