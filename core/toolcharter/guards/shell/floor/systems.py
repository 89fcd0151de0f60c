"""Disks and system control: the programs of `toolcharter.guards.shell.floor.destructive_programs`, and those that need more parsing."""

import re
from collections.abc import Iterator
from itertools import pairwise

from toolcharter.guards.shell.floor.context import Call, Context
from toolcharter.guards.shell.floor.data_sources import without_version
from toolcharter.guards.shell.floor.deletes import has_option, operands
from toolcharter.guards.shell.floor.destructive_programs import (
    DESTROYS_DISK,
    DISABLES_SYSTEM,
    ESSENTIAL_PACKAGES,
    IMAGE_SUFFIXES,
    KERNEL_HARMFUL,
    KERNEL_HARMLESS,
    PARTITION_VERBS,
    PROGRAM_RULES,
    VITAL_PROCESSES,
    VITAL_UNITS,
)
from toolcharter.guards.shell.floor.vital_paths import controls_access
from toolcharter.guards.shell.nodes import Word

_RUNLEVELS = frozenset({"0", "1", "6", "s", "single", "u", "q", "emergency"})
_REMOVAL_WORDS = frozenset(
    {"remove", "purge", "autoremove", "erase", "-r", "-rns", "-rcns", "-p", "-e", "--erase", "del"}
)
_VITAL_MOUNT_POINTS = frozenset({"", "/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64"})
"""Folders over which nothing can be mounted without taking the system's programs or accounts away."""
_SUBSTITUTED = re.compile(r"\$\((?!\()|`")
# What may come to 1: a status, a number of words, a sum, a long run of numbers. `$$` and `$!` never do.
_MAY_BE_ONE = re.compile(r"\$(?:[?#]|\{[?#]|\(\()|\{-?[0-9]+\.\.")
_FORCING_OPTIONS = frozenset(
    {"--allow-remove-essential", "--force-remove-essential", "--force-all", "--nodeps", "-rdd"}
)


def check_by_table(call: Call, _context: Context) -> str | None:
    """Programs for which a table of words decides."""
    rule = PROGRAM_RULES[call.name if call.name in PROGRAM_RULES else without_version(call.name)]
    if not rule.when and _is_workspace_program(call):
        return None
    words = {text.lower() for text in call.texts} | {text for text in call.texts if text[:1] == "-"}
    if any(word in rule.unless for word in call.texts):
        return None
    return (
        f"{rule.why} ({call.name})" if not rule.when or any(_matches_any(word, rule.when) for word in words) else None
    )


def _is_workspace_program(call: Call) -> bool:
    """Whether the program is a file of the workspace with the same name: `./scripts/reboot`."""
    folder = (call.command.words[0].text or "").rpartition("/")[0]
    return bool(folder) and not folder.startswith("/") and not folder.endswith("bin")


def _matches_any(word: str, listed: frozenset[str]) -> bool:
    if word in listed:
        return True
    return any(
        (len(one) > 1 and one.endswith("*") and word.startswith(one[:-1]))
        or (len(one) > 1 and one.startswith("*") and word.endswith(one[1:]))
        for one in listed
    )


def check_parted(call: Call, context: Context) -> str | None:
    """`parted`: the commands in its arguments, or any command if it has none."""
    if PARTITION_VERBS & {*call.texts}:
        return f"{DESTROYS_DISK} (parted)"
    return check_by_table(call, context)


def check_mkfs(call: Call, _context: Context) -> str | None:
    """`mkfs` and similar programs, unless they write only to an image file."""
    texts = call.texts
    if _is_workspace_program(call) or any(text in {"--version", "--help", "-V", "-n", "-h"} for text in texts):
        return None
    if any(text.endswith(IMAGE_SUFFIXES) and not text.startswith("/dev/") for text in texts):
        return None
    return f"{DESTROYS_DISK} ({call.name})"


def check_dd(call: Call, context: Context) -> str | None:
    """`dd of=`: the file or disk that it writes to."""
    for arg in call.args:
        if arg.text.startswith("of=") and (why := context.vital_file(call, arg._replace(text=arg.text[3:]))):
            return f"overwrites {why}"
    return None


def check_disk_operands(call: Call, context: Context) -> str | None:
    """Programs that harm only the disks among their operands: `e2fsck -y /dev/sda`, `tune2fs`, `flash_erase`."""
    if any(text in {"-l", "-n", "--help", "--version", "-V", "-h", "list"} for text in call.texts):
        return None
    return next((f"changes {why}" for arg in operands(call.args) if (why := context.disk(call, arg))), None)


def check_services(call: Call, _context: Context) -> str | None:
    """`systemctl stop`, `service ... stop`: for services that the system or its network needs."""
    texts = {text.lower().removesuffix(".service") for text in call.texts}
    is_ended = bool(texts & {"stop", "mask", "disable", "kill"})
    return f"{DISABLES_SYSTEM} ({call.name})" if is_ended and texts & (VITAL_PROCESSES | VITAL_UNITS) else None


def check_runlevel(call: Call, _context: Context) -> str | None:
    """`init 0`, `telinit 6`."""
    return DISABLES_SYSTEM if any(arg.text.lower() in _RUNLEVELS for arg in operands(call.args)) else None


