"""The path guard: what opens, what is refused and how, with the kernel's help and without."""

import errno
import os
import sys
import threading
from pathlib import Path

import pytest
from tests.rows import each_row

from toolcharter import Denied, ToolboxClosed, ToolError
from toolcharter.api.paths import Paths
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.paths import openat2 as kernel
from toolcharter.guards.paths.faults import from_os_error


@pytest.fixture
def bound_by_permissions(workspace: Path) -> None:
    """Skips where this process may read whatever it likes."""
    probe = workspace / "probe"
    probe.touch(mode=0)
    if os.access(probe, os.R_OK):
        pytest.skip("root may read everything")


def outcome(paths: Paths, path: str, kind: str = "file") -> tuple[str, str]:
    """What opening *path* comes to: `ok` with the path shown, or the kind of refusal with its reason."""
    try:
        with paths.open_file(path) if kind == "file" else paths.open_folder(path) as opened:
            return "ok", opened.path
    except Denied as denied:
        return "denied", denied.reason
    except ToolError as error:
        return "error", error.reason


OUTSIDE = ("denied", "path_outside_workspace")
PROTECTED = ("denied", "protected_path")
MISSING = ("error", "path_not_found")
INVALID = ("error", "invalid_path")


@each_row(
    ("path", "expected"),
    [
        ("a.txt", ("ok", "a.txt")),
        ("./sub//b.txt", ("ok", "sub/b.txt")),
        ("sub/deep/../../a.txt", ("ok", "a.txt")),
        ("{ws}/a.txt", ("ok", "a.txt")),
        ("/{ws}/./sub/../a.txt", ("ok", "a.txt")),
        ("in_file", ("ok", "a.txt")),
        ("in_dir/b.txt", ("ok", "sub/b.txt")),
        ("in_dir/deep/../up/in_file", ("ok", "a.txt")),
        ("in_abs", ("ok", "sub/b.txt")),
        ("in_abs_dir/b.txt", ("ok", "sub/b.txt")),
        ("chain", ("ok", "a.txt")),
        ("out", OUTSIDE),
        ("out_dir/secret.txt", OUTSIDE),
        ("out_dir/../ws/a.txt", OUTSIDE),
        ("back_in", OUTSIDE),
        ("sub/climb/outside/secret.txt", OUTSIDE),
        ("missing_out", OUTSIDE),
        ("..", OUTSIDE),
        ("../outside/secret.txt", OUTSIDE),
        ("sub/../../outside/secret.txt", OUTSIDE),
        ("{ws}/../outside/secret.txt", OUTSIDE),
        ("{ws}x/a.txt", OUTSIDE),
        ("/etc/passwd", OUTSIDE),
        ("/", OUTSIDE),
        (".git/config", PROTECTED),
        (".GIT/config", PROTECTED),
        (".g\u034fit/config", PROTECTED),
        (".g\u115fit/config", PROTECTED),
        (".g\u180bit/config", PROTECTED),
        (".g\u2065it/config", PROTECTED),
        (".g\u3164it/config", PROTECTED),
        (".g\ufe0fit/config", PROTECTED),
        (".g\uffa0it/config", PROTECTED),
        (".g\ufff0it/config", PROTECTED),
        (".g\U000e0100it/config", PROTECTED),
        (".g\U000e0fffit/config", PROTECTED),
        (".g\u200cit/config", PROTECTED),
        ("sub/.git/none", PROTECTED),
        (".git/../a.txt", PROTECTED),
        ("git_link/config", PROTECTED),
        ("in_dir/../.git/config", PROTECTED),
        (".env.local", PROTECTED),
        ("none", MISSING),
        ("none/../../outside", MISSING),
        ("missing_in", MISSING),
        ("loop", MISSING),
        ("~", MISSING),
        ("$HOME", MISSING),
        ("%2e%2e/outside", MISSING),
        ("sub", ("error", "is_directory")),
        (".", ("error", "is_directory")),
        ("sub/..", ("error", "is_directory")),
        ("a.txt/", ("error", "not_directory")),
        ("a.txt/x", ("error", "not_directory")),
        ("file_as_dir", ("error", "not_directory")),
        ("fifo", ("error", "not_regular")),
        ("sock", ("error", "not_regular")),
        ("", INVALID),
        ("a.txt\0.png", INVALID),
        ("a\udc80", INVALID),
        ("x" * 256, INVALID),
        ("x/" * 2048, INVALID),
    ],
)
def test_each_path_has_one_outcome(openers, tree: Path, path: str, expected: tuple[str, str]) -> None:
    """A path opens what lies beneath the workspace by its resolved name, or is refused with a reason."""
    paths = WorkspacePaths(tree, protected=(".git", ".env.*"), openers=openers)

    assert outcome(paths, path.replace("{ws}", str(tree))) == expected


