"""Records the possible values of an array's elements where the subscript is not known: `count[$word]=1`, `files+=("$f")`.

All values that a line assigns to elements of one array are kept as one variable, and all keys as another. Source: bash(1),
"Arrays".
"""

import re
from collections.abc import Sequence
from typing import Final

from toolcharter.guards.shell.arrays import any_of, keys_of
from toolcharter.guards.shell.assigned_values import value_of
from toolcharter.guards.shell.assignments import is_own
from toolcharter.guards.shell.nodes import Command, Word
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.places import objection
from toolcharter.guards.shell.setters import DECLARING, is_array
from toolcharter.guards.shell.variable_values import EACH_ELEMENT, Value, holds_number

_ALL: Final = re.compile(r'"\$\{(!?)([A-Za-z_][A-Za-z0-9_]*)\[@\]\}"')


def sets_arrays(scanner: Scanner, command: Command, names: Sequence[str], *, can_be_read: bool) -> bool:
    """Record the arrays that *command* makes, if it is a builtin that makes arrays of *names*.

    Args:
        scanner: The scanner, behind the command.
        command: The command that was read last.
        names: The names of all variables that it sets.
        can_be_read: Whether its input, if it reads any, can certainly be read.

    Returns:
        Whether it is such a builtin, so that all that it sets is recorded.
    """
    if command.words[0].text in DECLARING:
        is_declared = _is_declared(scanner, command)
        if is_declared:
            _declared(scanner, command, names)
        return is_declared
    is_certain = can_be_read and bool(command.redirections)
    return is_array(command) and _filled(scanner, names[0], is_certain=is_certain)


def _is_declared(scanner: Scanner, command: Command) -> bool:
    """Whether *command*, which declares variables, declares arrays."""
    words = command.words[1:]
    return [word.text for word in words[:1]] in (["-a"], ["-A"]) or any(
        word.form in scanner.arrays.pending for word in words
    )


def _declared(scanner: Scanner, command: Command, names: Sequence[str]) -> None:
    """Record the arrays *names* that `declare -A` or a similar builtin makes."""
    is_associative = command.words[1].text == "-A"
    is_function = any(one.startswith("function ") for one in command.within)
    if command.redirections or (command.words[0].text == "local" and not is_function):
        return  # The builtin may fail, and then it makes no array.
    for name, word in zip(names, command.words[-len(names) :] if names else (), strict=True):
        scanner.values.setdefault(name, ())
        if is_associative and name in scanner.arrays.loose:
            continue  # The array stays an indexed one.
        if is_associative and "loop" in command.within:
            scanner.arrays.looped.add(name)
        if word.form in scanner.arrays.pending:
            assigned(scanner, name, word.form, is_associative=is_associative)
        elif _is_known(scanner, name) and is_associative == scanner.arrays.is_associative(name):
            scanner.set_names = scanner.arrays.declare(name, scanner.set_names)
            _begin(scanner, name, is_associative=is_associative)


def _is_known(scanner: Scanner, name: str) -> bool:
    return is_own(name) and name not in scanner.set_values and scanner.arrays.is_understood(name)


def _may_list_elsewhere(scanner: Scanner, word: Word) -> bool:
    """Whether bash, in expanding *word* as a glob, may list a folder outside of the workspace; true if that is not known."""
    if word.pattern is None:
        return not any(part.name.endswith(EACH_ELEMENT) for part in word.parts)
    return objection(word.pattern, scanner.here, scanner.workspace, is_pattern=True) is not None


def _begin(scanner: Scanner, name: str, *, is_associative: bool) -> None:
    """Record that *name* is an array from here on."""
    nothing = Value(None, None, len(scanner.commands) - 1, is_number=True, is_shown=True, may_be_empty=True)
    for variable in (any_of(name), keys_of(name))[: 1 + is_associative]:
        if variable not in scanner.set_values:
            scanner.put(variable, nothing)
        scanner.set_names |= {variable}


def assigned(scanner: Scanner, name: str, form: str, *, is_associative: bool = False) -> None:
    """Record what the assignment *form* gives to the array *name*; it stays pending if that is not certain."""
    setting = scanner.arrays.pending[form]
    if setting is None or not _is_known(scanner, name):
        return
    # Bash expands globs in words without a subscript.
    globs = [word for word, key in zip(setting.words, setting.keys, strict=True) if key is None and word.splits]
    if any(_may_list_elsewhere(scanner, word) for word in globs):
        return
    if is_associative and not scanner.arrays.is_associative(name):
        return
    if not (setting.adds or setting.is_element):
        _begin(scanner, name, is_associative=is_associative)
    scanner.set_names = scanner.arrays.learn(name, setting, scanner.set_names)
    del scanner.arrays.pending[form]
    for word in globs:
        scanner.look_for(word.pattern or "")
    if keys_of(name) not in scanner.set_names:
        scanner.arrays.loose.add(name)
    for word, key in zip(setting.words, setting.keys, strict=True):
        _unite(scanner, any_of(name), word, adds=setting.adds and setting.is_element)
        if keys_of(name) in scanner.set_values:
            _unite(scanner, keys_of(name), key)


def _filled(scanner: Scanner, name: str, *, is_certain: bool) -> bool:
    """Record that a builtin such as `mapfile` reads its input into the array *name*; false if *name* cannot be recorded."""
    if not _is_known(scanner, name) or scanner.arrays.is_associative(name):
        return False
    scanner.values.setdefault(name, ())
    read = Value(None, None, len(scanner.commands) - 1, is_shown=True, may_be_empty=True)
    scanner.forget(any_of(name))
    scanner.put(any_of(name), read)
    scanner.arrays.loose.add(name)
    if is_certain:
        scanner.set_names |= {any_of(name)}
    return True


def _unite(scanner: Scanner, variable: str, word: Word | None, *, adds: bool = False) -> None:
    """Record that *word* is a possible value of *variable*: of the elements, or of the keys, of an array."""
    value = None if word is None else value_of(scanner, word, adds=adds)
    if value is not None:
        value = Value(None, None, value.at, holds_number(value), is_shown=True, needs=value.needs, may_be_empty=True)
    scanner.forget(variable)
    scanner.put(variable, value)


def of_loop(scanner: Scanner, word: Word) -> Value | None:
    """The value of the variable of a loop over *word*, if the word is all elements or keys of an array; else None."""
    found = _ALL.fullmatch(word.form)
    if found is None:
        return None
    name = found[2]
    source = keys_of(name) if found[1] and keys_of(name) in scanner.set_names else any_of(name)
    if source not in scanner.set_names:
        return None
    # The keys of an indexed array are numbers, whatever its elements are.
    needs = frozenset() if found[1] and source == any_of(name) else frozenset({source})
    return Value(None, None, -1, is_number=True, is_shown=True, needs=needs)
