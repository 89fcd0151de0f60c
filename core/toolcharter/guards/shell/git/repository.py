"""Decides whether git may run in a folder: not if the repository can make git start programs or read other files.

A shell line names no repository: git finds one from its working folder. This module refuses settings that `settings` cannot
switch off by name, since filters and diff drivers may have any name. It only reads files of the repository, at most
`_MAX_BYTES` of each, and runs none.

Source: gitrepository-layout(5), git-config(1) and gitattributes(5) of git 2.39 to 2.51.
"""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from posixpath import dirname, join, normpath
from stat import S_ISDIR, S_ISREG
from typing import Final

from toolcharter.api.paths import read_regular
from toolcharter.guards.paths.git_dirs import git_folder, is_repository
from toolcharter.guards.shell.git.config import UnreadableConfigError, parse_settings
from toolcharter.guards.shell.git.index import UnreadableIndexError, list_gitlinks, list_paths

_MAX_BYTES: Final = 1_000_000
_MAX_INDEX: Final = 100_000_000
_MAX_FOLDERS: Final = 2_000
_MAX_SUBFOLDERS: Final = 10_000
"""The most folders in one repository."""
_UNUSED: Final = frozenset({"/hooks", "/lfs", "/annex"})
"""Folders that git never reads with the settings that toolcharter gives it."""
_REDIRECTING_FILES: Final = ("commondir", "gitdir", "objects/info/alternates", "objects/info/http-alternates")

# By section and key, without the subsection.
_REFUSED_KEYS: Final = frozenset(
    {
        "core.alternaterefscommand",
        "core.gitproxy",
        "core.virtualfilesystem",
        "core.worktree",
        "diff.external",
        "diff.textconv",
        "extensions.partialclone",
        "filter.clean",
        "filter.process",
        "filter.smudge",
        "include.path",
        "includeif.path",
        "remote.promisor",
        "remote.proxy",
        "remote.receivepack",
        "remote.uploadpack",
        "remote.vcs",
        "submodule.ignore",
    }
)
_HARMLESS_UPDATES: Final = frozenset({"checkout", "merge", "none", "rebase"})
"""Any other value of `submodule.NAME.update` is a command, which `git submodule update` gives to a shell."""
_PROGRAM_ENDINGS: Final = ("cmd", "command", "driver", "helper", "hook", "program")
_OVERRIDDEN: Final = frozenset(
    {
        "core.sshcommand",
        "credential.helper",
        "gpg.program",
        "gpg.defaultkeycommand",
        # Only what a rule has to mention runs these.
        "difftool.cmd",
        "guitool.cmd",
        "mergetool.cmd",
    }
)


def objection(folder: Path, workspace: Path) -> str | None:
    """Why git must not run in *folder*; None if it may.

    Args:
        folder: Real path, in the workspace.
        workspace: The real path of the workspace, the only accepted place of a repository.
    """
    try:
        return _check_surroundings(folder, workspace) or _check_repository(f"{workspace}/.git")
    except OSError as error:
        return f"The repository cannot be looked at: {error.strerror}."


def blame_objection(workspace: Path) -> str | None:
    """Why `git blame` must not run in the repository of *workspace*; None if it may.

    If a line of the file in `blame.ignoreRevsFile` is no commit, git prints it. No variable resets this setting, since git reads
    the files of all its values. Source: builtin/blame.c of git 2.39, `build_ignorelist`.
    """
    for name in (".git/config", ".git/config.worktree"):
        try:
            keys = _setting_keys(f"{workspace}/{name}")
        except (OSError, UnreadableConfigError):
            return f"{name} cannot be read."
        if "blame.ignorerevsfile" in keys:
            return f"{name} sets 'blame.ignorerevsfile', by which git blame may show lines of any file. Take it out."
    return None


def _setting_keys(file: str) -> tuple[str, ...]:
    if _mode(file) is None:
        return ()
    return tuple(key for key, _ in parse_settings(read_regular(file, _MAX_BYTES).decode("utf-8", "surrogateescape")))


def tracked_paths(workspace: Path) -> tuple[str, ...]:
    """All paths that the repository of *workspace* tracks; empty if there is no repository.

    Raises:
        UnreadableIndexError: Its index cannot be read.
        OSError: As above.
    """
    try:
        return list_paths(read_regular(f"{workspace}/.git/index", _MAX_INDEX + 1))
    except FileNotFoundError:
        return ()


def submodule_folders(workspace: Path) -> tuple[str, ...]:
    """The folders, relative to *workspace*, that git itself searches for a repository of their own.

    Raises:
        UnreadableIndexError: The index cannot be read.
        OSError: As above.
    """
    git = git_folder(workspace)
    try:
        return tuple(path for file in _index_files(git) for path in list_gitlinks(read_regular(file, _MAX_INDEX + 1)))
    except (FileNotFoundError, NotADirectoryError):
        return ()


def _check_surroundings(folder: Path, workspace: Path) -> str | None:
    """Why git would find a repository other than the workspace's."""
    if folder != workspace and workspace not in folder.parents:
        return "It would run outside the workspace."
    for place in _folders_up_to(folder, workspace):
        if place != workspace and _mode(f"{place}/.git") is not None:
            return f"{place.relative_to(workspace)} is a repository within the workspace."
        if is_repository(partial(_has_entry, place)):
            return f"{place.name} looks like a repository itself."
    return None


