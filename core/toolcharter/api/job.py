"""`Job`: one program for a runner to run, and its resource limits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


def _no_variables() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The resource limits of a program and its descendants. None: only the system's own limit applies."""

    memory_bytes: int | None = 4 * 1024**3
    """Address space of each process; memory of all processes together if the runner can count that."""
    processes: int | None = 256
    """Processes at the same time. The host counts all processes of the user, so `host` enforces this only if it can."""
    open_files: int | None = 1024
    """For each process."""
    file_bytes: int | None = 1024**3
    """The size of each written file."""
    cpu_s: int | None = None
    """Processor time of each process, in seconds."""


@dataclass(frozen=True, slots=True)
class Job:
    """One program to run."""

    argv: tuple[str, ...]
    """The program and its arguments. The program is a bare name, which is looked up on the runner's fixed PATH, or an
    absolute path, but never a path in the workspace."""
    cwd: str = "."
    """Relative to the workspace, real, and below it."""
    env: Mapping[str, str] = field(default_factory=_no_variables)
    """The whole environment."""
    stdin: bytes = b""
    expires: float = float("inf")
    """When the program is ended, on `time.monotonic`'s clock, in seconds."""
    max_output_bytes: int = 1_000_000
    """How much of each stream is kept, from its beginning."""
    limits: ProcessLimits = field(default_factory=ProcessLimits)
    read_only: bool = False
    """Whether the workspace is read-only."""
    protected: tuple[str, ...] = ()
    """Further paths to protect for this program, such as `.git`, in addition to `RunnerScope.protected`."""
    network: bool = False
    """Whether the program may reach the network. The runner's own policy must grant that, too."""
    drops_errors: bool = False
    """Whether standard error is dropped, so that the output is standard output only. For `ProgramRunner.start` only."""
    image: str = ""
    """The image of the container, for runners that make containers; empty for the runner's own image. An empty program
    in `argv` then means the image's own program. Only runners that have `takes_images` get such jobs."""
    is_wanted: Callable[[], bool] | None = None
    """Polled a few times a second while the program runs. Once it returns False, because the call was cancelled, the
    program is ended as if its time were up. None: the program is never ended for this reason."""
