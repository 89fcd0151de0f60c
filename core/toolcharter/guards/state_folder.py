"""The user's state: where it lies, and its folders, which only their owner can write.

Approvals, records of processes and locks lie here. The gate trusts what it reads from these folders, so it holds each
by its descriptor and refuses one that another user or a tool could have written to.
"""

import fcntl
import os
import secrets
import stat
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy

if TYPE_CHECKING:
    import pwd
else:
    pwd = lazy("pwd")

LOCK_WAIT_S = 5.0
"""How long to wait, in seconds, while another process changes the same file."""
MAX_BYTES = 1_048_576
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
_ROOT = 0


class UnsafeState(Exception):
    """A file or folder of the user's state must not be trusted.

    Args:
        what: Words that continue "the file", such as "is no UTF-8".
        fix: A sentence that says what the user can do; may be empty.
    """

    def __init__(self, what: str, fix: str = "") -> None:
        self.what = what
        self.fix = fix
        super().__init__(what)


def state_path(part: str, environ: Mapping[str, str]) -> Path | None:
    """Return the path of one *part* of the user's state, such as `approvals`, or of all parts if *part* is empty.

    Returns:
        An absolute path, which may not exist; None for a user without a home.

    Source: XDG Base Directory Specification 0.8: a path in a variable that is not absolute is ignored.
    """
    base = Path(environ.get("XDG_STATE_HOME", ""))
    if not base.is_absolute():
        home = environ.get("HOME", "")
        if not home.startswith("/"):
            try:
                home = pwd.getpwuid(os.getuid()).pw_dir
            except KeyError:  # as in a container that runs under a user number without an account
                return None
        base = Path(home, ".local/state")
    return base / "toolcharter" / part


class StateFolder:
    """A folder of files that only their owner can write.

    Args:
        base: The outermost folder that is checked; it may not exist yet.
        *parts: The nested folders below it; none of them may be a link.
        workspace: Where tools can write; None if no tool runs.
        setting: The name of the setting that chooses *base*, for messages.
    """

    def __init__(self, base: Path, *parts: str, workspace: Path | None, setting: str = "XDG_STATE_HOME") -> None:
        self._base = base
        self._parts = parts
        self._workspace = workspace
        self._setting = setting

    @contextmanager
    def opened(self) -> "Generator[OpenStateFolder]":
        """Open the folder.

        Raises:
            OSError: It does not exist, or cannot be opened.
            UnsafeState: Another user could write there.
        """
        folder = self._open()
        try:
            yield OpenStateFolder(folder)
        finally:
            os.close(folder)

    @contextmanager
    def locked(self, name: str) -> "Generator[OpenStateFolder]":
        """Open the folder, made if it is missing, and keep other processes and threads from changing *name*.

        Raises:
            OSError: The folder cannot be made or opened.
            TimeoutError: Another process has held the lock for `LOCK_WAIT_S`.
            UnsafeState: Tools or another user could write there.
        """
        with self.made() as held, held.lock(f"{name}.lock"):
            yield held

    @contextmanager
    def made(self) -> "Generator[OpenStateFolder]":
        """Open the folder, made if it is missing.

        Raises:
            OSError: It cannot be made or opened.
            UnsafeState: Tools or another user could write there.
        """
        self.refuse_workspace()
        self._base.parent.mkdir(parents=True, exist_ok=True)
        # One by one: `parents=True` would give the outer folders the umask's mode.
        path = self._base
        for part in ("", *self._parts):
            path /= part
            with suppress(FileExistsError):
                path.mkdir(0o700)
        with self.opened() as held:
            yield held

    def refuse_workspace(self) -> None:
        """Refuse a folder whose files tools could write.

        Raises:
            UnsafeState: It lies in the workspace, or contains it.
        """
        if self._workspace is None:
            return
        here, there = self._base.joinpath(*self._parts).resolve(), self._workspace.resolve()
        if here.is_relative_to(there) or there.is_relative_to(here):
            raise UnsafeState(
                f"lies where tools can write, below the workspace {str(there)!r}",
                f"Choose another workspace, or another folder in {self._setting}.",
            )

    def _open(self) -> int:
        """Open the folder. It and its parents up to the base must be real folders that only this user can write."""
        path = self._base
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK)
        try:
            for part in self._parts:
                _refuse_exchange(os.fstat(folder), f"lies in {str(path)!r}, which")
                path /= part
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK, dir_fd=folder)
                os.close(folder)
                folder = inner
            _refuse_others(os.fstat(folder), f"lies in {str(path)!r}, which")
        except BaseException:
            os.close(folder)
            raise
        return folder


def _refuse_exchange(found: os.stat_result, what: str) -> None:
    """Refuse a folder in which another user could replace our folder."""
    if found.st_uid not in {os.geteuid(), _ROOT}:
        raise UnsafeState(f"{what} belongs to another user", "Check what is in it, and take it over with chown.")
    # In a sticky folder, such as /tmp, others cannot rename what is ours.
    if found.st_mode & _OTHERS_MAY_WRITE and not found.st_mode & stat.S_ISVTX:
        raise UnsafeState(f"{what} others can write to", "Check what is in it, then: chmod go-w.")


def _refuse_others(found: os.stat_result, what: str) -> None:
    if found.st_uid != os.geteuid():
        raise UnsafeState(f"{what} belongs to another user", "Check what is in it, and take it over with chown.")
    if found.st_mode & _OTHERS_MAY_WRITE:
        raise UnsafeState(f"{what} others can write to", "Check what is in it, then: chmod go-w.")


class OpenStateFolder:
    """A folder held open by its descriptor, so that a change of its path has no effect."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read(self, name: str) -> str | None:
        """Read a file as text; None if there is none.

        Raises:
            UnsafeState: Others can write it, it is no regular file, has a second name, is larger than `MAX_BYTES` or
                is not UTF-8.
        """
        try:
            # Not blocking: opening a FIFO would otherwise wait for a writer.
            file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _NO_LINK, dir_fd=self._descriptor)
        except FileNotFoundError:
            return None
        with os.fdopen(file, "rb") as stream:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
                raise UnsafeState("is no regular file, or has a second name elsewhere")
            _refuse_others(found, "is one that")
            content = stream.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise UnsafeState(f"is larger than {MAX_BYTES} bytes", "Forget what has expired.")
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise UnsafeState("is no UTF-8") from None

    def write(self, name: str, text: str) -> None:
        """Replace a file atomically."""
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
        """Hold the lock file *name*.

        Raises:
            TimeoutError: Another process has held it for `LOCK_WAIT_S`.
        """
        file = os.open(name, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600, dir_fd=self._descriptor)
        try:
            give_up = time.monotonic() + LOCK_WAIT_S
            while not _try_lock(file):
                if time.monotonic() > give_up:
                    raise TimeoutError(None, "another process is changing it")
                time.sleep(0.01)
            yield
        finally:
            os.close(file)


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
