"""Reads the commands in `$(...)`, `<(...)`, `>(...)` and between backticks.

Source: POSIX.1-2024, shell command language, 2.6.3; bash(1), "Command Substitution" and "Process Substitution".
"""

from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.parse.source import read_inner


def read_substitution(scanner: Scanner) -> range:
    """Read commands up to the `)` that closes them; their positions."""
    start, body = len(scanner.commands), scanner.body
    timed, scanner.is_timed = scanner.is_timed, False
    with scanner.deeper(), scanner.apart("substitution"), scanner.collecting():
        scanner.read_list(frozenset())
    if scanner.body != body:
        raise scanner.fail("A here-document and a substitution overlap.")
    scanner.expect(")")
    scanner.is_timed = timed
    return range(start, len(scanner.commands))


def read_text_between_backticks(scanner: Scanner, text: str) -> range:
    """Read *text*, which stood between backticks; the positions of its commands."""
    start = len(scanner.commands)
    script = read_inner(scanner, text)
    for command in script.commands:
        moved = command._replace(
            feeders=(*scanner.feeders, *(start + one for one in command.feeders)),
            substitutes=tuple(start + one for one in command.substitutes),
            within=(*scanner.within, "substitution", *command.within),
            at=scanner.at,
        )
        scanner.emit(moved)
    scanner.functions += script.functions
    scanner.reaches += script.reaches
    scanner.strange = scanner.strange or script.strange
    scanner.unnamed = scanner.unnamed or script.unnamed
    return range(start, len(scanner.commands))
