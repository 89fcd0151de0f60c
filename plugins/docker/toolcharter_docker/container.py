"""One container, from its creation to its removal."""

import os
import select
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from toolcharter import Ended, Job, ToolError, lazy
from toolcharter_docker.daemon import Daemon, translate_errors
from toolcharter_docker.plan import Plan, exit_code, signal_name
from toolcharter_docker.stream import STDERR, STDOUT, BoundedBuffer, Frames

if TYPE_CHECKING:
    import requests
    from docker import errors as docker_errors
else:
    docker_errors = lazy("docker.errors")
    requests = lazy("requests")

GRACE_S = 0.5
"""The time between TERM and KILL, in seconds."""
CHUNK_BYTES = 65_536
POLL_S = 0.1
"""The interval of the checks whether the caller still waits for a program, in seconds."""

_WENT_AWAY = "The container or the Docker daemon went away while the program ran; the program may have done its work."
_KILL_S = 30.0
"""How long the daemon may take to end a killed program, in seconds."""
# The init process's messages for a program that cannot be executed. A program that prints them deceives only its
# caller.
_TINI_FAILED = b"[FATAL tini"
_INIT_FAILED = b"exec /sbin/docker-init: argument list too long"


class Container:
    """A container that has been created and connected. `remove` ends it in any state.

    Raises:
        Denied: `sandbox_unavailable`.
        ToolError: `program_not_found`, `invalid_arguments`.
    """

    def __init__(self, daemon: Daemon, plan: Plan) -> None:
        self._daemon = daemon
        self._client: Any = daemon.client
        self.memory_bytes = plan.memory_bytes
        with translate_errors("No container could be made"):
            host_config = self._client.create_host_config(**plan.host)
            self.identifier = str(self._client.create_container(host_config=host_config, **plan.create)["Id"])
        try:
            with translate_errors("The container could not be started"):
                self.connection = _connect_streams(self._client, self.identifier, plan.attach)
        except BaseException:
            self.remove()
            raise

    def start(self) -> None:
        """Start the program.

        Raises:
            ToolError: The connection broke after the daemon may have got the request.
        """
        with translate_errors("The container could not be started"):
            try:
                self._client.start(self.identifier)
            except requests.RequestException as error:
                if not _was_sent(error):
                    raise
                raise ToolError(_WENT_AWAY) from error

    def kill(self, number: int) -> None:
        """Send a signal to the program. KILL ends all processes of the container."""
        with translate_errors("The container could not be signalled"):
            self._client.kill(self.identifier, signal_name(number))

    def resize(self, rows: int, columns: int) -> None:
        """Set the size of the terminal."""
        with translate_errors("The terminal could not be resized"):
            self._client.resize(self.identifier, height=rows, width=columns)

    def wait(self, timeout_s: float | None) -> int | None:
        """Wait for the program's end and return its exit code; None if the time is up first.

        Raises:
            ToolError: The daemon or the container went away.
        """
        try:
            status = self._client.wait(self.identifier, timeout=timeout_s)["StatusCode"]
        except (requests.ReadTimeout, requests.ConnectTimeout):
            return None
        except (docker_errors.DockerException, requests.RequestException, OSError, ValueError) as error:
            # urllib3 reports a late body as a lost connection.
            if "Read timed out" in str(error):
                return None
            raise ToolError(_WENT_AWAY) from error
        return exit_code(int(status))

    def ran_out_of_memory(self) -> bool:
        """Return whether the kernel has killed a process of the container for lack of memory."""
        with suppress(Exception):
            return bool(self._client.inspect_container(self.identifier)["State"]["OOMKilled"])
        return False

    def remove(self) -> bool:
        """End and remove the container; return whether it is certainly gone."""
        if hasattr(self, "connection"):
            self.connection.close()
        try:
            self._client.remove_container(self.identifier, force=True, v=True)
        except docker_errors.NotFound:
            return True
        except Exception:  # noqa: BLE001 - the container may still exist; closing the runner tries again
            return False
        return True


