"""Finds out whether a sed script does more than read its input and print.

Source: GNU sed 4.9, manual and `sed/compile.c`. The module objects to scripts that GNU, BusyBox and POSIX split differently.
"""

from toolcharter.guards.shell.languages.cursor import Cursor, ObjectionableError

_BLANKS = " \t"
_SPACES = " \t\n\v\f\r"
_DIGITS = "0123456789"
_SIMPLE = frozenset("=dDFgGhHnNpPxz")
"""Commands without arguments, none of which touches a file."""
_STREAMS = frozenset({"/dev/stdout", "/dev/stderr"})
"""Names that sed takes for its own streams."""
_S_FLAGS = frozenset("giImMp" + _DIGITS + _BLANKS)


def sed(text: str) -> str | None:
    """Why a rule has to mention a script (all `-e` fragments, joined by newlines); None if it only reads and prints."""
    try:
        _Script(text).read()
    except ObjectionableError as error:
        return str(error)
    return None


class _Script(Cursor):
    """A parser for one script. A method reads the construct in its name, or raises `ObjectionableError`."""

    def read(self) -> None:
        """Read commands up to the end."""
        depth = 0
        while True:
            self.skip(_SPACES + ";")
            if not self.next_char:
                break
            depth += self._command()
            if depth < 0:
                raise ObjectionableError("the sed script closes a block that it did not open")
        if depth:
            raise ObjectionableError("the sed script leaves a block open")

    def _command(self) -> int:
        """Read one command; return the change in the depth of blocks."""
        has_address = self._addresses()
        name = self.take()
        if name == "{":
            return 1
        if name == "}":
            self._forbid_address(name, present=has_address)
            self._end()
            return -1
        if name in _SIMPLE:
            self._end()
        elif name == "#":
            self._forbid_address(name, present=has_address)
            self.take_line()
        elif name == ":":
            self._forbid_address(name, present=has_address)
            self._label(is_needed=True)
        else:
            self._command_with_argument(name)
        return 0

    def _forbid_address(self, name: str, *, present: bool) -> None:
        if present:
            raise ObjectionableError(f"{name!r} takes no address in a sed script")

    def _command_with_argument(self, name: str) -> None:
        if name in {"b", "t", "T", "v"}:
            self._label()
        elif name in {"q", "Q", "l"}:
            self.skip(_BLANKS)
            self.skip(_DIGITS)
            self._end()
        elif name in {"a", "i", "c"}:
            self._text(name)
        elif name == "s":
            self._substitution()
        elif name == "y":
            self._transliteration()
        elif name in {"r", "R", "w", "W"}:
            self._file(name)
        elif name == "e":
            raise ObjectionableError("the sed command 'e' runs a program")
        else:
            raise ObjectionableError(f"{name!r} is no known sed command" if name else "the sed script ends too early")

    def _addresses(self) -> bool:
        """Read up to two addresses and a `!`; whether there is an address."""
        found = self._address(is_second=False)
        self.skip(_BLANKS)
        if found and self.next_char == ",":
            self.at += 1
            self.skip(_BLANKS)
            if not self._address(is_second=True):
                raise ObjectionableError("a sed address is missing after ','")
            self.skip(_BLANKS)
        if self.next_char == "!":
            self.at += 1
            self.skip(_BLANKS)
        return found

    def _address(self, *, is_second: bool) -> bool:
        next_char = self.next_char
        if next_char == "$":
            self.at += 1
        elif next_char and next_char in _DIGITS:
            self._number()
            if self.next_char == "~":
                self.at += 1
                self._number()
        elif next_char in {"/", "\\"}:
            self.at += 1
            self._regex(self._delimiter() if next_char == "\\" else next_char)
            self.skip("IM" + _BLANKS)
        elif next_char in {"+", "~"} and is_second:
            self.at += 1
            self._number()
        else:
            return False
        return True

    def _number(self) -> None:
        if not self.take_all(_DIGITS):
            raise ObjectionableError("a number is missing in a sed address")

    def _delimiter(self) -> str:
        character = self.take()
        # With other characters, the result depends on the sed and the locale.
        if not ("!" <= character <= "~") or character in "\\[]":
            raise ObjectionableError(f"{character!r} is a strange delimiter for a sed expression")
        return character

    def _regex(self, delimiter: str) -> None:
        while True:
            character = self._regex_character(delimiter)
            if character == delimiter:
                return
            if character == "[":
                self._bracket(delimiter)

    def _regex_character(self, delimiter: str) -> str:
        """Read the next character of an expression, with a backslash before it; never past the end or the line."""
        character = self.take()
        if character == "\\":
            character += self.take()
            # Newer versions of GNU sed take `\cX` as one, X being the delimiter too.
            if character == "\\c" and not self.next_char.isalnum():
                raise ObjectionableError("'\\c' in a sed expression is read differently from version to version")
        if character in {"", "\\", "\n"}:
            raise ObjectionableError(f"a sed expression lacks its {delimiter!r}")
        return character

    def _bracket(self, delimiter: str) -> None:
        """Read the rest of a bracket expression, in which a delimiter has no meaning.

        A backslash in it is literal. Some versions of sed do not know `[:alpha:]` and end the expression too early, so the
        method objects to a delimiter behind a second `[`.
        """
        start = self.at
        if self.next_char == "^":
            self.at += 1
        if self.next_char == "]":
            self.at += 1
        while (character := self.take()) != "]":
            if character in {"", "\n"}:
                raise ObjectionableError("a sed expression leaves a bracket open")
            if character == "[" and self.next_char and self.next_char in ".:=":
                self._bracket_class(self.take() + "]")
        inside = self.text[start : self.at]
        if delimiter in inside and "[" in inside:
            raise ObjectionableError("a sed expression has its delimiter in a bracket with another bracket")

    def _bracket_class(self, end: str) -> None:
        # Class, equivalence and collation names are short; a missing end must not make every bracket look to the end.
        found = self.text.find(end, self.at, self.at + 64)
        if found < 0 or "\n" in self.text[self.at : found]:
            raise ObjectionableError(f"a sed expression lacks its {end!r}")
        self.at = found + len(end)

    def _substitution(self) -> None:
        delimiter = self._delimiter()
        self._regex(delimiter)
        self._replacement(delimiter)
        while self.next_char in _S_FLAGS and self.next_char:
            self.at += 1
        if self.next_char == "e":
            raise ObjectionableError("the sed flag 'e' runs what it made as a program")
        if self.next_char == "w":
            self.at += 1
            self._file("w")
        else:
            self._end()

    def _transliteration(self) -> None:
        delimiter = self._delimiter()
        start = self.at
        self._replacement(delimiter)
        if "[" in self.text[start : self.at]:
            raise ObjectionableError("a '[' in a sed 'y' is read differently from sed to sed")
        self._replacement(delimiter)
        self._end()

    def _replacement(self, delimiter: str) -> None:
        """Read a replacement, in which brackets have no meaning."""
        while self._regex_character(delimiter) != delimiter:
            pass

    def _label(self, *, is_needed: bool = False) -> None:
        self.skip(_BLANKS)
        start = self.at
        while self.next_char and self.next_char not in _SPACES + ";}":
            self.at += 1
        if is_needed and start == self.at:
            raise ObjectionableError("a sed label lacks its name")
        self._end()

    def _text(self, name: str) -> None:
        """Read the text of `a`, `i` or `c`, up to the first newline without a backslash before it."""
        self.skip(_BLANKS)
        if self.next_char in {"", "\n"}:
            raise ObjectionableError(f"the sed command {name!r} lacks its text")
        start = self.at
        if self.next_char == "\\" and self.text[self.at + 1 : self.at + 2] != "\n":
            self.at += 1
            self.skip(_BLANKS)
            # The end of such a text differs between versions of sed.
            if self.next_char in {"", "\n", "\\"}:
                raise ObjectionableError("a sed text begins with a backslash that may mean several things")
            self.at = start
        while (character := self.take()) not in {"", "\n"}:
            # At the end of an `-e` fragment, the text would continue in the next one.
            if character == "\\" and not self.take():
                raise ObjectionableError("a sed text ends in a backslash")

    def _file(self, name: str) -> None:
        self.skip(_BLANKS)
        file = self.take_line()
        if name in {"w", "W"}:
            if file not in _STREAMS:
                raise ObjectionableError(f"the sed command {name!r} writes to {file!r}")
        elif file != "/dev/stdin":
            raise ObjectionableError(f"the sed command {name!r} reads {file!r}")

    def _end(self) -> None:
        """Read the rest of a command's line: blanks, a comment, or the end of the command."""
        self.skip(_BLANKS)
        if self.next_char and self.next_char not in "\n;}#":
            raise ObjectionableError(f"{self.next_char!r} follows a sed command")
