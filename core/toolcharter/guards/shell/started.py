"""Commands that another command starts, or holds as source: where they run, what they read, and which shell runs the source."""

from collections.abc import Sequence
from posixpath import join, normpath

from toolcharter.guards.shell.nodes import ENDLESS, Command, Inner, Redirection

_BASH = frozenset({"bash", "rbash"})
_SAME_SHELL = frozenset({"eval", "trap", "source", ".", "command", "builtin"})
"""Builtins that hand their source to the shell that runs them."""
_CONTEXTS = frozenset({"loop", "subshell", "substitution", "background", ENDLESS})


def name_of(command: Command) -> str:
    """The program as the line names it; empty for a command without one."""
    program = command.program
    return "" if program is None else program.text or program.form


def started_by(starter: Command, inner: Inner) -> Command:
    """The command that *starter* starts; it reads the same input as its starter."""
    return Command(
        inner.words,
        inner.assignments,
        stdin_from=starter.stdin_from,
        substitutes=starter.substitutes,
        folders=starter.folders if inner.folders is None else inner.folders,
        within=(*starter.within, name_of(starter)),
        at=starter.at,
    )


def moved_to(starter: Command, starts: Sequence[str], command: Command) -> Command:
    """*command* of the source that *starter* holds, as it runs if the source begins in one of the folders *starts*."""
    within = (*starter.within, name_of(starter), *command.within)
    return command._replace(folders=seen_from(starts, command.folders), within=within, at=starter.at)


def seen_from(starts: Sequence[str], folders: Sequence[str]) -> tuple[str, ...]:
    """Each of *folders*, joined to each of *starts*."""
    return tuple(dict.fromkeys(normpath(join(outer, inner)) for outer in starts for inner in folders))


def text_read_by(command: Command) -> str | None:
    """The text that a command gets on its standard input by a redirection; None if it is not known."""
    fed = [one for one in command.redirections if _is_input(one)]
    return fed[-1].text if fed else None


def runs_bash(starter: Command) -> bool:
    """Whether bash certainly runs the source that *starter* holds: as a program of its own, or as the shell of the line."""
    for name in (name_of(starter), *reversed(starter.within)):
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
