"""A program in a container that goes on while its tool returns."""

import signal
import threading
from collections.abc import Callable
from contextlib import suppress

from toolcharter import TerminalSize, ToolError
from toolcharter_docker.container import GRACE_S, Container
from toolcharter_docker.stream import STDERR, Frames

_LOST = -signal.SIGKILL


class DockerRunning:
    """What `DockerRunner.start` returns. A thread of its own waits for the program's end."""

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
        """None while it runs; negative: ended by that signal, KILL too if the daemon took its end with it."""
        return self._code

    def fileno(self) -> int:
        """The connection to the container."""
        return self._container.connection.fileno()

    def read(self, max_bytes: int) -> bytes:
        """Output that is there, without waiting; empty if there is none or no more."""
        found = b""
        with suppress(OSError):
            # A piece may hold no more than the head of a frame.
            while not found and (chunk := self._container.connection.recv(max_bytes)):
                if self._frames is None:
                    return chunk
                found = b"".join(part for stream, part in self._frames.feed(chunk) if stream != self._dropped)
        return found

    def write(self, data: bytes) -> int:
        """Write to its input what fits, without waiting; the number of bytes, 0 too if it reads no more."""
        with suppress(OSError):
            return self._container.connection.send(data)
        return 0

    def resize(self, size: TerminalSize) -> None:
        """Tell the terminal its new size, if there is one and it still runs."""
        if self._frames is None and self._code is None:
            with suppress(Exception):
                self._container.resize(size.rows, size.columns)

    def signal(self, number: int) -> None:
        """Send a signal to the program; KILL reaches all that it started, the others what it hands on."""
        if self._code is None:
            with suppress(Exception):
                self._container.kill(number)

    def wait(self, timeout_s: float) -> int | None:
        """Wait for its end; None if the time is up first."""
        self._has_ended.wait(timeout_s)
        return self._code

    def close(self) -> None:
        """End it and all that it started (TERM, a grace, KILL) and release what it holds. May be called twice."""
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
            self._ended()  # of a container that was lost nobody knows whether it runs
        except ToolError:
            code = _LOST
        self._code = code
        self._has_ended.set()
