"""Names on disk that xargs would hand on: real find, ls, grep and git, real xargs, and names that somebody chose."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcharter.gate.commands import analyse_commands
from toolcharter.gate.stages.s4_confine import Confinement
from toolcharter.guards.paths import glob_expand as patterns

SECRET = "the secret of the outside"
Plant = Callable[[Path], object]


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """A workspace beside a secret, and what runs in it."""
    folder = tmp_path / "ws"
    (folder / "src/deep").mkdir(parents=True)
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "away").mkdir()
    (tmp_path / "away/x.py").write_text(SECRET)
    for name in ("README.md", "src/app.py", "src/deep/util.py"):
        (folder / name).write_text("add\n")
    return folder


def refusal(space: Path, line: str) -> str | None:
    """Why rules for the programs of *line* would not let it run."""
    found = analyse_commands([line], str(space))
    if found.refusal or found.unsupported or any(one.words - {"read"} for one in found.needs):
        return "needs more than rules for its programs"
    assert found.preconditions is not None
    lookout = Confinement(space)
    denied = lookout.find_objection(found.preconditions)
    lookout.close()
    return None if denied is None else denied.message


def run(space: Path, line: str) -> str:
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(space.parent)}
    ran = subprocess.run(
        ["bash", "-c", line], cwd=space, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60
    )
    return ran.stdout.decode(errors="replace")


def git(space: Path) -> None:
    for command in ("git init -q .", "git add -A"):
        subprocess.run(command.split(), cwd=space, check=True)


HARMLESS = [
    "find . -name '*.py' | xargs cat",
    "find . -type f -name '*.py' | xargs cat",
    "find src -type f -print0 | xargs -0 cat",
    "find src -name '*.py' -print0 | xargs -0 -I{} cat {}",
    "find src | xargs -n1 cat 2>/dev/null",
    "ls *.md | xargs cat",
    "ls -d s* README.md | xargs cat",
    "cd src/deep && ls | xargs cat",
    "grep -rl add src | xargs cat",
    "grep -rlZ add | xargs -0 cat",
    "grep -l add *.md | xargs cat",
    "echo README.md src/app.py | xargs -n1 cat",
    "printf '%s\\n' README.md | xargs -I% cat %",
]


@pytest.mark.parametrize("line", HARMLESS)
def test_plain_names_are_handed_on(space: Path, line: str) -> None:
    """The programs see files of the workspace, whatever else lies there."""
    (space.parent / "ws/docs").mkdir()
    (space / "docs/a b").write_text("")
    (space / "docs/out").symlink_to("../../secret")
    if line.startswith(("find . -type f -name", "find . -name", "grep -rlZ")):
        (space / "docs/-x").write_text("")

    assert refusal(space, line) is None
    assert "add" in run(space, line)


@pytest.mark.parametrize("line", ["git ls-files | xargs cat", "git ls-files -z src | xargs -0 cat", "cd src && git ls-files | xargs cat"])  # fmt: skip
def test_what_git_tracks_is_handed_on(space: Path, line: str) -> None:
    """What it does not track does not matter."""
    git(space)
    (space / "a b").write_text("")
    (space / "out").symlink_to("../secret")

    assert refusal(space, line) is None
    assert run(space, line).startswith("add")


def file(name: str) -> Plant:
    def plant(space: Path) -> None:
        (space / name).parent.mkdir(parents=True, exist_ok=True)
        (space / name).write_text("add")

    return plant


def link(name: str, target: str = "../secret") -> Plant:
    def plant(space: Path) -> None:
        (space / name).symlink_to(target)

    return plant


def both(one: Plant, other: Plant) -> Plant:
    def plant(space: Path) -> None:
        one(space)
        other(space)

    return plant


ATTACKS = [
    # The name becomes several words, one of which is a path outside.
    pytest.param(file("q ../secret"), "find . | xargs cat", id="blank"),
    pytest.param(file("q\n../secret"), "find . -type f | xargs cat", id="newline"),
    pytest.param(file("q\t../secret"), "find . -name 's*' | xargs cat", id="tab"),
    pytest.param(link("ab", "../secret"), "find . | xargs cat", id="link"),
    pytest.param(both(file('"ab"'), link("ab")), "find . -type f | xargs cat", id="quote"),
    pytest.param(both(file("a\\b"), link("ab")), "grep -rl add . | xargs cat", id="backslash"),
    pytest.param(both(file("d x/y.py"), link("x")), "find . -type f -name '*.py' | xargs -n1 cat; cat ./d", id="folder"),
    pytest.param(link("ab"), "find . -name 'a*' -print0 | xargs -0 cat", id="named link"),
    pytest.param(link("sub", "../away"), "find . -print0 | xargs -0 grep -r secret", id="link to a folder"),
    pytest.param(link("sub", "../away"), "ls | xargs grep -r secret", id="listed link"),
    pytest.param(link("src/sub", "../../away"), "find src -type f -o -print | xargs grep -r secret", id="alternative"),
    # The name is an option.
    pytest.param(file("--files0-from=.."), "ls | xargs cat", id="option"),
    pytest.param(both(file("-f"), link("x.lst")), "ls | xargs grep add", id="short option"),
    pytest.param(file("--pre=x"), "grep -l add * | xargs cat", id="option by a glob"),
    pytest.param(file("-x/y"), "grep -rl add | xargs cat", id="option by its folder"),
    # The folder's names are printed, not its own.
    pytest.param(both(file("d.md/ab"), link("ab")), "ls *.md | xargs cat", id="folder of a glob"),
    pytest.param(link("<stdin>"), "rg -l add | xargs cat", id="a word of the program"),
]  # fmt: skip


@pytest.mark.parametrize(("plant", "line"), ATTACKS)
def test_no_name_leads_out_or_becomes_an_option(space: Path, plant: Plant, line: str) -> None:
    """Whoever chooses the names."""
    plant(space)

    assert refusal(space, line) is not None


@pytest.mark.parametrize(
    ("plant", "line"),
    [one for one in ATTACKS if one.id in {"blank", "backslash", "newline", "tab", "quote", "link", "named link", "listed link", "folder of a glob"}],
)  # fmt: skip
def test_the_attacks_are_real(space: Path, plant: Plant, line: str) -> None:
    """Without the guard they show what lies outside."""
    plant(space)

    assert SECRET in run(space, line)


def test_a_name_that_is_no_text_is_refused(space: Path) -> None:
    """Of lines that are no text `grep` prints a message, whose words would be taken for names."""
    (space / os.fsdecode(b"x\xff")).write_text("")

    assert refusal(space, "find . | grep x | xargs cat") is not None


INDEXED = [
    pytest.param(file("a b"), "git ls-files | xargs cat", "The name 'a b' would be split into other words by `xargs`.", id="blank"),
    pytest.param(file("é"), "git ls-files | xargs cat", "git would quote the name 'é'.", id="not ASCII"),
    pytest.param(file("-x"), "git ls-files -z | xargs -0 cat", "The name '-x' could be taken for an option.", id="option"),
    pytest.param(file("src/-x"), "cd src && git ls-files | xargs cat", "The name '-x' could be taken", id="option below"),
    pytest.param(file(os.fsdecode(b"x\xff")), "git ls-files -z | xargs -0 cat", "The commands cannot be checked against the disk", id="no text"),
    pytest.param(link("ab"), "git ls-files | xargs cat", "'ab' leads out of the workspace.", id="link"),
]  # fmt: skip


@pytest.mark.parametrize(("plant", "line", "message"), INDEXED)
def test_what_git_tracks_is_looked_at(space: Path, plant: Plant, line: str, message: str) -> None:
    """Though it may not be on disk any more."""
    plant(space)
    git(space)

    assert (refusal(space, line) or "").startswith(message)


LOOPED = [
    pytest.param(file("a b"), "The name 'a b' would be split into other words by the shell.", id="blank"),
    pytest.param(file("a*"), "The name 'a*' would match other names in the shell.", id="star"),
    pytest.param(file("x[a]"), "The name 'x[a]' would match other names in the shell.", id="bracket"),
    pytest.param(file("-x"), "The name '-x' could be taken for an option.", id="option"),
    pytest.param(link("ab"), "'ab' leads out of the workspace.", id="link"),
]
LOOPS = [
    "for f in $(git ls-files); do cat $f; done",
    'git ls-files | while read -r f; do cat "$f"; done',
    'for f in $(ls -d *); do cat "$f"; done',
]


@pytest.mark.parametrize(("plant", "message"), LOOPED)
@pytest.mark.parametrize("line", LOOPS)
def test_what_a_loop_runs_over_is_looked_at(space: Path, plant: Plant, line: str, message: str) -> None:
    """The shell parts and expands what a substitution prints; a link may lead out."""
    plant(space)
    git(space)

    why = refusal(space, line) or ""

    assert why.startswith(message) or "leads out of the workspace" in why or "would be read as an option" in why


def test_a_loop_over_plain_names_runs(space: Path) -> None:
    """Files of the workspace alone."""
    git(space)

    assert refusal(space, 'for f in $(git ls-files src); do wc -l "$f"; done') is None
    assert refusal(space, 'find src -name "*.py" | while read -r f; do head -1 "$f"; done') is None


def test_a_link_in_the_place_of_a_tracked_folder(space: Path) -> None:
    """The index names what lies behind it."""
    (space / "src/x.py").write_text("")
    git(space)
    (space / "src").rename(space / "old")
    (space / "src").symlink_to("../away")

    assert refusal(space, "git ls-files | xargs cat") == "'src/app.py' leads out of the workspace."
    assert SECRET in run(space, "git ls-files | xargs cat")


def test_an_index_may_be_made_by_hand(space: Path) -> None:
    """Git itself writes no path that leads up."""
    (space / "xx").write_text("")
    git(space)
    index = space / ".git/index"
    data = index.read_bytes()

    index.write_bytes(data.replace(b"xx\0", b"..\0"))
    assert refusal(space, "git ls-files | xargs cat") == ".git/index holds the path '..'."
    index.write_bytes(data[:-25])
    assert (refusal(space, "git ls-files | xargs cat") or "").startswith(".git/index cannot be read: ")


def test_a_tracked_file_may_be_gone(space: Path) -> None:
    """Then its program says that there is none."""
    git(space)
    (space / "README.md").unlink()

    assert refusal(space, "git ls-files | xargs cat") is None


def test_no_repository_lists_nothing(space: Path) -> None:
    """Git prints nothing, and says why."""
    assert refusal(space, "git ls-files | xargs cat") is None


def test_too_many_tracked_files(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for globs, no more names are looked at than a call may."""
    git(space)
    monkeypatch.setattr(patterns, "MAX_NAMES", 2)

    assert refusal(space, "git ls-files | xargs cat") == "git tracks more than 100,000 files."


def test_the_advice_works(space: Path) -> None:
    """What a refusal proposes is covered, and does what was asked for."""
    (space / "a b").write_text("add more")

    why = refusal(space, "find . -type f | xargs cat")

    assert why == "The name 'a b' would be split into other words by `xargs`. Write `find ... -print0 | xargs -0 ...`."
    assert refusal(space, "find . -type f -print0 | xargs -0 cat") is None
    assert "add more" in run(space, "find . -type f -print0 | xargs -0 cat")
