"""A folder to serve, of one test or of a module, and a server of the module's folder on HTTP."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .serving import PROFILE, serving


def _filled(folder: Path) -> Path:
    (folder / "served.yaml").write_text(PROFILE)
    (folder / "workspace").mkdir()
    (folder / "workspace/notes.txt").write_text("first\n")
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a profile, and a workspace in it."""
    return _filled(tmp_path)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `place`, for the servers that tests of a module share: a server takes more than a second to start."""
    return _filled(tmp_path_factory.mktemp("served"))


@pytest.fixture
def shared(served: Path) -> Path:
    """The folder of the shared servers, with the file that a test before this one may have deleted."""
    (served / "workspace/notes.txt").write_text("first\n")
    return served


@pytest.fixture(scope="module")
def url(served: Path) -> Iterator[str]:
    """A server of `served` on HTTP, in a process of its own."""
    with serving(served) as address:
        yield address
