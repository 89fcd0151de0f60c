"""Builds the word that a program gets from its pieces, each quoted in one way.

If a part is not certain, the word becomes unknown, never another text. Source: bash(1), "EXPANSION".
"""

import re
from collections.abc import Iterable, Sequence
from itertools import product, takewhile
from shlex import quote
from typing import NamedTuple

from toolcharter.guards.shell.nodes import GIT_REFERENCE, Part, Word, quoted

MAX_HINTS = 16
"""The most hints of one word or variable."""
_MAX_HINT_CHARS = 1000
_MAX_HINTED_PIECES = 50

SET_MARK = "="
"""The prefix in the name of a part whose variable the line has set."""
OUTPUT_PART = "$"
"""The name of a part that is the output of commands."""
_ESCAPED = re.compile(r"[\\*?\[\]]")
# Without shell options, several stars mean the same as one. In the guard's own patterns, `**` is all that `find` walks.
_STARS = re.compile(r"(\\.)|\*+", re.DOTALL)
_TILDE = re.compile(r"(?:\A|[=:])~")
_GLOBS = "*?["
_MARKS = frozenset(_GLOBS)


class Piece(NamedTuple):
    """A part of a word that is quoted in one way."""

    text: str
    """Its text after quote removal; empty if it is not known."""
    is_quoted: bool = True
    is_known: bool = True
    splits: bool = False
    """Whether an unknown piece may become several words, or none."""
    hints: tuple[str, ...] = ()
    """Possible texts of an unknown piece."""
    pattern: str | None = None
    """A glob that matches an unknown piece."""
    name: str = ""
    """The variable of an unknown piece, if a loop over literal words has set it."""
    is_output: bool = False
    """Whether an unknown piece is the output of commands."""
    is_number: bool = False
    """Whether an unknown piece is a number or empty."""
    named_by: str = ""
    """The program whose name an unknown piece certainly is, unless it is empty."""
    prefix: str = ""
    """The beginning of all names that `listing` matches."""
    listed: str | None = None
    """A glob that matches an unknown piece if it is a whole word: `.` for all names below."""
    place: str = ""
    """The path of the folder that an unknown piece is, if that is known."""


class Mode(NamedTuple):
    """The expansions that bash applies to a word in its place."""

    braces: bool = True
    globs: bool = True


ARGUMENT = Mode()
VALUE = Mode(braces=False, globs=False)
"""The mode of assigned values, of words of `case` and `[[ ]]`, and of here-strings."""


def build_word(pieces: Sequence[Piece], source: str, mode: Mode = VALUE) -> Word:
    """Build a word from *pieces*, in which braces are already expanded.

    Args:
        pieces: The pieces in order.
        source: The source of the word, which is its form if it is no literal.
        mode: The expansions that bash applies to it.
    """
    text = "".join(piece.text for piece in pieces)
    bare = _unquoted_text(pieces)
    if not all(piece.is_known for piece in pieces):
        return _build_unknown(pieces, source, mode, bare)
    if "~" in bare and (tilde := _TILDE.search(bare)):
        return Word(source, prefix=_start(pieces, tilde.end()), hints=(text,))
    if mode.globs and (glob := _first_glob(bare)) is not None:
        return Word(source, pattern=_pattern(pieces), prefix=text[:glob], splits=True)
    return Word(quoted(text), text, prefix=text)


def literal(text: str) -> Word:
    """The literal word *text*."""
    return Word(quoted(text), text, prefix=text)


def is_glob(part: Part) -> bool:
    """Whether *part* holds unquoted characters of a glob."""
    return not (part.name or part.is_quoted) and not _MARKS.isdisjoint(part.text)


def word_from_parts(parts: Sequence[Part], texts: Sequence[str]) -> Word:
    """Build the word of *parts* with *texts* as their texts; bash must not split or expand the texts of unquoted variables."""
    if not any(map(is_glob, parts)):
        return literal("".join(texts))
    pieces: list[Piece] = []
    forms: list[str] = []
    for part, text in zip(parts, texts, strict=True):
        is_quoted = part.is_quoted or bool(part.name)
        pieces.append(Piece(text, is_quoted))
        forms.append(quote(text) if is_quoted and text else text)
    return build_word(pieces, "".join(forms), ARGUMENT)


