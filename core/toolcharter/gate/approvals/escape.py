"""Text that a person decides by: nothing in it is unseen, moves the cursor, or passes for something else.

Every character that shows no mark of its own, or changes what others look like, is written out.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from toolcharter._lazy import lazy

if TYPE_CHECKING:
    from rich import cells
else:
    cells = lazy("rich.cells")

# Source: Unicode 16.0, DerivedCoreProperties.txt, Default_Ignorable_Code_Point; of it what `str.isprintable` takes for
# printable. U+2800 is a Braille pattern without dots.
_INVISIBLE = (
    frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
    | frozenset(map(chr, range(0xFE00, 0xFE10)))
    | frozenset(map(chr, range(0xE0100, 0xE01F0)))
)
# Letters of scripts that run from right to left, and numbers in them: terminals move what is between them.
_TURNING = frozenset({"R", "AL", "AN"})
MAX_BLANKS = 8
"""How many blanks in a row are shown as blanks; more are counted, because a screenful of them hides what follows."""
MAX_MARKS = 2
"""How many marks (accents, vowels) may be on one letter; more are noise in which anything can hide."""
_MARKS = frozenset({"Mn", "Me"})
_WORD = re.compile(r"[\w.,:/@%+=-]+")
_MANY_BLANKS = re.compile(f" {{{MAX_BLANKS + 1},}}")


def visible(text: str) -> str:
    r"""*text* in one line, with what cannot be seen written as Python does: `\n`, `\x1b`, `\u202e`.

    More than `MAX_BLANKS` blanks become their number.
    """
    if text.isascii() and text.isprintable():
        return _counted(text)
    shown: list[str] = []
    marks = MAX_MARKS  # One at the beginning would change what is before it.
    for character in text:
        marks = marks + 1 if unicodedata.category(character) in _MARKS else 0
        shown.append(character if marks <= MAX_MARKS and _is_seen(character) else ascii(character)[1:-1])
    return _counted("".join(shown))


def as_text(value: Any) -> str:
    """An argument as a person reads it: text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def one_line(args: Mapping[str, Any]) -> str:
    """Arguments in one line, `path=notes.md count=3`, text in quotes where it does not end with the word."""
    return visible(" ".join(f"{name}={_one_word(as_text(value))}" for name, value in args.items()))


def _one_word(text: str) -> str:
    return text if _WORD.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _is_seen(character: str) -> bool:
    return (
        character.isprintable() and character not in _INVISIBLE and unicodedata.bidirectional(character) not in _TURNING
    )


def _counted(text: str) -> str:
    return _MANY_BLANKS.sub(lambda blanks: f"<{len(blanks[0])} blanks>", text)


def block(text: str, width: int, margin: str) -> Iterator[str]:
    r"""Break *text* into lines that a terminal does not break again, each behind *margin*.

    Args:
        text: Any text; its own line breaks are kept, and shown as `\n` in their place.
        width: Of the terminal, in cells.
        margin: What no line of the text can forge, because every line begins with it, or with a colon in its place
            where a line goes on: else one with a backslash and an `n` in it would look like two.
    """
    room = max(8, width - len(margin) - 1)
    going_on = ": ".rjust(len(margin))
    *ended, last = text.split("\n")
    for line in (*(f"{line}\n" for line in ended), *([last] if last or not ended else ())):
        shown, start = visible(line), 0
        while (end := _end_of_line(shown, start, room, cells.cell_len)) < len(shown):
            yield (going_on if start else margin) + shown[start:end]
            start = end
        yield (going_on if start else margin) + shown[start:]


def _end_of_line(text: str, start: int, room: int, width_of: Callable[[str], int]) -> int:
    """Where a line that begins at *start* ends: behind a word, or where the room ends for a word that is too long."""
    used, behind_word = 0, start
    for index in range(start, len(text)):
        used += width_of(text[index])
        if used > room:
            return behind_word if behind_word > start else index
        if text[index] == " ":
            behind_word = index + 1
    return len(text)
