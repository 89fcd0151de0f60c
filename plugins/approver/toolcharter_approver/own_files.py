"""Check files and sockets that are trusted because only the user or root can have put them where they are."""

import os
import stat
from pathlib import Path

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def require_own_file(path: Path, workspace: Path, *, is_secret: bool = False) -> None:
    """Refuse a file that another user or a tool could have written.

    Args:
        path: An absolute path.
        workspace: The folder that tools can write to.
        is_secret: If true, also refuse a file that other users can read.

    Raises:
        ValueError: The file is refused, missing, or not a regular file. The text says what to do.
    """
    found = _stat_own(path, workspace)
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"{str(path)!r} is not a regular file")
    if is_secret and found.st_mode & (stat.S_IROTH | stat.S_IRGRP):
        raise ValueError(f"other users can read {str(path)!r}; chmod go= it")


def require_own_socket(path: Path, workspace: Path) -> bool:
    """Refuse a socket that another user or a tool could have put there.

    Its folder has to belong to the user, too: in another user's folder, the socket could be replaced.

    Returns:
        False if there is no socket yet, because its service has not started.

    Raises:
        ValueError: It is not a socket, or other users or tools can write to it or its folder.
    """
    folder = _stat_own(path.parent, workspace)
    if folder.st_uid != os.geteuid():
        raise ValueError(f"{str(path.parent)!r}, the folder of the socket, belongs to another user")
    if not path.is_symlink() and not path.exists():
        return False
    if not stat.S_ISSOCK(path.lstat().st_mode):
        raise ValueError(f"{str(path)!r} is not a socket")
    _require_own_path(path, path.lstat())
    return True


def _stat_own(path: Path, workspace: Path) -> os.stat_result:
    """The status of the file at *path*; refused unless only the user and root can have put it there."""
    try:
        real, root = path.resolve(strict=True), workspace.resolve()
    except OSError as error:
        raise ValueError(f"{str(path)!r} cannot be found: {error.strerror}") from error
    for place in (path.absolute(), real):
        if place.is_relative_to(root):
            raise ValueError(f"{str(path)!r} lies in the workspace, where tools can write; keep it elsewhere")
    for folder in real.parents:
        found = folder.stat()
        if not found.st_mode & stat.S_ISVTX:  # in a sticky folder such as /tmp, users can only rename their own files
            _require_own_path(folder, found)
    _require_own_path(real, real.stat())
    return real.stat()


def _require_own_path(path: Path, found: os.stat_result) -> None:
    if found.st_uid not in {0, os.geteuid()}:
        raise ValueError(f"{str(path)!r} belongs to another user")
    if found.st_mode & _OTHERS_MAY_WRITE:
        raise ValueError(f"other users can write to {str(path)!r}; chmod go-w it")
