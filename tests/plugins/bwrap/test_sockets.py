"""Sockets of the host in the workspace, such as an agent's: not reached from a sandbox, and left as they are."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.plugins.bwrap.conftest import job

from toolcharter_bwrap import sockets
from toolcharter_bwrap.runner import BwrapRunner

Open = Callable[..., BwrapRunner]
CONNECT = 'use IO::Socket::UNIX; print IO::Socket::UNIX->new(Peer => $ARGV[0]) ? "reached" : "not reached"'


@pytest.fixture
def listen() -> Iterator[Callable[[Path], None]]:
    with ExitStack() as stack:

        def listen(path: Path) -> None:
            server = stack.enter_context(socket.socket(socket.AF_UNIX))
            server.bind(str(path))
            server.listen()

        yield listen


@pytest.mark.needs_program("bwrap", package="bubblewrap")
@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("where", ["ws/agent.sock", "ws/a b/agent.sock", "root/agent.sock"])
def test_a_socket_of_the_host_is_not_reached(
    open_runner: Open, tmp_path: Path, workspace: Path, listen: Callable[[Path], None], where: str, *, read_only: bool
) -> None:
    """In the workspace and in roots to read from; after the run it is there as before."""
    root = tmp_path / "root"
    root.mkdir()
    path = tmp_path / where
    path.parent.mkdir(exist_ok=True)
    listen(path)

    ended = open_runner(read_roots=(root,)).run(job("perl", "-e", CONNECT, str(path), read_only=read_only))

    assert ended.stdout == b"not reached"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))


def test_only_what_a_sandbox_can_see_is_covered(
    tmp_path: Path, listen: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sockets elsewhere, those that are gone and names without a path need nothing; nor is one a must."""
    (tmp_path / "in").mkdir()
    (tmp_path / "link").symlink_to("in")
    for name in ("link/a", "in/gone", "b", "moved", "turned", "in/written"):
        listen(tmp_path / name)
    (tmp_path / "in/gone").unlink()
    (tmp_path / "moved").rename(tmp_path / "in/z")
    (tmp_path / "moved").symlink_to("in/z")
    (tmp_path / "turned").unlink()
    (tmp_path / "turned").symlink_to("in")
    (tmp_path / "in/written").unlink()
    (tmp_path / "in/written").touch()

    for folder in ("in", "link"):
        found = (str(tmp_path / folder / name) for name in "az")
        assert sockets.hide_sockets([tmp_path / folder]) == tuple(
            word for path in found for word in ("--ro-bind", "/dev/null", path)
        )
    assert sockets.hide_sockets([tmp_path / "b"]) == ("--ro-bind", "/dev/null", str(tmp_path / "b"))

    monkeypatch.setattr("toolcharter.guards.process.sockets._LISTED", tmp_path / "missing")
    assert sockets.hide_sockets([tmp_path / "in"]) == ()
