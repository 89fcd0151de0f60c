"""`openat2`: the kernel itself keeps a path beneath a folder, in one call.

Used for paths without links. Whatever it refuses is walked again by `walk`, which says why,
so this module needs no error codes: it answers with a descriptor or a negative number.

Source: openat2(2), Linux 5.6. The number is the same on every architecture listed here
(arch/*/kernel/syscalls/syscall*.tbl).
"""

import os
import sys
from collections.abc import Callable

SYSCALL = 437
MACHINES = frozenset({"x86_64", "aarch64", "riscv64", "ppc64le", "s390x", "i686", "armv7l", "loongarch64"})
RESOLVE_NO_SYMLINKS = 0x04  # implies RESOLVE_NO_MAGICLINKS
RESOLVE_BENEATH = 0x08

Open = Callable[[int, bytes], int]


def never(folder: int, path: bytes) -> int:  # noqa: ARG001 - takes what the others take
    """The opener where the kernel has none."""
    return -1


def opener(flags: int) -> Open:
    """A function `(folder, path) -> descriptor`, or one that always fails where `openat2` is missing.

    It gives a negative number for whatever cannot be opened with *flags* beneath `folder`
    without following any link.
    """
    if sys.platform != "linux" or os.uname().machine not in MACHINES:
        return never
    return _openat2(flags)


def _openat2(flags: int) -> Open:
    import ctypes  # noqa: PLC0415 - on first use: it costs more than everything else here

    class How(ctypes.Structure):
        _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))

    how = How(flags, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)
    reference = ctypes.byref(how)  # keeps `how` alive
    size = ctypes.sizeof(how)
    # No `argtypes`: ctypes' own conversions are the same here and 0.5 us faster.
    syscall = ctypes.CDLL(None).syscall

    def open_beneath(folder: int, path: bytes) -> int:
        fd: int = syscall(SYSCALL, folder, path, reference, size)
        return fd

    return open_beneath
