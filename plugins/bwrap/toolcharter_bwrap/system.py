"""What every sandbox holds of the host: the system's programs and libraries, read-only, and next to nothing of `/etc`."""

import os
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from toolcharter import Denied, Reason
from toolcharter_bwrap.policy import BwrapPolicy

_MERGED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# Names of users and hosts, the loader's cache, certificates without keys, the time, and what programs are linked through.
_CONFIGURATION = (
    *("passwd", "group", "nsswitch.conf", "hosts", "host.conf", "gai.conf", "protocols", "services", "networks"),
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl/certs", "ssl/openssl.cnf", "pki/tls/certs"),
    *("pki/ca-trust/extracted", "localtime", "timezone", "alternatives", "debian_version", "os-release"),
    *("mime.types", "magic", "terminfo", "inputrc", "bash.bashrc", "profile", "locale.alias", "fonts", "python3"),
)
_FOR_NETWORK = ("resolv.conf",)
# Nothing of the workspace may lie above or in the place of what the sandbox is made of.
_OWN = ("/usr", *_MERGED, "/etc", "/proc", "/dev", "/sys", "/tmp", "/run", "/var")  # noqa: S108 - it is the sandbox's

_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def system_arguments(policy: BwrapPolicy) -> tuple[str, ...]:
    """The arguments for bubblewrap that make the namespaces and all of the file system but the workspace."""
    return (
        *("--unshare-user", "--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--hostname", "sandbox"),
        *_identity(),
        *("--clearenv", "--ro-bind", "/usr", "/usr"),
        *_merged(),
        *(word for name in _CONFIGURATION for word in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")),
        *("--proc", "/proc", *_guarded_of_proc(), "--dev", "/dev"),
        *("--size", str(policy.tmp_bytes), "--perms", "1777", "--tmpfs", "/dev/shm"),  # noqa: S108 - the sandbox's
        *("--size", str(policy.tmp_bytes), "--perms", "1777", "--tmpfs", "/tmp"),  # noqa: S108 - as above
        *("--symlink", "../tmp", "/var/tmp"),  # noqa: S108 - as above
        *(word for root in policy.read_roots for word in ("--ro-bind", str(root), str(root))),
    )


def network_arguments() -> tuple[str, ...]:
    """The arguments for bubblewrap that leave a program in the host's network, behind those of the system."""
    return (
        "--share-net",
        *(word for name in _FOR_NETWORK for word in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")),
    )


@lru_cache(maxsize=64)
def require_place(workspace: Path) -> None:
    """Refuse a workspace that would lie over the system, or in the place of it.

    Raises:
        Denied: `sandbox_unavailable`.
    """
    if any(Path(own).is_relative_to(workspace) for own in _OWN) or str(workspace) in _OWN:
        raise Denied(
            Reason.SANDBOX_UNAVAILABLE,
            f"The workspace {str(workspace)!r} holds parts of the system, from which a sandbox is to keep programs.",
            hint="Choose a folder of its own as the workspace.",
        )


def is_visible(program: str, policy: BwrapPolicy, workspace: Path) -> bool:
    """Whether the file *program*, links followed, is there in the sandbox, outside the workspace."""
    below = tuple(f"{str(root).rstrip('/')}/" for root in ("/usr", *_MERGED, *policy.read_roots, workspace))
    return program.startswith(below) and os.path.realpath(program).startswith(below)


def _identity() -> tuple[str, ...]:
    """Programs of root are not called root: some would try what only root can do. Files keep their owner's number."""
    return ("--uid", "1000", "--gid", "1000") if os.geteuid() == 0 else ()


@lru_cache(maxsize=1)
def _merged() -> tuple[str, ...]:
    return tuple(word for folder in _MERGED for word in _merged_one(folder))


def _merged_one(folder: str) -> Iterator[str]:
    path = Path(folder)
    if path.is_symlink():
        yield from ("--symlink", str(path.readlink()), folder)
    elif path.is_dir():
        yield from ("--ro-bind", folder, folder)


_HIDDEN = ("keys", "key-users")
"""Of /proc: they name keyrings of the host's users."""


@lru_cache(maxsize=1)
def _guarded_of_proc() -> tuple[str, ...]:
    """Keeps programs of root's from what of /proc is for root: its settings are files that root owns.

    Bubblewrap itself covers what it could write with the rights of a folder, and /proc/sys is read-only as a folder.
    """
    hidden = [f"/proc/{name}" for name in _HIDDEN if Path("/proc", name).exists()]
    guarded = sorted(Path("/proc").iterdir()) if os.geteuid() == 0 else []
    return (
        *(word for entry in guarded if entry.name not in _HIDDEN for word in _guard(entry)),
        *(word for path in hidden for word in ("--ro-bind", "/dev/null", path)),
    )


def _guard(entry: Path) -> Iterator[str]:
    if entry.name.isdigit() or entry.is_symlink():
        return  # a process, or a way to one's own
    if entry.is_dir():
        yield from ("--ro-bind", str(entry), str(entry))
    elif entry.stat().st_mode & _WRITABLE or not entry.stat().st_mode & stat.S_IROTH:
        yield from ("--ro-bind", "/dev/null", str(entry))