def check_kill(call: Call, context: Context) -> str | None:
    """`kill`: the first process, or all of them."""
    texts = list(call.texts)
    if texts and (
        texts[0] in {"-l", "-L", "-0"} or texts[0].startswith("--l") or texts[:2] in (["-s", "0"], ["-n", "0"])
    ):
        return None
    # `kill $(pidof systemd)`
    looked_up = (
        text for one in context.substituted_calls(call) if one.name in {"pgrep", "pidof"} for text in one.texts
    )
    is_vital = (
        any(text in {"1", "-1"} for text in _process_operands(texts))
        or any(text in VITAL_PROCESSES for text in looked_up)
        or any(map(_may_be_init, call.command.words))
    )
    return DISABLES_SYSTEM if is_vital else None


def _may_be_init(word: Word) -> bool:
    is_told = word.text is not None or _SUBSTITUTED.search(word.form) is not None
    return not is_told and _MAY_BE_ONE.search(word.form) is not None


def _process_operands(texts: list[str]) -> Iterator[str]:
    """The operands of kill: a leading `-9` or `-s KILL` is the signal, `-1` behind it means all processes."""
    if texts and texts[0] in {"-s", "-n", "--signal"}:
        del texts[:2]
    elif texts and texts[0].startswith("-") and texts[0] != "--":
        del texts[:1]
    return (text for text in texts if text != "--")


def check_history(call: Call, _context: Context) -> str | None:
    """`history -c`: it deletes the record of what was done."""
    return "deletes the record of what was done" if has_option(call.args, "c") else None


def check_killall(call: Call, _context: Context) -> str | None:
    """`killall`, `pkill`: vital processes, all processes of a user, or all below the first one."""
    values = [after for before, after in pairwise(call.texts) if before in {"-P", "--parent", "-s", "--session"}]
    values += [text.partition("=")[2] for text in call.texts if text.startswith(("--parent=", "--session="))]
    if not {"-P1", "-s1", "-P0", "-s0"}.isdisjoint(call.texts) or any(
        one in {"0", "1"} for value in values for one in value.split(",")
    ):
        return DISABLES_SYSTEM
    names = [arg.text.lower() for arg in operands(call.args)]
    if any(name in VITAL_PROCESSES for name in names):
        return DISABLES_SYSTEM
    return (
        DISABLES_SYSTEM
        if any(text in {"-u", "-U", "--user", "--euid"} for text in call.texts) and len(names) < 2  # noqa: PLR2004 - the user's own name
        else None
    )


def check_sysctl(call: Call, _context: Context) -> str | None:
    """`sysctl -w`: settings that stop the system or weaken its protection."""
    for arg in operands(call.args):
        name = arg.text.replace("/", ".").removeprefix("-")
        if "=" in name and name.startswith(KERNEL_HARMFUL) and not name.startswith(KERNEL_HARMLESS):
            return f"{DISABLES_SYSTEM} ({name})"
    return None


def check_network(call: Call, _context: Context) -> str | None:
    """`ip link set eth0 down` and similar commands."""
    texts = set(call.texts)
    if "down" in texts or "flush" in texts:
        return DISABLES_SYSTEM
    takes = texts & {"delete", "del"}
    if takes and "link" in texts and any(text.startswith(("eth", "en", "wl")) for text in texts):
        return DISABLES_SYSTEM
    return DISABLES_SYSTEM if takes and texts & {"default", "addr", "address", "a", "0.0.0.0/0"} else None


def check_mount(call: Call, _context: Context) -> str | None:
    """`umount` of all or of vital file systems; `mount -o remount,ro /`, `mount x /`."""
    texts = call.texts
    if call.name == "mount":
        is_root = any(text in {"/", "/usr", "/boot", "/etc", "/home"} for text in texts)
        is_turned = any("remount" in text for text in texts)
        covers = len(texts) > 1 and (texts[-1].rstrip("/") in _VITAL_MOUNT_POINTS or controls_access(texts[-1]))
        return DISABLES_SYSTEM if (is_root and is_turned) or covers else None
    is_all = has_option(call.args, "a", "all")
    return (
        DISABLES_SYSTEM
        if is_all or any(text in {"/", "/home", "/usr", "/var", "/boot", "/*"} for text in texts)
        else None
    )


def check_packages(call: Call, _context: Context) -> str | None:
    """Package managers that remove a package which the system needs."""
    texts = {text.lower() for text in call.texts}
    if not texts & _REMOVAL_WORDS and not texts & _FORCING_OPTIONS:
        return None
    if texts & _FORCING_OPTIONS - {"--nodeps"}:
        return DISABLES_SYSTEM
    gone = any(text in ESSENTIAL_PACKAGES or text.startswith(("linux-image", "kernel-core")) for text in texts)
    return f"{DISABLES_SYSTEM} ({call.name})" if gone else None


def check_osascript(call: Call, _context: Context) -> str | None:
    """`osascript -e 'tell application "System Events" to shut down'`."""
    said = " ".join(call.texts).lower()
    return DISABLES_SYSTEM if any(words in said for words in ("shut down", "restart", "to sleep", "log out")) else None
