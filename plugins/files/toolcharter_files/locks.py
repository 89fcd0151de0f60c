"""Leases on globs, shared by all processes of one user that work in one workspace: a small SQLite file.

The file lies in the user's state folder, where no tool can write. Where it is missing nobody has ever locked anything,
and that is all a write has to ask. Expired leases do not count, whoever finds them.
"""

import os
import pwd
import secrets
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from time import monotonic, time
from typing import NamedTuple

import orjson

from toolcharter import Caller, Denied, ToolError
from toolcharter_files.globs import Glob, parse_whole
from toolcharter_files.overlap import meeting

LOCKS_UNAVAILABLE = "locks_unavailable"
PATH_LOCKED = "path_locked"
MOST_LEASES = 1024
"""Of all owners together, in globs."""
_WAIT_S = 5.0
_SCHEMA = """CREATE TABLE IF NOT EXISTS leases
    (token TEXT NOT NULL, glob TEXT NOT NULL, owner TEXT NOT NULL, holder TEXT NOT NULL, expires REAL NOT NULL)"""


class Lease(NamedTuple):
    """One glob that somebody holds."""

    glob: str
    holder: str
    """For people: which agent it is."""
    expires: float
    """On `time.time`'s clock: processes have no other in common."""


class Owner(NamedTuple):
    """Who holds a lease: a caller that says who it is, else this process."""

    key: str
    shown: str


def owner_of(caller: Caller) -> Owner:
    """The owner that a caller is."""
    if caller.agent or caller.session:
        key = orjson.dumps([caller.user, caller.project, caller.agent, caller.session]).decode()
        return Owner(key, f"agent {caller.agent!r}" if caller.agent else "another session")
    return Owner(_process(os.getpid()), "another process")


@cache
def _process(number: int) -> str:
    return f"process {number} {secrets.token_hex(8)}"  # another process may get the number later


class Locks:
    """The leases of one workspace. Opens the file for each use and keeps nothing."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    def acquire(self, owner: Owner, globs: Sequence[str], ttl_s: float, deadline: float) -> tuple[str, list[Lease]]:
        """Take all of *globs*, or none.

        Returns:
            An identifier for all of them; or an empty one, and the leases of others that are in the way.

        Raises:
            Denied: `locks_unavailable`.
            ToolError: `timed_out`.
        """
        wanted = [parse_whole(glob) for glob in globs]
        now, token = time(), f"lock-{secrets.token_hex(4)}"
        with self._opened(deadline, create=True) as file:
            file.execute("BEGIN IMMEDIATE")
            file.execute("DELETE FROM leases WHERE expires <= ?", (now,))
            taken = list(_in_the_way(_of_others(file, owner, now), wanted, deadline))
            if not taken:
                (count,) = file.execute("SELECT count(*) FROM leases").fetchone()
                if count + len(globs) > MOST_LEASES:
                    raise Denied(LOCKS_UNAVAILABLE, f"There are more than {MOST_LEASES} locks; unlock some.")
                rows = [(token, glob, owner.key, owner.shown, now + ttl_s) for glob in globs]
                file.executemany("INSERT INTO leases VALUES (?, ?, ?, ?, ?)", rows)
            file.execute("COMMIT")
        return ("", taken) if taken else (token, [])

    def in_the_way(self, owner: Owner, globs: Sequence[Glob], deadline: float) -> list[Lease]:
        """The leases of others that overlap one of *globs*."""
        with self.reading(owner, globs, deadline) as taken:
            return taken

    @contextmanager
    def reading(self, owner: Owner, globs: Sequence[Glob], deadline: float) -> Generator[list[Lease]]:
        """The same, and until the context is left nobody gets a lease: who writes is not overtaken.

        Raises:
            Denied: `locks_unavailable`.
            ToolError: `timed_out`.
        """
        if not self.path.exists():
            yield []
            return
        with self._opened(deadline, create=False) as file:
            file.execute("BEGIN")
            held = _of_others(file, owner, time())
            yield list(_in_the_way(held, globs, deadline))

    def release(self, owner: Owner, tokens: Sequence[str] | None, deadline: float) -> list[str]:
        """Let go of the leases that *tokens* identify, or of all that *owner* holds; returns their globs."""
        if not self.path.exists():
            return []
        with self._opened(deadline, create=False) as file:
            file.execute("BEGIN IMMEDIATE")
            rows = file.execute("SELECT rowid, token, glob FROM leases WHERE owner = ?", (owner.key,)).fetchall()
            chosen = [(row, glob) for row, token, glob in rows if tokens is None or token in tokens]
            file.executemany("DELETE FROM leases WHERE rowid = ?", [(row,) for row, _ in chosen])
            file.execute("COMMIT")
        return [glob for _, glob in chosen]

    @property
    def path(self) -> Path:
        """Where the file lies, or would."""
        name = sha256(os.fsencode(self._workspace)).hexdigest()[:32]
        return _state_folder() / f"{name}.sqlite"

    @contextmanager
    def _opened(self, deadline: float, *, create: bool) -> Generator[sqlite3.Connection]:
        try:
            path = self._safe_path(create=create)
            wait = max(0.0, min(_WAIT_S, deadline - monotonic()))
            with closing(sqlite3.connect(path, timeout=wait, isolation_level=None)) as file:
                # Leases end by themselves: to lose some with the power costs less than to wait for the disk.
                file.execute("PRAGMA synchronous = OFF")
                if create:
                    file.execute(_SCHEMA)
                yield file
        except (sqlite3.Error, OSError) as error:
            hint = "Try again later; if it stays so, an operator may delete the file while no agent is at work."
            raise Denied(LOCKS_UNAVAILABLE, f"The file of locks cannot be used: {error}.", hint=hint) from error

    def _safe_path(self, *, create: bool) -> Path:
        path = self.path
        if create:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.resolve().is_relative_to(self._workspace):
            raise Denied(LOCKS_UNAVAILABLE, "The state folder lies in the workspace, where tools write.")
        return path


def _state_folder() -> Path:
    # Source: XDG Base Directory Specification 0.8: a path in a variable that is not absolute is ignored.
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not base.is_absolute():
        base = Path(pwd.getpwuid(os.getuid()).pw_dir, ".local/state")
    return base / "toolcharter" / "locks"


def _of_others(file: sqlite3.Connection, owner: Owner, now: float) -> list[Lease]:
    query = "SELECT glob, holder, expires FROM leases WHERE owner <> ? AND expires > ? ORDER BY rowid"
    return [Lease(*row) for row in file.execute(query, (owner.key, now))]


def _in_the_way(held: list[Lease], wanted: Sequence[Glob], deadline: float) -> Iterator[Lease]:
    for lease in held:
        if monotonic() > deadline:
            raise ToolError("The locks could not be compared in time.", reason="timed_out", retryable=True)
        glob = parse_whole(lease.glob)
        if any(meeting(glob, each) is not None for each in wanted):
            yield lease
