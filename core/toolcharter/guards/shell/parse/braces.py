"""Expands braces such as `{a,b}`, where the result is certain.

Source: bash(1), "Brace Expansion". Bash expands braces before everything else.
"""

import re
from collections.abc import Sequence
from itertools import pairwise, product
from typing import TypeAlias

from toolcharter.guards.shell.nodes import NotUnderstood, Word, quoted
from toolcharter.guards.shell.parse.word_parts import Mode, Piece, build_word

MAX_WORDS = 64
"""The most words that one word may expand to."""
_MAX_DEPTH = 10
_MAX_ATOMS = 200

_SEQUENCE = re.compile(r"([0-9]{1,6})\.\.([0-9]{1,6})(?:\.\.([1-9][0-9]{0,5}))?")
# Of one case: between `Z` and `a` stand signs that mean something to bash.
_LETTERS = re.compile(r"([a-z])\.\.([a-z])(?:\.\.([1-9][0-9]?))?|([A-Z])\.\.([A-Z])(?:\.\.([1-9][0-9]?))?")

_Atoms: TypeAlias = tuple[Piece, ...]


def expand_braces(pieces: Sequence[Piece], source: str, mode: Mode) -> list[Word]:
    """Expand the braces of one word of the source.

    Args:
        pieces: The pieces of the word, in order.
        source: The source of the word.
        mode: The expansions that bash applies to it.

    Returns:
        The words that it becomes; an unquoted empty word disappears.

    Raises:
        NotUnderstood: The braces make too many words.
    """
    if not mode.braces or not any("{" in piece.text for piece in pieces if not piece.is_quoted):
        return [build_word(pieces, source, mode)]
    atoms = [atom for piece in pieces for atom in _split_atoms(piece)]
    if len(atoms) > _MAX_ATOMS:
        raise NotUnderstood(f"A word with braces has more than {_MAX_ATOMS} parts.")
    atoms = _expand_sequences(atoms)
    if not _is_balanced(atoms) or _has_sequence(atoms):
        return [_unknown_word(pieces, source)]
    expanded = _expand(atoms)
    if len(expanded) == 1:
        return [build_word(_merge_atoms(expanded[0]), source, mode)]
    words = [
        build_word(merged, _expanded_source(merged, source), mode) for merged in map(_merge_atoms, expanded) if merged
    ]
    # Bash expands `$a{b,c}` to `$ab` and `$ac`.
    return [word._replace(parts=()) for word in words]


def _unknown_word(pieces: Sequence[Piece], source: str) -> Word:
    """An unknown word, for braces that bash may expand in another way."""
    prefix = "" if pieces[0].is_quoted else re.split(r"[{*?\[~]", pieces[0].text, maxsplit=1)[0]
    hints = ("".join(piece.text for piece in pieces),) if all(piece.is_known for piece in pieces) else ()
    return Word(source, prefix=prefix, splits=True, hints=hints)


def _expanded_source(pieces: Sequence[Piece], source: str) -> str:
    """The source that would give one of the expanded words."""
    if not all(piece.is_known for piece in pieces):
        return source
    return "".join(quoted(piece.text) if piece.is_quoted else piece.text for piece in pieces)


def _split_atoms(piece: Piece) -> list[Piece]:
    if piece.is_quoted or not piece.is_known:
        return [piece]
    return [Piece(part, is_quoted=False) for part in re.split(r"([{},])", piece.text) if part]


def _merge_atoms(atoms: _Atoms) -> list[Piece]:
    merged: list[Piece] = []
    for atom in atoms:
        if merged and _is_bare(atom) and _is_bare(merged[-1]):
            merged[-1] = Piece(merged[-1].text + atom.text, is_quoted=False)
        else:
            merged.append(atom)
    return merged


def _is_bare(piece: Piece) -> bool:
    return piece.is_known and not piece.is_quoted


def _is_bare_mark(atom: Piece, mark: str) -> bool:
    return atom.text == mark and not atom.is_quoted


def _depth_change(atom: Piece) -> int:
    """How much deeper *atom* goes."""
    return _is_bare_mark(atom, "{") - _is_bare_mark(atom, "}")


def _is_balanced(atoms: Sequence[Piece]) -> bool:
    depth = deepest = 0
    for atom in atoms:
        depth += _depth_change(atom)
        deepest = max(deepest, depth)
        if depth < 0:
            return False
    if deepest > _MAX_DEPTH:
        raise NotUnderstood(f"Braces stand more than {_MAX_DEPTH} deep.")
    return depth == 0


