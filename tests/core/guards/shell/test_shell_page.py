"""docs/shell.md: what its tables say of lines, rules, modes, limits and tables of programs is what the guard does."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.rows import each_row

from pages import quoted, rows
from toolcharter.gate.commands import analyse_commands
from toolcharter.guards.paths import glob_expand
from toolcharter.guards.shell import analyse, charset, nodes
from toolcharter.guards.shell.parse import braces, scanner
from toolcharter.guards.shell.programs import table_file
from toolcharter.guards.shell.programs.table import KINDS, STYLES
from toolcharter.guards.shell.programs.tables import CORE_TABLES
from toolcharter.policy.evaluate import Policy
from toolcharter.policy.rule_input import RuleInput, ToolFacts
from toolcharter.profile.model import Profile
from toolcharter.profile.read import load_profile

PAGE = (Path(__file__).parents[4] / "docs/shell.md").read_text()
BASH = ToolFacts("bash", "bash")
COVERED, MODES, FLOOR, LIMITS = (rows(PAGE, name) for name in ("in `allow`", "a line", "kind", "what"))
FORMS = [row for row in MODES if len(row) == 2]
BY_MODE = [row for row in MODES if len(row) == 4]
VERDICTS = {"denied": "deny", "runs": "allow", "a person is asked": "ask"}


@pytest.fixture
def decided(tmp_path: Path) -> Callable[..., tuple[str, str | None]]:
    """What becomes of a line under rules, and why."""

    def decided(line: str, mode: str = "policy", **keys: Any) -> tuple[str, str | None]:
        file = tmp_path / "row.yaml"
        file.write_text(yaml.safe_dump({"profile": "row", "mode": mode, **keys}))
        profile: Profile = load_profile(file)
        known = analyse_commands((line,), "/srv/ws")
        subject = RuleInput(None, {}, known.commands, known.refusal, known.needs, known.unsupported)
        decision = Policy(profile.deny, profile.allow, profile.mode).for_tool(BASH).decide(subject)
        return decision.outcome, decision.reason

    return decided


def literally(cell: str) -> list[str]:
    """What stands in backticks; a bar within a table's cell is written with a backslash."""
    return [text.replace(r"\|", "|") for text in quoted(cell)]


@each_row("row", [pytest.param(row, id=row[0]) for row in FORMS])
def test_lines_become_the_commands_of_the_page(row: list[str]) -> None:
    """In any order: what stands inside a command comes before it."""
    (line,) = literally(row[0])

    assert sorted(analyse_commands((line,), "/srv/ws").commands) == sorted(literally(row[1]))


@each_row("row", [pytest.param(row, id=" ".join(row)) for row in COVERED])
def test_rules_cover_what_the_page_says(row: list[str], decided) -> None:
    """And nothing of what it says they do not cover."""
    (rule,) = literally(row[0])

    assert {decided(line, allow=[rule])[0] for line in literally(row[1])} == {"allow"}
    assert [decided(line, allow=[rule]) for line in literally(row[2])] in ([], [("deny", "not_in_allow")])


@pytest.mark.parametrize("row", [pytest.param(row, id=row[0]) for row in BY_MODE])
def test_rows_of_the_mode_table_are_what_happens(row: list[str], decided) -> None:
    """With the rules that the rows speak of."""
    rules = {"allow": ["bash:ls", "bash:ls *", "bash:sort", "bash:cat *", "bash:echo *"], "deny": ["bash:*.env*"]}
    line = literally(row[0])[0]

    said = {mode: decided(line, mode, **rules)[0] for mode in ("policy", "restrict", "ask", "dangerous")}
    first, ask, dangerous = (VERDICTS[cell] for cell in row[1:])
    assert said == {"policy": first, "restrict": first, "ask": ask, "dangerous": dangerous}


@each_row("line", [line for row in FLOOR for line in literally(row[1])])
def test_examples_of_the_floor_are_denied_whatever_a_profile_says(line: str, decided) -> None:
    """In the mode that asks nobody, with the rule that names everything."""
    assert decided(line, "dangerous", allow=["bash:*"]) == ("deny", "denied_by_floor")


def test_look_alikes_of_the_floor_run(decided) -> None:
    """Those that the page names."""
    named = re.search(r"^Look-alikes are not: (.*)$", PAGE, re.MULTILINE)

    assert named is not None
    assert [decided(line, "dangerous") for line in quoted(named[1])] == [("allow", None)] * 4


@pytest.mark.parametrize("line", ["coproc ls", "done", "cat <<END", 'sh -c "$x"', "$x", "$(which ls)", "l*", "ls \x00"])
def test_what_is_not_understood_is_denied_in_every_mode(line: str, decided) -> None:
    """As the page lists it; some of it is on the floor besides."""
    assert decided(line, "dangerous", allow=["bash:*"]) in [("deny", "not_understood"), ("deny", "denied_by_floor")]


@pytest.mark.parametrize("line", ["ls() { :; }; ls", "echo $((a[x]))", "echo ${x@P}", "select x in a; do ls; done"])
def test_what_no_rule_covers_is_asked_or_runs(line: str, decided) -> None:
    """As the page says of what parses and is not known for what it does."""
    said = [decided(line, mode, allow=["bash:*"])[0] for mode in ("policy", "ask", "dangerous")]

    assert said == ["deny", "ask", "allow"]


def test_limits_are_those_of_the_code() -> None:
    """Each number of the page."""
    assert [int(row[1].replace(",", "")) for row in LIMITS] == [
        charset.MAX_CHARS,
        nodes.MAX_COMMANDS,
        analyse.MAX_COMMANDS,
        nodes.MAX_WORDS,
        scanner.MAX_DEPTH,
        analyse.MAX_DEPTH,
        braces.MAX_WORDS,
        glob_expand.MAX_NAMES,
    ]


def test_keys_styles_and_roles_of_tables_are_listed() -> None:
    """All that a table may hold, and nothing else."""
    keys = {name for row in rows(PAGE, "key") for name in quoted(row[0])}
    styles = {name for row in rows(PAGE, "style") for name in quoted(row[0])}
    roles = {name.partition(":")[0] for row in rows(PAGE, "role") for name in quoted(row[0])}

    assert keys == (table_file._KEYS | table_file._FILE_KEYS | {"programs", "source"})
    assert styles == set(STYLES)
    assert roles == KINDS


def test_the_number_of_programs_is_about_right() -> None:
    """The page says how many the guard knows."""
    assert "knows more than 530 programs" in PAGE
    assert 530 <= len(CORE_TABLES.programs()) <= 560


@pytest.mark.parametrize("row", [pytest.param(row, id=" ".join(row)) for row in rows(PAGE, "in `deny`")])
def test_rules_of_deny_match_what_the_page_says(row: list[str], decided) -> None:
    """In the mode in which nothing else would refuse it."""
    (rule,) = literally(row[0])

    assert [decided(line, "dangerous", deny=[rule]) for line in literally(row[1])] == [("deny", "denied_by_rule")]
    assert [decided(line, "dangerous", deny=[rule]) for line in literally(row[2])] == [("allow", None)]
