"""Find tools in folders: `tools/NAME/run` or `run.*`, with a README."""

import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from toolcharter_cli_tools.bundles import Bundle, Limits, UnusableTool, is_ignored, open_folder, read_folder
from toolcharter_cli_tools.definitions import STDIN, Definition
from toolcharter_cli_tools.policy import CliToolsPolicy
from toolcharter_cli_tools.readme import read_readme, summarize
from toolcharter_cli_tools.templates import SKILL_DIR, Part

_MAX_ENTRIES = 1000


class Root(NamedTuple):
    """A folder of tools or skills."""

    path: Path
    below: Path | None = None
    """The folder below which the path must have no links; None if links are permitted."""


class SkippedTool(NamedTuple):
    """A folder or file that is not a usable tool, and the reason."""

    path: Path
    reason: str
    """A short and stable word for the reason, such as `not_executable`."""
    message: str

    def __str__(self) -> str:
        return f"{self.path} is left out ({self.reason}): {self.message}."


def read_bundle(root: Root, name: str, limits: Limits) -> Bundle:
    """Read the current files of the folder *name* in a root. Raises what `read_folder` raises."""
    with open_folder(root.path, below=root.below) as descriptor:
        return read_folder(descriptor, name, limits)


def iter_bundles(root: Root, limits: Limits) -> Iterator[tuple[str, Bundle, Callable[[], Bundle]] | SkippedTool]:
    """Yield the folders in *root* by name, each with its files and a function that reads them again.

    Raises:
        OSError: *root* is missing, is not a folder, or has a link in its path.
    """
    with open_folder(root.path, below=root.below) as descriptor:
        names = sorted(os.listdir(descriptor))  # noqa: PTH208 - of a descriptor
        for name in names[:_MAX_ENTRIES]:
            mode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
            if is_ignored(name) or name.startswith(".") or not (stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
                continue
            try:
                _require_folder(mode)
                yield name, read_folder(descriptor, name, limits), partial(read_bundle, root, name, limits)
            except UnusableTool as error:
                yield SkippedTool(root.path / name, error.reason, error.message)
            except OSError as error:
                yield SkippedTool(root.path / name, "unreadable", f"it cannot be read: {error.strerror}")
    if len(names) > _MAX_ENTRIES:
        yield SkippedTool(
            root.path, "too_many", f"it has more than {_MAX_ENTRIES} entries; the others were not searched"
        )


def _require_folder(mode: int) -> None:
    if stat.S_ISLNK(mode):
        raise UnusableTool("link_leads_outside", "it is a link, but a tool must be a folder")


def find_program(bundle: Bundle) -> str:
    """Return the name of a tool's program: `run`, or the only executable `run.*`.

    Raises:
        UnusableTool: `no_program`, `not_executable`, or `several_programs`.
    """
    named = [name for name in bundle.files if name == "run" or (name.startswith("run.") and "/" not in name)]
    if not named:
        raise UnusableTool("no_program", "there is no file named run or run.*")
    programs = [name for name in named if bundle.files[name].is_executable]
    if not programs:
        raise UnusableTool(
            "not_executable", f"{', '.join(sorted(named))} cannot be executed; set the bit with chmod +x"
        )
    if "run" in programs or len(programs) == 1:
        return "run" if "run" in programs else programs[0]
    raise UnusableTool("several_programs", f"there are {', '.join(sorted(programs))}; keep one, or rename one to run")


def build_definition(name: str, bundle: Bundle, read: Callable[[], Bundle], policy: CliToolsPolicy) -> Definition:
    """Build the tool in the folder *name*.

    Raises:
        UnusableTool: As for `find_program`.
    """
    program = find_program(bundle)
    readme = read_readme(bundle, policy.max_readme_chars)
    return Definition(
        name,
        summarize(readme) or f"CLI tool: {name}",
        ((Part(SKILL_DIR, is_placeholder=True), Part(f"/{program}")),),
        {},
        stdin=STDIN,
        takes_args=True,
        allow_dash=policy.allow_dash,
        readme=readme,
        read=read,
        hash=bundle.hash,
        timeout_s=policy.timeout_s,
        max_output_bytes=policy.max_output_bytes,
    )
