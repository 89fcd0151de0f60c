"""What sample sets 002 and 004 do with paths, files and locks, as far as it is writing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.samples import row_params, sample_rows

from toolcharter import Caller, Denied, Toolbox, ToolError, build_tools
from toolcharter.guards.paths import WorkspacePaths

TOOLS = ("read_file", "write_file", "edit_file", "move_file", "delete_file", "make_dir", "lock_paths", "unlock_paths")

# Rows that the design decides otherwise, each with the sentence that does.
SUPERSEDED = {
    "002-arg-alias-020": "design, section 5: an alias and its name with different values is `invalid_arguments`.",
    "002-arg-alias-023": "design, section 5: the same, of two aliases.",
    "004-path-resolve-005": "design, section 7: malformed is error; the workspace itself is `.`.",
    "004-path-resolve-027": "inventory, section 7.8: there is no unrestricted mode.",
    "004-path-resolve-077": "design, section 4, and inventory, section 7.8: only the workspace is written.",
    "004-path-resolve-086": "docs/sandboxes.md: in a sandbox the workspace has the path that it has outside.",
}
AMBIGUOUS = {row for row in SUPERSEDED if row.startswith("002-arg-alias")}


def params(name: str, wanted: Any) -> list[Any]:
    rows = [row for row in sample_rows(f"seeds/{name}") if wanted(row) and row["id"] not in SUPERSEDED]
    return row_params(rows)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    root.mkdir()
    return root


@pytest.fixture
def toolbox(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Toolbox]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    profile = tmp_path / "profile.yaml"
    profile.write_text(json.dumps({"profile": "cases", "tools": {tool: {} for tool in TOOLS}}))
    with build_tools(profile, workspace=workspace, events=[lambda _: None]) as toolbox:
        yield toolbox


def place_of(root: Path, path: str) -> tuple[str, str]:
    try:
        with WorkspacePaths(root).open_place(path) as place:
            return place.kind, place.path
    except Denied as denied:
        return "denied", denied.reason
    except ToolError as error:
        return "error", error.reason


@pytest.mark.parametrize("row", params("002-file-tools", lambda row: row["input"].get("tool") == "Edit"))
def test_editing_as_source_002_edits(toolbox: Toolbox, workspace: Path, row: dict[str, Any]) -> None:
    """The same content and message; our error says more behind the source's."""
    given = {key: value for key, value in row["input"].items() if key not in {"tool", "content"}}
    file = workspace / "f"
    file.write_text(row["input"]["content"])

    result = toolbox.call("Edit", {"path": "f", **given})

    if "error" in row["expect"]:
        assert result.outcome == "error"
        assert (result.message or "").startswith(row["expect"]["error"])
        assert file.read_text() == row["input"]["content"]
    else:
        assert (result.text, file.read_text()) == (row["expect"]["message"], row["expect"]["content"])


@pytest.mark.parametrize("row", params("002-arg-alias", lambda row: row["input"].get("tool") in {"Edit", "Write"}))
def test_argument_names_of_source_002(toolbox: Toolbox, workspace: Path, row: dict[str, Any]) -> None:
    """Other names of an argument reach it: the edit is made with the values that the source would take."""
    expected = row.get("unified", row["expect"])["args"]
    file = workspace / expected["path"]
    file.write_text(expected.get("old_string", ""))

    result = toolbox.call(row["input"]["tool"], row["input"]["args"])

    assert result.outcome == "ok"
    assert file.read_text() == expected.get("new_string", expected.get("content"))


@pytest.mark.parametrize("row", [row for row in sample_rows("seeds/002-arg-alias") if row["id"] in AMBIGUOUS])
def test_two_names_with_two_values_are_an_error(toolbox: Toolbox, row: dict[str, Any]) -> None:
    """Whose value counts is not guessed."""
    assert toolbox.call(row["input"]["tool"], row["input"]["args"]).reason == "invalid_arguments"


@pytest.mark.parametrize("row", params("002-arg-alias", lambda row: row["input"].get("name") in {"Edit", "Write"}))
def test_tool_names_of_source_002(toolbox: Toolbox, row: dict[str, Any]) -> None:
    """Tools answer to the names that sample set 002 knows."""
    assert toolbox.call(row["input"]["name"], {}).reason == "invalid_arguments"


@pytest.mark.parametrize("row", params("002-locks", lambda row: {"held", "write"} <= row["input"].keys()))
def test_locks_are_respected_as_in_source_002(toolbox: Toolbox, row: dict[str, Any]) -> None:
    """A write is blocked by what another agent holds, and by nothing else."""
    for glob, agent in row["input"]["held"].items():
        assert toolbox.for_caller(Caller(agent=agent)).call("lock_paths", {"globs": [glob]}).outcome == "ok"
    agent, path = row["input"]["write"]

    result = toolbox.for_caller(Caller(agent=agent)).call("write_file", {"path": path, "content": "x"})

    blocked = row.get("unified", row["expect"])["blocked"]
    assert (result.outcome, result.reason) == (("denied", "path_locked") if blocked else ("ok", None))


