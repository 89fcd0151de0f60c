"""Virtual files: the path guard judges first, what an extension takes is never looked for on the disk, and its failures are errors."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.rows import each_row
from typing_extensions import override

from toolcharter import Denied, Entry, ToolcharterError, ToolError, VirtualFile, VirtualFolder
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.paths.routed import JoinedFolder, RoutedPaths
from toolcharter.profile.settings import HiddenGlob


class Shelf:
    """Keeps the files whose names begin with `v`, at the root and in `sub`."""

    def __init__(self, **files: str) -> None:
        self.files = {name.replace("__", "/").replace("_md", ".md"): text.encode() for name, text in files.items()}
        self.asked: list[str] = []

    def ask(self, path: str) -> Any:
        self.asked.append(path)
        folder, _, name = path.rpartition("/")
        if path in {".", "sub"}:
            return ShelfFolder(self, "" if path == "." else "sub/")
        return ShelfFile(self, path) if folder in {"", "sub"} and name.startswith("v") else None


class ShelfFile(VirtualFile):
    def __init__(self, shelf: Shelf, path: str) -> None:
        self.files, self.path = shelf.files, path

    @override
    def exists(self) -> bool:
        return self.path in self.files

    @override
    def read(self) -> bytes:
        return self.files.get(self.path, b"")

    @override
    def write(self, data: bytes, before: bytes | None, /) -> None:
        if self.files.get(self.path) != before:
            raise ToolError("It was changed.", reason="changed_meanwhile")
        self.files[self.path] = data

    @override
    def delete(self, before: bytes, /) -> None:
        del self.files[self.path]


class ShelfFolder(VirtualFolder):
    def __init__(self, shelf: Shelf, prefix: str) -> None:
        self.files, self.prefix = shelf.files, prefix

    @override
    def entries(self) -> Iterator[Entry]:
        for path, data in self.files.items():
            name = path.removeprefix(self.prefix)
            if path.startswith(self.prefix) and "/" not in name:
                yield Entry(name, "file", len(data))
        if not self.prefix and any("/" in path for path in self.files):
            yield Entry("sub", "folder", 0)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "plain.md").write_text("on disk")
    (root / "v_taken.md").write_text("never seen")
    (tmp_path / "outside.md").write_text("outside")
    return root


@pytest.fixture
def disk(workspace: Path) -> Iterator[WorkspacePaths]:
    paths = WorkspacePaths(workspace, hidden=[HiddenGlob("*.key"), HiddenGlob("**/v*.md", "TOP SECRET")])
    yield paths
    paths.close()


Routed = Callable[..., RoutedPaths]


@pytest.fixture
def routed(disk: WorkspacePaths) -> Routed:
    """The disk with a shelf, or with what else answers; whether anything may act is a list that is filled."""

    def make(ask: Callable[[str], Any], act: Callable[[], None] = lambda: None) -> RoutedPaths:
        return RoutedPaths(disk.writable(act), ask, lambda _: None)

    return make


def reason_of(error: ToolcharterError) -> str:
    assert isinstance(error, Denied | ToolError)
    return str(error.reason)


def content(paths: RoutedPaths, path: str) -> bytes:
    with paths.open_file(path) as file:
        return file.read(file.size)


def test_a_virtual_file_is_read_in_place_of_the_disks(routed: Routed, workspace: Path) -> None:
    """By every path that leads to it, links included."""
    (workspace / "link.md").symlink_to("v_taken.md")
    (workspace / "sub").mkdir()
    paths = routed(Shelf(v_taken_md="virtual").ask)

    for path in (
        "v_taken.md",
        "./v_taken.md",
        "sub/../v_taken.md",
        str(workspace / "v_taken.md"),
        "link.md",
    ):
        assert content(paths, path) == b"virtual"
    assert content(paths, "plain.md") == b"on disk"
    assert content(paths, "v_none.md") == b""


def test_an_open_file_has_a_descriptor_of_a_copy(routed: Routed) -> None:
    """For what reads by one; it is closed with the file."""
    with routed(Shelf(v="abcdef").ask).open_file("v") as file:
        assert (file.path, file.size, file.read(2, 3)) == ("v", 6, b"de")
        descriptor = file.fileno()
        assert os.pread(descriptor, 10, 0) == b"abcdef"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


@each_row(
    ("path", "reason"),
    [
        ("../outside.md", "path_outside_workspace"),
        ("../v", "path_outside_workspace"),
        ("../ws/v", "path_outside_workspace"),
        ("sub/../../v", "path_not_found"),
        ("/v", "path_outside_workspace"),
        ("v.key", "protected_path"),
        (".v_protected", "protected_path"),
        ("v_secret.md", "protected_path"),
        ("v/", "not_directory"),
        ("", "invalid_path"),
        ("sub", "path_not_found"),
    ],
)
def test_the_guard_judges_before_the_route(routed: Routed, path: str, reason: str) -> None:
    """What is outside, hidden by its name or by what it holds, or protected is so wherever it is kept."""
    shelf = Shelf(v="x", v_secret_md="TOP SECRET")
    shelf.files["v.key"] = shelf.files[".v_protected"] = b"x"
    paths = routed(shelf.ask).narrowed(protected=[".v*"])

    with pytest.raises(ToolcharterError) as caught:
        paths.open_file(path)

    assert reason_of(caught.value) == reason
    if reason in {"path_outside_workspace", "protected_path"} and path != "v_secret.md":
        assert shelf.asked == []


def test_links_out_of_the_workspace_lead_to_nothing_virtual(routed: Routed, workspace: Path) -> None:
    """The disk's guard refuses them first."""
    (workspace / "out").symlink_to(workspace.parent / "outside.md")

    with pytest.raises(Denied) as caught:
        routed(Shelf(v="x").ask).open_file("out")

    assert caught.value.reason == "path_outside_workspace"


