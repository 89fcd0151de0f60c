"""docs/sandboxes.md: the image of busybox alone is made as the page says, and programs run in it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.sandbox.dockerd import Dockerd

from .conftest import OpenDocker, needs_docker, shell

PAGE = (Path(__file__).parents[3] / "docs/sandboxes.md").read_text()
pytestmark = [*needs_docker, pytest.mark.needs_program("docker", package="docker.io")]


def lines() -> str:
    """The block that imports the image."""
    found: list[str] = re.findall(r"```sh[^\n]*\n(.*?)```", PAGE, re.DOTALL)
    (block,) = [one for one in found if "docker import" in one]
    return block


def test_the_folder_holds_programs_that_run_without_this_machine_s_files(tmp_path: Path) -> None:
    """Each name is the program itself or leads to it within the folder, and the program needs no library."""
    making = lines().partition("tar ")[0]

    subprocess.run(["sh", "-euc", making], cwd=tmp_path, check=True)

    programs = tmp_path / "image/bin"
    names = sorted(path.name for path in programs.iterdir())
    assert {"busybox", "ls", "sh", "true"} <= set(names)
    moved = shutil.move(tmp_path / "image", tmp_path / "elsewhere")
    assert all((Path(moved) / "bin" / name).exists() for name in names)
    listed = subprocess.run(["ldd", Path(moved) / "bin/busybox"], capture_output=True, text=True, check=False)
    assert "not a dynamic executable" in listed.stdout + listed.stderr


def test_programs_run_in_the_image_that_the_page_makes(
    dockerd: Dockerd, open_docker: OpenDocker, tmp_path: Path
) -> None:
    """The lines as they stand there, with this daemon's client; then a program of the image, by its own name."""
    folder = tmp_path / "made"
    folder.mkdir()
    environ = {**os.environ, "DOCKER_HOST": dockerd.host}

    subprocess.run(["sh", "-euc", lines()], cwd=folder, env=environ, check=True, capture_output=True)

    ended = open_docker(image="busybox:local").run(shell("ls /bin/busybox && id -u >/dev/null && echo ran"))
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, b"/bin/busybox\nran\n", b"")
