"""Resource limits of a program, set by a small trusted program that then executes it.

No code of ours runs between fork and exec, so programs start by vfork, however large our process is.
"""

import os
import resource
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache

from toolcharter.api.job import ProcessLimits
from toolcharter.guards.process.marks import NO_MARK, Mark

PRLIMIT = "/usr/bin/prlimit"
# Replaces prlimit on systems that lack it: takes the same arguments and uses Python's names of the limits.
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
    """Return the command that runs *argv* with *limits* and *mark*, and without core dumps.

    Args:
        argv: The program's absolute path, and its arguments.
        limits: A limit above this process's own is reduced to that.
        mark: The mark by which `marks` finds the processes that the program has started.
        other_processes: How many processes that are not this program's the system may count against its limit.
    """
    return (*_launcher(), *_settings(limits, mark, other_processes), "--", *argv)


def controlling(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the command that runs *argv* with the terminal on its input as its controlling terminal.

    The first terminal that the leader of a session opens becomes its controlling terminal. Source: tty_ioctl(4),
    credentials(7).
    """
    return ("/bin/sh", "-c", ': </dev/stdin && exec "$0" "$@"', *argv)


def count_system_threads() -> int:
    """The number of threads of all users, an upper bound for one user; 0 without /proc. Source: proc_loadavg(5)."""
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
