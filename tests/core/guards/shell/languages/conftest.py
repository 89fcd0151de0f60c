"""What a program does with a script, seen by the kernel: the witness for what the readers call harmless."""

import re
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

_CALL = re.compile(r'^\d+ +(\w+)\((?:AT_FDCWD, )?"((?:[^"\\]|\\.)*)"(?:, ([A-Z_|]+))?.*\) = (-?\d+)')
_CHANGES = frozenset(
    {"creat", "unlink", "unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "link", "linkat"}
)
_TRACED = ",".join(sorted({"execve", "open", "openat", "connect", "socket", *_CHANGES}))


class Deeds(NamedTuple):
    """What it did besides reading what it was given and printing."""

    started: list[str]
    """Programs, its own left out."""
    written: list[str]
    """Files opened to be written, made, renamed or removed; its own streams left out."""
    read: list[str]
    """Files of the working folder that were opened to be read, the input left out."""


Watch = Callable[..., Deeds]


def deeds_of(trace: str) -> Deeds:
    """What a trace says."""
    started, written, read = list[str](), list[str](), list[str]()
    for name, path, flags, result in (match.groups() for match in map(_CALL.match, trace.splitlines()) if match):
        if name == "execve":
            started.append(path)
        elif name in _CHANGES or (re.search("O_WRONLY|O_RDWR|O_CREAT", flags or "") and path != "/dev/tty"):
            written.append(path)
        elif name.startswith("open") and not path.startswith(("/", "in")) and int(result) >= 0:
            read.append(path)
    return Deeds(started[1:], written, read)


@pytest.fixture(scope="session")
def watch(tmp_path_factory) -> Watch:
    """Run a program in a folder that holds `in` and `other`, under strace."""
    folder: Path = tmp_path_factory.mktemp("watched")
    trace = folder.parent / "trace"

    def run(argv: Sequence[str], *, patience: Sequence[float] = (1, 10, 60)) -> Deeds:
        (folder / "in").write_text("a/b\nx]y\n2 3\n")
        (folder / "other").write_text("other\n")
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(folder)}
        command = ["strace", "-f", "-qq", "-s", "200", "-e", f"trace={_TRACED}", "-o", str(trace), *argv]
        for patience_s in patience:
            trace.write_text("")
            # A loop is no deed; what it did before is in the trace, once it has begun at all.
            with suppress(subprocess.TimeoutExpired):
                subprocess.run(
                    command,
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=patience_s,
                    check=False,
                )
                break
            if "execve" in trace.read_text(errors="replace"):
                break
        return deeds_of(trace.read_text(errors="replace"))

    return run
