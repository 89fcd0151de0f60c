"""The trees of the path samples, laid out on disk, and a process that swaps what lies in them."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.samples import sample_file, sample_rows

ROWS = sample_rows("security/paths")
LAYOUTS = sample_file("security/paths_layouts")
READING = frozenset({"read", "list", "glob", "search", "stat", "cwd", "workspace_root"})
WRITING = frozenset({"write", "append", "edit", "delete", "mkdir", "rename", "copy", "extract"})


def lay_out(root: Path, layout: str) -> None:
    """Make the tree of *layout*; the workspace is `ws` below *root*."""
    for entry in LAYOUTS[layout]:
        _place(root, entry)


def _place(root: Path, entry: dict[str, str]) -> None:
    path, value = root / entry["path"], filled(entry.get("value", ""), root)
    match entry["type"]:
        case "d":
            path.mkdir(exist_ok=True)
        case "f":
            path.write_text(value)
        case "l":
            path.symlink_to(value)
        case "h":
            path.hardlink_to(root / value)
        case "p":
            os.mkfifo(path)
        case "s":
            # By the folder's descriptor: a socket's address holds 107 bytes.
            folder = os.open(path.parent, os.O_RDONLY)
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(f"/proc/self/fd/{folder}/{path.name}")
            os.close(folder)


def filled(text: str, root: Path) -> str:
    """*text* with its placeholders for folders filled in."""
    return text.replace("@WS@", str(root / "ws")).replace("@ROOT@", str(root))


def beside_the_workspace(root: Path) -> dict[str, str]:
    """All that lies below *root* and not in the workspace, with contents."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if not name.startswith("ws/") and name != "profile.yaml":
            found[name] = path.read_text() if path.is_file() else "-"
    return found


EXCHANGER = """
import ctypes, os, sys
entry, target = os.fsencode(sys.argv[1]), sys.argv[2]
os.symlink(target, entry + b".link")
rename, here, exchange = ctypes.CDLL(None).renameat2, -100, 2
print("ready", flush=True)
while True:
    rename(here, entry, here, entry + b".link", exchange)
"""


@contextmanager
def exchanging(root: Path, entry: str, target: str) -> Iterator[None]:
    """A process that swaps *entry* of the workspace for a link to *target* and back, as fast as it can, without a gap."""
    command = [sys.executable, "-c", EXCHANGER, entry, target]
    with subprocess.Popen(command, cwd=root / "ws", stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()
