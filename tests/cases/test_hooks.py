"""What source 000's hooks refuse, and which rows of source 004's hooks are about memory: none."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolcharter.guards.memory import SessionMemory
from toolcharter.profile.rules import Rule, parse_rule
from toolcharter.profile.settings import Memory, SkipDuplicate
from toolcharter.spec.call import Call, Caller, Deny

SEEDS = Path(__file__).parents[2].parent / "shared/cases/seeds"

pytestmark = pytest.mark.skipif(not SEEDS.is_dir(), reason="the samples lie beside the project, not in it")

# Rows that the design decides otherwise or leaves out, each with the sentence that does.
SUPERSEDED = {
    "000-hooks-017": "design, section 4: `deny`, `allow`, ... append, for the rest the child wins; no defaults by tool.",
    "004-hooks-guard-029": "design, section 3: `check_call(call)` denies or asks; it never changes arguments.",
    "004-hooks-guard-038": "design, section 2: checks are entry points in `toolcharter.extensions`, whoever the host is.",
    "004-hooks-guard-039": "design, section 2: checks are entry points in `toolcharter.extensions`, whoever the host is.",
    "004-hooks-guard-053": "design, section 2: checks are entry points in `toolcharter.extensions`, no scripts.",
    "004-hooks-guard-073": "lessons, section 1: out of scope is text-only manipulation of the user.",
    "004-hooks-guard-074": "lessons, section 1: out of scope is text-only manipulation of the user.",
    "004-hooks-guard-075": "lessons, section 1: out of scope is text-only manipulation of the user.",
}
CHECKS = {
    f"004-hooks-guard-{number}": "design, section 5, stage 4: plugin checks (`check_call`), not the guards with memory."
    for number in ("006", "010", "015", "022", "057")
}


def rows(name: str) -> list[dict[str, Any]]:
    path = SEEDS / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


HOOKS = [row for row in rows("000-hooks") if row["id"] not in SUPERSEDED]


def by_subject(rule: Rule) -> Any:
    def matches(call: Call) -> bool:
        subjects = (call.tool, f"{call.tool}:{call.action}")
        return any(map(rule.glob.matches, subjects))

    return matches


def skipping(hook: dict[str, Any]) -> SkipDuplicate:
    assert hook["type"] == "skip_duplicate"
    return SkipDuplicate(parse_rule(hook["match"]), tuple(hook["match_args"]))


def call_of(given: dict[str, Any]) -> Call:
    args = given["args"]
    action = args.get("action")
    return Call(given["tool"], action, args, Caller(), "1", None, "p", Path("/ws"), "builtin", None, "low")


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in HOOKS])
def test_before_a_call(row: dict[str, Any]) -> None:
    """The same calls are refused, with the reason that ours have."""
    given = row["input"]
    settings = Memory(skip_duplicate=tuple(map(skipping, given["before_tool"])))
    memory = SessionMemory(settings, matcher=by_subject, identify=lambda _: None)
    for earlier in given["history"]:
        call = call_of(earlier)
        memory.entered("s", call, has_effects=False)
        memory.after("s", call, "ok", earlier["result"])

    verdict = memory.before("s", call_of(given["call"]))

    reason = verdict.reason if isinstance(verdict, Deny) else None
    assert reason == {"reject": "repeated_call", "allow": None}[row["expect"]["verdict"]]


def test_every_row_is_run_or_listed() -> None:
    """No row is left out in silence, and the lists name real rows only."""
    run = {row["id"] for row in HOOKS}

    assert run | SUPERSEDED.keys() | CHECKS.keys() == {
        row["id"] for name in ("000-hooks", "004-hooks-guard") for row in rows(name)
    }
