"""What is done to places: writes, deletions, moves, folders; and what is left when they fail."""

import errno
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Thread

import pytest

from toolcharter import Caller, Denied, ToolError
from toolcharter.api.paths import PlaceUse
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.paths import atomic_write as replacing
from toolcharter.guards.paths import openat2 as kernel
from toolcharter.guards.paths.locks import WorkspaceLeases
from toolcharter.guards.paths.target import WriteTarget
from toolcharter.guards.paths.workspace import WorkspaceView

MIB = 1 << 20


def free() -> None:
    """Nothing speaks against a change."""


@pytest.fixture
def paths(tree: Path, openers) -> WorkspaceView:
    """The tree, to be written, by both ways of walking it."""
    return WorkspacePaths(tree, read_only=(".git",), openers=openers).writable(free)


def everything(root: Path) -> dict[str, str]:
    """Every name below a folder, with the content of files."""
    return {
        str(path.relative_to(root)): path.read_text() if stat.S_ISREG(path.lstat().st_mode) else "-"
        for path in root.rglob("*")
    }


@contextmanager
def refused(reason: str) -> Iterator[None]:
    with pytest.raises(ToolError) as caught:
        yield
    assert caught.value.reason == reason


def test_new_file_is_written_with_its_folders(paths: WorkspaceView, tree: Path) -> None:
    """A file is made with all folders that are missing, and nothing besides."""
    before = everything(tree)

    with paths.open_place("x/y/new.txt") as place:
        place.write(b"new")

    assert everything(tree) == {**before, "x": "-", "x/y": "-", "x/y/new.txt": "new"}


def test_new_file_has_the_rights_that_the_process_gives(paths: WorkspaceView, tree: Path) -> None:
    """The umask counts, as for every program."""
    usual = os.umask(0o027)
    try:
        with paths.open_place("new.txt") as place:
            place.write(b"new")
    finally:
        os.umask(usual)

    assert stat.S_IMODE((tree / "new.txt").stat().st_mode) == 0o640


@pytest.mark.parametrize(("mode", "kept"), [(0o640, 0o640), (0o755, 0o755), (0o4755, 0o755)])
def test_replaced_file_keeps_its_rights(paths: WorkspaceView, tree: Path, mode: int, kept: int) -> None:
    """Who might read or run it still may; that it runs as its owner does not outlive the content."""
    (tree / "a.txt").chmod(mode)

    with paths.open_place("a.txt") as place:
        place.write(b"other")

    assert ((tree / "a.txt").read_text(), stat.S_IMODE((tree / "a.txt").stat().st_mode)) == ("other", kept)


