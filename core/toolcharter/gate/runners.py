"""The runner of one toolbox, opened when its first program starts and closed with the toolbox."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from toolcharter._lazy import lazy
from toolcharter.api.reasons import Reason
from toolcharter.api.runner import ProgramRunner, RunnerScope
from toolcharter.errors import ConfigurationError, Denied, Fault
from toolcharter.guards.paths.git_dirs import git_folder
from toolcharter.guards.process import HostProgramRunner, NoRunner
from toolcharter.profile.model import HOST

if TYPE_CHECKING:
    from toolcharter.guards.shell.git import index, repository
    from toolcharter.loader import load
else:
    index = lazy("toolcharter.guards.shell.git.index")
    repository = lazy("toolcharter.guards.shell.git.repository")
    load = lazy("toolcharter.loader.load")

PROTECTED_FROM_PROGRAMS = (".git",)
"""Further paths that no program of an unbounded tool may write to: hooks and settings there run programs later."""
PROTECTED_FROM_TOOLS = (*PROTECTED_FROM_PROGRAMS, ".hg", ".jj")
"""Names that no tool itself writes to, at any depth. Programs such as `hg` must write to their own repositories."""

_Sign = tuple[int, int, int]


class Repositories:
    """The current git paths that no program of an unbounded tool may write to: `.git` and those of all submodules.

    A request for the status of the workspace makes git run in each submodule, with the settings at its `.git`.

    Args:
        workspace: Real path of the workspace.
    """

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._known: tuple[_Sign, tuple[str, ...]] | None = None

    def __call__(self) -> tuple[str, ...]:
        """Return the paths, relative to the workspace.

        Raises:
            Denied: `sandbox_unavailable`, if the index cannot be read.
        """
        try:
            found = Path(git_folder(self._workspace), "index").stat()
        except OSError:
            return PROTECTED_FROM_PROGRAMS
        sign = (found.st_ino, found.st_mtime_ns, found.st_size)
        if self._known is None or self._known[0] != sign:
            self._known = sign, self._read()
        return self._known[1]

    def _read(self) -> tuple[str, ...]:
        try:
            folders = repository.submodule_folders(self._workspace)
        except (OSError, index.UnreadableIndexError) as error:
            message = f"The index of the workspace's repository cannot be read: {error}"
            raise Denied(Reason.SANDBOX_UNAVAILABLE, message) from error
        return (*PROTECTED_FROM_PROGRAMS, *(f"{folder}/.git" for folder in folders))


_PARTS = ("name", "is_sandbox", "run", "start", "close")

Opener = Callable[[RunnerScope], Any]


class Runners:
    """The runner that a profile names. If it names none, bounded tools get the host, and unbounded tools no runner."""

    def __init__(self, name: str | None, opener: Opener | None, scope: RunnerScope) -> None:
        self._name = name
        self._opener = opener
        self._scope = scope
        self.repositories = Repositories(scope.workspace)
        """Returns the paths that programs of unbounded tools may not write to, in addition to those of the scope."""
        self._lock = threading.Lock()
        self._opened: ProgramRunner | None = None
        self._closed = False

    def name_for(self, *, bounded: bool) -> str:
        """Return the runner's name for a tool; empty if its programs run nowhere."""
        return self._name or (HOST if bounded else "")

    def is_sandbox_for(self, *, bounded: bool) -> bool:
        """Whether a sandbox contains a tool's programs. False if the runner is missing."""
        try:
            return self.runner_for(bounded=bounded).is_sandbox
        except Denied:
            return False

    def runner_for(self, *, bounded: bool) -> ProgramRunner:
        """Return the runner of a tool's programs; opens it on first use.

        Raises:
            Denied: `sandbox_unavailable`.
        """
        if self._name is None and not bounded:
            return NoRunner()
        with self._lock:
            if self._closed:  # an abandoned body may still run
                raise Denied(Reason.SANDBOX_UNAVAILABLE, "The toolbox is closed.")
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def close(self) -> None:
        """End programs that still run, and close the runner."""
        with self._lock:
            opened, self._opened, self._closed = self._opened, None, True
        if opened is not None:
            opened.close()

    def _open(self) -> ProgramRunner:
        if self._name is None or self._name == HOST:
            return HostProgramRunner(self._scope.workspace, self._scope.protected)
        if self._opener is None:  # the planning of the profile has already checked the plugin
            raise Denied(Reason.SANDBOX_UNAVAILABLE, f"No plugin opens the runner {self._name!r}.")
        try:
            opened = self._opener(self._scope)
        except Denied:
            raise
        except Exception as error:
            what = f"The runner {self._name!r} could not be opened: {type(error).__name__}."
            raise Denied(Reason.SANDBOX_UNAVAILABLE, what) from error
        if not all(hasattr(opened, name) for name in _PARTS):
            what = f"The runner {self._name!r} could not be opened: its plugin returned {type(opened).__name__}."
            raise Denied(Reason.SANDBOX_UNAVAILABLE, what)
        runner: ProgramRunner = opened
        return runner


def runner_opener(
    name: str, settings: Mapping[str, Any] = MappingProxyType({})
) -> Callable[[RunnerScope], ProgramRunner]:
    """Return a function that opens the runner *name*, for hosts that run programs for others, such as service workers.

    Args:
        name: `host`, or the name of an extension such as `bwrap`.
        settings: The settings of that extension, as a profile has them.

    Returns:
        A function that opens a runner for a scope. The caller closes the runner. It raises `Denied` with
        `sandbox_unavailable`.

    Raises:
        ConfigurationError: No installed plugin opens the runner, or the settings are invalid.
    """
    opener: Opener | None = None
    if name != HOST:
        place = f"runner {name!r}"
        loaded = load.load_plugins({}, {name: place}, runner=name)
        try:
            policy = loaded.extension_specs[name].spec.policy.from_profile(dict(settings))
        except ValueError as error:
            raise ConfigurationError(
                [Fault(place, "settings", f"{error}.", "Write them as a profile has them.")]
            ) from error
        opener = loaded.build_extensions(Path("/"), {name: policy}).runners.get(name)
        if opener is None:
            raise ConfigurationError([Fault(place, "", "its plugin opens no runner.", "Name another, such as bwrap.")])
    return lambda scope: Runners(name, opener, scope).runner_for(bounded=False)
