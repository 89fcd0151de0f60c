"""Checks every command of a script against the floor."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

from toolcharter.guards.shell.floor import (
    cleaners,
    databases,
    deletes,
    dialects,
    embedded_commands,
    forks,
    git,
    indices,
    installs,
    interpreters,
    reverse_shells,
    systems,
    unknown_programs,
    variables,
    windows,
)
from toolcharter.guards.shell.floor.context import SHORT, Call, Scene, base_name, called_functions
from toolcharter.guards.shell.floor.data_sources import FETCHERS, INTERPRETERS, SHELLS, language
from toolcharter.guards.shell.floor.destructive_programs import MAKERS, RULES
from toolcharter.guards.shell.floor.run_written_files import made_and_run, may_clone
from toolcharter.guards.shell.floor.vital_paths import may_grow
from toolcharter.guards.shell.floor.word_texts import readings
from toolcharter.guards.shell.nodes import NOWHERE, WRITING, Command, Reading, Redirection, Script, Word
from toolcharter.guards.shell.programs.launchers import LAUNCHERS, SUBCOMMANDS, TEXT_OPTIONS

Check = Callable[[Call, Scene], str | None]
_MAKING = FETCHERS | {"tee", "gtee", "sponge", "dd", "gdd", "sort", "cp", "install", "uniq"}
_PROBES = frozenset({":", "true", "echo", "printf"})
_NULL = "null"
_HARMLESS_TARGETS = frozenset({"/dev/null", "0", "1", "2", "-"})


_CHECKED: tuple[tuple[Check, Iterable[str]], ...] = (
    (systems.by_table, (name for name in RULES if name != "parted")),
    (systems.partition, ("parted",)),
    (deletes.remove, ("rm", "srm", "rmdir", "unlink", "rimraf", "trash", "del-cli", "grm")),
    (deletes.overwrite, ("shred", "truncate", "wipe", "tee", "scrub", "nwipe", "gshred", "sponge", "ed", "mkfifo")),
    (deletes.copy, ("cp", "install", "ln", "gcp", "dcfldd", "ddrescue")),
    (deletes.move, ("mv", "gmv")),
    (deletes.permissions, ("chmod", "chown", "chgrp", "chattr", "setfacl", "gchmod", "gchown")),
    (deletes.find, ("find", "gfind", "bfs")),
    (deletes.fd, ("fd", "fdfind")),
    (deletes.archive, ("tar", "gtar", "bsdtar")),
    (systems.units, ("systemctl", "service", "rc-service")),
    (systems.tune, ("fallocate", "resize2fs", "qemu-img", "grub-install")),
    (reverse_shells.module, ("zmodload", "ztcp")),
    (installs.install, ("rpm", "yum", "dnf")),
    (deletes.sync, ("rsync",)),
    (deletes.git, ("git",)),
    (cleaners.clean, cleaners.CLEANERS),
    (cleaners.settings, ("env",)),
    (cleaners.cmake, ("cmake",)),
    (systems.convert, ("dd", "gdd", "dc3dd", "dcfldd", "pv")),
    (
        systems.tune,
        ("tune2fs", "e2fsck", "fsck", "flash_erase", "flashcp", "nandwrite", "sfill", "pv", "partclone", "e2label"),
    ),
    (systems.levels, ("init", "telinit")),
    (systems.end_process, ("kill",)),
    (systems.end_by_name, ("killall", "pkill", "skill", "slay")),
    (systems.forget, ("history",)),
    (systems.set_kernel, ("sysctl",)),
    (systems.network, ("ip",)),
    (systems.unmount, ("mount", "umount")),
    (systems.packages, ("apt", "apt-get", "aptitude", "yum", "dnf", "rpm", "pacman", "dpkg", "zypper", "apk")),
    (systems.script_of_apple, ("osascript",)),
    (windows.delete, ("del", "erase", "rd", "rmdir", "deltree", "remove-item", "ri")),
    (windows.format_drive, ("format",)),
    (windows.run_remote, ("mshta", "regsvr32", "msiexec", "rundll32", "cscript", "wscript", "installutil")),
    (windows.power_shell, ("powershell", "pwsh")),
    (windows.invoke, ("iex", "invoke-expression")),
    (windows.registry, ("reg",)),
    (windows.service, ("sc", "net")),
    (windows.permissions, ("takeown", "icacls")),
    (
        installs.install,
        ("pip", "pipx", "uv", "uvx", "npm", "npx", "pnpm", "yarn", "bun", "bunx", "pnpx", "gem", "cargo"),
    ),
    (installs.install, ("deno", "conda", "mamba", "easy_install", "composer", "poetry", "bundle", "cpan", "cpanm")),
    (installs.install_go, ("go",)),
    (installs.container, ("docker", "podman", "nerdctl")),
    (embedded_commands.container, ("docker", "podman", "nerdctl", "kubectl", "oc", "docker-compose", "lxc", "incus")),
    (
        reverse_shells.netcat,
        ("nc", "ncat", "netcat", "nc.traditional", "nc.openbsd", "pwncat", "powercat", "cryptcat", "sbd"),
    ),
    (reverse_shells.socat, ("socat",)),
    (reverse_shells.forward, ("ssh", "autossh")),
    (reverse_shells.talk, ("telnet", "openssl", "websocat")),
    (reverse_shells.shared, ("tmate", "upterm", "ttyd", "gotty", "websocat")),
    (reverse_shells.terminal, ("xterm", "rxvt", "urxvt", "gnome-terminal", "konsole")),
    (interpreters.shell, SHELLS),
    (interpreters.evaluate, ("eval",)),
    (interpreters.interpreter, (*INTERPRETERS, "awk", "mawk", "nawk")),
    (interpreters.shell, ("source", ".")),
    (interpreters.text, (*TEXT_OPTIONS, *(name for name, launcher in LAUNCHERS.items() if launcher.is_text))),
    (interpreters.trap, ("trap",)),
    (interpreters.found, ("find", "gfind", "bfs")),
    (interpreters.fed_lines, ("at", "batch", "parallel", "newgrp", "su")),
    (interpreters.timetable, ("crontab",)),
    (forks.many, ("xargs", "parallel")),
    (embedded_commands.options, embedded_commands.OPTIONS),
    (embedded_commands.written, embedded_commands.OUTPUTS),
    (embedded_commands.operands, embedded_commands.LINES),
    (embedded_commands.checkpoint, ("tar", "gtar")),
    (embedded_commands.connection, ("ssh", "scp", "sftp", "autossh")),
    (embedded_commands.settings, embedded_commands.SETTERS),
    (embedded_commands.aliases, ("alias",)),
    (embedded_commands.callback, ("mapfile", "readarray")),
    (embedded_commands.parallel, ("parallel",)),
    (embedded_commands.screen, ("screen",)),
    (git.carried, ("git",)),
    (dialects.editor, dialects.EDITORS),
    (dialects.sed, ("sed", "gsed")),
    (dialects.make, ("make", "gmake", "remake")),
    (dialects.debugger, ("gdb", "lldb", "cgdb")),
    (databases.lite, databases.LITE),
    (databases.served, databases.SERVED),
    (dialects.tcl, ("expect", "tclsh", "wish")),
)
"""The programs that each check applies to; the checks of one program run in this order."""


def _by_program() -> dict[str, tuple[Check, ...]]:
    found: dict[str, tuple[Check, ...]] = {}
    for check, names in _CHECKED:
        for name in names:
            found[name] = (*found.get(name, ()), check)
    return found


_CHECKS = _by_program()
_MAKE = (systems.make_file_system,)


class _Interest(NamedTuple):
    """What follows from the name of a program alone."""

    is_checked: bool
    """Whether a check applies to it."""
    is_making: bool
    """Whether it may make a file that is run later."""
    is_shell: bool
    is_other: bool
    """Whether the floor does not know the program."""


@lru_cache(1024)
def _interest(program: str) -> _Interest:
    name = base_name(program)
    is_making = name in _MAKING or name in LAUNCHERS or name in SUBCOMMANDS
    return _Interest(
        bool(is_making or _checks(name)),
        is_making,
        name in SHELLS or name in {"source", ".", "%0", "exec", "nohup", "setsid"},
        ("/" in program and not program.startswith("/")) or unknown_programs.is_other(name),
    )


_READ_BY_PLACE = embedded_commands.SETTERS | {"git"}
_UNKNOWN = _Interest(is_checked=True, is_making=False, is_shell=True, is_other=True)


def catastrophe(script: Script, *, workspace: str = "", home: str = "") -> str | None:
    """Why a script is catastrophic, in a few words; None if it is not.

    Args:
        script: All commands that a line would run, including inner commands and those of inner shells.
        workspace: The real path of the workspace; empty if it is not known.
        home: The home folder of the user who runs the script; empty if it is not known.
    """
    return look(script, workspace=workspace, home=home)[0]


def look(
    script: Script, *, workspace: str = "", home: str = "", readings: Sequence[tuple[Command, Reading]] = ()
) -> tuple[str | None, tuple[str, ...]]:
    """The same, and the normal forms of the commands that were found in texts, among words and in files of the line.

    Nothing is certain of these: a rule of `deny` may match them, and none of `allow` has to.
    """
    if _are_dull(script, readings):
        return None, ()
    scene = Scene(script, workspace, home, _judge_inner)
    scene.readings = readings if scene.places.workspace == workspace else ()
    why = _judge(scene)
    return why, tuple(dict.fromkeys(command.form for command in scene.seen if command.words))


def _are_dull(script: Script, readings: Sequence[tuple[Command, Reading]] = ()) -> bool:
    """Whether no command, looked at alone, concerns the floor: a fast check that most scripts pass."""
    if script.functions:
        return False
    for command, reading in readings or zip(script.commands, repeat(None)):
        if not _is_dull(command, reading):
            return False
    # A folder that the script brings is remembered for what builds it.
    return not any(may_clone(one) for one in script.commands if one.words)


def _is_dull(command: Command, reading: Reading | None) -> bool:
    """Whether a command, looked at alone, does not concern the floor."""
    words = command.words
    if (command.redirections and not _lead_nowhere(command.redirections)) or "background" in command.within:
        return False
    if not words:
        return not any(map(indices.may_concern, command.assignments))
    program = words[0].text
    if program is None or command.assignments or program.endswith(_NULL):
        return False
    interest = _interest(program)
    if (interest.is_other and len(words) > 1) or indices.may_index(program):
        return False
    # Of a program with a table that asks for nothing, `unknown_programs` looks into no word.
    may_tell = reading is not None and "/" not in program and program not in _READ_BY_PLACE and _asks_nothing(reading)
    for word in words[1:]:
        text = word.text
        if _tells_nothing(text) if text and len(text) < SHORT else _word_tells_nothing(word):
            continue
        if not may_tell or _may_be_evaluated(word):
            return False
    return not (interest.is_checked or interest.is_shell) or (
        program == "git" and len(words) > 1 and words[1].text in deletes.HARMLESS_GIT
    )


def _lead_nowhere(redirections: Iterable[Redirection]) -> bool:
    """Whether *redirections* open only `/dev/null`, by exactly that name, and feed no text."""
    return NOWHERE.issuperset([one.form for one in redirections])


def _asks_nothing(reading: Reading) -> bool:
    return reading.demand.is_known and not (
        reading.demand.needs or reading.inner or reading.scripts or reading.runs_input
    )


def _word_tells_nothing(word: Word) -> bool:
    """Whether a word neither begins a command nor holds one in an index, or is one."""
    return not (unknown_programs.may_begin(word) or _may_be_evaluated(word))


def _may_be_evaluated(word: Word) -> bool:
    text = word.text or word.form
    return indices.may_index(text) or "@P" in text


@lru_cache(4096)
def _tells_nothing(text: str) -> bool:
    return _word_tells_nothing(Word(text, text))


def _judge_inner(scene: Scene) -> str | None:
    return None if _are_dull(scene.script) else _judge(scene)


def _judge(scene: Scene) -> str | None:
    script = variables.filled(scene)
    if script is not scene.script:
        scene.learn(script)
    makes = shells = redirects = keeps = False
    for at, command in enumerate(scene.script.commands):
        if command.redirections:
            redirects = True
            makes = makes or _writes(command)
            if (why := _redirected(command, scene)) is not None:
                return why
        if not command.words:
            continue
        if command.assignments and (
            why := embedded_commands.assigned(command, scene) or unknown_programs.set_for(command, scene)
        ):
            return why
        program = command.words[0].text
        interest = _UNKNOWN if program is None else _interest(program)
        shells = shells or interest.is_shell
        is_making = interest.is_making and (program != "sort" or _may_name_output(command))
        makes = makes or may_clone(command)
        keeps = keeps or is_making
        if interest.is_checked or interest.is_other or unknown_programs.one_may_begin(command.words[1:]):
            makes = makes or is_making
            if (why := _of_command(command, at, scene)) is not None:
                return why
    # What is made without being named as made matters once something of the line is redirected.
    makes = makes or (redirects and (keeps or _names_null(scene.script.commands)))
    return _of_whole(scene, makes=makes, shells=shells)


def _writes(command: Command) -> bool:
    """Whether a redirection makes a file that something may run, which nothing does with `/dev/null` unless it names it."""
    return not NOWHERE.issuperset([one.form for one in command.redirections if one.operator in WRITING])


def _names_null(commands: Iterable[Command]) -> bool:
    for command in commands:
        given = [*command.words, *[one.value for one in command.assignments], *command.inputs]
        if any(_NULL in (word.text or word.form) for word in given):
            return True
    return False


def _of_command(command: Command, at: int, scene: Scene) -> str | None:
    for call in scene.chain(at):
        for check in _checks(call.name):
            if (why := check(call, scene)) is not None:
                return why
        if (why := unknown_programs.set_by(call, scene) or unknown_programs.started(call, scene)) is not None:
            return why
    return interpreters.program(command, scene) if command.words[0].text is None else None


def _checks(name: str) -> tuple[Check, ...]:
    checks = _CHECKS.get(name)
    if checks is not None:
        return checks
    if name.startswith(MAKERS):
        return _MAKE
    return _CHECKS.get(language(name), ())


def _of_whole(scene: Scene, *, makes: bool, shells: bool) -> str | None:
    """Why several commands together are catastrophic, though none of them is alone."""
    commands = scene.script.commands
    if (why := indices.evaluated(scene)) is not None:
        return why
    why = (forks.functions(scene) or _of_functions(scene)) if scene.script.functions else None
    if why is None and any(command.within for command in commands):
        why = forks.loops(scene)
    if why is None and shells:
        why = forks.itself(scene)
    return why or (made_and_run(scene) if makes else None)


def _of_functions(scene: Scene) -> str | None:
    calls = (call for command in called_functions(scene) for call in scene.calls(command))
    return next((why for call in calls for check in _checks(call.name) if (why := check(call, scene))), None)


def _redirected(command: Command, scene: Scene) -> str | None:
    for one in command.redirections:
        if one.target is None or one.target.text in _HARMLESS_TARGETS or one.operator in {"<<", "<<-", "<<<"}:
            continue
        if (why := _opened(command, one, scene)) is not None:
            return why
    return None


def _may_name_output(command: Command) -> bool:
    """Whether `sort` may write a file: with `-o`, also in a cluster, or with an unknown word."""
    return any(word.text is None or (word.text[:1] == "-" and "o" in word.text) for word in command.words[1:])


def _hands_nothing_over(command: Command) -> bool:
    """Whether no program gets the opened connection: then it only probes a port. `exec` would keep it for later commands."""
    return not command.words or command.words[0].text in _PROBES


def _opened(command: Command, one: Redirection, scene: Scene) -> str | None:
    """Why opening the target of a redirection is catastrophic."""
    for arg in readings(one.target or Word(""), scene.places.home):
        if reverse_shells.is_socket(arg.text) and not (
            reverse_shells.is_of_this_machine(arg.text) and _hands_nothing_over(command)
        ):
            return f"{reverse_shells.WHY} (/dev/tcp)"
        if one.operator.startswith("<") and one.operator != "<>":
            continue
        for target in scene.places.targets(arg, command.folders):
            why = scene.places.vital_file(target)
            if why and not (one.operator.endswith(">>") and may_grow(target.path)):
                return f"overwrites {why}"
    return None
