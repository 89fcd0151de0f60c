"""Parses a shell line to the commands that it runs, and an argument vector to its command.

A line is parsed twice: by `lists`, whose result all other modules use, and by tree-sitter-bash (`crosscheck`). It is refused
if one of the two does not understand it, or if they differ. Only a line of plain words in pipelines and lists (`fast_path`)
is parsed once, since it is unambiguous.
"""

import re
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.guards.shell.charset import check_source
from toolcharter.guards.shell.nodes import Command, NotUnderstood, Script, Word
from toolcharter.guards.shell.parse.fast_path import parse_plain
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
    is_line: bool = False,
    lists: bool = False,
) -> Script:
    """Parse a line of shell source.

    Args:
        source: The source as a shell would get it.
        workspace: The absolute path of the workspace, so that an absolute `cd` into it is understood.
        enters: Each `cd` before this position to a folder that its text determines is taken to succeed. The caller has to
            check that on disk.
        is_line: Whether the source is a whole line, which a new bash runs: then variables hold what the line sets.
        lists: Whether loops may run over names on disk. The caller has to check the names.
        is_posix: Whether the shell may be one other than bash. Constructs that other shells parse differently are refused.

    Raises:
        NotUnderstood: The guard cannot determine what the line would do.
    """
    if len(source) <= _MAX_PLAIN_CHARS and _PLAIN.fullmatch(source):
        words = source.split()
        if words[0] not in _RESERVED:
            return Script((Command(tuple(Word(word, word, prefix=word) for word in words)),))
    check_source(source)
    if (script := parse_plain(source, workspace, enters=enters)) is not None:
        return script

    return shell_lists.read_line(source, workspace, is_posix=is_posix, enters=enters, is_line=is_line, lists=lists)


def command_of_argv(words: tuple[str, ...]) -> Command:
    """The command of an argument vector, in which no character is special.

    Raises:
        NotUnderstood: The vector is empty, names no program, or holds a character that no argument can hold.
    """
    if not words or not words[0]:
        raise NotUnderstood("The command names no program.")
    if any("\0" in word or not _is_encodable(word) for word in words):
        raise NotUnderstood("An argument of the command holds a character that no argument can.")
    return Command(tuple(map(literal, words)))


def _is_encodable(word: str) -> bool:
    return word.isascii() or not any("\ud800" <= character <= "\udfff" for character in word)
