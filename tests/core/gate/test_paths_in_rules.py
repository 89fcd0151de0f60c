"""Rules on paths, through the gate: what a rule holds for does not depend on how a path is written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcharter import Toolbox, build_tools

Open = Callable[[str], Toolbox]


@pytest.fixture
def toolbox(tmp_path: Path, request: pytest.FixtureRequest) -> Open:
    """Builds the file tools under rules."""

    def build(rules: str) -> Toolbox:
        profile = tmp_path / "outside" / "p.yaml"
        profile.parent.mkdir(exist_ok=True)
        profile.write_text(f"profile: test\ntools: {{write_file: {{}}, move_file: {{}}, read_file: {{}}}}\n{rules}\n")
        workspace = tmp_path / "ws"
        for folder in ("src", "lib"):
            (workspace / folder).mkdir(parents=True)
        (workspace / "src" / "a.py").write_text("a")
        built = build_tools(profile, workspace=workspace, events=lambda _: None)
        request.addfinalizer(built.close)
        return built

    return build


ESCAPES = ["src/../setup.py", "src/./../setup.py", "src//..//setup.py", "src/a/../../setup.py", "src/../../ws/setup.py"]


@pytest.mark.parametrize("path", ESCAPES)
@pytest.mark.parametrize("name", ["path", "file_path"])
def test_allow_rules_take_no_detour(toolbox: Open, tmp_path: Path, path: str, name: str) -> None:
    """A path that begins as the rule says and leads elsewhere is not what the rule allows, by whatever name it is given."""
    box = toolbox("mode: restrict\nallow: ['write_file(path=src/*)', 'write_file(file_path=src/*)']")

    got = box.call("write_file", {name: path, "content": "x"})

    assert (got.outcome, got.reason) == ("denied", "not_in_allow")
    assert not (tmp_path / "ws" / "setup.py").exists()


@pytest.mark.parametrize("path", ["src/b.py", "./src/b.py", "lib/../src/b.py"])
def test_allow_rules_take_other_spellings(toolbox: Open, path: str) -> None:
    """A path that leads where the rule says is allowed, however it is written; the tool gets it as it was written."""
    box = toolbox("mode: restrict\nallow: ['write_file(path=src/*)']")

    assert box.decide("write_file", {"path": path, "content": "x"}).outcome == "allow"


@pytest.mark.parametrize(
    "path", [*ESCAPES, "setup.py", "./setup.py", "setup.py/", "{ws}/setup.py", "{ws}/src/../setup.py"]
)
def test_deny_rules_see_where_a_path_leads(toolbox: Open, tmp_path: Path, path: str) -> None:
    """A rule that names a file of the workspace denies it in every spelling."""
    box = toolbox("deny: ['write_file(path=setup.py)']")

    got = box.decide("write_file", {"path": path.format(ws=tmp_path / "ws"), "content": "x"})

    assert (got.outcome, got.reason) == ("deny", "denied_by_rule")


@pytest.mark.parametrize("rule", ["write_file(path=*..*)", "write_file(path={ws}/*)", "*(path=*/./*)"])
def test_deny_rules_see_a_path_as_written_too(toolbox: Open, tmp_path: Path, rule: str) -> None:
    """A rule about the spelling itself goes on denying it."""
    box = toolbox(f"deny: ['{rule.format(ws=tmp_path / 'ws')}']")

    got = box.decide("write_file", {"path": f"{tmp_path}/ws/./src/../x", "content": "x"})

    assert (got.outcome, got.reason) == ("deny", "denied_by_rule")


def test_conditions_see_plain_paths(toolbox: Open) -> None:
    """The long form of a rule is about the same values."""
    box = toolbox(
        "mode: restrict\nallow: [{rule: write_file, when: {path: {type: string, pattern: '^src/'}}}]",
    )

    assert box.decide("write_file", {"path": "src/../setup.py", "content": ""}).outcome == "deny"
    assert box.decide("write_file", {"path": "src/x", "content": ""}).outcome == "allow"


@pytest.mark.parametrize(
    ("args", "outcome"),
    [
        ({"path": "src/a.py", "to": "src/../x"}, "deny"),
        ({"path": "src/../x", "to": "src/b"}, "deny"),
        ({"path": "src/a.py", "to": "src/b"}, "allow"),
    ],
)
def test_both_ends_of_a_move_are_paths(toolbox: Open, args: dict[str, Any], outcome: str) -> None:
    """A tool says which of its arguments are paths."""
    box = toolbox("mode: restrict\nallow: ['move_file(path=src/*, to=src/*)']")

    assert box.decide("move_file", args).outcome == outcome


def test_the_tool_gets_what_was_written(toolbox: Open, tmp_path: Path) -> None:
    """Only rules see the plain form: the path guard follows each part itself."""
    box = toolbox("")

    got = box.call("read_file", {"path": "missing/../src/a.py"})

    assert (got.outcome, got.reason) == ("error", "path_not_found")
