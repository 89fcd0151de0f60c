"""Starts a program in a bubblewrap sandbox, through our runner and directly, from a process of the requested size."""

import os
import subprocess
import tempfile
from pathlib import Path

from toolcharter import Job, RunnerScope
from toolcharter.guards.process.marks import NO_MARK
from toolcharter_bwrap.policy import BwrapPolicy
from toolcharter_bwrap.runner import BwrapRunner

ballast = bytearray(b"\1") * int(os.environ.get("BENCH_BALLAST", "1"))
folder = tempfile.TemporaryDirectory()
runner = BwrapRunner(RunnerScope(Path(folder.name).resolve()), BwrapPolicy.from_profile({}))
job = Job(("true",))


def all_of(descriptor: int) -> bytes:
    """Return the whole content of a file, independent of its read position."""
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


with runner.prepared(job, NO_MARK, on_terminal=False) as launch:
    bwrap = next(word for word in launch.argv if Path(word).name == "bwrap")
    flags = [os.fsdecode(word) for word in all_of(launch.pass_fds[0]).split(b"\0")[:-1]]
    seccomp, program = all_of(launch.pass_fds[1]), launch.argv[-1]
    for given in launch.pass_fds:
        os.close(given)


def confined() -> None:
    """Run the job through the runner: with limits, in a process group of its own, with its output captured."""
    assert runner.run(job).exit_code == 0


def bare() -> None:
    """Run bubblewrap directly with the same flags and the same filter of system calls."""
    descriptor = os.memfd_create("seccomp")
    os.write(descriptor, seccomp)
    os.lseek(descriptor, 0, os.SEEK_SET)
    command = [bwrap, *flags, "--add-seccomp-fd", str(descriptor), "--", program]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, pass_fds=[descriptor], env={})
    os.close(descriptor)


OPERATIONS = {"confined": confined, "bare": bare}
