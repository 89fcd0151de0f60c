"""The folder of a browser's profile: locked as long as it is used, removed by whoever looks next."""

from pathlib import Path

import pytest

from toolcharter_browser.folders import PREFIX, Folder, base, sweep


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("toolcharter_browser.folders.base", lambda: tmp_path)
    return tmp_path


def test_a_long_name_is_not_for_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the limit the system's temporary folder is taken, one past it `/tmp`."""
    for length, taken in ((30, "/" + "x" * 29), (31, "/tmp")):
        monkeypatch.setattr("tempfile.tempdir", "/" + "x" * (length - 1))
        assert str(base()) == taken


def test_what_is_held_stays(temporary: Path) -> None:
    """A folder is removed with all in it once nobody holds it, and not before."""
    folder = Folder()
    (folder.path / "cookies").write_text("x")

    sweep()
    assert (folder.path / "cookies").exists()
    folder.close()
    sweep()
    assert list(temporary.iterdir()) == []


def test_nothing_else_is_touched(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what has another name, nor files, links, other users' folders and ones that are still empty."""
    kept = temporary / "other"
    kept.mkdir()
    (kept / "file").write_text("x")
    (temporary / f"{PREFIX}link").symlink_to(kept)
    (temporary / f"{PREFIX}file").write_text("x")
    (temporary / f"{PREFIX}empty").mkdir()

    sweep()

    assert sorted(path.name for path in temporary.iterdir()) == sorted(
        ["other", f"{PREFIX}link", f"{PREFIX}file", f"{PREFIX}empty"]
    )
    assert (kept / "file").exists()
    (temporary / f"{PREFIX}empty" / "file").write_text("x")
    monkeypatch.setattr("os.geteuid", lambda: 4_000_000_000)
    sweep()
    assert (temporary / f"{PREFIX}empty").exists()
