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
from toolcharter.guards.shell.floor.context import SHORT, Call, Context, base_name, called_functions
from toolcharter.guards.shell.floor.data_sources import FETCHERS, INTERPRETERS, SHELLS, without_version
from toolcharter.guards.shell.floor.destructive_programs import FILE_SYSTEM_MAKERS, PROGRAM_RULES
from toolcharter.guards.shell.floor.run_written_files import check_written_files, may_fetch_folder
from toolcharter.guards.shell.floor.vital_paths import accepts_appends
from toolcharter.guards.shell.floor.word_texts import possible_texts
from toolcharter.guards.shell.nodes import (
    HARMLESS_REDIRECTIONS,
    WRITE_OPERATORS,
    Command,
    Reading,
    Redirection,
    Script,
    Word,
)
from toolcharter.guards.shell.programs.launchers import LAUNCHERS, SUBCOMMANDS, TEXT_OPTIONS

Check = Callable[[Call, Context], str | None]
_FILE_WRITERS = FETCHERS | {"tee", "gtee", "sponge", "dd", "gdd", "sort", "cp", "install", "uniq"}
_PROBES = frozenset({":", "true", "echo", "printf"})
_NULL = "null"
_HARMLESS_TARGETS = frozenset({"/dev/null", "0", "1", "2", "-"})


