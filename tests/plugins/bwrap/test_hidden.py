"""Hidden files in the sandbox: empty there, whole outside, and not to be had by another name."""

from pathlib import Path

import pytest
from tests.plugins.bwrap.conftest import shell

from toolcharter import RunnerScope
from toolcharter.guards.paths.hidden import HiddenFiles
from toolcharter.profile.settings import DEFAULT_HIDDEN
from toolcharter_bwrap.policy import BwrapPolicy
from toolcharter_bwrap.runner import BwrapRunner

pytestmark = pytest.mark.needs_program("bwrap", package="bubblewrap")
WORD = "hunter" + "2"


@pytest.fixture
def hiding(workspace: Path):
    """A runner whose profile hides the usual names, in a workspace that has some of them."""
    for folder in ("app", ".ssh", "real"):
        (workspace / folder).mkdir()
    for file in (".env", "app/.env.local", ".ssh/id", "real/settings", "app/open.txt"):
        (workspace / file).write_text(WORD)
    (workspace / "key.pem").write_text("-----BEGIN " + f"PRIVATE KEY-----\n{WORD}")
    (workspace / "app/.env.link").symlink_to("../real/settings")
    scope = RunnerScope(workspace, (".git", "app/kept"), HiddenFiles(workspace, DEFAULT_HIDDEN))
    runner = BwrapRunner(scope, BwrapPolicy())
    yield runner
    runner.close()


@pytest.mark.parametrize("read_only", [False, True], ids=["writable", "read-only"])
def test_programs_see_nothing_of_what_is_hidden(hiding: BwrapRunner, workspace: Path, *, read_only: bool) -> None:
    """Whatever they try by name, link, or folder; everything else is there."""
    ended = hiding.run(shell("grep -rl hunter . ; cat .env app/.env.* key.pem; ls -A .ssh", read_only=read_only))

    assert (ended.stdout.decode(), ended.stderr) == ("./app/open.txt\n", b"")
    assert (workspace / ".env").read_text() == WORD


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("mv .env shown; cat shown", id="another name"),
        pytest.param("ln .env shown; cat shown", id="another link"),
        pytest.param("mv app moved; cat moved/.env.local", id="a folder with another name"),
        pytest.param(
            "rm -f .env app/.env.local; cp -a . /tmp/all; cat /tmp/all/.env /tmp/all/app/.env.local", id="a copy"
        ),
        pytest.param("umount .env; cat .env", id="without the mount"),
        pytest.param("cat /proc/self/root/$PWD/.env /proc/self/cwd/.env", id="by another way"),
    ],
)
def test_what_is_hidden_stays_so(hiding: BwrapRunner, workspace: Path, script: str) -> None:
    """Mounts cannot be taken away, moved or linked past."""
    ended = hiding.run(shell(f"{{ {script}; }} 2>&1"))

    assert WORD not in ended.stdout.decode()
    assert [path.read_text() for path in workspace.rglob(".env")] == [WORD]


def test_what_appears_later_is_hidden_from_the_next_program(hiding: BwrapRunner, workspace: Path) -> None:
    """Each start looks again; what a program writes itself it may read until then."""
    first = hiding.run(shell(f"echo {WORD} > app/.env.new; cat app/.env.new"))
    second = hiding.run(shell("cat app/.env.new"))

    assert (first.stdout.decode(), second.stdout) == (f"{WORD}\n", b"")
    assert (workspace / "app/.env.new").read_text() == f"{WORD}\n"
