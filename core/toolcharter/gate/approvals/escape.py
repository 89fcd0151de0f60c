"""Text that a person decides by: nothing in it is unseen, moves the cursor, or passes for something else.

Every character that shows no mark of its own, or changes what others look like, is written out. Secrets are masked, and
each mask says how much it hides. The scrubber takes for a quoted password what a shell takes for a command. So a mask
must never hide what could be code: such a call is not shown at all, and cannot be approved.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from toolcharter._lazy import lazy
from toolcharter.guards.secrets import MASK, scrub_text, scrub_value

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
CODE_ARGUMENTS = frozenset({
    "cmd", "code", "command", "commands", "content", "diff", "expression", "html", "javascript", "new", "new_string",
    "new_text", "old", "old_string", "old_text", "patch", "program", "replacement", "script", "source", "sql", "stdin",
    "template",
})  # fmt: skip
"""Names of arguments whose text is run, or written where it may be run."""
_CODE = frozenset(";|&$(){}<>'\"`\\")


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


class Hidden(Exception):
    """A mask would hide from the person what could be code; the text says where."""


class ShownCall(NamedTuple):
    """What a person sees of a call."""

    args: dict[str, Any]
    commands: tuple[str, ...]
    is_masked: bool
    """Whether anything of it is hidden."""


def shown_call(args: Mapping[str, Any], commands: Sequence[str], *, runs_arguments: bool) -> ShownCall:
    """Mask the secrets of a call by `[12 characters masked]`.

    Args:
        args: Of JSON types.
        commands: What the call would run, each in normal form.
        runs_arguments: Any argument may be code, as those of a tool of kind `bash` are.

    Raises:
        Hidden: A mask could hide code, or the name of an argument.
    """
    masks = _Masks(runs_arguments=runs_arguments)
    return ShownCall(masks.args(args), tuple(map(masks.command, commands)), masks.are_used)


class _Masks:
    def __init__(self, *, runs_arguments: bool) -> None:
        self._runs_arguments = runs_arguments
        self.are_used = False

    def args(self, args: Mapping[str, Any]) -> dict[str, Any]:
        scrubbed = scrub_value(dict(args))[0]
        _require_same_names(args, scrubbed)
        return {name: self._value(value, scrubbed[name], name) for name, value in args.items()}

    def command(self, command: str) -> str:
        return self._text(command, scrub_text(command)[0], "the command")

    def _value(self, value: Any, scrubbed: Any, name: str) -> Any:
        if isinstance(value, str) and isinstance(scrubbed, str):
            return self._text(value, scrubbed, name)
        if isinstance(value, Mapping) and isinstance(scrubbed, Mapping):
            _require_same_names(value, scrubbed)
            return {key: self._value(item, scrubbed[key], name) for key, item in value.items()}
        if isinstance(value, list | tuple) and isinstance(scrubbed, list | tuple) and len(value) == len(scrubbed):
            return [self._value(item, masked, name) for item, masked in zip(value, scrubbed, strict=True)]
        if value == scrubbed:
            return value
        whole = json.dumps(value, ensure_ascii=False)  # a number, or what nests too deep to be looked into
        return self._text(whole, MASK, name)

    def _text(self, text: str, scrubbed: str, name: str) -> str:
        if text == scrubbed:
            return text
        self.are_used = True
        shown, hidden = _announced(text, scrubbed, name)
        could_run = self._runs_arguments or name.casefold() in CODE_ARGUMENTS
        if could_run or not _CODE.isdisjoint(hidden) or not hidden.isprintable():
            raise Hidden(
                f"{len(hidden)} characters of {name!r} look like a secret, would be masked, and could be code."
            )
        return shown


def _require_same_names(given: Mapping[str, Any], scrubbed: Mapping[str, Any]) -> None:
    """Two names that are masked would look like one, and the value of one of them would be lost."""
    if list(given) != list(scrubbed):
        raise Hidden("The name of an argument looks like a secret and would be masked.")


def _announced(text: str, scrubbed: str, name: str) -> tuple[str, str]:
    """*scrubbed* with the length of what each mask hides, and all that is hidden.

    Which of several equal characters a mask hides does not matter: all masks together hide the same ones.
    """
    first, *others = scrubbed.split(MASK)
    last = others[-1] if others else ""
    position, end = len(first), len(text) - len(last)
    is_known = bool(others) and position <= end and text.startswith(first) and text.endswith(last)
    shown, hidden = [first], ""
    for number, piece in enumerate(others, 1):
        start = end if number == len(others) else text.find(piece, position, end)
        is_known = is_known and start >= 0
        if start > position:  # Two masks may touch.
            hidden += text[position:start]
            shown.append(f"[{start - position} characters masked]")
        shown.append(piece)
        position = start + len(piece)
    if not is_known:
        raise Hidden(f"{name!r} holds a secret, and how much of it would be masked is unknown.")
    return "".join(shown), hidden
