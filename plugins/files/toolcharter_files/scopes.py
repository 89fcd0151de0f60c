"""Where a search goes: each glob's own folder, opened before the mark, and what it looks for there."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from toolcharter import OpenFolder, Paths, ToolError
from toolcharter_files.common import representable
from toolcharter_files.globs import MAX_GLOBS, Glob, InvalidGlob, matcher, parse

INVALID_GLOB = "invalid_glob"
EVERYTHING = Glob(".", "**", anchored=True)


class Scope(NamedTuple):
    """One folder and the globs that are looked for below it."""

    folder: OpenFolder
    globs: tuple[Glob, ...]
    matches: Callable[[str], bool]

    def takes(self, name: str) -> bool:
        """Whether *name*, relative to the folder, is wanted and not protected."""
        return self.folder.shows(name) and self.matches(representable(name))

    def virtual(self) -> Iterator[str]:
        """What is wanted of the files that lie on no disk, relative to the folder."""
        return (name for name in self.folder.virtual() if self.matches(representable(name)))

    def path(self, name: str) -> str:
        """*name* as a path that `rt.paths` opens."""
        return name if self.folder.path == "." else f"{self.folder.path}/{name}"


def parse_all(globs: str | Sequence[str] | None) -> tuple[Glob, ...]:
    """One glob or several; none stand for everything.

    Raises:
        ToolError: `invalid_glob`.
    """
    texts = [globs] if isinstance(globs, str) else list(globs or ())
    if len(texts) > MAX_GLOBS:
        raise ToolError(f"There are more than {MAX_GLOBS} globs.", reason=INVALID_GLOB)
    try:
        parsed = tuple(map(parse, texts)) or (EVERYTHING,)
        matcher(parsed)
    except InvalidGlob as error:
        raise ToolError(f"Invalid glob: {error}.", reason=INVALID_GLOB) from error
    return parsed


@contextmanager
def scopes(paths: Paths, path: str, globs: tuple[Glob, ...]) -> Generator[list[Scope]]:
    """Open the folder of each of *globs* below *path*; an absolute glob stands for itself.

    Raises:
        Denied: A folder lies outside or is protected.
        ToolError: One is missing, or no folder.
    """
    by_folder: dict[str, list[Glob]] = {}
    for glob in globs:
        folder = glob.folder if glob.folder.startswith("/") else f"{path}/{glob.folder}"
        by_folder.setdefault(folder.removesuffix("/."), []).append(glob)
    with ExitStack() as stack:
        yield [
            Scope(stack.enter_context(paths.open_folder(folder)), tuple(each), matcher(each))
            for folder, each in by_folder.items()
        ]
