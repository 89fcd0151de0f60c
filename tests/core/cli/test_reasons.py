"""`toolcharter reasons --profile`: the reasons that can be met under one profile."""

import json
from pathlib import Path

import pytest

from toolcharter.api.reasons import CORE_REASONS, GUARD_REASONS

from .conftest import MODULE, PROFILE, install

RULES = """
deny:
  - "echo(word=a*)"
  - {rule: "echo(word=n*)", reason: no_root, message: Ask an operator.}
  - {rule: "echo(word=m*)", reason: no_mail}
ask:
  - {rule: "echo(word=p*)", reason: is_public}
"""
ADMIN = "deny:\n  - {rule: echo, when: {times: {minimum: 9}}, reason: too_often}\n"


@pytest.fixture
def rules(desk, site) -> None:
    (desk / "demo.yaml").write_text(PROFILE + RULES)
    install(site, "other", module=MODULE.replace('"echo", EchoPolicy', '"other", EchoPolicy'))
    (site / "other-1.0.dist-info/entry_points.txt").write_text("[toolcharter]\nother = other\n")


def test_rules_give_reasons_of_their_own(run, desk, rules) -> None:
    """With the place of the rule, its message as the meaning, and those of ceilings first; unlisted tools are left out."""
    folder = desk / ".toolcharter"
    folder.mkdir()
    (folder / "policy.yaml").write_text(ADMIN)

    result = run("reasons", "-p", "./demo.yaml", "--json")

    rows = json.loads(result.stdout)
    of_rules = [row for row in rows if row["source"] not in {"core", "guards", "echo"}]
    assert [(Path(row.pop("source")).name, row) for row in of_rules] == [
        (place, {"reason": reason, "outcome": outcome, "retry": False, "meaning": meaning})
        for place, reason, outcome, meaning in [
            ("policy.yaml:2:5", "too_often", "denied", "The deny rule 'echo' matches the call."),
            ("demo.yaml:9:5", "no_root", "denied", "Ask an operator."),
            ("demo.yaml:10:5", "no_mail", "denied", "The deny rule 'echo(word=m*)' matches the call."),
            ("demo.yaml:12:5", "is_public", "asked", "The ask rule 'echo(word=p*)' matches the call."),
        ]
    ]
    assert {row["reason"] for row in rows} >= {*CORE_REASONS, *GUARD_REASONS, "word_not_allowed"}
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["echo", "-p", "./demo.yaml"], "word_not_allowed  echo  denied   no     The word", id="listed"),
        pytest.param(["other"], "word_not_allowed  other", id="installed"),
    ],
)
def test_one_tool_of_a_profile(run, rules, words, told) -> None:
    """As without a profile."""
    assert told in run("reasons", *words).stdout


def test_a_tool_that_the_profile_does_not_list_is_usage(run, rules) -> None:
    """Installed or not."""
    result = run("reasons", "other", "-p", "./demo.yaml")

    error = "Error: No tool of the profile named 'other' declares reasons."
    assert (result.stderr.splitlines()[-1], result.exit_code) == (error, 2)


@pytest.mark.parametrize("words", [["-p", "nowhere"], ["-p", "./demo.yaml", "--workspace", "nowhere"]])
def test_what_cannot_be_read_is_configuration(run, rules, words) -> None:
    """With status 2."""
    result = run("reasons", *words)

    assert ("nowhere" in result.stderr, result.stdout, result.exit_code) == (True, "", 2)