def test_folders_show_both(routed: Routed, workspace: Path) -> None:
    """What is taken is shown only if it is there, and hidden names of neither."""
    shelf = Shelf(v_a_md="12", sub__v_b_md="345")
    shelf.files["v.key"] = b"x"
    paths = routed(shelf.ask)

    with paths.open_folder() as folder:
        assert list(folder.entries()) == [
            Entry("plain.md", "file", 7),
            Entry("sub", "folder", 0),
            Entry("v_a.md", "file", 2),
        ]
        assert list(folder.virtual()) == ["sub/v_b.md", "v_a.md"]
        assert folder.is_on_disk()
        assert [folder.shows(name) for name in ("plain.md", "v_taken.md", "x.key")] == [True, False, False]
        assert os.path.samestat(os.fstat(folder.fileno()), workspace.stat())
    with paths.open_folder("sub") as folder:
        assert list(folder.entries()) == [Entry("v_b.md", "file", 3)]
        assert not folder.is_on_disk()
        assert folder.hidden() == ()
        with pytest.raises(ToolError, match="programs see only the disk") as caught:
            folder.fileno()
    assert caught.value.reason == "path_not_found"


def test_a_folder_without_virtual_files_is_the_disks(routed: Routed, workspace: Path) -> None:
    """And one that is nowhere is not found; a virtual file is none."""
    (workspace / "other").mkdir()
    (workspace / "to_sub").symlink_to("sub")
    shelf = Shelf()
    paths = routed(shelf.ask)

    with paths.open_folder("other") as folder:
        assert list(folder.virtual()) == []
    for path, reason in (("sub", "path_not_found"), ("to_sub", "path_not_found"), ("v", "not_directory")):
        with pytest.raises(ToolError) as caught:
            paths.open_folder(path)
        assert caught.value.reason == reason
    (workspace / "sub").mkdir()
    shelf.files["sub/v"] = b"1"
    with paths.open_folder("to_sub") as folder:
        assert (folder.path, list(folder.virtual())) == ("sub", ["v"])


def test_places_are_written_and_deleted(routed: Routed, workspace: Path) -> None:
    """All at once, after the mark alone, and not over what the tool has not seen."""
    acts: list[str] = []
    shelf = Shelf(v_a_md="one")
    paths = routed(shelf.ask, lambda: acts.append("act"))
    (workspace / "link.md").symlink_to("v_taken.md")

    with paths.open_place("v_a.md") as place:
        assert (place.path, place.kind, place.size, place.read(2), list(place.below())) == (
            "v_a.md",
            "file",
            3,
            b"on",
            [],
        )
        assert acts == []
        place.write(b" two", append=True)
    with paths.open_place("link.md") as place:
        assert (place.path, place.kind, place.size, place.read(9)) == ("v_taken.md", "missing", 0, b"")
        place.write(b"new")
    late = paths.open_place("v_taken.md")
    shelf.files["v_taken.md"] = b"newer"
    with pytest.raises(ToolError) as caught:
        late.write(b"old")
    with paths.open_place("v_a.md", "delete") as place:
        place.delete()

    assert caught.value.reason == "changed_meanwhile"
    assert shelf.files == {"v_taken.md": b"newer"}
    assert (workspace / "v_taken.md").read_text() == "never seen"
    assert len(acts) == 4


