"""Start a program: as a child of this process that leads a group, or below a nursery (see `reaper`)."""

import errno
import marshal
import math
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress

from toolcharter.guards.process.launch import Launch, StartedProgram
from toolcharter.guards.process.marks import REAPER, Mark, end_marked, signal_marked
from toolcharter.guards.process.reaper import ENDED, SIZE, STARTED, is_stopped, kill_descendants

_PATIENCE_S = 10.0
_RESUME_S = 0.05
"""How long to wait for a nursery, in seconds, before its guardian is continued: a program may have stopped both."""
_MOST_STOPS = 20
"""How often they may be found stopped during one wait. A program that stops them more often does so on purpose."""


class GroupLeader:
    """A child of this process that leads a process group. Satisfies `StartedProgram`."""

    def __init__(self, process: "subprocess.Popen[bytes]", launch: Launch) -> None:
        self._process = process
        self._launch = launch
        self._descriptor: int | None = None

    def end_descriptor(self) -> int | None:
        """A descriptor of the process; None on macOS and old kernels."""
        if self._descriptor is None:
            with suppress(OSError, AttributeError):
                self._descriptor = os.pidfd_open(self._process.pid)
        return self._descriptor

    def status(self) -> int | None:
        """The child's status. Does not reap the child, so that its number stays taken."""
        if self._process.returncode is not None:
            return self._process.returncode
        ended = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def signal(self, number: int) -> None:
        """Signal the group that the unreaped child leads, and all marked processes that have left the group.

        Of a sandbox, only the programs inside get the signal: if the process that holds them died, they would die with
        it, without a grace period.
        """
        pid, launch = self._process.pid, self._launch
        if not launch.is_contained:
            self._signal_group(number)
        signal_marked(launch.mark, number, after=pid, but_group=None if launch.is_contained else pid)

    def end(self) -> int:
        """Kill all processes, then reap the leader, whose number is not reused until then."""
        if self._process.returncode is None:
            self._signal_group(signal.SIGKILL)
            end_marked(self._launch.mark, after=self._process.pid)
        status = self._process.wait()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        return status

    def _signal_group(self, number: int) -> None:
        # EPERM: on macOS for a group of zombies, on Linux for a group of another user's processes.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