_CHECK_TABLE: tuple[tuple[Check, Iterable[str]], ...] = (
    (systems.check_by_table, (name for name in PROGRAM_RULES if name != "parted")),
    (systems.check_parted, ("parted",)),
    (deletes.check_rm, ("rm", "srm", "rmdir", "unlink", "rimraf", "trash", "del-cli", "grm")),
    (
        deletes.check_overwrite,
        ("shred", "truncate", "wipe", "tee", "scrub", "nwipe", "gshred", "sponge", "ed", "mkfifo"),
    ),
    (deletes.check_copy, ("cp", "install", "ln", "gcp", "dcfldd", "ddrescue")),
    (deletes.check_move, ("mv", "gmv")),
    (deletes.check_permissions, ("chmod", "chown", "chgrp", "chattr", "setfacl", "gchmod", "gchown")),
    (deletes.check_find, ("find", "gfind", "bfs")),
    (deletes.check_fd, ("fd", "fdfind")),
    (deletes.check_tar, ("tar", "gtar", "bsdtar")),
    (systems.check_services, ("systemctl", "service", "rc-service")),
    (systems.check_disk_operands, ("fallocate", "resize2fs", "qemu-img", "grub-install")),
    (reverse_shells.check_zsh_sockets, ("zmodload", "ztcp")),
    (installs.check_url, ("rpm", "yum", "dnf")),
    (deletes.check_rsync, ("rsync",)),
    (deletes.check_git_clean, ("git",)),
    (cleaners.check_clean, cleaners.CLEANERS),
    (cleaners.check_clean_settings, ("env",)),
    (cleaners.check_cmake, ("cmake",)),
    (systems.check_dd, ("dd", "gdd", "dc3dd", "dcfldd", "pv")),
    (
        systems.check_disk_operands,
        ("tune2fs", "e2fsck", "fsck", "flash_erase", "flashcp", "nandwrite", "sfill", "pv", "partclone", "e2label"),
    ),
    (systems.check_runlevel, ("init", "telinit")),
    (systems.check_kill, ("kill",)),
    (systems.check_killall, ("killall", "pkill", "skill", "slay")),
    (systems.check_history, ("history",)),
    (systems.check_sysctl, ("sysctl",)),
    (systems.check_network, ("ip",)),
    (systems.check_mount, ("mount", "umount")),
    (systems.check_packages, ("apt", "apt-get", "aptitude", "yum", "dnf", "rpm", "pacman", "dpkg", "zypper", "apk")),
    (systems.check_osascript, ("osascript",)),
    (windows.check_delete, ("del", "erase", "rd", "rmdir", "deltree", "remove-item", "ri")),
    (windows.check_format, ("format",)),
    (windows.check_remote_script, ("mshta", "regsvr32", "msiexec", "rundll32", "cscript", "wscript", "installutil")),
    (windows.check_powershell, ("powershell", "pwsh")),
    (windows.check_invoke_expression, ("iex", "invoke-expression")),
    (windows.check_registry, ("reg",)),
    (windows.check_service, ("sc", "net")),
    (windows.check_permissions, ("takeown", "icacls")),
    (
        installs.check_url,
        ("pip", "pipx", "uv", "uvx", "npm", "npx", "pnpm", "yarn", "bun", "bunx", "pnpx", "gem", "cargo"),
    ),
    (installs.check_url, ("deno", "conda", "mamba", "easy_install", "composer", "poetry", "bundle", "cpan", "cpanm")),
    (installs.check_go_install, ("go",)),
    (installs.check_container_mounts, ("docker", "podman", "nerdctl")),
    (embedded_commands.check_exec, ("docker", "podman", "nerdctl", "kubectl", "oc", "docker-compose", "lxc", "incus")),
    (
        reverse_shells.check_netcat,
        ("nc", "ncat", "netcat", "nc.traditional", "nc.openbsd", "pwncat", "powercat", "cryptcat", "sbd"),
    ),
    (reverse_shells.check_socat, ("socat",)),
    (reverse_shells.check_port_forwarding, ("ssh", "autossh")),
    (reverse_shells.check_shell_feeders, ("telnet", "openssl", "websocat")),
    (reverse_shells.check_shared_terminal, ("tmate", "upterm", "ttyd", "gotty", "websocat")),
    (reverse_shells.check_remote_display, ("xterm", "rxvt", "urxvt", "gnome-terminal", "konsole")),
    (interpreters.check_shell, SHELLS),
    (interpreters.check_eval, ("eval",)),
    (interpreters.check_interpreter, (*INTERPRETERS, "awk", "mawk", "nawk")),
    (interpreters.check_shell, ("source", ".")),
    (interpreters.check_text, (*TEXT_OPTIONS, *(name for name, launcher in LAUNCHERS.items() if launcher.is_text))),
    (interpreters.check_trap, ("trap",)),
    (interpreters.check_find_exec, ("find", "gfind", "bfs")),
    (interpreters.check_input_lines, ("at", "batch", "parallel", "newgrp", "su")),
    (interpreters.check_crontab, ("crontab",)),
    (forks.check_parallel_runs, ("xargs", "parallel")),
    (embedded_commands.check_options, embedded_commands.COMMAND_OPTIONS),
    (embedded_commands.check_output_files, embedded_commands.OUTPUT_OPTIONS),
    (embedded_commands.check_operands, embedded_commands.LINE_RUNNERS),
    (embedded_commands.check_tar_checkpoint, ("tar", "gtar")),
    (embedded_commands.check_ssh_options, ("ssh", "scp", "sftp", "autossh")),
    (embedded_commands.check_settings, embedded_commands.VARIABLE_SETTERS),
    (embedded_commands.check_aliases, ("alias",)),
    (embedded_commands.check_callback, ("mapfile", "readarray")),
    (embedded_commands.check_parallel, ("parallel",)),
    (embedded_commands.check_screen, ("screen",)),
    (git.check_settings_and_options, ("git",)),
    (dialects.check_editor, dialects.EDITORS),
    (dialects.check_sed, ("sed", "gsed")),
    (dialects.check_make, ("make", "gmake", "remake")),
    (dialects.check_debugger, ("gdb", "lldb", "cgdb")),
    (databases.check_sqlite, databases.SQLITE_CLIENTS),
    (databases.check_server_client, databases.SERVER_CLIENTS),
    (dialects.check_tcl, ("expect", "tclsh", "wish")),
)
"""The programs that each check applies to; the checks of one program run in this order."""


def _group_by_program() -> dict[str, tuple[Check, ...]]:
    found: dict[str, tuple[Check, ...]] = {}
    for check, names in _CHECK_TABLE:
        for name in names:
            found[name] = (*found.get(name, ()), check)
    return found


_PROGRAM_CHECKS = _group_by_program()
_MKFS_CHECKS = (systems.check_mkfs,)


class _ProgramTraits(NamedTuple):
    """What follows from the name of a program alone."""

    is_checked: bool
    """Whether a check applies to it."""
    may_write_file: bool
    """Whether it may make a file that is run later."""
    is_shell: bool
    is_unknown: bool
    """Whether the floor does not know the program."""


@lru_cache(1024)
def _program_traits(program: str) -> _ProgramTraits:
    name = base_name(program)
    may_write_file = name in _FILE_WRITERS or name in LAUNCHERS or name in SUBCOMMANDS
    return _ProgramTraits(
        bool(may_write_file or _find_checks(name)),
        may_write_file,
        name in SHELLS or name in {"source", ".", "%0", "exec", "nohup", "setsid"},
        ("/" in program and not program.startswith("/")) or unknown_programs.is_unknown(name),
    )


