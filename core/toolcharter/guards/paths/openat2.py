"""`openat2`, by which the kernel keeps a path beneath a folder in one call, and `renameat2`, which replaces no file.

`openat2` is used for paths without links. If it fails, `walk` walks the same path and finds out why.
Therefore this module needs no error codes: it returns a descriptor or a negative number.

Source: openat2(2), Linux 5.6. The number is the same on every architecture listed here
(arch/*/kernel/syscalls/syscall*.tbl).
"""

import errno
import os
import sys
from collections.abc import Callable
from functools import cache
from stat import S_ISDIR
from typing import TYPE_CHECKING, Any

from toolcharter._lazy import lazy

if TYPE_CHECKING:
    import ctypes
else:
    ctypes = lazy("ctypes")

SYSCALL = 437
MACHINES = frozenset({"x86_64", "aarch64", "riscv64", "ppc64le", "s390x", "i686", "armv7l", "loongarch64"})
RESOLVE_NO_SYMLINKS = 0x04  # implies RESOLVE_NO_MAGICLINKS
RESOLVE_BENEATH = 0x08

RENAME_NOREPLACE = 0x01

Open = Callable[[int, bytes], int]
# The errors of a kernel or file system without the flag, and of a C library without the function.
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP})


def fail_to_open(_folder: int, _path: bytes) -> int:
    """Fail: the opener for systems without `openat2`."""
    return -1


def make_opener(flags: int) -> Open:
    """Return a function `(folder, path) -> descriptor`, which always fails if `openat2` is missing.

    The function returns a negative number if the path cannot be opened with *flags* beneath
    `folder` without following any link.
    """
    if sys.platform != "linux" or os.uname().machine not in MACHINES:
        return fail_to_open
    return _openat2(flags)


def _openat2(flags: int) -> Open:
    class How(ctypes.Structure):
        _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))

    how = How(flags, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)
    reference = ctypes.byref(how)  # keeps `how` alive
    size = ctypes.sizeof(how)
    # No `argtypes`: ctypes' default conversions give the same result here and are 0.5 us faster.
    syscall = ctypes.CDLL(None).syscall

    def open_beneath(folder: int, path: bytes) -> int:
        fd: int = syscall(SYSCALL, folder, path, reference, size)
        return fd

    return open_beneath


def rename_new(folder: int, name: str, target: int, new: str) -> None:
    """Rename *name* in *folder* to *new* in *target*, and fail if *new* exists, without a gap between check and rename.

    Raises:
        OSError: `FileExistsError` if *new* exists; the system's error otherwise.

    Source: rename(2), `RENAME_NOREPLACE`, Linux 3.15.
    """
    number = _renameat2(folder, os.fsencode(name), target, os.fsencode(new))
    if number in _UNSUPPORTED:
        link_new(folder, name, target, new)
    elif number:
        raise OSError(number, os.strerror(number), name)


def link_new(folder: int, name: str, target: int, new: str) -> None:
    """Like `rename_new`, for systems without `renameat2`.

    A hard link never replaces a file, and renaming a folder never replaces one that is not empty.
    """
    if S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=target)
        return
    os.link(name, new, src_dir_fd=folder, dst_dir_fd=target, follow_symlinks=False)
    os.unlink(name, dir_fd=folder)


def _renameat2(folder: int, name: bytes, target: int, new: bytes) -> int:
    """Return the error number; 0 for success."""
    function = _renamer()
    if function is None:
        return errno.ENOSYS
    return 0 if function(folder, name, target, new, RENAME_NOREPLACE) == 0 else ctypes.get_errno()


@cache
def _renamer() -> Any:
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
