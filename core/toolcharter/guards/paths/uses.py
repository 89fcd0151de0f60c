"""Check that a place is fit for its use, before anything is changed: `write`, `delete`, `move`, `receive` or `make`."""

import os
from collections.abc import Callable
from stat import S_ISREG

from toolcharter.api.paths import PlaceUse
from toolcharter.guards.paths import faults
from toolcharter.guards.paths.handles import FOLDER_FLAGS
from toolcharter.guards.paths.place_walk import WriteLocation
from toolcharter.guards.paths.target import kind_of

FOLLOWING_USES: frozenset[PlaceUse] = frozenset({"write", "make"})
"""The uses for which a link at the end of the path is followed. The other uses act on the link itself."""

CREATING_USES: frozenset[PlaceUse] = frozenset({"write", "make", "receive"})
"""The uses after which a file or folder exists at the place."""


def check_use(use: PlaceUse, found: WriteLocation, path: str) -> None:
    """Refuse a place that cannot be used for *use*.

    Raises:
        Denied: `hard_link`.
        ToolError: `path_not_found`, `path_exists`, `is_directory`, `not_directory`, `not_regular`, `not_empty`,
            `write_failure`.
    """
    _CHECKS[use](found, path)


def _check_write(found: WriteLocation, path: str) -> None:
    status = found.status
    if status is None:
        if path.endswith("/"):
            raise faults.is_directory(path)
        return
    if kind_of(status) == "folder":
        raise faults.is_directory(path)
    if not S_ISREG(status.st_mode):
        raise faults.not_regular(path)
    if status.st_nlink > 1:
        raise faults.hard_link(path)
    if not _may_write(found):
        raise faults.unwritable(path, "may not be changed")


def _may_write(found: WriteLocation) -> bool:
    # A rename would ignore the file's own permissions, although it was made read-only on purpose.
    by_effect = os.access in os.supports_effective_ids
    return os.access(found.name, os.W_OK, dir_fd=found.folder, effective_ids=by_effect, follow_symlinks=False)


def _check_move(found: WriteLocation, path: str) -> None:
    if found.status is None:
        raise faults.missing(path)


def _check_delete(found: WriteLocation, path: str) -> None:
    _check_move(found, path)
    if kind_of(found.status) == "folder" and not _is_empty(found, path):
        raise faults.not_empty(path)


def _is_empty(found: WriteLocation, path: str) -> bool:
    try:
        fd = os.open(found.name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=found.folder)
    except OSError as error:
        raise faults.from_os_error(error, path) from error
    try:
        with os.scandir(fd) as entries:
            return next(entries, None) is None
    finally:
        os.close(fd)


def _check_receive(found: WriteLocation, path: str) -> None:
    if found.status is not None:
        raise faults.exists(path)


def _check_make(found: WriteLocation, path: str) -> None:
    if kind_of(found.status) not in {"missing", "folder"}:
        raise faults.exists(path)


_CHECKS: dict[PlaceUse, Callable[[WriteLocation, str], None]] = {
    "write": _check_write,
    "delete": _check_delete,
    "move": _check_move,
    "receive": _check_receive,
    "make": _check_make,
}
