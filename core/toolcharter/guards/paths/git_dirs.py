"""Find the real folders of git repositories. Their hooks and settings run as programs, so tools must not write them.

Source: gitrepository-layout(5): `.git` may be a link, or a file with the line `gitdir: PATH`.

The repository of the workspace is found by its `.git`. Other repositories (submodules, work trees, bare ones) are
recognised by the files that they contain, not by pointers to them: to find all pointers, the whole workspace would have
to be searched.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import takewhile
from pathlib import Path
from stat import S_ISREG

from toolcharter.api.paths import read_regular
from toolcharter.guards.paths.names import fold

REPOSITORY_NAMES = frozenset({"HEAD", "commondir", "objects", "refs"})
"""The names that `is_repository` checks."""
_FOLDED = frozenset(map(fold, REPOSITORY_NAMES))
_MOST_BYTES = 8192
_MOST_LINKS = 40  # As in the kernel, which fails for a path with more.


def repository_folders(workspace: Path) -> tuple[Path, ...]:
    """Return the folders below *workspace* that hold its repository, except `.git` itself.

    Args:
        workspace: A real path.
    """
    return tuple(dict.fromkeys(place for place in _repository_folders(workspace) if workspace in place.parents))


def git_folder(workspace: Path) -> str:
    """Return the repository's folder to which the `.git` of the work tree *workspace* leads. It may not exist."""
    git = Path(os.path.realpath(workspace / ".git"))
    text = "" if git.is_dir() else _read_start(git)
    return (
        os.path.realpath(git.parent / text.removeprefix("gitdir:").strip()) if text.startswith("gitdir:") else str(git)
    )


def lies_in_repository(folder: int, depth: int, new: str) -> bool:
    """Whether git would take a folder, or one of its parents, for a repository.

    Parents above the top of a work tree do not count. That is the folder with a `.git` file, which no tool can make.

    Args:
        folder: The folder's descriptor.
        depth: How many of its parents count.
        new: A name that the folder has or will have. The folder also counts if this name completes a repository.

    Raises:
        OSError: The system cannot say whether a file exists.
    """
    if is_repository(lambda part: part == new or _has_name(folder, part) or _is_read_as(folder, new, part)):
        return True
    for up in range(1, depth + 1):
        if is_repository(partial(_has_name, folder, above="../" * up)):
            return not any(_is_work_tree(folder, "../" * below) for below in range(up))
    return False


def may_complete_repository(name: str) -> bool:
    """Whether a new file or folder with this *name* could complete a repository, also on a disk that ignores case."""
    return fold(name) in _FOLDED


def is_repository(has: Callable[[str], bool]) -> bool:
    """Whether git would take a folder for a repository that contains the names for which *has* is true.

    Git also checks the content of `HEAD`; this function does not.

    Source: git 2.47, setup.c, `is_git_directory`; `commondir` names the folder that holds `objects` and `refs`.
    """
    return has("HEAD") and (has("commondir") or (has("objects") and has("refs")))


def _has_name(folder: int, name: str, above: str = "") -> bool:
    try:
        os.stat(above + name, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _is_read_as(folder: int, new: str, part: str) -> bool:
    # If this decides, the folder has other signs. If they are also found in the wrong case, the disk ignores case.
    return fold(new) == fold(part) and any(
        _has_name(folder, sign) and _has_name(folder, sign.swapcase()) for sign in REPOSITORY_NAMES
    )


def _is_work_tree(folder: int, above: str) -> bool:
    # Only a file counts: `git init` makes a folder `.git` anywhere, even inside a repository's own folder.
    try:
        return S_ISREG(os.stat(above + ".git", dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def paths_through_links(folder: Path, target: str) -> Iterator[Path]:
    """Yield each name of *target*, seen from the real *folder*: one for each link on the way, then the real path.

    A link can be replaced without touching its target. Each name is the path of a link, followed by the rest of the
    path up to its first `..`.
    """
    place, rest, end = folder, deque[str](), Path(os.path.realpath(folder / target))
    for _ in range(_MOST_LINKS):
        place = Path("/") if target.startswith("/") else place
        rest.extendleft(part for part in reversed(target.split("/")) if part not in {"", "."})
        link = next(_links(place, rest), None)
        if link is None:
            break
        yield link.joinpath(*takewhile(lambda name: name != "..", rest))
        place, target = link.parent, os.fspath(link.readlink())
    yield end


def _links(place: Path, rest: deque[str]) -> Iterator[Path]:
    """Yield the links on the way from *place*. Removes the components that have been walked from *rest*."""
    at = os.fspath(place)  # as text: each toolbox walks to a dozen places, and a `Path` for each step is expensive
    while rest:
        name = rest.popleft()
        at = os.path.dirname(at) if name == ".." else f"{at.rstrip('/')}/{name}"
        if os.path.islink(at):
            yield Path(at)


def _repository_folders(workspace: Path) -> Iterator[Path]:
    own = workspace / ".git"
    pointer = Path(os.path.realpath(own))
    yield from (way for way in paths_through_links(workspace, ".git") if way != own)
    text = _read_start(pointer)
    if text.startswith("gitdir:"):
        target = text.removeprefix("gitdir:").strip()
        folder = Path(os.path.realpath(pointer.parent / target))
        yield from paths_through_links(pointer.parent, target)
        yield from paths_through_links(folder, _read_start(folder / "commondir").strip() or ".")


def _read_start(path: Path) -> str:
    try:
        return os.fsdecode(read_regular(path, _MOST_BYTES, follow=True)).replace("\0", "")
    except OSError:
        return ""
