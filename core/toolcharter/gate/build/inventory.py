"""Collects the files that the gate executes or trusts, in addition to its own code.

These are profiles, policies, event files and the user's state. `Inventory` holds those that lie in the workspace.
"""

import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from toolcharter._lazy import lazy
from toolcharter.api.policy import ToolPolicy
from toolcharter.errors import ConfigurationError, Fault
from toolcharter.events.sinks import SinkLike
from toolcharter.guards.inventory import Inventory, lies_in, make_inventory
from toolcharter.guards.paths.git_dirs import git_folder, repository_folders
from toolcharter.guards.paths.hidden import Inode, hard_linked_inodes, paths_of_inodes
from toolcharter.guards.state_folder import state_path
from toolcharter.loader.interpreter import GateCode
from toolcharter.loader.survey import is_within, names_of
from toolcharter.profile.ceilings import ADMIN_POLICY, WORKSPACE_POLICY
from toolcharter.profile.compose import Composer
from toolcharter.profile.find import SUFFIXES, ProfileUnusable, read_bytes, shipped_profiles

if TYPE_CHECKING:
    from toolcharter.events import files as event_files
    from toolcharter.loader import next_start
else:
    event_files = lazy("toolcharter.events.files")
    next_start = lazy("toolcharter.loader.next_start")

PROFILES = "profiles"
_OUTSIDE_HINT = "Name a place outside the workspace."
# `extends` with bare names on the line of the key: profiles with these names are found in folders that are protected
# anyway. A profile that writes `extends` in any other way is parsed as YAML.
_EXTENDS_NAMES = re.compile(rb"^extends:[ ]*\[[\w ,-]*\][ ]*$", re.MULTILINE)
# The parts of a repository that git reads settings from, or runs as programs. The rest is content.
_GIT_PROGRAM_PARTS = ("config", "config.worktree", "hooks", "info")


def build_inventory(
    workspace: Path,
    code: GateCode,
    files: Iterable[Path],
    sinks: Iterable[SinkLike],
    environ: Mapping[str, str],
    believed_by_host: Iterable[Path] = (),
) -> Inventory:
    """Make the inventory of one toolbox.

    Args:
        workspace: Real path of the workspace.
        code: The places of the gate's code.
        files: The profile's own file and the files that it extends.
        sinks: The destinations of events.
        environ: The environment variables.
        believed_by_host: Further files that the host of the toolbox executes or trusts, whether they exist or not.

    Raises:
        ConfigurationError: Events would be written to a file that the gate executes or trusts.
    """
    policies = [*_policy_files(workspace, environ), *files]
    believed = [
        *policies,
        *_profile_paths(workspace, tuple(files)),
        *_repository_settings(workspace),
        *_state_folders(environ),
    ]
    believed += believed_by_host
    trusted = [*code.trusted, *(name for path in believed for name in names_of(str(path)))]
    trusted += [name for name in other_names(workspace, believed) if not is_within(name, f"{workspace}/.git")]
    written = {url: names_of(path) for url, path in _file_sinks(sinks)}
    _require_harmless_sinks(workspace, written, trusted, policies)
    made = make_inventory(
        workspace,
        [
            *trusted,
            *(other for names in written.values() for name in names for other in event_files.with_rotated(name)),
        ],
        sealed=code.sealed,
        repositories=map(str, repository_folders(workspace)),
        records=[
            _rotated_glob(name) for names in written.values() for name in names if is_within(name, str(workspace))
        ],
    )
    if not code.is_on_path:
        return made
    return made._replace(importing=next_start.import_folders(workspace, code.packages, made.covers))


def resolve_workspace(workspace: str | Path) -> Path:
    """Return the real path of a workspace.

    Raises:
        ConfigurationError: It is no folder, or the process may not enter it.
    """
    with suppress(OSError, ValueError):
        root = Path(os.path.realpath(workspace, strict=True))
        if root.is_dir() and os.access(root, os.X_OK):
            return root
        if root.is_dir():
            what = f"{str(workspace)!r} may not be entered: Permission denied."
            raise ConfigurationError([Fault("workspace", "", what, "Name a folder of yours with --workspace.")])
    fault = Fault("workspace", "", f"{str(workspace)!r} is no folder.", "Name an existing folder with --workspace.")
    raise ConfigurationError([fault])


def require_state_outside(
    workspace: Path, tools: Mapping[str, ToolPolicy], extensions: Mapping[str, ToolPolicy]
) -> None:
    """Raise if a policy keeps state in the workspace, where tools could write what the plugin later trusts.

    Raises:
        ConfigurationError: It lists each of these places.
    """
    faults = [
        Fault(
            "",
            f"{key}.{name}",
            f"{str(path)!r} lies in the workspace, where tools can write.",
            _OUTSIDE_HINT,
        )
        for key, policies in (("tools", tools), ("extensions", extensions))
        for name, policy in policies.items()
        for path in policy.keeps_state_in()
        if _lies_in_workspace(path, workspace)
    ]
    if faults:
        raise ConfigurationError(faults)


def require_store_outside(workspace: Path, places: Iterable[Path]) -> None:
    """Raise if a host's store lies in the workspace, where tools could write what the host trusts, or read its records.

    Raises:
        ConfigurationError: It lists each of these places.
    """
    faults = [
        Fault(
            "",
            "store",
            f"{str(path)!r} lies in the workspace {str(workspace)!r}, where tools can write.",
            _OUTSIDE_HINT,
        )
        for path in places
        if _lies_in_workspace(path, workspace)
    ]
    if faults:
        raise ConfigurationError(faults)


