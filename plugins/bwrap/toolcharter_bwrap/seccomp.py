"""A kernel filter for the system calls that no program in the sandbox may make.

The filter denies calls that a confined program does not need and that sandbox escapes use: mounting, namespaces,
tracing, kernel modules, keys, kernel objects by handle, io_uring, input to terminals, files that run with their owner's
rights. A call with a number that was unknown when these tables were written gets ENOSYS, as on an older kernel.

Sources: the calls that Docker's default profile denies without capabilities (moby, profiles/seccomp/default.json);
bubblewrap(1), `--new-session`, for TIOCSTI; CVE-2023-1523 for TIOCLINUX. Numbers: the kernel's
arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h. Filters: the kernel's
Documentation/userspace-api/seccomp_filter.rst.
"""

import errno
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

# Classic BPF: load a word, jump if equal, if greater or equal, if any bit is set; return.
_LOAD, _EQUAL, _FROM, _ANY, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF_0000, 0x0005_0000, 0x8000_0000
# Offsets in struct seccomp_data, in bytes: the call's number, the architecture, and the low half of each argument. Both
# architectures are little-endian.
_NUMBER, _ARCHITECTURE, _ARGUMENTS, _WIDTH = 0, 4, 16, 8
_FIRST_UNKNOWN = 470  # 469 is file_setattr, of Linux 6.17.

_NAMESPACES = 0x7E02_0080  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET and NEWTIME
_SET_ID = 0o6000
_CREATE_FLAGS = 0o100 | 0o20_000_000  # O_CREAT, and O_TMPFILE without its O_DIRECTORY bit
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_PER_LINUX, _PER_QUERY = 0, 0xFFFF_FFFF
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK, _NETLINK_ROUTE = 1, 2, 10, 16, 0

_X86_64 = {
    "ptrace": 101,
    "syslog": 103,
    "uselib": 134,
    "ustat": 136,
    "sysfs": 139,
    "vhangup": 153,
    "modify_ldt": 154,
    "pivot_root": 155,
    "_sysctl": 156,
    "adjtimex": 159,
    "chroot": 161,
    "acct": 163,
    "settimeofday": 164,
    "mount": 165,
    "umount2": 166,
    "swapon": 167,
    "swapoff": 168,
    "reboot": 169,
    "sethostname": 170,
    "setdomainname": 171,
    "iopl": 172,
    "ioperm": 173,
    "create_module": 174,
    "init_module": 175,
    "delete_module": 176,
    "get_kernel_syms": 177,
    "query_module": 178,
    "quotactl": 179,
    "nfsservctl": 180,
    "lookup_dcookie": 212,
    "clock_settime": 227,
    "kexec_load": 246,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "migrate_pages": 256,
    "move_pages": 279,
    "perf_event_open": 298,
    "fanotify_init": 300,
    "open_by_handle_at": 304,
    "clock_adjtime": 305,
    "setns": 308,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "finit_module": 313,
    "kexec_file_load": 320,
    "bpf": 321,
    "userfaultfd": 323,
}
_AARCH64 = {
    "lookup_dcookie": 18,
    "umount2": 39,
    "mount": 40,
    "pivot_root": 41,
    "nfsservctl": 42,
    "chroot": 51,
    "vhangup": 58,
    "quotactl": 60,
    "acct": 89,
    "kexec_load": 104,
    "init_module": 105,
    "delete_module": 106,
    "clock_settime": 112,
    "syslog": 116,
    "ptrace": 117,
    "reboot": 142,
    "sethostname": 161,
    "setdomainname": 162,
    "settimeofday": 170,
    "adjtimex": 171,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "swapon": 224,
    "swapoff": 225,
    "migrate_pages": 238,
    "move_pages": 239,
    "perf_event_open": 241,
    "fanotify_init": 262,
    "open_by_handle_at": 265,
    "clock_adjtime": 266,
    "setns": 268,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "kcmp": 272,
    "finit_module": 273,
    "bpf": 280,
    "userfaultfd": 282,
    "kexec_file_load": 294,
}
# From 424 on, numbers are the same everywhere.
_COMMON_CALLS = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "open_tree_attr": 467,
}
_FCHMODAT = {452: 2}  # fchmodat2


@dataclass(frozen=True, slots=True, eq=False)
class Machine:
    """The filter's facts about one kind of processor."""

    architecture: int
    """AUDIT_ARCH_* of linux/audit.h."""
    denied: Mapping[str, int]
    """The numbers of calls that are denied with any arguments."""
    clone: int
    unshare: int
    ioctl: int
    socket: int
    personality: int
    modes: Mapping[int, int]
    """The calls that set the mode of a file, each with the index of its mode argument."""
    opens: Mapping[int, tuple[int, int]]
    """The calls that set the mode only if they make the file, each with the indexes of its flags and of its mode."""
    clone3: int = 435
    openat2: int = 437


