"""Destructive file operations: commands that delete, move, empty or lock the system, a home folder or the workspace."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from shlex import join

from toolcharter.guards.shell.floor.context import Call, Context
from toolcharter.guards.shell.floor.vital_paths import Target, accepts_appends
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
_FIND_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FD_EXEC = frozenset({"-x", "-X", "--exec", "--exec-batch"})
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
_SYSTEM_FOLDERS = ("/", "/boot", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/dev", "/sys", "/proc", "/root")


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


def check_rm(call: Call, context: Context) -> str | None:
    """`rm`, `rmdir`, `srm` and similar programs."""
    args = (*call.args, *_appended_words(call, context))
    is_recursive = has_option(args, "rR", "recursive") or call.name in {"rimraf", "trash", "del-cli"}
    is_forced = has_option(args, "f", "force")
    finds = any(feeder.name == "find" or _lists_files(feeder) for feeder in context.feeders(call))
    for arg in (*operands(call.args), *_appended_operands(call, context)):
        why = (context.loss(call, arg) if is_recursive or finds else None) or _lost_files(
            call, context, arg, is_forced=is_forced
        )
        if why:
            return f"deletes {why}"
    return None


def _lost_files(call: Call, context: Context, arg: Arg, *, is_forced: bool) -> str | None:
    """What would be lost without recursion: single files, or all files of a folder that matters."""
    for target in context.targets(call, arg):
        is_all = target.is_contents and (is_forced or target.path != context.paths.workspace)
        why = context.paths.vital_file(target) or (context.paths.loss(target) if is_all else None)
        if why:
            return why
    return None


def _appended_operands(call: Call, context: Context) -> Iterator[Arg]:
    """The operands that `xargs` and `parallel` append: the words of the programs that list names."""
    if not _APPENDERS & {*call.command.within, *call.starters}:
        return
    feeders = [*context.feeders(call)]
    if [one.name for one in feeders] == ["ls"] and not any(True for _ in operands(feeders[0].args)):
        yield Arg("*", is_fixed=False)
    yield from operands(_appended_words(call, context))
    for feeder in feeders:
        if feeder.name in LISTERS - _PRINTERS and not is_narrowed(feeder):
            yield from operands(feeder.args)
        elif _lists_files(feeder):
            yield from [*operands(feeder.args)] or [Arg(".")]
    for redirection in call.command.redirections:
        for word in (redirection.text or "").split():
            yield Arg(word)


def _appended_words(call: Call, context: Context) -> Iterator[Arg]:
    """The words that `xargs` and `parallel` append of what `echo` and `printf` print, options among them."""
    if _APPENDERS & {*call.command.within, *call.starters}:
        for feeder in context.feeders(call):
            if feeder.name in _PRINTERS:
                yield from (Arg(text) for arg in feeder.args for text in _SEPARATORS.split(arg.text) if text)


def _lists_files(call: Call) -> bool:
    """Whether a program other than `find` lists everything below its operands: `rg --files`."""
    return (
        call.name == "rg" and "--files" in call.texts and not any(text.startswith(_RG_NARROWING) for text in call.texts)
    )


def check_overwrite(call: Call, context: Context) -> str | None:
    """`shred`, `truncate`, `wipe`, `tee`, `unlink`: each operand is lost."""
    is_recursive = call.name in {"wipe", "scrub", "nwipe"} and has_option(call.args, "r", "recursive")
    if call.name == "tee" and has_option(call.args, "a", "append"):
        return _check_append(call, context)
    for arg in (*operands(call.args), *_appended_operands(call, context)):
        why = context.vital_file(call, arg) or (context.loss(call, arg) if is_recursive else None)
        if why:
            return f"overwrites {why}"
    return None


def _check_append(call: Call, context: Context) -> str | None:
    """`tee -a`: the operands to which no line may be added."""
    grown = (
        target
        for arg in operands(call.args)
        for target in context.targets(call, arg)
        if not accepts_appends(target.path)
    )
    return next((f"overwrites {why}" for target in grown if (why := context.paths.vital_file(target))), None)


def check_copy(call: Call, context: Context) -> str | None:
    """`cp`, `install`, `ln`: the last operand is written over, or the folder after `-t`."""
    found = list(operands(call.args))
    if len(found) > 1 and (why := context.vital_file(call, found[-1])):
        return f"overwrites {why}"
    return None


def check_move(call: Call, context: Context) -> str | None:
    """`mv`: the moved files are lost at their old place, and the last operand is written over."""
    found = list(operands(call.args))
    if len(found) > 1 and found[-1].text == "/dev/null":
        return "moves files into nothing"
    for arg in found[:-1]:
        if why := context.loss(call, arg, own=False) or context.vital_file(call, arg):
            return f"moves {why} away"
    return check_copy(call, context)


def check_permissions(call: Call, context: Context) -> str | None:
    """`chmod`, `chown`, `chgrp`, `chattr`, `setfacl`: all of a system or a home, or a file that it needs."""
    is_recursive = has_option(call.args, "R", "recursive")
    for arg in operands(call.args):
        why = context.vital_file(call, arg) or (context.loss(call, arg, own=False) if is_recursive else None)
        if why == "a home folder" and call.name in {"chown", "chgrp"}:
            continue
        if why or any(target.path in _SYSTEM_FOLDERS for target in _absolute_targets(call, context, arg)):
            return f"changes who may use {why or 'the whole system'}"
    return None


def _absolute_targets(call: Call, context: Context, arg: Arg) -> Iterator[Target]:
    return context.targets(call, arg) if arg.text.startswith("/") else iter(())


def check_find(call: Call, context: Context) -> str | None:
    """`find` with `-delete`, or with an inner command that deletes."""
    if not _deletes_files(call):
        return None
    narrow = is_narrowed(call)
    for arg in _starting_points(call):
        for target in context.targets(call, arg):
            why = context.paths.loss(target, own=not _only_permissions(call))
            if why and not (narrow and _is_cleanable(target.path, why)):
                return f"deletes {why}"
    return None


def _is_cleanable(path: str, why: str) -> bool:
    return path.startswith(("/var/", "/tmp", "/home", "/Users", "/opt", "/srv")) or "system" not in why  # noqa: S108 - compared with, never opened


def _only_permissions(call: Call) -> bool:
    return "-delete" not in call.texts and not _started_programs(call) - {"chmod", "chown", "chgrp", "sh", "bash"}


def _deletes_files(call: Call) -> bool:
    return "-delete" in call.texts or bool(_started_programs(call) & _FIND_DESTROYERS)


def _started_programs(call: Call) -> set[str]:
    texts = call.texts
    found = {text.rpartition("/")[2] for before, text in pairwise(texts) if before in _FIND_EXEC}
    return found | ({"rm"} if found & {"sudo", "env", "busybox", "nice"} and "rm" in texts else set())


def is_narrowed(call: Call) -> bool:
    """Whether a call of `find` finds only some of the files."""
    texts = call.texts
    return any(
        text in _NARROWING and (at + 1 >= len(texts) or bool(texts[at + 1].strip("*./")) or text == "-empty")
        for at, text in enumerate(texts)
    )


def check_fd(call: Call, context: Context) -> str | None:
    """`fd -X rm -rf`: the found files are deleted."""
    texts = call.texts
    at = next((place for place, text in enumerate(texts) if _is_fd_exec(text)), len(texts))
    inner = [*filter(None, [texts[at].partition("=")[2]]), *texts[at + 1 :]] if at < len(texts) else []
    if (why := context.check_source(join(inner))) is not None:
        return why
    if not inner or inner[0].rpartition("/")[2] not in _FIND_DESTROYERS - {"sh", "bash"}:
        return None
    own = [arg for before, arg in pairwise((Arg(""), *call.args[:at])) if before.text not in _FD_VALUED]
    wanted, *starts = (*operands(own), Arg("."))
    is_narrow = wanted.text.strip(".*^$") != "" or any(text.startswith(_FD_NARROWING) for text in texts[:at])
    whys = (context.loss(call, start) for start in (starts[:-1] or starts))
    return next((f"deletes {why}" for why in whys if why and not (is_narrow and "system" not in why)), None)


def _is_fd_exec(text: str) -> bool:
    return text in _FD_EXEC or text.startswith(("--exec=", "--exec-batch="))


def _starting_points(call: Call) -> Iterator[Arg]:
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


def check_tar(call: Call, context: Context) -> str | None:
    """`tar --remove-files`: the packed files are deleted."""
    if "--remove-files" not in call.texts:
        return None
    why = next((why for arg in operands(call.args) if (why := context.loss(call, arg))), None)
    return f"deletes {why}" if why else None


def check_rsync(call: Call, context: Context) -> str | None:
    """`rsync --delete`: files of the target that are not in the source are deleted."""
    if not any(text.startswith("--del") for text in call.texts):
        return None
    *_sources, last = (*operands(call.args), Arg(""))[:-1] or (Arg(""),)
    why = context.loss(call, last, own=False)
    return f"deletes {why}" if why else None


def check_git_clean(call: Call, context: Context) -> str | None:
    """`git -C / clean`, and a transport that is a command."""
    texts = call.texts
    if "clean" in texts and has_option(call.args, "f", "force"):
        folders = [arg for before, arg in zip(texts, call.args[1:], strict=False) if before in {"-C", "--work-tree"}]
        folders += [Arg(text.partition("=")[2]) for text in texts if text.startswith("--work-tree=")]
        folders += operands(call.args[texts.index("clean") + 1 :])
        folders += [Arg(one.value.text or "") for one in call.command.assignments if one.name == "GIT_WORK_TREE"]
        why = next((why for arg in folders if (why := context.loss(call, arg, own=False))), None)
        why = why or _loss_of_folder(call, context)
        return f"deletes {why}" if why else None
    return "runs a command as a transport of git" if any(text.startswith("ext::") for text in texts) else None


def _loss_of_folder(call: Call, context: Context) -> str | None:
    return context.loss(call, Arg("."), own=False)
