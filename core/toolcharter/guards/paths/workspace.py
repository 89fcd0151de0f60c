"""`WorkspacePaths`: the path guard that tools reach as `rt.paths`."""

import os
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import NamedTuple

from toolcharter.guards.paths import faults, kernel
from toolcharter.guards.paths.held import FILE_FLAGS, FOLDER_FLAGS, HeldFile, HeldFolder, Root
from toolcharter.guards.paths.names import Parts, Protection, absolute_parts, below, check_text, split
from toolcharter.guards.paths.walk import Walk

PLANS = 256
"""How many recent paths one view keeps analysed."""


class Plan(NamedTuple):
    """A path, analysed as text: where to start, what to walk. Says nothing about what lies there."""

    root: Root
    parts: Parts
    encoded: bytes
    names: Parts
    """Where *parts* lead, if no link lies on the way."""
    shown: str
    """The same as results show it."""


class Openers(NamedTuple):
    """The kernel's openers, one for files and one for folders."""

    file: kernel.Open
    folder: kernel.Open


def kernel_openers() -> Openers:
    """What the kernel offers."""
    return Openers(kernel.opener(FILE_FLAGS), kernel.opener(FOLDER_FLAGS))


def walking_openers() -> Openers:
    """Nothing: every path is walked by `walk`."""
    return Openers(kernel.never, kernel.never)


class Roots:
    """The roots that all views of one workspace share, and the openers."""

    def __init__(self, workspace: str, openers: Callable[[], Openers]) -> None:
        self.workspace = Root(workspace)
        self._all = {workspace: self.workspace}
        self._closed = False
        self._make_openers = openers
        self._openers: Openers | None = None

    @property
    def openers(self) -> Openers:
        """Made on first use."""
        if self._openers is None:
            self._openers = self._make_openers()
        return self._openers

    def named(self, path: Path) -> Root:
        """The root at *path*, one object however often it is asked for."""
        if not path.is_absolute():
            raise ValueError(f"The read root {str(path)!r} is not an absolute path.")
        root = self._all.setdefault(str(path), Root(str(path)))
        if self._closed:
            root.close()
        return root

    def close(self) -> None:
        """Let go of every root."""
        self._closed = True
        for root in list(self._all.values()):
            root.close()