@each_row(
    ("path", "expected"),
    [
        (".", ("ok", ".")),
        ("{ws}", ("ok", ".")),
        ("sub/../sub/", ("ok", "sub")),
        ("in_dir", ("ok", "sub")),
        ("in_dir/..", ("ok", ".")),
        ("a.txt", ("error", "not_directory")),
        ("in_file", ("error", "not_directory")),
        ("fifo", ("error", "not_directory")),
        ("out_dir", OUTSIDE),
        (".git", PROTECTED),
        ("git_link/hooks", PROTECTED),
    ],
)
def test_each_folder_has_one_outcome(openers, tree: Path, path: str, expected: tuple[str, str]) -> None:
    """Folders follow the same rules as files."""
    paths = WorkspacePaths(tree, protected=(".git",), openers=openers)

    assert outcome(paths, path.replace("{ws}", str(tree)), "folder") == expected


@pytest.mark.parametrize("given", ["{ws}/", "{ws}/../ws", "{link}", "{ws}/sub/.."])
def test_root_is_taken_as_given_and_canonically(openers, tree: Path, tmp_path: Path, given: str) -> None:
    """Absolute paths work by the root as it was given and as it resolves, and the sibling never does."""
    link = tmp_path / "link"
    link.symlink_to(tree)
    (tmp_path / "ws-evil").mkdir()
    (tmp_path / "ws-evil/secret.txt").write_text("SECRET")
    root = given.format(ws=tree, link=link)
    paths = WorkspacePaths(Path(root), openers=openers)

    found = [outcome(paths, path) for path in ("a.txt", f"{tree}/a.txt", f"{tree}-evil/secret.txt")]

    assert found == [("ok", "a.txt"), ("ok", "a.txt"), OUTSIDE]
    assert outcome(paths, os.path.abspath(root) + "/a.txt") == ("ok", "a.txt")  # noqa: PTH100 - text


