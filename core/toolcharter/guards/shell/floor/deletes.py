"""Destructive file operations: commands that delete, move, empty or lock the system, a home folder or the workspace."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from shlex import join

from toolcharter.guards.shell.floor.context import Call, Scene
from toolcharter.guards.shell.floor.vital_paths import Target, may_grow
from toolcharter.guards.shell.floor.word_texts import Arg

HARMLESS_GIT = frozenset(
    {"status", "add", "commit", "diff", "log", "show", "checkout", "rm", "mv", "branch", "blame", "ls-files"}
    | {"rev-parse", "restore", "switch", "stash", "tag", "merge", "reset", "describe", "shortlog"}
)
"""Subcommands that neither clean a folder nor talk to a remote."""
_APPENDERS = frozenset({"xargs", "parallel"})
_PRINTERS = frozenset({"echo", "printf"})
# Between the names that `echo` and `printf` print.
_SEPARATORS = re.compile(r"\\[0nt]|[ \t\n]")
_NARROWING = (
    *("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-mtime"),
    *("-mmin", "-atime", "-amin", "-ctime", "-cmin", "-newer", "-anewer", "-cnewer", "-size", "-empty", "-perm"),
    *("-samefile", "-inum", "-links", "-uid", "-gid", "-nouser", "-nogroup", "-xtype", "-newermt"),
)
"""Predicates of find that exclude something."""
_FIND_STARTS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FD_STARTS = frozenset({"-x", "-X", "--exec", "--exec-batch"})
_RG_NARROWING = ("-g", "--glob", "-t", "--type", "--iglob")
_FD_VALUED = frozenset(
    "-t --type -d --max-depth --min-depth --exact-depth -j --threads -c --color --base-directory".split()
)
_FD_NARROWING = ("-e", "--extension", "-S", "--size", "--changed", "--older", "--newer", "-E", "--exclude")
_FIND_DESTROYERS = frozenset(
    {"rm", "unlink", "shred", "wipe", "srm", "rmdir", "mv", "truncate", "dd", "chmod", "chown", "chgrp", "sh", "bash"}
)
LISTERS = frozenset({"echo", "printf", "ls", "find", "fd", "du", "realpath", "readlink"})
"""Programs that print names for other programs to act on."""
_OPEN_HANDS = ("/", "/boot", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/dev", "/sys", "/proc", "/root")


def operands(args: Iterable[Arg], *, plus: bool = False) -> Iterator[Arg]:
    """The words that are no options; all words behind `--`."""
    is_open = True
    for arg in args:
        if is_open and arg.text == "--":
            is_open = False
        elif not (is_open and arg.text[:1] in {"-", "+" if plus else "-"} and len(arg.text) > 1):
            yield arg


def has_option(args: Iterable[Arg], letters: str, *names: str) -> bool:
    """Whether one of the short *letters*, alone or in a cluster, or an abbreviation of a long name is given."""
    for arg in args:
        text = arg.text
        if text == "--":
            return False
        if text.startswith("--"):
            name = text[2:].partition("=")[0]
            if name and any(full.startswith(name) for full in names):
                return True
        elif text[:1] == "-" and any(letter in text for letter in letters):
            return True
    return False


def remove(call: Call, scene: Scene) -> str | None:
    """`rm`, `rmdir`, `srm` and similar programs."""
    args = (*call.args, *_printed(call, scene))
    is_recursive = has_option(args, "rR", "recursive") or call.name in {"rimraf", "trash", "del-cli"}
    is_forced = has_option(args, "f", "force")
    finds = any(feeder.name == "find" or _searches(feeder) for feeder in scene.stdin_from(call))
    for arg in (*operands(call.args), *_fed_operands(call, scene)):
        why = (scene.loss(call, arg) if is_recursive or finds else None) or _lost_files(
            call, scene, arg, is_forced=is_forced
        )
        if why:
            return f"deletes {why}"
    return None


def _lost_files(call: Call, scene: Scene, arg: Arg, *, is_forced: bool) -> str | None:
    """What would be lost without recursion: single files, or all files of a folder that matters."""
    for target in scene.targets(call, arg):
        is_all = target.is_contents and (is_forced or target.path != scene.places.workspace)
        why = scene.places.vital_file(target) or (scene.places.loss(target) if is_all else None)
        if why:
            return why
    return None


def _fed_operands(call: Call, scene: Scene) -> Iterator[Arg]:
    """The operands that `xargs` and `parallel` append: the words of the programs that list names."""
    if not _APPENDERS & {*call.command.within, *call.starters}:
        return
    feeders = [*scene.stdin_from(call)]
    if [one.name for one in feeders] == ["ls"] and not any(True for _ in operands(feeders[0].args)):
        yield Arg("*", is_fixed=False)
    yield from operands(_printed(call, scene))
    for feeder in feeders:
        if feeder.name in LISTERS - _PRINTERS and not is_narrow(feeder):
            yield from operands(feeder.args)
        elif _searches(feeder):
            yield from [*operands(feeder.args)] or [Arg(".")]
    for redirection in call.command.redirections:
        for word in (redirection.text or "").split():
            yield Arg(word)


def _printed(call: Call, scene: Scene) -> Iterator[Arg]:
    """The words that `xargs` and `parallel` append of what `echo` and `printf` print, options among them."""
    if _APPENDERS & {*call.command.within, *call.starters}:
        for feeder in scene.stdin_from(call):
            if feeder.name in _PRINTERS:
                yield from (Arg(text) for arg in feeder.args for text in _SEPARATORS.split(arg.text) if text)


def _searches(call: Call) -> bool:
    """Whether a program other than `find` lists everything below its operands: `rg --files`."""
    return (
        call.name == "rg" and "--files" in call.texts and not any(text.startswith(_RG_NARROWING) for text in call.texts)
    )


def overwrite(call: Call, scene: Scene) -> str | None:
    """`shred`, `truncate`, `wipe`, `tee`, `unlink`: each operand is lost."""
    is_recursive = call.name in {"wipe", "scrub", "nwipe"} and has_option(call.args, "r", "recursive")
    if call.name == "tee" and has_option(call.args, "a", "append"):
        return _appended(call, scene)
    for arg in (*operands(call.args), *_fed_operands(call, scene)):
        why = scene.vital_file(call, arg) or (scene.loss(call, arg) if is_recursive else None)
        if why:
            return f"overwrites {why}"
    return None


def _appended(call: Call, scene: Scene) -> str | None:
    """`tee -a`: the operands to which no line may be added."""
    grown = (target for arg in operands(call.args) for target in scene.targets(call, arg) if not may_grow(target.path))
    return next((f"overwrites {why}" for target in grown if (why := scene.places.vital_file(target))), None)


def copy(call: Call, scene: Scene) -> str | None:
    """`cp`, `install`, `ln`: the last operand is written over, or the folder after `-t`."""
    found = list(operands(call.args))
    if len(found) > 1 and (why := scene.vital_file(call, found[-1])):
        return f"overwrites {why}"
    return None


def move(call: Call, scene: Scene) -> str | None:
    """`mv`: the moved files are lost at their old place, and the last operand is written over."""
    found = list(operands(call.args))
    if len(found) > 1 and found[-1].text == "/dev/null":
        return "moves files into nothing"
    for arg in found[:-1]:
        if why := scene.loss(call, arg, own=False) or scene.vital_file(call, arg):
            return f"moves {why} away"
    return copy(call, scene)


def permissions(call: Call, scene: Scene) -> str | None:
    """`chmod`, `chown`, `chgrp`, `chattr`, `setfacl`: all of a system or a home, or a file that it needs."""
    is_recursive = has_option(call.args, "R", "recursive")
    for arg in operands(call.args):
        why = scene.vital_file(call, arg) or (scene.loss(call, arg, own=False) if is_recursive else None)
        if why == "a home folder" and call.name in {"chown", "chgrp"}:
            continue
        if why or any(target.path in _OPEN_HANDS for target in _absolute(call, scene, arg)):
            return f"changes who may use {why or 'the whole system'}"
    return None


def _absolute(call: Call, scene: Scene, arg: Arg) -> Iterator[Target]:
    return scene.targets(call, arg) if arg.text.startswith("/") else iter(())


def find(call: Call, scene: Scene) -> str | None:
    """`find` with `-delete`, or with an inner command that deletes."""
    if not _destroys(call):
        return None
    narrow = is_narrow(call)
    for arg in _find_starts(call):
        for target in scene.targets(call, arg):
            why = scene.places.loss(target, own=not _only_permissions(call))
            if why and not (narrow and _may_be_narrowed(target.path, why)):
                return f"deletes {why}"
    return None


def _may_be_narrowed(path: str, why: str) -> bool:
    return path.startswith(("/var/", "/tmp", "/home", "/Users", "/opt", "/srv")) or "system" not in why  # noqa: S108 - compared with, never opened


def _only_permissions(call: Call) -> bool:
    return "-delete" not in call.texts and not _inner_names(call) - {"chmod", "chown", "chgrp", "sh", "bash"}


def _destroys(call: Call) -> bool:
    return "-delete" in call.texts or bool(_inner_names(call) & _FIND_DESTROYERS)


def _inner_names(call: Call) -> set[str]:
    texts = call.texts
    found = {text.rpartition("/")[2] for before, text in pairwise(texts) if before in _FIND_STARTS}
    return found | ({"rm"} if found & {"sudo", "env", "busybox", "nice"} and "rm" in texts else set())


def is_narrow(call: Call) -> bool:
    """Whether a call of `find` finds only some of the files."""
    texts = call.texts
    return any(
        text in _NARROWING and (at + 1 >= len(texts) or bool(texts[at + 1].strip("*./")) or text == "-empty")
        for at, text in enumerate(texts)
    )


def fd(call: Call, scene: Scene) -> str | None:
    """`fd -X rm -rf`: the found files are deleted."""
    texts = call.texts
    at = next((place for place, text in enumerate(texts) if _is_fd_start(text)), len(texts))
    inner = [*filter(None, [texts[at].partition("=")[2]]), *texts[at + 1 :]] if at < len(texts) else []
    if (why := scene.of_text(join(inner))) is not None:
        return why
    if not inner or inner[0].rpartition("/")[2] not in _FIND_DESTROYERS - {"sh", "bash"}:
        return None
    own = [arg for before, arg in pairwise((Arg(""), *call.args[:at])) if before.text not in _FD_VALUED]
    wanted, *starts = (*operands(own), Arg("."))
    is_narrow = wanted.text.strip(".*^$") != "" or any(text.startswith(_FD_NARROWING) for text in texts[:at])
    whys = (scene.loss(call, start) for start in (starts[:-1] or starts))
    return next((f"deletes {why}" for why in whys if why and not (is_narrow and "system" not in why)), None)


def _is_fd_start(text: str) -> bool:
    return text in _FD_STARTS or text.startswith(("--exec=", "--exec-batch="))


def _find_starts(call: Call) -> Iterator[Arg]:
    found = False
    for arg in call.args:
        if arg.text in {"-H", "-L", "-P"}:
            continue
        if arg.text[:1] in {"-", "(", "!", ")"}:
            break
        found = True
        yield arg
    if not found:
        yield Arg(".")


def archive(call: Call, scene: Scene) -> str | None:
    """`tar --remove-files`: the packed files are deleted."""
    if "--remove-files" not in call.texts:
        return None
    why = next((why for arg in operands(call.args) if (why := scene.loss(call, arg))), None)
    return f"deletes {why}" if why else None


def sync(call: Call, scene: Scene) -> str | None:
    """`rsync --delete`: files of the target that are not in the source are deleted."""
    if not any(text.startswith("--del") for text in call.texts):
        return None
    *_sources, last = (*operands(call.args), Arg(""))[:-1] or (Arg(""),)
    why = scene.loss(call, last, own=False)
    return f"deletes {why}" if why else None


def git(call: Call, scene: Scene) -> str | None:
    """`git -C / clean`, and a transport that is a command."""
    texts = call.texts
    if "clean" in texts and has_option(call.args, "f", "force"):
        folders = [arg for before, arg in zip(texts, call.args[1:], strict=False) if before in {"-C", "--work-tree"}]
        folders += [Arg(text.partition("=")[2]) for text in texts if text.startswith("--work-tree=")]
        folders += operands(call.args[texts.index("clean") + 1 :])
        folders += [Arg(one.value.text or "") for one in call.command.assignments if one.name == "GIT_WORK_TREE"]
        why = next((why for arg in folders if (why := scene.loss(call, arg, own=False))), None)
        why = why or _loss_of_folders(call, scene)
        return f"deletes {why}" if why else None
    return "runs a command as a transport of git" if any(text.startswith("ext::") for text in texts) else None


def _loss_of_folders(call: Call, scene: Scene) -> str | None:
    return scene.loss(call, Arg("."), own=False)
