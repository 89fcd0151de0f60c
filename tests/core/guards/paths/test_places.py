"""Places to write: what may be used how, and what is refused before anything is changed."""

import errno
import os
import subprocess
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import pytest
from tests.descriptors import open_descriptors
from tests.rows import each_row

from toolcharter import Denied, ToolError
from toolcharter.api.paths import PlaceUse
from toolcharter.guards.paths import WorkspacePaths, uses
from toolcharter.guards.paths.hidden import HiddenNames
from toolcharter.guards.paths.roots import kernel_openers
from toolcharter.guards.paths.target import MAX_DEPTH
from toolcharter.guards.paths.workspace import WorkspaceView


def free() -> None:
    """Nothing speaks against a change."""


def writable(root: Path, openers, **scope) -> WorkspaceView:
    return WorkspacePaths(root, openers=openers, **scope).writable(free)


def outcome(paths: WorkspaceView, path: str, use: PlaceUse = "write") -> tuple[str, str]:
    """What asking for a place comes to: its kind and where it lies, or the kind of refusal with its reason."""
    try:
        with paths.open_place(path, use) as place:
            return place.kind, place.path
    except Denied as denied:
        return "denied", denied.reason
    except ToolError as error:
        return "error", error.reason


OUTSIDE = ("denied", "path_outside_workspace")
PROTECTED = ("denied", "protected_path")
MISSING = ("error", "path_not_found")
FOLDER = ("error", "is_directory")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.txt", ("file", "a.txt")),
        ("new.txt", ("missing", "new.txt")),
        ("sub/deep/../new.txt", ("missing", "sub/new.txt")),
        ("x/y/new.txt", ("missing", "x/y/new.txt")),
        ("x/./y//new.txt", ("missing", "x/y/new.txt")),
        ("{ws}/new.txt", ("missing", "new.txt")),
        ("in_dir/new.txt", ("missing", "sub/new.txt")),
        ("in_dir/x/new.txt", ("missing", "sub/x/new.txt")),
        ("in_dir/../new.txt", ("missing", "new.txt")),
        ("in_abs_dir/deep/new.txt", ("missing", "sub/deep/new.txt")),
        ("in_file", ("file", "a.txt")),
        ("chain", ("file", "a.txt")),
        ("in_abs", ("file", "sub/b.txt")),
        ("missing_in", ("missing", "nothing")),
        ("missing_in/new.txt", ("missing", "nothing/new.txt")),
        ("~/new.txt", ("missing", "~/new.txt")),
        ("%2e%2e/new.txt", ("missing", "%2e%2e/new.txt")),
        ("missing_out", OUTSIDE),
        ("missing_out/new.txt", OUTSIDE),
        ("out", OUTSIDE),
        ("out_dir/new.txt", OUTSIDE),
        ("back_in", OUTSIDE),
        ("sub/climb/outside/new.txt", OUTSIDE),
        ("../outside/new.txt", OUTSIDE),
        ("sub/../../outside/new.txt", OUTSIDE),
        ("{ws}x/new.txt", OUTSIDE),
        ("/tmp/new.txt", OUTSIDE),
        ("..", OUTSIDE),
        (".git/config", PROTECTED),
        (".git/new/hook", PROTECTED),
        (".GIT", PROTECTED),
        ("sub/.git", PROTECTED),
        ("sub/x/.git/config", PROTECTED),
        ("git_link", PROTECTED),
        ("git_link/new", PROTECTED),
        ("profile.yaml", PROTECTED),
        ("in_dir/../profile.yaml", PROTECTED),
        ("PROFILE.yaml", PROTECTED),
        ("logs/events.jsonl", PROTECTED),
        ("logs", PROTECTED),
        ("none/../x", MISSING),
        ("loop", MISSING),
        ("loop/x", MISSING),
        ("sub", FOLDER),
        ("in_dir", FOLDER),
        ("sub/.", FOLDER),
        ("sub/deep/..", FOLDER),
        ("sub/..", FOLDER),
        (".", FOLDER),
        ("new/", FOLDER),
        ("a.txt/x", ("error", "not_directory")),
        ("a.txt/", ("error", "not_directory")),
        ("fifo", ("error", "not_regular")),
        ("sock", ("error", "not_regular")),
        ("hard", ("denied", "hard_link")),
        ("", ("error", "invalid_path")),
        ("x\0y", ("error", "invalid_path")),
        ("x" * 256, ("error", "invalid_path")),
    ],
)
def test_each_place_to_write_has_one_outcome(openers, tree: Path, path: str, expected: tuple[str, str]) -> None:
    """A place is where its path leads beneath the workspace, be it missing, or is refused with a reason."""
    (tree / "hard").hardlink_to(tree.parent / "outside/secret.txt")
    (tree / "git_link").unlink()
    (tree / "git_link").symlink_to(".git")
    read_only = (".git", str(tree / "profile.yaml"), "./logs/events.jsonl")
    paths = writable(tree, openers, read_only=read_only)

    assert outcome(paths, path.replace("{ws}", str(tree))) == expected