def test_relative_root_is_found_when_opened(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`workspace="."` holds the folder it named, wherever the process goes later."""
    monkeypatch.chdir(tree)
    paths = WorkspacePaths(Path())
    first = outcome(paths, "a.txt")
    monkeypatch.chdir("/")

    assert [first, outcome(paths, "a.txt")] == [("ok", "a.txt")] * 2


def test_read_roots_are_reached_absolutely_and_by_links(openers, tree: Path, outside: Path) -> None:
    """An extra root opens that folder and what a link leads to inside it, shown by absolute paths."""
    paths = WorkspacePaths(tree, openers=openers).narrowed(read_roots=[outside], protected=["*.key"])
    (outside / "id.key").write_text("K")
    (tree / "out_key").symlink_to(outside / "id.key")

    found = {path: outcome(paths, path) for path in (f"{outside}/secret.txt", "out", "out_key", f"{outside}/../x")}

    assert found == {
        f"{outside}/secret.txt": ("ok", f"{outside}/secret.txt"),
        "out": ("ok", f"{outside}/secret.txt"),
        "out_key": PROTECTED,
        f"{outside}/../x": OUTSIDE,
    }
    assert outcome(paths, str(outside), "folder") == ("ok", str(outside))


def test_missing_read_root_opens_nothing(tree: Path) -> None:
    """A read root that is not there neither opens nor hides why other paths are refused."""
    paths = WorkspacePaths(tree, read_roots=[tree.parent / "nowhere"])

    assert [outcome(paths, "/etc/passwd"), outcome(paths, f"{tree.parent}/nowhere/x")] == [OUTSIDE, MISSING]


def test_missing_workspace_is_an_error(tmp_path: Path) -> None:
    """A workspace that is not there gives an error that names it."""
    paths = WorkspacePaths(tmp_path / "none")

    with pytest.raises(ToolError) as caught:
        paths.open_file("a.txt")

    assert (caught.value.reason, caught.value.message) == (
        "path_not_found",
        f"{str(tmp_path / 'none')!r} does not exist.",
    )


def test_constructing_and_narrowing_open_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is opened before the first path is."""
    opened: list[object] = []
    monkeypatch.setattr(os, "open", lambda *args, **_: opened.append(args))

    WorkspacePaths(tree / "none").narrowed(read_roots=[tree / "nor this"], protected=[".git"])

    assert opened == []


@pytest.mark.parametrize("entry", ["", "/", "//", "../x", "a/.."])
def test_entry_that_protects_nothing_is_refused(tree: Path, entry: str) -> None:
    """A protected entry that could not protect is a mistake worth stopping for."""
    with pytest.raises(ValueError, match="protects nothing"):
        WorkspacePaths(tree).narrowed(protected=[entry])


def test_relative_read_root_is_refused(tree: Path) -> None:
    """A read root means the same folder wherever the process runs."""
    with pytest.raises(ValueError, match=r"^The read root 'docs' is not an absolute path\.$"):
        WorkspacePaths(tree, read_roots=[Path("docs")])


def test_protected_folders_by_path(openers, tree: Path) -> None:
    """An absolute entry protects that folder, also through links to it and links in its own name."""
    site = tree / ".venv/lib/site-packages"
    site.mkdir(parents=True)
    (site / "x.py").write_text("")
    (tree / "site").symlink_to(site)
    (tree / "venv").symlink_to(".venv")
    paths = WorkspacePaths(tree, protected=(str(tree / "venv/lib/site-packages"),), openers=openers)

    tried = (".venv/lib/site-packages/x.py", "site/x.py", "venv/lib/site-packages/x.py", "a.txt")

    assert [outcome(paths, path) for path in tried] == [PROTECTED, PROTECTED, PROTECTED, ("ok", "a.txt")]
    assert outcome(paths, ".venv/lib", "folder") == ("ok", ".venv/lib")


def test_entry_above_the_workspace_protects_all_of_it(openers, tree: Path) -> None:
    """A workspace inside a protected folder opens nothing: fail closed."""
    paths = WorkspacePaths(tree, protected=(str(tree.parent),), openers=openers)

    assert [outcome(paths, "a.txt"), outcome(paths, ".", "folder")] == [PROTECTED, PROTECTED]


def test_check_runs_before_every_open_and_read(tree: Path) -> None:
    """The deadline of a call stops its next look at the disk."""
    calls: list[str] = []
    paths = WorkspacePaths(tree, check=lambda: calls.append("check")).narrowed()

    with paths.open_file("a.txt") as file, paths.open_folder():
        file.read(1)

    assert calls == ["check"] * 3


def test_closed_guard_opens_nothing_and_ends_nobody(tree: Path, outside: Path) -> None:
    """After `close` every view and every new one refuses; a root in use stays open until it is let go."""
    paths = WorkspacePaths(tree)
    view = paths.narrowed(read_roots=[outside])
    view.open_file(f"{outside}/secret.txt").close()
    held = paths._roots.workspace.ensure_open()

    paths.close()

    for each, path in (
        (paths, "a.txt"),
        (view, f"{outside}/secret.txt"),
        (view.narrowed(read_roots=[Path("/usr")]), "/usr/x"),
    ):
        with pytest.raises(ToolboxClosed, match=r"^The toolbox was closed; its workspace is no longer open\.$"):
            each.open_file(path)
    os.fstat(held.fd)
    fd = held.fd
    del held
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_message_names_the_path_and_cuts_it(tree: Path) -> None:
    """A refusal names the path that was asked for, escaped and cut, never where a link leads."""
    paths = WorkspacePaths(tree)

    with pytest.raises(Denied) as denied:
        paths.open_file("out")
    with pytest.raises(ToolError) as missing:
        paths.open_file("x\n" * 120)

    assert denied.value.message == "'out' leads out of the workspace."
    assert missing.value.message == repr("x\n" * 100) + "... does not exist."


def test_unexpected_system_error_is_read_failure() -> None:
    """Whatever else the system says is a failure to read, with its words."""
    error = from_os_error(OSError(errno.EIO, "Input/output error"), "a")

    assert (error.reason, error.message) == ("read_failure", "'a' cannot be read: Input/output error.")


@pytest.mark.usefixtures("bound_by_permissions")
def test_unreadable_file_is_read_failure(openers, tree: Path) -> None:
    """Permissions of the system are an error of the call, not a policy."""
    (tree / "a.txt").chmod(0)

    assert outcome(WorkspacePaths(tree, openers=openers), "a.txt") == ("error", "read_failure")


@pytest.mark.usefixtures("bound_by_permissions")
def test_folder_that_can_only_be_passed_is_passed(openers, tree: Path) -> None:
    """A folder without read permission can be walked through, as for every program."""
    (tree / "sub").chmod(0o111)

    assert outcome(WorkspacePaths(tree, openers=openers), "sub/b.txt") == ("ok", "sub/b.txt")


@pytest.mark.parametrize(("platform", "machine"), [("darwin", "x86_64"), ("linux", "mips64")])
def test_kernel_is_not_asked_where_its_number_is_unknown(
    monkeypatch: pytest.MonkeyPatch, platform: str, machine: str
) -> None:
    """Where the system call's number is not known to be right, nothing is called."""
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(os, "uname", lambda: type("uname", (), {"machine": machine}))

    assert kernel.make_opener(0) is kernel.fail_to_open


def test_sixteen_threads_share_a_guard(tree: Path) -> None:
    """Threads that open at once all get their own file, and the root is opened once."""
    paths = WorkspacePaths(tree)
    found: list[tuple[str, str]] = []

    def work() -> None:
        found.extend(outcome(paths, path) for path in ("a.txt", "in_abs", "out") * 20)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(found), set(found)) == (960, {("ok", "a.txt"), ("ok", "sub/b.txt"), OUTSIDE})


def test_too_many_links_end_in_an_error(openers, tree: Path) -> None:
    """Forty links are followed as by the kernel, the next is one too many."""
    (tree / "l0").symlink_to("a.txt")
    for number in range(1, 41):
        (tree / f"l{number}").symlink_to(f"l{number - 1}")
    paths = WorkspacePaths(tree, openers=openers)

    assert [outcome(paths, "l39"), outcome(paths, "l40")] == [("ok", "a.txt"), MISSING]
