"""Protected paths: read-only, also where they do not exist, and with nothing left of what makes them so."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.plugins.bwrap.conftest import Remembering, shell, wait_until

from toolcharter import Denied, ToolError
from toolcharter_bwrap import placeholders
from toolcharter_bwrap.runner import BwrapRunner

pytestmark = pytest.mark.needs_program("bwrap", package="bubblewrap")
Open = Callable[..., BwrapRunner]


def tree(folder: Path) -> dict[str, str]:
    """Every path below a folder, with the content of files."""
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else "" for path in sorted(folder.rglob("*"))
    }


ATTACKS = [
    pytest.param("echo x > .toolcharter", id="write"),
    pytest.param("mkdir -p .toolcharter/in", id="make"),
    pytest.param("touch .toolcharter/x", id="create in it"),
    pytest.param("mv .toolcharter away; mkdir .toolcharter", id="rename"),
    pytest.param("rm -rf .toolcharter; mkdir .toolcharter", id="remove"),
    pytest.param("touch x; mv -T x .toolcharter; mkdir d; mv -T d .toolcharter", id="replace"),
    pytest.param("ln -sfT /tmp .toolcharter", id="replace by a link"),
    pytest.param("chmod 777 .toolcharter && touch .toolcharter/x", id="change its mode"),
    pytest.param("mv deep/way w; mkdir -p deep/way/p; echo x > deep/way/p/x", id="rename the way to it"),
    pytest.param("mv deep d; mkdir -p deep/way/p; echo x > deep/way/p/x", id="rename the beginning of the way"),
    pytest.param("ln .git/config alias; echo x > alias", id="another name for a file in it"),
    pytest.param("cd .git && echo x > config; echo x > hooks/pre-commit; mv hooks h", id="from within"),
    pytest.param("echo x > file.yaml; rm -f file.yaml; mv file.yaml f; touch n; mv n file.yaml", id="a file"),
]
PROTECTED = (".toolcharter", "deep/way/p", ".git", "file.yaml")


@pytest.mark.parametrize("script", ATTACKS)
@pytest.mark.parametrize("exists", [False, True], ids=["missing", "existing"])
def test_what_is_protected_stays_as_it_is(open_runner: Open, workspace: Path, script: str, *, exists: bool) -> None:
    """Whatever a program does to it, or to the way to it."""
    (workspace / ".git/hooks").mkdir(parents=True)
    (workspace / ".git/config").write_text("[core]")
    (workspace / "file.yaml").write_text("profile: x")
    if exists:
        for folder in (".toolcharter", "deep/way/p"):
            (workspace / folder).mkdir(parents=True)
    before = tree(workspace)

    ended = open_runner(*PROTECTED).run(shell(f"{script}; echo end"))

    after = tree(workspace)
    held = {path: text for path, text in after.items() if path.startswith(PROTECTED)}
    assert held == {path: text for path, text in before.items() if path.startswith(PROTECTED)}
    assert ended.stdout.endswith(b"end\n")


def test_what_is_not_protected_can_be_written(open_runner: Open, workspace: Path) -> None:
    """Beside it and on the way to it; folders that a program has put something into stay."""
    runner = open_runner("a/b/profile.yaml", "a", "c/d", "c/d/e", ".")

    ended = runner.run(shell("touch c/x; mkdir y; touch a/b"))

    assert (ended.exit_code, ended.stderr.count(b"Read-only")) == (1, 1)
    assert tree(workspace) == {"c": "", "c/x": "", "y": ""}


def test_protection_may_be_for_one_program(open_runner: Open, workspace: Path) -> None:
    """A job adds to what its runner protects."""
    runner = open_runner(".toolcharter")

    first = runner.run(shell("mkdir .git", protected=(".git",)))
    second = runner.run(shell("mkdir .git"))

    assert (first.exit_code, second.exit_code, tree(workspace)) == (1, 0, {".git": ""})


@pytest.mark.parametrize("name", [".toolcharter", "way/p"])
def test_a_link_to_what_is_protected_is_refused(open_runner: Open, workspace: Path, tmp_path: Path, name: str) -> None:
    """A link can be replaced, and nothing can lie over it."""
    (workspace / name.split("/", maxsplit=1)[0]).symlink_to(tmp_path)

    with pytest.raises(Denied, match="but it is a link") as caught:
        open_runner(name).run(shell("true"))

    assert caught.value.reason == "protected_path"
    assert "Put the file or folder itself there." in (caught.value.hint or "")
    assert repr(str(tmp_path)) in (caught.value.hint or "")


def test_a_folder_that_git_points_to_is_protected(open_runner: Open, workspace: Path) -> None:
    """As in a worktree and in a submodule: the file, what it names, and what that shares."""
    (workspace / "store/worktrees/w").mkdir(parents=True)
    (workspace / "store/worktrees/w/commondir").write_text("../..\n")
    (workspace / "tree").mkdir()
    (workspace / "tree/.git").write_text("gitdir: ../store/worktrees/w\n")
    before = tree(workspace)

    ended = open_runner("tree/.git").run(
        shell("echo x > tree/.git; touch store/config store/worktrees/w/HEAD; mv store s; touch tree/x; rm tree/x")
    )

    assert (ended.exit_code, tree(workspace)) == (0, before)


@pytest.mark.parametrize(
    "text",
    ["gitdir: /nonexistent\n", "gitdir: ../..\n", "gitdir: .\n", "something else", ""],
)
def test_a_pointer_that_leads_nowhere_is_protected_itself(open_runner: Open, workspace: Path, text: str) -> None:
    """Out of the workspace nothing can be written anyway; the workspace itself is not protected by it."""
    (workspace / ".git").write_text(text)

    ended = open_runner(".git").run(shell("echo x > .git; touch new"))

    assert (ended.exit_code, tree(workspace)) == (0, {".git": text, "new": ""})


@pytest.mark.parametrize(
    ("link", "to"),
    [
        pytest.param(".git/hooks", "../mine", id="hooks"),
        pytest.param(".git/config", "../mine/config", id="a file"),
        pytest.param(".git/hooks/pre-commit", "../../mine/pre-commit", id="one hook"),
        pytest.param(".git/modules/sub/hooks", "../../../mine", id="of a submodule"),
        pytest.param(".git/hooks", "{workspace}/mine", id="absolute"),
        pytest.param(".git/hooks", "{workspace}/../back/mine", id="out and back"),
        pytest.param(".git/hooks", "../missing/hooks", id="to what does not exist"),
        pytest.param(".toolcharter/policy.yaml", "../mine/config", id="a ceiling"),
    ],
)
def test_what_a_protected_link_leads_to_is_protected(
    open_runner: Open, workspace: Path, tmp_path: Path, link: str, to: str
) -> None:
    """It is what git runs and what the next toolbox reads."""
    (tmp_path / "back").symlink_to(workspace)
    (workspace / "mine").mkdir()
    for name in ("config", "pre-commit"):
        (workspace / "mine" / name).write_text("before")
    place = workspace / link
    place.parent.mkdir(parents=True)
    place.symlink_to(to.format(workspace=workspace))
    before = seen(place)

    ended = open_runner(".git", ".toolcharter").run(
        shell(
            "cd mine; echo x > config; echo x > pre-commit; rm -f *; cd ..; mv mine m; mkdir -p missing/hooks/x; touch y"
        )
    )

    assert (ended.exit_code, seen(place)) == (0, before)


def seen(place: Path) -> dict[str, str] | str | None:
    return tree(place) if place.is_dir() else place.read_text() if place.is_file() else None


def test_links_behind_links_are_protected(open_runner: Open, workspace: Path) -> None:
    """Of a folder that git points to, too, however many lead to the last."""
    for folder in ("store", "mine", "yours", "tree"):
        (workspace / folder).mkdir()
    (workspace / "tree/.git").write_text("gitdir: ../store")
    (workspace / "store/hooks").symlink_to("../mine")
    (workspace / "mine/pre-commit").symlink_to("../yours/hook")
    (workspace / "mine/again").symlink_to(".")
    (workspace / "yours/hook").write_text("before")

    ended = open_runner("tree/.git").run(shell("rm mine/pre-commit; echo x > yours/hook; mv yours y; touch tree/x"))

    assert (ended.exit_code, (workspace / "store/hooks/pre-commit").read_text()) == (0, "before")


@pytest.mark.parametrize("to", ["..", "../chain", "../away/hooks"])
def test_a_protected_link_that_cannot_be_held_is_refused(open_runner: Open, workspace: Path, to: str) -> None:
    """All of the workspace cannot be protected, nor another link."""
    (workspace / ".git").mkdir()
    (workspace / "mine/hooks").mkdir(parents=True)
    (workspace / "chain").symlink_to("mine")
    (workspace / "away").symlink_to("mine")
    (workspace / ".git/hooks").symlink_to(to)

    with pytest.raises(Denied) as caught:
        open_runner(".git").run(shell("true"))

    assert caught.value.reason == "protected_path"


def test_more_names_than_can_be_looked_at_are_refused(
    open_runner: Open, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them could be a link; what git keeps its content in is not counted."""
    monkeypatch.setattr("toolcharter_bwrap.links.MAX_NAMES", 3)
    for name in ("objects/aa", "refs/heads", "logs/refs"):
        (workspace / ".git" / name).mkdir(parents=True)
        (workspace / ".git" / name / "x").symlink_to(workspace / "y")
    assert open_runner(".git").run(shell("touch y")).exit_code == 0
    for name in ("HEAD", "config", "description", "index"):
        (workspace / ".git" / name).touch()

    with pytest.raises(Denied, match="too many"):
        open_runner(".git").run(shell("true"))


