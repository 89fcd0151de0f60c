"""The configuration of `toolcharter worker --config FILE`."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from toolcharter import (
    ConfigurationError,
    Fault,
    ProgramRunner,
    RunnerScope,
    SettingsFile,
    ToolPolicy,
    read_settings,
    runner_opener,
)
from toolcharter_service.config import FromEnvironment, Name

LEAST = "{bus: URL, workspaces: [{name: NAME, folder: FOLDER, runner: bwrap}]}"
Count = Annotated[int, Field(ge=1)]


class WorkerLimits(ToolPolicy):
    """The limits of programs, whatever their job says. Without a limit here, only the job's own limit applies."""

    timeout_s: Annotated[float, Field(gt=0)] | None = None
    """How long a program may run, in seconds."""
    memory_bytes: Count | None = None
    """How much memory it may use, in bytes."""
    processes: Count | None = None
    """How many processes it may have at a time."""
    open_files: Count | None = None
    """How many files each of its processes may hold open."""
    file_bytes: Count | None = None
    """How large the files that it writes may be, in bytes."""
    cpu_s: Count | None = None
    """How much processor time each of its processes may take, in seconds."""
    max_output_bytes: Count = 1_000_000
    """How many bytes of each output stream are kept. If there are more, the result is marked as `truncated`."""


class WorkerWorkspace(ToolPolicy):
    """One folder in which programs of jobs run."""

    name: Name
    """Its name in the policy of the runner `remote`."""
    tenant: Annotated[str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{0,63})?$")] = ""
    """The tenant whose jobs run there; empty for callers without a tenant."""
    folder: str
    """An absolute path, or a path relative to the file."""
    runner: str = "bwrap"
    """The runner of programs on this machine: `host`, or a runner's extension."""
    settings: Mapping[str, Any] = {}
    """The settings of that extension, as in a profile."""
    network: bool = False
    """Whether programs may reach the network. Job and runner have to allow it, too."""
    read_only: bool = False
    """Whether programs may not write there, whatever their job says."""
    protected: tuple[str, ...] = ()
    """Paths in it that no program may write, in addition to those of a job."""
    limits: WorkerLimits = WorkerLimits()


class WorkerConfig(ToolPolicy):
    """The whole configuration file."""

    bus: str | FromEnvironment
    """The URL of the bus, or the environment variable that holds it. Anyone with its credentials can run jobs here."""
    name: Name | None = None
    """The worker's name; by default the machine's name and the process id."""
    slots: Annotated[int, Field(ge=1, le=256)] = 4
    """How many programs run at a time, for each workspace."""
    going_on: Annotated[int, Field(ge=0, le=1024)] = 32
    """How many background programs, which outlive the call that started them, run in addition, for each workspace."""
    stop_s: Annotated[float, Field(ge=0, le=3600)] = 10.0
    """How long programs may continue when the worker stops, in seconds."""
    workspaces: Annotated[tuple[WorkerWorkspace, ...], Field(min_length=1)]


class OpenWorkspace(NamedTuple):
    """A workspace with its resolved folder and the function that opens its runner."""

    settings: WorkerWorkspace
    folder: Path
    open_runner: Callable[[RunnerScope], ProgramRunner]


def read_worker(file: str | Path) -> tuple[WorkerConfig, list[OpenWorkspace]]:
    """Read the configuration *file*, and load the runners that it names.

    Raises:
        ConfigurationError: It lists every fault.
    """
    read = read_settings(file, WorkerConfig, least=LEAST)
    faults = list(_twice(read))
    opened = []
    for number, one in enumerate(read.values.workspaces):
        folder = Path(file).absolute().parent.joinpath(one.folder)
        if not folder.is_dir():
            faults.append(
                read.fault(("workspaces", number, "folder"), f"there is no folder {one.folder!r}.", "Make it.")
            )
        try:
            opened.append(OpenWorkspace(one, folder.resolve(), runner_opener(one.runner, one.settings)))
        except ConfigurationError as error:
            faults += [read.fault(("workspaces", number, "runner"), f.what, f.fix) for f in error.faults]
    if faults:
        raise ConfigurationError(faults)
    return read.values, opened


def _twice(read: SettingsFile[WorkerConfig]) -> Iterator[Fault]:
    seen = set()
    for number, one in enumerate(read.values.workspaces):
        if (one.tenant, one.name) in seen:
            yield read.fault(("workspaces", number, "name"), f"{one.name!r} occurs twice.", "Name each once.")
        seen.add((one.tenant, one.name))