def _policy_files(workspace: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the files of the ceilings, and first their folder in the workspace, which must not be replaced either."""
    policy = workspace / WORKSPACE_POLICY
    yield policy.parent
    yield policy
    administrators = environ.get(ADMIN_POLICY)
    if administrators:
        yield Path(administrators)


def _repository_settings(workspace: Path) -> Iterator[Path]:
    """Yield the settings of Mercurial and Jujutsu, which name programs to run. Those of git are guarded everywhere."""
    for settings in (Path(".hg", "hgrc"), Path(".jj", "repo", "config.toml")):
        if (workspace / settings.parent).is_dir():
            yield workspace / settings


def _profile_paths(workspace: Path, files: tuple[Path, ...]) -> Iterator[Path]:
    """Yield where the next start may find a profile by its name: folders, the files in them, and their parents."""
    for folder in (*_profile_folders(workspace), shipped_profiles()):
        if not _lies_in_workspace(folder, workspace):
            continue
        yield folder
        for file in _profiles_in(folder):
            yield file
            yield from _shadowing_names(tuple(_parent_files(file)))
    yield from _shadowing_names(files)


def _shadowing_names(files: tuple[Path, ...]) -> Iterator[Path]:
    """Yield a profile and its parents, and the files that would be found before one of them.

    `extends` first searches the folder of its own file.
    """
    yield from files
    names = {file.stem + suffix for file in files for suffix in SUFFIXES}
    yield from (folder / name for folder in {file.resolve().parent for file in files} for name in names)


def _profile_folders(workspace: Path) -> Iterator[Path]:
    """Yield the folder `profiles` in the workspace, in the current folder, and in each folder between the two."""
    current = Path.cwd()
    lower, upper = (current, workspace) if current.is_relative_to(workspace) else (workspace, current)
    if not lower.is_relative_to(upper):
        yield from (current / PROFILES, workspace / PROFILES)
        return
    yield lower / PROFILES
    while lower != upper:
        lower = lower.parent
        yield lower / PROFILES


def _profiles_in(folder: Path) -> list[Path]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(SUFFIXES))  # noqa: PTH208 - names suffice
    except OSError:
        return []
    return [folder / name for name in names]


def _parent_files(file: Path) -> Iterator[Path]:
    """Yield the files that a profile extends, directly or not; none if it names its parents by bare names."""
    try:
        text = read_bytes(str(file))
        if text.count(b"extends") == len(_EXTENDS_NAMES.findall(text)):
            return
        composer = Composer(())
        composer.read(str(file))
    except ProfileUnusable:
        return  # A start with this profile reports the fault.
    yield from map(Path, composer.files)


def _lies_in_workspace(folder: Path, workspace: Path) -> bool:
    return any(is_within(name, str(workspace)) for name in names_of(str(folder)))


def _state_folders(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders of approvals, process records and locks; also the folder of a later start without `HOME`."""
    named = {"XDG_STATE_HOME": environ.get("XDG_STATE_HOME", "")}
    yield from (folder for folder in (state_path("", environ), state_path("", named)) if folder is not None)


def _file_sinks(sinks: Iterable[SinkLike]) -> Iterator[tuple[str, str]]:
    """Yield the URL and the path of each sink that is a file."""
    for sink in sinks:
        if isinstance(sink, str) and sink.startswith("file:"):
            path = sink.partition(":")[2].partition("?")[0]
            path = "/" + path[2:].partition("/")[2] if path.startswith("//") else path
            if path and "\0" not in unquote(path):
                yield sink, unquote(path)


def _rotated_glob(file: str) -> str:
    """Return a glob for the names that log rotation gives to *file*: `NAME.1`, `NAME.2.gz`, `NAME-20261123`."""
    return f"{glob.escape(PurePosixPath(file).name)}[.-]*"


def _require_harmless_sinks(
    workspace: Path, written: Mapping[str, tuple[str, ...]], trusted: list[str], policies: list[Path]
) -> None:
    """Raise if a sink would write to a file that the gate executes or trusts. Event files may lie in `.toolcharter`."""
    files = {name for path in policies for name in names_of(str(path))}
    own = names_of(str(workspace / WORKSPACE_POLICY.parent))
    places = make_inventory(workspace, (name for name in trusted if name not in own)).places
    beside = tuple(str(Path(name).relative_to(workspace)) for name in own if is_within(name, str(workspace)))
    repositories = (str(workspace / ".git"), git_folder(workspace), *map(str, repository_folders(workspace)))
    for url, names in written.items():
        hit = next(
            (
                name
                for name in names
                if name in files
                or lies_in(name, workspace, set(places) - set(beside))
                or any(is_within(name, folder) for folder in repositories)
            ),
            None,
        )
        if hit is not None:
            what = f"{url!r} would write to {hit!r}, which toolcharter executes or reads its rules from."
            raise ConfigurationError([Fault("events", "", what, "Name another file.")])


def other_names(workspace: Path, believed: Iterable[Path]) -> Iterator[str]:
    """Yield the absolute paths of other hard links in *workspace* to files of *believed* or of its folders.

    A write to one name of a file changes it under all its names. Tools cannot make hard links to protected files, but
    installers and people may have made some before. A sandbox protects paths, not files.

    Args:
        workspace: Real path of the workspace. The settings and hooks of its repository are trusted, too.
        believed: Files and folders, whether they exist or not.
    """
    git = workspace / ".git"
    wanted: set[Inode] = set()
    for path in (*believed, *(git / name for name in _GIT_PROGRAM_PARTS)):
        wanted.update(hard_linked_inodes(path))
    if wanted:
        yield from paths_of_inodes(workspace, wanted)
