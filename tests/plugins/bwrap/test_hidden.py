"""Hidden files in the sandbox: empty there, whole outside, and not to be had by another name."""

from pathlib import Path

import pytest
from tests.plugins.bwrap.conftest import shell

from toolcharter import RunnerScope
from toolcharter.guards.paths.hidden import HiddenFiles
from toolcharter.profile.settings import DEFAULT_HIDDEN, HiddenGlob
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


@pytest.mark.parametrize(
    ("hidden", "moves", "reads"),
    [
        pytest.param(
            "config/secrets/key", "mv config other", "cat other/secrets/key", id="a path that no glob matches"
        ),
        pytest.param("a/b/.env", "mkdir n; mv a/b n/.git", "cat n/.git/.env", id="a folder that is not searched"),
        pytest.param("a/b/.env", "mv a n; mkdir -p a/b; touch a/b/.env", "cat n/b/.env", id="a decoy in its place"),
    ],
)
def test_no_program_moves_a_hidden_file_for_a_later_one(workspace: Path, hidden: str, moves: str, reads: str) -> None:
    """The folders on the way to a hidden file keep their names, so that the next search finds the file where it was."""
    (workspace / hidden).parent.mkdir(parents=True)
    (workspace / hidden).write_text(WORD)
    globs = (HiddenGlob(".env"), HiddenGlob("config/secrets/**"))
    runner = BwrapRunner(RunnerScope(workspace, (".git",), HiddenFiles(workspace, globs)), BwrapPolicy())

    first = runner.run(shell(f"{{ {moves}; }} 2>&1"))
    second = runner.run(shell(reads))
    runner.close()

    assert (b"Device or resource busy" in first.stdout, second.stdout) == (True, b"")
    assert (workspace / hidden).read_text() == WORD


def test_a_way_to_a_hidden_file_stays_as_protected_as_it_was(workspace: Path) -> None:
    """A protected folder with hidden files in it is not writable for them, nor is a workspace that is only read."""
    (workspace / "kept/in").mkdir(parents=True)
    (workspace / "free").mkdir()
    for folder in ("kept/in", "free"):
        (workspace / folder / ".env").write_text(WORD)
    runner = BwrapRunner(RunnerScope(workspace, ("kept",), HiddenFiles(workspace, DEFAULT_HIDDEN)), BwrapPolicy())

    written = runner.run(shell("touch kept/in/x free/x"))
    read = runner.run(shell("touch kept/in/y free/y", read_only=True))
    runner.close()

    assert written.exit_code == read.exit_code == 1
    assert sorted(path.name for path in workspace.rglob("?")) == ["x"]
    assert (workspace / "free/x").exists()


def test_what_appears_later_is_hidden_from_the_next_program(hiding: BwrapRunner, workspace: Path) -> None:
    """Each start looks again; what a program writes itself it may read until then."""
    first = hiding.run(shell(f"echo {WORD} > app/.env.new; cat app/.env.new"))
    second = hiding.run(shell("cat app/.env.new"))

    assert (first.stdout.decode(), second.stdout) == (f"{WORD}\n", b"")
    assert (workspace / "app/.env.new").read_text() == f"{WORD}\n"


def test_other_names_of_a_hidden_file_are_covered(hiding: BwrapRunner, workspace: Path) -> None:
    """A hard link that was there before shows a program as little as the file's own name."""
    (workspace / "real/twin.txt").hardlink_to(workspace / ".env")

    ended = hiding.run(
        shell("cat real/twin.txt; mv real/twin.txt shown; cat shown; mv real moved && cat moved/twin.txt")
    )

    assert WORD not in ended.stdout.decode()
    assert (workspace / "real/twin.txt").read_text() == WORD
