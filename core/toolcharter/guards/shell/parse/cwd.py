"""Where the commands of a line run, by its letters: what `cd` does, and what may do more than `cd`."""

from collections.abc import Sequence
from posixpath import join, normpath
from typing import NamedTuple, TypeAlias

from toolcharter.guards.shell.nodes import Word

Folders: TypeAlias = tuple[str, ...]
"""Possible working folders; none, if they cannot be determined."""

_MAX_FOLDERS = 8
# Programs of bash that move, or run source that may; through what `command` and `builtin` name too.
_MOVERS = frozenset(
    {"cd", "pushd", "popd", "eval", "source", ".", "trap", "command", "builtin", "shopt", "enable", "alias", "set"}
)
_HARMLESS_LOOKUPS = frozenset({"-v", "-V"})
_ENTERING = frozenset({"cd", "pushd"})
# They say what becomes of a glob that matches nothing.
_GLOB_SETTINGS = frozenset({"nullglob", "failglob"})
_AT_THE_END = frozenset({"EXIT", "0"})


class Flow(NamedTuple):
    """Where the next command runs."""

    success: Folders
    failure: Folders


def either(one: Folders, other: Folders) -> Folders:
    """Where it may be, if it may be in the one or the other; a folder that cannot be determined makes all so."""
    folders = tuple(dict.fromkeys((*one, *other)))
    return folders if one and other and len(folders) <= _MAX_FOLDERS else ()


def moves(words: Sequence[Word]) -> bool:
    """Whether a command may leave the shell in another folder."""
    name = words[0].text if words else ""
    if name not in _MOVERS:
        return name is None
    if name == "set":
        # `set -P` changes what `..` means.
        return any(word.text is None or "P" in word.text or "physical" in word.text for word in words)
    if name == "trap":
        return _runs_before_the_end([word.text for word in words[1:]])
    if name == "shopt":
        return not {"-s", "-u", *_GLOB_SETTINGS}.issuperset(word.text for word in words[1:])
    if name in {"command", "builtin"}:
        return len(words) > 1 and words[1].text not in _HARMLESS_LOOKUPS and moves(words[1:])
    return True


def _runs_before_the_end(words: Sequence[str | None]) -> bool:
    """Whether a `trap` with *words* sets text that runs at a time which nobody knows, and not when the shell ends."""
    if None in words or len(words) < 2:  # noqa: PLR2004 - the text and a signal
        return True
    return words[0] not in {"-", ""} and not _AT_THE_END.issuperset(words[1:])


def enters(words: Sequence[Word]) -> bool:
    """Whether *words* are `cd` or `pushd` and one more: if it fails, the shell stays where it is."""
    return len(words) == 2 and words[0].text in _ENTERING  # noqa: PLR2004 - the program and where to


def after(words: Sequence[Word], here: Folders, workspace: str) -> Folders:
    """Where a command that `moves` leaves the shell if it succeeds."""
    if not enters(words) or (words[1].text or "").startswith("+"):
        return ()
    target = _beneath(words[1].text, workspace)
    if target is None:
        return ()
    moved = tuple(dict.fromkeys(target[1:] if target.startswith("/") else normpath(join(one, target)) for one in here))
    return () if any(one == ".." or one.startswith("../") for one in moved) else moved


def _beneath(target: str | None, workspace: str) -> str | None:
    """*target*; an absolute one as `/` and the way from the workspace. None for one that cannot be determined."""
    if not target or target.startswith("-"):
        return None
    if not target.startswith("/"):
        return target
    path, root = normpath(target), workspace.rstrip("/")
    if not root or not (path + "/").startswith(root + "/"):
        return None
    return "/" + (path[len(root) + 1 :] or ".")
