"""Trees for the path guard."""

import os
import socket
from pathlib import Path

import pytest

from toolcharter.guards.paths.roots import kernel_openers, walking_openers


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    root.mkdir()
    return root


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("SECRET")
    return folder


@pytest.fixture(params=["kernel", "walk"])
def openers(request):
    """Every claim holds with the kernel's help and without."""
    return {"kernel": kernel_openers, "walk": walking_openers}[request.param]


@pytest.fixture
def tree(workspace: Path, outside: Path) -> Path:
    """A workspace with one of everything."""
    (workspace / "a.txt").write_text("A")
    (workspace / "sub/deep").mkdir(parents=True)
    (workspace / "sub/b.txt").write_text("B")
    (workspace / ".git/hooks").mkdir(parents=True)
    (workspace / ".git/config").write_text("[core]")
    (workspace / ".env.local").write_text("K=V")
    links: dict[str, str | Path] = {
        "in_file": "a.txt",
        "in_dir": "sub",
        "in_abs": workspace / "sub/b.txt",
        "in_abs_dir": f"{workspace}/sub/",
        "chain": "in_chain",
        "in_chain": "sub/up/a.txt",
        "sub/up": "..",
        "out": outside / "secret.txt",
        "out_dir": "../outside",
        "back_in": "../ws/a.txt",
        "sub/climb": "../..",
        "missing_out": outside / "nothing",
        "missing_in": "nothing",
        "loop": "loop",
        "git_link": ".git",
        "file_as_dir": "a.txt/",
    }
    for name, target in links.items():
        (workspace / name).symlink_to(target)
    os.mkfifo(workspace / "fifo")
    # By the folder's descriptor: a socket's address holds 107 bytes.
    folder = os.open(workspace, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"/proc/self/fd/{folder}/sock")
    os.close(folder)
    return workspace
