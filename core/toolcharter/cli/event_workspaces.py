"""Opens two profiles in the workspaces of recorded calls, because a decision depends on the files of a workspace."""

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import click

from toolcharter.cli.output import in_one_line
from toolcharter.cli.session import toolbox_session
from toolcharter.gate.toolbox import Toolbox

MOST_WORKSPACES = 16
"""The most workspaces that are open at once. Before another is opened, the one opened first is closed."""
MOST_WARNINGS = 20
_HERE = "."


class ToolboxPairs:
    """The toolboxes of two profiles, by workspace.

    Args:
        old: A profile's name or path.
        new: The other profile's name or path.
        workspace: The folder for which all calls are decided; None to decide each for the workspace it was made in.
    """

    def __init__(self, old: str, new: str, workspace: str | None) -> None:
        self._profiles = old, new
        self._workspace = workspace
        self._open: dict[str, tuple[ExitStack, tuple[Toolbox, Toolbox]]] = {}
        self._folders: dict[str | None, str] = {}
        self._warnings = 0

    def __call__(self, recorded: str | None) -> tuple[Toolbox, Toolbox]:
        """Return both toolboxes for a call.

        Args:
            recorded: The workspace in which the call was made; None if the files do not name it.

        Raises:
            ConfigurationError: A profile cannot be used there.
        """
        folder = self._workspace if self._workspace is not None else self._resolve_folder(recorded)
        if folder not in self._open:
            if len(self._open) >= MOST_WORKSPACES:
                self._open.pop(next(iter(self._open)))[0].close()
            with ExitStack() as stack:
                old, new = (stack.enter_context(toolbox_session(profile, folder, ())) for profile in self._profiles)
                self._open[folder] = stack.pop_all(), (old, new)
        return self._open[folder][1]

    def _resolve_folder(self, recorded: str | None) -> str:
        if recorded in self._folders:
            return self._folders[recorded]
        if recorded is not None and _is_folder(recorded):
            folder = recorded
        else:
            folder = _HERE
            self._warn(recorded)
        if len(self._folders) < MOST_WARNINGS * MOST_WORKSPACES:
            self._folders[recorded] = folder
        return folder

    def _warn(self, recorded: str | None) -> None:
        self._warnings += 1
        if self._warnings > MOST_WARNINGS:
            return
        where = (
            "No toolbox.open in the files names the workspace of these calls"
            if recorded is None
            else f"The recorded workspace {in_one_line(recorded)} does not exist"
        )
        click.echo(
            f"toolcharter: {where}; they are decided in the current folder. --workspace names another.", err=True
        )

    def require_usable(self) -> None:
        """Open both profiles if no call has opened them, so that the faults of an unusable profile are reported.

        Raises:
            ConfigurationError: A profile has faults. It holds all of them.
        """
        if not self._open:
            with (
                toolbox_session(self._profiles[0], self._workspace or _HERE, ()),
                toolbox_session(self._profiles[1], self._workspace or _HERE, ()),
            ):
                pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Close all toolboxes."""
        with ExitStack() as stack:
            for stack_here, _ in self._open.values():
                stack.push(stack_here)


def _is_folder(name: str) -> bool:
    """Whether *name*, which may be any text, is the absolute path of a folder that can be examined."""
    try:
        return Path(name).is_absolute() and Path(name).is_dir()
    except (OSError, ValueError):
        return False
