"""Reads words and assignments.

Source: bash(1), "QUOTING", "PARAMETERS"; POSIX.1-2024, shell command language, 2.2 and 2.3.
"""

import re
from typing import NamedTuple

from toolcharter.guards.shell.arrays import texts_of
from toolcharter.guards.shell.braces import words_of
from toolcharter.guards.shell.charset import check_unquoted
from toolcharter.guards.shell.expansions import Expansions
from toolcharter.guards.shell.nodes import SUBSTITUTED, Assignment, Word
from toolcharter.guards.shell.word_parts import ARGUMENT, MAX_HINTS, VALUE, Mode, Piece, combined, literal, word_of

_RUN = re.compile(r"[^ \t\n|&;()<>'\"\\$`]+")
# Words that are one text: of characters that `shlex.quote` leaves alone, or within one pair of quotes.
_PLAIN = re.compile(r"[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*(?=[ \t\n|&;)]|\Z)")
_QUOTED = re.compile(r"""(?:'([^']*)'|"([^"\\$`]*)")(?=[ \t\n|&;)]|\Z)""")
_ASSIGNS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=)")
_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[")
_BREAKS = frozenset(" \t\n|&;()<>")


class Feeding(NamedTuple):
    """What the words of one command start by the way, by position."""

    inputs: list[int]
    """Commands in `<(...)`."""
    outputs: list[int]
    """Commands in `>(...)`."""


class Words(Expansions):
    """Words and what is made of them."""

    feeding: Feeding
    assigned: list[Word]
    """The words of the array that has been read last."""

    def words(self, mode: Mode = ARGUMENT) -> list[Word]:
        """Read one word of the source; the words that it becomes, of which there may be none."""
        start = self.at
        if (
            self.set_names
            and mode is ARGUMENT
            and not self.names_program
            and (texts := self._array_words()) is not None
        ):
            return texts
        if found := _PLAIN.match(self.source, start):
            self.at = found.end()
            self.note(start)
            text = found.group()
            return [Word(text, text, None, text)]
        if found := _QUOTED.match(self.source, start):
            self.at = found.end()
            self.check_body()
            self.note(start)
            return [literal(found.group(1) or found.group(2) or "")]
        pieces = self.pieces()
        if not pieces:
            raise self.fail("A word is missing.")
        written = self.source[start : self.at]
        if "{" in written and ("," in written or ".." in written):
            self._check_braces(pieces)
        words = words_of(pieces, written, mode)
        self.note(start, max(1, len(words)))
        return words

    def _array_words(self) -> list[Word] | None:
        """Read `"${a[@]}"`, if it stands here and the line has set the array."""
        start = self.at
        found = self.arrays.whole(self.source, start, self.set_names)
        if found is None:
            return None
        self.at, texts = found
        self.check_body()
        self.note(start, max(1, len(texts)))
        return [literal(text) for text in texts]

    def word(self, mode: Mode = VALUE) -> Word:
        """Read one word that stays one."""
        start = self.at
        words = self.words(mode)
        return words[0] if len(words) == 1 else Word(self.source[start : self.at], splits=True)

    def pieces(self) -> list[Piece]:
        """Read one word; none, if there is none here."""
        pieces = list[Piece]()
        while self.at < len(self.source):
            if found := _RUN.match(self.source, self.at):
                self.at = found.end()
                pieces.append(self._run(found.group()))
            elif not self._special(pieces):
                break
        self.check_body()
        return pieces

    def _check_braces(self, pieces: list[Piece]) -> None:
        if any("{" in piece.text for piece in pieces if not piece.is_quoted):
            self.bash_only("A word of braces")

    def is_break(self) -> bool:
        """Whether no word goes on here."""
        return self.at >= len(self.source) or self.source[self.at] in _BREAKS

    def _run(self, text: str) -> Piece:
        if not text.isascii():
            check_unquoted(text)
        return Piece(text, is_quoted=False)

    def _special(self, pieces: list[Piece]) -> bool:
        """Read one piece that does not begin like a plain one; whether there is one."""
        character = self.source[self.at]
        if character == "\\":
            pieces.append(self._escaped())
        elif character == "'":
            pieces.append(self.single_quoted())
        elif character == '"':
            pieces += self.double_quoted()
        elif character == "$":
            pieces.append(self.dollar(quoted=False))
        elif character == "`":
            pieces.append(self.ticked(quoted=False))
        elif self.source.startswith(("<(", ">("), self.at):
            pieces.append(self._process(pieces))
        else:
            return False
        return True

    def _escaped(self) -> Piece:
        character = self.source[self.at + 1 : self.at + 2]
        if not character:
            raise self.fail("A backslash ends the command line.")
        if character == "\n":
            # Bash joins lines before it looks for its own words and operators: `{\` is a brace.
            raise self.fail("A word is continued on the next line.")
        self.at += 2
        return Piece(character)

    def _process(self, pieces: list[Piece]) -> Piece:
        if pieces:
            raise self.fail("A process substitution stands within a word.")
        self.bash_only("A process substitution")
        outer, kind = self.feeding, self.source[self.at]
        self.at += 2
        positions = self.substitution()
        (outer.inputs if kind == "<" else outer.outputs).extend(positions)
        return Piece("", is_known=False, pattern=SUBSTITUTED if kind == "<" else None)

    # Assignments ------------------------------------------------------------------------------------------------------

    def assignment(self) -> Assignment | None:
        """Read an assignment, if one stands here."""
        start = self.at
        if _SUBSCRIPT.match(self.source, start):
            raise self.fail("A subscript is evaluated as arithmetic.")
        found = _ASSIGNS.match(self.source, start)
        if found is None:
            return None
        self.at = found.end()
        name, operator = found.groups()
        if operator == "+=":
            self.bash_only("An assignment with '+='")
        value = self._value()
        self.note(start)
        form = f"{name}={value.form}" if value.is_literal and operator == "=" else self.source[start : self.at]
        if value.form.startswith("(") and value.splits:
            is_again = form in self.arrays.pending
            self.arrays.pending[form] = None if is_again else texts_of(self.assigned)
        self.learn(name, value, adds=operator == "+=")
        return Assignment(name, value, form)

    def _value(self) -> Word:
        start = self.at
        if self.source.startswith("(", start):
            words = self._array()
            if not self.is_break():
                raise self.fail("Something follows the end of an array.")
            hints = tuple(word.text for word in words if word.text is not None)[:MAX_HINTS]
            return Word(self.source[start : self.at], splits=True, hints=hints)
        # Values of assignments are not split.
        pieces = [piece._replace(splits=False) if piece.splits else piece for piece in self.pieces()]
        return word_of(pieces, self.source[start : self.at])

    def _array(self) -> list[Word]:
        self.bash_only("An array")
        words = list[Word]()
        self.at += 1
        self.newlines()
        while not self.take(")"):
            if self.source.startswith("[", self.at):
                raise self.fail("A subscript is evaluated as arithmetic.")
            words += self.words()
            self.newlines()
        self.assigned = words
        return words

    def learn(self, name: str, value: Word, *, adds: bool = False) -> None:
        """Remember what a variable may be."""
        texts = value.hints if value.text is None else (value.text,)
        known = self.values.get(name, ())
        if adds:
            texts = combined((known or ("",), texts))
        self.values[name] = tuple(dict.fromkeys((*known, *texts)))[-MAX_HINTS:]
        self.loops.discard(name)
        self.forget(name)
        if self.patterns.pop(name, None) is not None:
            self.wonder("A loop variable is assigned to.")
