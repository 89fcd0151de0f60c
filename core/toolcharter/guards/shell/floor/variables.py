"""Possible values of variables that are set by `read`, `mapfile`, `printf -v`, `set` or arrays, not by assignments.

A word that holds such a variable gets its possible texts as hints; the floor expects the worst of these.
"""

import re
from collections.abc import Iterable, Iterator

from toolcharter.guards.shell.floor.context import Call, Scene
from toolcharter.guards.shell.floor.data_sources import fed_texts, spoken
from toolcharter.guards.shell.floor.deletes import LISTERS, is_narrow, operands
from toolcharter.guards.shell.floor.word_texts import readings
from toolcharter.guards.shell.nodes import Command, Script, Word

_SETTERS = frozenset({"read", "mapfile", "readarray", "printf", "set"})
_READ_VALUED = frozenset({"-d", "-i", "-n", "-N", "-p", "-t", "-u"})
_LIST_VALUED = frozenset({"-d", "-n", "-O", "-s", "-u", "-C", "-c"})
_STARTERS = frozenset({"command", "builtin"})
_USED = re.compile(
    r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*|[1-9@*])(?:\[[@*0-9]+\])?(?:(?<=[@*\]]):(?![=?+-])[^{}]*)?\}"
    r"|([A-Za-z_][A-Za-z0-9_]*|[1-9@*]))"
)
# Values that are made by the way: arrays, and what substitutions give.
_MADE = ("(", "$(", "`", '"$(', '"`')
# Texts that can replace a variable, within double quotes and without, and mean themselves.
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./~*? -]+")
_MAX_VALUES = 16
_MAX_LINES = 64


def filled(scene: Scene) -> Script:
    """The script of *scene* with hints for the variables that its commands set; the same script if there are none."""
    commands = scene.script.commands
    if not any(_may_set(command) for command in commands):
        return scene.script
    values: dict[str, list[str]] = {}
    for at, command in enumerate(commands):
        for name, value in _set(command, at, scene):
            known = values.setdefault(name, [])
            if value not in known and len(known) < _MAX_VALUES and _PLAIN.fullmatch(value):
                known.append(value)
    return scene.script._replace(commands=tuple(_with_hints(command, values, scene) for command in commands))


def _may_set(command: Command) -> bool:
    if not command.words:
        return any(one.value.form.startswith(_MADE) for one in command.assignments)
    return command.words[0].text in _SETTERS | _STARTERS


def _set(command: Command, at: int, scene: Scene) -> Iterator[tuple[str, str]]:
    """The variables that one command sets, each with a possible text."""
    for one in command.assignments:
        if one.value.form.startswith("("):
            yield from ((one.name, text) for text in one.value.form.strip("()").replace('"', " ").split())
        elif one.value.form.startswith(_MADE):
            yield from ((one.name, arg.text) for arg in readings(one.value, scene.places.home))
    for call in scene.chain(at):
        yield from _set_by(call, at, scene)


def _set_by(call: Call, at: int, scene: Scene) -> Iterator[tuple[str, str]]:
    texts = call.texts
    if call.name == "printf" and texts[:1] == ("-v",) and len(texts) > 1:
        yield texts[1], spoken(call.from_word(2, "printf")) or ""
    elif call.name == "set":
        given = texts[1:] if texts[:1] == ("--",) else tuple(text for text in texts if text[:1] not in {"-", "+"})
        is_shifted = any(
            one.name == "shift" for other in range(len(scene.script.commands)) for one in scene.chain(other)
        )
        yield from ((every, " ".join(given)) for every in "@*")
        for place, text in enumerate(given, 1):
            # Behind `shift` each may stand further in front, and `${@:2}` gives some of them.
            first = 1 if is_shifted else place
            yield from ((name, text) for name in (*map(str, range(first, place + 1)), *"@*"))
    elif call.name in {"read", "mapfile", "readarray"}:
        yield from _read(call, at, scene)


def _read(call: Call, at: int, scene: Scene) -> Iterator[tuple[str, str]]:
    lines = [line.strip() for text in _fed(call, at, scene) for line in text.splitlines()[:_MAX_LINES]]
    names = _names(call.texts, _READ_VALUED if call.name == "read" else _LIST_VALUED)
    for line in filter(None, lines):
        for name in names or ["REPLY", "MAPFILE"]:
            yield name, line
            if len(names) > 1:
                yield from ((name, field) for field in line.split())


def _names(texts: Iterable[str], valued: frozenset[str]) -> list[str]:
    skips = False
    names: list[str] = []
    for text in texts:
        if not skips and text[:1] != "-":
            names.append(text)
        skips = not skips and text in valued
    return names


def _fed(call: Call, at: int, scene: Scene) -> Iterator[str]:
    """The texts that the call may read, including the input of an enclosing loop."""
    yield from fed_texts(call, scene)
    for feeder in scene.stdin_from(call):
        if feeder.name in LISTERS and not is_narrow(feeder):
            yield from (arg.text for arg in operands(feeder.args))
    for other in scene.script.commands[at + 1 :] if call.command.within else ():
        if not other.words:
            yield from fed_texts(Call("", other, ""), scene)


def _with_hints(command: Command, values: dict[str, list[str]], scene: Scene) -> Command:
    return command._replace(words=tuple(_with_hint(word, values, scene) for word in command.words))


def _with_hint(word: Word, values: dict[str, list[str]], scene: Scene) -> Word:
    if word.text is not None or "$" not in word.form:
        return word
    forms = [word.form]
    for name in {found[1] or found[2] for found in _USED.finditer(word.form)} & values.keys():
        forms = [_put(form, name, value) for form in forms for value in values[name]][:_MAX_VALUES]
    if forms == [word.form]:
        return word
    texts = (arg.text for form in forms for arg in readings(Word(form, splits=False), scene.places.home))
    return word._replace(hints=(*word.hints, *texts))


def _put(form: str, name: str, value: str) -> str:
    return _USED.sub(lambda found: value if (found[1] or found[2]) == name else found[0], form)
