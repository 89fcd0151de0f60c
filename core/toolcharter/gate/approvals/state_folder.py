"""The user's state folder: held by its descriptor, trusted only if no other user can have written in it."""

import fcntl
import os
import pwd
import secrets
import stat
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

LOCK_WAIT_S = 5.0
"""How long to wait for another process that changes the same file, in seconds."""
MAX_BYTES = 1_048_576
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC


class Unsafe(Exception):
    """What is found must not be trusted; in words that continue "the file of kept approvals"."""

    def __init__(self, what: str, fix: str = "") -> None:
        self.what = what
        self.fix = fix
        super().__init__(what)


def state_folder(environ: Mapping[str, str]) -> Path | None:
    """Where approvals are kept; None for a user without a home.

    Source: XDG Base Directory Specification 0.8: a path in a variable that is not absolute is ignored.
    """
    base = Path(environ.get("XDG_STATE_HOME", ""))
    if not base.is_absolute():
        home = Path(environ.get("HOME", "")) if environ.get("HOME", "").startswith("/") else _home()
        if home is None:
            return None
        base = home / ".local/state"
    return base / "toolcharter" / "approvals"


def _home() -> Path | None:
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return None


class StateFolder:
    """A folder of files that only their owner can write.

    Args:
        path: The folder, which may be missing.
        workspace: Where tools can write; None if none of them runs.
    """

    def __init__(self, path: Path, workspace: Path | None) -> None:
        self._path = path
        self._workspace = workspace

    @contextmanager
    def opened(self) -> "Generator[HeldFolder]":
        """Hold the folder.

        Raises:
            FileNotFoundError: There is none.
            Unsafe: Another user could write there.
        """
        folder = _open_folder(self._path)
        try:
            yield HeldFolder(folder)
        finally:
            os.close(folder)

    @contextmanager
    def locked(self, name: str) -> "Generator[HeldFolder]":
        """Hold the folder, made if it is missing, and keep other processes and threads from changing *name*.

        Raises:
            TimeoutError: Another process has been changing it for too long.
            Unsafe: Another user could write there.
        """
        self.refuse_workspace()
        # Each folder with its own mode: `parents` would make them as the umask says.
        for path in (self._path.parent, self._path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                path.mkdir(0o700)
        with self.opened() as held, held.lock(f"{name}.lock"):
            yield held

    def refuse_workspace(self) -> None:
        """Refuse a folder whose files tools could write.

        Raises:
            Unsafe: It lies below the workspace, or the workspace below it.
        """
        if self._workspace is None:
            return
        here, there = self._path.resolve(), self._workspace.resolve()
        if here.is_relative_to(there) or there.is_relative_to(here):
            raise Unsafe(
                f"lies where tools can write, below the workspace {str(there)!r}",
                "Choose another workspace, or another folder in XDG_STATE_HOME.",
            )


def _open_folder(path: Path) -> int:
    """A descriptor of *path*, which and whose parent are real folders of this user alone."""
    parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK)
    try:
        _refuse_others(os.fstat(parent), f"lies in {str(path.parent)!r}, which")
        folder = os.open(path.name, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK, dir_fd=parent)
    finally:
        os.close(parent)
    try:
        _refuse_others(os.fstat(folder), f"lies in {str(path)!r}, which")
    except Unsafe:
        os.close(folder)
        raise
    return folder


def _refuse_others(found: os.stat_result, what: str) -> None:
    if found.st_uid != os.geteuid():
        raise Unsafe(f"{what} belongs to another user", "Check what is in it, and take it over with chown.")
    if found.st_mode & _OTHERS_MAY_WRITE:
        raise Unsafe(f"{what} others can write to", "Check what is in it, then: chmod go-w.")


class HeldFolder:
    """A folder by its descriptor: what happens to its path meanwhile does not matter."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read(self, name: str) -> str | None:
        """Read a file as text; None if there is none.

        Raises:
            Unsafe: It is none that this user alone can write, or too large, or no UTF-8.
        """
        try:
            # Not blocking: a FIFO in its place would wait for a writer.
            file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _NO_LINK, dir_fd=self._descriptor)
        except FileNotFoundError:
            return None
        with os.fdopen(file, "rb") as stream:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
                raise Unsafe("is no regular file, or has a second name elsewhere")
            _refuse_others(found, "is one that")
            content = stream.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise Unsafe(f"is larger than {MAX_BYTES} bytes", "Forget what has expired.")
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise Unsafe("is no UTF-8") from None

    def write(self, name: str, text: str) -> None:
        """Replace a file, all or nothing."""
        temporary = f".{name}.{secrets.token_hex(8)}"
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600, dir_fd=self._descriptor)
        try:
            with os.fdopen(file, "wb") as stream:
                stream.write(text.encode())
                stream.flush()
                os.fsync(file)
            os.rename(temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except BaseException:
            os.unlink(temporary, dir_fd=self._descriptor)
            raise
        os.fsync(self._descriptor)

    @contextmanager
    def lock(self, name: str) -> Generator[None]:
        """Hold the lock of the file *name*.

        Raises:
            TimeoutError: Another process holds it for too long.
        """
        file = os.open(name, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600, dir_fd=self._descriptor)
        try:
            give_up = time.monotonic() + LOCK_WAIT_S
            while not _is_locked(file):
                if time.monotonic() > give_up:
                    raise TimeoutError(None, "another process is changing it")
                time.sleep(0.01)
            yield
        finally:
            os.close(file)


def _is_locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
