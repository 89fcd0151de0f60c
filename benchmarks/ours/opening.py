"""Opens a file below the workspace, compared with the system calls alone."""

import os
import tempfile
from pathlib import Path

from toolcharter.guards.paths import WorkspacePaths

folder = tempfile.TemporaryDirectory()
root = Path(os.path.realpath(folder.name), "workspace")
(root / "src/pkg").mkdir(parents=True)
(root / "src/pkg/module.py").write_text("x" * 200)

NAME = "src/pkg/module.py"
WHOLE = str(root / NAME)
paths = WorkspacePaths(root)


def confined() -> None:
    """Open below the workspace, and close."""
    paths.open_file(NAME).close()


def plain() -> None:
    """Open by the absolute name, and close."""
    os.close(os.open(WHOLE, os.O_RDONLY | os.O_CLOEXEC))


def examined() -> None:
    """Open, check the type and the size of the file as the confined open does, and close."""
    opened = os.open(WHOLE, os.O_RDONLY | os.O_CLOEXEC)
    os.fstat(opened)
    os.close(opened)


def resolve() -> None:
    """Resolve the links of the name without opening the file."""
    os.path.realpath(WHOLE)


def path_resolve() -> None:
    """Do the same by `pathlib`."""
    Path(WHOLE).resolve()


OPERATIONS = {
    "confined": confined,
    "plain": plain,
    "examined": examined,
    "realpath": resolve,
    "path_resolve": path_resolve,
}
