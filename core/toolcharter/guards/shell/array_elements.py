"""Records the possible values of an array's elements where the subscript is not known: `count[$word]=1`, `files+=("$f")`.

All values that a line assigns to elements of one array are kept as one variable, and all keys as another. Source: bash(1),
"Arrays".
"""

import re
from collections.abc import Sequence
from typing import Final

from toolcharter.guards.shell.arrays import element_variable, key_variable
from toolcharter.guards.shell.assigned_values import assigned_value
from toolcharter.guards.shell.assignments import is_line_variable
from toolcharter.guards.shell.nodes import Command, Word
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.path_checks import path_violation
from toolcharter.guards.shell.setters import DECLARING, sets_array
from toolcharter.guards.shell.variable_values import EACH_ELEMENT, Value, holds_number

_ALL_ELEMENTS: Final = re.compile(r'"\$\{(!?)([A-Za-z_][A-Za-z0-9_]*)\[@\]\}"')


def record_arrays(scanner: Scanner, command: Command, names: Sequence[str], *, can_be_read: bool) -> bool:
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
            _record_declaration(scanner, command, names)
        return is_declared
    is_certain = can_be_read and bool(command.redirections)
    return sets_array(command) and _record_read_array(scanner, names[0], is_certain=is_certain)


def _is_declared(scanner: Scanner, command: Command) -> bool:
    """Whether *command*, which declares variables, declares arrays."""
    words = command.words[1:]
    return [word.text for word in words[:1]] in (["-a"], ["-A"]) or any(
        word.form in scanner.arrays.pending for word in words
    )


def _record_declaration(scanner: Scanner, command: Command, names: Sequence[str]) -> None:
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
            record_assignment(scanner, name, word.form, is_associative=is_associative)
        elif _is_known(scanner, name) and is_associative == scanner.arrays.is_associative(name):
            scanner.set_names = scanner.arrays.declare(name, scanner.set_names)
            _begin_array(scanner, name, is_associative=is_associative)


def _is_known(scanner: Scanner, name: str) -> bool:
    return is_line_variable(name) and name not in scanner.set_values and scanner.arrays.is_understood(name)


def _may_list_elsewhere(scanner: Scanner, word: Word) -> bool:
    """Whether bash, in expanding *word* as a glob, may list a folder outside of the workspace; true if that is not known."""
    if word.pattern is None:
        return not any(part.name.endswith(EACH_ELEMENT) for part in word.parts)
    return path_violation(word.pattern, scanner.cwd, scanner.workspace, is_pattern=True) is not None


def _begin_array(scanner: Scanner, name: str, *, is_associative: bool) -> None:
    """Record that *name* is an array from here on."""
    nothing = Value(None, None, len(scanner.commands) - 1, is_number=True, is_shown=True, may_be_empty=True)
    for variable in (element_variable(name), key_variable(name))[: 1 + is_associative]:
        if variable not in scanner.set_values:
            scanner.set_value(variable, nothing)
        scanner.set_names |= {variable}


def record_assignment(scanner: Scanner, name: str, form: str, *, is_associative: bool = False) -> None:
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
        _begin_array(scanner, name, is_associative=is_associative)
    scanner.set_names = scanner.arrays.learn(name, setting, scanner.set_names)
    del scanner.arrays.pending[form]
    for word in globs:
        scanner.record_glob(word.pattern or "")
    if key_variable(name) not in scanner.set_names:
        scanner.arrays.loose.add(name)
    for word, key in zip(setting.words, setting.keys, strict=True):
        _merge_value(scanner, element_variable(name), word, adds=setting.adds and setting.is_element)
        if key_variable(name) in scanner.set_values:
            _merge_value(scanner, key_variable(name), key)


def _record_read_array(scanner: Scanner, name: str, *, is_certain: bool) -> bool:
    """Record that a builtin such as `mapfile` reads its input into the array *name*; false if *name* cannot be recorded."""
    if not _is_known(scanner, name) or scanner.arrays.is_associative(name):
        return False
    scanner.values.setdefault(name, ())
    read = Value(None, None, len(scanner.commands) - 1, is_shown=True, may_be_empty=True)
    scanner.forget(element_variable(name))
    scanner.set_value(element_variable(name), read)
    scanner.arrays.loose.add(name)
    if is_certain:
        scanner.set_names |= {element_variable(name)}
    return True


def _merge_value(scanner: Scanner, variable: str, word: Word | None, *, adds: bool = False) -> None:
    """Record that *word* is a possible value of *variable*: of the elements, or of the keys, of an array."""
    value = None if word is None else assigned_value(scanner, word, adds=adds)
    if value is not None:
        value = Value(None, None, value.at, holds_number(value), is_shown=True, needs=value.needs, may_be_empty=True)
    scanner.forget(variable)
    scanner.set_value(variable, value)


def array_loop_value(scanner: Scanner, word: Word) -> Value | None:
    """The value of the variable of a loop over *word*, if the word is all elements or keys of an array; else None."""
    found = _ALL_ELEMENTS.fullmatch(word.form)
    if found is None:
        return None
    name = found[2]
    source = key_variable(name) if found[1] and key_variable(name) in scanner.set_names else element_variable(name)
    if source not in scanner.set_names:
        return None
    # The keys of an indexed array are numbers, whatever its elements are.
    needs = frozenset() if found[1] and source == element_variable(name) else frozenset({source})
    return Value(None, None, -1, is_number=True, is_shown=True, needs=needs)
