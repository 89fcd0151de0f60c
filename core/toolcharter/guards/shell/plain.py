"""Commands in the one form that rules see, from argument vectors and from lines of plain words.

A line is understood only if it is one command of plain words: no quotes, no expansions, no operators, no assignment, no
word that is the shell's own. Everything else is `NotUnderstood`, whatever it would have meant.
"""

import re
import shlex

MAX_CHARS = 10_000
"""Longer lines are not looked at."""
# No `~`, no globs, no quotes, no backslash, no `!`, `#`, `$`, `&`, `;`, `<`, `>`, `|`, brackets, braces or backticks.
_LINE = re.compile(r"[A-Za-z0-9_@%+=:,./\- ]+")
# Source: POSIX.1-2024, shell command language, 2.4, and bash(1), "RESERVED WORDS".
_RESERVED = frozenset(
    "case coproc do done elif else esac fi for function if in select then time until while namespace".split()  # noqa: SIM905 - reads as the manual's list
)


class NotUnderstood(ValueError):
    """What the command would do cannot be told; the text says why."""


def of_line(line: str) -> str:
    """The one command of *line* in normal form.

    Raises:
        NotUnderstood: The line is anything but plain words.
    """
    if len(line) > MAX_CHARS:
        raise NotUnderstood(f"The command line is longer than {MAX_CHARS} characters.")
    words = line.split(" ")
    if not _LINE.fullmatch(line) or not any(words):
        raise NotUnderstood("Only a single command of plain words is understood.")
    return _normal_form([word for word in words if word])


def of_vector(words: tuple[str, ...]) -> str:
    """An argument vector in normal form; nothing in it is special to any shell.

    Raises:
        NotUnderstood: It is empty, names no program, or holds what no argument can.
    """
    if not words or not words[0]:
        raise NotUnderstood("The command names no program.")
    for word in words:
        if "\0" in word or any("\ud800" <= character <= "\udfff" for character in word):
            raise NotUnderstood("An argument of the command holds a character that no argument can.")
    return " ".join(map(shlex.quote, words))


def _normal_form(words: list[str]) -> str:
    if words[0] in _RESERVED or "=" in words[0]:
        raise NotUnderstood(f"A command cannot begin with {words[0]!r}.")
    return " ".join(map(shlex.quote, words))
