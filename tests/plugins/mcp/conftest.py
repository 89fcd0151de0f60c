"""A folder to serve, and a server of it on HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .serving import PROFILE, serving


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a profile, and a workspace in it."""
    (tmp_path / "served.yaml").write_text(PROFILE)
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace/notes.txt").write_text("first\n")
    return tmp_path


@pytest.fixture
def url(place: Path) -> Iterator[str]:
    """A server on HTTP, in a process of its own."""
    with serving(place) as address:
        yield address
