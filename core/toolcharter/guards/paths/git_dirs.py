"""Where repositories really lie: their hooks and settings run as programs, by whatever name they are written.

Source: gitrepository-layout(5): `.git` may be a link, or a file with the line `gitdir: PATH`.

The workspace's own is found by what its `.git` says. Any others (of submodules, work trees, or bare) by what they hold,
no matter what points to them: to look for all pointers would be to look through the workspace.
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

SIGNS = frozenset({"HEAD", "commondir", "objects", "refs"})
"""The names by which `is_repository` judges."""
_FOLDED = frozenset(map(fold, SIGNS))
_MOST_BYTES = 8192
_MOST_LINKS = 40  # As the kernel: whatever has more leads nowhere.


def repository_folders(workspace: Path) -> tuple[Path, ...]:
    """The folders below *workspace* that hold its repository, besides one that is called `.git`.

    Args:
        workspace: A real path.
    """
    return tuple(dict.fromkeys(place for place in _folders(workspace) if workspace in place.parents))


def git_folder(workspace: Path) -> str:
    """The folder of the repository whose work tree is *workspace*, as its `.git` says, there or not."""
    git = Path(os.path.realpath(workspace / ".git"))
    text = "" if git.is_dir() else _start_of(git)
    return (
        os.path.realpath(git.parent / text.removeprefix("gitdir:").strip()) if text.startswith("gitdir:") else str(git)
    )


def lies_in_repository(folder: int, depth: int, new: str) -> bool:
    """Whether git would take a folder, or one above it, for a repository.

    Above a work tree's own folder nothing counts, which is known by its `.git` file: no tool can make one.

    Args:
        folder: Its descriptor.
        depth: How many folders above it count.
        new: A name that it has, or will have: what would become a repository by it counts.

    Raises:
        OSError: As the system says, of what may be there or not.
    """
    if is_repository(lambda part: part == new or _has(folder, part) or _is_read_as(folder, new, part)):
        return True
    for up in range(1, depth + 1):
        if is_repository(partial(_has, folder, above="../" * up)):
            return not any(_is_work_tree(folder, "../" * below) for below in range(up))
    return False


def is_sign(name: str) -> bool:
    """Whether something new of this *name* could complete a repository, also on a disk that ignores case."""
    return fold(name) in _FOLDED


def is_repository(has: Callable[[str], bool]) -> bool:
    """Whether git would take a folder that has such names for a repository; it asks a little more of `HEAD`.

    Source: git 2.47, setup.c, `is_git_directory`; `commondir` names the folder that holds the other two.
    """
    return has("HEAD") and (has("commondir") or (has("objects") and has("refs")))


def _has(folder: int, name: str, above: str = "") -> bool:
    try:
        os.stat(above + name, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _is_read_as(folder: int, new: str, part: str) -> bool:
    # The folder has other parts, if it matters: where they are found by the wrong case, too, the disk ignores case.
    return fold(new) == fold(part) and any(_has(folder, sign) and _has(folder, sign.swapcase()) for sign in SIGNS)


def _is_work_tree(folder: int, above: str) -> bool:
    # A file: a folder of that name says nothing, since `git init` makes one in any folder, a repository's included.
    try:
        return S_ISREG(os.stat(above + ".git", dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def ways(folder: Path, target: str) -> Iterator[Path]:
    """Where *target*, a path seen from the real *folder*, leads, and what it is called from each link on its way.

    Such a link can be replaced without touching what it leads to. Of a name with a `..` the part before that counts.
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
    """The links on the way from *place*; what is walked leaves *rest*."""
    at = os.fspath(place)  # as text: each toolbox walks to a dozen places, and a `Path` for each step is dear
    while rest:
        name = rest.popleft()
        at = os.path.dirname(at) if name == ".." else f"{at.rstrip('/')}/{name}"
        if os.path.islink(at):
            yield Path(at)


def _folders(workspace: Path) -> Iterator[Path]:
    own = workspace / ".git"
    pointer = Path(os.path.realpath(own))
    yield from (way for way in ways(workspace, ".git") if way != own)
    text = _start_of(pointer)
    if text.startswith("gitdir:"):
        target = text.removeprefix("gitdir:").strip()
        folder = Path(os.path.realpath(pointer.parent / target))
        yield from ways(pointer.parent, target)
        yield from ways(folder, _start_of(folder / "commondir").strip() or ".")


def _start_of(path: Path) -> str:
    try:
        return os.fsdecode(read_regular(path, _MOST_BYTES, follow=True)).replace("\0", "")
    except OSError:
        return ""
