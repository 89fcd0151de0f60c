"""Files that a script makes or brings: by their paths, why running them is catastrophic, or what they say."""

from posixpath import join, normpath
from typing import NamedTuple

from toolcharter.guards.shell.nodes import Command, Word

ANY_FOLDER = "*"
"""Stands for the folders below one, where nothing tells which of them is meant."""


class Made(NamedTuple):
    """What a file holds."""

    why: str | None = None
    """Why running it is catastrophic, whatever it says."""
    text: str | None = None
    """What it says, if that stands in the script."""


class MadeFiles(dict[str, Made]):
    """What files hold, by path; a path that ends in a slash stands for all that lies below a folder."""

    def of(self, path: str) -> Made | None:
        """What the file at *path* holds, if the script has made it."""
        if path in self:
            return self[path]
        return next((self[one] for one in self if one.endswith("/") and _holds(one, path)), None)


def _holds(folder: str, path: str) -> bool:
    is_relative = not path.startswith(("/", "../"))
    if folder.endswith(f"{ANY_FOLDER}/"):
        above = folder[:-2]
        return path.startswith(above) and "/" in path[len(above) :] and (bool(above) or is_relative)
    return path.startswith(folder) or (folder == "./" and is_relative)


def path_in(word: Word | str, command: Command) -> str:
    """The path that *command* means by *word*, as seen from where the script begins."""
    name = word if isinstance(word, str) else word.text or word.form.strip('"')
    folder = command.folders[0] if command.folders else "."
    return normpath(join(folder, name))