class View:
    """What may be opened of one workspace. Thread-safe."""

    def __init__(
        self, roots: Roots, read_roots: Sequence[Path], protected: Sequence[str], check: Callable[[], None]
    ) -> None:
        self._roots = roots
        self._read_roots = tuple(read_roots)
        self._reachable = (roots.workspace, *map(roots.named, read_roots))
        self._protection = Protection(protected)
        self._places: frozenset[Parts] | None = None
        self._check = check
        self._plan = lru_cache(PLANS)(self._analyse)

    def narrowed(self, *, read_roots: Sequence[Path] = (), protected: Sequence[str] = ()) -> "View":
        """The same workspace with further read roots and protected entries; opens nothing.

        The roots are shared: `close` on any view closes all of them.

        Raises:
            ValueError: A read root is relative or a protected entry protects nothing.
        """
        entries = (*self._protection.entries, *protected)
        return View(self._roots, (*self._read_roots, *read_roots), entries, self._check)

    def open_file(self, path: str) -> HeldFile:
        """Open a regular file for reading, without ever waiting for a writer.

        Raises:
            Denied: `path_outside_workspace`, `protected_path`.
            ToolError: `path_not_found`, `not_directory`, `is_directory`, `not_regular`,
                `invalid_path`, `read_failure`.
        """
        self._check()
        plan = self._plan(path)
        held = plan.root.held()  # a name of its own: it must live until the call is back
        fd = self._roots.openers.file(held.fd, plan.encoded)
        shown = plan.shown
        if fd < 0:
            fd, root, names = self._walk(path, plan, FILE_FLAGS)
            shown = self._shown(root, names)
        status = os.fstat(fd)
        if not S_ISREG(status.st_mode):
            os.close(fd)
            raise faults.is_directory(path) if S_ISDIR(status.st_mode) else faults.not_regular(path)
        return HeldFile(fd, shown, status.st_size, self._check)

    def open_folder(self, path: str = ".") -> HeldFolder:
        """Open a folder.

        Raises:
            Denied: `path_outside_workspace`, `protected_path`.
            ToolError: `path_not_found`, `not_directory`, `invalid_path`, `read_failure`.
        """
        self._check()
        plan = self._plan(path)
        held = plan.root.held()  # as above
        fd = self._roots.openers.folder(held.fd, plan.encoded)
        root, names = plan.root, plan.names
        if fd < 0:
            fd, root, names = self._walk(path, plan, FOLDER_FLAGS)
        shows, hidden = partial(self._shows, root, names), partial(self._patterns, root, names)
        return HeldFolder(fd, self._shown(root, names), shows, hidden, self._check)

    def close(self) -> None:
        """Let go of all roots; calls that still run finish with what they hold."""
        self._roots.close()

    def _analyse(self, path: str) -> Plan:
        check_text(path)
        root, parts = self._locate(path, path) if path.startswith("/") else (self._roots.workspace, split(path))
        if self._touches_protected(root, parts):
            raise faults.protected(path)
        names = _collapsed(parts)
        return Plan(root, parts, os.fsencode("/".join(parts)), names, self._shown(root, names))

    def _locate(self, target: str, path: str) -> tuple[Root, Parts]:
        parts = split(target)
        for root in self._reachable:
            rest = below(parts, root.given) or below(parts, root.canonical())
            if rest is not None:
                return root, rest
        # Named by the path asked for: where a link leads to outside is not the caller's business.
        raise faults.outside(path)

    def _walk(self, path: str, plan: Plan, flags: int) -> tuple[int, Root, Parts]:
        def check(root: Root, names: Sequence[str]) -> None:
            if self._covers(root, names):
                raise faults.protected(path)

        try:
            with Walk(path, plan.root, partial(self._locate, path=path), check) as walk:
                return walk.open(plan.parts, flags), walk.root, tuple(walk.names)
        except OSError as error:
            raise faults.from_os_error(error, path) from error

    def _shows(self, root: Root, names: Parts, name: str) -> bool:
        return not self._covers(root, (*names, *absolute_parts(name)))

    def _patterns(self, root: Root, names: Parts) -> tuple[str, ...]:
        return self._protection.patterns((*root.held().parts, *names), self._protected_places())

    def _touches_protected(self, root: Root, parts: Parts) -> bool:
        """Whether walking *parts* enters a protected place, be it only to leave it by `..`."""
        turns = [end for end, part in enumerate(parts) if part == ".." and parts[end - 1] != ".."]
        return any(self._covers(root, _collapsed(parts[:end])) for end in (*turns, len(parts)))

    def _covers(self, root: Root, names: Sequence[str]) -> bool:
        return self._protection.covers(root.held().parts, names, self._protected_places())

    def _protected_places(self) -> frozenset[Parts]:
        if self._places is None:
            self._places = self._protection.places(self._roots.workspace.held().canonical)
        return self._places

    def _shown(self, root: Root, names: Parts) -> str:
        if root is self._roots.workspace:
            return "/".join(names) or "."
        return "/" + "/".join((*root.held().parts, *names))


class WorkspacePaths(View):
    """Opens what lies beneath one workspace, and nothing else, whatever a path says.

    Args:
        root: The workspace. Opened on first use, not here, and held until `close`.
        read_roots: Absolute folders that may be read as well, by absolute paths or by links.
        protected: Name globs for every component of a resolved path, and paths of folders
            (absolute, or with a `/` below the workspace); see `Protection`.
        check: Called before every open and read, and for every name in a listing; raises to stop (the deadline of a call).
        openers: For tests: how the kernel is asked.

    Raises:
        ValueError: A read root is relative or a protected entry protects nothing.
    """

    def __init__(
        self,
        root: Path,
        *,
        read_roots: Sequence[Path] = (),
        protected: Sequence[str] = (),
        check: Callable[[], None] | None = None,
        openers: Callable[[], Openers] = kernel_openers,
    ) -> None:
        super().__init__(Roots(str(root), openers), read_roots, protected, check or _nothing)


def _collapsed(parts: Parts) -> Parts:
    names: list[str] = []
    for part in parts:
        if part == "..":
            del names[-1:]
        elif part != ".":
            names.append(part)
    return tuple(names)


def _nothing() -> None:
    """No deadline."""
