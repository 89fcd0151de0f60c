"""The root folders that all views of one workspace share, and the functions that open files beneath them."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from toolcharter.guards.paths import openat2 as kernel
from toolcharter.guards.paths.handles import FILE_FLAGS, FOLDER_FLAGS, Root
from toolcharter.guards.paths.walk import STEP_FLAGS


class Openers(NamedTuple):
    """The kernel's openers: for files, for folders to list, and for folders to write in."""

    file: kernel.Open
    folder: kernel.Open
    parent: kernel.Open


def kernel_openers() -> Openers:
    """The openers that this kernel supports."""
    return Openers(*map(kernel.make_opener, (FILE_FLAGS, FOLDER_FLAGS, STEP_FLAGS)))


def walking_openers() -> Openers:
    """Openers that always fail, so that `walk` walks every path."""
    return Openers(kernel.fail_to_open, kernel.fail_to_open, kernel.fail_to_open)


class Roots:
    """The roots that all views of one workspace share, and the openers."""

    def __init__(self, workspace: str, openers: Callable[[], Openers]) -> None:
        self.workspace = Root(workspace)
        self._all = {workspace: self.workspace}
        self._closed = False
        self._make_openers = openers

    @cached_property
    def openers(self) -> Openers:
        """Made on first use."""
        return self._make_openers()

    def root_at(self, path: Path) -> Root:
        """Return the root at *path*: always the same object for the same path."""
        if not path.is_absolute():
            raise ValueError(f"The read root {str(path)!r} is not an absolute path.")
        root = self._all.setdefault(str(path), Root(str(path)))
        if self._closed:
            root.close()
        return root

    def close(self) -> None:
        """Close the descriptor of every root."""
        self._closed = True
        for root in list(self._all.values()):
            root.close()
