"""Finds commands that print only a number or nothing, so that arithmetic and comparisons may use their output."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from toolcharter.guards.shell.nodes import Command, Word

_NUMBER_PRINTERS: Final = (["date", "+%s"], ["nproc"])
_GREP_FLAGS: Final = re.compile(r"-[ciEFwvx]+")
_COUNTS: Final = frozenset({"-l", "-c", "-w", "-m"})
_STAT_SIZE: Final = re.compile(r"stat (?:-c ?|--format=|--printf=)%s")
# Commands that remove the blanks around a number.
_TRIMS: Final = frozenset({"tr -d  ", "tr -d [:space:]", "tr -d [:blank:]", "tr -d  \\n", "tr -d \\n", "xargs"})

# Commands behind `||` that print nothing, or digits.
_FALLBACKS: Final = re.compile(r"true|:|false|echo [0-9]{1,9}")


def prints_number(commands: Sequence[Command], positions: Sequence[int]) -> bool:
    """Whether the commands at *positions*, which are all commands of one substitution, print a number or nothing.

    The last one has to count, as `wc -l` does, and has to read the output of all others.
    """
    while positions and _FALLBACKS.fullmatch(" ".join(word.text or "$" for word in commands[positions[-1]].words)):
        positions = positions[:-1]
    if len(positions) > 1 and _trims(commands[positions[-1]]):
        positions = positions[:-1]
    if not positions:
        return False
    *others, last = positions
    command = commands[last]
    texts = [word.text for word in command.words]
    is_count = texts[:1] == ["wc"] and len(texts[1:]) == 1 and texts[1] in _COUNTS
    reads = all(one.operator == "<" and not one.descriptor for one in command.redirections)
    if command.assignments or not set(others) <= {*command.stdin_from}:
        return False
    if is_count and reads:
        return True
    is_silent = all(one.form == "2>/dev/null" for one in command.redirections)
    if is_silent and not others and texts[:1] == ["stat"]:
        return _prints_file_size(command.words)
    return is_silent and (_prints_match_count(command.words) or (not others and texts in _NUMBER_PRINTERS))


def _trims(command: Command) -> bool:
    """Whether *command* only removes the blanks around a number that it reads."""
    is_plain = not (command.assignments or command.redirections)
    return is_plain and " ".join(word.text or "$" for word in command.words) in _TRIMS


def _prints_file_size(words: Sequence[Word]) -> bool:
    """Whether *words* are `stat -c %s FILE` with exactly one file: for two it would print two numbers."""
    *options, file = words
    line = " ".join(word.text or "$" for word in options)
    return _STAT_SIZE.fullmatch(line) is not None and not _may_be_several_files(file)


def _prints_match_count(words: Sequence[Word]) -> bool:
    """Whether *words* are `grep -c PATTERN` with at most one file: for two it would print their names, too."""
    if not words or words[0].text != "grep":
        return False
    flags = list(takewhile(_GREP_FLAGS.fullmatch, (word.text or "" for word in words[1:])))
    operands = words[1 + len(flags) :]
    if "c" not in "".join(flags) or not operands or operands[2:]:
        return False
    pattern, *files = operands
    # An unknown word behind the pattern is the name of a file: the analyser refuses one that could be an option.
    return (
        bool(pattern.text)
        and not pattern.prefix.startswith("-")
        and not any(_may_be_several_files(file) for file in files)
    )


def _may_be_several_files(file: Word) -> bool:
    return file.splits or file.text == "" or file.prefix.startswith("-") or (file.text is None and not file.prefix)
