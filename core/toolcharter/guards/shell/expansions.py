"""Reads the expansions of a word: parameters, substitutions, arithmetic.

Source: bash(1), "EXPANSION"; POSIX.1-2024, shell command language, 2.6.
"""

import re
from abc import ABC, abstractmethod

from toolcharter.guards.shell.ansi import unescaped
from toolcharter.guards.shell.arrays import end_of_count
from toolcharter.guards.shell.nodes import Word
from toolcharter.guards.shell.scanner import Reader
from toolcharter.guards.shell.setters import Sum, sum_of
from toolcharter.guards.shell.settled import DERIVED, MARK, NUMBER, number_of, prints_number
from toolcharter.guards.shell.word_parts import MAX_HINTS, Piece, combined

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!-]")
_BRACED_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_DEFAULT = re.compile(r":?[-+]|%%?|##?")
_REPLACES = re.compile(r"//?[A-Za-z0-9_.-]+/[A-Za-z0-9_./-]*(?=\})")
_QUOTED = re.compile(r'[^"\\$`]+')
_BODY = re.compile(r"[^\\$`]+")
_OPERAND = re.compile(r"[^\"'\\$`{}<>]+")
_ARITHMETIC = re.compile(r"[0-9A-Za-z_ \t\n+\-*/%<>=!&|^~?:,#\[\]]+")
_NUMBERS_ONLY = re.compile(r"[0-9 \t\n+\-*/%<>=!&|^~?:,()]*")
# Nothing that subtracts, complements, shifts or raises to a power: what comes out begins with no dash.
_ARITHMETIC_COUNT = re.compile(r"(?:[0-9 \t\n+/%>=!&|^?:,()]|<(?!<)|\*(?!\*))*")
_NO_NUMBER = "$"
"""Stands in an expression for what may be no number."""
_MAX_DIGITS = 15
"""With no more of them in all, sums and products stay below 2^63."""
_USUAL = {"HOME": ("~",), "PWD": (".",)}
"""What variables are before anything is assigned to them."""
_NUMBERS = frozenset("#?$")
_SHOWN = frozenset(
    {
        *("HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "UID", "EUID", "PPID", "SHELL", "HOSTNAME", "PATH"),
        *("LANG", "TERM", "TZ", "CI", "NODE_ENV", "VIRTUAL_ENV", "CONDA_DEFAULT_ENV", "GOPATH", "JAVA_HOME"),
        *("BASH_VERSION", "OSTYPE", "HOSTTYPE", "MACHTYPE", "LINENO", "RANDOM", "SECONDS", "PORT"),
    }
)
"""Variables of the environment, and of bash itself, that hold no secret."""
_STATUSES = re.compile(r"\[(?:[@*]|[0-9]{1,2})\]\}")
_WORD_CHARACTER = re.compile(r"\w")
_COUNTS = frozenset("#?$!-")
"""Parameters without blanks and globs."""


class Expansions(Reader, ABC):
    """What begins with `$` or a backtick."""

    substitutes: list[int]
    """The commands whose output becomes part of the words being read."""

    @abstractmethod
    def substitution(self) -> range:
        """Read commands up to the `)` that closes them; their positions."""

    @abstractmethod
    def backtick(self, text: str) -> range:
        """Read *text*, which stood between backticks; the positions of its commands."""

    @abstractmethod
    def learn(self, name: str, value: Word, *, adds: bool = False) -> None:
        """Remember what a variable may be."""

    def dollar(self, *, quoted: bool) -> Piece:
        """Read what the `$` here begins."""
        follows = self.source[self.at + 1 : self.at + 2]
        if self.source.startswith("\\\n", self.at + 1):
            raise self.fail("An expansion is parted by a joined line.")
        if follows == "(":
            return self._parenthesis(quoted=quoted)
        if follows == "{":
            return self._braced(quoted=quoted)
        if follows == "[":
            raise self.fail("Arithmetic is written in a way that bash calls obsolete.")
        if not quoted and follows in {"'", '"'}:
            return self._dollar_quoted(follows)
        if found := _NAME.match(self.source, self.at + 1):
            self.at = found.end()
            return self._parameter(found.group(), quoted=quoted)
        self.at += 1
        return Piece("$", quoted)

    def ticked(self, *, quoted: bool) -> Piece:
        """Read a substitution between backticks."""
        start = self.at + 1
        end = start
        while (character := self.source[end : end + 1]) != "`":
            if not character:
                raise self.fail("A backtick is not closed.")
            end += 1 + (character == "\\")
        text = self.source[start:end]
        if quoted and '\\"' in text:
            raise self.fail("A quote is escaped between backticks within quotes.")
        self.at = end + 1
        self.check_body()
        return self._substituted(self.backtick(re.sub(r"\\([$`\\])", r"\1", text)), quoted=quoted)

    def double_quoted(self) -> list[Piece]:
        """Read from one `"` to the next."""
        self.at += 1
        pieces = self.expanded(len(self.source), _QUOTED)
        self.expect('"')
        self.check_body()
        return pieces

    def here_text(self, end: int) -> list[Piece]:
        """Read a here-document from here to *end*."""
        pieces = self.expanded(end, _BODY)
        if self.at != end:
            raise self.fail("An expansion in a here-document is not closed.")
        return pieces

    def expanded(self, end: int, run: re.Pattern[str]) -> list[Piece]:
        """Read text with expansions, to *end* or to a character that *run* leaves out and that begins none."""
        pieces = [Piece("")]
        escapable = '$`"\\\n' if run is _QUOTED else "$`\\\n"
        while self.at < end:
            if found := run.match(self.source, self.at, end):
                self.at = found.end()
                pieces.append(Piece(found.group()))
            elif (character := self.source[self.at]) == "$":
                pieces.append(self.dollar(quoted=True))
            elif character == "`":
                pieces.append(self.ticked(quoted=True))
            elif character == "\\":
                if run is _BODY and self.source.startswith(("$", "`"), self.at + 1):
                    self.masks.append(self.at)
                pieces.append(Piece(self._escape(escapable)))
            else:
                break
        return pieces

    def _escape(self, escapable: str) -> str:
        character = self.source[self.at + 1 : self.at + 2]
        self.at += 2
        if character == "\n":
            return ""
        return character if character and character in escapable else "\\" + character

    def _dollar_quoted(self, mark: str) -> Piece:
        self.bash_only("A quote behind a dollar")
        self.at += 1
        if mark == '"':
            # The translation is looked up in a catalogue, which variables name.
            self.wonder('A text is to be translated (`$"..."`).')
            pieces = self.double_quoted()
            if all(piece.is_known for piece in pieces):
                return Piece("".join(piece.text for piece in pieces))
            return Piece("", is_known=False)
        end = self.at + 1
        while (character := self.source[end : end + 1]) != "'":
            if not character:
                raise self.fail("A quote is not closed.")
            end += 1 + (character == "\\")
        body, self.at = self.source[self.at + 1 : end], end + 1
        self.check_body()
        return Piece(unescaped(body))

    def _parameter(self, name: str, *, quoted: bool) -> Piece:
        splits = name == "@" if quoted else name not in _COUNTS
        hints, pattern = self._hints(name), NUMBER if name in _NUMBERS else self.patterns.get(name)
        known = name if name in self.loops else MARK + name if name in self.set_names else ""
        is_output = not known and name in _SHOWN and name not in self.values
        return Piece(
            "", quoted, is_known=False, splits=splits, hints=hints, pattern=pattern, name=known, is_output=is_output
        )

    def _hints(self, name: str) -> tuple[str, ...]:
        return self.values.get(name, _USUAL.get(name, ()))

    def _braced(self, *, quoted: bool) -> Piece:
        self.at += 2
        if self.take("#"):
            return self._length(quoted=quoted)
        is_indirect = self.take("!")
        name = self._braced_name()
        if not is_indirect and self.take("}"):
            return self._parameter(name, quoted=quoted)
        if not is_indirect and not self.names_program and (element := self._element(name, quoted=quoted)) is not None:
            return element
        if name in self.set_names and not is_indirect and (found := _REPLACES.match(self.source, self.at)):
            self.at = found.end() + 1
            self.check_body()
            derived = MARK + DERIVED + name + DERIVED + found.group()
            return Piece("", quoted, is_known=False, splits=not quoted, name=derived)
        if is_indirect or not (operator := _DEFAULT.match(self.source, self.at)):
            self.wonder("An expansion does more than to insert a value.")
            self._operand(quoted=quoted)
            return Piece("", quoted, is_known=False, splits=True)
        start, self.at = self.at, operator.end()
        operand = self._operand(quoted=quoted)
        splits = not quoted or name == "@" or any(piece.splits for piece in operand)
        hints = self._hints(name)
        if operator.group().endswith("-"):
            hints = (*hints, *combined((piece.text,) if piece.is_known else piece.hints for piece in operand))
        derived, is_output = "", False
        if all(one.is_known for one in operand):
            if name in self.set_names:
                derived = MARK + DERIVED + name + DERIVED + self.source[start : self.at - 1]
            is_output = name in _SHOWN and name not in self.values
        return Piece(
            "", quoted, is_known=False, splits=splits, hints=hints[:MAX_HINTS], name=derived, is_output=is_output
        )

    def _element(self, name: str, *, quoted: bool) -> Piece | None:
        """Read `[0]}`, if it stands here and the line has set that element, or it is a status."""
        if name == "PIPESTATUS" and (statuses := _STATUSES.match(self.source, self.at)):
            self.at = statuses.end()
            return Piece("", quoted, is_known=False, splits="IFS" in self.source or not quoted, is_output=True)
        found = self.arrays.element(name, self.source, self.at, self.set_names, quoted=quoted)
        if found is None:
            return None
        self.at, text = found
        return Piece(text)

    def _braced_name(self) -> str:
        found = _BRACED_NAME.match(self.source, self.at)
        if found is None:
            raise self.fail("A parameter in braces is not understood.")
        self.at = found.end()
        return found.group()

    def _length(self, *, quoted: bool) -> Piece:
        if not self.take("}"):
            self._braced_name()
            if (end := end_of_count(self.source, self.at)) is not None:
                self.at = end
                return Piece("", quoted, is_known=False, splits=not quoted, pattern=NUMBER)
            if not self.take("}"):
                self.wonder("An expansion does more than to insert a value.")
                self._operand(quoted=quoted)
        return Piece("", quoted, is_known=False, splits=not quoted)

    def _operand(self, *, quoted: bool) -> list[Piece]:
        """Read to the brace that closes the expansion."""
        pieces = list[Piece]()
        with self.deeper():
            while not self.take("}"):
                pieces += self._operand_piece(quoted=quoted)
        self.check_body()
        return pieces

    def _operand_piece(self, *, quoted: bool) -> list[Piece]:
        character = self.source[self.at : self.at + 1]
        if found := _OPERAND.match(self.source, self.at):
            self.at = found.end()
            return [Piece(found.group())]
        if character == "$":
            return [self.dollar(quoted=quoted)]
        if character == "`":
            return [self.ticked(quoted=quoted)]
        if character == '"' and not quoted:
            return self.double_quoted()
        if character == "'" and not quoted:
            return [self.single_quoted()]
        # Bash's versions differ in what quotes, braces and backslashes mean here.
        raise self.fail("An expansion in braces is not understood.")

    def single_quoted(self) -> Piece:
        """Read from one `'` to the next."""
        end = self.source.find("'", self.at + 1)
        if end < 0:
            raise self.fail("A quote is not closed.")
        text, self.at = self.source[self.at + 1 : end], end + 1
        self.check_body()
        return Piece(text)

    def _parenthesis(self, *, quoted: bool) -> Piece:
        if self.source.startswith("$((", self.at):
            begin, self.at = self.at, self.at + 3
            start = self.at
            found = self.arithmetic()
            digits = _ARITHMETIC_COUNT.fullmatch(self.source, start, self.at - 2)
            pattern = None if digits is None or _may_overflow(digits.group()) else NUMBER
            if found is not None:
                self.sums[self.source[begin : self.at]] = found
            splits = "IFS" in self.source
            return Piece("", quoted, is_known=False, splits=splits, pattern=pattern, is_output=True, is_number=True)
        self.at += 2
        return self._substituted(self.substitution(), quoted=quoted)

    def _substituted(self, positions: range, *, quoted: bool) -> Piece:
        self.substitutes += positions
        is_number = prints_number(self.commands, positions)
        return Piece("", quoted, is_known=False, splits=not quoted, is_output=True, is_number=is_number)

    def arithmetic(self) -> Sum | None:
        """Read to the `))` that closes an expression; what it does, if names in it hold numbers as far as can be told.

        Raises:
            NotUnderstood: It is none, and bash would take it for commands.
        """
        start, open_ = self.at, 2
        texts = list[str]()
        with self.deeper():
            while open_:
                open_ += self._arithmetic_part(open_, texts)
        self.check_body()
        if _NUMBERS_ONLY.fullmatch(self.source, start, self.at):
            return None
        return self.compute("".join(texts))

    def compute(self, text: str) -> Sum | None:
        """Note which variables an expression reads and sets: bash evaluates what they hold, so that all are numbers."""
        found = sum_of(text)
        read = frozenset[str]() if found is None else found.names - (found.certain if found.sets_alone else frozenset())
        if found is None or not read <= self.set_names:
            self.wonder("An arithmetic expression holds more than numbers.")
            return None
        self.computed |= found.names
        for name in found.assigned:
            self.learn(name, Word(""))
            self.put(name, number_of(found))
        return found

    def _arithmetic_part(self, open_: int, texts: list[str]) -> int:
        character = self.source[self.at : self.at + 1]
        if found := _ARITHMETIC.match(self.source, self.at):
            self.at = found.end()
            texts.append(found.group())
            return 0
        if character in {"$", "`"}:
            is_apart = not texts or _WORD_CHARACTER.match(texts[-1][-1:]) is None
            piece = self.dollar(quoted=True) if character == "$" else self.ticked(quoted=True)
            is_apart = is_apart and _WORD_CHARACTER.match(self.source, self.at) is None
            texts.append(_operand_of(piece) if is_apart else _NO_NUMBER)
            return 0
        if character == "(":
            self.at += 1
            texts.append(character)
            return 1
        if character == ")" and open_ > 2:  # noqa: PLR2004 - the two that it began with
            self.at += 1
            texts.append(character)
            return -1
        self.expect("))")
        return -2


def _operand_of(piece: Piece) -> str:
    """*piece* of an expression as a name or a number; `_NO_NUMBER` if it may be more."""
    if piece.is_number or piece.pattern == NUMBER:
        return " 1 "
    name = piece.name.removeprefix(MARK)
    return f" {name} " if name != piece.name and DERIVED not in name else _NO_NUMBER


def _may_overflow(text: str) -> bool:
    return sum(character.isdigit() for character in text) > _MAX_DIGITS
