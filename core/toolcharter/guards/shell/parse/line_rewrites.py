"""Rewrites loops and arrays that read `<(...)` or globs to equivalent lines that the guard can judge.

`while read -r f; do wc "$f"; done < <(git ls-files)` becomes `git ls-files | while read -r f; do wc "$f"; done`;
`mapfile -t a < <(git ls-files); for f in "${a[@]}"; do ...` becomes `... | while IFS= read -r f; do ...`;
`a=(src/*.py); wc "${a[@]}"` becomes `wc src/*.py`; and `t=$(mktemp); trap 'rm -f "$t"' EXIT` becomes `t=$(mktemp); rm -f "$t"`.
A pipe runs the body of the loop in a subshell, so effects of the body on the shell would be lost. So the line stays as it is
if the body does more to the shell than set variables, or if the array is used in any other way.
Source: bash(1), "Process Substitution", "Pipelines", "Arrays".
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from toolcharter.guards.shell.arrays import mask_prose
from toolcharter.guards.shell.assignments import is_line_variable
from toolcharter.guards.shell.parse.calls import UncertainError, apply_edits
from toolcharter.guards.shell.parse.notes import Loop, Notes, Use
from toolcharter.guards.shell.parse.scanner import Scanner

MAY_REWRITE: Final = re.compile(r"trap 'rm |<[ \t]*<\(|=\([^)\n]*[*?]|(?:mapfile|readarray)[ \t]")
"""Matches lines in which there may be something to rewrite."""
# One pipeline, without any character that could end it early.
_INPUT_SUBSTITUTION: Final = re.compile(r"[ \t]*<[ \t]*<\(([a-z](?:[^;&\n()<>#`|!]|\|(?!\|))*)\)[ \t]*")
_COMMAND_END: Final = re.compile(r"[ \t]*(?:;(?!;)|\n|\||&&|\)|\}|\Z)")
_WHILE: Final = re.compile(r"while[ \t]")
_LOOP_OVER_ARRAY: Final = re.compile(
    r"for[ \t]+([a-z_][a-z0-9_]*)[ \t]+in[ \t]+\"\$\{([a-z_]\w*)\[@\]\}\"[ \t]*(?=[;\n])"
)
_ARRAY: Final = re.compile(
    r"([a-z_]\w*)=\(((?:[ \t]*[A-Za-z0-9_*?][A-Za-z0-9_./*?-]*)+)[ \t]*\)(?=[ \t]*(?:;(?!;)|\n|\Z))"
)
# Where a variable may be named without a sign in front of it.
_BARE_NAME: Final = re.compile(
    r"(?<![\w-])(?:read|mapfile|readarray|unset|export|readonly|declare|typeset|getopts|let|local|eval|wait|for)(?![\w-])"
    r"|(?<!\w)-[vR](?!\w)|\[[^]\n]*\]=|\$\{\w+:(?![-+?=])|\$\{!"
)
_BARE_NAME_IN_REST: Final = re.compile(_BARE_NAME.pattern.replace("|mapfile|readarray", "").replace("|for)", ")"))
_REMOVE_VARIABLE: Final = re.compile(r'rm -r?f "\$(?:([a-z_]\w*)|\{([a-z_]\w*)\})"')
_MKTEMP_ASSIGNMENT: Final = r"NAME=\"?\$\(mktemp\)\"?(?=[ \t]*(?:;(?!;)|\n|\Z))"
_STATE_BUILTINS: Final = frozenset(
    """cd pushd popd exec set shopt export readonly umask ulimit trap local declare typeset unset mapfile readarray wait
    getopts eval source . alias unalias let enable builtin command hash coproc shift return""".split()
)
"""Builtins whose effect on the shell would be lost in a pipe, or is not known."""
_EVAL_BUILTINS: Final = frozenset({"eval", "source", ".", "alias", "enable", "builtin"})
"""Builtins that run text, which may set an array."""
_GLOB_CHANGING_BUILTINS: Final = frozenset(
    {"cd", "pushd", "popd", "set", "eval", "source", ".", "trap", "alias", "builtin", "command"}
)


class _Array(NamedTuple):
    """An array that is set once, at the top of the line."""

    name: str
    span: tuple[int, int]
    """The span of the command that sets it."""
    printer: str
    """The command that prints its words line by line; empty for literal words."""
    words: str


def rewrite_line(scanner: Scanner) -> str | None:
    """Rewrite the line that *scanner* has read with notes; None if it has no such loop or array."""
    notes = scanner.notes
    if notes is None or any(use.program in _EVAL_BUILTINS for use in notes.uses):
        return None
    if "IFS" in scanner.source.replace("IFS= read", ""):
        return None
    edits: list[tuple[int, int, str]] = []
    try:
        arrays = [*_mapfile_arrays(scanner.source, notes), *_glob_arrays(scanner.source, notes)]
        for array in arrays:
            edits += _array_edits(scanner.source, notes, array)
        edits += _trap_edits(scanner.source, notes)
        for loop in notes.loops:
            if (fed := _INPUT_SUBSTITUTION.fullmatch(scanner.source, loop.closed, loop.end)) and _WHILE.match(
                scanner.source, loop.start
            ):
                _check_loop(scanner.source, notes, loop)
                edits += [(loop.start, loop.start, f"{fed[1]} | "), (loop.closed, loop.end, "")]
        return apply_edits(scanner.source, 0, len(scanner.source), edits) if edits else None
    except UncertainError:
        return None


def _trap_edits(source: str, notes: Notes) -> Iterator[tuple[int, int, str]]:
    """The edits for `trap 'rm -f "$t"' EXIT` in a line with `t=$(mktemp)`: at its end, the shell removes that file."""
    for use in notes.uses:
        texts = [word.text for word in use.words]
        found = _REMOVE_VARIABLE.fullmatch(texts[1] or "") if texts[:1] == ["trap"] and texts[2:] == ["EXIT"] else None
        if found is None or not _is_top_level(use) or len(use.spans) < len(texts) or use.end != use.spans[-1][1]:
            continue
        made = [
            one
            for one in re.finditer(_MKTEMP_ASSIGNMENT.replace("NAME", found[1] or found[2]), source)
            if one.start() in notes.statements
        ]
        if len(made) != 1:
            raise UncertainError
        if made[0].start() < use.start:
            yield use.start, use.end, texts[1] or ""
        elif re.fullmatch(r"[ \t]*[;\n][ \t\n]*", source[use.end : made[0].start()]):
            # No command runs between the two, so the shell cannot end there.
            yield use.start, made[0].start(), ""
            yield made[0].end(), made[0].end(), f"; {texts[1]}"
        else:
            raise UncertainError


def _check_loop(source: str, notes: Notes, loop: Loop) -> None:
    """Refuse a loop that would do something else as a part of a pipe."""
    inside = [one for one in notes.uses if loop.start <= one.start < loop.closed]
    if not loop.is_statement or not _COMMAND_END.match(source, loop.end):
        raise UncertainError
    if any(
        one.program is None or one.program in _STATE_BUILTINS or (not one.is_bare and one.program != "read")
        for one in inside
    ):
        raise UncertainError


def _mapfile_arrays(source: str, notes: Notes) -> Iterator[_Array]:
    """The arrays that `mapfile -t NAME < <(...)` sets."""
    for use in notes.uses:
        if use.program not in {"mapfile", "readarray"}:
            continue
        fed = _INPUT_SUBSTITUTION.fullmatch(source, use.spans[-1][1], use.end)
        texts = [word.text or "" for word in use.words]
        if (
            fed is not None
            and texts[1:2] == ["-t"]
            and not texts[3:]
            and _is_top_level(use)
            and is_line_variable(texts[-1])
        ):
            yield _Array(texts[-1], (use.start, use.end), fed[1], "")


def _glob_arrays(source: str, notes: Notes) -> Iterator[_Array]:
    """The arrays of plain words and globs in the workspace."""
    for found in _ARRAY.finditer(source):
        is_glob = "*" in found[2] or "?" in found[2]
        if (
            is_glob
            and is_line_variable(found[1])
            and ".." not in found[2]
            and "**" not in found[2]
            and found.start() in notes.statements
        ):
            if any(map(_may_change_globs, notes.uses)):
                raise UncertainError
            yield _Array(found[1], found.span(), "", " ".join(found[2].split()))


def _may_change_globs(use: Use) -> bool:
    """Whether a glob may match other names after *use*; true if that is not known."""
    if use.program == "shopt":
        return not {"-s", "-u", "nullglob", "failglob"}.issuperset(word.text for word in use.words[1:])
    return use.program is None or use.program in _GLOB_CHANGING_BUILTINS


def _is_top_level(use: Use) -> bool:
    return use.is_first and not use.branches and not use.within and not use.depth


def _array_edits(source: str, notes: Notes, array: _Array) -> Iterator[tuple[int, int, str]]:
    """The edits for the uses of *array*."""
    name, printer = array.name, array.printer
    rest = source[: array.span[0]] + " " * (array.span[1] - array.span[0]) + source[array.span[1] :]
    if not _BARE_NAME_IN_REST.search(rest):
        rest = mask_prose(rest, name)
    for found in re.finditer(rf"(?<![A-Za-z0-9_]){name}(?![A-Za-z0-9_])", rest):
        at = found.start()
        if at < array.span[0]:
            raise UncertainError
        if source.startswith("${#", at - 3) and source.startswith("[@]}", found.end()):
            continue
        start, end = at - 3, found.end() + 5
        if source[start:end] != f'"${{{name}[@]}}"':
            if (at, found.end()) in notes.named or source[at - 1] in "${!#" or _BARE_NAME.search(source):
                raise UncertainError
            continue
        if source[start - 1] not in " \t" or source[end : end + 1] not in {" ", "\t", "\n", ";", "|", ")", "&", ""}:
            raise UncertainError
        if not printer:
            yield start, end, array.words
            continue
        yield _output_array_edit(source, notes, start, printer)
    # This command shows the analyser where names are listed. Of the array itself, only the length may still be used.
    yield array.span[0], array.span[1], f"{printer or f'echo {array.words}'} >/dev/null; {name}=1"


def _output_array_edit(source: str, notes: Notes, start: int, printer: str) -> tuple[int, int, str]:
    """The edit for one use of an array that holds the output of a command: in the head of a loop, or as an argument."""
    for loop in notes.loops:
        head = _LOOP_OVER_ARRAY.match(source, loop.start)
        if head is not None and head.start() < start < head.end():
            if source[loop.closed : loop.end].strip() or not is_line_variable(head[1]):
                raise UncertainError
            _check_loop(source, notes, loop)
            return head.start(), head.end(), f"{printer} | while IFS= read -r {head[1]}"
    use = next(
        (one for one in notes.uses if one.start <= start < one.end and (start in {span[0] for span in one.spans})), None
    )
    if use is None:
        raise UncertainError
    # For other programs, the gate checks on disk that the shell would neither split nor expand the names.
    quote = '"' if use.program in {"echo", "printf"} else ""
    return start, source.index('"', start + 1) + 1, f"{quote}$({printer}){quote}"