_POSITIONAL = embedded_commands.VARIABLE_SETTERS | {"git"}
_UNKNOWN_PROGRAM = _ProgramTraits(is_checked=True, may_write_file=False, is_shell=True, is_unknown=True)


def catastrophe(script: Script, *, workspace: str = "", home: str = "") -> str | None:
    """Why a script is catastrophic, in a few words; None if it is not.

    Args:
        script: All commands that a line would run, including inner commands and those of inner shells.
        workspace: The real path of the workspace; empty if it is not known.
        home: The home folder of the user who runs the script; empty if it is not known.
    """
    return check_script(script, workspace=workspace, home=home)[0]


def check_script(
    script: Script, *, workspace: str = "", home: str = "", readings: Sequence[tuple[Command, Reading]] = ()
) -> tuple[str | None, tuple[str, ...]]:
    """The same, and the normal forms of the commands that were found in texts, among words and in files of the line.

    Nothing is certain of these: a rule of `deny` may match them, and none of `allow` has to.
    """
    if _may_skip_script(script, readings):
        return None, ()
    context = Context(script, workspace, home, _check_inner)
    context.readings = readings if context.paths.workspace == workspace else ()
    why = _check_context(context)
    return why, tuple(dict.fromkeys(command.form for command in context.found_commands if command.words))


def _may_skip_script(script: Script, readings: Sequence[tuple[Command, Reading]] = ()) -> bool:
    """Whether no command, looked at alone, concerns the floor: a fast check that most scripts pass."""
    if script.functions:
        return False
    for command, reading in readings or zip(script.commands, repeat(None)):
        if not _may_skip_command(command, reading):
            return False
    # A folder that the script brings is remembered for what builds it.
    return not any(may_fetch_folder(one) for one in script.commands if one.words)


def _may_skip_command(command: Command, reading: Reading | None) -> bool:
    """Whether a command, looked at alone, does not concern the floor."""
    words = command.words
    if (command.redirections and not _open_only_null(command.redirections)) or "background" in command.within:
        return False
    if not words:
        return not any(map(indices.may_be_evaluated, command.assignments))
    program = words[0].text
    if program is None or command.assignments or program.endswith(_NULL):
        return False
    traits = _program_traits(program)
    if (traits.is_unknown and len(words) > 1) or indices.may_hold_index(program):
        return False
    # Of a program with a table that asks for nothing, `unknown_programs` looks into no word.
    is_safe = reading is not None and "/" not in program and program not in _POSITIONAL and _needs_nothing(reading)
    for word in words[1:]:
        text = word.text
        if _is_plain_text(text) if text and len(text) < SHORT else _is_plain_word(word):
            continue
        if not is_safe or _may_be_evaluated(word):
            return False
    return not (traits.is_checked or traits.is_shell) or (
        program == "git" and len(words) > 1 and words[1].text in deletes.HARMLESS_GIT
    )


def _open_only_null(redirections: Iterable[Redirection]) -> bool:
    """Whether *redirections* open only `/dev/null`, by exactly that name, and feed no text."""
    return HARMLESS_REDIRECTIONS.issuperset([one.form for one in redirections])


def _needs_nothing(reading: Reading) -> bool:
    return reading.demand.is_known and not (
        reading.demand.needs or reading.inner or reading.scripts or reading.runs_input
    )


def _is_plain_word(word: Word) -> bool:
    """Whether a word neither begins a command nor holds one in an index, or is one."""
    return not (unknown_programs.may_start_command(word) or _may_be_evaluated(word))


def _may_be_evaluated(word: Word) -> bool:
    text = word.text or word.form
    return indices.may_hold_index(text) or "@P" in text


@lru_cache(4096)
def _is_plain_text(text: str) -> bool:
    return _is_plain_word(Word(text, text))


def _check_inner(context: Context) -> str | None:
    return None if _may_skip_script(context.script) else _check_context(context)