def test_replaced_file_keeps_its_owner_where_we_may(
    paths: WorkspaceView, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root gives the file back to whom it belonged; anyone else owns what he wrote."""
    if os.geteuid() == 0:
        os.chown(tree / "a.txt", 1234, 1234)
    owner = (tree / "a.txt").stat().st_uid
    with paths.open_place("a.txt") as place:
        place.write(b"other")

    assert (tree / "a.txt").stat().st_uid == owner

    def forbid(*_: int) -> None:
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(os, "fchown", forbid)
    with paths.open_place("a.txt") as place:
        place.write(b"mine")
    assert ((tree / "a.txt").read_text(), (tree / "a.txt").stat().st_uid) == ("mine", os.geteuid() if owner else 0)


def test_link_stays_and_what_it_leads_to_is_written(paths: WorkspaceView, tree: Path) -> None:
    """Writing by a link changes the file behind it, as for every program."""
    with paths.open_place("in_file") as place:
        place.write(b"other")

    assert ((tree / "in_file").is_symlink(), (tree / "a.txt").read_text()) == (True, "other")


def test_reader_keeps_the_old_content(paths: WorkspaceView, tree: Path) -> None:
    """Who has the old file open reads it to its end: nothing is written in place."""
    with (tree / "a.txt").open() as reader, paths.open_place("a.txt") as place:
        place.write(b"other")

        assert reader.read() == "A"


@pytest.mark.parametrize(("path", "text"), [("a.txt", "A and more"), ("new.txt", " and more")])
def test_append_adds_to_the_end(paths: WorkspaceView, tree: Path, path: str, text: str) -> None:
    """What was there stays, what is new follows; a missing file begins with it."""
    with paths.open_place(path) as place:
        place.write(b" and more", append=True)

    assert (tree / path).read_text() == text


def test_large_content_is_written_whole(paths: WorkspaceView, tree: Path) -> None:
    """Pieces come one after the other, the old ones first."""
    (tree / "a.txt").write_bytes(b"a" * (MIB + 1))

    with paths.open_place("a.txt") as place:
        place.write(b"b" * (2 * MIB + 1), append=True)

    assert (tree / "a.txt").read_bytes() == b"a" * (MIB + 1) + b"b" * (2 * MIB + 1)


@pytest.mark.parametrize(("limit", "read"), [(3, b"012"), (10, b"0123456789"), (99, b"0123456789")])
def test_place_reads_the_file_it_holds(paths: WorkspaceView, tree: Path, limit: int, read: bytes) -> None:
    """What an edit begins with is read from the very file that it will replace."""
    (tree / "a.txt").write_text("0123456789")

    with paths.open_place("a.txt") as place:
        found = (place.size, place.read(limit))

    assert found == (10, read)


def test_delete_takes_the_name_alone(paths: WorkspaceView, tree: Path, outside: Path) -> None:
    """A file, an empty folder, a link whatever it leads to."""
    for path in ("a.txt", "sub/deep", "out", "out_dir", "fifo"):
        with paths.open_place(path, "delete") as place:
            place.delete()

    assert not {"a.txt", "sub/deep", "out", "out_dir", "fifo"} & set(everything(tree))
    assert everything(outside) == {"secret.txt": "SECRET"}


def test_move_renames_and_makes_folders(paths: WorkspaceView, tree: Path) -> None:
    """A file goes to a new place with all that is missing on its way; a folder takes along what it holds."""
    for path, to in (("a.txt", "x/y/b.txt"), ("sub", "x/sub2")):
        with paths.open_place(path, "move") as source, paths.open_place(to, "receive") as target:
            source.move(target)

    found = everything(tree)
    assert (found["x/y/b.txt"], found["x/sub2/b.txt"], "a.txt" in found, "sub" in found) == ("A", "B", False, False)


def test_move_replaces_a_file_that_was_looked_at(paths: WorkspaceView, tree: Path) -> None:
    """With a place to write as the target, the file there goes."""
    with paths.open_place("a.txt", "move") as source, paths.open_place("sub/b.txt") as target:
        source.move(target)

    assert ((tree / "sub/b.txt").read_text(), (tree / "a.txt").exists()) == ("A", False)


def test_folders_are_made_and_found(paths: WorkspaceView, tree: Path) -> None:
    """All that are missing; one that is there is as good."""
    for path in ("x/y/z", "x/y", "in_dir"):
        with paths.open_place(path, "make") as place:
            place.make_folder()

    assert (tree / "x/y/z").is_dir()


def test_nothing_is_changed_without_leave(tree: Path, openers) -> None:
    """A view that was made for looking refuses each change, and one that may act asks before each."""
    before = everything(tree)
    paths = WorkspacePaths(tree, openers=openers)

    with (
        paths.open_place("new.txt", "receive") as new,
        paths.open_place("a.txt", "move") as old,
        paths.open_place("x/y", "make") as folder,
    ):
        for change in (partial(new.write, b""), old.delete, folder.make_folder, partial(old.move, new)):
            with refused("write_failure"):
                change()

    assert everything(tree) == before


def test_asking_comes_before_each_change(tree: Path, openers) -> None:
    """What `writable` is given is asked once for each change."""
    asked: list[str] = []
    paths = WorkspacePaths(tree, openers=openers).writable(lambda: asked.append("act"))

    with paths.open_place("new.txt") as place:
        place.write(b"")
    with paths.open_place("x", "make") as place:
        place.make_folder()

    assert asked == ["act", "act"]


SWAPS = {
    "replaced": lambda path: (path.unlink(), path.write_text("theirs")),
    "changed": lambda path: path.write_text("theirs"),
    "a link": lambda path: (path.unlink(), path.symlink_to("../outside/secret.txt")),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "gone": lambda path: path.unlink(),
}


@pytest.mark.parametrize("use", ["write", "append", "delete", "move", "replace"])
@pytest.mark.parametrize("swap", SWAPS)
def test_what_is_there_by_then_is_left_alone(
    paths: WorkspaceView, tree: Path, outside: Path, use: str, swap: str
) -> None:
    """Between the look and the change somebody was quicker: his stays, and nothing is written anywhere."""
    kind = {"append": "write", "replace": "write"}.get(use, use)
    with (
        paths.open_place("a.txt", kind) as place,  # type: ignore[arg-type]
        paths.open_place("sub/b.txt", "move") as other,
        paths.open_place("x/to", "receive") as target,
    ):
        SWAPS[swap](tree / "a.txt")
        before = everything(tree)
        with refused("changed_meanwhile"):
            {
                "write": lambda: place.write(b"ours"),
                "append": lambda: place.write(b"ours", append=True),
                "delete": place.delete,
                "move": lambda: place.move(target),
                "replace": lambda: other.move(place),
            }[use]()

    assert everything(tree) == before
    assert everything(outside) == {"secret.txt": "SECRET"}


@pytest.mark.parametrize("use", ["write", "move"])
def test_new_place_that_is_taken_by_then_is_left_alone(paths: WorkspaceView, tree: Path, use: str) -> None:
    """What appeared meanwhile is never overwritten, be it a link that leads out."""
    with paths.open_place("a.txt", "move") as source, paths.open_place("new", "receive") as target:
        (tree / "new").symlink_to("../outside/new")
        before = everything(tree)
        with refused("changed_meanwhile"):
            target.write(b"ours") if use == "write" else source.move(target)

    assert everything(tree) == before


def test_missing_folder_that_is_a_link_by_then_is_not_entered(paths: WorkspaceView, tree: Path, outside: Path) -> None:
    """A folder that was to be made and is a link by now leads nowhere."""
    with paths.open_place("x/new.txt") as place, paths.open_place("y", "make") as folder:
        for name in ("x", "y"):
            (tree / name).symlink_to("../outside")
        with refused("not_directory"):
            place.write(b"ours")
        with refused("not_directory"):
            folder.make_folder()

    assert everything(outside) == {"secret.txt": "SECRET"}


def test_missing_folder_that_somebody_else_made_is_used(paths: WorkspaceView, tree: Path) -> None:
    """Two who need the same folder do not stand in each other's way, and a failure takes away only what was made."""
    with paths.open_place("x/y/new.txt") as place:
        (tree / "x").mkdir()
        place.write(b"new")

    assert (tree / "x/y/new.txt").read_text() == "new"


def test_place_stays_in_its_folder(paths: WorkspaceView, tree: Path, outside: Path) -> None:
    """The folder is the one that was looked at, whatever bears its name by now."""
    with paths.open_place("sub/new.txt") as place:
        (tree / "sub").rename(tree / "moved")
        (tree / "sub").symlink_to(outside)
        place.write(b"new")

    assert ((tree / "moved/new.txt").read_text(), everything(outside)) == ("new", {"secret.txt": "SECRET"})


@contextmanager
def small_files() -> Iterator[None]:
    """No file may grow beyond a mebibyte."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("path", ["a.txt", "x/y/new.txt"])
def test_file_that_may_not_grow_leaves_all_as_it_was(paths: WorkspaceView, tree: Path, path: str) -> None:
    """Neither a part of the new content nor a temporary file nor a folder is left."""
    before = everything(tree)

    with paths.open_place(path) as place, small_files(), pytest.raises(ToolError) as caught:
        place.write(b"x" * (MIB + 1))

    assert (caught.value.reason, caught.value.message) == (
        "write_failure",
        f"{path!r} cannot be written: it would be larger than files may be; it is unchanged.",
    )
    assert everything(tree) == before


@pytest.fixture
def mount(tree: Path) -> Iterator[Path]:
    """A small file system of its own below the workspace."""
    place = tree / "mnt"
    place.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(options, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount, and not everywhere")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("append", [False, True])
def test_full_disk_leaves_the_old_content(paths: WorkspaceView, mount: Path, *, append: bool) -> None:
    """No space left: an error that says so, the old content, no temporary file; less still fits."""
    (mount / "old.txt").write_text("old")
    with paths.open_place("mnt/old.txt") as place, pytest.raises(ToolError) as caught:
        place.write(b"x" * 100_000, append=append)
    left = everything(mount)
    with paths.open_place("mnt/old.txt") as place:
        place.write(b"less", append=append)

    assert (caught.value.reason, caught.value.message) == (
        "write_failure",
        "'mnt/old.txt' cannot be written: the disk is full; what was there is unchanged.",
    )
    assert (left, everything(mount)) == ({"old.txt": "old"}, {"old.txt": "oldless" if append else "less"})


def test_read_only_file_system_is_told(paths: WorkspaceView, mount: Path) -> None:
    """Each change is refused in words that say why."""
    (mount / "old.txt").write_text("old")
    subprocess.run(["mount", "-o", "remount,ro", str(mount)], check=True)
    changes: list[tuple[PlaceUse, str, Callable[[WriteTarget], None]]] = [
        ("write", "mnt/new.txt", lambda place: place.write(b"new")),
        ("delete", "mnt/old.txt", WriteTarget.delete),
        ("make", "mnt/new", WriteTarget.make_folder),
    ]

    for use, path, change in changes:
        with paths.open_place(path, use) as place, pytest.raises(ToolError) as caught:
            change(place)
        assert (caught.value.reason, caught.value.message) == (
            "write_failure",
            f"{path!r} lies on a file system that is read-only.",
        )

    assert everything(mount) == {"old.txt": "old"}


def test_nothing_is_moved_across_a_mount(paths: WorkspaceView, tree: Path, mount: Path) -> None:
    """Another file system, and the mount point itself, are told as what they are."""
    with (
        paths.open_place("a.txt", "move") as source,
        paths.open_place("mnt/x/a.txt", "receive") as target,
        pytest.raises(ToolError) as crossed,
    ):
        source.move(target)
    with paths.open_place("mnt", "delete") as point, pytest.raises(ToolError) as busy:
        point.delete()

    assert (crossed.value.reason, busy.value.reason) == ("write_failure", "write_failure")
    assert "another file system" in crossed.value.message
    assert busy.value.message == "'mnt' is a mount point or in use by the system."
    assert ((tree / "a.txt").read_text(), everything(mount)) == ("A", {})


def test_folder_does_not_fit_into_itself(paths: WorkspaceView, tree: Path) -> None:
    """The system's refusal is told as what it is, and the folders made for it are gone."""
    before = everything(tree)

    with (
        paths.open_place("sub", "move") as source,
        paths.open_place("sub/x/y", "receive") as target,
        refused("invalid_path"),
    ):
        source.move(target)

    assert everything(tree) == before


def test_time_that_is_up_stops_a_write(tree: Path, openers) -> None:
    """The deadline is asked for between pieces; what was there stays."""
    time_left = [True]

    def check() -> None:
        if not time_left:
            raise ToolError("no time left", reason="timed_out")

    paths = WorkspacePaths(tree, openers=openers, check=check).writable(time_left.clear)
    before = everything(tree)

    with paths.open_place("a.txt") as place, refused("timed_out"):
        place.write(b"new")

    assert everything(tree) == before


KILLED = """
import os, signal, sys
from toolcharter.guards.paths import WorkspacePaths
count = iter(range(3))
def check():
    if next(count, None) is None:
        os.kill(os.getpid(), signal.SIGKILL)
with WorkspacePaths(sys.argv[1], check=check).writable(lambda: None).open_place("a.txt") as place:
    place.write(b"x" * 10_000_000)
"""


def test_killed_process_leaves_the_old_content(tree: Path) -> None:
    """In the middle of a write nothing but a temporary file has changed, and its name says what it is."""
    before = everything(tree)

    ended = subprocess.run([sys.executable, "-c", KILLED, str(tree)], check=False, capture_output=True, text=True)

    assert ended.returncode == -signal.SIGKILL, ended.stderr
    after = everything(tree)
    assert {name: after[name] for name in before} == before
    assert [name.startswith(".toolcharter-") for name in set(after) - set(before)] == [True]


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EINVAL])
@pytest.mark.parametrize("taken", [False, True])
def test_without_the_kernels_help_nothing_is_overwritten_either(
    paths: WorkspaceView, tree: Path, monkeypatch: pytest.MonkeyPatch, number: int, *, taken: bool
) -> None:
    """Where `renameat2` is missing, or the file system does not know the flag, a link takes its part."""
    monkeypatch.setattr(kernel, "_renameat2", lambda *_: number)
    with (
        paths.open_place("a.txt", "move") as source,
        paths.open_place("new.txt", "receive") as target,
        paths.open_place("sub", "move") as folder,
        paths.open_place("other", "receive") as goal,
    ):
        if taken:
            (tree / "new.txt").write_text("theirs")
            (tree / "other/full").mkdir(parents=True)
            with refused("changed_meanwhile"):
                source.move(target)
            with refused("not_empty"):
                folder.move(goal)
        else:
            source.move(target)
            folder.move(goal)

    found = everything(tree)
    assert (found["new.txt"], "a.txt" in found) == (("theirs", True) if taken else ("A", False))
    assert found.get("other/b.txt", found.get("sub/b.txt")) == "B"


