"""Where the commands of a line run, by its letters: what `cd` does, and what may do more than `cd`."""

import re
from collections.abc import Callable, Sequence
from posixpath import join, normpath
from typing import Final, NamedTuple, TypeAlias

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
# They move nowhere.
_ACTIVATES = re.compile(r"(?:\./)?(?:\.?[A-Za-z0-9_][A-Za-z0-9_.-]*/){1,4}bin/activate|~/\.nvm/nvm\.sh")
_AT_THE_END = frozenset({"EXIT", "0"})
_TOLD = _AT_THE_END | {"ERR", "INT", "TERM", "HUP", "SIGINT", "SIGTERM", "SIGHUP"}
_TELLING = re.compile(
    r"""(?:echo(?: (?:[A-Za-z0-9_.,:/%=+-]+|"(?:[^"\\`$]|\$(?:LINENO|BASH_COMMAND|\?))*"|\$(?:LINENO|BASH_COMMAND|\?)))+(?: >&2)?(?:; )?)+"""
    r"""(?:exit(?: [0-9]{1,3}| \$\?)?)?"""
)


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
    known = _MOVES_IF.get(name)
    return known is None or known(words)


def _makes_physical(words: Sequence[Word]) -> bool:
    """Of `set`: `-P` changes what `..` means."""
    return any(word.text is None or "P" in word.text or "physical" in word.text for word in words)


def _is_no_environment(words: Sequence[Word]) -> bool:
    """Of `source`: whether it reads another file than an environment's own, which a rule has to mention."""
    return len(words[1:]) != 1 or _ACTIVATES.fullmatch(words[1].text or words[1].form) is None


def _changes_more_than_globs(words: Sequence[Word]) -> bool:
    """Of `shopt`."""
    return not {"-s", "-u", *_GLOB_SETTINGS}.issuperset(word.text for word in words[1:])


def _runs_mover(words: Sequence[Word]) -> bool:
    """Of `command` and `builtin`."""
    return len(words) > 1 and words[1].text not in _HARMLESS_LOOKUPS and moves(words[1:])


def _may_move_later(words: Sequence[Word]) -> bool:
    """Of `trap`."""
    return _runs_before_the_end([word.text for word in words[1:]])


def _runs_before_the_end(words: Sequence[str | None]) -> bool:
    """Whether a `trap` with *words* sets text that runs at a time which nobody knows, and not when the shell ends."""
    if None in words or len(words) < 2:  # noqa: PLR2004 - the text and a signal
        return True
    return words[0] not in {"-", ""} and not (_AT_THE_END.issuperset(words[1:]) or only_tells(words))


def only_tells(words: Sequence[str | None]) -> bool:
    """Whether *words*, behind `trap`, have the shell say something whenever a command fails, and do nothing else."""
    return _TELLING.fullmatch(words[0] or "") is not None and _TOLD.issuperset(words[1:])


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


_MOVES_IF: Final[dict[str, Callable[[Sequence[Word]], bool]]] = {
    "set": _makes_physical,
    "shopt": _changes_more_than_globs,
    "trap": _may_move_later,
    **dict.fromkeys(("source", "."), _is_no_environment),
    **dict.fromkeys(("command", "builtin"), _runs_mover),
}
"""By program, what tells whether it may move."""
