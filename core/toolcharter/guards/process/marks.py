"""Marks: find all processes that a program has started, even hidden ones, by a limit that only its descendants have.

A program's descendants may leave its process group, its session and its parents, clear their environment and close
every descriptor. They keep their resource limits, which the kernel copies at each fork and which only root can raise.
So each program is started with its own values for a limit that nothing else uses: the processor time that a real-time
thread may take without a pause, here more than six days.

Every process can lower its limits. Therefore a sandbox also holds its programs in a PID namespace, and a process that
inherits orphans holds those of the host (see `reaper`). The mark remains if that process is killed, and it shows which
process belongs to which runner.

Source: getrlimit(2), RLIMIT_RTTIME; prlimit(2), for the limits of another process.
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
"""The file that a nursery runs."""


class Mark(NamedTuple):
    """The soft and the hard limit of all processes that one program starts, in microseconds."""

    run: int
    """The soft limit: this program's own."""
    runner: int
    """The hard limit: shared by all programs of one runner."""


NO_MARK = Mark(0, 0)


@lru_cache(maxsize=1)
def highest_mark() -> int:
    """The highest limit that can be set here; 0 where programs cannot be marked, as without Linux or /proc."""
    if not hasattr(resource, "prlimit") or not os.path.exists("/proc/self/limits"):
        return 0
    hard = resource.getrlimit(resource.RLIMIT_RTTIME)[1]
    highest = _HIGHEST if hard == resource.RLIM_INFINITY else hard
    return highest if highest > 2 * _LOWEST else 0


def new_runner_mark() -> int:
    """Draw a random hard limit for a runner; 0 where programs cannot be marked."""
    highest = highest_mark()
    return highest // 2 + secrets.randbelow(highest // 2) if highest else 0


def new_mark(runner: int) -> Mark:
    """Draw a random mark for one program of the runner with the mark *runner*."""
    return Mark(_LOWEST // 2 + secrets.randbelow(_LOWEST // 2), runner) if runner else NO_MARK


def signal_marked(mark: Mark, number: int, *, after: int, but_group: int | None = None) -> bool:
    """Signal every living process with *mark*, and return whether there was such a process.

    Args:
        mark: The mark with which the program was started.
        number: The signal.
        after: The number of the program's first process or of an earlier one, which has not been reaped.
        but_group: A process group to leave out, because it has already received the signal.
    """
    pids = _started_since(after) if mark.run else ()
    return _signal(pids, lambda limits: limits == mark, number, but_group)


def end_marked(mark: Mark, *, after: int) -> None:
    """Kill every process with *mark*, including those forked meanwhile, until none is left or `_SWEEP_S` is up."""
    _repeat_until_none(lambda: signal_marked(mark, signal.SIGKILL, after=after))


def end_runner(runner: int) -> None:
    """Like `end_marked`, for all programs of the runner with the mark *runner*."""
    if runner:
        _repeat_until_none(lambda: _signal(_all_processes(), lambda limits: limits[1] == runner, signal.SIGKILL, None))


def is_marked(pid: int) -> bool:
    """Whether *pid* belongs to a program that a runner of this or another process has started, unlike this process.

    True if that cannot be found out. A program may lower its limits, and root's programs may raise them, but it stays
    below its nursery as long as that lives.
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
    """The ancestors of *pid* that are nurseries of a runner."""
    while pid > 1:
        with open(f"/proc/{pid}/stat", "rb") as file:
            pid = int(file.read().rpartition(b")")[2].split()[1])
        with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            if os.fsencode(REAPER) in file.read().split(b"\0"):
                yield pid


def _repeat_until_none(finds_one: Callable[[], bool]) -> None:
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
    """The numbers of all processes that may have started since *first*, and few others."""
    newest = _newest_process()
    # Process numbers are assigned in order and start over at the system's limit.
    return range(first, newest + 1) if first <= newest <= first + _MOST_SINGLE_PROBES else _all_processes()


def _all_processes() -> Iterable[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _newest_process() -> int:
    """The number of the last process that was started. Source: proc_loadavg(5)."""
    with open("/proc/loadavg", "rb") as file:
        return int(file.read().rpartition(b" ")[2])


def _is_alive(pid: int) -> bool:
    """Whether *pid* is neither gone nor a zombie, which only its parent can reap."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split(maxsplit=1)[0] not in {b"Z", b"X"}
    except (FileNotFoundError, ProcessLookupError):
        return False
