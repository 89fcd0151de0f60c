"""`WorkspacePaths`: the path guard that tools use as `rt.paths`."""

import errno
import os
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG

from toolcharter.api.paths import PlaceUse
from toolcharter.guards.inventory import Inventory
from toolcharter.guards.paths import faults
from toolcharter.guards.paths.git_dirs import REPOSITORY_NAMES, is_repository, lies_in_repository
from toolcharter.guards.paths.handles import FILE_FLAGS, FOLDER_FLAGS, Content, HeldFile, HeldFolder, Root
from toolcharter.guards.paths.hidden import HiddenNames, hidden_link_detector, holds_any
from toolcharter.guards.paths.locks import WorkspaceLeases
from toolcharter.guards.paths.names import Parts, Protection, absolute_parts, below, check_text, collapse, fold, split
from toolcharter.guards.paths.place_walk import PlaceWalk, WriteLocation, lstat_or_none
from toolcharter.guards.paths.roots import Openers, Roots, kernel_openers
from toolcharter.guards.paths.scope import PathPlan, Scope
from toolcharter.guards.paths.target import MAX_DEPTH, READ_ONLY, WriteGuard, WriteTarget, no_leases, no_lock
from toolcharter.guards.paths.uses import CREATING_USES, FOLLOWING_USES, check_use
from toolcharter.guards.paths.walk import Walk
from toolcharter.profile.settings import HiddenGlob

_NO_FOLDER = OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
PLANS = 256
"""For how many recent paths one view caches its analysis."""


