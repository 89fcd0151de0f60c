"""The user's state: where it lies, and folders of it that only their owner can write.

Approvals, records of processes and locks lie here. What is read from it is believed, so a folder is held by its
descriptor, and refused if another user could have written there, or a tool.
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
"""How long to wait for another process that changes the same file, in seconds."""
MAX_BYTES = 1_048_576
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
_ROOT = 0


class UnsafeState(Exception):
    """What is found must not be trusted.

    Args:
        what: Words that continue "the file", such as "is no UTF-8".
        fix: What a person can do, as a sentence; empty if there is nothing to say.
    """

    def __init__(self, what: str, fix: str = "") -> None:
        self.what = what
        self.fix = fix
        super().__init__(what)


def state_path(part: str, environ: Mapping[str, str]) -> Path | None:
    """Where *part* of the user's state lies, such as `approvals`; an empty one is the folder of all parts.

    Returns:
        An absolute path, which may be missing; None for a user without a home.

    Source: XDG Base Directory Specification 0.8: a path in a variable that is not absolute is ignored.
    """
    base = Path(environ.get("XDG_STATE_HOME", ""))
    if not base.is_absolute():
        home = environ.get("HOME", "")
        if not home.startswith("/"):
            try:
                home = pwd.getpwuid(os.getuid()).pw_dir
            except KeyError:  # as in a container that was given a bare number
                return None
        base = Path(home, ".local/state")
    return base / "toolcharter" / part


class StateFolder:
    """A folder of files that only their owner can write.

    Args:
        base: The outermost folder that is checked; it may be missing.
        *parts: The folders in it, one in the other; none of them may be a link.
        workspace: Where tools can write; None if none of them runs.
        setting: The name of the setting that says where *base* lies, for messages.
    """

    def __init__(self, base: Path, *parts: str, workspace: Path | None, setting: str = "XDG_STATE_HOME") -> None:
        self._base = base
        self._parts = parts
        self._workspace = workspace
        self._setting = setting

    @contextmanager
    def opened(self) -> "Generator[HeldFolder]":
        """Hold the folder.

        Raises:
            OSError: There is none, or it cannot be opened.
            UnsafeState: Another user could write there.
        """
        folder = self._open()
        try:
            yield HeldFolder(folder)
        finally:
            os.close(folder)

    @contextmanager
    def locked(self, name: str) -> "Generator[HeldFolder]":
        """Hold the folder, made if it is missing, and keep other processes and threads from changing *name*.

        Raises:
            OSError: The folder cannot be made or opened.
            TimeoutError: Another process has been changing it for too long.
            UnsafeState: Tools or another user could write there.
        """
        with self.made() as held, held.lock(f"{name}.lock"):
            yield held

    @contextmanager
    def made(self) -> "Generator[HeldFolder]":
        """Hold the folder, made if it is missing.

        Raises:
            OSError: It cannot be made or opened.
            UnsafeState: Tools or another user could write there.
        """
        self.refuse_workspace()
        self._base.parent.mkdir(parents=True, exist_ok=True)
        # Each folder with its own mode: `parents` would make them as the umask says.
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
            UnsafeState: It lies below the workspace, or the workspace below it.
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
        """A descriptor of the folder, which is a real folder of this user alone, as are those around it up to the base."""
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
    """Refuse a folder in which another user could put a folder in the place of ours."""
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


class HeldFolder:
    """A folder by its descriptor: what happens to its path meanwhile does not matter."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read(self, name: str) -> str | None:
        """Read a file as text; None if there is none.

        Raises:
            UnsafeState: It is none that this user alone can write, or too large, or no UTF-8.
        """
        try:
            # Not blocking: a FIFO in its place would wait for a writer.
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
