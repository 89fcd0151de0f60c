"""The folder for all files of a browser: made at its start, locked while it runs, removed after its end.

The browser's process holds the lock. So the folder of a running browser can be distinguished from that of a killed one.
"""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "toolcharter-browser-"
MAX_BASE = 30
"""The longest path, in characters. Chromium exits if the socket that it makes below has a path of more than 107."""


def base() -> Path:
    """Return the parent of the folders: the system's temporary folder, or `/tmp` if that path is too long."""
    given = tempfile.gettempdir()
    return Path(given if len(given) <= MAX_BASE else "/tmp")  # noqa: S108 - `mkdtemp` is careful


class Folder:
    """A new folder that only this user can use. Its lock ends with `close`, or with the process."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base()))
        self._held = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._held, fcntl.LOCK_EX)

    def close(self) -> None:
        """Release the lock; `sweep` then removes the folder."""
        os.close(self._held)


def sweep(place: Path | None = None) -> None:
    """Remove this user's folders in *place*, by default `base()`, that no browser has locked."""
    for path in (place or base()).glob(f"{PREFIX}*"):
        if _is_abandoned(path):
            shutil.rmtree(path, ignore_errors=True)


def _is_abandoned(path: Path) -> bool:
    try:
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # An empty folder may be new, with a browser that is about to lock it.
        return os.fstat(held).st_uid == os.geteuid() and any(path.iterdir())
    except OSError:
        return False
    finally:
        os.close(held)