@pytest.mark.parametrize(
    ("use", "path", "expected"),
    [
        ("delete", "a.txt", ("file", "a.txt")),
        ("delete", "sub/deep", ("folder", "sub/deep")),
        ("delete", "sub/deep/", ("folder", "sub/deep")),
        ("delete", "out", ("link", "out")),
        ("delete", "missing_out", ("link", "missing_out")),
        ("delete", "fifo", ("other", "fifo")),
        ("delete", "hard", ("file", "hard")),
        ("delete", "sub", ("error", "not_empty")),
        ("delete", "none", MISSING),
        ("delete", ".", FOLDER),
        ("delete", "out_dir/secret.txt", OUTSIDE),
        ("delete", ".git/config", PROTECTED),
        ("move", "a.txt", ("file", "a.txt")),
        ("move", "sub", ("folder", "sub")),
        ("move", "out", ("link", "out")),
        ("move", "none", MISSING),
        ("move", "with_repository", PROTECTED),
        ("move", "ci", PROTECTED),
        ("receive", "new.txt", ("missing", "new.txt")),
        ("receive", "x/new.txt", ("missing", "x/new.txt")),
        ("receive", "missing_out", ("error", "path_exists")),
        ("receive", "a.txt", ("error", "path_exists")),
        ("receive", "sub", ("error", "path_exists")),
        ("receive", "sub/.git", PROTECTED),
        ("receive", "ci", PROTECTED),
        ("make", "new", ("missing", "new")),
        ("make", "new/", ("missing", "new")),
        ("make", "x/y/z", ("missing", "x/y/z")),
        ("make", "sub", ("folder", "sub")),
        ("make", "in_dir", ("folder", "sub")),
        ("make", "ci", ("folder", "ci")),
        ("make", "a.txt", ("error", "path_exists")),
        ("make", "missing_out", OUTSIDE),
        ("make", "sub/.git", PROTECTED),
    ],
)
def test_each_use_has_its_own_conditions(
    openers, tree: Path, use: PlaceUse, path: str, expected: tuple[str, str]
) -> None:
    """What is deleted or moved is the link itself, what is made or received must be new, what holds others stays."""
    (tree / "hard").hardlink_to(tree.parent / "outside/secret.txt")
    (tree / "with_repository/lib/.git").mkdir(parents=True)
    (tree / "ci").mkdir()
    paths = writable(tree, openers, read_only=(".git", "ci/keys"))

    assert outcome(paths, path, use) == expected


NOT_FOLDER = ("error", "not_directory")


