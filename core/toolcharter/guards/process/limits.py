"""Limits: what a program may take, set by a small trusted program that then becomes it.

Nothing of ours runs between fork and exec, so that a program still starts by vfork, whatever our size.
"""

import os
import resource
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache

from toolcharter.api.job import ProcessLimits
from toolcharter.guards.process.marks import NO_MARK, Mark

PRLIMIT = "/usr/bin/prlimit"
# In place of prlimit, where a system has none: the same arguments, by Python's own names.
_SETTER = """
import os, resource, sys
for word in sys.argv[1:]:
    if word == "--":
        break
    name, _, values = word[2:].partition("=")
    resource.setrlimit(getattr(resource, "RLIMIT_" + name.upper()), tuple(map(int, values.split(":"))))
program = sys.argv[sys.argv.index("--") + 1:]
os.execv(program[0], program)
"""


def limited(
    argv: Sequence[str], limits: ProcessLimits, mark: Mark = NO_MARK, *, other_processes: int = 0
) -> tuple[str, ...]:
    """The command that runs *argv* with *limits* and *mark*, and without core dumps.

    Args:
        argv: A program by its absolute path, and its arguments.
        limits: A limit above ours is cut to ours.
        mark: For `marks`, to find what the program has started.
        other_processes: How many the system's count may hold that are none of this program's.
    """
    return (*_launcher(), *_settings(limits, mark, other_processes), "--", *argv)


def controlling(argv: Sequence[str]) -> tuple[str, ...]:
    """The command that runs *argv* with the terminal on its input as the controlling one.

    The leader of a session gets the first terminal that it opens. Source: tty_ioctl(4), credentials(7).
    """
    return ("/bin/sh", "-c", ': </dev/stdin && exec "$0" "$@"', *argv)


def threads_of_the_system() -> int:
    """How many there are, of all users: no user has more. Source: proc_loadavg(5)."""
    try:
        with open("/proc/loadavg", "rb") as file:
            return int(file.read().split()[3].partition(b"/")[2])
    except FileNotFoundError:
        return 0


@lru_cache(maxsize=1)
def _launcher() -> tuple[str, ...]:
    if os.access(PRLIMIT, os.X_OK):
        return (PRLIMIT,)
    return (sys.executable, "-I", "-S", "-c", _SETTER)


def _settings(limits: ProcessLimits, mark: Mark, other_processes: int) -> Iterator[str]:
    wanted = {
        "as": limits.memory_bytes,
        "nproc": None if limits.processes is None else limits.processes + other_processes,
        "nofile": limits.open_files,
        "fsize": limits.file_bytes,
        "cpu": limits.cpu_s,
        "core": 0,
    }
    for name, value in wanted.items():
        if value is not None:
            allowed = _ceiling(name, value)
            yield f"--{name}={allowed}:{allowed}"
    if mark.run:
        yield f"--rttime={mark.run}:{mark.runner}"


def _ceiling(name: str, value: int) -> int:
    hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
