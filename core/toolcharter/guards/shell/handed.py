"""Which arguments of a tool a shell or an interpreter gets as code, or a program starts: who calls the tool then writes programs."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from toolcharter.guards.shell.floor.context import Call, Scene
from toolcharter.guards.shell.floor.data_sources import code_word, language
from toolcharter.guards.shell.floor.embedded_commands import OPTIONS, values
from toolcharter.guards.shell.nodes import NotUnderstood, Script
from toolcharter.guards.shell.parse.script import of_vector
from toolcharter.guards.shell.programs.launchers import text_of

_MARK: Final = "toolcharterprobe"
_PLAIN: Final = "value"
_PROGRAM_FIRST: Final = {
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), (frozenset({"-f", "--file"}), frozenset({"-F", "-v"}))),
    **dict.fromkeys(("sed", "gsed"), (frozenset({"-f", "--file", "-e", "--expression"}), frozenset({"-l"}))),
}
"""Programs whose first operand is code: the options that take its place, and others that take the next word."""
_STARTS: Final = {"find": frozenset({"-exec", "-execdir", "-ok", "-okdir"})}
"""Options whose value is a program."""
_VALUES: Final[Mapping[str, object]] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}


def code_arguments(invocation: Callable[[Mapping[str, Any]], Any], schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of those arguments.

    Args:
        invocation: Of the tool's spec; nothing is run.
        schema: Of its arguments.
    """
    properties = schema.get("properties", {})
    plain = {name: _VALUES.get(_type(one), _PLAIN) for name, one in properties.items() if _type(one) != "boolean"}
    texts = (name for name, one in properties.items() if _type(one) == "string" and "enum" not in one)
    return tuple(name for name in texts if _is_code(invocation, {**plain, name: _MARK}))


def _type(argument: Any) -> str:
    kind = argument.get("type", "string") if isinstance(argument, Mapping) else "string"
    return kind if isinstance(kind, str) else "string"


def _is_code(invocation: Callable[[Mapping[str, Any]], Any], args: Mapping[str, Any]) -> bool:
    try:
        commands = invocation(args).commands
        # A tool that gives shell source gives what it hands to a shell.
        return any(_MARK in one if isinstance(one, str) else any(map(_holds_mark, _codes(one))) for one in commands)
    except (NotUnderstood, LookupError, TypeError, ValueError, AttributeError):
        return False


def _holds_mark(text: str) -> bool:
    return _MARK in text


def _codes(argv: tuple[str, ...]) -> Iterator[str]:
    """All words of *argv* that are code to its program, or to one that this starts; and the names of those."""
    scene = Scene(Script((of_vector(argv),)), "", "", lambda _: None)
    for call in scene.chain(0):
        yield call.name
        word = code_word(call)
        yield "" if word is None else word.text or ""
        yield from (one.text or "" for one in text_of(call.name, call.command))
        yield from values(call.texts, OPTIONS.get(call.name, frozenset()) | _STARTS.get(call.name, frozenset()))
        if call.name == "eval":
            yield from call.texts
        if language(call.name) in _PROGRAM_FIRST:
            yield from _program_text(call)


def _program_text(call: Call) -> Iterator[str]:
    """What awk and sed take for their program."""
    instead, valued = _PROGRAM_FIRST[language(call.name)]
    given = [*values(call.texts, instead - {"-f", "--file"})]
    yield from given
    before, has_program = "", bool(given)
    for text in call.texts:
        if before not in valued | instead and text[:1] != "-":
            yield from () if has_program else (text,)
            return
        has_program = has_program or text in instead
        before = text
