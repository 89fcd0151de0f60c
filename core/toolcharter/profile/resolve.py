"""Decides which file the name of a profile means.

A name means a whole profile, with all its parents. An agent may write below the current folder, and a cloned repository
fills it: a file there can have the name of an installed profile, and other files the names of its parents. Therefore

- a shipped profile finds its parents only among the shipped ones, and a plugin's profile only among the installed ones;
- no file replaces an installed profile: another file of its name is an error, unless it has the same text and the same
  parents, and then the installed one is read;
- the same holds for a profile of the same name in an upper folder of the repository: an agent that worked there may have
  written the nearer one.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from toolcharter.profile.find import (
    OWN_FOLDER,
    ProfileUnusable,
    canonical_location,
    canonical_path,
    files_of,
    installed_folders,
    is_name,
    not_found_error,
    read_bytes,
)
from toolcharter.profile.nodes import entries, items
from toolcharter.profile.parse import parse_yaml
from toolcharter.profile.schema import PARENT_PATTERN

MAX_CHAIN = 20
"""The most profiles in one chain of parents."""

# Not `normpath`: `..` after a link leads to the parent of the link's target.
_EMPTY_PARTS = re.compile(r"(?<=/)(?:\.?/)+")


def locate(
    profile: str | Path,
    search: Sequence[str | Path] = (),
    *,
    beside: str | None = None,
    own: str = OWN_FOLDER,
    depth: int = MAX_CHAIN,
) -> str:
    """Turn a profile's name or path into the path of its file.

    Args:
        profile: A bare name as text, or a path.
        search: The folders in which plugins ship profiles.
        beside: The file that names *profile* as its parent; relative paths start in its folder.
        own: The folder of the user's own profiles.
        depth: The most generations of parents that are compared.

    Raises:
        ProfileUnusable: No profile has this name, or different profiles have it.
    """
    here = None if beside is None else os.path.dirname(beside)
    if isinstance(profile, Path) or not is_name(profile):
        return str(profile) if here is None else _EMPTY_PARTS.sub("", os.path.join(here, profile))
    places = _folders_for(profile, installed_folders(search), here, own)
    if own in places and files_of(profile, [own]):
        places += _upper_folders(own)
    found = distinct_profiles(files_of(profile, places), search, depth)
    if not found:
        raise not_found_error(profile, places if here is None else [here or ".", *places])
    if len(found) > 1:
        raise ambiguous_name_error(profile, found)
    return found[0]


def distinct_profiles(files: Sequence[str], search: Sequence[str | Path] = (), depth: int = MAX_CHAIN) -> list[str]:
    """Return the *files* that are different profiles; among equal ones, prefer the installed one."""
    installed = {canonical_path(folder) for folder in installed_folders(search)}
    kept = list[str]()
    for file in sorted(files, key=lambda file: canonical_location(file)[0] not in installed):
        if not any(_is_same_profile(file, other, search, depth) for other in kept):
            kept.append(file)
    return [file for file in files if file in kept]


def ambiguous_name_error(name: str, files: Sequence[str]) -> ProfileUnusable:
    """Return the error that *name* means several different profiles."""
    listed = " and ".join(map(repr, files))
    return ProfileUnusable(
        f"the name {name!r} means different profiles: {listed}.",
        "Rename yours, or give the path of the one you mean. Two files are the same profile if they have the same text "
        "and the same parents.",
    )


def _folders_for(name: str, installed: list[str], here: str | None, own: str) -> list[str]:
    """Return the folders in which *name* is looked up; *here* is the folder of the profile that extends it."""
    if here is None:
        return [own, *installed]
    folder = canonical_path(here or ".")
    if folder == canonical_path(installed[0]):
        return [here]
    is_near = bool(files_of(name, [here]))
    if folder in map(canonical_path, installed):
        return [here, installed[0]] if is_near else installed
    return [here if is_near else own, *installed]


def _upper_folders(own: str) -> list[str]:
    """Return the folders named *own* in the upper folders of the repository, or of the outermost of nested ones."""
    place = Path(canonical_path(own)).parent
    upper = [place, *place.parents]
    # Not the innermost repository: an agent may have created one around the profile that it wrote.
    last = max((number for number, folder in enumerate(upper) if (folder / ".git").exists()), default=0)
    return [str(folder / os.path.basename(own)) for folder in upper[1 : last + 1]]


def _is_same_profile(first: str, second: str, search: Sequence[str | Path], depth: int) -> bool:
    """Whether two files are one profile: the same text, and the same parents, recursively."""
    places = canonical_location(first), canonical_location(second)
    if places[0] == places[1]:
        return True
    try:
        text = read_bytes(first)
        if depth == 0 or text != read_bytes(second):
            return False
        # The parents of a profile depend on its text and its folder.
        return places[0][0] == places[1][0] or all(
            _is_same_profile(
                locate(parent, search, beside=first, depth=depth - 1),
                locate(parent, search, beside=second, depth=depth - 1),
                search,
                depth - 1,
            )
            for parent in _parent_names(text, first)
        )
    except ProfileUnusable:
        return False


def _parent_names(text: bytes, file: str) -> list[str]:
    tree = parse_yaml(text.decode("utf-8-sig", "replace"), file, [])
    extends = None if tree is None else entries(tree).get("extends")
    named = [] if extends is None else [item.value for item in items(extends.node)]
    return [parent for parent in named if isinstance(parent, str) and re.fullmatch(PARENT_PATTERN, parent)]
