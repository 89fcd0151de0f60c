"""Private copies: what has been judged by its hash is run from a copy that no program of a tool can write to.

The copy lies in the workspace, for sandboxes show little else, and there below `.toolcharter`, which every runner that
contains programs keeps from being written to. It lasts as long as one run. On the host nothing is contained: there a
program of this user can change anything.
"""

import fcntl
import os
import secrets
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from toolcharter import ToolError
from toolcharter_cli_tools.bundles import Bundle, Piece

HOME = ".toolcharter"
_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PATIENCE_S = 2.0
_PAUSE_S = 0.002


@contextmanager
def copied(bundle: Bundle, workspace: Path) -> Generator[str]:
    """The path of a copy of *bundle*, relative to the workspace, for the length of one run.

    Raises:
        ToolError: It cannot be written.
    """
    name = f"run-{secrets.token_hex(8)}"
    try:
        home = _home(workspace)
    except OSError as error:
        raise _unwritable(error) from error
    try:
        try:
            _write(bundle, home, name)
        except OSError as error:
            raise _unwritable(error) from error
        yield f"./{HOME}/{name}"
    finally:
        _remove(home, name)
        os.close(home)


def _unwritable(error: OSError) -> ToolError:
    return ToolError(f"The tool cannot be copied to where it would run: {error.strerror}.", retryable=True)


def _home(workspace: Path) -> int:
    """The protected folder, made if it is missing; locked, so that no runner takes it for its own and removes it.

    It stays: a runner may hold it, and to remove it would take away the mounts that lie on it.
    """
    path = workspace / HOME
    until = time.monotonic() + _PATIENCE_S
    while True:
        with suppress(FileExistsError):
            path.mkdir(0o755)
        with suppress(FileNotFoundError):
            descriptor = os.open(path, _FOLDER)
            if _is_taken(path, descriptor):
                return descriptor
            os.close(descriptor)
        if time.monotonic() > until:
            raise BlockingIOError(0, f"{HOME} is in use")
        time.sleep(_PAUSE_S)


def _is_taken(path: Path, descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        found = path.lstat()
    except (BlockingIOError, FileNotFoundError):
        return False
    if found.st_mode & stat.S_ISVTX:
        os.fchmod(descriptor, 0o755)  # a placeholder of a runner, which would hide what lies in it
    return os.path.samestat(found, os.fstat(descriptor))


def _write(bundle: Bundle, home: int, name: str) -> None:
    os.mkdir(name, 0o755, dir_fd=home)
    folders = {str(parent) for path in bundle.files for parent in Path(path).parents} - {"."}
    for folder in sorted(folders, key=len):
        os.mkdir(f"{name}/{folder}", 0o755, dir_fd=home)
    for path, piece in bundle.files.items():
        _write_file(f"{name}/{path}", piece, home)


def _write_file(path: str, piece: Piece, home: int) -> None:
    mode = 0o555 if piece.is_executable else 0o444
    with os.fdopen(os.open(path, _NEW, mode, dir_fd=home), "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(piece.data)


def _remove(home: int, name: str) -> None:
    with suppress(FileNotFoundError):
        for folder, _, files, descriptor in os.fwalk(name, topdown=False, dir_fd=home, follow_symlinks=False):
            for file in files:
                os.unlink(file, dir_fd=descriptor)
            if folder != name:
                os.rmdir(folder, dir_fd=home)
        os.rmdir(name, dir_fd=home)
