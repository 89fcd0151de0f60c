"""Files and sockets that prove something, because nobody but their owner can have put them where they are."""

import os
import stat
from pathlib import Path

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def require_own_file(path: Path, workspace: Path, *, is_secret: bool = False) -> None:
    """Refuse a file that somebody else could have written, or that tools could.

    Args:
        path: Whole.
        workspace: The folder that tools can write to.
        is_secret: Other users must not read it, either.

    Raises:
        ValueError: It is such a file, or none; the text says what to do.
    """
    found = _found(path, workspace)
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"{str(path)!r} is no regular file")
    if is_secret and found.st_mode & (stat.S_IROTH | stat.S_IRGRP):
        raise ValueError(f"other users can read {str(path)!r}; chmod go= it")


def require_own_socket(path: Path, workspace: Path) -> bool:
    """Refuse a socket that somebody else could have put there.

    Its folder has to be the user's own, too: the one socket could be replaced by another.

    Returns:
        Whether there is one; its service may not have begun.

    Raises:
        ValueError: It is no socket, or lies where others or tools can write.
    """
    folder = _found(path.parent, workspace)
    if folder.st_uid != os.geteuid():
        raise ValueError(f"{str(path.parent)!r}, the folder of the socket, belongs to another user")
    if not path.is_symlink() and not path.exists():
        return False
    if not stat.S_ISSOCK(path.lstat().st_mode):
        raise ValueError(f"{str(path)!r} is no socket")
    _require_own(path, path.lstat())
    return True


def _found(path: Path, workspace: Path) -> os.stat_result:
    """What lies at *path*, where only the user and root can have put it."""
    try:
        real, root = path.resolve(strict=True), workspace.resolve()
    except OSError as error:
        raise ValueError(f"{str(path)!r} cannot be found: {error.strerror}") from error
    for place in (path.absolute(), real):
        if place.is_relative_to(root):
            raise ValueError(f"{str(path)!r} lies in the workspace, where tools can write; keep it elsewhere")
    for folder in real.parents:
        found = folder.stat()
        if not found.st_mode & stat.S_ISVTX:  # in a folder such as /tmp nobody renames what is another's
            _require_own(folder, found)
    _require_own(real, real.stat())
    return real.stat()


def _require_own(path: Path, found: os.stat_result) -> None:
    if found.st_uid not in {0, os.geteuid()}:
        raise ValueError(f"{str(path)!r} belongs to another user")
    if found.st_mode & _OTHERS_MAY_WRITE:
        raise ValueError(f"other users can write to {str(path)!r}; chmod go-w it")
