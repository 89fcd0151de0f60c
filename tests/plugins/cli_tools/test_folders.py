"""Which folders are tools, which are not, and what is said of those."""

import os
from pathlib import Path
from typing import Any

import pytest

from toolcharter import Discovery
from toolcharter.gate.build.open import plan_profile
from toolcharter_cli_tools import folders
from toolcharter_cli_tools.bundles import read_folder


def names(found: Discovery) -> list[str]:
    return [spec.name for spec in found.found]


def words(found: Discovery) -> list[str]:
    """The short word in each note."""
    return [note.partition("(")[2].partition(")")[0] for note in found.notes]


@pytest.mark.parametrize(
    ("files", "program"),
    [
        pytest.param(["run"], "run", id="run"),
        pytest.param(["run.py"], "run.py", id="extension"),
        pytest.param(["run.sh", "run"], "run", id="exact-name-first"),
        pytest.param(["run.sh", "run.sh~", "run.bak", ".run.swp", "run.orig", "#run#"], "run.sh", id="backups"),
        pytest.param(["run.sh", "lib/run.py", "runner"], "run.sh", id="others"),
    ],
)
def test_program_of_a_folder(place: Any, files: list[str], program: str) -> None:
    """`run`, or the one `run.*` that no editor has left behind."""
    for file in files:
        place.write(place.workspace / "tools" / "t" / file, f"#!/bin/sh\nprintf {file}\n")

    assert place.open().call("t", {}).text == program


@pytest.mark.parametrize(
    ("files", "word"),
    [
        pytest.param({"README.md": 0o644}, "no_program", id="none"),
        pytest.param({"run.bak": 0o755, "run.sh~": 0o755}, "no_program", id="only-backups"),
        pytest.param({"run": 0o644}, "not_executable", id="not-executable"),
        pytest.param({"run.py": 0o755, "run.sh": 0o755}, "several_programs", id="several"),
    ],
)
def test_what_is_no_tool_is_told(place: Any, files: dict[str, int], word: str) -> None:
    """Nothing is chosen at random, and nothing is dropped in silence."""
    for file, mode in files.items():
        place.write(place.workspace / "tools" / "t" / file, mode=mode)

    found = place.find()

    assert (names(found), words(found)) == ([], [word])


def test_executable_one_of_several(place: Any) -> None:
    """A file that cannot be executed is no candidate."""
    place.write(place.workspace / "tools/t/run", mode=0o644)
    place.write(place.workspace / "tools/t/run.sh", "#!/bin/sh\nprintf sh\n")

    assert place.open().call("t", {}).text == "sh"


@pytest.mark.parametrize(
    ("link", "target", "word"),
    [
        pytest.param("run", "/bin/true", "link_leads_outside", id="absolute"),
        pytest.param("run", "../../other", "link_leads_outside", id="upwards"),
        pytest.param("data", "/etc/passwd", "link_leads_outside", id="beside"),
        pytest.param("run", "nothing", "link_leads_nowhere", id="dangling"),
        pytest.param("run", "folder", "link_leads_nowhere", id="to-a-folder"),
        pytest.param("run", "folder/../other/x", "link_leads_nowhere", id="no-such-folder"),
    ],
)
def test_links_out_of_a_tool(place: Any, link: str, target: str, word: str) -> None:
    """A tool is what lies in its folder."""
    folder = place.workspace / "tools" / "t"
    place.write(folder / "folder" / "x")
    place.write(folder / "run.sh")
    (folder / link).symlink_to(target)

    found = place.find()

    assert (names(found), words(found)) == ([], [word])


def test_links_within_a_tool(place: Any) -> None:
    """A link to a file of the same tool is that file."""
    place.write(place.workspace / "tools/t/bin/main", "#!/bin/sh\nprintf linked\n")
    (place.workspace / "tools/t/run").symlink_to("./bin/main")

    assert place.open().call("t", {}).text == "linked"


def test_folder_that_is_a_link(place: Any) -> None:
    """Neither a tool nor a folder of tools in the workspace may be one."""
    place.write(place.agent / "real" / "run")
    (place.workspace / "tools").mkdir()
    (place.workspace / "tools" / "t").symlink_to(place.agent / "real")
    (place.workspace / "more").symlink_to(place.agent)

    found = place.find(workspace_folders=["tools", "more"])

    assert (names(found), found.folders) == ([], (str(place.workspace / "tools"),))
    assert words(found) == ["link_leads_outside", ""]


