"""Screenshots are files of the workspace like any other: what others have locked is not written."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from toolcharter import Caller, Claim, Denied, OpenPlace
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.paths.locks import WorkspaceLeases
from toolcharter_browser.pictures import open_picture, write_picture
from toolcharter_browser.policy import ScreenshotPolicy


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


def leases(workspace: Path, agent: str) -> WorkspaceLeases:
    return WorkspaceLeases(workspace, lambda: Caller(agent=agent), lambda: float("inf"))


@contextmanager
def place(workspace: Path, path: str) -> Iterator[OpenPlace]:
    class Runtime:
        paths = WorkspacePaths(workspace).writable(lambda: None, leases(workspace, "bob"))

    with open_picture(Runtime(), ScreenshotPolicy(), path, "") as found:  # type: ignore[arg-type]
        yield found


@pytest.mark.parametrize("path", ["shots/page.png", ""])
def test_locked_picture_is_refused_before_a_browser_starts(workspace: Path, path: str) -> None:
    """Its own name, or the folder that new ones go to."""
    name = r"shots/page\.png|screenshots"
    leases(workspace, "ann").acquire([Claim("some", name, "")], 60, lambda _: [])

    with pytest.raises(Denied) as caught, place(workspace, path):
        pass

    assert caught.value.reason == "path_locked"


def test_picture_that_is_locked_meanwhile_is_not_written(workspace: Path) -> None:
    """A page takes its time, in which somebody else may come first."""
    with place(workspace, "page.png") as found:
        leases(workspace, "ann").acquire([Claim("page.png", r"page\.png", "")], 60, lambda _: [])
        with pytest.raises(Denied) as caught:
            write_picture(found, {"image": ""})

    assert (caught.value.reason, list(workspace.iterdir())) == ("path_locked", [])
