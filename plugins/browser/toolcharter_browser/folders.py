"""The folder that holds all a browser writes: made with it, locked as long as it lives, removed after it.

The browser's process takes the lock, so that its folder can be told from one that a killed browser has left.
"""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "toolcharter-browser-"
MAX_BASE = 30
"""Characters. Chromium ends at once if the socket that it makes further down has a name of more than 107."""


def base() -> Path:
    """Where the folders are: the system's temporary folder, or `/tmp` if that has a long name."""
    given = tempfile.gettempdir()
    return Path(given if len(given) <= MAX_BASE else "/tmp")  # noqa: S108 - `mkdtemp` is careful


class Folder:
    """A new folder, this user's alone. Its lock ends with `close`, or with the process."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base()))
        self._held = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._held, fcntl.LOCK_EX)

    def close(self) -> None:
        """Let it go; `sweep` removes it."""
        os.close(self._held)


def sweep(place: Path | None = None) -> None:
    """Remove the folders of this user's, in *place* or in `base()`, that no browser holds any more."""
    for path in (place or base()).glob(f"{PREFIX}*"):
        if _is_left(path):
            shutil.rmtree(path, ignore_errors=True)


def _is_left(path: Path) -> bool:
    try:
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # An empty one may have been made a moment ago, by a browser that is about to lock it.
        return os.fstat(held).st_uid == os.geteuid() and any(path.iterdir())
    except OSError:
        return False
    finally:
        os.close(held)
