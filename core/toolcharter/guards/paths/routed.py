"""`RoutedPaths`: the `rt.paths` of a profile whose extensions provide virtual files, which lie on no disk.

The path guard checks every path first: a path that is outside, hidden or protected is refused, whether its file is
virtual or not. Then the extensions' routes are called, and only a path that no route takes is opened on the disk. If a
route fails, the call fails.
"""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from typing_extensions import override

from toolcharter.api.call import Ask
from toolcharter.api.paths import Entry, OpenFile, OpenFolder, OpenPlace, Paths, PlaceKind, PlaceUse
from toolcharter.api.virtual import VirtualFile, VirtualFolder
from toolcharter.errors import Denied, ToolcharterError, ToolError
from toolcharter.guards.paths import faults
from toolcharter.guards.paths.handles import Content
from toolcharter.guards.paths.locks import TouchedPath
from toolcharter.guards.paths.names import leads_above_start
from toolcharter.guards.paths.scope import PathPlan
from toolcharter.guards.paths.target import WriteGuard
from toolcharter.guards.paths.workspace import WorkspaceView

RouteResult = VirtualFile | VirtualFolder | None
Route = Callable[[str], RouteResult]
"""Returns the virtual file or folder at a path, or None for the disk.

The path is relative to the workspace, with `/` and without links; `.` is the workspace.
"""
MAX_BELOW = 100_000
"""How many virtual files may lie below one folder."""
MAX_DEPTH = 100


class RoutedPaths:
    """A view of a workspace with virtual files. Satisfies `Paths`.

    Args:
        disk: The view without virtual files.
        route: Finds the virtual file or folder at a path.
        require_approved: Refuses the current call if the user has to approve it and has not done so.
    """

    def __init__(self, disk: WorkspaceView, route: Route, require_approved: Callable[[Ask], object]) -> None:
        self._disk = disk
        self._route = route
        self._require_approved = require_approved

    def narrowed(
        self, *, read_roots: Sequence[Path] = (), protected: Sequence[str] = (), read_only: Sequence[str] = ()
    ) -> Paths:
        """As `WorkspaceView.narrowed`. A virtual file is protected by its name, like a file on the disk."""
        disk = self._disk.narrowed(read_roots=read_roots, protected=protected, read_only=read_only)
        return RoutedPaths(disk, self._route, self._require_approved)

    def changeable(self, path: str) -> bool:
        """As `WorkspaceView.changeable`: programs can change only files on the disk."""
        return self._disk.changeable(path)

    def open_file(self, path: str) -> OpenFile:
        """As `WorkspaceView.open_file`. A link may lead to a virtual file."""
        plan, answer = self._plan_and_route(path)
        if plan is None:
            return self._disk.open_file(path)
        if answer is None:
            file = self._disk.open_file(path)
            if file.path == plan.shown or file.path.startswith("/"):
                return file
            file.close()
            return self.open_file(file.path) if self.find_virtual(file.path) is not None else self._disk.open_file(path)
        if isinstance(answer, VirtualFolder):
            return self._disk.open_file(path)  # which raises the error for a folder
        _require_file(path)
        return VirtualOpenFile(plan.shown, _content(path, plan, answer))

    def open_folder(self, path: str = ".") -> OpenFolder:
        """As `WorkspaceView.open_folder`, including its virtual files."""
        plan, answer = self._plan_and_route(path)
        if plan is None:
            return self._disk.open_folder(path)
        if isinstance(answer, VirtualFile):
            raise faults.no_folder(path)
        try:
            disk = self._disk.open_folder(path)
        except ToolError as error:
            if answer is None or error.reason != "path_not_found" or not _entries(plan.shown, answer):
                raise
            return RoutedFolder(self, None, plan.shown, answer)
        if disk.path != plan.shown:
            answer = None if disk.path.startswith("/") else self.find_virtual(disk.path)
        return RoutedFolder(self, disk, disk.path, answer) if isinstance(answer, VirtualFolder) else disk

    def open_place(self, path: str, use: PlaceUse = "write") -> OpenPlace:
        """As `WorkspaceView.open_place`. A virtual file can be written or deleted, but not moved or replaced by a move.

        Raises:
            ToolError: `virtual_path`.
            Denied: `approval_unavailable`, if the user has to approve the change but was not asked.
        """
        plan, answer = self._plan_and_route(path)
        if plan is not None and isinstance(answer, VirtualFile):
            return self._place(path, plan, answer, use)
        if use != "make" and isinstance(answer, VirtualFolder) and _entries(path, answer):
            raise faults.is_directory(path) if use == "write" else faults.holds_virtual(path)
        place = self._disk.open_place(path, use)
        if plan is None or place.path == plan.shown or self.find_virtual(place.path) is None:
            return place
        place.close()
        return self.open_place(place.path, use)

    def _plan_and_route(self, path: str) -> tuple[PathPlan | None, RouteResult]:
        """Analyse *path*, and find the virtual file or folder there. The plan is None for a path in a read root."""
        plan = self._disk.plan_of(path)
        if plan is None:
            return None, None
        if leads_above_start(plan.parts):
            # Only the disk can resolve it; the caller then calls the route with the resolved path.
            return plan._replace(shown=""), None
        return plan, self.find_virtual(plan.shown)

    def find_virtual(self, path: str) -> RouteResult:
        """Return the virtual file or folder at *path*; None if there is none.

        Raises:
            ToolError: `route_failed`.
        """
        with _translate_errors(path):
            answer = self._route(path)
        if answer is None or isinstance(answer, VirtualFile | VirtualFolder):
            return answer
        raise faults.route_failed(path, f"its extension returned {type(answer).__name__}")

    def shows(self, path: str) -> bool:
        """Whether a virtual file at *path* is neither hidden nor protected."""
        try:
            return self._disk.plan_of(path) is not None
        except (Denied, ToolError):
            return False

    def _place(self, path: str, plan: PathPlan, file: VirtualFile, use: PlaceUse) -> "VirtualPlace":
        _require_file(path)
        if use in {"move", "receive"}:
            raise faults.virtual(path, "it cannot be moved, and nothing can be moved to it")
        guard = self._disk.guard_of(path, plan)
        with _translate_errors(path):
            exists = file.exists()
        before = _content(path, plan, file) if exists else None
        if use == "make":
            raise faults.exists(path) if exists else faults.virtual(path, "no folder can be made there")
        if use == "delete" and before is None:
            raise faults.missing(path)
        guard.check_leases([TouchedPath(plan.shown)])
        with _translate_errors(path):
            question = file.asks
        if question is not None:
            self._require_approved(question)
        return VirtualPlace(plan.shown, file, before, guard)


