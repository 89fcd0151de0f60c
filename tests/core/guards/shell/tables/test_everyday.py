"""What agents write every day, by program: rules with a star cover it, and do not cover what goes beyond."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.rows import each_row

from toolcharter import Toolbox, build_tools

FAMILIES = sorted(Path(__file__).with_name("everyday").glob("*.toml"))
PROGRAMS = {name: entry for file in FAMILIES for name, entry in tomllib.loads(file.read_text()).items()}


def open_box(folder: Path, rules: list[str]) -> Toolbox:
    workspace = folder / "ws"
    workspace.mkdir()
    profile = {"profile": "everyday", "mode": "restrict", "runner": "host", "tools": {"bash": {}}, "allow": rules}
    (folder / "p.yaml").write_text(json.dumps(profile))
    return build_tools(folder / "p.yaml", workspace=workspace, events=[lambda _: None])


def with_other_outcome(box: Toolbox, lines: str, expected: str) -> list[tuple[str, str | None]]:
    """The lines that do not meet *expected*, and what was said of them."""
    decided = ((line, box.decide("bash", {"command": line})) for line in lines.splitlines() if line)
    return [(line, decision.message) for line, decision in decided if decision.outcome != expected]


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_everyday_lines(program: str, tmp_path: Path) -> None:
    """All that a program is for is allowed; no line that runs, writes or reaches more is."""
    entry: dict[str, Any] = PROGRAMS[program]

    with open_box(tmp_path, entry["rules"]) as box:
        refused = with_other_outcome(box, entry["allowed"], "allow")
        covered = with_other_outcome(box, entry["refused"], "deny")

    assert (refused, covered) == ([], [])


@each_row("program", PROGRAMS)
def test_enough_lines(program: str) -> None:
    """A program with hardly a line would prove nothing."""
    entry = PROGRAMS[program]

    assert (len(entry["allowed"].split("\n")) > 10, len(entry["refused"].split("\n")) > 6) == (True, True)
