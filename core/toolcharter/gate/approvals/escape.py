"""Makes text safe to decide by: nothing in it is invisible, moves the cursor, or looks like something else.

Every character that is invisible, or that changes how others look, is written as an escape. Secrets are masked, and
each mask gives the length of the hidden text. The scrubber may take for a quoted password what a shell would run as a
command. So a mask must never hide text that could be code: such a call is not shown at all, and cannot be approved.
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

# Source: Unicode 16.0, DerivedCoreProperties.txt, Default_Ignorable_Code_Point: those of its characters that
# `str.isprintable` accepts. U+2800 is a Braille pattern without dots.
_INVISIBLE = (
    frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
    | frozenset(map(chr, range(0xFE00, 0xFE10)))
    | frozenset(map(chr, range(0xE0100, 0xE01F0)))
)
# Letters of scripts that run from right to left, and their numbers: terminals reorder the text between them.
_BIDI_CONTROLS = frozenset({"R", "AL", "AN"})
MAX_BLANKS = 8
"""A longer run of blanks is replaced by its length, because a screenful of blanks would hide the text after it."""
MAX_MARKS = 2
"""How many marks (accents, vowels) one letter may have. Further marks are escaped: text could hide in such noise."""
_MARKS = frozenset({"Mn", "Me"})
_WORD = re.compile(r"[\w.,:/@%+=-]+")
_MANY_BLANKS = re.compile(f" {{{MAX_BLANKS + 1},}}")
CODE_ARGUMENTS = frozenset({
    "cmd", "code", "command", "commands", "content", "diff", "expression", "html", "javascript", "new", "new_string",
    "new_text", "old", "old_string", "old_text", "patch", "program", "replacement", "script", "source", "sql", "stdin",
    "template",
})  # fmt: skip
"""Names of arguments whose text may be run, or written to a file that may be run."""
_CODE = frozenset(";|&$(){}<>'\"`\\")


def visible(text: str) -> str:
    r"""Return *text* in one line, with invisible characters as Python's escapes: `\n`, `\x1b`, `\u202e`.

    A run of more than `MAX_BLANKS` blanks is replaced by its length.
    """
    if text.isascii() and text.isprintable():
        return _shorten_blanks(text)
    shown: list[str] = []
    marks = MAX_MARKS  # A mark at the beginning would change the character before the text.
    for character in text:
        marks = marks + 1 if unicodedata.category(character) in _MARKS else 0
        shown.append(character if marks <= MAX_MARKS and _is_visible(character) else ascii(character)[1:-1])
    return _shorten_blanks("".join(shown))


def as_text(value: Any) -> str:
    """Return an argument as a person reads it: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def one_line(args: Mapping[str, Any]) -> str:
    """Return arguments in one line, `path=notes.md count=3`; a text that is more than one word is quoted."""
    return visible(" ".join(f"{name}={_quote_unless_word(as_text(value))}" for name, value in args.items()))


def _quote_unless_word(text: str) -> str:
    return text if _WORD.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _is_visible(character: str) -> bool:
    return (
        character.isprintable()
        and character not in _INVISIBLE
        and unicodedata.bidirectional(character) not in _BIDI_CONTROLS
    )


def _shorten_blanks(text: str) -> str:
    return _MANY_BLANKS.sub(lambda blanks: f"<{len(blanks[0])} blanks>", text)


def wrap_text(text: str, width: int, margin: str) -> Iterator[str]:
    r"""Break *text* into lines that fit the terminal, each with a margin before it.

    Args:
        text: Any text; its own line breaks are kept, and shown as `\n` where they are.
        width: The terminal's width, in cells.
        margin: Begins each line of the text, so that no text can forge it. A continued line begins with a colon
            instead; without that, one line that contains a backslash and an `n` would look like two lines.
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
    """Return the end of the line that begins at *start*: after a word, or within a word that is wider than *room*."""
    used, behind_word = 0, start
    for index in range(start, len(text)):
        used += width_of(text[index])
        if used > room:
            return behind_word if behind_word > start else index
        if text[index] == " ":
            behind_word = index + 1
    return len(text)


class MaskHidesCode(Exception):
    """A mask would hide text from the person that could be code; the exception's text says where."""


class ShownCall(NamedTuple):
    """A call as a person sees it."""

    args: dict[str, Any]
    commands: tuple[str, ...]
    is_masked: bool
    """Whether any part of it is masked."""


def shown_call(args: Mapping[str, Any], commands: Sequence[str], *, runs_arguments: bool) -> ShownCall:
    """Replace each secret of a call by a mask such as `[12 characters masked]`.

    Args:
        args: The arguments, JSON types only.
        commands: The commands that the call would run, in normal form.
        runs_arguments: Whether any argument may be code, as for a tool of kind `bash`.

    Raises:
        MaskHidesCode: A mask could hide code, or the name of an argument.
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
        whole = json.dumps(value, ensure_ascii=False)  # a number, or a value that is nested too deeply to compare
        return self._text(whole, MASK, name)

    def _text(self, text: str, scrubbed: str, name: str) -> str:
        if text == scrubbed:
            return text
        self.are_used = True
        shown, hidden = _describe_masks(text, scrubbed, name)
        could_run = self._runs_arguments or name.casefold() in CODE_ARGUMENTS
        if could_run or not _CODE.isdisjoint(hidden) or not hidden.isprintable():
            raise MaskHidesCode(
                f"{len(hidden)} characters of {name!r} look like a secret, would be masked, and could be code."
            )
        return shown


def _require_same_names(given: Mapping[str, Any], scrubbed: Mapping[str, Any]) -> None:
    """Raise if a name would be masked: two masked names would be equal, and one of their values would be lost."""
    if list(given) != list(scrubbed):
        raise MaskHidesCode("The name of an argument looks like a secret and would be masked.")


def _describe_masks(text: str, scrubbed: str, name: str) -> tuple[str, str]:
    """Return *scrubbed* with the length of the hidden text in each mask, and all hidden text.

    If equal pieces make the position of a mask ambiguous, that does not matter: all masks together hide the same text.
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
        raise MaskHidesCode(f"{name!r} holds a secret, and how much of it would be masked is unknown.")
    return "".join(shown), hidden
