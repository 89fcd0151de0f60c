"""The denials and errors of the path guard, each with its reason and a message that names the path."""

import errno

from toolcharter.api.reasons import Reason
from toolcharter.errors import Denied, ToolError

SHOWN_CHARS = 200

_BY_ERRNO = {
    errno.ENOENT: ("path_not_found", "does not exist"),
    errno.ELOOP: ("path_not_found", "leads through too many links"),
    errno.ENOTDIR: ("not_directory", "is not a folder, or something on the way to it is not"),
    errno.EISDIR: ("is_directory", "is a folder"),
    errno.ENXIO: ("not_regular", "is not a regular file"),
    errno.ENODEV: ("not_regular", "is not a regular file"),
    errno.ENAMETOOLONG: ("invalid_path", "has a name that is too long"),
    errno.EINVAL: ("invalid_path", "is not a valid name on this file system"),
    errno.EILSEQ: ("invalid_path", "is not a valid name on this file system"),
    errno.EACCES: ("read_failure", "may not be read"),
    errno.EPERM: ("read_failure", "may not be read"),
}
_BY_ERRNO_OF_WRITES = {
    **{number: found for number, found in _BY_ERRNO.items() if found[0] != "read_failure"},
    errno.EACCES: ("write_failure", "may not be changed"),
    errno.EPERM: ("write_failure", "may not be changed"),
    errno.EROFS: ("write_failure", "lies on a file system that is read-only"),
    errno.ENOSPC: ("write_failure", "cannot be written: the disk is full; what was there is unchanged"),
    errno.EDQUOT: ("write_failure", "cannot be written: the quota is used up; what was there is unchanged"),
    errno.EFBIG: ("write_failure", "cannot be written: it would be larger than files may be; it is unchanged"),
    errno.EBUSY: ("write_failure", "is a mount point or in use by the system"),
    errno.EXDEV: ("write_failure", "cannot be moved to another file system; write a copy and delete this one"),
    errno.EINVAL: ("invalid_path", "cannot be moved there: a folder cannot be inside itself"),
    errno.EEXIST: ("path_exists", "exists already"),
    errno.ENOTEMPTY: ("not_empty", "is a folder that is not empty"),
}


def quote_path(path: str) -> str:
    """Quote *path* for a message, with control characters escaped, cut to `SHOWN_CHARS`."""
    return repr(path) if len(path) <= SHOWN_CHARS else f"{path[:SHOWN_CHARS]!r}..."


def outside(path: str) -> Denied:
    """The refusal of a path that leaves the workspace."""
    return Denied(Reason.PATH_OUTSIDE_WORKSPACE, f"{quote_path(path)} leads out of the workspace.")


def hidden(path: str) -> Denied:
    """The refusal of a file that the profile hides."""
    return Denied(Reason.PROTECTED_PATH, f"{quote_path(path)} is hidden by the profile.")


def protected(path: str) -> Denied:
    """The refusal of a protected path."""
    return Denied(Reason.PROTECTED_PATH, f"{quote_path(path)} is protected.")


def invalid(path: str, why: str) -> ToolError:
    """The error for a text that cannot be a path."""
    return ToolError(f"The path {quote_path(path)} {why}.", reason="invalid_path")


def is_directory(path: str) -> ToolError:
    """The error for a folder where a file was asked for."""
    return ToolError(f"{quote_path(path)} is a folder.", reason="is_directory")


def missing(path: str) -> ToolError:
    """The error for a path that does not exist."""
    return ToolError(f"{quote_path(path)} does not exist.", reason="path_not_found")


def not_regular(path: str) -> ToolError:
    """The error for a FIFO, a device or a socket."""
    return ToolError(f"{quote_path(path)} is not a regular file.", reason="not_regular")


def read_only(path: str) -> Denied:
    """The refusal to change a path that tools may only read."""
    return Denied(Reason.PROTECTED_PATH, f"{quote_path(path)} is protected: no tool may change it.")