class JoinedFolder(VirtualFolder):
    """A folder in which several extensions keep files. If they share a name, the first extension's entry counts."""

    def __init__(self, folders: Sequence[VirtualFolder]) -> None:
        self._folders = folders

    @override
    def entries(self) -> Iterator[Entry]:
        """The entries of all the folders."""
        found: dict[str, Entry] = {}
        for folder in self._folders:
            for one in folder.entries():
                found.setdefault(one.name, one)
        return iter(found.values())


class _PathContext:
    """A context manager without resources to release."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def close(self) -> None:
        """Do nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class VirtualOpenFile(_PathContext):
    """The content of a virtual file. Satisfies `OpenFile`."""

    __slots__ = ("_data", "_fd", "size")

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.size = len(data)
        self._data = data
        self._fd = -1

    def fileno(self) -> int:
        """A descriptor of a copy in memory, which the object closes."""
        if self._fd < 0:
            self._fd = os.memfd_create("virtual", os.MFD_CLOEXEC)
            os.write(self._fd, self._data)
            os.lseek(self._fd, 0, os.SEEK_SET)
        return self._fd

    def read(self, max_bytes: int, offset: int = 0) -> bytes:
        """Return at most *max_bytes* from *offset*; nothing at the end of the file."""
        return self._data[offset : offset + max_bytes]

    def close(self) -> None:
        """Close the descriptor; a second time does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()


class RoutedFolder(_PathContext):
    """A folder that contains virtual files and may be virtual itself. Satisfies `OpenFolder`."""

    def __init__(self, paths: RoutedPaths, disk: OpenFolder | None, path: str, answer: VirtualFolder) -> None:
        super().__init__(path)
        self._paths = paths
        self._disk = disk
        self._answer = answer

    def fileno(self) -> int:
        """The descriptor of the folder on the disk.

        Raises:
            ToolError: `path_not_found`, if the folder is virtual.
        """
        if self._disk is None:
            raise faults.not_on_disk(self.path)
        return self._disk.fileno()

    def is_on_disk(self) -> bool:
        """Whether the folder lies on the disk, too."""
        return self._disk is not None

    def shows(self, name: str, content: Content = "present") -> bool:
        """As `HeldFolder.shows`, for files on the disk. False if a virtual file replaces the file on the disk."""
        return self._disk is not None and self._disk.shows(name, content) and not self._is_virtual_file(name)

    def hidden(self) -> tuple[str, ...]:
        """As `HeldFolder.hidden`."""
        return () if self._disk is None else self._disk.hidden()

    def entries(self) -> Iterator[Entry]:
        """The entries on the disk and the virtual entries, sorted by name."""
        on_disk = () if self._disk is None else self._disk.entries()
        found = {one.name: one for one in on_disk if not self._is_virtual_file(one.name)}
        for one in _entries(self.path, self._answer):
            if self._paths.shows(self._below(one.name)) and not (one.kind == "folder" and one.name in found):
                found[one.name] = one
        return iter(sorted(found.values(), key=lambda entry: entry.name))

    def virtual(self) -> Iterator[str]:
        """Yield the virtual files at any depth below the folder, relative to it.

        Raises:
            ToolError: `route_failed`, for more than `MAX_BELOW`.
        """
        for count, name in enumerate(self._virtual("", self._answer, 0)):
            if count >= MAX_BELOW:
                raise faults.route_failed(self.path, f"its extension lists more than {MAX_BELOW} files")
            yield name

    def close(self) -> None:
        """Close the folder on the disk."""
        if self._disk is not None:
            self._disk.__exit__(None, None, None)

    def _virtual(self, prefix: str, folder: VirtualFolder, depth: int) -> Iterator[str]:
        for one in sorted(_entries(self.path, folder)):
            name = f"{prefix}{one.name}"
            if one.kind == "file":
                if self._paths.shows(self._below(name)):
                    yield name
            elif depth < MAX_DEPTH:
                answer = self._paths.find_virtual(self._below(name))
                if isinstance(answer, VirtualFolder):
                    yield from self._virtual(f"{name}/", answer, depth + 1)

    def _is_virtual_file(self, name: str) -> bool:
        return isinstance(self._paths.find_virtual(self._below(name)), VirtualFile)

    def _below(self, name: str) -> str:
        return name if self.path == "." else f"{self.path}/{name}"


class VirtualPlace(_PathContext):
    """The place of a virtual file, which may not exist yet. Satisfies `OpenPlace`."""

    def __init__(self, path: str, file: VirtualFile, before: bytes | None, guard: WriteGuard) -> None:
        super().__init__(path)
        self.kind: PlaceKind = "missing" if before is None else "file"
        self.size = len(before or b"")
        self._file = file
        self._before = before
        self._guard = guard

    def read(self, max_bytes: int) -> bytes:
        """Return at most *max_bytes* from the file's beginning."""
        return (self._before or b"")[:max_bytes]

    def below(self) -> Iterator[str]:
        """Always empty: it is no folder."""
        return iter(())

    def write(self, data: bytes, *, append: bool = False) -> None:
        """Replace the file's content by *data*, or append *data* to it, atomically.

        Raises:
            ToolError: `changed_meanwhile`, `route_failed`, or an error of the extension.
        """
        with self._changing():
            self._file.write((self._before or b"") + data if append else data, self._before)

    def delete(self) -> None:
        """Delete the file. Raises as `write` does."""
        with self._changing():
            self._file.delete(self._before or b"")

    def move(self, target: OpenPlace) -> None:
        """Refuse to move a virtual file.

        Raises:
            ToolError: `virtual_path`, always.
        """
        raise faults.virtual(self.path, f"it cannot be moved to {target.path!r}")

    def make_folder(self) -> None:
        """Refuse to make a folder.

        Raises:
            ToolError: `virtual_path`, always.
        """
        raise faults.virtual(self.path, "no folder can be made there")

    @contextmanager
    def _changing(self) -> Generator[None]:
        self._guard.mark_acting()
        with self._guard.lock_leases([TouchedPath(self.path)], exclusive=False), _translate_errors(self.path):
            try:
                yield
            except NotImplementedError as error:
                raise faults.read_only(self.path) from error
        self._guard.after_change()


@contextmanager
def _translate_errors(path: str) -> Generator[None]:
    """Turn an extension's exception into an error of the call, so that a failure never falls back to the disk."""
    try:
        yield
    except ToolcharterError:
        raise
    except Exception as error:
        raise faults.route_failed(path, f"its extension raised {type(error).__name__}") from error


def _content(path: str, plan: PathPlan, file: VirtualFile) -> bytes:
    with _translate_errors(path):
        data = file.read()
    if not isinstance(data, bytes):
        raise faults.route_failed(path, f"its extension returned {type(data).__name__}, not bytes")
    if any(text in data for text in plan.conditions):
        raise faults.hidden(path)
    return data


def _entries(path: str, folder: VirtualFolder) -> list[Entry]:
    with _translate_errors(path):
        found = list(folder.entries())
    if not all(isinstance(one, Entry) for one in found):
        raise faults.route_failed(path, "its extension lists objects other than entries")
    return found


def _require_file(path: str) -> None:
    if path.endswith(("/", "/.")):
        raise faults.no_folder(path)
