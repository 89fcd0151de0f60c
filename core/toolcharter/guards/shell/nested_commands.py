"""Commands that another command starts, or holds as source: where they run, what they read, and which shell runs the source."""

import re
from collections.abc import Mapping, Sequence
from posixpath import join, normpath

from toolcharter.guards.shell.nodes import ENDLESS_LOOP, Command, Inner, Redirection

_BASH = frozenset({"bash", "rbash"})
_SYNTAX_CHECKERS = _BASH | {"sh", "dash"}
_SAME_SHELL = frozenset({"eval", "trap", "source", ".", "command", "builtin"})
"""Builtins that hand their source to the shell that runs them."""
_INPUT_PASSERS = frozenset(
    """bash builtin chroot command dash doas env eval exec ionice nice nohup setsid sh ssh stdbuf sudo time timeout""".split()
)
"""Programs that leave all of their input to the command that they start. `sudo -S` is an exception: it reads a password."""
_READS_PASSWORD = re.compile(r"-[A-Za-z]*S.*|--std.*")
_SYNTAX_CHECK_OPTIONS = frozenset({"-n", "-e", "-u", "-v", "-x", "-"})
"""Options behind which a shell with `-n` still runs nothing."""
_CONTEXTS = frozenset({"loop", "subshell", "substitution", "background", ENDLESS_LOOP})


def program_name(command: Command) -> str:
    """The program as the line names it; empty for a command without one."""
    program = command.program
    return "" if program is None else program.text or program.form


def start_inner(starter: Command, inner: Inner) -> Command:
    """The command that *starter* starts; it reads the same input as its starter."""
    return Command(
        inner.words,
        inner.assignments,
        stdin_from=starter.stdin_from,
        substitutes=starter.substitutes,
        folders=starter.folders if inner.folders is None else inner.folders,
        within=(*starter.within, program_name(starter)),
        at=starter.at,
    )


def nest(starter: Command, starts: Sequence[str], command: Command) -> Command:
    """*command* of the source that *starter* holds, as it runs if the source begins in one of the folders *starts*."""
    within = (*starter.within, program_name(starter), *command.within)
    return command._replace(folders=rebase(starts, command.folders), within=within, at=starter.at)


def rebase(starts: Sequence[str], folders: Sequence[str]) -> tuple[str, ...]:
    """Each of *folders*, joined to each of *starts*."""
    return tuple(dict.fromkeys(normpath(join(outer, inner)) for outer in starts for inner in folders))


def stdin_text(commands: Sequence[Command], at: int, started: Mapping[int, int]) -> str | None:
    """The text on the standard input of the command at *at* that it runs; None if it is not known.

    A command reads the input of the command that starts it: `ssh host bash -s <<E`.

    Args:
        commands: All commands of the line so far.
        at: A position among *commands*.
        started: The position of each started command, with the position of the command that starts it.
    """
    command = commands[at]
    if _only_checks_syntax(command):
        return ""
    fed = [one for one in command.redirections if _is_input(one)]
    if fed:
        return fed[-1].text
    starter = started.get(at)
    if starter is None or command.stdin_from or not _passes_input_on(commands[starter]):
        return None
    return stdin_text(commands, starter, started)


def _passes_input_on(starter: Command) -> bool:
    """Whether a command leaves its input to the command that it starts."""
    texts = [word.text or "-S" for word in starter.words[1:]]
    is_sudo = program_name(starter) == "sudo"
    return program_name(starter) in _INPUT_PASSERS and not (is_sudo and any(map(_READS_PASSWORD.fullmatch, texts)))


def _only_checks_syntax(command: Command) -> bool:
    """Whether a shell checks the syntax of its input, and runs nothing: `bash -n`."""
    texts = [word.text for word in command.words[1:]]
    return "-n" in texts and program_name(command) in _SYNTAX_CHECKERS and _SYNTAX_CHECK_OPTIONS.issuperset(texts)


def runs_bash(starter: Command) -> bool:
    """Whether bash certainly runs the source that *starter* holds: as a program of its own, or as the shell of the line."""
    for name in (program_name(starter), *reversed(starter.within)):
        base = name.rpartition("/")[2]
        if base in _BASH:
            return True
        if base not in _SAME_SHELL and base not in _CONTEXTS and not base.startswith("function "):
            return False
    return True


def _is_input(redirection: Redirection) -> bool:
    """Whether *redirection* replaces the standard input, as `0>&3` does, too."""
    if not redirection.descriptor:
        return redirection.operator.startswith("<")
    return not redirection.descriptor.strip("0")
