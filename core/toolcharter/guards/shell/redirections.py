"""Reads redirections, here-documents and here-strings.

Source: bash(1), "REDIRECTION"; POSIX.1-2024, shell command language, 2.7.
"""

import re

from toolcharter.guards.shell.nodes import Redirection
from toolcharter.guards.shell.word_parts import ARGUMENT, VALUE
from toolcharter.guards.shell.words import Words

_OPERATOR = re.compile(r"((?:[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})?)(<<<|<<-|<<|<&|<>|<(?!\()|>>|>&|>\||>(?!\())|(&>>|&>)")
_STARTS = frozenset("<>&{0123456789")
_DELIMITER = re.compile(
    r"(?:'([\w.!%+,:@/^=-]+)'"
    r'|"([\w.!%+,:@/^=-]+)"'
    r"|\\([\w.-]+)"
    r"|([\w.%+,:@/^=-]+))(?=[ \t\n;|&)<>]|\Z)",
    re.ASCII,
)
_TARGETS = frozenset({"<&", ">&"})


class Redirections(Words):
    """What stands behind `<` and `>`."""

    def redirection(self) -> Redirection | None:
        """Read a redirection, if one stands here."""
        if self.source[self.at : self.at + 1] not in _STARTS or not (found := _OPERATOR.match(self.source, self.at)):
            return None
        self.at = found.end()
        descriptor, operator = found.group(1) or "", found.group(2) or found.group(3)
        if len(descriptor) > 1:
            self.bash_only("A descriptor of more than one digit")
        if operator in {"&>", "&>>", "<<<"}:
            self.bash_only(f"A redirection with {operator!r}")
        if descriptor.startswith("{"):
            self.wonder("A redirection assigns to a variable.")
        if operator == "<<<" and not descriptor:
            self.here_strings.append(self.at - len(operator))
        if operator in {"<<", "<<-"}:
            return self._here_document(descriptor, operator)
        self.blanks()
        start = self.at
        target = self.word(VALUE if operator == "<<<" else ARGUMENT)
        if operator in _TARGETS and target.text == "-":
            # The tree shows no word in `>&-`.
            self.spans.discard((start, self.at))
        text = target.text + "\n" if operator == "<<<" and target.text is not None else None
        gap = " " if target.form.startswith(("<", ">")) else ""
        return Redirection(operator, descriptor, target, text, f"{descriptor}{operator}{gap}{target.form}")

    def redirections(self) -> tuple[Redirection, ...]:
        """Read all redirections that stand here."""
        found = list[Redirection]()
        self.blanks()
        while (one := self.redirection()) is not None:
            found.append(one)
            self.blanks()
        return tuple(found)

    def _here_document(self, descriptor: str, operator: str) -> Redirection:
        self.blanks()
        start = self.at
        found = _DELIMITER.match(self.source, start)
        if found is None:
            raise self.fail("The delimiter of a here-document is not understood.")
        self.at = found.end()
        delimiter = next(group for group in found.groups() if group is not None)
        is_expanded = found.group(4) is not None
        text = self._body(delimiter, is_expanded=is_expanded, strips_tabs=operator == "<<-")
        form = f"{descriptor}{operator}{found.group()}"
        return Redirection(operator, descriptor, None, text, form)

    def _body(self, delimiter: str, *, is_expanded: bool, strips_tabs: bool) -> str | None:
        """Read the body of a here-document, which begins on the next line, and go back to where it is announced."""
        back, newline = self.at, self.source.find("\n", self.at)
        if self.body is not None or newline < 0:
            raise self.fail("A here-document is the second of its line, or has no body.")
        lines, end, after = self._lines(newline + 1, delimiter, strips_tabs=strips_tabs)
        text: str | None = "".join(lines)
        if is_expanded:
            text = self._expanded_body(newline + 1, end, lines, strips_tabs=strips_tabs)
        self.at, self.body = back, (newline, after)
        return text

    def _lines(self, start: int, delimiter: str, *, strips_tabs: bool) -> tuple[list[str], int, int]:
        """The lines of a body, where they end, and where the line of the delimiter ends."""
        lines = list[str]()
        at = start
        while at < len(self.source):
            after = self.source.find("\n", at) + 1 or len(self.source)
            line = self.source[at:after]
            line = line.lstrip("\t") if strips_tabs else line
            if line.removesuffix("\n") == delimiter:
                return lines, at, after
            if line.startswith(delimiter) and (")" in line or "`" in line):
                # Within a substitution, bash lets such a line end both.
                raise self.fail("A line of a here-document begins like the one that ends it.")
            lines.append(line)
            at = after
        raise self.fail("A here-document is not closed.")

    def _expanded_body(self, start: int, end: int, lines: list[str], *, strips_tabs: bool) -> str | None:
        if any(line.endswith("\\\n") for line in lines):
            raise self.fail("A line of a here-document is continued.")
        self.at = start
        pieces = self.here_text(end)
        text = "".join(lines)
        if not all(piece.is_known for piece in pieces) or (strips_tabs and "\\" in text):
            return None
        return text if strips_tabs else "".join(piece.text for piece in pieces)
