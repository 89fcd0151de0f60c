"""Control groups: how many processes a sandbox of root's may have. The kernel exempts root from the usual limit.

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
# With the sticky bit, by which the keeper knows what is ours.
_MODE = 0o1755
_PATIENCE_S = 2.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.0001, 0.01
# Bubblewrap's own: the one outside, and the first one inside.
_HOLDERS = 2
_numbers = itertools.count()


@contextmanager
def counted(processes: int | None, keeper: Keeper) -> Generator[tuple[str, ...]]:
    """A command prefix by which a program and its descendants are limited to *processes*, where that can be done.

    *keeper* removes the group if we are killed.
    """
    parent = _parent() if processes is not None and os.geteuid() == 0 else None
    if parent is None or processes is None:
        yield ()
        return
    group = parent / f"toolcharter-{os.getpid()}-{next(_numbers)}"
    group.mkdir()
    try:
        group.chmod(_MODE)
        keeper.add(str(group))
        (group / "pids.max").write_text(str(processes + _HOLDERS))
        yield ("/bin/sh", "-c", 'echo 0 >"$0" && exec "$@"', str(_entrance(group)))
    finally:
        _remove(group)
        keeper.drop(str(group))


@lru_cache(maxsize=1)
def _parent() -> Path | None:
    """The group in which ours are made; None where there is none that we may use."""
    return next((place for place in _places() if _is_usable(place)), None)


def _places() -> Generator[Path]:
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


def _entrance(group: Path) -> Path:
    """The file by which a process of one thread enters *group*.

    To move a whole process, version 1 stops the forks of all processes and waits until no processor is within one, which takes as
    long as the rest of a run. A thread that moves itself is moved at once. Version 2 lets no single thread through.

    Source: the kernel's kernel/cgroup/cgroup.c, `cgroup_procs_write_start`.
    """
    tasks = group / "tasks"
    return tasks if tasks.exists() else group / "cgroup.procs"


def _remove(group: Path) -> None:
    until, pause_s = time.monotonic() + _PATIENCE_S, _FIRST_PAUSE_S
    while time.monotonic() < until:
        try:
            group.rmdir()
        except OSError:  # the last of its processes are being reaped, mostly within a fraction of a millisecond
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        else:
            return
