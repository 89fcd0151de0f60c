"""The folders that a search walks: each glob's own folder, opened before the mark, with the globs to match there."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from toolcharter import OpenFolder, Paths, ToolError
from toolcharter_files.common import to_valid_text
from toolcharter_files.globs import MAX_GLOBS, Glob, InvalidGlob, compile_matcher, parse_glob

INVALID_GLOB = "invalid_glob"
EVERYTHING = Glob(".", "**", anchored=True)


class Scope(NamedTuple):
    """One folder and the globs to match below it."""

    folder: OpenFolder
    globs: tuple[Glob, ...]
    matches: Callable[[str], bool]

    def includes(self, name: str) -> bool:
        """Return whether *name*, relative to the folder, matches and is not protected."""
        return self.folder.shows(name) and self.matches(to_valid_text(name))

    def virtual(self) -> Iterator[str]:
        """Return the matching files that are not on the disk, relative to the folder."""
        return (name for name in self.folder.virtual() if self.matches(to_valid_text(name)))

    def path(self, name: str) -> str:
        """Return *name* as a path that `rt.paths` opens."""
        return name if self.folder.path == "." else f"{self.folder.path}/{name}"


def parse_all(globs: str | Sequence[str] | None) -> tuple[Glob, ...]:
    """Parse one glob or several. No glob at all means everything.

    Raises:
        ToolError: `invalid_glob`.
    """
    texts = [globs] if isinstance(globs, str) else list(globs or ())
    if len(texts) > MAX_GLOBS:
        raise ToolError(f"There are more than {MAX_GLOBS} globs.", reason=INVALID_GLOB)
    try:
        parsed = tuple(map(parse_glob, texts)) or (EVERYTHING,)
        compile_matcher(parsed)
    except InvalidGlob as error:
        raise ToolError(f"Invalid glob: {error}.", reason=INVALID_GLOB) from error
    return parsed


@contextmanager
def open_scopes(paths: Paths, path: str, globs: tuple[Glob, ...]) -> Generator[list[Scope]]:
    """Open the folder of each of *globs* below *path*; the folder of an absolute glob is not relative to *path*.

    Raises:
        Denied: A folder lies outside the workspace or is protected.
        ToolError: A folder is missing, or is not a folder.
    """
    by_folder: dict[str, list[Glob]] = {}
    for glob in globs:
        folder = glob.folder if glob.folder.startswith("/") else f"{path}/{glob.folder}"
        by_folder.setdefault(folder.removesuffix("/."), []).append(glob)
    with ExitStack() as stack:
        yield [
            Scope(stack.enter_context(paths.open_folder(folder)), tuple(each), compile_matcher(each))
            for folder, each in by_folder.items()
        ]
