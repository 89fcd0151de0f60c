"""The samples of file operations on a tree with links: everything that reads, by tool and by guard."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cases.path_trees import ROWS, filled, lay_out

from toolcharter import Denied, Toolbox, ToolError, build_tools
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.paths.roots import kernel_openers, walking_openers

RACES = [row for row in ROWS if row["tier"] == "race"]


@pytest.fixture
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The parent of a workspace, laid out as the row says."""
    lay_out(tmp_path, request.param)
    return tmp_path


@pytest.fixture
def toolbox(root: Path) -> Iterator[Toolbox]:
    profile = root / "profile.yaml"
    profile.write_text("profile: cases\ntools: {read_file: {}, list_files: {}, glob: {}, grep: {}}\n")
    with build_tools(profile, workspace=root / "ws", events=[lambda _: None]) as toolbox:
        yield toolbox


def _cases(*ops: str) -> list[Any]:
    return [pytest.param(row["layout"], row, id=row["id"]) for row in ROWS if row["op"] in ops and row not in RACES]


def _verdict(outcome: str, reason: str | None, found: str, row: dict[str, Any]) -> set[str]:
    """The words of the samples that describe an outcome."""
    if outcome == "denied":
        return {"denied"}
    if outcome == "error":
        missing = reason in {"path_not_found", "not_directory", "is_directory"}
        return {"not_found"} if missing else {"invalid"}
    clean = not any(word in found for word in row.get("must_not_contain", ["SECRET"]))
    return {"ok", "ok_inside_only", *([] if found else ["empty"])} if clean else {"leaked"}


ARGUMENTS: dict[str, Callable[[dict[str, Any], str], tuple[str, dict[str, str]]]] = {
    "read": lambda _, path: ("read_file", {"path": path}),
    "stat": lambda _, path: ("read_file", {"path": path}),
    "list": lambda _, path: ("list_files", {"path": path}),
    "cwd": lambda _, path: ("list_files", {"path": path}),
    "glob": lambda _, path: ("glob", {"globs": path}),
    "search": lambda row, path: ("grep", {"query": row["pattern"], "path": path}),
}


@pytest.mark.parametrize(("root", "row"), _cases(*ARGUMENTS), indirect=["root"])
def test_tool(toolbox: Toolbox, root: Path, row: dict[str, Any]) -> None:
    """Through the gate a reading operation has an outcome that the sample accepts, and shows nothing outside."""
    tool, arguments = ARGUMENTS[row["op"]](row, filled(row["path"], root))

    result = toolbox.call(tool, arguments)

    found = json.dumps(result.data["items"] if tool in {"glob", "list_files"} else result.data) if result.data else ""
    assert _verdict(result.outcome, result.reason, found, row) & set(row["accept"])
    assert "SECRET" not in result.text


def _guarded(paths: WorkspacePaths, row: dict[str, Any], path: str) -> set[str]:
    try:
        if row["op"] in {"list", "cwd"}:
            with paths.open_folder(path) as folder:
                return _verdict("ok", None, str(list(folder.entries())), row)
        with paths.open_file(path) as file:
            return _verdict("ok", None, file.read(99).decode(), row)
    except Denied as denied:
        return _verdict("denied", denied.reason, "", row)
    except ToolError as error:
        return _verdict("error", error.reason, "", row)


@pytest.mark.parametrize("openers", [kernel_openers, walking_openers], ids=["kernel", "walk"])
@pytest.mark.parametrize(("root", "row"), _cases("read", "stat", "list", "cwd"), indirect=["root"])
def test_guard(root: Path, row: dict[str, Any], openers) -> None:
    """The guard alone gives an accepted outcome, with the kernel's help and without."""
    paths = WorkspacePaths(root / "ws", openers=openers)

    assert _guarded(paths, row, filled(row["path"], root)) & set(row["accept"])


@pytest.mark.parametrize(("root", "row"), _cases("workspace_root"), indirect=["root"])
def test_root_as_it_was_given(root: Path, row: dict[str, Any]) -> None:
    """However the workspace was written, what is inside opens and its siblings do not."""
    paths = WorkspacePaths(Path(f"{root}/{row['path']}"))

    assert _guarded(paths, row, filled(row["request"], root)) & set(row["accept"])


SWAPPER = """
import os, sys
entry, target = sys.argv[1:]
os.symlink(target, entry + ".link")
print("ready", flush=True)
while True:
    os.rename(entry, entry + ".kept"), os.rename(entry + ".link", entry)
    os.rename(entry, entry + ".link"), os.rename(entry + ".kept", entry)
"""


@pytest.fixture
def swapping(root: Path, row: dict[str, Any]) -> Iterator[str]:
    """A process that swaps the row's entry for a link to the outside as fast as it can; gives a path to read."""
    race = row["race"]
    target = race["swap"].partition("symlink:")[2]
    with subprocess.Popen(
        [sys.executable, "-c", SWAPPER, race["entry"], target], cwd=root / "ws", stdout=subprocess.PIPE
    ) as swapper:
        assert swapper.stdout
        swapper.stdout.readline()
        if race["swap"].startswith("dir"):
            (root / "ws/x").write_text("A")
        yield race["entry"] if race["swap"].startswith("file") else f"{race['entry']}/secret.txt"
        swapper.kill()


@pytest.mark.parametrize("openers", [kernel_openers, walking_openers], ids=["kernel", "walk"])
@pytest.mark.parametrize(
    ("root", "row"), [pytest.param(row["layout"], row, id=row["id"]) for row in RACES], indirect=["root"]
)
def test_swapping_never_leads_a_read_outside(root: Path, row: dict[str, Any], swapping: str, openers) -> None:
    """The reading half of each race: not once in all iterations is anything read from outside."""
    paths = WorkspacePaths(root / "ws", openers=openers)

    seen = {frozenset(_guarded(paths, row, swapping)) for _ in range(row["race"]["iterations"])}

    assert "leaked" not in set().union(*seen)
    assert any("denied" in verdict for verdict in seen)  # the race was run, not slept through


@pytest.mark.parametrize(
    ("root", "row"), [pytest.param(row["layout"], row, id=row["id"]) for row in RACES[:2]], indirect=["root"]
)
def test_swapping_never_leads_a_search_outside(root: Path, row: dict[str, Any], swapping: str, toolbox) -> None:
    """Ripgrep opens by path and can be led astray; what it finds there is never shown."""
    texts = "".join(
        toolbox.call(tool, arguments).text
        for _ in range(40)
        for tool, arguments in (("grep", {"query": "SECRET"}), ("glob", {"globs": "**/*"}))
    )

    assert "SECRET" not in texts
    assert f"{row['race']['entry']}/secret.txt" not in texts
