"""Machines for the tests of workers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .machines import Machines


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    """None has a worker yet."""
    made = Machines(tmp_path)
    yield made
    made.close()
