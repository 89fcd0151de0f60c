"""`build_tools`: every fault of profile and installation at once, and nothing half built."""

from pathlib import Path

import pytest

from toolcharter import ConfigurationError, build_tools


def write(folder: Path, text: str) -> str:
    path = folder / "p.yaml"
    path.write_text(text)
    return str(path)


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    """A misspelt tool and a misspelt key stand in one error, each with its place."""
    path = write(tmp_path, "profile: p\ntols: {}\ntools:\n  nonexistent_tool: {}\n")

    with pytest.raises(ConfigurationError) as caught:
        build_tools(path, workspace=tmp_path)

    assert [fault.place for fault in caught.value.faults] == [f"{path}:2:1", f"{path}:4:3"]
    assert "tols" in str(caught.value)
    assert "no installed plugin provides a tool named 'nonexistent_tool'." in str(caught.value)


def test_a_profile_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file is named."""
    with pytest.raises(ConfigurationError, match=r"none\.yaml"):
        build_tools(tmp_path / "none.yaml", workspace=tmp_path)


@pytest.mark.parametrize("workspace", ["missing", "p.yaml", "a\0b"])
def test_a_workspace_is_a_folder(workspace, tmp_path: Path) -> None:
    """A workspace that is none is refused before anything is built."""
    path = write(tmp_path, "profile: p\n")
    given = workspace if "\0" in workspace else str(tmp_path / workspace)

    with pytest.raises(ConfigurationError) as caught:
        build_tools(path, workspace=given)

    assert str(caught.value) == (f"workspace: {given!r} is no folder.\nName an existing folder with --workspace.")


def test_an_empty_profile_has_no_tools(tmp_path: Path, capfd) -> None:
    """Nothing is granted that is not written; events go to standard error unless told otherwise."""
    path = write(tmp_path, "profile: p\n")

    with build_tools(path, workspace=tmp_path) as toolbox:
        result = toolbox.call("anything", {})

    assert (list(toolbox), toolbox.profile, len(toolbox.digest)) == ([], "p", 64)
    assert (result.outcome, result.reason) == ("denied", "unknown_tool")
    assert len(capfd.readouterr().err.splitlines()) == 6


def test_a_single_sink_needs_no_list(tmp_path: Path) -> None:
    """One URL, one function or one sink stands for itself."""
    path = write(tmp_path, "profile: p\n")
    seen: list[dict[str, object]] = []

    with build_tools(path, workspace=tmp_path, events=seen.append) as toolbox:
        toolbox.call("anything", {})
    with build_tools(path, workspace=tmp_path, events=f"file:{tmp_path}/e.jsonl") as toolbox:
        toolbox.call("anything", {})

    assert len(seen) == len((tmp_path / "e.jsonl").read_text().splitlines()) == 6


def test_a_sink_of_an_unknown_scheme_is_refused(tmp_path: Path) -> None:
    """A sink that no plugin opens stops the start."""
    path = write(tmp_path, "profile: p\n")

    with pytest.raises(ConfigurationError, match="'kafkaesque"):
        build_tools(path, workspace=tmp_path, events="kafkaesque:topic")
