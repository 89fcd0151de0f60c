"""Private copies: files that were checked by their hash are run from a copy that no tool's program can change.

The copy lies in the workspace, because sandboxes contain little else, and below `.toolcharter`, which every sandbox
makes read-only. It exists for one run. Without a sandbox, a program of this user can change any file, also the copy.
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
from toolcharter_cli_tools.bundles import Bundle, BundleFile

HOME = ".toolcharter"
_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TIMEOUT_S = 2.0
_PAUSE_S = 0.002


@contextmanager
def copy_bundle(bundle: Bundle, workspace: Path) -> Generator[str]:
    """Copy *bundle* for one run; yield the copy's path, relative to the workspace.

    Raises:
        ToolError: The copy cannot be written.
    """
    name = f"run-{secrets.token_hex(8)}"
    try:
        home = _open_home(workspace)
    except OSError as error:
        raise _write_error(error) from error
    try:
        try:
            _write_bundle(bundle, home, name)
        except OSError as error:
            raise _write_error(error) from error
        yield f"./{HOME}/{name}"
    finally:
        _remove(home, name)
        os.close(home)


def _write_error(error: OSError) -> ToolError:
    return ToolError(f"The tool's files cannot be copied for the run: {error.strerror}.", retryable=True)


def _open_home(workspace: Path) -> int:
    """A descriptor of the protected folder, made if missing. Its lock keeps runners from removing it as a placeholder.

    The folder is kept after the run: a runner may have mounts on it, which removing it would remove, too.
    """
    path = workspace / HOME
    until = time.monotonic() + _TIMEOUT_S
    while True:
        with suppress(FileExistsError):
            path.mkdir(0o755)
        with suppress(FileNotFoundError):
            descriptor = os.open(path, _FOLDER)
            if _try_lock(path, descriptor):
                return descriptor
            os.close(descriptor)
        if time.monotonic() > until:
            raise BlockingIOError(0, f"{HOME} is in use")
        time.sleep(_PAUSE_S)


def _try_lock(path: Path, descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        found = path.lstat()
    except (BlockingIOError, FileNotFoundError):
        return False
    if found.st_mode & stat.S_ISVTX:
        os.fchmod(descriptor, 0o755)  # no longer a runner's placeholder, whose content would be hidden
    return os.path.samestat(found, os.fstat(descriptor))


def _write_bundle(bundle: Bundle, home: int, name: str) -> None:
    os.mkdir(name, 0o755, dir_fd=home)
    folders = {str(parent) for path in bundle.files for parent in Path(path).parents} - {"."}
    for folder in sorted(folders, key=len):
        os.mkdir(f"{name}/{folder}", 0o755, dir_fd=home)
    for path, bundle_file in bundle.files.items():
        _write_file(f"{name}/{path}", bundle_file, home)


def _write_file(path: str, bundle_file: BundleFile, home: int) -> None:
    mode = 0o555 if bundle_file.is_executable else 0o444
    with os.fdopen(os.open(path, _NEW_FILE, mode, dir_fd=home), "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(bundle_file.data)


def _remove(home: int, name: str) -> None:
    with suppress(FileNotFoundError):
        for folder, _, files, descriptor in os.fwalk(name, topdown=False, dir_fd=home, follow_symlinks=False):
            for file in files:
                os.unlink(file, dir_fd=descriptor)
            if folder != name:
                os.rmdir(folder, dir_fd=home)
        os.rmdir(name, dir_fd=home)
