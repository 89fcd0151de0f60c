"""Possible values of variables that are set by `read`, `mapfile`, `printf -v`, `set` or arrays, not by assignments.

A word that holds such a variable gets its possible texts as hints; the floor expects the worst of these.
"""

import re
from collections.abc import Iterable, Iterator

from toolcharter.guards.shell.floor.context import Call, Context
from toolcharter.guards.shell.floor.data_sources import input_texts, printed_text
from toolcharter.guards.shell.floor.deletes import LISTERS, is_narrowed, operands
from toolcharter.guards.shell.floor.word_texts import possible_texts
from toolcharter.guards.shell.nodes import Command, Script, Word

_SETTERS = frozenset({"read", "mapfile", "readarray", "printf", "set"})
_READ_VALUED = frozenset({"-d", "-i", "-n", "-N", "-p", "-t", "-u"})
_LIST_VALUED = frozenset({"-d", "-n", "-O", "-s", "-u", "-C", "-c"})
_STARTERS = frozenset({"command", "builtin"})
_VARIABLE_USE = re.compile(
    r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*|[1-9@*])(?:\[[@*0-9]+\])?(?:(?<=[@*\]]):(?![=?+-])[^{}]*)?\}"
    r"|([A-Za-z_][A-Za-z0-9_]*|[1-9@*]))"
)
# Values that are made by the way: arrays, and what substitutions give.
_COMPUTED_VALUES = ("(", "$(", "`", '"$(', '"`')
# Texts that can replace a variable, within double quotes and without, and mean themselves.
_PLAIN_TEXT = re.compile(r"[A-Za-z0-9_@%+=:,./~*? -]+")
_MAX_VALUES = 16
_MAX_LINES = 64


def with_variable_hints(context: Context) -> Script:
    """The script of *context* with hints for the variables that its commands set; the same script if there are none."""
    commands = context.script.commands
    if not any(_may_set(command) for command in commands):
        return context.script
    values: dict[str, list[str]] = {}
    for at, command in enumerate(commands):
        for name, value in _variables_set(command, at, context):
            known = values.setdefault(name, [])
            if value not in known and len(known) < _MAX_VALUES and _PLAIN_TEXT.fullmatch(value):
                known.append(value)
    return context.script._replace(commands=tuple(_with_hints(command, values, context) for command in commands))


def _may_set(command: Command) -> bool:
    if not command.words:
        return any(one.value.form.startswith(_COMPUTED_VALUES) for one in command.assignments)
    return command.words[0].text in _SETTERS | _STARTERS


def _variables_set(command: Command, at: int, context: Context) -> Iterator[tuple[str, str]]:
    """The variables that one command sets, each with a possible text."""
    for one in command.assignments:
        if one.value.form.startswith("("):
            yield from ((one.name, text) for text in one.value.form.strip("()").replace('"', " ").split())
        elif one.value.form.startswith(_COMPUTED_VALUES):
            yield from ((one.name, arg.text) for arg in possible_texts(one.value, context.paths.home))
    for call in context.calls_at(at):
        yield from _variables_set_by_call(call, at, context)


def _variables_set_by_call(call: Call, at: int, context: Context) -> Iterator[tuple[str, str]]:
    texts = call.texts
    if call.name == "printf" and texts[:1] == ("-v",) and len(texts) > 1:
        yield texts[1], printed_text(call.from_word(2, "printf")) or ""
    elif call.name == "set":
        given = texts[1:] if texts[:1] == ("--",) else tuple(text for text in texts if text[:1] not in {"-", "+"})
        is_shifted = any(
            one.name == "shift" for other in range(len(context.script.commands)) for one in context.calls_at(other)
        )
        yield from ((every, " ".join(given)) for every in "@*")
        for place, text in enumerate(given, 1):
            # Behind `shift` each may stand further in front, and `${@:2}` gives some of them.
            first = 1 if is_shifted else place
            yield from ((name, text) for name in (*map(str, range(first, place + 1)), *"@*"))
    elif call.name in {"read", "mapfile", "readarray"}:
        yield from _variables_read(call, at, context)


def _variables_read(call: Call, at: int, context: Context) -> Iterator[tuple[str, str]]:
    lines = [line.strip() for text in _input_texts(call, at, context) for line in text.splitlines()[:_MAX_LINES]]
    names = _variable_names(call.texts, _READ_VALUED if call.name == "read" else _LIST_VALUED)
    for line in filter(None, lines):
        for name in names or ["REPLY", "MAPFILE"]:
            yield name, line
            if len(names) > 1:
                yield from ((name, field) for field in line.split())


def _variable_names(texts: Iterable[str], valued: frozenset[str]) -> list[str]:
    skips = False
    names: list[str] = []
    for text in texts:
        if not skips and text[:1] != "-":
            names.append(text)
        skips = not skips and text in valued
    return names


def _input_texts(call: Call, at: int, context: Context) -> Iterator[str]:
    """The texts that the call may read, including the input of an enclosing loop."""
    yield from input_texts(call, context)
    for feeder in context.feeders(call):
        if feeder.name in LISTERS and not is_narrowed(feeder):
            yield from (arg.text for arg in operands(feeder.args))
    for other in context.script.commands[at + 1 :] if call.command.within else ():
        if not other.words:
            yield from input_texts(Call("", other, ""), context)


def _with_hints(command: Command, values: dict[str, list[str]], context: Context) -> Command:
    return command._replace(words=tuple(_with_hint(word, values, context) for word in command.words))


def _with_hint(word: Word, values: dict[str, list[str]], context: Context) -> Word:
    if word.text is not None or "$" not in word.form:
        return word
    forms = [word.form]
    for name in {found[1] or found[2] for found in _VARIABLE_USE.finditer(word.form)} & values.keys():
        forms = [_replace_variable(form, name, value) for form in forms for value in values[name]][:_MAX_VALUES]
    if forms == [word.form]:
        return word
    texts = (arg.text for form in forms for arg in possible_texts(Word(form, splits=False), context.paths.home))
    return word._replace(hints=(*word.hints, *texts))


def _replace_variable(form: str, name: str, value: str) -> str:
    return _VARIABLE_USE.sub(lambda found: value if (found[1] or found[2]) == name else found[0], form)