@pytest.mark.parametrize("row", params("002-dispatch", lambda row: "locked_by" in row["input"]))
def test_locks_of_others_are_an_error_in_source_002(toolbox: Toolbox, row: dict[str, Any]) -> None:
    """The file of another is not written."""
    given = row["input"]
    toolbox.for_caller(Caller(agent=given["locked_by"])).call("lock_paths", {"globs": given["path"]})

    result = toolbox.for_caller(Caller(agent=given["agent"])).call("Write", {"path": given["path"], "content": "x"})

    assert (result.outcome, result.reason) == ("denied", "path_locked")


@pytest.mark.parametrize("row", params("002-path-sanitize", lambda row: True))
def test_place_is_read_as_source_002_reads_it(toolbox: Toolbox, workspace: Path, row: dict[str, Any]) -> None:
    """The same relative path to write, or a refusal; links that leave are refused too, as `unified` says."""
    relative, path = row["expect"].get("rel"), row["input"]["path"]
    if path.startswith("/"):
        path = path.replace("/ws", str(workspace), 1).replace("/WS", str(workspace).upper(), 1)
    for link, target in row["input"].get("links", {}).items():
        Path(link.replace("/ws", str(workspace), 1)).symlink_to(target)

    found = place_of(workspace, path)
    result = toolbox.call("Write", {"path": path, "content": "x"})

    if relative:
        assert (found, result.outcome) == (("missing", relative), "ok")
        assert (workspace / relative).read_text() == "x"
    else:
        assert found[0] in {"denied", "error"}
        assert result.outcome == found[0]


@pytest.mark.parametrize("row", params("004-path-resolve", lambda row: {"workspace", "path"} <= row["input"].keys()))
def test_place_is_resolved_as_source_004_does(workspace: Path, row: dict[str, Any]) -> None:
    """The same place beneath the workspace, or a denial."""
    expected = row["expect"].get("path", "").removeprefix("/ws/")
    (workspace / "a").mkdir()

    found = place_of(workspace, row["input"]["path"])

    assert found == (("missing", expected) if expected else ("denied", "path_outside_workspace"))


@pytest.mark.parametrize("row", params("004-path-resolve", lambda row: "decision" in row["expect"]))
def test_writes_are_decided_as_source_004_decides(toolbox: Toolbox, workspace: Path, row: dict[str, Any]) -> None:
    """New files, links that leave and hard links."""
    links, path = row["input"].get("links", {}), row["input"].get("path", "f")
    for name, target in links.items() if isinstance(links, dict) else ():
        (workspace / name).symlink_to(target)
    for number in range(links) if isinstance(links, int) else ():
        (workspace / f"f{number}").hardlink_to(workspace / "f") if number else (workspace / "f").write_text("")

    decision = toolbox.decide("write_file", {"path": path, "content": "x"})

    assert decision.outcome == row["expect"]["decision"]


@pytest.mark.parametrize(
    "row", params("004-path-resolve", lambda row: "base" in row["input"] and "folders" in row["expect"])
)
def test_further_folders_are_read_as_in_source_004(tmp_path: Path, workspace: Path, row: dict[str, Any]) -> None:
    """What is allowed besides the workspace is read, and nothing in it is written."""
    given = row["input"]
    allowed = [*given["base"], *(given[key] for key in ("team", "team_root") if key in given)]
    for folder in {*allowed, "/elsewhere"}:
        (tmp_path / folder[1:]).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder[1:] / "f").write_text("f")
    paths = WorkspacePaths(workspace).narrowed(read_roots=[tmp_path / folder[1:] for folder in allowed])

    for folder in row["expect"]["folders"]:
        with paths.open_file(f"{tmp_path}{folder}/f") as file:
            assert file.read(1) == b"f"
        with pytest.raises(Denied):
            paths.open_place(f"{tmp_path}{folder}/f")
    with pytest.raises(Denied):
        paths.open_file(f"{tmp_path}/elsewhere/f")


@pytest.mark.parametrize("row", params("004-path-resolve", lambda row: "cwd" in row["input"]))
def test_paths_of_containers_do_not_leave_either(tmp_path: Path, workspace: Path, row: dict[str, Any]) -> None:
    """What a sandbox shows of an agent's folder ends where that ends: an error, not the folder itself."""
    (tmp_path / "agent-b").mkdir()

    found = place_of(workspace, row["input"]["path"])

    assert found[0] in {"denied", "error"} if "error" in row["unified"] else found[0] == "missing"


def test_superseded_rows_exist() -> None:
    """The list of exceptions names real rows only."""
    rows = {row["id"] for name in ("002-arg-alias", "004-path-resolve") for row in sample_rows(f"seeds/{name}")}

    assert not rows or set(SUPERSEDED) <= rows
