"""Source 000's samples of who is told of which calls."""

import json
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from toolcharter.events.notify import Notifier
from toolcharter.profile.rules import Rule, parse_rule
from toolcharter.profile.settings import Notify

SAMPLES = Path(__file__).parents[2].parent / "shared/cases/seeds/000-notify.jsonl"
ROWS = [json.loads(line) for line in SAMPLES.read_text().splitlines()] if SAMPLES.exists() else []
SELECTING = [row for row in ROWS if "notify" in row["expect"]]

pytestmark = pytest.mark.skipif(not ROWS, reason="the samples lie beside the project, not in it")


def _entries(notify: Any) -> list[Notify]:
    """The source's block as our list: switched off is no entry, no pattern is every call, no delivery is the log."""
    if not notify.get("enabled", False):
        return []
    rules = tuple(parse_rule(pattern) for pattern in notify.get("patterns") or ["*"])
    return [Notify(rules, way["type"], way.get("url")) for way in notify.get("deliveries") or [{"type": "log"}]]


def _matches(rule: Rule, tool_type: str, invocation: str) -> bool:
    return rule.prefix in {"", "*", tool_type} and fnmatchcase(invocation, rule.glob.text)


def _asking(tool_type: str, invocation: str) -> Callable[[Notify], str | None]:
    return lambda entry: next((rule.text for rule in entry.match if _matches(rule, tool_type, invocation)), None)


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in SELECTING])
def test_sample(row: Any) -> None:
    """Calls that the source tells of are told of here, and no others."""
    given = row["input"]
    notifier = Notifier(_entries(given["notify"]))

    wanted = notifier.wanting("ok", _asking(given["tool_type"], given["invocation"]))

    assert bool(wanted) == row["expect"]["notify"]