def test_library_without_the_function_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """An old C library has no `renameat2`."""
    monkeypatch.setattr(kernel, "_renamer", lambda: None)

    assert kernel._renameat2(0, b"", 0, b"") == errno.ENOSYS


def test_rename_that_fails_otherwise_is_the_systems_error(tree: Path) -> None:
    """What the kernel says is raised as it is."""
    folder = os.open(tree, os.O_RDONLY)

    with pytest.raises(FileNotFoundError):
        kernel.rename_new(folder, "none", folder, "x")
    os.close(folder)


def test_content_that_is_gone_has_changed(tree: Path) -> None:
    """A file that is another by now is not read for what it was."""
    folder = os.open(tree, os.O_RDONLY)
    then = (tree / "a.txt").stat()

    with pytest.raises(replacing.FileChanged):
        list(replacing.read_content(folder, "sub/b.txt", then, free))
    (tree / "a.txt").unlink()
    with pytest.raises(replacing.FileChanged):
        list(replacing.read_content(folder, "a.txt", then, free))
    os.close(folder)


def test_content_that_cannot_be_opened_is_the_systems_error(
    paths: WorkspaceView, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is the same and yet cannot be read is a failure, not a change."""
    monkeypatch.setattr(replacing, "_READ_FLAGS", os.O_RDONLY | os.O_DIRECTORY)

    with paths.open_place("a.txt") as place, refused("not_directory"):
        place.read(1)


def test_unexpected_system_error_is_write_failure(paths: WorkspaceView, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else the system says is a failure to write, with its words."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "rename", fail)
    with paths.open_place("a.txt") as place, pytest.raises(ToolError) as caught:
        place.write(b"new")

    assert (caught.value.reason, caught.value.message) == (
        "write_failure",
        "'a.txt' cannot be changed: Input/output error.",
    )


def change(place: WriteTarget, use: PlaceUse, paths: WorkspaceView) -> None:
    """Do what the place was opened for."""
    if use == "make":
        place.make_folder()
    elif use == "write":
        place.write(b"x")
    else:
        with paths.open_place("a.txt", "move") as source:
            source.move(place)


@pytest.mark.parametrize(
    "wanted",
    [
        [("k/HEAD", "write"), ("k/objects/a", "write"), ("k/refs/a", "write")],
        [("k/refs/a", "write"), ("k/HEAD", "write"), ("k/objects", "make")],
        [("k/objects", "make"), ("k/refs", "make"), ("k/HEAD", "write")],
        [("k/x/commondir", "write"), ("k/x/HEAD", "write")],
        [("k/refs/a", "write"), ("k/objects/a", "write"), ("k/HEAD", "receive")],
    ],
)
@pytest.mark.parametrize("exists", [False, True], ids=["no_folder", "folder"])
def test_last_part_of_a_repository_is_not_written(
    paths: WorkspaceView, tree: Path, wanted: list[tuple[str, PlaceUse]], *, exists: bool
) -> None:
    """Though none of its parts was there when the places were opened; what was made on the way to it goes again."""
    if exists:
        (tree / "k/x").mkdir(parents=True)
    places = [paths.open_place(path, use) for path, use in wanted]
    uses = [use for _, use in wanted]
    for place, use in zip(places[:-1], uses, strict=False):
        change(place, use, paths)
    before = everything(tree)

    with pytest.raises(Denied) as caught:
        change(places[-1], uses[-1], paths)
    for place in places:
        place.close()

    assert (caught.value.reason, everything(tree)) == ("protected_path", before)


def test_parts_of_a_repository_are_written_one_after_the_other(
    tree: Path, openers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two changes that begin at the same time, and would complete it together, the second sees the first."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tree / "k").mkdir()
    (tree / "k/HEAD").write_text("x")
    leases = WorkspaceLeases(tree, Caller, lambda: float("inf"))
    paths = WorkspacePaths(tree, openers=openers).writable(free, leases)
    made, denied = Barrier(2, timeout=0.2), list[str]()
    make_folder = os.mkdir

    def mkdir(name: str, **how: int) -> None:
        with suppress(BrokenBarrierError):  # Both have looked and neither has made anything; not if they take turns.
            made.wait()
        make_folder(name, **how)

    def write(place: WriteTarget) -> None:
        try:
            place.make_folder()
        except Denied as error:
            denied.append(error.reason)

    monkeypatch.setattr(os, "mkdir", mkdir)
    with paths.open_place("k/objects", "make") as one, paths.open_place("k/refs", "make") as other:
        threads = [Thread(target=write, args=(place,)) for place in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert (denied, len(list((tree / "k").iterdir()))) == (["protected_path"], 2)