@pytest.mark.parametrize(
    ("use", "path", "expected"),
    [
        ("delete", "empty_link", ("link", "empty_link")),
        ("delete", "empty_link/", NOT_FOLDER),
        ("delete", "empty_link/.", NOT_FOLDER),
        ("delete", "empty_link/./", NOT_FOLDER),
        ("delete", "{ws}/empty_link/", NOT_FOLDER),
        ("delete", "empty_link/..", ("error", "invalid_path")),
        ("delete", "sub/deep/..", ("error", "invalid_path")),
        ("delete", "sub/deep/../", ("error", "invalid_path")),
        ("delete", "in_dir/deep/", ("folder", "sub/deep")),
        ("delete", "sub/deep/.", ("folder", "sub/deep")),
        ("delete", "a.txt/", NOT_FOLDER),
        ("delete", "fifo/", NOT_FOLDER),
        ("delete", "none/", MISSING),
        ("delete", "loop/", NOT_FOLDER),
        ("delete", "./", FOLDER),
        ("delete", "..", OUTSIDE),
        ("delete", "out_dir/", NOT_FOLDER),
        ("move", "in_dir/", NOT_FOLDER),
        ("move", "in_dir", ("link", "in_dir")),
        ("move", "sub/", ("folder", "sub")),
        ("move", "sub/..", ("error", "invalid_path")),
        ("receive", "missing_in/", NOT_FOLDER),
        ("receive", "empty_link/", NOT_FOLDER),
        ("receive", "new/", ("missing", "new")),
        ("receive", "x/new/.", ("missing", "x/new")),
    ],
)
def test_slash_leads_through_no_link(openers, tree: Path, use: PlaceUse, path: str, expected: tuple[str, str]) -> None:
    """Where a link itself is meant, a path that asks for a folder behind it is refused, as the system refuses it."""
    (tree / "empty").mkdir()
    (tree / "empty_link").symlink_to("empty")

    assert outcome(writable(tree, openers), path.replace("{ws}", str(tree)), use) == expected


def test_link_behind_a_slash_is_told(openers, tree: Path) -> None:
    """What is the matter, and what to write instead."""
    with pytest.raises(ToolError) as caught:
        writable(tree, openers).open_place("in_dir/", "delete")

    assert (caught.value.message, caught.value.hint) == (
        "'in_dir/' ends in a slash, but is a link.",
        "Leave the slash out to act on the link, or name the folder by its own path.",
    )


@pytest.fixture
def repositories(tree: Path) -> Path:
    """Repositories by other names than `.git`, and two folders that lack but one thing to be such."""
    for name in ("store", "sub/bare", "shared"):
        for folder in ("objects", "refs/heads", "hooks"):
            (tree / name / folder).mkdir(parents=True)
        (tree / name / "HEAD").write_text("ref: refs/heads/main\n")
    (tree / "shared/HEAD").unlink()
    (tree / "tree").mkdir()
    (tree / "tree/HEAD").symlink_to("nowhere")
    (tree / "tree/commondir").write_text("../shared")
    (tree / "nearly/objects").mkdir(parents=True)
    (tree / "nearly/HEAD").write_text("x")
    (tree / "holds/deep").mkdir(parents=True)
    (tree / "store").rename(tree / "holds/deep/store")
    (tree / "store").symlink_to("holds/deep/store")
    return tree