def shadows(path: str) -> Denied:
    """The refusal of a file that Python would import at its next start instead of an installed module."""
    what = f"{quote_path(path)} is protected: at its next start, Python would import it instead of an installed module."
    return Denied(
        Reason.PROTECTED_PATH, what, hint="Choose another name, or a folder from which Python does not import."
    )


def in_repository(path: str) -> Denied:
    """The refusal to change a file that git would read as part of a repository."""
    what = f"{quote_path(path)} lies, or would lie, in a repository's own folder, which no tool may change."
    return Denied(Reason.PROTECTED_PATH, what)


def behind_link(path: str) -> ToolError:
    """The error for a link that is named with a slash at its end, where the call would act on the link itself."""
    what = f"{quote_path(path)} ends in a slash, but is a link"
    hint = "Leave the slash out to act on the link, or name the folder by its own path."
    return ToolError(f"{what}.", reason="not_directory", hint=hint)


def hard_link(path: str) -> Denied:
    """The refusal to write a file that has other hard links, which may lie anywhere."""
    what = f"{quote_path(path)} has other names (hard links), and writing to one of them changes them all."
    return Denied("hard_link", what, hint="Write a new file, or ask the user to break the link.")


def no_folder(path: str) -> ToolError:
    """The error for a file where a folder was asked for."""
    return ToolError(
        f"{quote_path(path)} is not a folder, or something on the way to it is not.", reason="not_directory"
    )


def not_on_disk(path: str) -> ToolError:
    """The error for a virtual folder, in which no program can be started."""
    return ToolError(
        f"{quote_path(path)} is virtual and not on the disk; programs see only the disk.", reason="path_not_found"
    )


def virtual(path: str, why: str) -> ToolError:
    """The error for an operation that a virtual file does not support."""
    what = f"{quote_path(path)} is virtual and not on the disk: {why}."
    return ToolError(what, reason="virtual_path", hint="Read, write, edit or delete it as a file.")


def holds_virtual(path: str) -> ToolError:
    """The error for a folder that holds virtual files."""
    what = f"{quote_path(path)} contains virtual files, which are not on the disk: it can be neither moved nor deleted."
    return ToolError(what, reason="virtual_path", hint="Delete or write its files one by one.")


def route_failed(path: str, why: str) -> ToolError:
    """The error for a path about which an extension fails to give information."""
    return ToolError(f"{quote_path(path)} cannot be accessed: {why}.", reason="route_failed")


def exists(path: str) -> ToolError:
    """The error for a path that exists already."""
    return ToolError(f"{quote_path(path)} exists already.", reason="path_exists")


def not_empty(path: str) -> ToolError:
    """The error for a folder that is not empty."""
    return ToolError(f"{quote_path(path)} is a folder that is not empty.", reason="not_empty")


def unwritable(path: str, why: str) -> ToolError:
    """The error for a change that the system, or a limit of ours, does not permit."""
    return ToolError(f"{quote_path(path)} {why}.", reason="write_failure")


def changed(path: str) -> ToolError:
    """The error for a file that was changed after it was inspected and before the write."""
    message = f"{quote_path(path)} was changed by another process meanwhile; nothing was written."
    return ToolError(
        message, reason="changed_meanwhile", hint="Look at it again, then repeat the call.", retryable=True
    )


def from_write_error(error: OSError, path: str) -> ToolError:
    """Convert an `OSError` from a change of *path*. An unexpected error number gets the reason `write_failure`."""
    other = ("write_failure", f"cannot be changed: {error.strerror}")
    reason, what = _BY_ERRNO_OF_WRITES.get(error.errno or 0, other)
    return ToolError(f"{quote_path(path)} {what}.", reason=reason)


def from_os_error(error: OSError, path: str) -> ToolError:
    """Convert an `OSError` from reading *path*. An unexpected error number gets the reason `read_failure`."""
    reason, what = _BY_ERRNO.get(error.errno or 0, ("read_failure", f"cannot be read: {error.strerror}"))
    return ToolError(f"{quote_path(path)} {what}.", reason=reason)