def combine_texts(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """All concatenations of one text from each part, at most `MAX_HINTS`; empty if a part has no texts."""
    texts = [""]
    for part in parts:
        joined = (left + right for left, right in product(texts, part))
        texts = [one for one in joined if len(one) <= _MAX_HINT_CHARS][:MAX_HINTS]
    return tuple(dict.fromkeys(texts))


def _unquoted_text(pieces: Iterable[Piece]) -> str:
    """The text of the word with a NUL in place of each quoted character and each expansion; it is as long as the text.

    A quoted `]` stays: the rules for whether it closes a bracket are complex, so it is taken to close one.
    """
    return "".join(
        piece.text if not piece.is_quoted else re.sub(r"[^\]]", "\0", piece.text) if piece.is_known else "\0"
        for piece in pieces
    )


def _start(pieces: Iterable[Piece], end: int) -> str:
    return "".join(piece.text for piece in pieces)[:end]


def _first_glob(bare: str) -> int | None:
    """The position of the first character that may make the word a glob; None if there is none."""
    found = [at for at in (bare.find("*"), bare.find("?")) if at >= 0]
    bracket = bare.find("[")
    if 0 <= bracket < bare.rfind("]"):
        found.append(bracket)
    return min(found, default=None)


def _pattern(pieces: Iterable[Piece]) -> str | None:
    """The glob that matches the word; None if an unknown piece has no glob."""
    parts: list[str] = []
    for piece in pieces:
        if not piece.is_known:
            if piece.pattern is None:
                return None
            parts.append(piece.pattern)
        else:
            parts.append(_ESCAPED.sub(r"\\\g<0>", piece.text) if piece.is_quoted else piece.text)
    return _STARS.sub(lambda found: found.group(1) or "*", "".join(parts))


def _build_unknown(pieces: Sequence[Piece], source: str, mode: Mode, bare: str) -> Word:
    has_glob = mode.globs and any(mark in bare for mark in _GLOBS)
    splits = any(piece.splits for piece in pieces)
    tilde = _TILDE.search(bare) is not None
    is_open = splits or has_glob or tilde
    pattern = None if is_open else _pattern(pieces)
    whole = [piece for piece in pieces if piece.text or not piece.is_known]
    if len(whole) == 1 and whole[0].listed is not None:
        return Word(source, None, whole[0].listed, whole[0].prefix, splits, parts=_parts(pieces))
    hints: tuple[str, ...] = ()
    if len(pieces) <= _MAX_HINTED_PIECES:
        hints = combine_texts((piece.text,) if piece.is_known else piece.hints for piece in pieces)
    parts = () if tilde else _parts(pieces)
    is_output = not is_open and pattern is None and all(map(_is_from_line, pieces))
    is_number = [piece.is_number for piece in pieces if piece.text or not piece.is_known] == [True]
    prefix = _prefix(pieces, mode, pattern)
    word = Word(source, None, pattern, prefix, splits or has_glob, hints, parts, is_output, is_number)
    whose = [piece.named_by for piece in pieces if not piece.is_known]
    if not (is_open or pattern) and (place := _place(whole)):
        word = word._replace(place=place)
    if whose[0] and len(set(whose)) == 1 and not (has_glob or tilde):
        return word._replace(named_by=named_by(whose[0], [piece.text for piece in whole]))
    return word


def _place(pieces: Sequence[Piece]) -> str:
    """The path that *pieces* are, if the first is a folder, and text stands behind it."""
    behind = "".join(piece.text for piece in pieces[1:])
    is_path = behind[:1] in {"", "/"} and all(piece.is_known for piece in pieces[1:])
    return pieces[0].place + behind if pieces[0].place and is_path else ""


def named_by(whose: str, texts: Sequence[str]) -> str:
    """The program *whose* names a word is made of; empty if the word may be an option.

    Args:
        whose: The program that the names come from.
        texts: The parts of the word, an empty text for each name.
    """
    known = [text for text in texts if text]
    if known and known[0].startswith("-"):
        return ""
    return "git" if whose == GIT_REFERENCE and texts[0] else whose


def _is_from_line(piece: Piece) -> bool:
    """Whether *piece* is text of the line, output of its commands, or a variable that a loop of the line sets."""
    # For any other variable of the line, only `variable_values` finds that out.
    return piece.is_known or piece.is_output or piece.pattern is not None or piece.name[:1] not in {"", SET_MARK}


def _parts(pieces: Sequence[Piece]) -> tuple[Part, ...]:
    """The parts of a word that holds variables which the line has set; empty if another piece of it is unknown."""
    if not all(piece.is_known or piece.name or piece.is_output or piece.pattern for piece in pieces):
        return ()
    if not any(piece.name for piece in pieces):
        return ()
    names = (piece.name if piece.is_known or piece.name else OUTPUT_PART for piece in pieces)
    return tuple(Part(piece.text, name, piece.is_quoted) for piece, name in zip(pieces, names, strict=True))


def _prefix(pieces: Iterable[Piece], mode: Mode, pattern: str | None) -> str:
    """The known text before the first unknown character."""
    start = list(takewhile(lambda piece: piece.is_known, pieces))
    text = "".join(piece.text for piece in start)
    bare = _unquoted_text(start)
    if tilde := _TILDE.search(bare):
        text = text[: tilde.end()]
    if mode.globs:
        text = text[: _first_glob(bare)]
    return text or re.split(r"[\\*?\[]", pattern or "", maxsplit=1)[0]