@each_row(
    ("use", "path", "expected"),
    [
        ("write", "store/hooks/post-commit", PROTECTED),
        ("write", "holds/deep/store/config", PROTECTED),
        ("write", "holds/deep/store/HEAD", PROTECTED),
        ("write", "holds/deep/store/x/y/z", PROTECTED),
        ("write", "holds/deep/other", ("missing", "holds/deep/other")),
        ("write", "sub/bare/hooks/pre-push", PROTECTED),
        ("write", "tree/config.worktree", PROTECTED),
        ("write", "nearly/config", ("missing", "nearly/config")),
        ("write", "nearly/refs/heads/main", PROTECTED),
        ("write", "nearly/commondir", PROTECTED),
        ("write", "nearly/x/refs", ("missing", "nearly/x/refs")),
        ("write", "shared/HEAD", PROTECTED),
        ("write", "shared/head", ("missing", "shared/head")),
        ("write", "shared/x/HEAD", ("missing", "shared/x/HEAD")),
        ("make", "nearly/refs", PROTECTED),
        ("make", "nearly/REFS/heads", ("missing", "nearly/REFS/heads")),
        ("make", "sub/bare/hooks/new", PROTECTED),
        ("make", "HEAD/objects/refs", ("missing", "HEAD/objects/refs")),
        ("receive", "nearly/refs", PROTECTED),
        ("receive", "sub/bare/hooks/new", PROTECTED),
        ("delete", "sub/bare/HEAD", PROTECTED),
        ("delete", "sub/bare/hooks", PROTECTED),
        ("delete", "nearly/HEAD", ("file", "nearly/HEAD")),
        ("move", "sub/bare/hooks", PROTECTED),
        ("move", "sub/bare", PROTECTED),
        ("move", "sub", PROTECTED),
        ("move", "holds", PROTECTED),
        ("move", "tree", PROTECTED),
        ("move", "nearly", ("folder", "nearly")),
        ("move", "shared", ("folder", "shared")),
    ],
)
def test_repository_by_any_name_is_left_alone(
    openers, repositories: Path, use: PlaceUse, path: str, expected: tuple[str, str]
) -> None:
    """What git would read as a repository, whoever points to it: nothing in it is changed, and nothing becomes one."""
    assert outcome(writable(repositories, openers), path, use) == expected


