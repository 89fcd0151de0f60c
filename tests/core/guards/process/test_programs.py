"""Which programs may be started: never one that the agent could have written."""

import os
from pathlib import Path

import pytest

from toolcharter.errors import Denied, ToolError
from toolcharter.guards.process import programs
from toolcharter.guards.process.programs import Programs


def install(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_a_bare_name_is_looked_up_on_the_fixed_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own PATH has no say, nor has the workspace."""
    install(tmp_path / "env")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    assert Programs(tmp_path / "ws").resolve("env") in {f"{folder}/env" for folder in programs.SEARCH_FOLDERS}


def test_a_name_stays_pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that turns up earlier on the path later does not take the name over."""
    monkeypatch.setattr(programs, "SEARCH_FOLDERS", (str(tmp_path / "first"), str(tmp_path / "second")))
    second = install(tmp_path / "second" / "tool")
    known = Programs(tmp_path / "ws")
    known.resolve("tool")
    install(tmp_path / "first" / "tool")

    assert known.resolve("tool") == second


def test_a_search_folder_in_the_workspace_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A workspace that holds a system folder does not provide programs."""
    monkeypatch.setattr(programs, "SEARCH_FOLDERS", (str(tmp_path / "bin"),))
    install(tmp_path / "bin" / "tool")

    with pytest.raises(ToolError, match="'tool' is not installed") as caught:
        Programs(tmp_path).resolve("tool")

    assert caught.value.reason == "program_not_found"


def test_a_program_in_the_workspace_is_denied(tmp_path: Path) -> None:
    """An absolute path below the workspace is refused, whoever names it."""
    path = install(tmp_path / "ws" / "tool")

    with pytest.raises(Denied, match="protected_path"):
        Programs(tmp_path / "ws").resolve(path)


def test_a_program_beside_the_workspace_runs(tmp_path: Path) -> None:
    """Folders are compared by components: a sibling with a longer name is outside."""
    path = install(tmp_path / "ws-tools" / "tool")

    assert Programs(tmp_path / "ws").resolve(path) == path


@pytest.mark.parametrize("way", ["link to a program", "link to a folder", "link out of the workspace"])
def test_links_are_judged_on_both_ends(tmp_path: Path, way: str) -> None:
    """Neither where a link lies nor where it leads may be in the workspace."""
    inside, outside = tmp_path / "ws", tmp_path / "out"
    install(inside / "tool")
    install(outside / "tool")
    (outside / "link").symlink_to(inside / "tool")
    (outside / "folder").symlink_to(inside)
    (inside / "back").symlink_to(outside / "tool")
    path = {
        "link to a program": outside / "link",
        "link to a folder": outside / "folder" / "tool",
        "link out of the workspace": inside / "back",
    }[way]

    with pytest.raises(Denied, match="protected_path"):
        Programs(inside).resolve(str(path))


def test_programs_in_protected_places_may_lie_below_the_workspace(tmp_path: Path) -> None:
    """Plugins ship programs in the running interpreter's folders, often `.venv/bin` of the workspace: no tool writes there."""
    path = install(tmp_path / ".venv" / "bin" / "rg")

    assert Programs(tmp_path, (".venv",)).resolve(path) == path


def test_the_interpreters_own_folder_is_no_exception_where_nothing_protects_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an agent could have written is not run, wherever it lies."""
    path = install(tmp_path / ".venv" / "bin" / "rg")
    monkeypatch.setattr(programs, "interpreter_folders", lambda: (os.path.realpath(tmp_path / ".venv" / "bin"),))

    with pytest.raises(Denied, match="protected_path"):
        Programs(tmp_path, (".venv/lib",)).resolve(path)


def test_a_virtual_environment_of_somebody_else_is_part_of_the_workspace(tmp_path: Path) -> None:
    """A folder that merely looks like an interpreter's is no exception."""
    path = install(tmp_path / ".venv" / "bin" / "rg")

    with pytest.raises(Denied, match="protected_path"):
        Programs(tmp_path).resolve(path)


@pytest.mark.parametrize("name", ["env", "no-such-program", "cd", "", "a\0b"])
def test_a_name_that_leads_nowhere_near_the_workspace_does_no_harm(tmp_path: Path, name: str) -> None:
    """What a shell would find elsewhere, and what it would not find."""
    install(tmp_path / "ws" / "no-such-program")

    Programs(tmp_path / "ws").require_outside(name)


@pytest.mark.parametrize("way", ["lies", "leads", "folder"])
def test_a_name_that_a_shell_would_find_in_the_workspace_is_denied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The shell takes the first that it finds: a second one outside is no excuse."""
    workspace, first = tmp_path / "ws", tmp_path / "first"
    install(workspace / "tool")
    install(tmp_path / "second" / "tool")
    if way == "leads":
        first.mkdir()
        (first / "tool").symlink_to(workspace / "tool")
    elif way == "folder":
        first.symlink_to(workspace)
    folders = (str(workspace if way == "lies" else first), str(tmp_path / "second"))
    monkeypatch.setattr(programs, "SEARCH_FOLDERS", folders)

    with pytest.raises(Denied) as caught:
        Programs(workspace).require_outside("tool")

    assert (caught.value.reason, caught.value.message) == (
        "protected_path",
        "The program 'tool' lies in the workspace.",
    )


def test_what_no_shell_would_run_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder or a file that may not be run is no program."""
    (tmp_path / "ws/tool").mkdir(parents=True)
    install(tmp_path / "ws/other")
    (tmp_path / "ws/other").chmod(0o644)
    monkeypatch.setattr(programs, "SEARCH_FOLDERS", (str(tmp_path / "ws"),))
    known = Programs(tmp_path / "ws")

    known.require_outside("tool")
    known.require_outside("other")