def test_nothing_is_written_where_the_mark_refuses(routed: Routed) -> None:
    """The extension is not even asked to."""
    shelf = Shelf()

    def refuse() -> None:
        raise ToolError("before the mark")

    with routed(shelf.ask, refuse).open_place("v") as place, pytest.raises(ToolError, match="before the mark"):
        place.write(b"x")
    assert shelf.files == {}


@each_row(
    ("path", "use", "reason"),
    [
        ("v", "move", "virtual_path"),
        ("v", "receive", "virtual_path"),
        ("v", "make", "path_exists"),
        ("v_none", "make", "virtual_path"),
        ("v_none", "delete", "path_not_found"),
        ("v_ro", "write", "protected_path"),
        ("sub", "move", "virtual_path"),
        ("sub", "delete", "virtual_path"),
        ("sub", "receive", "virtual_path"),
        ("sub", "write", "is_directory"),
        ("v/", "write", "not_directory"),
    ],
)
def test_what_cannot_be_done(routed: Routed, path: str, use: Any, reason: str) -> None:
    """Nothing of it is left to the disk."""
    paths = routed(Shelf(v="1", v_ro="2", sub__v="3").ask).narrowed(read_only=["v_ro"])

    with pytest.raises(ToolcharterError) as caught:
        paths.open_place(path, use)

    assert reason_of(caught.value) == reason


def test_nothing_is_moved_between_the_disk_and_elsewhere(routed: Routed, workspace: Path) -> None:
    """A place that was opened to be written is no target of a move."""
    paths = routed(Shelf(v="1").ask)

    with paths.open_place("plain.md", "move") as source, paths.open_place("v") as target:
        for one, other in ((source, target), (target, source)):
            with pytest.raises(ToolError) as caught:
                one.move(other)
            assert caught.value.reason == "virtual_path"
        with pytest.raises(ToolError, match="no folder can be made"):
            target.make_folder()
    assert (workspace / "plain.md").exists()


class Failing(VirtualFile):
    """Fails in every method."""

    @override
    def exists(self) -> bool:
        raise RuntimeError

    @override
    def read(self) -> bytes:
        raise RuntimeError


class Wrong(VirtualFile):
    """Reads text."""

    @override
    def read(self) -> bytes:
        return "text"  # type: ignore[return-value] # what this is about


class WrongFolder(VirtualFolder):
    @override
    def entries(self) -> Iterable[Entry]:
        return ["x"]  # type: ignore[list-item] # as above


def _raises(_: str) -> Any:
    raise KeyError


@each_row(
    ("ask", "uses"),
    [
        (_raises, "file folder place"),
        (lambda _: "text", "file folder place"),
        (lambda _: Failing(), "file place"),
        (lambda _: Wrong(), "file place"),
        (lambda _: WrongFolder(), "entries place"),
    ],
    ids=["raises", "answers text", "fails", "reads text", "lists text"],
)
def test_a_failure_is_an_error_and_no_way_to_the_disk(routed: Routed, ask: Callable[[str], Any], uses: str) -> None:
    """Whatever fails, the file on the disk is not read in its place."""
    paths = routed(ask)
    doing: dict[str, Callable[[], Any]] = {
        "file": lambda: paths.open_file("plain.md"),
        "folder": paths.open_folder,
        "place": lambda: paths.open_place("plain.md"),
        "entries": lambda: list(paths.open_folder().entries()),
    }
    for use in uses.split():
        with pytest.raises(ToolError) as caught:
            doing[use]()
        assert caught.value.reason == "route_failed"


def test_a_file_is_read_only_by_default(routed: Routed) -> None:
    """An extension that says nothing of writing lets nothing be written."""

    class Fixed(VirtualFile):
        @override
        def read(self) -> bytes:
            return b"fixed"

    paths = routed(lambda path: Fixed() if path == "v" else None)
    for use, change in (("write", lambda place: place.write(b"x")), ("delete", lambda place: place.delete())):
        with paths.open_place("v", use) as place, pytest.raises(Denied) as caught:  # type: ignore[arg-type] # one of them
            change(place)
        assert caught.value.reason == "protected_path"
    assert content(paths, "v") == b"fixed"


def test_folders_of_several_extensions_are_joined() -> None:
    """Of one name the first counts."""
    first, second = Shelf(v="1"), Shelf(v="22", w="3")

    joined = JoinedFolder([ShelfFolder(first, ""), ShelfFolder(second, "")])

    assert list(joined.entries()) == [Entry("v", "file", 1), Entry("w", "file", 1)]
