"""The memories of agents and users, and the paths in them. Only keys with an agent and a user keep memories apart."""

import re
from hashlib import sha256
from typing import NamedTuple

from toolcharter import Caller

WORLD = "memory/world/"
DAILY = "memory/daily/"
MAIN = "MEMORY.md"
TOPIC = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
"""The topics that `update_world` accepts: words that are valid file names on every system."""
MAX_PATH_CHARS = 200
_FILES = frozenset({MAIN, "memory.md"})
_FOLDER = "memory/"


class MemoryScope(NamedTuple):
    """One memory: of one agent or of all agents, for one user or for all users."""

    agent: str
    owner: str

    @property
    def digest(self) -> str:
        """An identifier of the memory, of letters and digits."""
        return "p" + sha256(f"{len(self.agent)}:{self.agent}{self.owner}".encode()).hexdigest()[:31]

    @property
    def mark(self) -> str:
        """The first 9 characters of `digest`, put before each word; very rarely those of another memory."""
        return self.digest[:9]

    @property
    def is_personal(self) -> bool:
        """Whether the memory is a user's own."""
        return self.owner != _GLOBAL


_ALL_AGENTS = "all"
_GLOBAL = "global"


def scopes_of(caller: Caller, path: str) -> tuple[MemoryScope, ...]:
    """Return the memories in which *path* is searched, the user's own first. It is written to the first.

    All agents of a user share world files. Without a user there is only the global memory.
    """
    agent = _ALL_AGENTS if path.startswith(WORLD) else f"agent:{caller.agent or ''}"
    owners = (f"user:{caller.user}", _GLOBAL) if caller.user else (_GLOBAL,)
    return tuple(MemoryScope(agent, owner) for owner in owners)


def memory_path(path: str) -> str | None:
    """Return the path of the memory document at *path*; None if *path* is not in the memory.

    Args:
        path: A path relative to the workspace, without `.` and `..`.
    """
    if path.startswith("memory\\"):
        path = path.replace("\\", "/")
    is_one = path in _FILES or (path.startswith(_FOLDER) and len(path) > len(_FOLDER))
    return path if is_one and len(path) <= MAX_PATH_CHARS else None
