"""Whose memory is meant, and which paths it has. Keys that name an agent and a user are all that keeps memories apart."""

import re
from hashlib import sha256
from typing import NamedTuple

from toolcharter import Caller

WORLD = "memory/world/"
DAILY = "memory/daily/"
MAIN = "MEMORY.md"
TOPIC = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
"""What `update_world` takes for a topic: a word that is a file's name everywhere."""
MAX_PATH_CHARS = 200
_FILES = frozenset({MAIN, "memory.md"})
_FOLDER = "memory/"


class Place(NamedTuple):
    """One memory: that of an agent, or of all, for a user, or for all."""

    agent: str
    owner: str

    @property
    def digest(self) -> str:
        """A word for the place, of letters and digits."""
        return "p" + sha256(f"{len(self.agent)}:{self.agent}{self.owner}".encode()).hexdigest()[:31]

    @property
    def mark(self) -> str:
        """The beginning of `digest`, short enough to stand before each word; almost never that of another place."""
        return self.digest[:9]

    @property
    def is_personal(self) -> bool:
        """Whether it is a user's own."""
        return self.owner != _GLOBAL


_ALL_AGENTS = "all"
_GLOBAL = "global"


def places_of(caller: Caller, path: str) -> tuple[Place, ...]:
    """Where *path* is looked for, the user's own memory first; the first is where it is written.

    World files are shared by all agents of a user. Without a user there is only what is global.
    """
    agent = _ALL_AGENTS if path.startswith(WORLD) else f"agent:{caller.agent or ''}"
    owners = (f"user:{caller.user}", _GLOBAL) if caller.user else (_GLOBAL,)
    return tuple(Place(agent, owner) for owner in owners)


def memory_path(path: str) -> str | None:
    """The path of a memory document that *path* names, relative to the workspace; None if it names none.

    Args:
        path: Relative, without `.` and `..`.
    """
    if path.startswith("memory\\"):
        path = path.replace("\\", "/")
    is_one = path in _FILES or (path.startswith(_FOLDER) and len(path) > len(_FOLDER))
    return path if is_one and len(path) <= MAX_PATH_CHARS else None
