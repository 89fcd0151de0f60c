"""Parses `if`, `case` and `[[ ... ]]`; and `read_branches`, for all commands of which parts may not run.

Source: POSIX.1-2024, shell command language, 2.9.4; bash(1), "Conditional Constructs".
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.guards.shell.nodes import CHECKED_NAME, Word
from toolcharter.guards.shell.parse.commands import add_command
from toolcharter.guards.shell.parse.cwd import Flow
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.parse.word_parts import OUTPUT_PART, SET_MARK, VALUE, literal
from toolcharter.guards.shell.parse.words import read_word
from toolcharter.guards.shell.variable_values import EXPANSION_MARK, NUMBER_GLOB, REMATCH, Value

if TYPE_CHECKING:
    from toolcharter.guards.shell.parse import subscripts
else:
    subscripts = lazy("toolcharter.guards.shell.parse.subscripts")

LISTS_OUTSIDE = "A loop runs over names that may lie outside of the workspace."
NAMED = re.compile(r"\$\{?[!#]?([A-Za-z_][A-Za-z0-9_]*)")
# Bash evaluates the operands of these operators, or takes them for names of variables.
_EVALUATING = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R", "-t"})
_COMPARING = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,15})")
_EXPRESSION = re.compile(
    r"(?:[A-Za-z0-9_.,:/@%+*?^|()\[\]{}=-]|\$(?=[)| \t\n])|\\[.+*?^$|()\[\]{}/\\-])+(?=[ \t\n])", re.ASCII
)
# Bash sets these to the name of the system. A comparison expands their values no further, so any value is harmless.
_ALWAYS_SET = frozenset({"$OSTYPE", "$HOSTTYPE", "$MACHTYPE", "${OSTYPE}", "${HOSTTYPE}", "${MACHTYPE}"})
_CONNECTIVE = re.compile(r"&&|\|\||[<>](?!\()|[()]")


def read_branches(scanner: Scanner, read: Callable[[Scanner], object], label: str = "") -> Flow:
    """Read a command of which parts may run never, once or several times.

    If a part changes the folder, the folder is unknown afterwards, and for loops and functions already from their beginning.
    But if *read* returns True, each turn of the loop ends in the folder in which it began, so that the folder stays known.
    """
    start, before, moved, within = len(scanner.commands), scanner.cwd, scanner.cd_count, scanner.within
    looked, names = len(scanner.reaches), scanner.set_names
    scanner.branches += 1
    scanner.within = (*within, label) if label else within
    comes_back = read(scanner) is True
    scanner.within, scanner.set_names = within, names
    scanner.branches -= 1
    if scanner.cd_count == moved or comes_back:
        scanner.cwd = before
        return Flow(before, before)
    for position in range(start if label else len(scanner.commands), len(scanner.commands)):
        scanner.commands[position] = scanner.commands[position]._replace(folders=())
    if label and len(scanner.reaches) > looked:
        scanner.mark_unsupported(LISTS_OUTSIDE)
    return Flow((), ())


def holds_environment(scanner: Scanner, word: Word) -> bool:
    """Whether *word* may hold a variable of the environment, which the line has not set."""
    if word.text is not None or word.form.strip('"') in _ALWAYS_SET:
        return False
    return any(name not in scanner.values for name in NAMED.findall(word.form))


def read_if(scanner: Scanner) -> Flow:
    """Read from behind `if`."""
    return read_branches(scanner, _read_if_parts)


def _read_if_parts(scanner: Scanner) -> None:
    scanner.read_list(frozenset({"then"}))
    gained = scanner.set_by_last
    scanner.expect_word("then")
    scanner.set_names = gained.success
    scanner.read_list(frozenset({"elif", "else", "fi"}))
    scanner.set_names = gained.failure
    word = scanner.next_bare()
    scanner.expect_word(word)
    if word == "elif":
        _read_if_parts(scanner)
    elif word == "else":
        scanner.read_list(frozenset({"fi"}))
        scanner.expect_word("fi")


def read_case(scanner: Scanner) -> Flow:
    """Read from behind `case`."""
    return read_branches(scanner, _read_case_parts)


def _read_case_parts(scanner: Scanner) -> None:
    scanner.skip_blanks()
    _read_compared(scanner)
    scanner.skip_newlines()
    scanner.expect_word("in")
    scanner.skip_newlines()
    while scanner.next_bare() != "esac":
        _read_case_item(scanner)
    scanner.expect_word("esac")


def _read_compared(scanner: Scanner) -> None:
    """Read a word of a comparison. The branch that runs reveals the value of a variable in it."""
    word = read_word(scanner)
    scanner.compared_names.update(NAMED.findall(word.form))
    if holds_environment(scanner, word):
        scanner.mark_unsupported("A 'case' compares what cannot be determined.")


def _read_case_item(scanner: Scanner) -> None:
    scanner.take("(")
    while True:
        scanner.skip_blanks()
        _read_compared(scanner)
        scanner.skip_blanks()
        if not scanner.take("|"):
            break
    scanner.expect(")")
    names = scanner.set_names
    scanner.read_list(frozenset({"esac"}))
    scanner.set_names = names
    if not (scanner.take(";;&") or scanner.take(";;") or scanner.take(";&")) and scanner.next_bare() != "esac":
        raise scanner.fail("A branch of 'case' is not closed.")
    scanner.skip_newlines()


def read_test(scanner: Scanner) -> Flow:
    """Read from behind `[[`, as a command of that name."""
    start, words = scanner.at - 2, [literal("[[")]
    with scanner.collecting():
        scanner.skip_newlines()
        while scanner.next_bare() != "]]":
            word = _read_test_word(scanner)
            words.append(subscripts.mark_checked_name(scanner, word) if words[-1].text == "-v" else word)
            scanner.skip_newlines()
        scanner.expect_word("]]")
        words.append(literal("]]"))
        if any(word.text in _EVALUATING and not _is_harmless(scanner, words, at) for at, word in enumerate(words)):
            scanner.mark_unsupported("A condition evaluates its operands.")
        if scanner.is_line:
            _record_rematch(scanner, words)
        scanner.test_spans.add((start, scanner.at))
        add_command(scanner, start, tuple(words))
    return Flow(scanner.cwd, scanner.cwd)


def _is_harmless(scanner: Scanner, words: Sequence[Word], at: int) -> bool:
    """Whether the operator at position *at* evaluates nothing: `[[ -v m[key] ]]`, `[[ $count -gt 0 ]]`."""
    if words[at].text == "-v":
        return words[at + 1].named_by == CHECKED_NAME
    if words[at].text == "-t":
        return _INTEGER.fullmatch(words[at + 1].text or "") is not None
    return words[at].text in _COMPARING and _is_number(scanner, words[at - 1]) and _is_number(scanner, words[at + 1])


def _is_number(scanner: Scanner, word: Word) -> bool:
    """Whether *word* is a number; if a variable has to hold it, the scanner records that."""
    if word.text is not None:
        return _INTEGER.fullmatch(word.text) is not None
    parts = [part for part in word.parts if part.name or part.text]
    name = parts[0].name.removeprefix(SET_MARK) if len(parts) == 1 else ""
    if not parts:
        return word.is_number or word.pattern == NUMBER_GLOB
    if name not in scanner.set_names:
        return False
    scanner.numeric_names.add(name)
    return True


def _record_rematch(scanner: Scanner, words: Sequence[Word]) -> None:
    """Record the value of `BASH_REMATCH` after a condition *words*: text of the word that a regular expression matched."""
    for word in (words[at - 1] for at, one in enumerate(words) if one.text == "=~"):
        names = [part.name for part in word.parts if part.name and part.name != OUTPUT_PART]
        value = None
        if word.text is not None or word.is_output or (names and all(name.startswith(SET_MARK) for name in names)):
            needs = frozenset(name.lstrip(SET_MARK + EXPANSION_MARK).partition(EXPANSION_MARK)[0] for name in names)
            value = Value(None, None, -1, is_shown=True, needs=needs)
        scanner.forget(REMATCH)
        scanner.set_value(REMATCH, value)
        scanner.set_names |= {REMATCH}


def _read_test_word(scanner: Scanner) -> Word:
    if scanner.at == scanner.expression_at and (found := _EXPRESSION.match(scanner.source, scanner.at)):
        return _read_regex(scanner, found.group())
    if found := _CONNECTIVE.match(scanner.source, scanner.at):
        scanner.at = found.end()
        return literal(found.group())
    if scanner.next_bare() == "=~":
        scanner.at += 2
        scanner.skip_blanks()
        scanner.expression_at = scanner.at
        return literal("=~")
    start = scanner.tested_at = scanner.at
    word = read_word(scanner, VALUE)
    scanner.word_spans.discard((start, scanner.at))
    # Between these brackets, bash splits no words.
    return word._replace(splits=False) if word.parts else word


def _read_regex(scanner: Scanner, text: str) -> Word:
    """Read a regular expression behind `=~` that has only plain characters and no expansions."""
    # Bash parses unbalanced parentheses and nested brackets by rules of its own.
    if text.count("(") != text.count(")") or "[[" in text or "]]" in text:
        raise scanner.fail("A regular expression of the shell's own is not understood.")
    scanner.at += len(text)
    return literal(text)
