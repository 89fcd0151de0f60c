"""Parse patches in the form of Codex's `apply_patch`: which files they add, change, move and delete."""

from typing import Literal, NamedTuple

BEGIN, END = "*** Begin Patch", "*** End Patch"
_ADD, _UPDATE, _DELETE, _MOVE = "*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "
_EOF = "*** End of File"


class Change(NamedTuple):
    """What a patch does to one file."""

    kind: Literal["add", "update", "delete"]
    path: str
    added: str
    """The lines that it adds."""
    moved_to: str | None = None


def parse_patch(text: str) -> list[Change]:
    """Parse a patch.

    Raises:
        ValueError: It is not a patch, or has a line that is not understood: that line could name another file.

    Source: the grammar in Codex's instructions for `apply_patch`.
    """
    # Codex and OpenCode end lines only at a line feed. Python's splitlines() would also split at other characters,
    # which may be part of a file's name.
    lines = [line.removesuffix("\r") for line in text.strip().split("\n")]
    if len(lines) < 2 or lines[0].strip() != BEGIN or lines[-1].strip() != END:  # noqa: PLR2004 - the first and last
        raise ValueError(f"a patch begins with {BEGIN!r} and ends with {END!r}")
    changes: list[Change] = []
    added: list[list[str]] = []
    for number, line in enumerate(lines[1:-1], 2):
        header = _parse_header(line, number)
        if header is not None:
            changes.append(header)
            added.append([])
        elif not changes:
            raise ValueError(f"line {number} of the patch names no file")
        elif line.startswith(_MOVE) and lines[number - 2].startswith(_UPDATE):
            changes[-1] = changes[-1]._replace(moved_to=_parse_path(line, _MOVE, number))
        elif not _is_body_line(line, changes[-1].kind):
            raise ValueError(f"line {number} of the patch is not understood")
        elif line.startswith("+"):
            added[-1].append(f"{line[1:]}\n")
    if not changes:
        raise ValueError("the patch changes no file")
    return [change._replace(added="".join(lines)) for change, lines in zip(changes, added, strict=True)]


def _parse_header(line: str, number: int) -> Change | None:
    """The change of a file that begins with *line*."""
    if line.startswith(_ADD):
        return Change("add", _parse_path(line, _ADD, number), "")
    if line.startswith(_UPDATE):
        return Change("update", _parse_path(line, _UPDATE, number), "")
    if line.startswith(_DELETE):
        return Change("delete", _parse_path(line, _DELETE, number), "")
    return None


def _parse_path(line: str, head: str, number: int) -> str:
    path = line.removeprefix(head)  # not stripped: some agents trim blanks, others do not
    if not path.strip():
        raise ValueError(f"line {number} of the patch names no file")
    return path


def _is_body_line(line: str, kind: str) -> bool:
    if kind == "add":
        return line.startswith("+")
    return kind == "update" and (not line or line[0] in " +-@" or line == _EOF)
