"""The host's files in every sandbox: the system's programs and libraries, read-only, and a small part of `/etc`."""

import os
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from toolcharter import Denied, Reason
from toolcharter_bwrap.policy import BwrapPolicy

_USR_MERGED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# Names of users and hosts, the loader's cache, certificates without keys, the time zone, and `alternatives`, through
# which programs are linked.
_CONFIG_FILES = (
    *("passwd", "group", "nsswitch.conf", "hosts", "host.conf", "gai.conf", "protocols", "services", "networks"),
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl/certs", "ssl/openssl.cnf", "pki/tls/certs"),
    *("pki/ca-trust/extracted", "localtime", "timezone", "alternatives", "debian_version", "os-release"),
    *("mime.types", "magic", "terminfo", "inputrc", "bash.bashrc", "profile", "locale.alias", "fonts", "python3"),
)
_NETWORK_FILES = ("resolv.conf",)
# The sandbox's own folders. The workspace must not be one of them or contain one.
_OWN_FOLDERS = ("/usr", *_USR_MERGED, "/etc", "/proc", "/dev", "/sys", "/tmp", "/run", "/var")  # noqa: S108 - its own

_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def system_arguments(policy: BwrapPolicy) -> tuple[str, ...]:
    """Return the arguments for bubblewrap that make the namespaces and the file system, except the workspace."""
    return (
        *("--unshare-user", "--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--hostname", "sandbox"),
        *_user_arguments(),
        *("--clearenv", "--ro-bind", "/usr", "/usr"),
        *_merged_usr(),
        *(word for name in _CONFIG_FILES for word in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")),
        *("--proc", "/proc", *_guard_proc(), "--dev", "/dev"),
        *("--size", str(policy.tmp_bytes), "--perms", "1777", "--tmpfs", "/dev/shm"),  # noqa: S108 - the sandbox's
        *("--size", str(policy.tmp_bytes), "--perms", "1777", "--tmpfs", "/tmp"),  # noqa: S108 - as above
        *("--symlink", "../tmp", "/var/tmp"),  # noqa: S108 - as above
        *(word for root in policy.read_roots for word in ("--ro-bind", str(root), str(root))),
    )


def network_arguments() -> tuple[str, ...]:
    """Return the arguments for bubblewrap that keep a program in the host's network; they follow `system_arguments`."""
    return (
        "--share-net",
        *(word for name in _NETWORK_FILES for word in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")),
    )


@lru_cache(maxsize=64)
def require_workspace(workspace: Path) -> None:
    """Refuse a workspace that is a folder of the system or contains one.

    Raises:
        Denied: `sandbox_unavailable`.
    """
    if any(Path(own).is_relative_to(workspace) for own in _OWN_FOLDERS) or str(workspace) in _OWN_FOLDERS:
        raise Denied(
            Reason.SANDBOX_UNAVAILABLE,
            f"The workspace {str(workspace)!r} contains parts of the system, which a sandbox has to protect.",
            hint="Choose a separate folder as the workspace.",
        )


def is_visible(program: str, policy: BwrapPolicy, workspace: Path) -> bool:
    """Return whether the sandbox contains the file *program*, with links followed, at the same path."""
    below = tuple(f"{str(root).rstrip('/')}/" for root in ("/usr", *_USR_MERGED, *policy.read_roots, workspace))
    return program.startswith(below) and os.path.realpath(program).startswith(below)


def _user_arguments() -> tuple[str, ...]:
    """Programs of root run under another user number: as root, some would try what only root may do.

    Files keep the number of their owner.
    """
    return ("--uid", "1000", "--gid", "1000") if os.geteuid() == 0 else ()


@lru_cache(maxsize=1)
def _merged_usr() -> tuple[str, ...]:
    return tuple(word for folder in _USR_MERGED for word in _merged_folder(folder))


def _merged_folder(folder: str) -> Iterator[str]:
    path = Path(folder)
    if path.is_symlink():
        yield from ("--symlink", str(path.readlink()), folder)
    elif path.is_dir():
        yield from ("--ro-bind", folder, folder)


_HIDDEN_PROC_FILES = ("keys", "key-users")
"""Files of /proc that list keyrings of the host's users."""


@lru_cache(maxsize=1)
def _guard_proc() -> tuple[str, ...]:
    """Protect the kernel's settings in /proc from programs that root starts: root owns these files.

    Bubblewrap itself covers only folders that it could write to. Here, folders such as /proc/sys are mounted read-only,
    and files are replaced by /dev/null. Files that list keyrings are hidden from the programs of all users.
    """
    hidden = [f"/proc/{name}" for name in _HIDDEN_PROC_FILES if Path("/proc", name).exists()]
    guarded = sorted(Path("/proc").iterdir()) if os.geteuid() == 0 else []
    return (
        *(word for entry in guarded if entry.name not in _HIDDEN_PROC_FILES for word in _guard_entry(entry)),
        *(word for path in hidden for word in ("--ro-bind", "/dev/null", path)),
    )


def _guard_entry(entry: Path) -> Iterator[str]:
    if entry.name.isdigit() or entry.is_symlink():
        return  # a process, or a link to the program's own process
    if entry.is_dir():
        yield from ("--ro-bind", str(entry), str(entry))
    elif entry.stat().st_mode & _WRITABLE or not entry.stat().st_mode & stat.S_IROTH:
        yield from ("--ro-bind", "/dev/null", str(entry))
