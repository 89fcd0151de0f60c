"""From a shell line to all that it runs, and from an argument vector to the command that it is.

A line is read twice: by `lists`, which makes the values that everybody else looks at, and by tree-sitter-bash
(`crosscheck`). What one of them does not understand, and what they see differently, is not understood. Only a line that is
nothing but words in pipelines and lists (`fast_path`) is read once, since nobody could read it in another way.
"""

import re
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.guards.shell.charset import check_source
from toolcharter.guards.shell.nodes import Command, NotUnderstood, Script, Word
from toolcharter.guards.shell.parse.fast_path import script_of
from toolcharter.guards.shell.parse.word_parts import literal

if TYPE_CHECKING:
    from toolcharter.guards.shell.parse import lists as shell_lists
else:
    shell_lists = lazy("toolcharter.guards.shell.parse.lists")

_PLAIN = re.compile(r"[A-Za-z0-9_@%+:,./-]+(?: +[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*)* *")
_MAX_PLAIN_CHARS = 1000
# Source: bash(1), "RESERVED WORDS".
_RESERVED = frozenset(
    "case coproc do done elif else esac fi for function if in select then time until while namespace".split()
)


def parse(
    source: str,
    workspace: str = "",
    *,
    is_posix: bool = False,
    enters: int = 0,
    settles: bool = False,
    lists: bool = False,
) -> Script:
    """Read a line of shell source.

    Args:
        source: What a shell would be given.
        workspace: Its absolute path, so that an absolute `cd` into it is understood.
        enters: Each `cd` before this place to a folder that its letters tell succeeds: somebody has to look.
        settles: It is a whole line, which bash reads anew: what it sets is what its variables hold.
        lists: Names that its loops run over may be told by a look at the disk: somebody has to look.
        is_posix: The shell may be another than bash: what such a one reads differently is not understood.

    Raises:
        NotUnderstood: It cannot be determined what the line would do.
    """
    if len(source) <= _MAX_PLAIN_CHARS and _PLAIN.fullmatch(source):
        words = source.split()
        if words[0] not in _RESERVED:
            return Script((Command(tuple(Word(word, word, prefix=word) for word in words)),))
    check_source(source)
    if (script := script_of(source, workspace, enters=enters)) is not None:
        return script

    return shell_lists.read_line(source, workspace, is_posix=is_posix, enters=enters, settles=settles, lists=lists)


def of_vector(words: tuple[str, ...]) -> Command:
    """The command that an argument vector is; nothing in it is special to any shell.

    Raises:
        NotUnderstood: It is empty, names no program, or holds what no argument can.
    """
    if not words or not words[0]:
        raise NotUnderstood("The command names no program.")
    if any("\0" in word or not _is_encodable(word) for word in words):
        raise NotUnderstood("An argument of the command holds a character that no argument can.")
    return Command(tuple(map(literal, words)))


def _is_encodable(word: str) -> bool:
    return word.isascii() or not any("\ud800" <= character <= "\udfff" for character in word)
