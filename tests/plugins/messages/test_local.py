"""The channel `local`: lines in a file or to a socket that nobody else may write to."""

import json
import os
import socket
import stat
from pathlib import Path

import pytest
from tests.rows import each_row

from toolcharter import Message, NotDelivered, Notification
from toolcharter_messages.lines import LineSender
from toolcharter_messages.local import open_channel

MESSAGE = Message("uma", "Good morning.", {"agent": "ada"}, "d1")


def go_on(_seconds: float) -> bool:
    return False


def send(path: Path, item: Message | Notification = MESSAGE) -> None:
    open_channel(f"local:{path}").connect().send(item, go_on)


def test_a_file_gets_a_line_for_each(tmp_path: Path) -> None:
    """And nobody but its owner reads it."""
    path = tmp_path / "new" / "messages.jsonl"
    send(path)
    send(path, Notification({"tool": "git"}, "git:*", "d2"))

    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines == [
        {"delivery": "d1", "agent": "ada", "message": {"to": "uma", "text": "Good morning.", "media": []}},
        {"delivery": "d2", "tool": "git", "notify": {"match": "git:*"}},
    ]
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)


def test_without_a_path_it_is_the_users_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    open_channel("local:").connect().send(MESSAGE, go_on)

    (found,) = tmp_path.rglob("*.jsonl")
    assert json.loads(found.read_text())["delivery"] == "d1"


def test_a_socket_gets_it(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(tmp_path / "s"))
        (tmp_path / "s").chmod(0o600)
        server.listen()

        send(tmp_path / "s")

        connection, _ = server.accept()
        with connection, connection.makefile() as lines:
            assert json.loads(lines.readline())["delivery"] == "d1"


def test_a_large_file_makes_room(tmp_path: Path) -> None:
    sender = LineSender(tmp_path / "m", max_bytes=150)
    for _ in range(3):
        sender.send(MESSAGE, go_on)

    assert [len((tmp_path / name).read_text().splitlines()) for name in ("m", "m.1")] == [1, 1]


def test_what_others_may_write_to_is_refused(tmp_path: Path) -> None:
    """A file, its folder, a link and what is no file; nothing is written anywhere else."""
    (tmp_path / "open").touch()
    (tmp_path / "open").chmod(0o666)
    (tmp_path / "target").touch(0o600)
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    os.mkfifo(tmp_path / "pipe", 0o600)

    for name in ("open", "link", "pipe", "shared/file"):
        with pytest.raises(NotDelivered, match="the local channel"):
            send(tmp_path / name)

    assert ((tmp_path / "target").read_text(), [*(tmp_path / "shared").iterdir()]) == ("", [])


def test_a_path_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch(0o600)

    with pytest.raises(NotDelivered, match="the local channel"):
        send(tmp_path / "file" / "below")


@each_row("url", ["local:relative", "local:/a/../b", "local:/a\0b"])
def test_urls_that_cannot_be_used(url: str) -> None:
    with pytest.raises(ValueError, match="the URL is not `local:`"):
        open_channel(url)
