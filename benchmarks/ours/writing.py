"""Replacing a small file beneath the workspace, beside what the system offers."""

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
    """No mark to wait for."""


paths = WorkspacePaths(root, read_only=(".git", ".toolcharter", str(root / "profile.yaml"))).acting(free)


def confined() -> None:
    """Find the place beneath the workspace, and write: a temporary file, and a rename."""
    with paths.open_place(NAME) as place:
        place.write(DATA)


def plain() -> None:
    """A file beside it by its whole name, and a rename."""
    opened = os.open(BESIDE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.write(opened, DATA)
    os.close(opened)
    os.rename(BESIDE, WHOLE)  # noqa: PTH104 - the plainest way is measured


def in_place() -> None:
    """Over the old content, which is lost if anything goes wrong."""
    opened = os.open(WHOLE, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    os.write(opened, DATA)
    os.close(opened)


OPERATIONS = {"confined": confined, "plain": plain, "in_place": in_place}
