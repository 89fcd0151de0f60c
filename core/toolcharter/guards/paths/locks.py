"""Leases on paths, shared by all processes of one user that work in one workspace: a small SQLite file, and a flock.

The SQLite file lies in the user's state folder, where no tool can write. If it is missing, no path has ever been
leased, and a write needs no other check. Expired leases do not count.

A writer holds a shared lock (flock) on the workspace's folder from its last check of the leases to the end of the
change. Granting a lease takes an exclusive lock, so no lease, not even the first ever, is granted during a write.
Making a file that could complete a git repository takes an exclusive lock, too, so no other part of it is added
meanwhile.
"""

import fcntl
import os
import secrets
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache, lru_cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from time import monotonic, sleep, time
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import orjson

from toolcharter._lazy import lazy
from toolcharter.api.call import Caller
from toolcharter.api.leases import Claim, Lease
from toolcharter.api.reasons import GuardReason, Reason
from toolcharter.errors import Denied, ToolError
from toolcharter.guards.paths.faults import quote_path
from toolcharter.guards.paths.handles import FOLDER_FLAGS
from toolcharter.guards.state_folder import state_path

if TYPE_CHECKING:
    import sqlite3
    from sqlite3 import Connection
else:
    sqlite3 = lazy("sqlite3")

MAX_LEASES = 1024
"""How many leases all owners together may hold."""
WAIT_S = 5.0
"""How long to wait at most for the flock or for the SQLite file, in seconds. A call with less time left waits less."""
_PAUSE_S = 0.001
_MAX_BYTES = 1 << 20
"""How much memory one expression may take. A write may have to match its path against two thousand of them."""
_SCHEMA = """CREATE TABLE IF NOT EXISTS leases (token TEXT NOT NULL, name TEXT NOT NULL, paths TEXT NOT NULL,
    folders TEXT NOT NULL, owner TEXT NOT NULL, holder TEXT NOT NULL, expires REAL NOT NULL)"""
_SELECT_OTHERS = """SELECT name, holder, expires, paths, folders FROM leases
    WHERE owner <> ? AND expires > ? ORDER BY rowid"""


class TouchedPath(NamedTuple):
    """A path that a change touches, alone or with everything below it."""

    path: str
    below: bool = False


class Owner(NamedTuple):
    """The holder of a lease: a caller that identifies itself, otherwise this process."""

    key: str
    shown: str


def owner_of(caller: Caller) -> Owner:
    """Return the owner of a caller's leases."""
    if caller.agent or caller.session or caller.tenant:
        tenant = [caller.tenant] if caller.tenant else []
        key = orjson.dumps([caller.user, caller.project, caller.agent, caller.session, *tenant]).decode()
        return Owner(key, f"agent {caller.agent!r}" if caller.agent else "another session")
    return Owner(_process_key(os.getpid()), "another process")


@cache
def _process_key(number: int) -> str:
    return f"process {number} {secrets.token_hex(8)}"  # another process may get the number later


class _StoredLease(NamedTuple):
    """A lease of another owner, as it is stored."""

    lease: Lease
    paths: str
    folders: str

    def conflicts_with(self, touched: TouchedPath) -> bool:
        # Bytes that are not Unicode cannot be part of an expression, but `*` has to match them.
        path = touched.path.encode(errors="surrogateescape").decode(errors="replace")
        return _matches(self.paths, path) or (touched.below and _matches(self.folders, path))


