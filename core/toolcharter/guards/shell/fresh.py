"""Files that a line makes by `t=$(mktemp)`: what `"$t"` stands for may be written, read and removed, whatever it is called.

Nobody else has such a file, and nothing else can be meant by the name: mktemp makes it anew, or prints nothing.
Source: mktemp(1) of coreutils 9.1.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from toolcharter.guards.shell.nodes import Command, Redirection, Word

_MADE: Final = re.compile(r'"?\$\(mktemp\)"?')
_WRITING: Final = frozenset({">", ">>", ">|", "&>"})


def is_made(word: Word) -> bool:
    """Whether *word* is what `mktemp` prints, and nothing else."""
    return _MADE.fullmatch(word.form) is not None


def targets(command: Command) -> Iterator[Word]:
    """The files that it writes by redirections."""
    for one in command.redirections:
        if one.operator in _WRITING and one.target is not None:
            yield one.target


def with_targets(command: Command, change: Callable[[Word], Word]) -> Command:
    """The same command, which writes what *change* makes of its `targets`."""
    return command._replace(redirections=tuple(_changed(one, change) for one in command.redirections))


def _changed(redirection: Redirection, change: Callable[[Word], Word]) -> Redirection:
    if redirection.operator not in _WRITING or redirection.target is None:
        return redirection
    return redirection.reading(change(redirection.target))
