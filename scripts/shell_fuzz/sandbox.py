"""Runs lines in bubblewrap without a network, on a copy of the folders that replaces the original."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import IO, NamedTuple, Self, cast

from shell_fuzz import driver
from toolcharter.guards.process.programs import SEARCH_FOLDERS
from toolcharter.guards.shell.git.settings import git_overrides

TOKEN = "SENTINELtoken"
_MAX_BYTES = 2_000_000
_PRISTINE = "/run/pristine"


class Observed(NamedTuple):
    """The observations of one line's run."""

    is_finished: bool
    """Whether it ended in time."""
    changed: tuple[str, ...]
    """Files that have changed, below the root of all folders."""
    trace: str
    """The output of strace."""
    xtrace: str
    """The output of `set -x`."""
    stdout: str
    stderr: str


class Sandbox:
    """A process that runs lines one at a time, each in fresh folders.

    Args:
        root: The folders, of which `ws` is the workspace. They are not changed.
        place: A folder for the sandbox, outside of *root*.
    """

    def __init__(self, root: Path, place: Path) -> None:
        self._root, self._place = root, place
        self.seconds = driver.SECONDS
        """The time limit of a line, in seconds."""

    def __enter__(self) -> Self:
        copy, out = self._place / "copy", self._place / "out"
        shutil.copytree(self._root, copy, symlinks=True)
        out.mkdir()
        self._out = out
        self._process = subprocess.Popen(
            [*self._bwrap(copy, out), sys.executable, "-I", "-S", driver.__file__, *self._arguments(out)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(self._root),
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._input.close()
        self._process.wait()
        cast("IO[str]", self._process.stdout).close()

    def run(self, line: str) -> Observed:
        """Run *line*, which must contain no NUL and no lone surrogate."""
        self._input.write(json.dumps([line, self.seconds]) + "\n")
        self._input.flush()
        answer = json.loads(cast("IO[str]", self._process.stdout).readline())
        files = (self._read(name) for name in ("trace", "xtrace", "stdout", "stderr"))
        return Observed(answer["status"] is not None, tuple(answer["changed"]), *files)

    @property
    def _input(self) -> IO[str]:
        return cast("IO[str]", self._process.stdin)

    def _read(self, name: str) -> str:
        with (self._out / name).open("rb") as file:
            return file.read(_MAX_BYTES).decode(errors="replace")

    def _arguments(self, out: Path) -> tuple[str, ...]:
        return str(self._root), str(self._root / "ws"), _PRISTINE, str(out)

    def _bwrap(self, copy: Path, out: Path) -> tuple[str, ...]:
        options = ("bwrap", "--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--ro-bind", "/", "/")
        mounts = ("--tmpfs", "/tmp", "--tmpfs", "/run", "--proc", "/proc", "--dev", "/dev")
        # A checkout may lie below a folder that is hidden.
        kept = (driver.__file__, sys.prefix, sys.base_prefix)
        ours = [word for path in kept for word in ("--ro-bind", path, path)]
        ours += ["--bind", str(copy), str(self._root), "--bind", str(out), str(out)]
        return (*options, *mounts, *ours, "--ro-bind", str(self._root), _PRISTINE, "--chdir", str(self._root / "ws"))


def environment(root: Path) -> dict[str, str]:
    """Return the shell's environment: the tool's, with a home that exists, and a secret that no line may print."""
    home = str(root / "home")
    settings = {"user.name": "dev", "user.email": "dev@example.com"}
    search = ":".join((*SEARCH_FOLDERS, str(Path(sys.prefix, "bin"))))
    fixed = {"PATH": search, "HOME": home, "USER": "dev", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "GITHUB_TOKEN": TOKEN}
    fixed["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # Developers' plugins may access the network on import.
    return {**fixed, **git_overrides(str(root / "ws"), settings)}