@pytest.mark.parametrize(
    "path", ["shared/head", "shared/Head/index.js", "nearly/REFS/x", "nearly/ref\u017f", "nearly/CommonDir"]
)
def test_repository_on_a_disk_that_ignores_case(
    repositories: Path, openers, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """A part of it by another case counts only where git would find it by that."""
    minding = outcome(writable(repositories, openers), path)
    stat = os.stat

    def ignoring(name: str, **how) -> os.stat_result:
        for case in (str.upper, str.lower):
            with suppress(FileNotFoundError):
                return stat(case(name) if isinstance(name, str) and name.isalpha() else name, **how)
        return stat(name, **how)

    monkeypatch.setattr(os, "stat", ignoring)

    assert (minding, outcome(writable(repositories, openers), path)) == (("missing", path), PROTECTED)


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.ESTALE])
def test_what_may_be_a_repository_is_left_alone(
    repositories: Path, openers, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Only what is certainly not there is missing."""
    stat = os.stat

    def failing(name: str, **how) -> os.stat_result:
        if str(name).endswith("HEAD"):
            raise OSError(number, os.strerror(number))
        return stat(name, **how)

    paths = writable(repositories, openers)
    with paths.open_place("nearly/a") as place, paths.open_place("sub/refs") as part:
        monkeypatch.setattr(os, "stat", failing)
        with pytest.raises(ToolError) as caught:
            part.make_folder()
        place.write(b"x")

    assert caught.value.reason == "write_failure"
    assert outcome(paths, "nearly/b") == ("error", "read_failure")
    assert not (repositories / "sub/refs").exists()


@pytest.mark.needs_program("git")
def test_repositories_as_git_makes_them(tree: Path, openers) -> None:
    """A separate folder of a nested repository, that of a work tree of it, and a bare one."""

    def git(*words: str, folder: Path = tree) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)

    git("init", "--quiet", "--separate-git-dir", "store", "nested")
    git("commit", "--quiet", "--allow-empty", "-m", "x", folder=tree / "nested")
    git("worktree", "add", "--quiet", "../other", folder=tree / "nested")
    git("init", "--quiet", "--bare", "bare")
    paths = writable(tree, openers)

    written = ["store/hooks/x", "store/worktrees/other/config.worktree", "bare/config", "nested/.git", "other/.git"]

    assert [outcome(paths, path)[0] for path in written] == ["denied"] * 3 + ["file"] * 2
    assert [outcome(paths, f"{name}/new")[0] for name in ("nested", "other")] == ["missing"] * 2


@pytest.mark.needs_program("git")
def test_work_tree_in_its_bare_repository_is_written(tree: Path, openers) -> None:
    """At any depth; what lies beside it is not, nor a repository in it, nor a folder of it where somebody has begun one."""

    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *who, *words], cwd=tree, check=True, capture_output=True)

    git("init", "--quiet", "source")
    git("-C", "source", "commit", "--quiet", "--allow-empty", "-m", "x")
    git("clone", "--quiet", "--bare", "source", "p.git")
    git("-C", "p.git", "worktree", "add", "--quiet", "main")
    git("init", "--quiet", "--bare", "p.git/main/other")
    git("init", "--quiet", "p.git/hooks")
    written = [f"p.git/{name}" for name in ("main/new", "main/x/y", "hooks/x", "config", "main/other/hooks/x")]

    for root, paths in ((tree, written), (tree / "p.git", [path.removeprefix("p.git/") for path in written])):
        kinds = [outcome(writable(root, openers, read_only=(".git",)), path)[0] for path in paths]
        assert kinds == ["missing"] * 2 + ["denied"] * 3
    assert outcome(writable(tree, openers, read_only=(".git",)), "p.git/main/.git") == PROTECTED


def test_message_says_that_it_is_a_repository(openers, repositories: Path) -> None:
    """Its name does not."""
    with pytest.raises(Denied) as caught:
        writable(repositories, openers).open_place("sub/bare/config")

    assert caught.value.message == (
        "'sub/bare/config' lies, or would lie, in a repository's own folder, which no tool may change."
    )


def test_read_root_cannot_be_written(openers, tree: Path, outside: Path) -> None:
    """What may be read besides the workspace is not for writing, by its path nor by links."""
    paths = writable(tree, openers, read_roots=[outside])

    tried = [outcome(paths, path) for path in (f"{outside}/new.txt", "out", "out_dir/new.txt", "missing_out")]

    assert tried == [OUTSIDE] * 4


def test_protected_is_neither_read_nor_written_and_read_only_is_read(openers, tree: Path) -> None:
    """The two kinds of protection differ in reading alone."""
    paths = writable(tree, openers, read_only=("a.txt",)).narrowed(protected=[".env.*"], read_only=["b.txt"])

    assert [outcome(paths, path) for path in ("a.txt", "sub/b.txt", ".env.local", ".env.new")] == [PROTECTED] * 4
    with paths.open_file("a.txt") as file:
        assert file.read(9) == b"A"


def test_file_without_the_right_to_write_is_left_alone(openers, tree: Path) -> None:
    """A rename would pass over the rights of the file itself."""
    (tree / "a.txt").chmod(0o444)
    if os.access(tree / "a.txt", os.W_OK):
        pytest.skip("root may write everything")

    assert outcome(writable(tree, openers), "a.txt") == ("error", "write_failure")


def test_rights_of_the_file_are_asked_for(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where root runs the tests: what the system answers decides."""
    asked = os.access
    monkeypatch.setattr(
        os, "access", lambda name, mode, **how: (name, mode) != ("a.txt", os.W_OK) and asked(name, mode, **how)
    )
    paths = writable(tree, kernel_openers)

    assert [outcome(paths, path) for path in ("a.txt", "sub/b.txt")] == [
        ("error", "write_failure"),
        ("file", "sub/b.txt"),
    ]


def test_place_holds_its_folder_and_lets_go(tree: Path, openers) -> None:
    """A place is a descriptor of a folder, closed with it."""
    with writable(tree, openers).open_place("sub/new.txt") as place:
        fd = place.fileno()
        assert os.fstat(fd).st_ino == (tree / "sub").stat().st_ino

    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["a.txt", ".git/config", "sub", "none/x/..", "x" * 256, "out", "loop", "x/y/.git"])
