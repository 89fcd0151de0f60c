"""The samples of modes, command lines, tiers, globs and approvals, each through a toolbox."""

from itertools import product
from typing import Any

import pytest
from tests.cases.conftest import Bench, SampleCall, bash_tool, sample_call
from tests.cases.source_000 import CASE, Asked, patterns_of, split, why_otherwise
from tests.cases.tiers import decided_by_tiers, merged, why_tiers_differ, write_tiers
from tests.samples import row_params, sample_rows

from toolcharter import ConfigurationError

ROWS = sample_rows("security/policy_glob")
APPROVALS = [row for row in ROWS if row["cls"] == "approval"]
DECISIONS = [row for row in ROWS if row["cls"] in {"mode", "compound", "merge", "glob"}]
# No interpreter, no wrapper: what may be allowed always.
COMMAND = "wc notes.txt"
LAUNCHER = "npm exec test"
AFTERWARDS = {
    "same": [COMMAND],
    "prefix_extension": [f"{COMMAND}x", f"{COMMAND} x", f"{COMMAND}; rm x", f"{COMMAND} && rm x", "wc", "wc notes"],
    "denied": [f"sudo {COMMAND}"],
}


def tiers_of(row: dict[str, Any]) -> dict[str, Any]:
    return {policy["tier"]: {key: policy[key] for key in policy if key != "tier"} for policy in row["policies"]}


def accepted(row: dict[str, Any]) -> set[str]:
    return {row["expect"], *row.get("accept", ())}


def sentences(tiers: dict[str, Any], asked: Asked) -> list[str]:
    """Why the design may decide otherwise."""
    policy = merged(tiers)
    escapes = [sentence for pattern in patterns_of(policy) if (sentence := _of_glob(pattern))]
    return [*why_otherwise(policy, asked), *why_tiers_differ(tiers), *escapes]


def _of_glob(pattern: str) -> str | None:
    """The samples' globs are those of fnmatch, with case."""
    if set(split(pattern)[1]) & set("?[]"):
        return 'design, section 4: "only `*` is special".'
    return CASE if pattern.lower() != pattern else None


@pytest.mark.parametrize("row", row_params(DECISIONS))
def test_decision(row: dict[str, Any], bench: Bench) -> None:
    """The verdict is the row's, or a sentence of the design says why not, and it is the design's."""
    tiers, asked = tiers_of(row), Asked(row["tool_type"], row["invocation"])

    verdict, _ = bench.verdict(write_tiers(bench, tiers), sample_call(*asked), patterns_of(merged(tiers)))

    assert verdict in accepted(row) or sentences(tiers, asked)
    if asked.is_left_to_the_shell_guard:
        assert verdict in ({"deny"} if asked.is_catastrophe else accepted(row))
    else:
        assert verdict == decided_by_tiers(tiers, asked)


def settle(bench: Bench, policy: dict[str, Any], answer: str | None, command: str) -> str:
    """Have *command* called once, and answered; how it ends."""
    return bench.open(policy, bash_tool(), approver=lambda _: answer).call("bash", {"command": command}).outcome


def later(bench: Bench, policy: dict[str, Any], commands: list[str]) -> set[str]:
    """What *commands* meet in a toolbox that begins anew."""
    toolbox = bench.open(policy, bash_tool())
    return {toolbox.decide("bash", {"command": command}).outcome for command in commands}


@pytest.mark.parametrize("row", row_params(APPROVALS))
def test_approval(row: dict[str, Any], bench: Bench) -> None:
    """What was answered holds for this call, and for good only if so answered; nothing more is allowed by it."""
    (policy,) = tiers_of(row).values()
    commands = AFTERWARDS[row["then"]]

    ended = settle(bench, policy, row["user_action"], COMMAND)

    assert ended == ("denied" if row["user_action"] == "deny" else "ok")
    assert later(bench, policy, commands) <= accepted(row)


@pytest.mark.parametrize("action", ["allow_once", "allow_always", "deny", None])
@pytest.mark.parametrize("then", AFTERWARDS)
def test_more_approvals(action: str | None, then: str, bench: Bench) -> None:
    """Only the same command, allowed always, is allowed later; what a rule denies is never asked about."""
    policy = {"mode": "ask", "deny": ["bash:*sudo*"]}
    settle(bench, policy, action, COMMAND)

    found = later(bench, policy, AFTERWARDS[then][:2])

    assert found == {"deny" if then == "denied" else "allow" if (action, then) == ("allow_always", "same") else "ask"}


def test_what_runs_other_programs_is_asked_about_each_time(bench: Bench) -> None:
    """A runner of scripts is approved once: what it would run the next time is not what was shown."""
    policy = {"mode": "ask"}

    ended = settle(bench, policy, "allow_always", LAUNCHER)

    assert ended == "ok"
    assert later(bench, policy, [LAUNCHER]) == {"ask"}


MODES = [None, "dangerous", "ask", "restrict"]
CALLS = [
    Asked("bash", "ls"),
    Asked("bash", "wc x"),
    Asked("cli", "deploy"),
    Asked("mcp", "gh:issue"),
    Asked("builtin", "web:get"),
]


@pytest.mark.parametrize(("workspace", "base", "local"), [*product(MODES, MODES, MODES)])
def test_more_tiers(workspace: str | None, base: str | None, local: str | None, bench: Bench) -> None:
    """Three tiers, any modes: a workspace only tightens, and what one tier denies, all do."""
    modes = {"workspace": workspace, "base": base, "local": local}
    lists = {
        "workspace": {"deny": ["bash:wc *"]},
        "base": {"deny": ["cli:deploy"], "allow": ["bash:*"]},
        "local": {"allow": ["mcp:gh:*"]},
    }
    tiers = {tier: {**lists[tier], **({} if mode is None else {"mode": mode})} for tier, mode in modes.items()}
    uses: list[SampleCall] = [sample_call(*asked) for asked in CALLS]
    toolbox = bench.open(write_tiers(bench, tiers), *(use.spec for use in uses))

    found = [toolbox.decide(use.spec.name, use.args).outcome for use in uses]

    assert found == [decided_by_tiers(tiers, asked) for asked in CALLS]


@pytest.mark.parametrize("key", [{"allow": ["bash:*"]}, {"tools": {}}, {"extends": ["x"]}, {"availability": []}])
def test_a_workspace_cannot_widen(key: dict[str, Any], bench: Bench) -> None:
    """What would widen is a fault of the file: it is not passed over."""
    bench.write_workspace_policy({"deny": [], **key})

    with pytest.raises(ConfigurationError):
        bench.open({"mode": "restrict"}, bash_tool())


def test_every_row_is_run() -> None:
    """No row is passed over in silence."""
    assert len(ROWS) == len(APPROVALS) + len(DECISIONS)
