"""What sample sets 002, 003 and 004 do with paths and files, as far as it is reading."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.samples import row_params, sample_rows

from toolcharter import Denied, Toolbox, ToolError, build_tools
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.paths.names import absolute_parts, below

# Rows of the files below that the design decides otherwise, each with the sentence that does.
SUPERSEDED = {
    "002-arg-alias-030": "inventory, section 3: `query <- path, filepath, file` was dropped later; they name the scope.",
    "002-arg-alias-057": "design, section 1: names are unique without case, so READ can only mean `Read`.",
    "003-build-and-logging-056": "issue 2, section 5: `read_file` recognises encodings; 0xff alone is Latin-1.",
    "004-path-resolve-005": "design, section 7: malformed is error; the workspace itself is `.`.",
    "004-path-resolve-027": "inventory, section 7.8: reads obey the same check; there is no unrestricted mode.",
}


def rows(name: str) -> list[dict[str, Any]]:
    return sample_rows(f"seeds/{name}")


def params(name: str, wanted: Any) -> list[Any]:
    return row_params([row for row in rows(name) if wanted(row) and row["id"] not in SUPERSEDED])


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    root.mkdir()
    return root


@pytest.fixture
def toolbox(workspace: Path, tmp_path: Path) -> Iterator[Toolbox]:
    profile = tmp_path / "profile.yaml"
    # The rows are about paths; which names hold credentials the profile says.
    profile.write_text("profile: cases\nhidden: []\ntools: {read_file: {}, list_files: {}, glob: {}, grep: {}}\n")
    with build_tools(profile, workspace=workspace, events=[lambda _: None]) as toolbox:
        yield toolbox


def put(root: Path, relative: str, content: str = "x") -> None:
    (root / relative).parent.mkdir(parents=True, exist_ok=True)
    (root / relative).write_text(content)


def opened(root: Path, path: str) -> tuple[str, str]:
    try:
        with WorkspacePaths(root).open_file(path) as file:
            return "ok", file.path
    except Denied as denied:
        return "denied", denied.reason
    except ToolError as error:
        return "error", error.reason


@pytest.mark.parametrize("row", params("002-path-sanitize", lambda row: True))
def test_path_is_read_as_source_002_reads_it(workspace: Path, row: dict[str, Any]) -> None:
    """The same relative path, or a refusal; links that leave are refused too, as `unified` says."""
    relative = row["expect"].get("rel")
    path = row["input"]["path"]
    if path.startswith("/"):
        path = path.replace("/ws", str(workspace), 1).replace("/WS", str(workspace).upper(), 1)
    for link, target in row["input"].get("links", {}).items():
        Path(link.replace("/ws", str(workspace), 1)).symlink_to(target)
    if relative:
        put(workspace, relative)

    found = opened(workspace, path)

    assert found == ("ok", relative) if relative else found[0] in {"denied", "error"}


@pytest.mark.parametrize(
    "row",
    params("004-path-resolve", lambda row: {"workspace", "path"} <= row["input"].keys()),
)
def test_path_is_resolved_as_source_004_does(workspace: Path, row: dict[str, Any]) -> None:
    """The same file beneath the workspace, or a denial."""
    expected = row["expect"].get("path", "").removeprefix("/ws/")
    if expected:
        (workspace / "a").mkdir()
        put(workspace, expected)

    found = opened(workspace, row["input"]["path"])

    assert found == (("ok", expected) if expected else ("denied", "path_outside_workspace"))


@pytest.mark.parametrize("row", params("004-path-resolve", lambda row: "child" in row["input"]))
def test_containment_is_by_components(row: dict[str, Any]) -> None:
    """A sibling with the same beginning is not inside."""
    inside = below(absolute_parts(row["input"]["child"]), absolute_parts(row["input"]["parent"]))

    assert (inside is not None) is row["expect"]["inside"]


@pytest.mark.parametrize(
    "row", params("004-path-resolve", lambda row: row["expect"].get("decision") and "links" in row["input"])
)
def test_links_are_decided_as_source_004_decides(workspace: Path, row: dict[str, Any]) -> None:
    """Links that leave are denied, even if nothing is there; a file with one name is read."""
    links = row["input"]["links"]
    put(workspace, "plain.txt")
    for name, target in links.items() if isinstance(links, dict) else ():
        (workspace / name).symlink_to(target)

    outcome, _ = opened(workspace, row["input"].get("path", "plain.txt"))

    assert outcome == {"allow": "ok", "deny": "denied"}[row["expect"]["decision"]]


@pytest.mark.parametrize("row", params("002-file-tools", lambda row: row["input"].get("tool") == "Read"))
def test_reading_as_source_002_reads(toolbox: Toolbox, workspace: Path, row: dict[str, Any]) -> None:
    """The same lines; a missing file is an error that hints at its namesake, as `unified` says."""
    given, expect = row["input"], row.get("unified", row["expect"])
    for name in given.get("files", ()):
        put(workspace, name)
    put(workspace, "f", given.get("content", ""))

    arguments = {"path": given.get("path", "f"), "line_range": given.get("line_range")}
    result = toolbox.call("Read", arguments)

    if "content" in expect:
        assert {key: result.data[key] for key in expect} == expect
    else:
        assert (result.outcome, result.reason) == ("error", "path_not_found")
        assert expect["hint"] in (result.hint or "")


@pytest.mark.parametrize("row", params("002-file-tools", lambda row: row["input"].get("tool") == "Glob"))
def test_globbing_stops_as_source_002_stops(toolbox: Toolbox, workspace: Path, row: dict[str, Any]) -> None:
    """The default limit is the same, and the cut is told."""
    for number in range(row["input"]["files"]):
        put(workspace, f"{number}.txt")

    data = toolbox.call("Glob", {}).data

    assert (len(data["items"]), data["truncated"]) == (row["expect"]["count"], True)


READ_TOOLS = {"Read", "Glob", "Grep"}


@pytest.mark.parametrize("row", params("002-arg-alias", lambda row: row["input"].get("tool") in READ_TOOLS))
def test_argument_names_of_source_002(toolbox: Toolbox, workspace: Path, row: dict[str, Any]) -> None:
    """Other names of an argument reach it; `path` of a search is its scope, so that a query is then missing."""
    put(workspace, "b", "B")

    result = toolbox.call(row["input"]["tool"], row["input"]["args"])

    if "error" in row["unified"]:
        assert (result.outcome, result.reason) == ("error", "invalid_arguments")
        assert "query: required" in result.text
    else:
        assert result.data["path"] == row["unified"]["args"]["path"]


@pytest.mark.parametrize("row", params("002-arg-alias", lambda row: row["input"].get("name") in READ_TOOLS))
def test_tool_names_of_source_002(toolbox: Toolbox, row: dict[str, Any]) -> None:
    """Tools answer to the names that sample set 002 knows."""
    result = toolbox.call(row["input"]["name"], {})

    assert result.reason != "unknown_tool"


def test_home_folder_is_not_expanded(toolbox: Toolbox, workspace: Path) -> None:
    """003-build-and-logging-059: a tilde is a name in the workspace, so the home folder is never read."""
    row = next(row for row in rows("003-build-and-logging") if row["id"] == "003-build-and-logging-059")

    missing = toolbox.call("read_file", row["input"])
    put(workspace, row["input"]["path"], "mine")
    own = toolbox.call("read_file", row["input"])

    assert (missing.outcome, missing.reason, own.text) == ("error", "path_not_found", "mine")


def test_superseded_rows_exist() -> None:
    """The list of exceptions names real rows only."""
    files = ("002-arg-alias", "003-build-and-logging", "004-path-resolve")

    assert set(SUPERSEDED) <= {row["id"] for name in files for row in rows(name)}