class NurseryProgram:
    """A program below a nursery, which reports its end on a socket. Satisfies `StartedProgram`; thread-safe."""

    def __init__(self, control: socket.socket, mark: Mark, guardian: "Guardian") -> None:
        self._control = control
        self._mark = mark
        self._guardian = guardian
        self._status: int | None = None
        self._is_open = True
        self._lock = threading.Lock()

    def end_descriptor(self) -> int | None:
        """The socket, on which the nursery writes nothing before the program's end."""
        return self._control.fileno()

    def status(self) -> int | None:
        """The status that the nursery has reported, or KILL's if the nursery ended without a report."""
        with self._lock:
            if self._status is None and self._is_open:
                self._status = self._receive_status(socket.MSG_DONTWAIT)
            return self._status

    def signal(self, number: int) -> None:
        """Have the nursery send the signal."""
        with suppress(OSError):
            self._control.send(bytes([number]))

    def end(self) -> int:
        """Have the nursery kill the processes that are left, and wait until it has done so."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                with suppress(OSError):
                    self._control.shutdown(socket.SHUT_WR)
                if self._status is None:
                    self._guardian.wait_until_ready(self._control, select.POLLIN, _PATIENCE_S)
                    self._status = self._receive_status(socket.MSG_DONTWAIT)
                if self._status is None:
                    end_marked(self._mark, after=0)  # The nursery does not answer: kill what the mark finds.
                # The socket ends when nothing of the program is left.
                self._guardian.wait_until_ready(self._control, select.POLLIN, _PATIENCE_S)
                self._control.close()
            return -signal.SIGKILL if self._status is None else self._status

    def _receive_status(self, flags: int) -> int | None:
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
        )  # The nursery was killed. Its guardian kills the program's processes, and so does this, by their mark.
        return -signal.SIGKILL


class Guardian:
    """The guardian process of one nursery, as seen by its parent.

    If a program stops the nursery, the guardian continues it. If a program stops both, the parent continues the
    guardian after `_RESUME_S`. If that happens again and again, the parent kills all processes below the guardian.
    """

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._owner = os.getpid()

    def wait_until_ready(self, control: socket.socket, event: int, patience_s: float) -> bool:
        """Wait until *control* is ready for *event* of `poll`, or its peer has ended. False if the time is up first."""
        poll = select.poll()
        poll.register(control, event)
        return self._poll_until(lambda: bool(poll.poll(_RESUME_S * 1000)), patience_s)

    def send_all(self, control: socket.socket, data: bytes) -> None:
        """Send all of *data*, even if the nursery is stopped meanwhile."""
        rest = memoryview(data)
        while rest:
            self.wait_until_ready(control, select.POLLOUT, math.inf)
            rest = rest[control.send(rest, socket.MSG_DONTWAIT) :]

    def end(self) -> None:
        """Wait for the guardian's end. The caller must have closed the nursery's orders."""
        if self._owner == os.getpid():
            self._poll_until(self._has_ended, _PATIENCE_S)

    def _poll_until(self, is_done: Callable[[], bool], patience_s: float) -> bool:
        """Call *is_done*, which waits up to `_RESUME_S`, until it is true, and continue the guardian in between."""
        until, stops = time.monotonic() + patience_s, 0
        while not is_done():
            if time.monotonic() > until:
                return False
            if self._owner == os.getpid():  # For a forked process the guardian is no child: its number may be reused.
                stops += is_stopped(self._process.pid)
                if stops > _MOST_STOPS:
                    kill_descendants(self._process.pid)
                self._process.send_signal(signal.SIGCONT)
        return True

    def _has_ended(self) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_RESUME_S)
        return self._process.returncode is not None


class Nursery:
    """The process that starts programs and inherits their orphans. Safe from many threads; started at its first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        self._orders: tuple[socket.socket, Guardian] | None = None
        self._release: weakref.finalize[..., Nursery] | None = None

    def start(self, launch: Launch, streams: tuple[int, int, int]) -> NurseryProgram:
        """Start *launch* with three descriptors for its streams, which the caller still has to close.

        Raises:
            OSError: The system did not start the program, or the nursery was killed.
            ValueError: An argument or variable cannot be passed to a program.
        """
        order = _encode_launch(launch)
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                guardian = self._send_order([theirs.fileno(), *streams])
            guardian.send_all(ours, SIZE.pack(len(order)) + order)
            guardian.wait_until_ready(ours, select.POLLIN, math.inf)
            _require_started(ours.recv(STARTED.size, socket.MSG_WAITALL))
        except BaseException:
            ours.close()
            raise
        return NurseryProgram(ours, launch.mark, guardian)

    def close(self) -> None:
        """End the nursery and all its programs."""
        with self._lock:
            if self._release is not None:
                self._release()
            self._release = self._orders = None

    def _send_order(self, descriptors: list[int]) -> Guardian:
        orders, guardian = self._ensure_started()
        try:
            socket.send_fds(orders, [b"!"], descriptors)
        except (BrokenPipeError, ConnectionResetError):  # A program has killed the nursery.
            self.close()
            orders, guardian = self._ensure_started()
            socket.send_fds(orders, [b"!"], descriptors)
        return guardian

    def _ensure_started(self) -> tuple[socket.socket, Guardian]:
        with self._lock:
            if self._orders is None or self._owner != os.getpid():
                self._orders, self._owner = self._spawn_guardian(), os.getpid()
            return self._orders

    def _spawn_guardian(self) -> tuple[socket.socket, Guardian]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
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
        guardian = Guardian(process)
        self._release = weakref.finalize(self, _end_guardian, ours, guardian)
        return ours, guardian


def start_program(launch: Launch, streams: tuple[int, int, int]) -> StartedProgram:
    """Start *launch* with three descriptors for its streams, which the caller still has to close.

    Raises:
        OSError: The system does not start it.
        ValueError: An argument or variable cannot be passed to a program.
    """
    if launch.nursery is not None:
        return launch.nursery.start(launch, streams)
    process = subprocess.Popen(
        list(launch.argv),
        cwd=launch.cwd,
        env=dict(launch.env),
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        bufsize=0,
        start_new_session=True,  # without preexec_fn and uid, CPython uses vfork
        pass_fds=launch.pass_fds,
    )
    return GroupLeader(process, launch)


def _require_started(said: bytes) -> None:
    if len(said) != STARTED.size:
        raise OSError(errno.ECHILD, "the process that starts programs was killed")
    number = STARTED.unpack(said)[0]
    if number:
        raise OSError(number, os.strerror(number))


def _encode_launch(launch: Launch) -> bytes:
    argv = [os.fsencode(word) for word in launch.argv]
    env = {os.fsencode(name): os.fsencode(value) for name, value in launch.env.items()}
    texts = [*argv, *env, *env.values(), os.fsencode(launch.cwd)]
    if any(b"\0" in text for text in texts):
        raise ValueError("embedded null byte")
    if any(b"=" in name or not name for name in env):
        raise ValueError("illegal environment variable name")
    return marshal.dumps((argv, os.fsencode(launch.cwd), env, tuple(launch.mark), launch.lingers))


def _end_guardian(orders: socket.socket, guardian: Guardian) -> None:
    orders.close()
    guardian.end()
