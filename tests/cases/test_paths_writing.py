"""The samples of file operations that change something, on a tree with links: by tool, by decision, and in races."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count as counting
from itertools import takewhile
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic
from typing import Any

import pytest
from tests.cases.path_trees import (
    READING,
    ROWS,
    WRITING,
    beside_the_workspace,
    exchanging,
    filled,
    lay_out,
)
from tests.rows import each_row
from tests.samples import row_params

from toolcharter import Denied, Toolbox, ToolError, ToolResult, build_tools
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.paths.roots import kernel_openers, walking_openers
from toolcharter.guards.paths.workspace import WorkspaceView

TOOLS = ("read_file", "write_file", "edit_file", "move_file", "delete_file", "make_dir")
CHANGING = [row for row in ROWS if row["op"] in WRITING and row["tier"] != "race"]
RACES = [row for row in ROWS if row["tier"] == "race"]
SWAPS = int(os.environ.get("TOOLCHARTER_SWAPS", "1000"))
"""How often each of the 24 races is run. The samples ask for 10,000, which take a minute and a half."""

PATIENCE_S = 120.0
"""How long both sides of a race are waited for to have won once, in seconds, if that many are not enough."""
RACED = ("path_outside_workspace", "changed_meanwhile")

Use = tuple[str, dict[str, Any]]


@pytest.fixture
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The parent of a workspace, laid out as the row says."""
    lay_out(tmp_path, request.param)
    return tmp_path


@pytest.fixture
def toolbox(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolbox]:
    profile = tmp_path_factory.mktemp("profile") / "profile.yaml"
    profile.write_text(json.dumps({"profile": "cases", "tools": {tool: {} for tool in TOOLS}}))
    with build_tools(profile, workspace=root / "ws", events=[lambda _: None]) as toolbox:
        yield toolbox


def uses(row: dict[str, Any], root: Path) -> list[Use]:
    """The calls by which an agent would do what the row says."""
    path, dest = filled(row["path"], root), filled(row.get("dest", ""), root)
    if row["op"] == "extract":
        return list(extraction(path))
    calls: dict[str, list[Use]] = {
        "write": [("write_file", {"path": path, "content": "NEW"})],
        "append": [("write_file", {"path": path, "content": "NEW", "append": True})],
        "edit": [("edit_file", {"path": path, "old_string": "A", "new_string": "NEW"})],
        "delete": [("delete_file", {"path": path})],
        "mkdir": [("make_dir", {"path": path})],
        "rename": [("move_file", {"path": path, "to": dest})],
        "copy": [("read_file", {"path": path}), ("write_file", {"path": dest, "content": "NEW"})],
    }
    return calls[row["op"]]


def extraction(members: str) -> Iterator[Use]:
    """An archive's members as an agent would unpack them; no tool of ours makes links or sets the rights of files."""
    for kind, name, *_ in json.loads(members):
        if kind in {"file", "setuid"}:
            yield "write_file", {"path": name, "content": "NEW"}


def verdict(result: ToolResult | None) -> set[str]:
    """The words of the samples that describe an outcome."""
    if result is None:
        return {"invalid"}
    if result.outcome == "denied":
        return {"denied"}
    if result.outcome == "ok":
        return {"ok", "ok_inside_only"}
    missing = result.reason in {"path_not_found", "not_directory", "is_directory"}
    return {"not_found"} if missing else {"invalid"}


def _params(rows: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(row["layout"], row, id=row["id"]) for row in rows]


@pytest.mark.parametrize(("root", "row"), _params(CHANGING), indirect=["root"])
def test_tool(toolbox: Toolbox, root: Path, row: dict[str, Any]) -> None:
    """Through the gate a change has an outcome that the sample accepts, and nothing beside the workspace is touched."""
    before = beside_the_workspace(root)
    result = None

    for tool, args in uses(row, root):
        decision = toolbox.decide(tool, args)
        result = toolbox.call(tool, args)
        assert {"allow": "ok", "deny": "denied", "error": "error"}[decision.outcome] == result.outcome
        if result.outcome != "ok":
            break

    assert verdict(result) & set(row["accept"])
    assert beside_the_workspace(root) == before


@each_row("openers", [kernel_openers, walking_openers], ids=["kernel", "walk"])
@each_row("use", ["write", "delete", "move", "receive", "make"])
@pytest.mark.parametrize(
    "row",
    row_params([row for row in ROWS if row["expect"] == "deny" and row["op"] not in {"extract", "workspace_root"}]),
)
def test_no_use_of_a_denied_path_touches_what_lies_outside(
    tmp_path: Path, row: dict[str, Any], use: Any, openers
) -> None:
    """Every path that a sample denies, for reading ones, too: whatever it would be used for, nothing outside changes."""
    root = Path(mkdtemp(dir=tmp_path))
    lay_out(root, row["layout"])
    paths = WorkspacePaths(root / "ws", read_only=(".git",), openers=openers).writable(lambda: None)
    before = beside_the_workspace(root)

    with suppress(Denied, ToolError), paths.open_place(filled(row["path"], root), use) as place:
        if use == "make":
            place.make_folder()
        elif use == "delete":
            place.delete()
        elif use != "move":
            place.write(b"NEW")

    assert beside_the_workspace(root) == before


def test_every_row_is_run() -> None:
    """Each operation belongs to the reading half or to the writing half, and none to both."""
    assert READING.isdisjoint(WRITING)
    assert {row["op"] for row in ROWS} <= READING | WRITING
    assert Counter(row["tier"] for row in CHANGING).total() + len(RACES) == sum(row["op"] in WRITING for row in ROWS)


