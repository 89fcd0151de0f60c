"""A program that has been started: by us, as the leader of a group, or below a nursery (see `reaper`)."""

import errno
import marshal
import os
import signal
import socket
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from typing import Protocol

from toolcharter.guards.process.launch import Launch
from toolcharter.guards.process.marks import REAPER, Mark, end_marked, signal_marked
from toolcharter.guards.process.reaper import ENDED, SIZE, STARTED

_PATIENCE_S = 10.0
_POLL_S = 0.02


class Started(Protocol):
    """One running program with all that it starts."""

    def end_descriptor(self) -> int | None:
        """What becomes readable when the program has ended; None if that has to be asked for. Valid until `end`."""
        ...

    def status(self) -> int | None:
        """How the program ended, negative by a signal; None if it has not."""
        ...

    def signal(self, number: int) -> None:
        """Send a signal to all of it that lives."""
        ...

    def end(self) -> int:
        """Kill whatever is left of it; the program's status. May be called again."""
        ...


class Leader:
    """A child of ours that leads a group. Satisfies `Started`."""

    def __init__(self, process: "subprocess.Popen[bytes]", launch: Launch) -> None:
        self._process = process
        self._launch = launch
        self._descriptor: int | None = None

    def end_descriptor(self) -> int | None:
        """A descriptor for the process; macOS and old kernels have none."""
        if self._descriptor is None:
            with suppress(OSError, AttributeError):
                self._descriptor = os.pidfd_open(self._process.pid)
        return self._descriptor

    def status(self) -> int | None:
        """The child is left unreaped, to keep its number taken."""
        if self._process.returncode is not None:
            return self._process.returncode
        ended = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def signal(self, number: int) -> None:
        """Signal the group that the unreaped child leads, and all that has left it.

        Of a sandbox only the programs inside hear of it: the death of what holds them would be theirs, without a grace.
        """
        pid, launch = self._process.pid, self._launch
        if not launch.is_contained:
            self._signal_group(number)
        signal_marked(launch.mark, number, after=pid, but_group=None if launch.is_contained else pid)

    def end(self) -> int:
        """Kill, then reap the leader: until then its number is not reused."""
        if self._process.returncode is None:
            self._signal_group(signal.SIGKILL)
            end_marked(self._launch.mark, after=self._process.pid)
        status = self._process.wait()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        return status

    def _signal_group(self, number: int) -> None:
        # EPERM: macOS answers so for a group of zombies, Linux for one of programs with other rights.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


class Watched:
    """A program below a nursery, which we hear of through a socket. Satisfies `Started`; safe from many threads."""

    def __init__(self, control: socket.socket, mark: Mark) -> None:
        self._control = control
        self._mark = mark
        self._status: int | None = None
        self._is_open = True
        self._lock = threading.Lock()

    def end_descriptor(self) -> int | None:
        """The socket: nothing is said before the end."""
        return self._control.fileno()

    def status(self) -> int | None:
        """What the nursery said; killed, if it is gone without a word."""
        with self._lock:
            if self._status is None and self._is_open:
                self._status = self._heard(socket.MSG_DONTWAIT)
            return self._status

    def signal(self, number: int) -> None:
        """Have the nursery do it."""
        with suppress(OSError):
            self._control.send(bytes([number]))

    def end(self) -> int:
        """Have the nursery kill what is left, and wait until it has."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                with suppress(OSError):
                    self._control.shutdown(socket.SHUT_WR)
                self._control.settimeout(_PATIENCE_S)
                if self._status is None:
                    self._status = self._heard(0)
                with suppress(OSError):
                    self._control.recv(1)  # It ends when nothing of the program is left.
                self._control.close()
            return -signal.SIGKILL if self._status is None else self._status

    def _heard(self, flags: int) -> int | None:
        try:
            said = self._control.recv(ENDED.size, flags)
        except BlockingIOError:
            return None
        except OSError:
            said = b""
        if len(said) == ENDED.size:
            return int(ENDED.unpack(said)[0])
        end_marked(
            self._mark, after=0
        )  # The nursery was killed. What it held is killed by its guardian, or by its mark.
        return -signal.SIGKILL


class Nursery:
    """The process that starts programs and inherits what they leave. Safe from many threads; started by its first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        self._orders: socket.socket | None = None
        self._release: weakref.finalize[..., Nursery] | None = None

    def start(self, launch: Launch, streams: tuple[int, int, int]) -> Watched:
        """Start *launch* with three descriptors for its streams, which stay the caller's.

        Raises:
            OSError: As starting it did.
            ValueError: An argument or variable cannot be passed to a program.
        """
        order = _encoded(launch)
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._order([theirs.fileno(), *streams])
            ours.sendall(SIZE.pack(len(order)) + order)
            _require_started(ours.recv(STARTED.size, socket.MSG_WAITALL))
        except BaseException:
            ours.close()
            raise
        return Watched(ours, launch.mark)

    def close(self) -> None:
        """End it with all that it holds."""
        with self._lock:
            if self._release is not None:
                self._release()
            self._release = self._orders = None

    def _order(self, descriptors: list[int]) -> None:
        try:
            socket.send_fds(self._started(), [b"!"], descriptors)
        except (BrokenPipeError, ConnectionResetError):  # A program has killed it.
            self.close()
            socket.send_fds(self._started(), [b"!"], descriptors)

    def _started(self) -> socket.socket:
        with self._lock:
            if self._orders is None or self._owner != os.getpid():
                self._orders, self._owner = self._start(), os.getpid()
            return self._orders

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own file, by our own Python
                [sys.executable, "-I", "-S", "-B", REAPER, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                env={"LC_ALL": "C"},
                start_new_session=True,
                pass_fds=(theirs.fileno(),),
            )
        self._release = weakref.finalize(self, _end, ours, process, os.getpid())
        return ours


def begin(launch: Launch, streams: tuple[int, int, int]) -> Started:
    """Start *launch* with three descriptors for its streams, which stay the caller's.

    Raises:
        OSError: The system does not start it.
        ValueError: An argument or variable cannot be passed to a program.
    """
    if launch.nursery is not None:
        return launch.nursery.start(launch, streams)
    process = subprocess.Popen(  # noqa: S603 - no shell; the caller has pinned the program
        list(launch.argv),
        cwd=launch.cwd,
        env=dict(launch.env),
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        bufsize=0,
        start_new_session=True,  # with neither preexec_fn nor uid, CPython starts it by vfork
        pass_fds=launch.pass_fds,
    )
    return Leader(process, launch)


def _require_started(said: bytes) -> None:
    if len(said) != STARTED.size:
        raise OSError(errno.ECHILD, "what was to start it was killed")
    number = STARTED.unpack(said)[0]
    if number:
        raise OSError(number, os.strerror(number))


def _encoded(launch: Launch) -> bytes:
    argv = [os.fsencode(word) for word in launch.argv]
    env = {os.fsencode(name): os.fsencode(value) for name, value in launch.env.items()}
    texts = [*argv, *env, *env.values(), os.fsencode(launch.cwd)]
    if any(b"\0" in text for text in texts):
        raise ValueError("embedded null byte")
    if any(b"=" in name or not name for name in env):
        raise ValueError("illegal environment variable name")
    return marshal.dumps((argv, os.fsencode(launch.cwd), env, tuple(launch.mark), launch.lingers))


def _end(orders: socket.socket, process: "subprocess.Popen[bytes]", owner: int) -> None:
    orders.close()
    if owner == os.getpid():
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE_S)
