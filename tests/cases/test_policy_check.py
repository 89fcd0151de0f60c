"""Samples of set 000 of its policy, each through a toolbox with a tool of the row's kind."""

from typing import Any

import pytest
from tests.cases.conftest import Bench, sample_call
from tests.cases.source_000 import Asked, Ours, Theirs, decided, patterns_of, why_otherwise
from tests.rows import each_row
from tests.samples import row_params, sample_rows

ROWS = sample_rows("seeds/000-policy-check")
MODES = ("dangerous", "ask", "restrict")
DENY = ["bash:git show*", "*:*password*", "mcp:*:delete*", "cli:*dangerous*", "*secret*", "builtin:web:fetch"]
ALLOW = ["bash:git *", "bash:ls", "mcp:github:*", "cli:deploy*", "builtin:web:*", "*:read*", "BASH:make*"]
INVOCATIONS = [
    *(
        ("bash", line)
        for line in ("git status", "git show origin", "ls", "make all", "echo secret", "read x", "Git log")
    ),
    *(("mcp", tool) for tool in ("github:create_issue", "github:delete_repo", "vault:get_password", "fs:read_file")),
    *(("cli", tool) for tool in ("deploy-prod", "predeploy", "Deploy", "dangerous-thing", "password-gen")),
    *(
        ("builtin", tool)
        for tool in ("web:search", "web:fetch", "web", "read_file", "Memory:Read", "Secret:Read", "secrets")
    ),
    ("custom", "deploy-test"),
]


def try_out(bench: Bench, policy: dict[str, Any], asked: Asked) -> str:
    """What the call meets in a toolbox whose profile says what *policy* says, and is explicit about the mode."""
    return bench.verdict({"mode": "dangerous", **policy}, sample_call(*asked), patterns_of(policy))[0]


@pytest.mark.parametrize("row", row_params(ROWS))
def test_sample(row: dict[str, Any], bench: Bench) -> None:
    """The outcome is the row's, or a sentence of the design says why not, and it is the design's."""
    policy, asked = row["input"]["policy"], Asked(row["input"]["tool_type"], row["input"]["invocation"])
    wanted = row.get("unified", row["expect"])["decision"]
    sentences = [*why_otherwise(policy, asked)]

    found = try_out(bench, policy, asked)

    assert decided(Theirs, policy, asked) == row["expect"]["decision"]
    if asked.is_left_to_the_shell_guard:
        assert found == ("deny" if asked.is_catastrophe else wanted)
    else:
        assert found == decided(Ours, policy, asked)
        assert found == wanted or sentences


@pytest.mark.parametrize("mode", MODES)
@each_row("deny", [[], DENY, *([rule] for rule in DENY)], ids=" ".join)
@each_row("allow", [[], ALLOW, *([rule] for rule in ALLOW)], ids=" ".join)
def test_more_of_the_kind(mode: str, deny: list[str], allow: list[str], bench: Bench) -> None:
    """Any mode, some rules and any invocation: the decision is the one that the design's words give."""
    policy = {"mode": mode, "deny": deny, "allow": allow}
    uses = [sample_call(*asked) for asked in INVOCATIONS]

    with bench.open(policy, *(use.spec for use in uses)) as toolbox:
        found = [toolbox.decide(use.spec.name, use.args).outcome for use in uses]

    assert found == [decided(Ours, policy, Asked(*asked)) for asked in INVOCATIONS]
