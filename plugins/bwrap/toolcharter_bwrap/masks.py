"""Masks: the mounts that keep programs from writing, renaming or creating the protected paths of a workspace.

A mount point can be neither renamed nor removed, but a folder above a mount point can. So every folder on the way to a
protected path becomes a mount point, too: it is mounted onto itself and stays as writable as it was.
"""

import os
import stat
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum
from pathlib import Path, PurePosixPath

from toolcharter import Denied, HiddenPath, Reason, read_regular
from toolcharter_bwrap.links import link_targets
from toolcharter_bwrap.placeholders import Keeper, hold_placeholder, is_placeholder

_MAX_POINTER_BYTES = 8192
_EMPTY_FILE = Path(__file__).with_name("empty")
"""An empty file."""
# Programs run or trust the files in these folders, also through links. So the links' targets are protected, too.
_SEARCHED = frozenset({".git", ".toolcharter"})


class Mask(Enum):
    """The mount over one path."""

    WRITABLE = "writable"
    """The path itself, writable: it cannot be renamed."""
    READ_ONLY = "read-only"
    """The path itself, read-only."""
    EMPTY = "empty"
    """An empty folder that cannot be written to."""


@contextmanager
def mask_paths(
    workspace: Path, protected: Iterable[str], keeper: Keeper, hidden: Iterable[HiddenPath] = ()
) -> Generator[tuple[str, ...]]:
    """Yield the arguments for bubblewrap that protect paths; they follow those that bind the workspace.

    Until the context is left, an empty placeholder exists for each missing protected path.

    Args:
        workspace: A real path.
        protected: Paths relative to the workspace.
        keeper: Removes the placeholders if this process is killed.
        hidden: The paths that `hide_paths` hides. The folders above them cannot be renamed either: under another name,
            a later program could see their content.

    Raises:
        Denied: `protected_path`, if a protected path is a link or lies behind one, since links cannot be mount points.
    """
    masks: dict[str, Mask] = {}
    with ExitStack() as stack:
        for name in sorted(set(protected), key=lambda name: PurePosixPath(name).parts):
            _mask_path(workspace, name, masks, stack, keeper)
        for place in hidden:
            _mask_parents(workspace, place.path, masks)
        yield tuple(word for path, mask in masks.items() for word in _mount_arguments(path, mask))


def hide_paths(workspace: Path, hidden: Iterable[HiddenPath]) -> Iterator[str]:
    """Yield the arguments for bubblewrap that hide paths by empty mounts; they follow those of `mask_paths`."""
    for place in hidden:
        path = f"{workspace}/{place.path}"
        yield from _mount_arguments(path, Mask.EMPTY) if place.is_folder else ("--ro-bind", str(_EMPTY_FILE), path)


def _mask_path(
    workspace: Path,
    name: str,
    masks: dict[str, Mask],
    stack: ExitStack,
    keeper: Keeper,
    *,
    is_link_target: bool = False,
) -> None:
    """Mask *name* and the targets of links in it. *is_link_target*: *name* itself is such a target."""
    parts = _require_parts(name)
    path = str(workspace)
    for index, part in enumerate(parts):
        path = f"{path}/{part}"
        if masks.get(path, Mask.WRITABLE) is not Mask.WRITABLE:
            return  # a mask that is not `WRITABLE` also protects everything below
        masks[path] = _choose_mask(path, stack, keeper, is_last=index == len(parts) - 1)
    if parts and masks[path] is Mask.READ_ONLY and (parts[-1] in _SEARCHED or is_link_target):
        for place in (*_git_folders(workspace, Path(path)), *link_targets(workspace, path)):
            _mask_path(workspace, place, masks, stack, keeper, is_link_target=True)


def _mask_parents(workspace: Path, name: str, masks: dict[str, Mask]) -> None:
    """Mask the folders above *name*, unless they are protected already."""
    path = str(workspace)
    for part in PurePosixPath(name).parts[:-1]:
        path = f"{path}/{part}"
        if masks.setdefault(path, Mask.WRITABLE) is not Mask.WRITABLE:
            return  # another mount below would be writable again


def _choose_mask(path: str, stack: ExitStack, keeper: Keeper, *, is_last: bool) -> Mask:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        status = None
    if status is None or is_placeholder(status):
        stack.enter_context(hold_placeholder(path, keeper))
        return Mask.EMPTY if is_last else Mask.WRITABLE
    if stat.S_ISLNK(status.st_mode):
        raise Denied(
            Reason.PROTECTED_PATH,
            f"The path {path!r} is protected, but it is a link, which a program in the sandbox could replace.",
            hint=_hint(path),
        )
    return Mask.READ_ONLY if is_last or not stat.S_ISDIR(status.st_mode) else Mask.WRITABLE


def _hint(link: str) -> str:
    """A hint for a protected link. A Python environment is protected by the path by which it was started."""
    real = os.path.realpath(link)
    return (
        "Put the file or folder itself there. If it is the Python environment that toolcharter runs in, "
        f"starting toolcharter from {real!r} is enough."
    )


def _require_parts(name: str) -> tuple[str, ...]:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\n" in name or "\0" in name:
        raise Denied(Reason.SANDBOX_UNAVAILABLE, f"The path {name!r} cannot be protected in a sandbox.")
    return path.parts


def _mount_arguments(path: str, mask: Mask) -> tuple[str, ...]:
    if mask is Mask.EMPTY:
        return ("--perms", "0555", "--tmpfs", path, "--remount-ro", path)
    return ("--bind" if mask is Mask.WRITABLE else "--ro-bind", path, path)


def _git_folders(workspace: Path, pointer: Path) -> Iterator[str]:
    """The repository folders in the workspace that a `.git` file points to. Source: gitrepository-layout(5)."""
    if not pointer.is_file():
        return
    text = _read_start(pointer)
    if not text.startswith("gitdir:"):
        return
    folder = Path(os.path.realpath(pointer.parent / text.removeprefix("gitdir:").strip()))
    common = Path(os.path.realpath(folder / (_read_start(folder / "commondir").strip() or ".")))
    for place in (folder, common):
        if place.is_relative_to(workspace) and place != workspace:
            yield str(place.relative_to(workspace))


def _read_start(path: Path) -> str:
    try:
        return os.fsdecode(read_regular(path, _MAX_POINTER_BYTES, follow=True))
    except OSError:
        return ""
