"""Control groups: they limit the processes of a sandbox that root starts. The kernel exempts root from the usual limit.

Source: the kernel's Documentation/admin-guide/cgroup-v1/pids.rst and cgroup-v2.rst; kernel/fork.c, copy_process.
"""

import itertools
import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from toolcharter_bwrap.placeholders import Keeper

_ROOT = Path("/sys/fs/cgroup")
# With the sticky bit, by which the keeper recognises our groups.
_GROUP_MODE = 0o1755
_REMOVAL_TIMEOUT_S = 2.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.0001, 0.01
# Bubblewrap's own processes: the one outside, and the first process inside.
_OWN_PROCESSES = 2
_numbers = itertools.count()


@contextmanager
def limit_processes(processes: int | None, keeper: Keeper) -> Generator[tuple[str, ...]]:
    """Make a control group; yield a command prefix that limits a program and its descendants to *processes*.

    The prefix is empty without a limit, for users other than root, and on hosts without a usable group. *keeper*
    removes the group if this process is killed.
    """
    parent = _parent_group() if processes is not None and os.geteuid() == 0 else None
    if parent is None or processes is None:
        yield ()
        return
    group = parent / f"toolcharter-{os.getpid()}-{next(_numbers)}"
    group.mkdir()
    try:
        group.chmod(_GROUP_MODE)
        keeper.add(str(group))
        (group / "pids.max").write_text(str(processes + _OWN_PROCESSES))
        yield ("/bin/sh", "-c", 'echo 0 >"$0" && exec "$@"', str(_entry_file(group)))
    finally:
        _remove(group)
        keeper.drop(str(group))


@lru_cache(maxsize=1)
def _parent_group() -> Path | None:
    """The parent of the groups to make; None if this process may use none."""
    return next((place for place in _candidate_groups() if _is_usable(place)), None)


def _candidate_groups() -> Generator[Path]:
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if "pids" in controllers.split(","):
                yield from (_ROOT / "pids" / path.lstrip("/"), _ROOT / "pids")
            elif not controllers:
                yield from (_ROOT / path.lstrip("/"), _ROOT)


def _is_usable(place: Path) -> bool:
    probe = place / f"toolcharter-{os.getpid()}-probe"
    try:
        probe.mkdir()
        return _has_controller(probe)
    except OSError:
        return False
    finally:
        with suppress(OSError):
            probe.rmdir()


def _has_controller(group: Path) -> bool:
    return os.access(group / "pids.max", os.W_OK)


def _entry_file(group: Path) -> Path:
    """The file by which a process with one thread enters *group*.

    To move a whole process, version 1 blocks the forks of all processes and waits until no processor is within a fork.
    That takes as long as the rest of a run. A thread that moves only itself is moved at once. Version 2 cannot move
    single threads.

    Source: the kernel's kernel/cgroup/cgroup.c, `cgroup_procs_write_start`.
    """
    tasks = group / "tasks"
    return tasks if tasks.exists() else group / "cgroup.procs"


def _remove(group: Path) -> None:
    until, pause_s = time.monotonic() + _REMOVAL_TIMEOUT_S, _FIRST_PAUSE_S
    while time.monotonic() < until:
        try:
            group.rmdir()
        except OSError:  # its last processes are still being reaped, mostly within a fraction of a millisecond
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        else:
            return
