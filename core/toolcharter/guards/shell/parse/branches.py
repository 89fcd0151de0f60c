"""What compound commands share: parts that may run or not, and words that decide which of them do."""

import re
from collections.abc import Callable

from toolcharter.guards.shell.nodes import Word
from toolcharter.guards.shell.parse.cwd import Flow
from toolcharter.guards.shell.parse.scanner import Scanner

ELSEWHERE = "A loop runs over names that may lie outside of the workspace."
NAMED = re.compile(r"\$\{?[!#]?([A-Za-z_][A-Za-z0-9_]*)")


def branching(scanner: Scanner, read: Callable[[Scanner], object], label: str = "") -> Flow:
    """Read a command of which parts may run or not, once or often.

    One that leaves its folder in a part leaves it unknown: for loops and functions, from their beginning.
    """
    start, before, moved, within = len(scanner.commands), scanner.here, scanner.moves, scanner.within
    looked, names = len(scanner.reaches), scanner.set_names
    scanner.branches += 1
    scanner.within = (*within, label) if label else within
    read(scanner)
    scanner.within, scanner.set_names = within, names
    scanner.branches -= 1
    if scanner.moves == moved:
        scanner.here = before
        return Flow(before, before)
    for position in range(start if label else len(scanner.commands), len(scanner.commands)):
        scanner.commands[position] = scanner.commands[position]._replace(folders=())
    if label and len(scanner.reaches) > looked:
        scanner.wonder(ELSEWHERE)
    return Flow((), ())


def holds_found(scanner: Scanner, word: Word) -> bool:
    """Whether *word* may hold a variable that the line has found, not set."""
    return word.text is None and any(name not in scanner.values for name in NAMED.findall(word.form))
