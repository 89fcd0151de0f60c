"""Every refusal of the path guard: its reason, and a message that names the path."""

import errno

from toolcharter.errors import Denied, ToolError
from toolcharter.spec.reasons import Reason

SHOWN_CHARS = 200

_BY_ERRNO = {
    errno.ENOENT: ("path_not_found", "does not exist"),
    errno.ELOOP: ("path_not_found", "leads through too many links"),
    errno.ENOTDIR: ("not_directory", "is not a folder, or something on the way to it is not"),
    errno.EISDIR: ("is_directory", "is a folder"),
    errno.ENXIO: ("not_regular", "is not a regular file"),
    errno.ENODEV: ("not_regular", "is not a regular file"),
    errno.ENAMETOOLONG: ("invalid_path", "has a name that is too long"),
    errno.EINVAL: ("invalid_path", "is no name this file system knows"),
    errno.EILSEQ: ("invalid_path", "is no name this file system knows"),
    errno.EACCES: ("read_failure", "may not be read"),
    errno.EPERM: ("read_failure", "may not be read"),
}


def shown(path: str) -> str:
    """*path* for a message: quoted, control characters escaped, cut."""
    return repr(path) if len(path) <= SHOWN_CHARS else f"{path[:SHOWN_CHARS]!r}..."


def outside(path: str) -> Denied:
    """The refusal of a path that leaves the workspace."""
    return Denied(Reason.PATH_OUTSIDE_WORKSPACE, f"{shown(path)} leads out of the workspace.")


def protected(path: str) -> Denied:
    """The refusal of a protected path."""
    return Denied(Reason.PROTECTED_PATH, f"{shown(path)} is protected.")


def invalid(path: str, why: str) -> ToolError:
    """The error for a text that cannot be a path."""
    return ToolError(f"The path {shown(path)} {why}.", reason="invalid_path")


def is_directory(path: str) -> ToolError:
    """The error for a folder where a file was asked for."""
    return ToolError(f"{shown(path)} is a folder.", reason="is_directory")


def not_regular(path: str) -> ToolError:
    """The error for a FIFO, a device or a socket."""
    return ToolError(f"{shown(path)} is not a regular file.", reason="not_regular")


def from_os_error(error: OSError, path: str) -> ToolError:
    """The error for what the system said about *path*; anything unexpected is `read_failure`."""
    reason, what = _BY_ERRNO.get(error.errno or 0, ("read_failure", f"cannot be read: {error.strerror}"))
    return ToolError(f"{shown(path)} {what}.", reason=reason)