def _has_entry(folder: Path, name: str) -> bool:
    return _mode(f"{folder}/{name}") is not None


def _folders_up_to(folder: Path, workspace: Path) -> Iterator[Path]:
    place = folder
    while place != workspace:
        yield place
        place = place.parent
    yield workspace


def _mode(path: str) -> int | None:
    """The mode of the file at *path*, without following links; None if there is none."""
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _check_repository(git: str) -> str | None:
    mode = _mode(git)
    if mode is None:
        return None
    if not S_ISDIR(mode):
        return ".git is a link or a file, and leads elsewhere."
    why = _check_links(git)
    if why is not None:
        return why
    for part in _REDIRECTING_FILES:
        if _mode(f"{git}/{part}") is not None:
            return f".git/{part} leads elsewhere."
    return _check_settings(git) or _check_embedded(git)


def _check_links(git: str) -> str | None:
    """Why links in a repository are refused: git would read their targets, or write a commit message to one."""
    folders = [""]
    for number, folder in enumerate(folders):
        if number >= _MAX_SUBFOLDERS:
            return ".git has more folders than can be looked at."
        with os.scandir(git + folder) as entries:
            for entry in entries:
                path = f"{folder}/{entry.name}"
                if path not in _UNUSED and entry.is_symlink():
                    return f".git{path} is a link."
                if _is_searched(path) and entry.is_dir(follow_symlinks=False):
                    folders.append(path)
    return None


def _is_searched(path: str) -> bool:
    """Whether to search a folder of a repository: not those of single objects, nor those of submodules."""
    return (
        path not in _UNUSED
        and path != "/modules"
        and not (path.startswith("/objects/") and len(path) == len("/objects/00"))
    )


def _check_settings(git: str) -> str | None:
    for name in (".git/config", ".git/config.worktree", ".gitmodules"):
        why = _check_config(f"{git.removesuffix('.git')}{name}")
        if why:
            return f"{name} {why}"
    return _check_submodules(f"{git}/modules")


def _check_embedded(git: str) -> str | None:
    """Why a repository in the work tree is refused: `git add --all` starts git in each one that the index lists."""
    try:
        links = [path for file in _index_files(git) for path in list_gitlinks(read_regular(file, _MAX_INDEX + 1))]
    except UnreadableIndexError as error:
        return f".git/index cannot be read: {error}"
    for path in links:
        why = _check_inner(git, f"{git.removesuffix('/.git')}/{path}/.git")
        if why is not None:
            return f"{path}/.git {why}"
    return None


def _index_files(git: str) -> Iterator[str]:
    with os.scandir(git) as entries:
        for entry in entries:
            if entry.name == "index" or entry.name.startswith("sharedindex."):
                yield entry.path


def _check_inner(git: str, inner: str) -> str | None:
    """Why git must not run in the work tree *inner*, if it exists; one in `modules` of *git* was already checked."""
    mode = _mode(inner)
    if mode is None:
        return None
    if S_ISDIR(mode):
        return _check_config(f"{inner}/config") or _check_config(f"{inner}/config.worktree")
    target = read_regular(inner, _MAX_BYTES + 1).decode("utf-8", "surrogateescape") if S_ISREG(mode) else ""
    place = normpath(join(dirname(inner), target.removeprefix("gitdir: ").rstrip("\r\n")))
    return None if place.startswith(f"{git}/modules/") else "leads elsewhere."


def _check_submodules(modules: str) -> str | None:
    """Why a submodule is refused: some commands start git in it to look at its state."""
    for number, (folder, _, files) in enumerate(os.walk(modules)):
        if number >= _MAX_FOLDERS:
            return "It has more submodules than can be looked at."
        for name in {"config", "config.worktree"}.intersection(files):
            # Each submodule's settings name the folder of its files.
            why = _check_config(f"{folder}/{name}", but="core.worktree")
            if why:
                return f".git/modules{folder.removeprefix(modules)}/{name} {why}"
    return None


def _check_config(file: str, but: str = "") -> str | None:
    """Why git must not read the settings in *file*, if it exists; the key *but* is permitted in it."""
    mode = _mode(file)
    if mode is None:
        return None
    if not S_ISREG(mode):
        return "is no regular file."
    data = read_regular(file, _MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        return "is too long to be looked at."
    try:
        settings = parse_settings(data.decode("utf-8", "surrogateescape"))
    except UnreadableConfigError as error:
        return f"cannot be read: {error}"
    refused = next((key for key, value in settings if key != but and _is_refused(key, value)), None)
    return None if refused is None else f"sets {refused!r}, which may start a program or lead elsewhere."


def _is_refused(key: str, value: str) -> bool:
    if key == "submodule.update":
        return value not in _HARMLESS_UPDATES
    starts_program = key.endswith(_PROGRAM_ENDINGS) and not key.startswith("alias.") and key not in _OVERRIDDEN
    return key in _REFUSED_KEYS or starts_program
