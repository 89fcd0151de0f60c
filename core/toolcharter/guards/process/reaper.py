"""The process that starts the programs of the runner `host`, and inherits the processes that they leave behind.

It is run as a file, without the rest of the package: `python -I -S reaper.py DESCRIPTOR`. It consists of two processes.
The nursery starts the programs of one runner. The guardian waits for the end of the nursery and then kills its orphans,
so a program that kills the nursery gains nothing. Both are subreapers: a descendant that leaves its group, its session
and its parents becomes a child of the nursery, even if it lowers its limits.

The nursery cannot see which program such a child came from. It uses the child's mark (see `marks`), which every process
can change for itself. A child lives only while a program with the same mark runs. A child with a mark of no program is
killed at once; a child that has taken the mark of another program ends with that program.

Both processes end when the process that started them closes its end of the socket or dies. A program may stop both with
SIGSTOP: the process that started the guardian then continues it (see `start`), and if that process dies, the kernel
does.

Source: PR_SET_CHILD_SUBREAPER(2const), PR_SET_PDEATHSIG(2const); credentials(7).
"""

import ctypes
import marshal
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from types import FrameType

SIZE = struct.Struct("=I")
STARTED = struct.Struct("=i")
"""0, or the error number if the program did not start."""
ENDED = struct.Struct("=i")
"""The program's exit code, or the negative signal that ended it."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_SWEEP_S = 3.0
"""How long to wait for the end of a program's processes: one may hang in the kernel, or belong to another user."""
_PAUSE_S = 0.0005
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
# Python ignores the first two signals and we ignore the others; programs must start with the default actions.
_DEFAULTS = (signal.SIGPIPE, signal.SIGXFSZ, *_IGNORED)


class Run:
    """One program. If it *lingers*, the processes that it leaves behind live on until the order to end the run."""

    def __init__(self, control: socket.socket, program: int, mark: tuple[int, int], *, lingers: bool) -> None:
        self.control = control
        self.program = program
        self.mark = mark
        self.lingers = lingers
        self.status: int | None = None
        self.is_over = False