class WorkspaceView:
    """One set of rules for opening files of a workspace. Thread-safe."""

    def __init__(self, roots: Roots, scope: Scope) -> None:
        self._roots = roots
        self._scope = scope
        self._reachable = (roots.workspace, *map(roots.root_at, scope.read_roots))
        kept = scope.inventory
        self._protection = Protection(scope.protected, kept.sealed)
        self._write_protection = Protection(
            (*scope.protected, *scope.read_only, *kept.records), (*kept.places, *kept.repositories)
        )
        self._places: frozenset[Parts] | None = None
        self._check = scope.check
        self._plan = lru_cache(PLANS)(self._analyse)

    def narrowed(
        self, *, read_roots: Sequence[Path] = (), protected: Sequence[str] = (), read_only: Sequence[str] = ()
    ) -> "WorkspaceView":
        """Return a view of the same workspace with additional read roots and protected entries. Opens no file.

        The views share their roots: `close` on any view closes all of them.

        Raises:
            ValueError: A read root is relative or a protected entry protects nothing.
        """
        old = self._scope
        scope = old._replace(
            read_roots=(*old.read_roots, *read_roots),
            protected=(*old.protected, *protected),
            read_only=(*old.read_only, *read_only),
        )
        return WorkspaceView(self._roots, scope)

    def writable(
        self,
        mark_acting: Callable[[], None],
        leases: WorkspaceLeases | None = None,
        after_change: Callable[[], None] = lambda: None,
    ) -> "WorkspaceView":
        """Return the same view with permission to write.

        Args:
            mark_acting: Called before each change; raises to refuse it.
            leases: Refuses paths that other owners hold, when a place is opened and when it is changed.
            after_change: Called after each change.
        """
        check, lock = (no_leases, no_lock) if leases is None else (leases.check, leases.lock_for_write)
        guard = WriteGuard(mark_acting, check, lock, after_change)
        return WorkspaceView(self._roots, self._scope._replace(write_guard=guard))

    def open_file(self, path: str) -> HeldFile:
        """Open a regular file for reading. Never waits for a writer, as opening a FIFO would.

        Raises:
            Denied: `path_outside_workspace`, `protected_path`.
            ToolError: `path_not_found`, `not_directory`, `is_directory`, `not_regular`,
                `invalid_path`, `read_failure`.
        """
        self._check()
        plan = self._plan(path)
        # Keep a reference: if another thread closes the root now, the descriptor must survive the system call.
        held = plan.root.ensure_open()
        fd = self._roots.openers.file(held.fd, plan.encoded)
        shown, conditions = plan.shown, plan.conditions
        if fd < 0:
            fd, root, names = self._walk(path, plan, FILE_FLAGS)
            shown, conditions = self._shown(root, names), (*conditions, *self._scope.hidden.conditions(names))
        status = os.fstat(fd)
        if not S_ISREG(status.st_mode):
            os.close(fd)
            raise faults.is_directory(path) if S_ISDIR(status.st_mode) else faults.not_regular(path)
        file = HeldFile(fd, shown, status.st_size, self._check)  # closes itself if an error is raised below
        if (conditions and holds_any(fd, conditions)) or (status.st_nlink > 1 and self._scope.hard_links.has(status)):
            raise faults.hidden(path)
        return file

    def open_folder(self, path: str = ".") -> HeldFolder:
        """Open a folder.

        Raises:
            Denied: `path_outside_workspace`, `protected_path`.
            ToolError: `path_not_found`, `not_directory`, `invalid_path`, `read_failure`.
        """
        self._check()
        plan = self._plan(path)
        held = plan.root.ensure_open()  # as above
        fd = self._roots.openers.folder(held.fd, plan.encoded)
        root, names = plan.root, plan.names
        if fd < 0:
            fd, root, names = self._walk(path, plan, FOLDER_FLAGS)
        shows, hidden = partial(self._is_shown, root, names), partial(self._patterns, root, names)
        return HeldFolder(fd, self._shown(root, names), shows, hidden, self._check)

    def open_place(self, path: str, use: PlaceUse = "write") -> WriteTarget:
        """Find the place of a change beneath the workspace, and hold its folder open. Changes nothing.

        Args:
            path: For `write` and `make`, a link at its end is followed; `delete`, `move` and `receive` act on the link
                itself.
            use: The change for which the place is opened.

        Raises:
            Denied: `path_outside_workspace`, also below a read root; `protected_path`, even if the path does not exist
                yet; `hard_link`; `path_locked`, `locks_unavailable`.
            ToolError: `path_not_found`, `path_exists`, `not_directory`, `is_directory`, `not_regular`, `not_empty`,
                `invalid_path`, `write_failure`, `read_failure`.
        """
        self._check()
        plan = self._plan(path)
        if plan.root is not self._roots.workspace:
            raise faults.outside(path)
        found = self._find(path, plan, follows=True) if use in FOLLOWING_USES else self._find_unfollowed(path, plan)
        place = WriteTarget(found, self._shown(found.root, found.place), self._check, self._scope.write_guard)
        try:
            self._require_writable(use, found, path)
            check_use(use, found, path)
            if use == "move":
                self._require_movable(place, found, path)
            if use != "make" or place.kind == "missing":
                self._scope.write_guard.check_leases(place.touched())
        except BaseException:
            place.close()
            raise
        return place

    def changeable(self, path: str, *, with_below: bool = True) -> bool:
        """Whether no protected place is at or above *path*, which may be absolute, or, *with_below*, below it."""
        held = self._roots.workspace.ensure_open()
        full = os.path.join(held.canonical, path)
        names = {below(absolute_parts(each), held.parts) for each in (os.path.normpath(full), os.path.realpath(full))}
        concerned = self._write_protection.overlaps if with_below else self._write_protection.covers
        parts = [tuple(part for part in name if part != ".") for name in names if name is not None]
        if any(concerned(held.parts, each, self._write_protected_places) for each in parts):
            return False
        return not any(self._shadows(each, with_below=with_below) for each in parts)

    def plan_of(self, path: str) -> PathPlan | None:
        """Analyse *path* as text, for virtual files. Returns None if it does not lie in the workspace.

        Raises:
            Denied: `path_outside_workspace`, `protected_path`.
            ToolError: `invalid_path`.
        """
        self._check()
        plan = self._plan(path)
        return plan if plan.root is self._roots.workspace else None

    def guard_of(self, path: str, plan: PathPlan) -> WriteGuard:
        """Return the callbacks around a change of a virtual file.

        Raises:
            Denied: `protected_path`.
        """
        if self._write_protection.covers(plan.root.ensure_open().parts, plan.names, self._write_protected_places):
            raise faults.read_only(path)
        return self._scope.write_guard

    def close(self) -> None:
        """Close all roots. Calls that still run finish with the descriptors that they hold."""
        self._roots.close()

    def _analyse(self, path: str) -> PathPlan:
        check_text(path)
        root, parts = self._locate(path, path) if path.startswith("/") else (self._roots.workspace, split(path))
        names = collapse(parts)
        if self._touches_protected(root, parts):
            raise faults.hidden(path) if self._scope.hidden.covers(names) else faults.protected(path)
        conditions = self._scope.hidden.conditions(names)
        return PathPlan(root, parts, os.fsencode("/".join(parts)), names, self._shown(root, names), conditions)

    def _locate(self, target: str, path: str) -> tuple[Root, Parts]:
        parts = split(target)
        for root in self._reachable:
            rest = below(parts, root.given_parts) or below(parts, root.canonical_parts())
            if rest is not None:
                return root, rest
        # Name the requested path: a link's target outside the workspace must not be revealed to the caller.
        raise faults.outside(path)

    def _walk(self, path: str, plan: PathPlan, flags: int) -> tuple[int, Root, Parts]:
        locate, check = partial(self._locate, path=path), partial(self._require_unprotected, path)
        try:
            with Walk(path, plan.root, locate, check) as walk:
                return walk.open(plan.parts, flags), walk.root, tuple(walk.names)
        except OSError as error:
            raise faults.from_os_error(error, path) from error

    def _find(self, path: str, plan: PathPlan, *, follows: bool) -> WriteLocation:
        locate, check = partial(self._locate_in_workspace, path=path), partial(self._require_unprotected, path)
        try:
            found = self._find_without_links(plan)
            if found is not None:
                if not (follows and found.status is not None and S_ISLNK(found.status.st_mode)):
                    return found
                os.close(found.folder)
            with PlaceWalk(path, plan.root, locate, check, follows=follows) as walk:
                return walk.find(plan.parts)
        except OSError as error:
            raise faults.from_os_error(error, path) from error

    def _find_unfollowed(self, path: str, plan: PathPlan) -> WriteLocation:
        """Find the entry of the last name, which may be a link. A slash at the end requires a folder, not a link."""
        *parts, last = plan.parts
        if last == ".." and parts:
            raise faults.invalid(path, "ends in '..'; name the folder itself")
        if last != "." or not parts:
            return self._find(path, plan, follows=False)
        found = self._find_unfollowed(path, plan._replace(parts=tuple(parts)))
        if found.status is None or S_ISDIR(found.status.st_mode):
            return found
        os.close(found.folder)
        is_link = S_ISLNK(found.status.st_mode)
        raise faults.behind_link(path) if is_link else faults.from_os_error(_NO_FOLDER, path)

    def _find_without_links(self, plan: PathPlan) -> WriteLocation | None:
        """Find the place if its folder exists and no link lies on the way; otherwise return None."""
        *folders, name = plan.parts
        if name in {".", ".."}:
            return None
        held = plan.root.ensure_open()  # keep a reference, as above
        fd = self._roots.openers.parent(held.fd, os.fsencode("/".join(folders) or "."))
        if fd < 0:
            return None
        try:
            return WriteLocation(fd, plan.root, plan.names[:-1], (), name, lstat_or_none(fd, name))
        except BaseException:
            os.close(fd)
            raise

    def _require_unprotected(self, path: str, root: Root, names: Sequence[str]) -> None:
        if self._is_protected(root, names):
            raise faults.hidden(path) if self._scope.hidden.covers(names) else faults.protected(path)

    def _require_writable(self, use: PlaceUse, found: WriteLocation, path: str) -> None:
        """Refuse a protected or hidden place and, except for `make`, a place with a protected place below it."""
        base, places = found.root.ensure_open().parts, self._write_protected_places
        if self._is_hidden_by_content(found.root, found.place):
            raise faults.hidden(path)
        if self._write_protection.covers(base, found.place, places):
            raise faults.read_only(path)
        if use != "make" and self._write_protection.holds(base, found.place, places):
            raise faults.read_only(path)
        if use in CREATING_USES and self._shadows(found.place, with_below=use != "make"):
            raise faults.shadows(path)
        if len(found.missing) > MAX_DEPTH:
            raise faults.unwritable(path, f"lies more than {MAX_DEPTH} missing folders deep")
        try:
            denied = lies_in_repository(found.folder, len(found.names), (*found.missing, found.name)[0])
        except OSError as error:
            raise faults.from_os_error(error, path) from error
        if denied:
            raise faults.in_repository(path)

    def _shadows(self, names: Parts, *, with_below: bool) -> bool:
        kept = self._scope.inventory
        return bool(kept.importing) and kept.shadows(tuple(map(fold, names)), with_below=with_below)

    def _require_movable(self, place: WriteTarget, found: WriteLocation, path: str) -> None:
        base = (*found.root.ensure_open().parts, *found.place)
        held: dict[str, set[str]] = {}
        for name in place.below():
            if self._write_protection.covers(base, absolute_parts(name), self._write_protected_places):
                raise faults.read_only(f"{path}/{name}")
            if not self._is_shown(found.root, found.place, name):
                raise faults.hidden(f"{path}/{name}")
            folder, _, last = name.rpartition("/")
            if last in REPOSITORY_NAMES:
                held.setdefault(folder, set()).add(last)
        if any(is_repository(names.__contains__) for names in held.values()):
            raise faults.in_repository(path)

    @cached_property
    def _write_protected_places(self) -> frozenset[Parts]:
        return self._write_protection.places(self._roots.workspace.ensure_open().canonical)

    def _locate_in_workspace(self, target: str, path: str) -> tuple[Root, Parts]:
        root, parts = self._locate(target, path)
        if root is not self._roots.workspace:
            raise faults.outside(path)
        return root, parts

    def _is_shown(self, root: Root, names: Parts, name: str, content: Content = "present") -> bool:
        parts = (*names, *absolute_parts(name))
        if self._is_protected(root, parts) or self._scope.hard_links.has_below(root.ensure_open().fd, parts):
            return False
        if content == "any":
            return not self._scope.hidden.conditions(parts)
        return not self._is_hidden_by_content(root, parts)

    def _is_hidden_by_content(self, root: Root, names: Parts) -> bool:
        """Whether the content of the file at *names*, without links, hides it. False if no file can be opened there."""
        conditions = self._scope.hidden.conditions(names)
        if not conditions:
            return False
        held = root.ensure_open()  # keep a reference, as above
        if (fd := self._roots.openers.file(held.fd, os.fsencode("/".join(names)))) < 0:
            return False
        try:
            return S_ISREG(os.fstat(fd).st_mode) and holds_any(fd, conditions)
        finally:
            os.close(fd)

    def _patterns(self, root: Root, names: Parts) -> tuple[str, ...]:
        return self._protection.patterns((*root.ensure_open().parts, *names), self._protected_places())

    def _touches_protected(self, root: Root, parts: Parts) -> bool:
        """Whether walking *parts* enters a protected place, even if `..` leaves it again."""
        turns = [end for end, part in enumerate(parts) if part == ".." and parts[end - 1] != ".."]
        return any(self._is_protected(root, collapse(parts[:end])) for end in (*turns, len(parts)))

    def _is_protected(self, root: Root, names: Sequence[str]) -> bool:
        places = self._protected_places()
        return self._scope.hidden.covers(names) or self._protection.covers(root.ensure_open().parts, names, places)

    def _protected_places(self) -> frozenset[Parts]:
        if self._places is None:
            self._places = self._protection.places(self._roots.workspace.ensure_open().canonical)
        return self._places

    def _shown(self, root: Root, names: Parts) -> str:
        own = root is self._roots.workspace
        path = ("/".join(names) or ".") if own else "/" + "/".join((*root.ensure_open().parts, *names))
        # Links may lead to names that are not Unicode, which results and events cannot contain.
        return path if path.isascii() else path.encode(errors="surrogateescape").decode(errors="replace")


