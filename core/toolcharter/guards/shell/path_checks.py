"""Decides from the text of a path whether it stays in the workspace or a rule has to mention it.

The gate resolves links later (`PathAccess`). Paths are compared by components; nothing is decoded or expanded.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

STREAMS = frozenset({"/dev/null", "/dev/stdin"})
"""Absolute paths that any reader may open: the empty file, and its own standard input."""
_WORKSPACE_ONLY = (".",)
_PROTECTED = frozenset({".git", ".hg", ".jj", ".toolcharter"})
# A backslash at the end of a component escapes the slash behind it, or nothing.
_TOKEN = re.compile(r"\\.|[^\\]", re.DOTALL)
_EXPANDED = re.compile(r"\$\([^()]*\)|\$\{[^{}]*\}|\$\w+")
_INDEX_STAGE = re.compile(r":[0-3]:")
_GLOB_CHARACTERS = frozenset("*?[")


def path_violation(path: str, folders: tuple[str, ...], workspace: str, *, is_pattern: bool = False) -> str | None:
    """Why the text of *path* may lead out of the workspace; None if it cannot.

    Args:
        path: The path as the program gets it.
        folders: The folders that it may be relative to, themselves relative to the workspace; empty if they are not known.
        workspace: The real path of the workspace.
        is_pattern: Whether *path* is a glob, in which a backslash makes the next character literal.
    """
    if not path or (path in STREAMS and not is_pattern):
        return None
    if folders == _WORKSPACE_ONLY and path[0] not in "/~" and ".." not in path and not is_pattern:
        return None  # The common case.
    return (
        "may be somebody's home" if path[0] == "~" else _find_violation(path, folders, workspace, is_pattern=is_pattern)
    )


def _find_violation(path: str, folders: tuple[str, ...], workspace: str, *, is_pattern: bool) -> str | None:
    parts = _components(path, is_pattern=is_pattern)
    if isinstance(parts, str):
        return parts
    if path.startswith("/"):
        return _absolute_violation(parts, workspace)
    if not folders:
        return "is relative to a folder that cannot be determined"
    return next(filter(None, (_relative_violation(parts, folder, workspace) for folder in folders)), None)


def resolve_path(path: str, folders: tuple[str, ...], workspace: str) -> tuple[str, ...]:
    """Resolve *path* from each of *folders*, relative to the workspace; empty if it may lead outside."""
    if path_violation(path, folders, workspace) or path in STREAMS:
        return ()
    if path.startswith("/"):
        return ("/".join(_collapse_parents(_split_path(path)[len(_workspace_parts(workspace)) :])) or ".",)
    return tuple(
        dict.fromkeys("/".join(_collapse_parents(_split_path(folder) + _split_path(path))) or "." for folder in folders)
    )


def is_outside(folder: str, workspace: str) -> bool:
    """Whether *folder*, relative to the workspace or absolute, lies outside of the workspace."""
    return path_violation(folder, (".",), workspace) is not None


def is_workspace_root(path: str, folders: tuple[str, ...], workspace: str) -> bool:
    """Whether *path* may be the workspace itself."""
    return "." in resolve_path(path, folders, workspace)


def path_in_revision(text: str) -> str:
    """The path behind the colon of a revision such as `HEAD:a.md`, with a letter in place of each expansion."""
    text = _EXPANDED.sub("x", text)
    if text[:1] == ":":  # `:/text` looks for a message, `:!a` is a path, `:0:a` lies in the index.
        return text[3:] if _INDEX_STAGE.match(text) else ""
    return text.partition(":")[2]


def escape_glob(path: str) -> str:
    """*path* as a glob that only it matches."""
    return "".join(
        "\\" + character if character in _GLOB_CHARACTERS or character == "\\" else character for character in path
    )


def is_protected(path: str, *, is_pattern: bool = False) -> bool:
    """Whether *path* names a protected folder such as `.git`, which no program changes in its ordinary use, or may match one.

    `**` comes from find and also matches names that begin with a dot.
    """
    parts = _components(path, is_pattern=is_pattern)
    if isinstance(parts, str) or (is_pattern and "**" in path.split("/")):
        return True
    return any(part.casefold() in _PROTECTED or (part[0] == "." and part[-1] == "*") for part in parts)


def _absolute_violation(parts: list[str], workspace: str) -> str | None:
    root = _workspace_parts(workspace)
    if tuple(parts[: len(root)]) != root or _escapes(parts[len(root) :], 0):
        return "lies outside the workspace"
    return None


def _relative_violation(parts: list[str], folder: str, workspace: str) -> str | None:
    if folder == ".":
        return "lies outside the workspace" if _escapes(parts, 0) else None
    if folder.startswith("/"):
        return _absolute_violation(_split_path(folder) + parts, workspace)
    return "lies outside the workspace" if _escapes(_split_path(folder) + parts, 0) else None


def _escapes(parts: Iterable[str], depth: int) -> bool:
    for part in parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return True
    return False


def _collapse_parents(parts: Iterable[str]) -> list[str]:
    stack: list[str] = []
    for part in parts:
        if part == "..":
            stack.pop()
        else:
            stack.append(part)
    return stack


def _split_path(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in {"", "."}]


@lru_cache(maxsize=64)
def _workspace_parts(workspace: str) -> tuple[str, ...]:
    return tuple(_split_path(workspace))


def _components(path: str, *, is_pattern: bool) -> list[str] | str:
    """The components of *path*, for a glob without its backslashes; a text that says why, if they are not known."""
    if not is_pattern:
        return _split_path(path)
    parts: list[str] = []
    seen_pattern = False
    for component in path.split("/"):
        literal, is_glob = _literal_prefix(component)
        if is_glob and literal in {".", ".."}:
            return "may match the parent folder"
        if literal == ".." and seen_pattern:
            return "leads up again from what it matches"
        seen_pattern = seen_pattern or is_glob
        if is_glob or literal not in {"", "."}:
            parts.append(literal + "*" if is_glob else literal)
    return parts


def _literal_prefix(component: str) -> tuple[str, bool]:
    """The literal beginning of a component of a glob, and whether a character of a glob follows it."""
    literal: list[str] = []
    for token in _TOKEN.findall(component):
        if token in _GLOB_CHARACTERS:
            return "".join(literal), True
        literal.append(token[-1])
    return "".join(literal), False
