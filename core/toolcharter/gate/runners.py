"""Where the programs of one toolbox run: opened when the first of them starts, closed with the toolbox."""

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
"""What no program of an unbounded tool may write to besides: hooks and settings there run as programs later."""
PROTECTED_FROM_TOOLS = (*PROTECTED_FROM_PROGRAMS, ".hg", ".jj")
"""What no tool itself writes to, at any depth. Programs such as `hg` have to write to their own."""

_Sign = tuple[int, int, int]


class Repositories:
    """What no program of an unbounded tool may write to, at the moment: the repository, and where git looks for those of submodules.

    Whoever asks for the state of the workspace has git run in each submodule, by what lies at its `.git`.

    Args:
        workspace: A real path.
    """

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._known: tuple[_Sign, tuple[str, ...]] | None = None

    def __call__(self) -> tuple[str, ...]:
        """Paths relative to the workspace.

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
            folders = repository.submodules(self._workspace)
        except (OSError, index.UnreadableIndexError) as error:
            message = f"The index of the workspace's repository cannot be read: {error}"
            raise Denied(Reason.SANDBOX_UNAVAILABLE, message) from error
        return (*PROTECTED_FROM_PROGRAMS, *(f"{folder}/.git" for folder in folders))


_PARTS = ("name", "is_sandbox", "run", "start", "close")

Opener = Callable[[RunnerScope], Any]


class Runners:
    """The runner that a profile names, and the host for the tools whose own policy bounds them where it names none."""

    def __init__(self, name: str | None, opener: Opener | None, scope: RunnerScope) -> None:
        self._name = name
        self._opener = opener
        self._scope = scope
        self.repositories = Repositories(scope.workspace)
        """What programs of unbounded tools may not write to besides what the scope says."""
        self._lock = threading.Lock()
        self._opened: ProgramRunner | None = None
        self._closed = False

    def name_for(self, *, bounded: bool) -> str:
        """The runner's name for a tool; empty if its programs run nowhere."""
        return self._name or (HOST if bounded else "")

    def is_sandbox_for(self, *, bounded: bool) -> bool:
        """Whether a tool's programs are contained; no, if what would contain them is missing."""
        try:
            return self.runner_for(bounded=bounded).is_sandbox
        except Denied:
            return False

    def runner_for(self, *, bounded: bool) -> ProgramRunner:
        """Where a tool's programs run.

        Raises:
            Denied: `sandbox_unavailable`.
        """
        if self._name is None and not bounded:
            return NoRunner()
        with self._lock:
            if self._closed:  # a body that its call has abandoned may still go on
                raise Denied(Reason.SANDBOX_UNAVAILABLE, "The toolbox is closed.")
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def close(self) -> None:
        """End what is left."""
        with self._lock:
            opened, self._opened, self._closed = self._opened, None, True
        if opened is not None:
            opened.close()

    def _open(self) -> ProgramRunner:
        if self._name is None or self._name == HOST:
            return HostProgramRunner(self._scope.workspace, self._scope.protected)
        if self._opener is None:  # its plugin has been checked when the profile was planned
            raise Denied(Reason.SANDBOX_UNAVAILABLE, f"Nothing opens the runner {self._name!r}.")
        try:
            opened = self._opener(self._scope)
        except Denied:
            raise
        except Exception as error:
            what = f"The runner {self._name!r} could not be opened: {type(error).__name__}."
            raise Denied(Reason.SANDBOX_UNAVAILABLE, what) from error
        if not all(hasattr(opened, name) for name in _PARTS):
            what = f"The runner {self._name!r} could not be opened: its plugin gave {type(opened).__name__}."
            raise Denied(Reason.SANDBOX_UNAVAILABLE, what)
        runner: ProgramRunner = opened
        return runner


def runner_opener(
    name: str, settings: Mapping[str, Any] = MappingProxyType({})
) -> Callable[[RunnerScope], ProgramRunner]:
    """What opens the runner *name* for hosts that run programs for others, such as the workers of the service.

    Args:
        name: `host`, or the name of an extension such as `bwrap`.
        settings: Of that extension, as a profile has them.

    Returns:
        A function of a scope; what it gives is to be closed. It raises `Denied`, `sandbox_unavailable`.

    Raises:
        ConfigurationError: Nothing installed opens it, or the settings are wrong.
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
