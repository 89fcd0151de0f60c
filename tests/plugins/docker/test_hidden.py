"""Hidden files in a container: empty there, whole outside."""

import socket
from pathlib import Path

import pytest
from tests.plugins.docker.conftest import needs_docker, shell
from tests.sandbox.dockerd import Dockerd

from toolcharter import RunnerScope
from toolcharter.guards.paths.hidden import HiddenFiles
from toolcharter.profile.settings import DEFAULT_HIDDEN
from toolcharter_docker import SPEC

pytestmark = needs_docker
WORD = "hunter" + "2"


@pytest.mark.parametrize("read_only", [False, True], ids=["writable", "read-only"])
def test_programs_see_nothing_of_what_is_hidden(dockerd: Dockerd, workspace: Path, *, read_only: bool) -> None:
    """Files are empty, folders too; everything else is there."""
    for folder in ("app", ".ssh"):
        (workspace / folder).mkdir()
    for file in (".env", "app/.env.local", ".ssh/id", "app/open.txt"):
        (workspace / file).write_text(WORD)
    policy = SPEC.policy.from_profile({"image": dockerd.image, "host": dockerd.host})
    scope = RunnerScope(workspace, (".git",), HiddenFiles(workspace, DEFAULT_HIDDEN))
    runner = SPEC.build(workspace, policy).open_runner(scope)

    ended = runner.run(shell("grep -rl hunter . ; cat .env app/.env.local; ls -A .ssh", read_only=read_only))
    runner.close()

    assert (ended.stdout.decode(), ended.stderr) == ("./app/open.txt\n", b"")
    assert (workspace / ".env").read_text() == WORD


@pytest.mark.parametrize("read_only", [False, True], ids=["writable", "read-only"])
@pytest.mark.parametrize("where", ["ws/a b/agent.sock", "root/agent.sock"])
def test_sockets_of_this_machine_are_not_reached(
    dockerd: Dockerd, tmp_path: Path, workspace: Path, where: str, *, read_only: bool
) -> None:
    """In the workspace and in roots to read from; a mount that is read-only keeps nobody from connecting."""
    (tmp_path / where).parent.mkdir()
    policy = SPEC.policy.from_profile({
        "image": dockerd.image, "host": dockerd.host, "read_roots": [str(tmp_path / "root")] if where[0] == "r" else [],
    })  # fmt: skip
    runner = SPEC.build(workspace, policy).open_runner(RunnerScope(workspace))
    connect = (
        "perl -MSocket -e 'socket(S,PF_UNIX,SOCK_STREAM,0);"
        "print connect(S,pack_sockaddr_un($ARGV[0])) ? q(reached) : q(not reached)' "
    )
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / where))
        server.listen()

        ended = runner.run(shell(f"{connect} '{tmp_path / where}'", read_only=read_only))

    runner.close()
    assert ended.stdout == b"not reached"
