"""Replaces a small file below the workspace, compared with the system calls alone."""

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
BESIDE = f"{WHOLE}.new"
DATA = b"y" * 200


def free() -> None:
    """Do nothing: there is no mark to wait for."""


paths = WorkspacePaths(root, read_only=(".git", ".toolcharter", str(root / "profile.yaml"))).writable(free)


def confined() -> None:
    """Open the target below the workspace and write it: a temporary file, and a rename."""
    with paths.open_place(NAME) as place:
        place.write(DATA)


def plain() -> None:
    """Write a file beside it by its absolute name, and rename it."""
    opened = os.open(BESIDE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.write(opened, DATA)
    os.close(opened)
    os.rename(BESIDE, WHOLE)  # noqa: PTH104 - the plainest way is measured


def in_place() -> None:
    """Overwrite the old content, which is lost if the write fails."""
    opened = os.open(WHOLE, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    os.write(opened, DATA)
    os.close(opened)


OPERATIONS = {"confined": confined, "plain": plain, "in_place": in_place}
