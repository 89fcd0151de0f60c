"""Trees for the path guard."""

from pathlib import Path

import pytest

from toolcharter.guards.paths.workspace import kernel_openers, walking_openers


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
