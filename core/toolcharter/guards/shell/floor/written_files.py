"""Files that a script writes or fetches: for each path, the content, or why running it is catastrophic."""

from posixpath import join, normpath
from typing import NamedTuple

from toolcharter.guards.shell.nodes import Command, Word

ANY_FOLDER = "*"
"""A path component that means any folder, where the script does not determine which."""


class WrittenFile(NamedTuple):
    """The content of a file."""

    why: str | None = None
    """Why running it is catastrophic, whatever its content is."""
    text: str | None = None
    """Its content, if the script contains it."""


class WrittenFiles(dict[str, WrittenFile]):
    """The content of files by path; a path that ends with a slash means everything below a folder."""

    def find(self, path: str) -> WrittenFile | None:
        """The content of the file at *path*; None if the script does not write it."""
        if path in self:
            return self[path]
        return next((self[one] for one in self if one.endswith("/") and _contains(one, path)), None)


def _contains(folder: str, path: str) -> bool:
    is_relative = not path.startswith(("/", "../"))
    if folder.endswith(f"{ANY_FOLDER}/"):
        above = folder[:-2]
        return path.startswith(above) and "/" in path[len(above) :] and (bool(above) or is_relative)
    return path.startswith(folder) or (folder == "./" and is_relative)


def resolve_path(word: Word | str, command: Command) -> str:
    """The path *word* of *command*, relative to the folder in which the script begins."""
    name = word if isinstance(word, str) else word.text or word.form.strip('"')
    folder = command.folders[0] if command.folders else "."
    return normpath(join(folder, name))
