"""Determines the folders that commands run in from the text of the line: the effect of `cd` and of other builtins."""

import re
from collections.abc import Callable, Sequence
from posixpath import join, normpath
from typing import Final, NamedTuple, TypeAlias

from toolcharter.guards.shell.nodes import Word

Folders: TypeAlias = tuple[str, ...]
"""Possible working folders; empty if they are not known."""

_MAX_FOLDERS = 8
# Builtins that change the folder, or run source or another builtin that may.
_MOVERS = frozenset(
    {"cd", "pushd", "popd", "eval", "source", ".", "trap", "command", "builtin", "shopt", "enable", "alias", "set"}
)
_HARMLESS_LOOKUPS = frozenset({"-v", "-V"})
_ENTERING = frozenset({"cd", "pushd"})
# They only change what bash does with a glob that matches nothing.
_GLOB_SETTINGS = frozenset({"nullglob", "failglob"})
# The scripts of virtual environments, and nvm's, change no folder.
_ACTIVATES = re.compile(r"(?:\./)?(?:\.?[A-Za-z0-9_][A-Za-z0-9_.-]*/){1,4}bin/activate|~/\.nvm/nvm\.sh")
_AT_THE_END = frozenset({"EXIT", "0"})
_TOLD = _AT_THE_END | {"ERR", "INT", "TERM", "HUP", "SIGINT", "SIGTERM", "SIGHUP"}
_TELLING = re.compile(
    r"""(?:echo(?: (?:[A-Za-z0-9_.,:/%=+-]+|"(?:[^"\\`$]|\$(?:LINENO|BASH_COMMAND|\?))*"|\$(?:LINENO|BASH_COMMAND|\?)))+(?: >&2)?(?:; )?)+"""
    r"""(?:exit(?: [0-9]{1,3}| \$\?)?)?"""
)


class Flow(NamedTuple):
    """The folders in which the next command may run, after a success and after a failure."""

    success: Folders
    failure: Folders


def merge_folders(one: Folders, other: Folders) -> Folders:
    """The folders of both; empty if one of the two is not known, or if there are too many."""
    folders = tuple(dict.fromkeys((*one, *other)))
    return folders if one and other and len(folders) <= _MAX_FOLDERS else ()


def may_change_folder(words: Sequence[Word]) -> bool:
    """Whether a command may leave the shell in another folder."""
    name = words[0].text if words else ""
    if name not in _MOVERS:
        return name is None
    known = _MOVES_IF.get(name)
    return known is None or known(words)


def _makes_physical(words: Sequence[Word]) -> bool:
    """Whether `set` may turn on `-P`, which changes the meaning of `..`."""
    return any(word.text is None or "P" in word.text or "physical" in word.text for word in words)


def _is_no_environment(words: Sequence[Word]) -> bool:
    """Whether `source` reads anything but the activate script of an environment, which a rule has to mention anyway."""
    return len(words[1:]) != 1 or _ACTIVATES.fullmatch(words[1].text or words[1].form) is None


def _changes_more_than_globs(words: Sequence[Word]) -> bool:
    """Whether `shopt` changes any other option than the harmless ones for globs."""
    return not {"-s", "-u", *_GLOB_SETTINGS}.issuperset(word.text for word in words[1:])


def _runs_mover(words: Sequence[Word]) -> bool:
    """Whether `command` or `builtin` runs a builtin that may change the folder."""
    return len(words) > 1 and words[1].text not in _HARMLESS_LOOKUPS and may_change_folder(words[1:])


def _may_move_later(words: Sequence[Word]) -> bool:
    """Whether `trap` sets source that may change the folder while the line runs."""
    return _runs_before_the_end([word.text for word in words[1:]])


def _runs_before_the_end(words: Sequence[str | None]) -> bool:
    """Whether a `trap` with *words* sets source that may run before the shell ends."""
    if None in words or len(words) < 2:  # noqa: PLR2004 - the text and a signal
        return True
    return words[0] not in {"-", ""} and not (_AT_THE_END.issuperset(words[1:]) or only_prints_message(words))


def only_prints_message(words: Sequence[str | None]) -> bool:
    """Whether the arguments *words* of `trap` only make the shell print a message when a command fails."""
    return bool(words) and _TELLING.fullmatch(words[0] or "") is not None and _TOLD.issuperset(words[1:])


def is_cd_to(words: Sequence[Word]) -> bool:
    """Whether *words* are `cd` or `pushd` with one argument: if such a command fails, the shell stays in its folder."""
    return len(words) == 2 and words[0].text in _ENTERING  # noqa: PLR2004 - the program and where to


def folders_after(words: Sequence[Word], here: Folders, workspace: str) -> Folders:
    """The folders that the shell may be in after the command *words* has succeeded; empty if they are not known."""
    if not is_cd_to(words) or (words[1].text or "").startswith("+"):
        return ()
    target = _relative_to_workspace(words[1].text, workspace)
    if target is None:
        return ()
    moved = tuple(dict.fromkeys(target[1:] if target.startswith("/") else normpath(join(one, target)) for one in here))
    return () if any(one == ".." or one.startswith("../") for one in moved) else moved


def _relative_to_workspace(target: str | None, workspace: str) -> str | None:
    """*target*, an absolute one as `/` and its path within the workspace; None if it is not known or leads outside."""
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
"""For each builtin that only some arguments make change the folder, the check of its words."""