def _check_context(context: Context) -> str | None:
    script = variables.with_variable_hints(context)
    if script is not context.script:
        context.replace_script(script)
    writes = shells = redirects = any_may_write = False
    for at, command in enumerate(context.script.commands):
        if command.redirections:
            redirects = True
            writes = writes or _writes_file(command)
            if (why := _check_redirections(command, context)) is not None:
                return why
        if not command.words:
            continue
        if command.assignments and (
            why := embedded_commands.check_assignments(command, context)
            or unknown_programs.check_assignments(command, context)
        ):
            return why
        program = command.words[0].text
        traits = _UNKNOWN_PROGRAM if program is None else _program_traits(program)
        shells = shells or traits.is_shell
        may_write_file = traits.may_write_file and (program != "sort" or _may_write_output(command))
        writes = writes or may_fetch_folder(command)
        any_may_write = any_may_write or may_write_file
        if traits.is_checked or traits.is_unknown or unknown_programs.any_may_start_command(command.words[1:]):
            writes = writes or may_write_file
            if (why := _check_command(command, at, context)) is not None:
                return why
    # What is made without being named as made matters once something of the line is redirected.
    writes = writes or (redirects and (any_may_write or _mentions_null(context.script.commands)))
    return _check_combination(context, writes=writes, shells=shells)


def _writes_file(command: Command) -> bool:
    """Whether a redirection makes a file that something may run, which nothing does with `/dev/null` unless it names it."""
    return not HARMLESS_REDIRECTIONS.issuperset(
        [one.form for one in command.redirections if one.operator in WRITE_OPERATORS]
    )


def _mentions_null(commands: Iterable[Command]) -> bool:
    for command in commands:
        given = [*command.words, *[one.value for one in command.assignments], *command.inputs]
        if any(_NULL in (word.text or word.form) for word in given):
            return True
    return False


def _check_command(command: Command, at: int, context: Context) -> str | None:
    for call in context.calls_at(at):
        for check in _find_checks(call.name):
            if (why := check(call, context)) is not None:
                return why
        if (
            why := unknown_programs.check_setters(call, context) or unknown_programs.check_started(call, context)
        ) is not None:
            return why
    return interpreters.check_program_name(command, context) if command.words[0].text is None else None


def _find_checks(name: str) -> tuple[Check, ...]:
    checks = _PROGRAM_CHECKS.get(name)
    if checks is not None:
        return checks
    if name.startswith(FILE_SYSTEM_MAKERS):
        return _MKFS_CHECKS
    return _PROGRAM_CHECKS.get(without_version(name), ())


def _check_combination(context: Context, *, writes: bool, shells: bool) -> str | None:
    """Why several commands together are catastrophic, though none of them is alone."""
    commands = context.script.commands
    if (why := indices.check_indices(context)) is not None:
        return why
    why = (forks.check_functions(context) or _check_functions(context)) if context.script.functions else None
    if why is None and any(command.within for command in commands):
        why = forks.check_loops(context)
    if why is None and shells:
        why = forks.check_self_start(context)
    return why or (check_written_files(context) if writes else None)


def _check_functions(context: Context) -> str | None:
    calls = (call for command in called_functions(context) for call in context.possible_calls(command))
    return next((why for call in calls for check in _find_checks(call.name) if (why := check(call, context))), None)


def _check_redirections(command: Command, context: Context) -> str | None:
    for one in command.redirections:
        if one.target is None or one.target.text in _HARMLESS_TARGETS or one.operator in {"<<", "<<-", "<<<"}:
            continue
        if (why := _check_target(command, one, context)) is not None:
            return why
    return None


def _may_write_output(command: Command) -> bool:
    """Whether `sort` may write a file: with `-o`, also in a cluster, or with an unknown word."""
    return any(word.text is None or (word.text[:1] == "-" and "o" in word.text) for word in command.words[1:])


def _only_probes(command: Command) -> bool:
    """Whether no program gets the opened connection: then it only probes a port. `exec` would keep it for later commands."""
    return not command.words or command.words[0].text in _PROBES


def _check_target(command: Command, one: Redirection, context: Context) -> str | None:
    """Why opening the target of a redirection is catastrophic."""
    for arg in possible_texts(one.target or Word(""), context.paths.home):
        if reverse_shells.is_socket(arg.text) and not (
            reverse_shells.is_local_socket(arg.text) and _only_probes(command)
        ):
            return f"{reverse_shells.WHY} (/dev/tcp)"
        if one.operator.startswith("<") and one.operator != "<>":
            continue
        for target in context.paths.targets(arg, command.folders):
            why = context.paths.vital_file(target)
            if why and not (one.operator.endswith(">>") and accepts_appends(target.path)):
                return f"overwrites {why}"
    return None