class Racer:
    """One workspace in which `a.txt` or `sub` is being swapped; each attempt says how it went."""

    def __init__(self, root: Path, openers: Any) -> None:
        self.root = root
        self.paths: WorkspaceView = WorkspacePaths(root / "ws", read_only=(".git",), openers=openers).writable(
            lambda: None
        )
        # Held from before the race: what is put in order between attempts must not be led astray itself.
        self.top = os.open(root / "ws", os.O_RDONLY | os.O_DIRECTORY)
        self.sub = os.open(root / "ws/sub", os.O_RDONLY | os.O_DIRECTORY)
        self.read: set[bytes] = set()

    def put(self, folder: int, name: str) -> None:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600, dir_fd=folder)
        os.close(fd)

    def drop(self, folder: int, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)

    def close(self) -> None:
        os.close(self.top)
        os.close(self.sub)

    def write(self, path: str, *, append: bool = False) -> None:
        with self.paths.open_place(path) as place:
            place.write(b"A", append=append)

    def edit(self, path: str) -> None:
        with self.paths.open_place(path) as place:
            self.read.add(place.read(99))
            place.write(b"A")

    def delete(self, path: str) -> None:
        with self.paths.open_place(path, "delete") as place:
            place.delete()

    def make(self, path: str) -> None:
        with self.paths.open_place(path, "make") as place:
            place.make_folder()

    def move(self, path: str, to: str) -> None:
        with self.paths.open_place(path, "move") as source, self.paths.open_place(to, "receive") as target:
            source.move(target)


def _deleting(racer: Racer) -> None:
    racer.put(racer.sub, "secret.txt")
    racer.delete("sub/secret.txt")


def _making(racer: Racer) -> None:
    with suppress(FileNotFoundError):
        os.rmdir("new", dir_fd=racer.sub)
    racer.make("sub/new")


def _making_deeply(racer: Racer) -> None:
    for name in ("x/y", "x"):
        with suppress(FileNotFoundError):
            os.rmdir(name, dir_fd=racer.sub)
    racer.make("sub/x/y")


def _creating(racer: Racer) -> None:
    racer.drop(racer.sub, "new.txt")
    racer.write("sub/new.txt")


def _moving_in(racer: Racer) -> None:
    racer.put(racer.top, "mine.txt")
    racer.drop(racer.sub, "mine.txt")
    racer.move("mine.txt", "sub/mine.txt")


def _moving_out(racer: Racer) -> None:
    racer.put(racer.sub, "secret.txt")
    racer.drop(racer.top, "stolen.txt")
    racer.move("sub/secret.txt", "stolen.txt")


FILE, FOLDER = ("a.txt", "../outside/secret.txt"), ("sub", "../outside")
RACING: dict[str, tuple[tuple[str, str], Callable[[Racer], None]]] = {
    "write a file": (FILE, lambda racer: racer.write("a.txt")),
    "append to a file": (FILE, lambda racer: racer.write("a.txt", append=True)),
    "edit a file": (FILE, lambda racer: racer.edit("a.txt")),
    "write in a folder": (FOLDER, lambda racer: racer.write("sub/secret.txt")),
    "append in a folder": (FOLDER, lambda racer: racer.write("sub/secret.txt", append=True)),
    "edit in a folder": (FOLDER, lambda racer: racer.edit("sub/b.txt")),
    "create in a folder": (FOLDER, _creating),
    "delete in a folder": (FOLDER, _deleting),
    "make a folder": (FOLDER, _making),
    "make folders": (FOLDER, _making_deeply),
    "move into a folder": (FOLDER, _moving_in),
    "move out of a folder": (FOLDER, _moving_out),
}


@pytest.mark.parametrize("openers", [kernel_openers, walking_openers], ids=["kernel", "walk"])
@pytest.mark.parametrize("race", RACING)
@pytest.mark.parametrize("root", ["basic"], indirect=True)
def test_swapping_never_leads_a_change_outside(root: Path, race: str, openers) -> None:
    """Twelve kinds of race, each thousands of times: nothing outside is read, changed, made or taken away."""
    (entry, target), attempt = RACING[race]
    before = beside_the_workspace(root)
    racer, seen, until = Racer(root, openers), Counter[str](), monotonic() + PATIENCE_S

    with exchanging(root, entry, target):
        for count in takewhile(lambda count: count < 20 * SWAPS or monotonic() < until, counting()):
            if count >= SWAPS and seen["ok"] and any(seen[reason] for reason in RACED):
                break  # On a busy machine the other side may have to wait for its turn.
            try:
                attempt(racer)
                seen["ok"] += 1
            except Denied as denied:
                seen[denied.reason] += 1
            except ToolError as error:
                seen[error.reason] += 1
    racer.close()

    assert beside_the_workspace(root) == before
    assert not any(b"SECRET" in content for content in racer.read)
    assert seen["ok"] > 0
    assert any(seen[reason] for reason in RACED)  # the race was run, not slept through


@pytest.mark.parametrize(("root", "row"), _params(RACES), indirect=["root"])
def test_swapping_never_leads_a_tool_outside(root: Path, row: dict[str, Any], toolbox: Toolbox) -> None:
    """The samples' races through the gate."""
    entry, (_, _, target) = row["race"]["entry"], row["race"]["swap"].partition("symlink:")
    before = beside_the_workspace(root)

    with exchanging(root, entry, target):
        texts = [toolbox.call(tool, args) for _ in range(300) for tool, args in uses(row, root)]

    assert beside_the_workspace(root) == before
    assert not any("SECRET" in f"{result.text}{result.user_text}{result.data}" for result in texts)
