"""Limits the length of a shell line, and refuses characters that look to a person like something else than they are to bash.

Source: for the invisible characters, Unicode Standard Annex 9 and Technical Report 36; for the blanks of bash, bash(1),
"DEFINITIONS".
"""

import re
import unicodedata

from toolcharter.guards.shell.nodes import NotUnderstood

MAX_CHARS = 10_000
"""The longest line that is analysed, in characters."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_HIDDEN = frozenset({"Cf", "Zs", "Zl", "Zp", "Co", "Cn"})
# Characters of visible categories that nevertheless show nothing.
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_META = frozenset(" \t\n|&;()<>$`\\\"'{}#~*?[]!=/.")
# Characters like slashes that NFKC does not turn into ASCII.
_LIKE_META = frozenset("\u2044\u2215\u29f8")


def check_source(source: str) -> None:
    """Refuse a line that is too long, or that holds a control or an invisible character.

    Raises:
        NotUnderstood: The line is refused.
    """
    if len(source) > MAX_CHARS:
        raise NotUnderstood(f"The command line is longer than {MAX_CHARS} characters.")
    check_text(source)


def check_text(text: str) -> None:
    """Refuse lone surrogates, invisible characters, and control characters except tab and newline.

    Raises:
        NotUnderstood: *text* holds such a character.
    """
    if found := _CONTROL.search(text):
        raise NotUnderstood(f"The command line holds the control character or surrogate {found.group()!a}.")
    if not text.isascii():
        for character in set(text):
            if character > "\x7f" and _is_hidden(character):
                raise NotUnderstood(f"The command line holds the invisible character {character!a}.")


def check_unquoted(text: str) -> None:
    """Refuse unquoted characters that look like one that bash acts on: `U+FF1B` looks like a semicolon.

    Raises:
        NotUnderstood: *text* holds such a character.
    """
    for character in text:
        if character > "\x7f" and (character in _LIKE_META or unicodedata.normalize("NFKC", character) in _META):
            raise NotUnderstood(
                f"The command line holds {character!a}, which looks like a character of the shell's own."
            )


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN or character in _BLANK_LETTERS