class WorkspacePaths(WorkspaceView):
    """Opens files and folders beneath one workspace, and nothing else. Only the views from `writable` change files.

    Args:
        root: The workspace. Opened on first use, not here, and kept open until `close`.
        read_roots: Absolute folders that may be read as well, by absolute paths or by links.
        protected: Name globs for every component of a resolved path, and paths of folders
            (absolute, or with a `/` below the workspace); see `Protection`.
        read_only: The same, for files that may be read but never changed.
        hidden: The profile's hidden names, which are refused like protected ones.
        inventory: Further places that must never be changed or, if sealed, read.
        check: Called before every open and read, and for every name in a listing; raises at the call's deadline.
        openers: Returns the functions that open files. Replaced in tests.

    Raises:
        ValueError: A read root is relative or a protected entry protects nothing.
    """

    def __init__(
        self,
        root: Path,
        *,
        read_roots: Sequence[Path] = (),
        protected: Sequence[str] = (),
        read_only: Sequence[str] = (),
        hidden: Sequence[HiddenGlob] = (),
        inventory: Inventory | None = None,
        check: Callable[[], None] | None = None,
        openers: Callable[[], Openers] = kernel_openers,
    ) -> None:
        roots, names = Roots(str(root), openers), HiddenNames(hidden)
        scope = Scope(
            inventory or Inventory(root, ()),
            tuple(read_roots),
            tuple(protected),
            tuple(read_only),
            check or (lambda: None),
            READ_ONLY,
            names,
            hidden_link_detector(lambda: roots.workspace.ensure_open().canonical, names),
        )
        super().__init__(roots, scope)
