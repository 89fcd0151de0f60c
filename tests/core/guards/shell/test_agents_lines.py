"""Lines that coding agents type, each with the rules that a person would give: few of them are refused."""

from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest
import yaml

from toolcharter.gate.commands import analyse_commands
from toolcharter.policy.evaluate import Policy
from toolcharter.policy.rule_input import RuleInput, ToolFacts
from toolcharter.profile.rules import parse_rule

DATA = Path(__file__).parent / "data/agents.txt"
"""Each row: the tier, what the rules name besides those of everybody, and the line. The first part of the rules are
programs, which are allowed with a star; those behind a semicolon are rules as they are written. One that ends with `=`
is for code, of which a rule names each piece in full: the rule that `explain` shows for the line."""
MORE = DATA.with_name("agents_more.txt")
"""Rows of the same kind that were written later: each was allowed once, and has to stay so. A newline is `⏎`."""
THIRD = DATA.with_name("agents_third.txt")
"""Rows of the same kind, of which every second one, from the second on, was looked at while the guard was changed."""
FOURTH = DATA.with_name("agents_fourth.txt")
"""Rows of the same kind, of which every second one, from the first on, was looked at while the guard was changed."""
CODER = yaml.safe_load((Path(__file__).parents[4] / "profiles/coder.yaml").read_text())["allow"]
USUAL = """[ git jq xargs head tail set export declare local readonly read printf exit break continue return shift wait let
    mapfile pushd popd shopt trap unset true false : test date sleep seq mkdir touch basename dirname uname mktemp""".split()  # noqa: SIM905 - reads as a list
BASH = ToolFacts("bash", "bash", (), frozenset(), frozenset({"proc:exec"}))
HALVES = ("looked at", "unseen")


def rows(file: Path = DATA) -> Iterator[tuple[str, str, list[str], str]]:
    """Of each row its half, by chance; its tier, its rules and its line."""
    for row in file.read_text().splitlines():
        tier, named, line = (part.strip() for part in row.split("|", 2))
        line = line.replace("\\n", "\n") if "<<" in line else line
        line = line.replace("⏎", "\n")
        programs, *others = named.split(";")
        names = [*programs.split(), *USUAL]
        stars = [f"bash:{name}{end}" for name in names for end in ("", " *")]
        written = (rule for other in others if other.strip() for rule in written_rules(other.strip(), line))
        rules = [*CODER, *stars, *(f"bash:{rule}" for rule in written)]
        yield HALVES[crc32(line.encode()) % 2], tier, rules, line


def written_rules(rule: str, line: str) -> list[str]:
    """A rule of a row as it is written, or in full if it is for code."""
    if not rule.endswith("="):
        return [rule]
    forms = analyse_commands((line,), "/srv/ws").commands
    return [one.replace("\\", "\\\\").replace("*", "\\*") for one in forms if one.startswith(rule[:-1])]


def why_refused(rules: list[str], line: str) -> str:
    """Nothing for a line that is covered."""
    known = analyse_commands((line,), "/srv/ws")
    policy = Policy((), [parse_rule(rule, "p.yaml:1:1") for rule in rules]).for_tool(BASH)
    decision = policy.decide(RuleInput(None, {}, known.commands, known.refusal, known.needs, known.unsupported))
    return "" if decision.outcome == "allow" else f"{decision.reason}: {decision.message}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("half", "tier", "most"),
    [("looked at", "core", 0.0), ("looked at", "plus", 14.0), ("unseen", "core", 4.1), ("unseen", "plus", 16.5)],
)
def test_few_lines_of_agents_are_refused(half: str, tier: str, most: float) -> None:
    """The share, in percent, never grows: a change that makes it smaller puts the smaller number here."""
    lines = [(rules, line) for one, other, rules, line in rows() if (one, other) == (half, tier)]
    refused = [f"{line}: {why}" for rules, line in lines if (why := why_refused(rules, line))]

    assert 100 * len(refused) / len(lines) <= most, "\n".join([f"{len(refused)} of {len(lines)}", *refused])


def test_lines_that_were_allowed_stay_allowed() -> None:
    """What one change lets through, no later one takes away."""
    judged = [(line, why_refused(rules, line)) for *_, rules, line in rows(MORE)]

    assert len(judged) > 100
    assert [one for one in judged if one[1]] == []


@pytest.mark.parametrize(
    ("file", "first", "tier", "most"),
    [
        (THIRD, 1, "core", 1),
        (THIRD, 1, "plus", 5),
        (THIRD, 0, "core", 0),
        (THIRD, 0, "plus", 6),
        (FOURTH, 0, "core", 2),
        (FOURTH, 0, "plus", 6),
        (FOURTH, 1, "core", 2),
        (FOURTH, 1, "plus", 3),
    ],
)
def test_few_of_the_later_lines_are_refused(file: Path, first: int, tier: str, most: int) -> None:
    """The number never grows, neither of the lines that were looked at nor of the unseen ones."""
    lines = [(rules, line) for _, one, rules, line in [*rows(file)][first::2] if one == tier]
    refused = [f"{line}: {why}" for rules, line in lines if (why := why_refused(rules, line))]

    assert len(lines) >= 25
    assert len(refused) <= most, "\n".join(refused)


def test_there_are_enough_lines() -> None:
    """As many as make a share mean something."""
    assert len({line for *_, line in rows()}) >= 300
