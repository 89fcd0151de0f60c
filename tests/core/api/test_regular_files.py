"""`read_regular`."""

import os
import socket
from pathlib import Path

import pytest

from toolcharter.api.paths import read_regular


def test_it_reads_the_beginning(tmp_path: Path) -> None:
    """As much as is asked for."""
    (tmp_path / "a").write_bytes(b"12345")

    assert [read_regular(tmp_path / "a", most) for most in (0, 3, 5, 9)] == [b"", b"123", b"12345", b"12345"]


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "device", "missing", "link", "link to a pipe"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a pipe without a writer nor anything else is waited for."""
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    place, follow = Path("x"), False
    match kind:
        case "pipe":
            os.mkfifo(place)
        case "socket":
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind("x")
        case "folder":
            place.mkdir()
        case "device":
            place = Path(os.devnull)
        case "link":
            Path("y").write_text("")
            place.symlink_to("y")
        case "link to a pipe":
            os.mkfifo("y")
            place.symlink_to("y")
            follow = True

    with pytest.raises(OSError):  # noqa: PT011 - of whatever kind the system says
        read_regular(place, 10, follow=follow)


def test_links_are_followed_on_demand(tmp_path: Path) -> None:
    """For who has looked at where they lead."""
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").symlink_to("a")

    assert read_regular(tmp_path / "b", 10, follow=True) == b"a"
