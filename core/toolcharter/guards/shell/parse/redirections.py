"""Parses redirections, here-documents and here-strings.

Source: bash(1), "REDIRECTION"; POSIX.1-2024, shell command language, 2.7.
"""

import re

from toolcharter.guards.shell.nodes import Redirection, Word
from toolcharter.guards.shell.parse.expansions import read_here_text
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.parse.word_parts import ARGUMENT, VALUE, build_word
from toolcharter.guards.shell.parse.words import read_word

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


def read_redirection(scanner: Scanner) -> Redirection | None:
    """Read a redirection, if one comes next."""
    if scanner.source[scanner.at : scanner.at + 1] not in _STARTS or not (
        found := _OPERATOR.match(scanner.source, scanner.at)
    ):
        return None
    scanner.at = found.end()
    descriptor, operator = found.group(1) or "", found.group(2) or found.group(3)
    if len(descriptor) > 1:
        scanner.bash_only("A descriptor of more than one digit")
    if operator in {"&>", "&>>", "<<<"}:
        scanner.bash_only(f"A redirection with {operator!r}")
    if descriptor.startswith("{"):
        scanner.mark_unsupported("A redirection assigns to a variable.")
    if operator == "<<<" and not descriptor:
        scanner.here_strings.append(scanner.at - len(operator))
    if operator in {"<<", "<<-"}:
        return _read_here_document(scanner, descriptor, operator)
    scanner.skip_blanks()
    start = scanner.at
    target = read_word(scanner, VALUE if operator == "<<<" else ARGUMENT)
    if operator in _TARGETS and target.text == "-":
        # tree-sitter-bash has no word in `>&-`.
        scanner.word_spans.discard((start, scanner.at))
    text = target.text + "\n" if operator == "<<<" and target.text is not None else None
    body = target if operator == "<<<" and text is None else None
    return Redirection(operator, descriptor, None, text, "", body).with_target(target)


def read_redirections(scanner: Scanner) -> tuple[Redirection, ...]:
    """Read all redirections that come next."""
    found: list[Redirection] = []
    scanner.skip_blanks()
    while (one := read_redirection(scanner)) is not None:
        found.append(one)
        scanner.skip_blanks()
    return tuple(found)


def _read_here_document(scanner: Scanner, descriptor: str, operator: str) -> Redirection:
    scanner.skip_blanks()
    start = scanner.at
    found = _DELIMITER.match(scanner.source, start)
    if found is None:
        raise scanner.fail("The delimiter of a here-document is not understood.")
    scanner.at = found.end()
    delimiter = next(group for group in found.groups() if group is not None)
    is_expanded = found.group(4) is not None
    text = _read_body(scanner, delimiter, is_expanded=is_expanded, strips_tabs=operator == "<<-")
    form = f"{descriptor}{operator}{found.group()}"
    if isinstance(text, Word):
        return Redirection(operator, descriptor, None, None, form, text)
    return Redirection(operator, descriptor, None, text, form)


def _read_body(scanner: Scanner, delimiter: str, *, is_expanded: bool, strips_tabs: bool) -> str | Word | None:
    """Read the body of a here-document, which begins on the next line, and return to the position behind its delimiter."""
    back, newline = scanner.at, scanner.source.find("\n", scanner.at)
    if scanner.body is not None or newline < 0:
        raise scanner.fail("A here-document is the second of its line, or has no body.")
    lines, end, after = _find_body_lines(scanner, newline + 1, delimiter, strips_tabs=strips_tabs)
    text: str | Word | None = "".join(lines)
    if is_expanded:
        text = _read_expanded_body(scanner, newline + 1, end, lines, strips_tabs=strips_tabs)
    scanner.at, scanner.body = back, (newline, after)
    return text


def _find_body_lines(scanner: Scanner, start: int, delimiter: str, *, strips_tabs: bool) -> tuple[list[str], int, int]:
    """The lines of a body, where they end, and where the line of the delimiter ends."""
    lines: list[str] = []
    at = start
    while at < len(scanner.source):
        after = scanner.source.find("\n", at) + 1 or len(scanner.source)
        line = scanner.source[at:after]
        line = line.lstrip("\t") if strips_tabs else line
        if line.removesuffix("\n") == delimiter:
            return lines, at, after
        if line.startswith(delimiter) and (")" in line or "`" in line):
            # Within a substitution, bash ends both at such a line.
            raise scanner.fail("A line of a here-document begins like the one that ends it.")
        lines.append(line)
        at = after
    raise scanner.fail("A here-document is not closed.")


def _read_expanded_body(
    scanner: Scanner, start: int, end: int, lines: list[str], *, strips_tabs: bool
) -> str | Word | None:
    if any(line.endswith("\\\n") for line in lines):
        raise scanner.fail("A line of a here-document is continued.")
    scanner.at = start
    pieces = read_here_text(scanner, end)
    text = "".join(lines)
    if not all(piece.is_known for piece in pieces):
        return build_word(pieces, text)
    if strips_tabs and "\\" in text:
        return None
    return text if strips_tabs else "".join(piece.text for piece in pieces)
