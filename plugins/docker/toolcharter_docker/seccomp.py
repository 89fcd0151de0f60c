"""The system calls that programs in a container may make, as a seccomp profile for the daemon.

The daemon's own profile changes from version to version. That of Docker 20.10 lets programs use io_uring and open
`AF_VSOCK` sockets, which lead to the hypervisor whatever network the container has. This profile is for programs
without capabilities. It leaves out calls that only an administrator needs, calls that make namespaces, keyrings, which
are not separated by namespaces, and calls that inspect other processes. Calls that are not listed here are refused. So
are all calls of 32-bit programs, for which one call number covers all socket operations.

Sources: the kernel's arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h; seccomp(2),
clone(2), socket(2), personality(2); Docker's documentation, "Seccomp security profiles for Docker", for the format.
"""

import json
from typing import Any

_ALLOWED = """
    accept accept4 access alarm arch_prctl bind brk cachestat capget capset chdir chown clock_adjtime64
    clock_getres clock_getres_time64 clock_gettime clock_gettime64 clock_nanosleep clock_nanosleep_time64
    clock_settime64 close close_range connect copy_file_range dup dup2 dup3 epoll_create epoll_create1
    epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit exit_group faccessat
    faccessat2 fadvise64 fadvise64_64 fallocate fanotify_mark fchdir fchown fchownat
    fcntl fcntl64 fdatasync fgetxattr flistxattr flock fork fremovexattr fsetxattr fstat fstat64 fstatat fstatat64
    fstatfs fstatfs64 fsync ftruncate ftruncate64 futex futex_requeue futex_time64 futex_wait futex_waitv
    futex_wake futimesat get_robust_list get_thread_area getcpu getcwd getdents getdents64 getegid geteuid getgid
    getgroups getitimer getpeername getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid
    getrlimit getrusage getsid getsockname getsockopt gettid gettimeofday getuid getxattr getxattrat
    inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents
    io_pgetevents_time64 io_setup io_submit ioctl ioprio_get ioprio_set kill landlock_add_rule
    landlock_create_ruleset landlock_restrict_self lchown lgetxattr link linkat listen listxattr listxattrat
    llistxattr llseek lremovexattr lseek lsetxattr lstat lstat64 madvise membarrier memfd_create mincore mkdir
    mkdirat mlock mlock2 mlockall mmap mmap2 mprotect mq_getsetattr mq_notify mq_open mq_timedreceive
    mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 mq_unlink mremap mseal msgctl msgget msgrcv msgsnd
    msync munlock munlockall munmap nanosleep newfstatat pause pidfd_open pidfd_send_signal
    pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll ppoll_time64 prctl pread64 preadv preadv2 prlimit64
    process_mrelease pselect6 pselect6_time64 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv
    recvfrom recvmmsg recvmmsg_time64 recvmsg remap_file_pages removexattr removexattrat rename renameat renameat2
    restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend
    rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min
    sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval
    sched_rr_get_interval_time64 sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield
    seccomp select semctl semget semop semtimedop semtimedop_time64 sendfile sendfile64 sendmmsg sendmsg sendto
    set_robust_list set_thread_area set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid
    setpriority setregid setresgid setresuid setreuid setrlimit setsid setsockopt setuid setxattr setxattrat shmat
    shmctl shmdt shmget shutdown sigaltstack signalfd signalfd4 socketpair splice stat stat64 statfs statfs64 statx
    symlink symlinkat sync sync_file_range sync_file_range2 syncfs sysinfo tee tgkill time timer_create
    timer_delete timer_getoverrun timer_gettime timer_gettime64 timer_settime timer_settime64 timerfd_create
    timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64 times tkill truncate truncate64 umask uname
    unlink unlinkat utime utimensat utimensat_time64 utimes vfork vmsplice wait4 waitid write writev
"""
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. CLONE_NEWTIME is for `unshare` and `clone3` only.
_NAMESPACES = 0x7E02_0000
_FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
# Linux on 64 and 32 bits, each with and without ADDR_NO_RANDOMIZE, for debuggers and old runtimes; and the query.
_PERSONALITIES = (0x0, 0x8, 0x4_0000, 0x4_0008, 0xFFFF_FFFF)
_EPERM, _ENOSYS = 1, 38
_MASKED = "SCMP_CMP_MASKED_EQ"
# A set-ID file would give its owner's or group's rights to every user of this machine, outside the container.
_SET_ID = 0o6000
_MAKES = 0o100 | 0o20_000_000  # O_CREAT, and O_TMPFILE without its O_DIRECTORY bit
_MODE_AT = {"creat": 1, "chmod": 1, "fchmod": 1, "mknod": 1, "fchmodat": 2, "fchmodat2": 2, "mknodat": 2}
_FLAGS_AT = {"open": 1, "openat": 2}
"""The index of the flags argument; the mode is the next one. It is valid only if the call makes a file."""


def profile() -> str:
    """Return the profile as the JSON text that the option `seccomp=` takes."""
    calls = [
        {"names": _ALLOWED.split(), "action": "SCMP_ACT_ALLOW"},
        _allow("clone", _NAMESPACES, _MASKED),
        *(_allow("socket", family) for family in _FAMILIES.values()),
        *(_allow("personality", persona) for persona in _PERSONALITIES),
        *(_allow(name, _SET_ID, _MASKED, at=at) for name, at in _MODE_AT.items()),
        *(_allow(name, _MAKES, _MASKED, at=at) for name, at in _FLAGS_AT.items()),
        *(_allow(name, _SET_ID, _MASKED, at=at + 1) for name, at in _FLAGS_AT.items()),
        # Their arguments are in memory, which a filter cannot read. After ENOSYS, programs use `clone` and `openat`.
        {"names": ["clone3", "openat2"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
    ]
    machines: list[dict[str, Any]] = [
        {"architecture": name, "subArchitectures": []} for name in ("SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64")
    ]
    return json.dumps({
        "defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": _EPERM, "archMap": machines, "syscalls": calls,
    })  # fmt: skip


def _allow(name: str, value: int, operation: str = "SCMP_CMP_EQ", *, at: int = 0) -> dict[str, Any]:
    """Allow a call if its argument *at* equals *value*; for `_MASKED`, if it has none of the bits of *value*."""
    argument = {"index": at, "value": value, "valueTwo": 0, "op": operation}
    return {"names": [name], "action": "SCMP_ACT_ALLOW", "args": [argument]}
