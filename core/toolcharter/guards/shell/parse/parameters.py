"""Parses plain parameters: a variable that the line or the environment has set, `$?`, `$1`.

Source: bash(1), "PARAMETERS".
"""

import re
from posixpath import join, normpath

from toolcharter.guards.shell.nodes import LOGIN_NAME
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.parse.word_parts import SET_MARK, Piece
from toolcharter.guards.shell.variable_values import NUMBER_GLOB

_ELSE_NUMBER = re.compile(r":?-[0-9]{1,9}")
_USUAL = {"HOME": ("~",), "PWD": (".",)}
"""The values of variables before the line assigns to them."""
_NUMBERS = frozenset("#?$")
# Text in a line that may set `PWD`, change the meaning of a name, or change the folder in a hidden way.
_UNPLACED = re.compile(
    r"(?<![$\w{])PWD|(?<!\$)\{PWD|CDPATH|IFS|(?<![\w-])(?:printf[ \t]+-|eval|source|alias|enable|builtin|command|declare"
    r"|typeset|export|readonly|local|read|mapfile|readarray|getopts|unset|trap)(?![\w-])"
)
_MOVES = re.compile(r"\b(?:cd|pushd|popd)\b")
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
SHOWN = frozenset(
    {
        *("HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "UID", "EUID", "PPID", "SHELL", "HOSTNAME", "PATH"),
        *("LANG", "TERM", "TZ", "CI", "NODE_ENV", "VIRTUAL_ENV", "CONDA_DEFAULT_ENV", "GOPATH", "JAVA_HOME"),
        *("BASH_VERSION", "OSTYPE", "HOSTTYPE", "MACHTYPE", "LINENO", "RANDOM", "SECONDS", "PORT", "BASH_COMMAND"),
    }
)
"""Variables of the environment and of bash that hold no secret."""
_LOGIN = frozenset({"HOME", "USER", "LOGNAME", "UID", "EUID", "SHELL", "HOSTNAME", "PATH", "LANG", "TERM"})
"""Those of them whose values an agent cannot choose. `PWD` is none of them: an agent may make a folder of any name."""
JOB = "!"
"""The name, among those of certainly set variables, that says that a command runs in the background: `$!` has a value."""
_COUNTS = frozenset("#?$!-")
"""Parameters whose values hold neither blanks nor characters of a glob."""


def parameter_piece(scanner: Scanner, name: str, *, quoted: bool) -> Piece:
    """The piece of a word that `$name` or `${name}` becomes."""
    splits = name == "@" if quoted else name not in _COUNTS
    hints, pattern = possible_texts(scanner, name), NUMBER_GLOB if name in _NUMBERS else scanner.patterns.get(name)
    if name == JOB and name in scanner.set_names:
        return Piece("", quoted, is_known=False, splits=False, pattern=NUMBER_GLOB, is_output=True, is_number=True)
    known = name if name in scanner.loops else SET_MARK + name if name in scanner.set_names else ""
    is_output = not known and name in SHOWN and (name == "SECONDS" or name not in scanner.values)
    is_output = is_output or (name == "0" and scanner.is_line)
    listed = scanner.disk_names.get(name) if known.startswith(SET_MARK) else None
    if listed is not None and (not quoted if listed.is_row else quoted or not listed.is_quoted):
        splits = not quoted
        return Piece(
            "",
            quoted,
            is_known=False,
            splits=splits,
            hints=hints,
            name=known,
            prefix=listed.prefix,
            listed=listed.pattern,
        )
    place = path_of_cwd(scanner) if name == "PWD" and is_output else ""
    splits = splits and not is_plain(place)
    # The folder that the line runs in: a path that begins with a slash.
    named_by = "place" if name == "PWD" and is_output and not splits else ""
    if name in _LOGIN and is_output and not quoted and "IFS" not in scanner.source:
        named_by = LOGIN_NAME
    piece = Piece("", quoted, is_known=False, splits=splits, hints=hints, pattern=pattern, named_by=named_by)
    return piece._replace(name=known, is_output=is_output, place=place)


def path_of_cwd(scanner: Scanner) -> str:
    """The path of the folder in which the current command runs; empty if it is not known."""
    if len(scanner.cwd) != 1 or not scanner.workspace or _UNPLACED.search(scanner.source):
        return ""
    # In a loop, a later turn may begin elsewhere.
    if scanner.branches and _MOVES.search(scanner.source):
        return ""
    return normpath(join(scanner.workspace, scanner.cwd[0]))


def is_plain(place: str) -> bool:
    """Whether *place* stays one word even without quotes."""
    return _PLAIN.fullmatch(place) is not None


def possible_texts(scanner: Scanner, name: str) -> tuple[str, ...]:
    """Possible texts of the variable *name*."""
    return scanner.values.get(name, _USUAL.get(name, ()))


def is_number_with(scanner: Scanner, name: str, how: str) -> bool:
    """Whether `${name:-0}` is a number: the value that the line has set, or the default; *how* is the text behind the name."""
    value = scanner.set_values.get(name) if name in scanner.set_names else None
    return value is not None and value.text is None and value.is_number and _ELSE_NUMBER.fullmatch(how) is not None
