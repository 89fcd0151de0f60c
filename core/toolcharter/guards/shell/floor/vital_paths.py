"""Recognises paths whose loss would destroy the system, a home folder or the workspace. Nothing is opened, no link followed."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from posixpath import join, normpath
from typing import NamedTuple

from toolcharter.guards.shell.floor.word_texts import Arg

HOME = "/\x1fhome/\x1fme"
"""The path in place of the home folder, if that is not known."""
WORKSPACE = "/\x1fa/\x1fb/\x1fworkspace"

_HERE = (".",)
_PLAIN_RELATIVE_PATH = re.compile(r"(?:\./)?[A-Za-z0-9_][A-Za-z0-9_-]*(?:[./][A-Za-z0-9_-]+)*/?")
"""Relative paths that stay below their folder and have no hidden part."""
# Source: Filesystem Hierarchy Standard 3.0; for macOS file-system programming guide, "macOS standard directories".
_SYSTEM_FOLDERS = frozenset(
    {"Applications", "Library", "System", "Users", "Volumes", "bin", "boot", "dev", "etc", "home", "lib", "lib32"}
    | {"lib64", "libx32", "media", "mnt", "nix", "opt", "private", "proc", "root", "run", "sbin", "snap", "srv", "sys"}
    | {"tmp", "usr", "var"}
)
"""Folders directly below `/`."""
_VITAL_FOLDERS = frozenset({"System", "bin", "boot", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys"})
"""Those of them of which every file counts."""
_HOME_PARENTS = frozenset({"home", "Users"})
_USR_OPEN = frozenset({"local", "src", "lib/node_modules"})
_VAR_OPEN = frozenset({"cache", "tmp", "www"})
_VAR_DEEP = frozenset({"lib/dpkg", "lib/rpm", "lib/pacman", "lib/mysql", "lib/postgresql", "lib/docker", "lib/apt"})
_HOME_VITAL = frozenset(
    {".aws", ".azure", ".config", ".gnupg", ".kube", ".local", ".password-store", ".ssh", ".git", "Desktop"}
    | {"Documents", "Downloads", "Library", "Music", "Pictures", "Videos", "Projects", "projects", "src", "code"}
)
_ETC_VITAL = frozenset(
    {"crypttab", "fstab", "group", "gshadow", "ld.so.preload", "ld.so.conf", "nsswitch.conf", "pam.conf", "passwd"}
    | {"profile", "resolv.conf", "securetty", "shadow", "shells", "sudoers", "inittab", "machine-id", "crontab"}
)
_ETC_VITAL_FOLDERS = ("pam.d", "sudoers.d", "systemd", "security", "init.d")
_ACCOUNT_FILES = frozenset({"/etc/passwd", "/etc/shadow", "/etc/gshadow", "/etc/sudoers"})
_APPENDABLE = frozenset({"/etc/fstab", "/etc/profile", "/etc/crontab", "/etc/resolv.conf", "/etc/shells"})
_PROGRAM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "boot")
_DISKS = (
    *("sd[a-z]*", "hd[a-z]*", "vd[a-z]*", "xvd*", "nvme*", "mmcblk*", "md[0-9]*", "md/*", "dm-*", "loop*", "sr[0-9]*"),
    *("cdrom*", "disk*", "rdisk*", "mapper/*", "ram[0-9]*", "zram*", "nbd*", "mem", "kmem", "port", "mtd*", "ubi*"),
    *("block/*", "vg*/*", "root", "da[0-9]*", "ada[0-9]*", "nvd*", "wd[0-9]*", "sg[0-9]*", "fd0*", "bcache*", "rbd*"),
)
"""Names of disks below `/dev`. Source: admin-guide/devices.txt of the Linux kernel; diskutil(8), da(4), ada(4), wd(4)."""
_NO_DISKS = frozenset({"null", "zero", "full", "stdout", "stderr", "stdin", "tty", "ptmx", "console", "fd", "pts"})


class Target(NamedTuple):
    """One place."""

    path: str
    """The absolute, normalised path; globs are left unchanged."""
    is_contents: bool = False
    """Whether the content of the folder is meant, not the folder itself."""


def normalize_home(home: str) -> str:
    """The home folder, or `HOME` if it is not known."""
    return normpath(home) if home.startswith("/") else HOME


class VitalPaths:
    """The places of one machine that matter."""

    def __init__(self, workspace: str, home: str) -> None:
        """Make the places of a machine; *home* is absolute, as `normalize_home` returns it."""
        self.workspace = normpath(workspace) if workspace.startswith("/") else WORKSPACE
        self.home = home

    def targets(self, arg: Arg, folders: tuple[str, ...]) -> Iterator[Target]:
        """The places that a path leads to from each of *folders*; an unknown folder is taken for the workspace.

        A plain name in the workspace is no place that matters, and is left out.
        """
        if folders == _HERE and self.workspace != "/" and _PLAIN_RELATIVE_PATH.fullmatch(arg.text):
            return
        text = _without_drive(arg.text)
        if not text:
            return
        for folder in folders or (".",):
            yield _parse_target(join(self.workspace, folder, text), globs=not arg.is_fixed)

    def loss(self, target: Target, *, own: bool = True) -> str | None:
        """What would be lost if everything below *target* were deleted; None if that does not matter.

        Args:
            target: The place.
            own: Whether the workspace itself counts.
        """
        path = target.path
        if path == "/":
            return "the whole system"
        if path in {self.workspace, join(self.workspace, ".git")}:
            return "the workspace" if own else None
        if _contains(path, self.workspace):
            return "the folders around the workspace"
        if _contains(self.workspace, path):
            return None
        return self._loss_elsewhere(target)

    def _loss_elsewhere(self, target: Target) -> str | None:
        path = target.path
        if path == self.home or _contains(path, self.home):
            return "a home folder"
        if _contains(self.home, path):
            return "a person's files" if path[len(self.home) + 1 :] in _HOME_VITAL else None
        return _loss_in_system(tuple(path[1:].split("/")), is_contents=target.is_contents)

    def vital_file(self, target: Target) -> str | None:
        """The name of the file *target*, if overwriting or deleting it stops the system; else None."""
        first, _slash, rest = target.path[1:].partition("/")
        if _contains(self.workspace, target.path):
            return None
        if first == "usr" and rest.partition("/")[0] in _PROGRAM_FOLDERS:
            return "a part of the system"
        if first in _PROGRAM_FOLDERS and (rest or target.is_contents):
            return "a part of the system"
        if target.is_contents and target.path in {"/dev", "/etc"}:
            return "what the system stands on"
        if first == "etc" and (_matches_any(rest, _ETC_VITAL) or rest.startswith(_ETC_VITAL_FOLDERS)):
            return "a file that the system cannot do without"
        return "a switch of the kernel" if _is_kernel_switch(first, rest) else self.disk(target)

    def disk(self, target: Target) -> str | None:
        """The name of *target*, if it is a disk or the memory of the machine; else None."""
        return "a disk or the memory of the machine" if is_disk(target.path) else None


def accepts_appends(path: str) -> bool:
    """Whether people append lines to a vital file, and the system goes on: settings, and no accounts or rights."""
    return path in _APPENDABLE or path.startswith(("/etc/systemd/", "/etc/security/limits"))


def controls_access(path: str) -> bool:
    """Whether a file says who may log in, and who may do what."""
    return path in _ACCOUNT_FILES or path.startswith("/etc/sudoers.d/")


def is_disk(path: str) -> bool:
    """Whether an absolute path is that of a disk or of memory."""
    if not path.startswith("/dev/"):
        return False
    name = path.removeprefix("/dev/")
    if name.partition("/")[0] in _NO_DISKS:
        return False
    return any(_matches(name, disk) for disk in _DISKS) or _may_match_disk(name)


def _may_match_disk(name: str) -> bool:
    """Whether a glob may match a disk."""
    return any(mark in name for mark in "*?[") and any(
        fnmatchcase(disk, name) for disk in ("sda", "sda1", "sdb", "hda", "vda", "nvme0n1", "mem", "disk0")
    )


@lru_cache(1024)
def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern)


def _is_kernel_switch(first: str, rest: str) -> bool:
    if first == "proc":
        return rest.startswith(("sys/", "sysrq-trigger", "acpi/", "kcore")) and rest != "sys/vm/drop_caches"
    return first == "sys" and not rest.startswith("fs/cgroup/")


def _contains(folder: str, path: str) -> bool:
    return path.startswith(folder + "/")


def _without_drive(text: str) -> str:
    r"""Translate a path of Windows, or one of WSL, MSYS or `/proc`, to the path that it means."""
    if text.startswith("/proc/"):
        parts = text.split("/", 4)
        if len(parts) > 3 and parts[3] in {"root", "cwd"}:  # noqa: PLR2004 - "", "proc", PID, "root"
            return "/" + "".join(parts[4:]) if parts[3] == "root" else "./" + "".join(parts[4:])
    return text


def _parse_target(path: str, *, globs: bool) -> Target:
    if not globs or not any(mark in path for mark in "*?["):
        return Target(_normalize(path))
    parts = path.split("/")
    is_contents = False
    if len(parts) > 1 and not parts[-1] and _matches_everything(parts[-2]):
        parts.pop()
    while parts and (_matches_everything(parts[-1]) or (is_contents and parts[-1] in {"", "."})):
        is_contents = True
        parts.pop()
    return Target(_normalize("/".join(parts) or "/"), is_contents)


def _normalize(path: str) -> str:
    return normpath("/" + path.lstrip("/")) if path.startswith("/") else normpath(path)


def _matches_everything(part: str) -> bool:
    """Whether a glob matches almost everything: `*`, `.*`, `?*`, `.[!.]*`."""
    return "*" in part and not part.strip("*?.[]!^")


def _loss_in_system(parts: tuple[str, ...], *, is_contents: bool) -> str | None:
    first, rest = parts[0], "/".join(parts[1:])
    if not rest:
        if first == "tmp" and is_contents:
            return None
        return "a folder of the system" if _matches_any(first, _SYSTEM_FOLDERS) else None
    if first in _VITAL_FOLDERS or first == "root":
        return "a folder of the system"
    if first == "private":
        return _loss_in_system(parts[1:], is_contents=is_contents)
    if first in {"mnt", "cygdrive", "Volumes"} and len(parts) == 2:  # noqa: PLR2004 - `/mnt/c`
        return "a whole disk" if first == "Volumes" or len(parts[1]) == 1 else None
    return _loss_below(first, rest)


def _loss_below(first: str, rest: str) -> str | None:
    if first == "usr":
        is_open = any(rest.startswith(f"{local}/") for local in _USR_OPEN) and rest.count("/") > 1
        return None if is_open or rest.startswith("src/") else "a folder of the system"
    if first == "var":
        is_vital = "/" not in rest and rest not in _VAR_OPEN
        return "a folder of the system" if is_vital or rest in _VAR_DEEP else None
    if first in _HOME_PARENTS and "/" not in rest:
        return "a home folder"
    return "a disk or the memory of the machine" if first == "dev" and is_disk(f"/dev/{rest}") else None


def _matches_any(name: str, names: frozenset[str]) -> bool:
    if name in names:
        return True
    return any(mark in name for mark in "*?[") and any(fnmatchcase(one, name) for one in names)