MACHINES = {
    "x86_64": Machine(
        0xC000_003E,
        {**_X86_64, **_COMMON_CALLS},
        clone=56,
        unshare=272,
        ioctl=16,
        socket=41,
        personality=135,
        modes={85: 1, 90: 1, 91: 1, 133: 1, 259: 2, **_FCHMODAT, 268: 2},  # creat, chmod, fchmod, mknod, mknodat
        opens={2: (1, 2), 257: (2, 3)},
    ),
    "aarch64": Machine(
        0xC000_00B7,
        {**_AARCH64, **_COMMON_CALLS},
        clone=220,
        unshare=97,
        ioctl=29,
        socket=198,
        personality=92,
        modes={33: 2, 52: 1, 53: 2, **_FCHMODAT},
        opens={56: (2, 3)},
    ),
}


@cache
def seccomp_filter(machine: Machine, *, network: bool) -> bytes:
    """Return the filter as an array of `struct sock_filter`, for `bwrap --add-seccomp-fd`.

    Args:
        machine: This host's processor. A call of another architecture, such as that of a 32-bit program, kills its
            program.
        network: Whether the program is in the host's network namespace. If so, it gets no UNIX sockets: sockets with an
            abstract name, as desktops and daemons have, belong to that namespace and not to a file.
    """
    return b"".join(_build_program(machine, network=network))


def _build_program(machine: Machine, *, network: bool) -> Iterator[bytes]:
    yield _load(_ARCHITECTURE)
    yield _jump(_EQUAL, machine.architecture, skip_if=1)
    yield _return(_KILL)
    yield _load(_NUMBER)
    yield from _refuse(_FROM, _FIRST_UNKNOWN, errno.ENOSYS)
    # The flags of clone3 are in memory, which a filter cannot read. Without clone3, libraries use clone.
    yield from _refuse(_EQUAL, machine.clone3, errno.ENOSYS)
    # The mode of openat2 is in memory, too. Without openat2, programs use openat.
    yield from _refuse(_EQUAL, machine.openat2, errno.ENOSYS)
    for number in sorted(machine.denied.values()):
        yield from _refuse(_EQUAL, number, errno.EPERM)
    for number in (machine.clone, machine.unshare):
        yield from _check_call(number, [_load_argument(0), *_refuse(_ANY, _NAMESPACES, errno.EPERM)])
    # A set-ID file would give its owner's rights to every user of the host, outside the sandbox.
    for number, argument in machine.modes.items():
        yield from _check_call(number, [_load_argument(argument), *_refuse(_ANY, _SET_ID, errno.EPERM)])
    for number, (flags, argument) in machine.opens.items():
        # The mode argument is valid only if the call makes a file; otherwise the register may hold anything.
        mode = [_load_argument(argument), *_refuse(_ANY, _SET_ID, errno.EPERM)]
        yield from _check_call(number, [_load_argument(flags), _jump(_ANY, _CREATE_FLAGS, skip_else=len(mode)), *mode])
    terminal = [*_refuse(_EQUAL, _TIOCSTI, errno.EPERM), *_refuse(_EQUAL, _TIOCLINUX, errno.EPERM)]
    yield from _check_call(machine.ioctl, [_load_argument(1), *terminal])
    yield from _check_call(
        machine.personality, [_load_argument(0), *_allow_only((_PER_LINUX, _PER_QUERY), errno.EPERM)]
    )
    yield from _check_call(machine.socket, _families(network=network))
    yield _return(_ALLOW)


def _families(*, network: bool) -> list[bytes]:
    families = (_AF_INET, _AF_INET6) if network else (_AF_UNIX, _AF_INET, _AF_INET6)
    route = [_load_argument(2), *_allow_only((_NETLINK_ROUTE,), errno.EPROTONOSUPPORT), _return(_ALLOW)]
    return [
        _load_argument(0),
        _jump(_EQUAL, _AF_NETLINK, skip_else=len(route)),
        *route,
        *_allow_only(families, errno.EAFNOSUPPORT),
    ]


def _check_call(number: int, checks: list[bytes]) -> Iterator[bytes]:
    """The *checks* for one call, which is allowed if it passes them. The call's number is loaded before and after."""
    yield _jump(_EQUAL, number, skip_else=len(checks) + 1)
    yield from checks
    yield _return(_ALLOW)


def _allow_only(values: tuple[int, ...], error: int) -> list[bytes]:
    """Refuse all loaded values except *values*."""
    last = len(values)
    return [
        *(_jump(_EQUAL, value, skip_if=last - index) for index, value in enumerate(values)),
        _return(_ERRNO | error),
    ]


def _refuse(test: int, value: int, error: int) -> tuple[bytes, bytes]:
    return _jump(test, value, skip_else=1), _return(_ERRNO | error)


def _load_argument(index: int) -> bytes:
    # The kernel reads all of these arguments as 32 bits, so the upper half does not matter.
    return _load(_ARGUMENTS + _WIDTH * index)


def _load(offset: int) -> bytes:
    return _instruction(_LOAD, 0, 0, offset)


def _return(action: int) -> bytes:
    return _instruction(_RETURN, 0, 0, action)


def _jump(test: int, value: int, *, skip_if: int = 0, skip_else: int = 0) -> bytes:
    return _instruction(test, skip_if, skip_else, value)


def _instruction(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
