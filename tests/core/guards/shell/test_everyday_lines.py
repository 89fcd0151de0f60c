"""What agents type all day is covered by the rules that one writes for it: the programs with a star, and what writes."""

from pathlib import Path

import pytest
from tests.rows import each_row

from toolcharter.gate.commands import analyse_commands
from toolcharter.policy.evaluate import Policy
from toolcharter.policy.rule_input import RuleInput, ToolFacts
from toolcharter.profile.rules import parse_rule

BASH = ToolFacts("bash", "bash", (), frozenset(), frozenset({"proc:exec"}))
LINES = [
    line.replace("\\n", "\n")
    for line in (Path(__file__).parent / "everyday.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
PROGRAMS = """[ awk base64 basename cat cd chmod cmp column comm command cp cut date declare df diff dirname du echo env expand expr
    false file find fold grep head id jq ln ls md5sum mkdir mv nl nproc od paste printf pwd pytest readlink realpath rev rg rm rmdir
    sed seq set sha256sum sleep sort stat strings tac tail tar test timeout touch tr tree true type uname uniq unzip wait wc which
    whoami xargs xxd yes python python3""".split()  # noqa: SIM905 - reads as a list
GIT = """status log diff show blame branch rev-parse ls-files remote tag describe shortlog merge-base rev-list grep reflog config
    check-ignore cat-file add commit""".split()  # noqa: SIM905 - as above
RULES = [
    *(f"bash:{name}" for name in PROGRAMS),
    *(f"bash:{name} *" for name in PROGRAMS),
    *(f"bash:git {name}{end}" for name in GIT for end in ("", " *")),
    *("bash:git stash list", "bash:git -C src *", "bash:git --no-pager *", "bash:npm test", "bash:npm test *", "bash:tar -tzf *", "bash:FOO=1 npm test"),
    *(f"bash:{name} * {write}" for name in ("echo", "cat", "printf", "ls", "sort") for write in (">out.txt", ">>out.txt")),
    *("bash:cat >out.txt *", "bash:cat >>out.txt *", "bash:ls >out.txt", "bash:>out.txt", "bash:sed -i *", "bash:sort * -o out.txt"),
]  # fmt: skip
POLICY = Policy((), [parse_rule(rule, "p.yaml:1:1") for rule in RULES]).for_tool(BASH)


def refused(line: str) -> str:
    """Why a line is refused; nothing if it is covered."""
    known = analyse_commands((line,), "/srv/ws")
    subject = RuleInput(None, {}, known.commands, known.refusal, known.needs, known.unsupported)
    decision = POLICY.decide(subject)
    return "" if decision.outcome == "allow" else f"{decision.reason}: {decision.message}"


@pytest.mark.slow
@each_row("line", LINES)
def test_a_line_of_every_day_is_covered(line: str) -> None:
    """Pipelines, loops, conditions, here-documents, redirections and globs need no more than rules for their programs."""
    assert refused(line) == ""


def test_there_are_enough_lines() -> None:
    """As many as make a rate of refusals mean something."""
    assert len(set(LINES)) >= 300
