"""Marks: find all that a program has started, wherever it hides, by a limit that only its descendants have.

A program's descendants may leave its process group, its session and its parents, clear their environment and close
every descriptor. They keep their resource limits, which the kernel copies at each fork and which only root can raise.
Anybody can lower them: a sandbox holds its programs by a namespace of process numbers, and those of the host are held by
a process that inherits them (see `reaper`). The mark is what is left if that is killed, and shows which process belongs to which runner.
So each program is started with values of its own for a limit that nothing else uses: the processor time that a
real-time thread may take without a pause, here more than twelve days of it.

Source: getrlimit(2), RLIMIT_RTTIME; prlimit(2), for reading another process's.
"""

import os
import secrets
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from toolcharter._lazy import lazy

if TYPE_CHECKING:
    import resource
else:
    resource = lazy("resource")

_LOWEST = 1 << 40
_HIGHEST = 1 << 60
_MOST_SINGLE_PROBES = 2048
_SWEEP_S = 2.0
_PAUSE_S = 0.001
REAPER = os.path.join(os.path.dirname(__file__), "reaper.py")
"""The file that nurseries run: see there."""


class Mark(NamedTuple):
    """The soft and the hard limit of everything that one program starts, in microseconds."""

    run: int
    """The program's own."""
    runner: int
    """Of all programs of one runner."""


NO_MARK = Mark(0, 0)


@lru_cache(maxsize=1)
def highest_mark() -> int:
    """The highest limit that can be set here; 0 where nothing can be marked: without Linux, without /proc."""
    if not hasattr(resource, "prlimit") or not os.path.exists("/proc/self/limits"):
        return 0
    hard = resource.getrlimit(resource.RLIMIT_RTTIME)[1]
    highest = _HIGHEST if hard == resource.RLIM_INFINITY else hard
    return highest if highest > 2 * _LOWEST else 0


def new_runner_mark() -> int:
    """A hard limit that no other runner has; 0 where nothing can be marked."""
    highest = highest_mark()
    return highest // 2 + secrets.randbelow(highest // 2) if highest else 0


def new_mark(runner: int) -> Mark:
    """A mark for one program of the runner with the mark *runner*."""
    return Mark(_LOWEST // 2 + secrets.randbelow(_LOWEST // 2), runner) if runner else NO_MARK


def signal_marked(mark: Mark, number: int, *, after: int, but_group: int | None = None) -> bool:
    """Signal every living process with *mark*; whether there was one.

    Args:
        mark: As the programs were started with.
        number: The signal.
        after: The number of the first of them or of one before it, which has not been reaped.
        but_group: A process group that has had the signal already.
    """
    pids = _started_since(after) if mark.run else ()
    return _signal(pids, lambda limits: limits == mark, number, but_group)


def end_marked(mark: Mark, *, after: int) -> None:
    """Kill every process with *mark* and wait until none is left; what forks meanwhile is killed, too."""
    _repeat(lambda: signal_marked(mark, signal.SIGKILL, after=after))


def end_runner(runner: int) -> None:
    """The same for all programs of the runner with the mark *runner*."""
    if runner:
        _repeat(lambda: _signal(_all_processes(), lambda limits: limits[1] == runner, signal.SIGKILL, None))


def is_marked(pid: int) -> bool:
    """Whether a runner, of this process or another, has started *pid* but not this process. True if that is unknown.

    A program may lower its limits, and one of root's may raise them; below its nursery it stays while that lives.
    """
    try:
        limits, ours = _limits_of(pid), _limits_of(0)
        if limits != ours and (_LOWEST // 2 <= limits[0] <= _LOWEST or _is_lower(limits[1], ours[1])):
            return True
        return bool(set(_nurseries_above(pid)) - set(_nurseries_above(os.getpid())))
    except (AttributeError, OSError, ValueError, IndexError):
        return True


def _is_lower(limit: int, other: int) -> bool:
    return limit >= 0 and (other < 0 or limit < other)  # -1 is no limit


def _nurseries_above(pid: int) -> Iterator[int]:
    """The processes above *pid*, itself excepted, that hold programs of a runner."""
    while pid > 1:
        with open(f"/proc/{pid}/stat", "rb") as file:
            pid = int(file.read().rpartition(b")")[2].split()[1])
        with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            if os.fsencode(REAPER) in file.read().split(b"\0"):
                yield pid


def _repeat(finds_one: Callable[[], bool]) -> None:
    until = time.monotonic() + _SWEEP_S
    while finds_one() and time.monotonic() < until:
        time.sleep(_PAUSE_S)


def _signal(
    pids: Iterable[int], is_meant: Callable[[tuple[int, int]], bool], number: int, but_group: int | None
) -> bool:
    found = False
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            if is_meant(_limits_of(pid)) and _is_alive(pid) and (but_group is None or os.getpgid(pid) != but_group):
                os.kill(pid, number)
                found = True
    return found


def _limits_of(pid: int) -> tuple[int, int]:
    return resource.prlimit(pid, resource.RLIMIT_RTTIME)


def _started_since(first: int) -> Iterable[int]:
    """The numbers of all processes that may have started after one, and few others."""
    newest = _newest_process()
    # Numbers are given in order and begin anew at the system's limit.
    return range(first, newest + 1) if first <= newest <= first + _MOST_SINGLE_PROBES else _all_processes()


def _all_processes() -> Iterable[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _newest_process() -> int:
    """The number of the last process that was started. Source: proc_loadavg(5)."""
    with open("/proc/loadavg", "rb") as file:
        return int(file.read().rpartition(b" ")[2])


def _is_alive(pid: int) -> bool:
    """Neither gone nor a zombie, which only its parent can do away with."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split(maxsplit=1)[0] not in {b"Z", b"X"}
    except (FileNotFoundError, ProcessLookupError):
        return False
