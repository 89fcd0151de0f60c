"""Expand an unquoted glob of a shell line to the names in the workspace that it could match."""

import errno
import os
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from toolcharter.api.reasons import Reason
from toolcharter.errors import Denied, ToolError

MAX_NAMES = 100_000
"""How many names the globs of one call may be compared with. A call that needs more is refused."""
_SPECIAL = "*?["
# After any other error, such as for a name that is not Unicode, a program may still be able to open the path.
_HARMLESS = frozenset({"path_not_found", "not_directory", "is_directory", "not_regular"})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM})
# One character in UTF-8, or bytes that are not UTF-8.
_CHARACTER = rb"(?:[\x00-\x7f]|[\x80-\xff]{1,4})"
# A locale may sort digits of other scripts between 0 and 9, but no locale sorts ASCII letters there.
_DIGITS = "[0-9]"
_DIGIT = rb"(?:[0-9]|[\x80-\xff]{1,4})"
# A bracket expression without a character class, without a quoted character and without a literal `]` in first place.
_BRACKET = re.compile(r"\[[!^]?[^]\[\\!^][^]\[\\]*\]")


class Folders(Protocol):
    """Opens folders beneath the workspace, as `toolcharter.guards.paths.WorkspacePaths` does."""

    def open_folder(self, path: str = ".") -> Any:
        """A context manager with `fileno`."""
        ...


class _Name(NamedTuple):
    """One name in a folder."""

    text: str
    is_link: bool
    is_folder: bool


def new_name_budget() -> Iterator[int]:
    """Return a new budget of names for the globs of one call."""
    return iter(range(MAX_NAMES))


def is_harmless_failure(error: ToolError) -> bool:
    """Whether a path that failed to open with *error* lies in the workspace or nowhere for every other program, too."""
    cause = error.__cause__
    return error.reason in _HARMLESS or (isinstance(cause, OSError) and cause.errno in _FORBIDDEN)


def expand(paths: Folders, folder: str, pattern: str, budget: Iterator[int] | None = None) -> list[str]:
    """Return the paths to which *pattern*, seen from *folder*, could expand, in no order.

    The result may contain too many paths, but never too few. A bracket expression other than `[0-9]` matches any
    character. The pattern itself is included, since bash leaves it unchanged if nothing matches. A name that begins
    with a dot matches only a component that begins with a dot, as in bash without options. `**` with the component
    after it represents `find -name`: it matches every link of such a name at any depth, and only links, since a path
    without links lies where its text says.

    Args:
        paths: Opens folders, and refuses those that lie elsewhere.
        folder: Relative to the workspace.
        pattern: A glob over paths in which a backslash makes the next character literal.
        budget: A budget from `new_name_budget` that several globs share; by default a new one.

    Raises:
        Denied: `path_outside_workspace` or `protected_path`, for a folder on the way; `not_understood`, if there are
            more names than the budget allows.
        ToolError: A folder cannot be listed here, although a program might be able to.
    """
    absolute = pattern.startswith("/")
    top, found, names = "/" if absolute else folder, [""], new_name_budget() if budget is None else budget
    written = [component for component in pattern.split("/") if component]
    components = iter(written)
    for component in components:
        if component == "**":
            matches = _matcher(next(components, "*"))
            found = [path for base in found for path in _list_links(paths, top, base, names) if matches(_name(path))]
        else:
            found = [path for base in found for path in _expand_component(paths, top, base, component, names)]
    itself = [] if "**" in written else ["/".join(map(_literal, written))]
    return [("/" if absolute else "") + path for path in dict.fromkeys((*found, *itself))]


def list_names(
    paths: Folders, folder: str, budget: Iterator[int], *, is_deep: bool, pattern: str = ""
) -> Iterator[tuple[str, bool]]:
    """Yield every name in *folder*, and at any depth if *is_deep*, with whether it lies directly in *folder*.

    With a *pattern*, yield only folders and names that match it.

    Raises:
        Denied: As `expand`.
        ToolError: As `expand`.
    """
    waiting, matches = [folder], _matcher(pattern or "*")
    while waiting:
        place = waiting.pop()
        for name in _read_names(paths, place, budget):
            if name.is_folder or matches(name.text):
                yield name.text, place == folder
            if is_deep and name.is_folder:
                waiting.append(_join(place, name.text))


