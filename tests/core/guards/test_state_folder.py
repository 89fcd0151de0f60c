"""The user's state: where each part lies, and which folders are not believed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcharter import StateFolder, UnsafeState, state_path

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def test_all_parts_lie_in_one_folder() -> None:
    """What protects that folder protects each part."""
    environ = {"XDG_STATE_HOME": "/s"}

    assert [state_path(part, environ) for part in ("", "approvals", "processes")] == [
        Path("/s/toolcharter"),
        Path("/s/toolcharter/approvals"),
        Path("/s/toolcharter/processes"),
    ]


def test_a_missing_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    """Each of the folders, whatever the umask says; what lies around them is left as it is."""
    before = os.umask(0)
    try:
        with StateFolder(tmp_path / "a", "b", "c", workspace=None).made() as held:
            held.write("file", "text")
    finally:
        os.umask(before)

    modes = [(tmp_path / path).stat().st_mode & 0o777 for path in ("a", "a/b", "a/b/c", "a/b/c/file")]
    assert modes == [0o700, 0o700, 0o700, 0o600]


def _chmod(mode: int) -> Callable[[Path], None]:
    return lambda path: path.chmod(mode)


def _give_away(path: Path) -> None:
    os.chown(path, 12345, 12345)


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


@pytest.mark.parametrize("which", ["a", "a/b", "a/b/c"])
@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        pytest.param(_chmod(0o770), "lies in '{}', which others can write to", id="group"),
        pytest.param(_chmod(0o702), "lies in '{}', which others can write to", id="all"),
        pytest.param(_give_away, "lies in '{}', which belongs to another user", id="owner", marks=ROOT_ONLY),
    ],
)
def test_no_folder_up_to_the_base_may_be_open_to_others(
    tmp_path: Path, which: str, spoil: Callable[[Path], None], what: str
) -> None:
    """Who writes in an outer folder puts another one in the place of the inner."""
    folder = StateFolder(tmp_path / "a", "b", "c", workspace=None)
    with folder.made():
        spoil(tmp_path / which)

    with pytest.raises(UnsafeState) as refused, folder.opened():
        pass

    assert refused.value.what == what.format(tmp_path / which)


@pytest.mark.parametrize("which", ["a", "a/b", "a/b/c"])
def test_no_folder_up_to_the_base_may_be_a_link(tmp_path: Path, which: str) -> None:
    """It could lead elsewhere at any time."""
    folder = StateFolder(tmp_path / "a", "b", "c", workspace=None)
    with folder.made():
        _link(tmp_path / which)

    with pytest.raises(NotADirectoryError), folder.opened():
        pass


def test_an_outer_folder_may_be_a_sticky_one(tmp_path: Path) -> None:
    """In `/tmp` others cannot rename what is ours; in the innermost one they could still add files."""
    with StateFolder(tmp_path / "a", "b", workspace=None).made():
        (tmp_path / "a").chmod(0o1777)
    with StateFolder(tmp_path / "a", "b", workspace=None).opened() as held:
        held.write("file", "text")

    with pytest.raises(UnsafeState), StateFolder(tmp_path / "a", workspace=None).opened():
        pass


@pytest.mark.parametrize("place", ["", "a", "a/b", "a/b/work"])
def test_a_folder_where_tools_can_write_is_refused_and_not_made(tmp_path: Path, place: str) -> None:
    """The message names the setting to change."""
    folder = StateFolder(tmp_path / "a", "b", workspace=tmp_path / place, setting="`state_dir`")

    with pytest.raises(UnsafeState) as refused, folder.made():
        pass

    assert (refused.value.what, refused.value.fix) == (
        f"lies where tools can write, below the workspace {str(tmp_path / place)!r}",
        "Choose another workspace, or another folder in `state_dir`.",
    )
    assert list(tmp_path.iterdir()) == []


def test_a_workspace_beside_it_is_no_harm(tmp_path: Path) -> None:
    """Also where both lie in one folder."""
    with StateFolder(tmp_path / "a", workspace=tmp_path / "work").made() as held:
        assert held.read("file") is None
