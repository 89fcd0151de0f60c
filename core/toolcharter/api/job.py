"""`Job`: one program that a runner is to run, and what it may take."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


def _nothing() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What a program and all that it starts may take; None is no limit beside the system's own."""

    memory_bytes: int | None = 4 * 1024**3
    """Of address space, for each process; of memory for all together where the runner can count that."""
    processes: int | None = 256
    """At a time. The host counts all of the user's, so that `host` keeps this limit only where it can."""
    open_files: int | None = 1024
    """For each process."""
    file_bytes: int | None = 1024**3
    """For each file that is written."""
    cpu_s: int | None = None
    """Seconds of processor time, for each process."""


@dataclass(frozen=True, slots=True)
class Job:
    """One program to run."""

    argv: tuple[str, ...]
    """At least the program: a bare name, looked up on the runner's fixed PATH, or an absolute path. Never a path in
    the workspace."""
    cwd: str = "."
    """Relative to the workspace, real, and below it."""
    env: Mapping[str, str] = field(default_factory=_nothing)
    """All of the environment."""
    stdin: bytes = b""
    expires: float = float("inf")
    """On `time.monotonic`'s clock, in seconds."""
    max_output_bytes: int = 1_000_000
    """Kept of each stream, from its beginning."""
    limits: ProcessLimits = field(default_factory=ProcessLimits)
    read_only: bool = False
    """The workspace cannot be written to."""
    protected: tuple[str, ...] = ()
    """More of the kind of `RunnerScope.protected`, such as `.git`, for this program."""
    network: bool = False
    """The program may reach the network. Counts only where the runner's own policy grants it, too."""
    drops_errors: bool = False
    """Of a program that is started to go on: what it writes to standard error is dropped, so that its output is what it
    writes to standard output alone."""
    image: str = ""
    """Of which image the container is to be, where the runner makes containers; empty for its own. An empty program in
    `argv` is then the image's own. Only runners that say `takes_images` get such jobs."""
    is_wanted: Callable[[], bool] | None = None
    """Asked a few times a second while the program runs; once it says no, the program is ended as if its time were up:
    the call that wanted it has been cancelled. None: always."""