class WorkspaceLeases:
    """The leases of one workspace. Opens the file for each use and keeps nothing.

    Args:
        workspace: A real path.
        caller: Returns the caller of the current call.
        deadline: Returns the end of the current call, on `time.monotonic`'s clock, in seconds.
    """

    def __init__(self, workspace: Path, caller: Callable[[], Caller], deadline: Callable[[], float]) -> None:
        self._workspace = workspace
        self._caller = caller
        self._deadline = deadline
        self._name = f"{sha256(os.fsencode(workspace)).hexdigest()[:32]}.leases"

    @property
    def path(self) -> Path:
        """The path of the SQLite file, which may not exist."""
        return Path(self._location())

    def _location(self) -> str:
        return _leases_file(os.environ.get("XDG_STATE_HOME", ""), os.getuid(), self._name)

    def others(self) -> list[Lease]:
        """Return the leases of other owners."""
        if not self._exists():
            return []
        with self._flock(fcntl.LOCK_SH):
            return [held.lease for held in self._leases_of_others()]

    def check(self, touched: Sequence[TouchedPath]) -> None:
        """Refuse a change if it touches a path that another owner holds.

        Raises:
            Denied: `path_locked`, `locks_unavailable`.
        """
        if self._exists():
            with self._flock(fcntl.LOCK_SH):
                self._require_free(touched)

    @contextmanager
    def lock_for_write(self, touched: Sequence[TouchedPath], *, exclusive: bool = False) -> Generator[None]:
        """Like `check`, but no lease is granted until the context ends, so the check stays valid during the write.

        If *exclusive*, no other caller writes in the meantime, either.
        """
        with self._flock(fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH):
            if self._exists():
                self._require_free(touched)
            yield

    def require_free(self, path: str, *, below: bool = False) -> None:
        """Refuse *path*, with everything *below* it, if another owner holds a part of it."""
        self.check((TouchedPath(path, below),))

    def acquire(
        self, claims: Sequence[Claim], ttl_s: float, in_the_way: Callable[[list[Lease]], list[Lease]]
    ) -> tuple[str, list[Lease]]:
        """Acquire all of *claims* or none of them; see `toolcharter.Leases`."""
        for claim in claims:
            _require_readable(claim)
        owner, token = owner_of(self._caller()), f"lock-{secrets.token_hex(4)}"
        with self._flock(fcntl.LOCK_EX), self._open_database(create=True) as file:
            now = time()
            file.execute("BEGIN IMMEDIATE")
            file.execute("DELETE FROM leases WHERE expires <= ?", (now,))
            conflicts = in_the_way([held.lease for held in _read_leases_of_others(file, owner, now)])
            if not conflicts:
                _require_room(file, len(claims))
                rows = [(token, *claim, *owner, now + ttl_s) for claim in claims]
                file.executemany("INSERT INTO leases VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            file.execute("COMMIT")
        return ("", conflicts) if conflicts else (token, [])

    def release(self, tokens: Sequence[str] | None = None) -> list[str]:
        """Release the caller's leases that *tokens* identify, or all of them, and return their names."""
        if not self._exists():
            return []
        with self._open_database() as file:
            file.execute("BEGIN IMMEDIATE")
            own = (owner_of(self._caller()).key,)
            rows = file.execute("SELECT rowid, token, name FROM leases WHERE owner = ?", own).fetchall()
            chosen = [(row, name) for row, token, name in rows if tokens is None or token in tokens]
            file.executemany("DELETE FROM leases WHERE rowid = ?", [(row,) for row, _ in chosen])
            file.execute("COMMIT")
        return [name for _, name in chosen]

    def _exists(self) -> bool:
        try:
            # An empty file has just been created, or its creator has died.
            return os.stat(self._location()).st_size > 0 and not self._is_open_to_tools()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            _refuse_unusable(error)

    def _require_free(self, touched: Iterable[TouchedPath]) -> None:
        held = self._leases_of_others()
        for each in touched:
            for one in held:
                self._require_time()
                if one.conflicts_with(each):
                    raise _path_locked(each.path, one.lease)

    def _leases_of_others(self) -> list[_StoredLease]:
        with self._open_database() as file:
            return list(_read_leases_of_others(file, owner_of(self._caller()), time()))

    def _require_time(self) -> None:
        if monotonic() > self._deadline():
            raise ToolError("The locks could not be compared in time.", reason=Reason.TIMED_OUT, retryable=True)

    @contextmanager
    def _flock(self, kind: int) -> Generator[None]:
        try:
            fd = os.open(self._workspace, FOLDER_FLAGS)
        except OSError as error:
            _refuse_unusable(error)
        try:
            self._wait(fd, kind)
            yield
        finally:
            fcntl.flock(fd, fcntl.LOCK_UN)  # closing is not enough: a child before its exec has the descriptor, too
            os.close(fd)

    def _wait(self, fd: int, kind: int) -> None:
        if _try_flock(fd, kind):
            return
        ends = min(self._deadline(), monotonic() + WAIT_S)
        while not _try_flock(fd, kind):
            if monotonic() >= ends:
                raise _lock_timeout(kind)
            sleep(_PAUSE_S)

    @contextmanager
    def _open_database(self, *, create: bool = False) -> Generator["Connection"]:

        try:
            path = self._safe_path(create=create)
            wait = max(0.0, min(WAIT_S, self._deadline() - monotonic()))
            with closing(sqlite3.connect(path, timeout=wait, isolation_level=None)) as file:
                # Leases expire anyway: losing some in a power failure costs less than waiting for the disk.
                file.execute("PRAGMA synchronous = OFF")
                if create:
                    file.execute(_SCHEMA)
                yield file
        except (sqlite3.Error, OSError) as error:
            _refuse_unusable(error)

    def _is_open_to_tools(self) -> bool:
        """Whether the SQLite file lies in the workspace, where its content is not trusted and no lease is granted."""
        return Path(os.path.realpath(self._location())).is_relative_to(self._workspace)

    def _safe_path(self, *, create: bool) -> Path:
        path = self.path
        if self._is_open_to_tools():
            message = "The state folder lies in the workspace, where tools write."
            raise Denied(GuardReason.LOCKS_UNAVAILABLE, message)
        if create:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path


def _try_flock(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        # If a folder cannot be locked, no lease is ever granted, so a write cannot conflict with one.
        if kind == fcntl.LOCK_EX:
            _refuse_unusable(error)
    return True


@lru_cache(16)
def _leases_file(given: str, _user: int, name: str) -> str:
    # All processes of a user must share the leases, so `HOME` counts only for a user without an account.
    folder = state_path("locks", {"XDG_STATE_HOME": given}) or state_path(
        "locks", {"HOME": os.environ.get("HOME", "/")}
    )
    return str((folder or Path("/.local/state/toolcharter/locks")) / name)


def _read_leases_of_others(file: "Connection", owner: Owner, now: float) -> Iterator[_StoredLease]:
    for name, holder, expires, paths, folders in file.execute(_SELECT_OTHERS, (owner.key, now)):
        yield _StoredLease(Lease(name, holder, expires), paths, folders)


def _require_room(file: "Connection", wanted: int) -> None:
    (count,) = file.execute("SELECT count(*) FROM leases").fetchone()
    if count + wanted > MAX_LEASES:
        raise Denied(GuardReason.LOCKS_UNAVAILABLE, f"There are more than {MAX_LEASES} locks; unlock some.")


def _require_readable(claim: Claim) -> None:
    """Refuse an expression that every later write would fail on."""
    try:
        for expression in (claim.paths, claim.folders):
            _compiled(expression)
    except Denied as error:
        message = f"The claim {quote_path(claim.name)} is malformed or too large."
        raise ToolError(message, reason=Reason.INVALID_ARGUMENTS) from error


def _matches(expression: str, path: str) -> bool:
    return _compiled(expression).fullmatch(path) is not None


@lru_cache(2 * MAX_LEASES)
def _compiled(expression: str) -> Any:
    re2 = import_module("re2")  # on first use
    options = re2.Options()
    options.max_mem = _MAX_BYTES
    options.log_errors = False  # they would go to standard error and mix with the events
    try:
        return re2.compile(expression, options)
    except re2.error as error:
        _refuse_unusable(error)


def _path_locked(path: str, lease: Lease) -> Denied:
    left = max(1, round(lease.expires - time()))
    message = f"{quote_path(path)} is locked by {lease.holder} (as {lease.name!r}, for another {left} s)."
    return Denied(GuardReason.PATH_LOCKED, message, hint="Work on something else, and try again later.")


def _lock_timeout(kind: int) -> Denied:
    who = (
        "other calls are writing in it" if kind == fcntl.LOCK_EX else "another process keeps its folder locked (flock)"
    )
    message = f"The workspace could not be locked in time: {who}."
    return Denied(GuardReason.LOCKS_UNAVAILABLE, message, hint="Try again later.")


def _refuse_unusable(error: Exception) -> NoReturn:
    hint = "Try again later. If the error persists, the operator may delete the file while no agent is at work."
    message = f"The lock file cannot be used: {error}."
    raise Denied(GuardReason.LOCKS_UNAVAILABLE, message, hint=hint) from error
