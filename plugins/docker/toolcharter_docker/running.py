"""A program in a container that keeps running after its tool has returned."""

import signal
import threading
from collections.abc import Callable
from contextlib import suppress

from toolcharter import TerminalSize, ToolError
from toolcharter_docker.container import GRACE_S, Container
from toolcharter_docker.stream import STDERR, Frames

_LOST = -signal.SIGKILL


class DockerRunning:
    """A running program, as `DockerRunner.start` returns it. Its own thread waits for the program's end."""

    lost: None = None

    def __init__(
        self,
        container: Container,
        release: Callable[[Container], None],
        ended: Callable[[], None],
        *,
        is_terminal: bool,
        drops_errors: bool = False,
    ) -> None:
        self._container = container
        self._release = release
        self._ended = ended
        self._frames = None if is_terminal else Frames()
        self._dropped = STDERR if drops_errors else None
        self._code: int | None = None
        self._has_ended = threading.Event()
        self._is_closed = False
        threading.Thread(target=self._await_end, name=f"docker-{container.identifier[:12]}", daemon=True).start()

    @property
    def exit_code(self) -> int | None:
        """The program's exit code; None while it runs; negative for a signal.

        The code is that of KILL if the daemon or the container went away.
        """
        return self._code

    def fileno(self) -> int:
        """Return the descriptor of the connection to the container."""
        return self._container.connection.fileno()

    def read(self, max_bytes: int) -> bytes:
        """Return available output without waiting; empty if there is none now or no more at all."""
        found = b""
        with suppress(OSError):
            # A chunk may hold only the header of a frame.
            while not found and (chunk := self._container.connection.recv(max_bytes)):
                if self._frames is None:
                    return chunk
                found = b"".join(part for stream, part in self._frames.feed(chunk) if stream != self._dropped)
        return found

    def write(self, data: bytes) -> int:
        """Write as much of *data* as possible to the input without waiting; return the number of bytes.

        Returns 0 also if the program no longer reads.
        """
        with suppress(OSError):
            return self._container.connection.send(data)
        return 0

    def resize(self, size: TerminalSize) -> None:
        """Set the size of the terminal, if there is one and the program still runs."""
        if self._frames is None and self._code is None:
            with suppress(Exception):
                self._container.resize(size.rows, size.columns)

    def signal(self, number: int) -> None:
        """Send a signal to the program. KILL also ends its processes; they get other signals only from the program."""
        if self._code is None:
            with suppress(Exception):
                self._container.kill(number)

    def wait(self, timeout_s: float) -> int | None:
        """Wait for the program's end; return its exit code, or None if the time is up first."""
        self._has_ended.wait(timeout_s)
        return self._code

    def close(self) -> None:
        """End the program and its processes (TERM, a pause, KILL), and remove the container. May be called twice."""
        if self._is_closed:
            return
        self._is_closed = True
        self.signal(signal.SIGTERM)
        self.wait(GRACE_S)
        self._release(self._container)

    def _await_end(self) -> None:
        code: int | None = None
        try:
            while code is None:
                code = self._container.wait(None)
            self._ended()  # not for a lost container: it may still be running
        except ToolError:
            code = _LOST
        self._code = code
        self._has_ended.set()