def test_special_files(place: Any) -> None:
    """A pipe is not waited for."""
    place.tool("t")
    os.mkfifo(place.workspace / "tools/t/pipe")

    assert words(place.find()) == ["not_regular"]


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        pytest.param({"max_files": 2}, "too_large", id="files"),
        pytest.param({"max_bytes": 20}, "too_large", id="bytes"),
        pytest.param({"max_tools": 0}, "too_many", id="tools"),
    ],
)
def test_limits(place: Any, settings: dict[str, int], word: str) -> None:
    """A folder that is too much is none."""
    place.tool("t", "#!/bin/sh\n: 12345678901234\n")
    place.write(place.workspace / "tools/t/a")
    place.write(place.workspace / "tools/t/b")

    assert words(place.find(**settings))[0] == word
    assert names(place.find(max_files=3)) == ["t"]


def test_deep_folders(place: Any) -> None:
    """Folders in folders end somewhere."""
    place.write(place.workspace.joinpath("tools", "t", *("d" * 20), "run"))

    assert words(place.find()) == ["too_large"]


def test_many_entries(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with very many entries is not looked at to its end."""
    monkeypatch.setattr(folders, "_MAX_ENTRIES", 1)
    place.tool("a")
    place.tool("b")

    found = place.find()

    assert (names(found), words(found)) == (["a"], ["too_many"])


def test_unreadable_folder(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that cannot be read spoils no other."""
    place.tool("a")
    place.tool("b")
    real = read_folder

    def read(parent: int, name: str, limits: Any) -> Any:
        if name == "a":
            raise PermissionError(13, "Permission denied")
        return real(parent, name, limits)

    monkeypatch.setattr(folders, "read_folder", read)

    found = place.find()

    assert (names(found), words(found)) == (["b"], ["unreadable"])


def test_order(place: Any) -> None:
    """Tools of the agent before those of the workspace; of two with one name, whatever its case, the first counts."""
    place.write(place.agent / "tools" / "lint" / "run", "#!/bin/sh\nprintf agent\n")
    place.tool("Lint", "#!/bin/sh\nprintf workspace\n")
    place.tool("other")
    live = place.open(agent_folders=["tools"])

    assert (live.call("LINT", {}).text, [*live.current.built]) == ("agent", ["reload_tools", "lint", "other"])
    assert live.reload().notes == (
        "The tool 'Lint' that was found is left out: the name is the discovered tool 'lint'.",
    )


def test_declared_before_found(place: Any) -> None:
    """What the profile declares is never replaced by what somebody has put into a folder."""
    place.tool("say", "#!/bin/sh\nprintf found\n")

    assert place.open(tools={"say": {"command": "echo", "args": ["declared"]}}).call("say", {}).text == "declared\n"


@pytest.mark.parametrize("name", ["reload_tools", "READ_FILE", "bash"])
def test_names_of_plugins_are_never_taken(place: Any, name: str) -> None:
    """Neither that of a tool which the profile lists, nor that of one which it does not."""
    place.tool(name)
    live = place.open()

    assert [*live.current.built] == ["reload_tools"]
    assert name in live.reload().notes[0]


@pytest.mark.parametrize("name", ["mcp", "a b", "x" * 65, "tool.v2"])
def test_names_that_cannot_be(place: Any, name: str) -> None:
    """A folder whose name is none of a tool is left out."""
    place.tool(name)

    assert words(place.find()) == ["bad_name"]


def test_without_extend_nothing_is_found(place: Any) -> None:
    """Folders are not even looked at; declared tools are there."""
    place.tool("t")
    live = place.open(extend=False, tools={"say": {"command": "echo"}})

    assert [*live.current.built] == ["reload_tools", "say"]
    result = live.call("reload_tools", {})
    assert (result.outcome, result.reason) == ("denied", "not_available")


def test_found_tools_need_a_rule_and_have_the_lowest_rights(place: Any) -> None:
    """They exist, and nothing more; `read-only` and `no network` are what their capabilities say."""
    place.tool("t")
    toolbox = place.open(profile={"allow": []}).current

    assert (toolbox.decide("t", {}).reason, toolbox.built["t"].facts.capabilities) == (
        "not_in_allow",
        frozenset({"fs:read", "proc:exec"}),
    )
    assert toolbox.built["t"].spec.safety == "high"


def test_profile_without_a_workspace(place: Any, tmp_path: Path) -> None:
    """Folders of the workspace are looked at when there is one."""
    place.tool("t")
    place.open()

    plan = plan_profile(place.agent / "p.yaml")

    assert ("t" in plan.loaded.specs, "t" in plan.for_workspace(place.workspace).loaded.specs) == (False, True)
