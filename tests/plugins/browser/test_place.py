"""Where a browser writes: never where the tools of its workspace could change what it runs."""

from contextlib import closing
from pathlib import Path

import pytest

from toolcharter.guards.paths import WorkspacePaths
from toolcharter_browser.session import find_outside_folder


@pytest.mark.parametrize(
    ("workspace", "temporary", "expected"),
    [
        pytest.param("ws", "temp", "temp", id="beside"),
        pytest.param("ws", ".", ".", id="above"),
        pytest.param("ws", "ws", "/tmp", id="the workspace itself"),
        pytest.param("ws", "ws/temp", "/tmp", id="in the workspace"),
        pytest.param("ws", "link", "/tmp", id="in the workspace, by a link"),
        pytest.param("/tmp", "/tmp", None, id="no other"),
    ],
)
def test_a_browsers_folder_lies_outside_of_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workspace: str, temporary: str, expected: str | None
) -> None:
    """The temporary folder counts if no tool can write there; then `/tmp`, then none."""
    (tmp_path / "ws/temp").mkdir(parents=True)
    (tmp_path / "temp").mkdir()
    (tmp_path / "link").symlink_to("ws/temp")
    monkeypatch.setattr("toolcharter_browser.session.base", lambda: tmp_path / temporary)

    with closing(WorkspacePaths(tmp_path / workspace)) as paths:
        found = find_outside_folder(paths)

    assert found == (None if expected is None else tmp_path / expected)
