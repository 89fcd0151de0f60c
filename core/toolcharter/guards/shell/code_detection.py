"""Finds the arguments of a tool that a shell or an interpreter runs as code, or that name a program to start."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from shlex import join, quote
from typing import Any, Final

from toolcharter.api.policy import check_variables
from toolcharter.guards.shell.analyse import analyse
from toolcharter.guards.shell.floor.context import Call, Context
from toolcharter.guards.shell.floor.data_sources import SHELLS, code_argument, reads_code, without_version
from toolcharter.guards.shell.floor.embedded_commands import COMMAND_OPTIONS, option_values
from toolcharter.guards.shell.nodes import Command, NotUnderstood, Script
from toolcharter.guards.shell.parse.script import command_of_argv, parse
from toolcharter.guards.shell.programs.launchers import source_words

_MARK: Final = "toolcharterprobe"
_PLAIN: Final = "value"
_PROGRAM_FIRST: Final = {
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), (frozenset({"-f", "--file"}), frozenset({"-F", "-v"}))),
    **dict.fromkeys(("sed", "gsed"), (frozenset({"-f", "--file", "-e", "--expression"}), frozenset({"-l"}))),
}
"""Programs whose first operand is code, each with the options that replace that operand, and other options with a value."""
_STARTS: Final = {"find": frozenset({"-exec", "-execdir", "-ok", "-okdir"})}
"""Options whose value is a program."""
# Bash evaluates the arguments of these, or runs them later. Source: bash(1), SHELL BUILTIN COMMANDS, ARITHMETIC EVALUATION.
_EVALUATING: Final = frozenset(
    "alias bind compgen complete declare enable eval export getopts hash let local mapfile read readarray readonly source "
    "trap typeset unset . ((".split()
)
_NAMING: Final = frozenset({"test", "[", "[[", "printf", "wait"})
"""Builtins that evaluate the name behind `-v` or `-p`."""
_CODE_OPTIONS: Final = frozenset({"-c", "-e", "-E", "-p", "-r", "--eval", "--execute", "--command"})
_STARTERS: Final[Mapping[str, tuple[str, ...]]] = {
    "git": ("-c", "--config-env", "--exec"),
    "make": ("=", "--eval", "-f"),
    "tar": ("checkpoint-action", "to-command", "compress-program", "-I", "rsh-command"),
    **dict.fromkeys(("vi", "vim", "nvim", "ex", "view"), ("-c", "--cmd", "+", "-S")),
}
"""Programs that start a command given in a word with one of these texts, or in the word behind it."""
_INTERPRETERS: Final = SHELLS | frozenset({"python", "perl", "ruby", "node", "php", "lua", "deno", "bun", "tclsh"})
_VALUES: Final[Mapping[str, object]] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
_PROBES: Final[Mapping[str, tuple[object, ...]]] = {
    "string": (_MARK,),
    "array": ([_MARK], [_PLAIN, _MARK], ["-c", _MARK], ["-e", _MARK], ["-exec", _MARK, ";"]),
    "object": ({_MARK: _MARK},),
}
"""For each type, values that show whether an argument is code. A list may be the words of a program, with its options."""


def code_arguments(invocation: Callable[[Mapping[str, Any]], Any], schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Find the names of the arguments that are run as code.

    Args:
        invocation: The function of the tool's spec that gives the commands for arguments; no command is run.
        schema: The JSON Schema of the arguments.
    """
    properties = schema.get("properties", {})
    plain = {name: _VALUES.get(_type(one), _PLAIN) for name, one in properties.items() if _type(one) != "boolean"}
    probes = {name: _PROBES.get(_type(one), ()) for name, one in properties.items() if "enum" not in one}
    return tuple(
        name for name, values in probes.items() if any(_is_code(invocation, {**plain, name: one}) for one in values)
    )


def with_input(argv: Sequence[str], text: str) -> str | tuple[str, ...]:
    """*argv* in the form that rules match: as a shell line with *text* as its input if the program reads its input as code."""
    try:
        is_code = bool(text) and _reads_code(command_of_argv(tuple(argv)))
    except NotUnderstood:
        is_code = False
    return f"{join(argv)} <<<{quote(text)}" if is_code else tuple(argv)


def _type(argument: Any) -> str:
    kind = argument.get("type", "string") if isinstance(argument, Mapping) else "string"
    return kind if isinstance(kind, str) else "string"


