"""Paths as rules see them: relative to the workspace, and each written in one way.

`src/../setup.py` begins with `src/` and leads elsewhere: a glob over the letters would allow it. What the tool gets stays
as it was written. Links are not followed here, since a decision looks at no disk; the path guard follows them.
"""

from collections.abc import Collection, Mapping
from posixpath import normpath
from typing import Any


def with_plain_paths(args: Mapping[str, Any], names: Collection[str], workspace: str) -> Mapping[str, Any]:
    """*args* with the paths under *names* in their plain form; *args* itself if they have that already."""
    changed = {name: plain for name in names if (plain := _plain(value := args.get(name), workspace)) != value}
    return {**args, **changed} if changed else args


def plain_path(path: str, workspace: str) -> str:
    """*path* without `.`, `..`, empty parts and a slash at its end; without the *workspace*, if it begins with that.

    A `..` that leads out of where the path begins stays. An empty path and a URL are left alone.
    """
    if not path or "://" in path:
        return path
    if path.startswith("/"):
        plain = full = f"/{normpath(path).lstrip('/')}"  # POSIX lets two slashes mean something else; Linux does not.
    else:
        plain, full = normpath(path), normpath(f"{workspace}/{path}")
    if full == workspace:
        return "."
    return full.removeprefix(f"{workspace}/") if full.startswith(f"{workspace}/") else plain


def _plain(value: Any, workspace: str) -> Any:
    if isinstance(value, str):
        return plain_path(value, workspace)
    return [_plain(item, workspace) for item in value] if isinstance(value, list) else value