def test_refusal_leaves_no_descriptor(tree: Path, openers, path: str) -> None:
    """Whatever is refused, no folder stays open."""
    paths = writable(tree, openers, read_only=(".git",))
    outcome(paths, path, "receive")
    before = open_descriptors()

    outcome(paths, path, "receive")

    assert open_descriptors() == before


def test_folder_below_is_looked_through_to_its_ground(tree: Path, openers) -> None:
    """All names below a folder, links by their own name; of a file nothing."""
    paths = writable(tree, openers)
    (tree / "sub/deep/x").mkdir()
    (tree / "sub/deep/x/f").write_text("")

    with paths.open_place("sub", "move") as folder, paths.open_place("a.txt") as file:
        below, nothing = sorted(folder.below()), list(file.below())

    assert below == ["b.txt", "climb", "deep", "deep/x", "deep/x/f", "up"]
    assert nothing == []


def test_folder_that_is_too_deep_is_not_moved(tree: Path, openers) -> None:
    """What cannot be looked through could hold anything: at the limit it is moved, one past it is not."""
    (tree / "deep" / "/".join(["d"] * MAX_DEPTH)).mkdir(parents=True)
    paths = writable(tree, openers)
    at_the_limit = outcome(paths, "deep", "move")

    (tree / "deep" / "/".join(["d"] * (MAX_DEPTH + 1))).mkdir()

    assert [at_the_limit, outcome(paths, "deep", "move")] == [("folder", "deep"), ("error", "write_failure")]


def test_not_too_many_folders_are_made(tree: Path, openers) -> None:
    """Each is held while the next is made: at the limit they are, one past it none is."""
    paths = writable(tree, openers)
    names = ["d"] * MAX_DEPTH

    kinds = [outcome(paths, "/".join([*names, *more, "f"])) for more in ([], ["d"])]

    assert kinds == [("missing", "/".join([*names, "f"])), ("error", "write_failure")]


def test_place_is_shown_in_unicode(tree: Path, openers) -> None:
    """A link may lead to a name that is none; the file is the one that it leads to."""
    (tree / os.fsdecode(b"\xff")).mkdir()
    (tree / "odd").symlink_to(os.fsdecode(b"\xff"))
    paths = writable(tree, openers)

    with paths.open_place("odd/new.txt") as place:
        place.write(b"x")
        shown = place.path
    with paths.open_file("odd/new.txt") as file, paths.open_folder("odd") as folder:
        assert {shown, file.path, f"{folder.path}/new.txt"} == {"\ufffd/new.txt"}

    assert (tree / os.fsdecode(b"\xff/new.txt")).read_text() == "x"


def test_folder_with_too_many_names_is_not_moved(tree: Path, openers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of names is limited, too."""
    paths = writable(tree, openers)
    monkeypatch.setattr("toolcharter.guards.paths.target.MAX_BELOW", 4)
    at_the_limit = outcome(paths, "sub", "move")

    monkeypatch.setattr("toolcharter.guards.paths.target.MAX_BELOW", 3)

    assert [at_the_limit, outcome(paths, "sub", "move")] == [("folder", "sub"), ("error", "write_failure")]


def test_folder_that_cannot_be_listed_is_not_deleted(tree: Path, openers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is empty cannot be determined."""
    monkeypatch.setattr(uses, "FOLDER_FLAGS", os.O_RDONLY | os.O_CREAT | os.O_EXCL)

    assert outcome(writable(tree, openers), "sub/deep", "delete") == ("error", "read_failure")


def test_what_is_missing_is_checked_once(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path of two thousand missing folders took seconds when each folder on the way was checked by itself."""
    checked = list[int]()
    covers = HiddenNames.covers

    def counted(self: HiddenNames, parts: Sequence[str]) -> bool:
        checked.append(len(parts))
        return covers(self, parts)

    monkeypatch.setattr(HiddenNames, "covers", counted)
    with closing(WorkspacePaths(workspace)) as paths, pytest.raises(ToolError, match="missing folders deep"):
        paths.open_place("/".join("a" * 2000))

    assert sum(checked) <= 5 * 2000