def _is_code(invocation: Callable[[Mapping[str, Any]], Any], args: Mapping[str, Any]) -> bool:
    try:
        commands = invocation(args).commands
        return any(
            _is_code_in_line(one) if isinstance(one, str) else any(map(_holds_mark, _codes(command_of_argv(one))))
            for one in commands
        )
    except (NotUnderstood, LookupError, TypeError, ValueError, AttributeError):
        return False


def _is_code_in_line(line: str) -> bool:
    """Whether a shell line, which has the argument quoted, runs the argument as code; true if the line is not understood."""
    if _MARK not in line:
        return False
    try:
        found = analyse((line,), "/")
        commands = parse(line).commands
    except NotUnderstood:
        return True
    if found.unresolved_program is not None or found.unsupported is not None:
        return True
    if any(without_version(one.program.rpartition("/")[2]) == _MARK for one in found.commands):
        return True
    names = {_name([one.words[0].text or ""]) for one in commands if one.words}
    if "xargs" in names and any(_prints(one) for one in commands):
        return True
    return any(any(map(_holds_mark, _codes(one))) or _evaluates(one) for one in commands)


def _prints(command: Command) -> bool:
    """Whether *command* prints the argument unchanged, so that `xargs` may split it into words."""
    texts = [word.text or word.form for word in command.words]
    return _name(texts) in {"echo", "printf"} and any(map(_holds_mark, texts))


def _is_reserved(name: str) -> bool:
    try:
        check_variables((name,))
    except ValueError:
        return True
    return False


def _evaluates(command: Command) -> bool:
    """Whether a program of *command* gets the argument as a name that it evaluates, or as the path of its code."""
    if any(_MARK in str(one) and _is_reserved(one.name) for one in command.assignments):
        return True
    texts = [word.text or word.form for word in command.words]
    marked = [at for at, text in enumerate(texts) if _MARK in text]
    if not marked:
        return any(_MARK in text for text in map(str, command.redirections)) and _reads_code(command)
    names = [without_version(text.rpartition("/")[2].lower()) for text in texts]
    for at in marked:
        before = names[:at]
        if not _EVALUATING.isdisjoint(before[:1]) or (before[:1] and before[0] in _NAMING and {"-v", "-p"} & {*before}):
            return True
        for start, name in enumerate(before):
            between = texts[start + 1 : at]
            if (markers := _STARTERS.get(name)) and any(
                sign in " ".join((*between[-1:], texts[at])) for sign in markers
            ):
                return True
            if name in _INTERPRETERS and (
                all(text[:1] == "-" for text in between) or not _CODE_OPTIONS.isdisjoint(between)
            ):
                return True
    return False


def _reads_code(command: Command) -> bool:
    return any(map(reads_code, Context(Script((command,)), "", "", lambda _: None).calls_at(0)))


def _name(texts: list[str]) -> str:
    return texts[0].rpartition("/")[2].lower() if texts else ""


def _holds_mark(text: str) -> bool:
    return _MARK in text


def _codes(command: Command) -> Iterator[str]:
    """All words of *command* that its program, or one that this starts, runs as code; and the names of these programs."""
    context = Context(Script((command,)), "", "", lambda _: None)
    for call in context.calls_at(0):
        yield call.name
        # An option behind the name of a script belongs to the script.
        word = code_argument(call) if call.texts and call.texts[0][:1] in {"-", "+"} else None
        yield "" if word is None else word.text or ""
        yield from (one.text or "" for one in source_words(call.name, call.command))
        yield from option_values(
            call.texts, COMMAND_OPTIONS.get(call.name, frozenset()) | _STARTS.get(call.name, frozenset())
        )
        if call.name == "eval":
            yield from call.texts
        if without_version(call.name) in _PROGRAM_FIRST:
            yield from _program_text(call)


def _program_text(call: Call) -> Iterator[str]:
    """The arguments of awk or sed that are its program."""
    instead, valued = _PROGRAM_FIRST[without_version(call.name)]
    given = [*option_values(call.texts, instead - {"-f", "--file"})]
    yield from given
    before, has_program = "", bool(given)
    for text in call.texts:
        if before not in valued | instead and text[:1] != "-":
            yield from () if has_program else (text,)
            return
        has_program = has_program or text in instead
        before = text