def find_link(paths: Folders, path: str, budget: Iterator[int]) -> str | None:
    """Return *path* if it is a link, or else a link below it; None if there is no link.

    Raises:
        Denied: As `expand`.
        ToolError: As `expand`.
    """
    folder, _, name = path.rstrip("/").rpartition("/")
    if any(one.is_link and one.text == name for one in _read_names(paths, folder or ".", budget)):
        return path
    return next(_list_links(paths, ".", path, budget), None)


def _expand_component(paths: Folders, folder: str, base: str, component: str, budget: Iterator[int]) -> Iterator[str]:
    if not has_glob(component):
        yield _join(base, _literal(component))
        return
    matches = _matcher(component)
    for name in _read_names(paths, os.path.join(folder, base), budget):
        if name.text.startswith(".") <= component.startswith((".", "\\.")) and matches(name.text):
            yield _join(base, name.text)


def _matcher(component: str) -> Callable[[str], bool]:
    """Return a function that says whether a name could match *component*."""
    re2 = import_module("re2")  # few calls contain a glob
    expression = re2.compile(_expression(component, re2.escape), _options(re2))
    return lambda name: expression.fullmatch(name.encode(errors="surrogateescape")) is not None


def _list_links(paths: Folders, folder: str, base: str, budget: Iterator[int]) -> Iterator[str]:
    """Yield every link below *base*. Like `find`, do not enter links to folders."""
    waiting = [base]
    while waiting:
        place = waiting.pop()
        for name in _read_names(paths, os.path.join(folder, place), budget):
            if name.is_link:
                yield _join(place, name.text)
            elif name.is_folder:
                waiting.append(_join(place, name.text))


def _read_names(paths: Folders, folder: str, budget: Iterator[int]) -> list[_Name]:
    try:
        held = paths.open_folder(folder)
    except ToolError as error:
        if is_harmless_failure(error):  # no folder is there, so nothing matches
            return []
        raise
    with held, os.scandir(held.fileno()) as entries:
        # Evaluated while the folder is open: not every file system returns the file's type with its name.
        found = [
            _Name(entry.name, entry.is_symlink(), entry.is_dir(follow_symlinks=False))
            for entry, _ in zip(entries, budget, strict=False)
        ]
        if next(budget, None) is None:
            message = f"The globs of the command have to be compared with more than {MAX_NAMES:,} names."
            raise Denied(Reason.NOT_UNDERSTOOD, message)
        return found


def has_glob(component: str) -> bool:
    """Whether *component* contains an unescaped special character."""
    characters = iter(component)
    for character in characters:
        if character == "\\":
            next(characters, None)
        elif character in _SPECIAL:
            return True
    return False


def _literal(component: str) -> str:
    characters = iter(component)
    return "".join(next(characters, "") if character == "\\" else character for character in characters)


def _expression(component: str, escape: Callable[[str], str]) -> bytes:
    """Return a regular expression over bytes that matches every name that *component* matches, and perhaps more."""
    parts, at = list[bytes](), 0
    while at < len(component):
        character, step = component[at], 1
        if character == "\\":
            character, step = component[at + 1 : at + 2], 2
            parts.append(escape(character).encode())
        elif character == "*":
            parts.append(b".*")
        elif character == "?":
            parts.append(_CHARACTER)
        elif component.startswith(_DIGITS, at):
            parts.append(_DIGIT)
            step = len(_DIGITS)
        elif character == "[" and (bracket := _BRACKET.match(component, at)):
            parts.append(_CHARACTER)
            step = bracket.end() - at
        elif character == "[" and "]" in component[at:]:
            return b"".join((*parts, b".*"))  # only bash knows where the bracket ends: the rest matches anything
        else:
            parts.append(escape(character).encode())
        at += step
    return b"".join(parts)


def _options(re2: Any) -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.dot_nl = True
    options.log_errors = False  # they would go to standard error and mix with the events
    return options


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _join(base: str, name: str) -> str:
    return f"{base}/{name}" if base else name
