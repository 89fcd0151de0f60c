from collections.abc import Callable
from pathlib import Path

import pytest

from toolcharter.profile.read import read_profile


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Write a file below a temporary folder, which becomes the current one; gives its relative path."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, text: str) -> str:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return name

    return write


@pytest.fixture
def told(write) -> Callable[[str], list[str]]:
    """Read a profile's text as `p.yaml` and give its faults as they are printed."""
    return lambda text: [str(fault) for fault in read_profile(write("p.yaml", text)).faults]