def _was_sent(error: BaseException | None) -> bool:
    """Return whether the daemon may have got the request that ended with *error*."""
    while error is not None:
        if isinstance(error, ConnectionRefusedError | FileNotFoundError):
            return False
        error = error.__context__
    return True


def serve_container(container: Container, job: Job) -> Ended:
    """Serve a started container until its program has ended or its time is up; return the result."""
    streams = {STDOUT: BoundedBuffer(job.max_output_bytes), STDERR: BoundedBuffer(job.max_output_bytes)}
    conversation = _Conversation(container.connection, job.stdin, streams)
    timed_out = not conversation.serve(job.expires, job.is_wanted)
    code = None if timed_out else container.wait(_seconds_left(job.expires))
    if code is None:
        timed_out = True
        code = _end(container, conversation)
    out, err = streams[STDOUT], streams[STDERR]
    _require_found(job, code, bytes(err.data))
    if container.ran_out_of_memory():
        err.data += f"\ntoolcharter: out of memory, of which it had {container.memory_bytes} bytes\n".encode()
    return Ended(code, bytes(out.data), bytes(err.data), out.truncated or err.truncated, timed_out)


class _Conversation:
    """Input and output of a container on one connection."""

    def __init__(self, connection: socket.socket, stdin: bytes, streams: dict[int, BoundedBuffer]) -> None:
        self._connection = connection
        self._pending = memoryview(stdin)
        self._frames = Frames()
        self._streams = streams
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN | (select.POLLOUT if stdin else 0))

    def serve(self, until: float, is_wanted: Callable[[], bool] | None = None) -> bool:
        """Pass input and output until the container closes its streams; return whether it has.

        Returns false at the time *until*, or as soon as *is_wanted* returns false.
        """
        beat_s = 3600.0 if is_wanted is None else POLL_S
        while (left := until - time.monotonic()) > 0 and (is_wanted is None or is_wanted()):
            for _, events in self._poll.poll(min(left, beat_s) * 1000):
                if events & select.POLLOUT:
                    self._write()
                if events & ~select.POLLOUT and not self._read():
                    return True
        return False

    def _read(self) -> bool:
        try:
            chunk = self._connection.recv(CHUNK_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        for number, part in self._frames.feed(chunk):
            if number in self._streams:
                self._streams[number].add(part)
        return bool(chunk)

    def _write(self) -> None:
        try:
            self._pending = self._pending[self._connection.send(self._pending) :]
        except BlockingIOError:
            return
        except OSError:
            # The program has closed its input or ended.
            self._pending = self._pending[:0]
        if not self._pending:
            self._poll.modify(self._connection, select.POLLIN)
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_WR)


def _end(container: Container, conversation: _Conversation) -> int:
    """Send TERM, keep reading output for `GRACE_S`, then send KILL; return the exit code."""
    code = None
    for number, patience in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, _KILL_S)):
        with suppress(Exception):
            container.kill(number)
        conversation.serve(time.monotonic() + patience)
        code = container.wait(patience)
        if code is not None:
            return code
    raise ToolError("The Docker daemon does not end the program.")


def _seconds_left(until: float) -> float | None:
    # requests accepts no timeout that is infinite, zero or too large for poll(2).
    return min(max(until - time.monotonic(), 0.001), 1e6)


def _require_found(job: Job, code: int, err: bytes) -> None:
    if code == 1 and err.startswith(_INIT_FAILED):
        raise ToolError("The arguments are too long.", reason="invalid_arguments")
    if code in {126, 127} and err.startswith(_TINI_FAILED):
        raise ToolError(f"The image has no program {job.argv[0]!r} that it can run.", reason="program_not_found")


def _connect_streams(client: Any, identifier: str, params: dict[str, Any]) -> socket.socket:
    """The connection to the container's streams, as a duplicated socket."""
    attached = client.attach_socket(identifier, params=params)
    try:
        connection = socket.socket(fileno=os.dup(attached.fileno()))
    finally:
        attached._response.close()  # noqa: SLF001 - the library keeps the response there and never closes it
    connection.setblocking(False)  # noqa: FBT003 - its only way
    return connection