def _has_sequence(atoms: Sequence[Piece]) -> bool:
    """Whether it may hold `{1..3}`; which of those expand is a matter of fine rules."""
    depth = 0
    for atom in atoms:
        depth += _depth_change(atom)
        if depth and ".." in atom.text:
            return True
    return False


def _expand_sequences(atoms: Sequence[Piece]) -> list[Piece]:
    """*atoms* with the choices in place of each plain sequence of at most `MAX_WORDS` numbers or letters."""
    at = 0
    counted: list[Piece] = []
    while at < len(atoms):
        is_braced = _is_bare_mark(atoms[at], "{") and at + 2 < len(atoms) and _is_bare_mark(atoms[at + 2], "}")
        texts = _expand_sequence(atoms[at + 1].text) if is_braced and not atoms[at + 1].is_quoted else ()
        if texts:
            counted += _choice_atoms(texts)
            at += 2
        else:
            counted.append(atoms[at])
        at += 1
    return counted


def _expand_sequence(text: str) -> list[str]:
    """The words of a sequence such as `1..3`, `08..10`, `a..e` or `1..9..2`; empty if it is none, or too long."""
    if found := _SEQUENCE.fullmatch(text):
        start, end, step = int(found[1]), int(found[2]), int(found[3] or 1)
        # Where one of them begins with a zero, bash pads all numbers to the longer of the two.
        is_padded = any(len(one) > 1 and one[0] == "0" for one in found.group(1, 2))
        width = max(len(found[1]), len(found[2])) if is_padded else 0
        return [str(one).zfill(width) for one in _steps(start, end, step)]
    if found := _LETTERS.fullmatch(text):
        first, last, by = (one for one in (found.group(1, 2, 3) if found[1] else found.group(4, 5, 6)))
        return [chr(one) for one in _steps(ord(first), ord(last), int(by or 1))]
    return []


def _steps(start: int, end: int, step: int) -> range:
    """The numbers from *start* to *end*; none if they are more than `MAX_WORDS`."""
    found = range(start, end + 1, step) if end >= start else range(start, end - 1, -step)
    return found if len(found) <= MAX_WORDS else range(0)


def _choice_atoms(texts: Sequence[str]) -> list[Piece]:
    """The atoms of a choice between *texts*; of one text, that."""
    if len(texts) == 1:
        return [Piece(texts[0], is_quoted=False)]
    marks = ["{", *(mark for text in texts for mark in (text, ","))][:-1]
    return [Piece(mark, is_quoted=False) for mark in (*marks, "}")]


def _expand(atoms: Sequence[Piece]) -> list[_Atoms]:
    """All words of *atoms*, whose braces are balanced."""
    results: list[_Atoms] = [()]
    at = 0
    while at < len(atoms):
        if _is_bare_mark(atoms[at], "{"):
            end = _find_closing(atoms, at)
            results = _concatenate(results, _choices(atoms[at : end + 1]))
            at = end
        else:
            results = [(*one, atoms[at]) for one in results]
        at += 1
    return results


def _find_closing(atoms: Sequence[Piece], start: int) -> int:
    """Where the brace at *start* closes."""
    depth, at = 1, start
    while depth:
        at += 1
        depth += _depth_change(atoms[at])
    return at


def _choices(atoms: Sequence[Piece]) -> list[_Atoms]:
    """What *atoms*, from a brace to the one that closes it, stand for."""
    depth = 0
    commas: list[int] = []
    for at, atom in enumerate(atoms):
        depth += _depth_change(atom)
        if depth == 1 and _is_bare_mark(atom, ","):
            commas.append(at)
    if not commas:
        return [(atoms[0], *one, atoms[-1]) for one in _expand(atoms[1:-1])]
    choices: list[_Atoms] = []
    for left, right in pairwise((0, *commas, len(atoms) - 1)):
        choices += _expand(atoms[left + 1 : right])
        _check_number(len(choices))
    return choices


def _concatenate(left: list[_Atoms], right: list[_Atoms]) -> list[_Atoms]:
    _check_number(len(left) * len(right))
    return [(*one, *other) for one, other in product(left, right)]


def _check_number(number: int) -> None:
    if number > MAX_WORDS:
        raise NotUnderstood(f"Braces make more than {MAX_WORDS} words of one.")