class Nursery:
    """Starts programs, reports their ends and kills their orphans."""

    def __init__(self, orders: int) -> None:
        os.set_inheritable(orders, False)  # noqa: FBT003 - it takes no keyword
        self._orders = socket.socket(fileno=orders)
        self._wake = _open_wake_pipe()
        self._runs: dict[int, Run] = {}
        self._poll = select.poll()
        for descriptor in (orders, self._wake):
            self._poll.register(descriptor, select.POLLIN)

    def serve(self) -> None:
        """Follow orders until the other end of the socket is closed."""
        while True:
            ready = {descriptor for descriptor, _ in self._poll.poll()}
            if self._orders.fileno() in ready and not self._start_run():
                return
            for run in [self._runs[descriptor] for descriptor in ready if descriptor in self._runs]:
                self._forward_signals(run)
            if self._wake in ready:
                _drain(self._wake)
            self._end_finished_runs()

    def _start_run(self) -> bool:
        """Start a program. Return False if the orders have ended."""
        data, given, _, _ = socket.recv_fds(self._orders, 1, 4)
        if not data:
            return False
        for descriptor in given:
            os.set_inheritable(descriptor, False)  # noqa: FBT003 - it takes no keyword
        control, streams = socket.socket(fileno=given[0]), given[1:]
        try:
            argv, cwd, env, mark, lingers = marshal.loads(_receive_order(control))  # noqa: S302 - only the gate can write it
            os.chdir(cwd)
            actions = [(os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(streams)]
            program = os.posix_spawn(
                argv[0], argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=_DEFAULTS
            )
        except (OSError, EOFError) as error:
            with suppress(OSError), control:
                control.sendall(STARTED.pack(getattr(error, "errno", None) or 1))
        else:
            self._runs[control.fileno()] = Run(control, program, mark, lingers=lingers)
            self._poll.register(control, select.POLLIN)
            with suppress(OSError):
                control.sendall(STARTED.pack(0))
        finally:
            os.chdir("/")  # A current folder on a disk would keep that disk from being unmounted.
            for stream in streams:
                os.close(stream)
        return True

    def _forward_signals(self, run: Run) -> None:
        """Forward signals to the run's processes. The end of the socket is the order to end the run."""
        numbers = b""
        with suppress(OSError):
            numbers = run.control.recv(64)
        run.is_over = run.is_over or not numbers
        for number in numbers:
            for pid in self._processes_of(run):
                _kill(pid, number)

    def _end_finished_runs(self) -> None:
        """End the runs that are over, and the children that belong to no run."""
        self._reap()
        over = [run for run in self._runs.values() if run.is_over or (run.status is not None and not run.lingers)]
        for run in over:
            del self._runs[run.control.fileno()]
            self._poll.unregister(run.control)
        until = time.monotonic() + _SWEEP_S
        while strays := self._children_without_run():
            for pid in strays:
                _kill(pid)
            if time.monotonic() > until:
                break
            time.sleep(_PAUSE_S)
            self._reap(over)
        for run in over:
            if not (run.lingers and run.status is not None):
                _report_end(run)
            run.control.close()

    def _reap(self, over: "list[Run] | tuple[()]" = ()) -> None:
        for pid, status in _reap_children():
            for run in (*self._runs.values(), *over):
                if run.program == pid and run.status is None:
                    run.status = status
                    if run.lingers and run not in over:
                        _report_end(run)

    def _children_without_run(self) -> list[int]:
        """The children that belong to no run."""
        programs = {run.program for run in self._runs.values() if run.status is None}
        marks = {run.mark for run in self._runs.values()}
        left = [pid for pid in _children() if pid not in programs]
        if (0, 0) in marks:  # Some programs could not be marked: any child may be theirs.
            return []
        return [pid for pid in left if _mark_of(pid) not in marks]

    def _processes_of(self, run: Run) -> list[int]:
        """The program, its orphans that have become children of the nursery, and all their descendants."""
        tops = [pid for pid in _children() if (pid == run.program and run.status is None) or _mark_of(pid) == run.mark]
        return _with_descendants(tops)


def run_guardian(nursery: int) -> None:
    """Wait for the end of the process *nursery*, and end its orphans. If a program stops the nursery, continue it."""
    while True:
        with suppress(ChildProcessError):
            pid, status = os.waitpid(-1, os.WUNTRACED)
            if pid == nursery and os.WIFSTOPPED(status):
                _kill(nursery, signal.SIGCONT)
            if pid != nursery or os.WIFSTOPPED(status):
                continue
        break
    kill_children()


def kill_children() -> None:
    """Kill all children until none is left. A process that is forked meanwhile becomes a child and is killed, too."""
    until = time.monotonic() + _SWEEP_S
    while True:
        _reap_children()
        left = _children()
        if not left or time.monotonic() > until:
            return
        for pid in left:
            _kill(pid)
        time.sleep(_PAUSE_S)


def kill_descendants(top: int) -> None:
    """Kill all descendants of the process *top*, from outside, until only zombies are left."""
    until = time.monotonic() + _SWEEP_S
    while True:
        left = [pid for pid in _with_descendants([top])[1:] if _is_alive(pid)]
        if not left or time.monotonic() > until:
            return
        for pid in left:
            _kill(pid)
        time.sleep(_PAUSE_S)


def is_stopped(top: int) -> bool:
    """Whether the guardian *top* or its nursery is stopped. Called by the guardian's parent."""
    ours = _command_line(top)
    return any(
        _state(pid) in {b"T", b"t"} for pid in _with_descendants([top]) if pid == top or _command_line(pid) == ours
    )


def _is_alive(pid: int) -> bool:
    """Whether *pid* is neither gone nor a zombie."""
    return _state(pid) not in {b"", b"Z", b"X"}


def _state(pid: int) -> bytes:
    with suppress(OSError, IndexError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0]
    return b""


def _command_line(pid: int) -> bytes:
    with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read()
    return b""


def _report_end(run: Run) -> None:
    with suppress(OSError):
        run.control.sendall(ENDED.pack(-signal.SIGKILL if run.status is None else run.status))


def _receive_order(control: socket.socket) -> bytes:
    return _receive_exactly(control, SIZE.unpack(_receive_exactly(control, SIZE.size))[0])


def _receive_exactly(control: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = control.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def _reap_children() -> list[tuple[int, int]]:
    """Reap the children that have ended since the last call, and return each with its status."""
    found: list[tuple[int, int]] = []
    with suppress(ChildProcessError):
        while (one := os.waitpid(-1, os.WNOHANG))[0]:
            found.append((one[0], os.waitstatus_to_exitcode(one[1])))
    return found


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
            return [int(pid) for pid in file.read().split()]
    except FileNotFoundError:  # a kernel without CONFIG_PROC_CHILDREN
        return [pid for pid, parent in _parents().items() if parent == os.getpid()]


def _with_descendants(tops: list[int]) -> list[int]:
    """*tops* and all their descendants."""
    parents = _parents()
    found, known = list(tops), set(tops)
    for above in found:
        for pid, parent in parents.items():
            if parent == above and pid not in known:
                known.add(pid)
                found.append(pid)
    return found


def _parents() -> dict[int, int]:
    found: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                found[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    return found


def _mark_of(pid: int) -> tuple[int, int] | None:
    with suppress(OSError):
        return resource.prlimit(pid, resource.RLIMIT_RTTIME)
    return None


def _kill(pid: int, number: int = signal.SIGKILL) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _become_subreaper() -> None:
    """Become a subreaper, and have the kernel continue this process at its parent's death if it is stopped."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) or prctl(_PR_SET_PDEATHSIG, signal.SIGCONT, 0, 0, 0):
        os._exit(1)


def _open_wake_pipe() -> int:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _ignore_signal)
    return reading


def _ignore_signal(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: Python has already written the signal's number to the pipe."""


def _drain(descriptor: int) -> None:
    with suppress(BlockingIOError):
        while os.read(descriptor, 4096):
            pass


def main(orders: int) -> None:
    """Become the guardian, and the nursery below it."""
    for ignored in _IGNORED:
        signal.signal(ignored, signal.SIG_IGN)
    _become_subreaper()
    nursery = os.fork()
    if nursery:
        os.close(orders)
        run_guardian(nursery)
    else:
        _become_subreaper()
        Nursery(orders).serve()


if __name__ == "__main__":
    main(int(sys.argv[1]))