@pytest.mark.parametrize("name", ["/etc", "../x", "a\nb", "a\0b"])
def test_what_cannot_be_protected_is_refused(open_runner: Open, name: str) -> None:
    """Rather than left open."""
    with pytest.raises(Denied, match="cannot be protected") as caught:
        open_runner(name).run(shell("true"))

    assert caught.value.reason == "sandbox_unavailable"


def test_many_runs_share_placeholders(open_runner: Open, workspace: Path) -> None:
    """Of several runners at a time: none loses its protection when another ends, and the last leaves nothing."""
    runners = [open_runner(".toolcharter", "a/b"), open_runner("a/b", ".git")]
    script = "for i in 1 2 3 4 5; do sleep 0.0$RANDOM; touch a/b/x; mkdir -p a/b/c; rmdir a/b; done 2>/dev/null"

    with ThreadPoolExecutor(8) as pool:
        ended = list(pool.map(lambda number: runners[number % 2].run(shell(script)), range(40)))

    assert {each.exit_code for each in ended} == {1}
    assert tree(workspace) == {}


def test_the_place_of_a_placeholder_may_be_taken(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a file, by somebody who locks it for himself, or by another at the last moment: an error, and no waiting."""
    monkeypatch.setattr(placeholders, "_TIMEOUT_S", 0.05)
    (workspace / "file").touch()
    (workspace / "locked").mkdir()
    descriptor = os.open(workspace / "locked", os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)

    for name in ("file", "locked"):
        with (
            pytest.raises(ToolError, match="could not be reserved"),
            placeholders.hold_placeholder(str(workspace / name), Remembering()),
        ):
            pass

    os.close(descriptor)


def test_a_folder_in_which_no_placeholder_may_be_made_is_told_with_its_path() -> None:
    """The call is denied with the path, and with what the user can do; the sysfs lets nobody make folders."""
    path = "/sys/.toolcharter"

    with pytest.raises(Denied) as caught, placeholders.hold_placeholder(path, Remembering()):
        pytest.fail("a placeholder was made")

    assert (caught.value.reason, caught.value.hint) == (
        "sandbox_unavailable",
        "Ask the user to give toolcharter the right to make folders in the workspace.",
    )
    assert str(caught.value.message).startswith(
        f"The protected path {path!r} does not exist, and toolcharter may not make a folder there to cover it: "
    )


def test_a_placeholder_that_was_replaced_is_left(workspace: Path) -> None:
    """What is there at the end is somebody else's."""
    keeper = Remembering()
    path = workspace / "p"

    with placeholders.hold_placeholder(str(path), keeper):
        assert (placeholders.is_placeholder(path.lstat()), keeper.folders) == (True, [str(path)])
        path.rmdir()
        path.mkdir()
    with placeholders.hold_placeholder(str(workspace / "gone"), keeper):
        (workspace / "gone").rmdir()

    assert (tree(workspace), keeper.folders) == ({"p": ""}, [])


PARENT = """
import sys
from pathlib import Path
from toolcharter import Job, RunnerScope
from toolcharter_bwrap.policy import BwrapPolicy
from toolcharter_bwrap.runner import BwrapRunner
runner = BwrapRunner(RunnerScope(Path(sys.argv[1]), (".toolcharter", "a/b")), BwrapPolicy())
runner.run(Job(("sh", "-c", "touch started; sleep 60"), env={"PATH": "/usr/bin:/bin"}))
"""


def test_the_death_of_the_parent_leaves_no_placeholder(workspace: Path) -> None:
    """The keeper removes them."""
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(workspace)])
    assert wait_until((workspace / "started").exists)

    parent.kill()

    parent.wait()
    assert wait_until(lambda: tree(workspace) == {"started": ""})
