"""Determines what is known of a substitution's output in a word: a number, a date, names, or nothing.

Source: bash(1), "Command Substitution".
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from toolcharter._lazy import lazy
from toolcharter.guards.shell.nodes import Command, Word
from toolcharter.guards.shell.numeric_outputs import prints_number
from toolcharter.guards.shell.parse.parameters import is_plain, path_of_cwd
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.parse.source import counts_processors, prints_date
from toolcharter.guards.shell.parse.word_parts import Piece
from toolcharter.guards.shell.variable_values import DATE_GLOB, NUMBER_GLOB

if TYPE_CHECKING:
    from toolcharter.guards.shell import listing_loops, listings, name_listings
else:
    listing_loops = lazy("toolcharter.guards.shell.listing_loops")
    listings = lazy("toolcharter.guards.shell.listings")
    name_listings = lazy("toolcharter.guards.shell.name_listings")

# A relative path without a trailing slash or two slashes in a row.
_PATH: Final = re.compile(r"(?:[A-Za-z0-9_.][A-Za-z0-9_@%+=,.-]*/)*[A-Za-z0-9_.][A-Za-z0-9_@%+=,.-]*")


def substitution_piece(scanner: Scanner, positions: range, *, quoted: bool) -> Piece:
    """The output of the commands at *positions*, as a piece of a word."""
    scanner.substitutes += positions
    is_number = prints_number(scanner.commands, positions)
    if is_number and counts_processors(scanner, positions):
        return Piece("", quoted, is_known=False, splits=False, pattern=NUMBER_GLOB, is_output=True, is_number=True)
    if prints_date(scanner, positions):
        return Piece("", quoted, is_known=False, splits=False, pattern=DATE_GLOB, is_output=True, is_number=is_number)
    is_whole = quoted or "IFS" not in scanner.source
    if is_whole and (text := _printed_path_part(scanner, positions)) is not None:
        return Piece(text, quoted)
    named_by = _source_of_names(scanner.commands, positions) if "IFS" not in scanner.source else ""
    place = _printed_cwd(scanner, positions)
    splits = not (quoted or is_plain(place))
    piece = Piece("", quoted, is_known=False, splits=splits, is_output=True, is_number=is_number, named_by=named_by)
    return piece._replace(place=place)


def _printed_cwd(scanner: Scanner, positions: range) -> str:
    """The path that `pwd` prints; empty for any other commands."""
    if len(positions) != 1 or scanner.functions or scanner.commands[positions.start].form != "pwd":
        return ""
    return path_of_cwd(scanner)


def _printed_path_part(scanner: Scanner, positions: range) -> str | None:
    """The output of `dirname` or `basename` for a plain literal path; None for any other commands."""
    if len(positions) != 1 or scanner.functions:
        return None
    command = scanner.commands[positions.start]
    texts = [word.text or "" for word in command.words]
    is_plain = not (command.assignments or command.redirections) and len(texts) > 1
    is_plain = is_plain and all(word.is_literal for word in command.words)
    if not is_plain or not _PATH.fullmatch(texts[1]):
        return None
    folder, _, name = texts[1].rpartition("/")
    if texts[0] == "basename" and not texts[3:]:
        return name.removesuffix(*texts[2:]) or name if texts[2:] else name
    return (folder or ".") if texts[0] == "dirname" and not texts[2:] else None


def _source_of_names(commands: Sequence[Command], positions: range) -> str:
    """The program whose names the commands at *positions*, one whole substitution, print; empty if they print anything else."""
    chain = commands[positions.start : positions.stop]
    if not chain or any(one.form != "2>/dev/null" for command in chain for one in command.redirections):
        return ""
    if not name_listings.is_pipeline(chain, positions.start) or not all(map(listings.filters_lines, chain[1:])):
        return ""
    return name_listings.printed_names_of(chain[0])


def names_piece(scanner: Scanner, form: str, positions: range) -> Piece | None:
    """The names on disk that the commands at *positions* print, for a substitution with the source *form* outside of a loop."""
    names = listing_loops.names_in_words(
        [Word(form)], scanner.commands[positions.start :], positions.start, scanner.source
    )
    if names is None:
        return None
    scanner.substitutes += positions
    scanner.listings = (*(scanner.listings or ()), *names.names)
    return Piece("", is_quoted=False, is_known=False, splits=True, prefix=names.prefix, listed=names.pattern)
