"""What the words of a program without a table ask for: nothing is known of them but that paths look like paths."""

import re
from collections.abc import Sequence
from typing import Final

from toolcharter.guards.shell.asking import Asking
from toolcharter.guards.shell.parts import Word

# `--opt=/path`, `if=/path`, `@/path`, `host:/path`, `a,/path`.
_BORDER: Final = re.compile(r"[=:,@]")
# `-I/path`, and `-xf/path`, where nobody knows which letters take a value.
_LETTERS: Final = re.compile(r"-[A-Za-z0-9]+")


def ask(words: Sequence[Word], asking: Asking) -> None:
    """Gather what *words* ask for: every part of a literal that looks like a path is one."""
    for word in words:
        if word.text is None:
            asking.need(word, "cannot be told")
        elif "/" in word.text or ".." in word.text or "~" in word.text:
            for part in _parts(word.text):
                if not asking.path(Word(word.form, part, prefix=part)):
                    break


def _parts(text: str) -> list[str]:
    """What of *text* looks like a path: the whole, and what follows an option's letters or a border."""
    parts = [text, *_BORDER.split(text)]
    letters = _LETTERS.match(text)
    if letters:
        parts += [text[2:], text[letters.end() :]]
    return [part for part in dict.fromkeys(parts) if "/" in part or part == ".." or part[:1] == "~"]
