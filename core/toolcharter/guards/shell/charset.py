"""What a shell line may be written in: its length, and the characters that mean the same to people and to bash.

Source: for the invisible characters, Unicode Standard Annex 9 and Technical Report 36; for the blanks of bash, bash(1),
"DEFINITIONS".
"""

import re
import unicodedata

from toolcharter.guards.shell.nodes import NotUnderstood

MAX_CHARS = 10_000
"""Longer lines are not looked at."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_HIDDEN = frozenset({"Cf", "Zs", "Zl", "Zp", "Co", "Cn"})
# Letters and symbols by category that nevertheless show as nothing.
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_META = frozenset(" \t\n|&;()<>$`\\\"'{}#~*?[]!=/.")
# Slashes and dots that no normal form makes ASCII.
_LIKE_META = frozenset("\u2044\u2215\u29f8")


def check_source(source: str) -> None:
    """Refuse what no line may hold, wherever it stands.

    Raises:
        NotUnderstood: It is too long, or holds a character that does not show as what it does.
    """
    if len(source) > MAX_CHARS:
        raise NotUnderstood(f"The command line is longer than {MAX_CHARS} characters.")
    check_text(source)


def check_text(text: str) -> None:
    """Refuse control characters but tab and newline, lone surrogates, and what is invisible.

    Raises:
        NotUnderstood: There is one.
    """
    if found := _CONTROL.search(text):
        raise NotUnderstood(f"The command line holds the control character or surrogate {found.group()!a}.")
    if not text.isascii():
        for character in set(text):
            if character > "\x7f" and _is_hidden(character):
                raise NotUnderstood(f"The command line holds the invisible character {character!a}.")


def check_unquoted(text: str) -> None:
    """Refuse, outside quotes, a character that looks like one that bash would act on: `U+FF1B` for a semicolon.

    Raises:
        NotUnderstood: There is one.
    """
    for character in text:
        if character > "\x7f" and (character in _LIKE_META or unicodedata.normalize("NFKC", character) in _META):
            raise NotUnderstood(
                f"The command line holds {character!a}, which looks like a character of the shell's own."
            )


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN or character in _BLANK_LETTERS
