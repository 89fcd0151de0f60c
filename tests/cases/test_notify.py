"""Samples of set 000 of who is told of which calls, each told by a toolbox."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cases.conftest import Bench, sample_call, tools_named_in
from tests.cases.source_000 import ANCHORED, Asked, Ours, Theirs
from tests.samples import row_params, sample_rows

ROWS = sample_rows("seeds/000-notify")
SELECTING = [row for row in ROWS if "notify" in row["expect"]]
PATTERNS = ["bash:rm*", "*:*sudo*", "cli:deploy*", "mcp:gh:*", "builtin:web:*"]
CALLS = [
    *(Asked("bash", line) for line in ("rm notes.txt", "sudo apt install", "echo hello", "ls")),
    *(Asked("mcp", tool) for tool in ("gh:issue", "gitlab:issue")),
    *(Asked("cli", tool) for tool in ("deploy-prod", "predeploy")),
    *(Asked("builtin", tool) for tool in ("web:search", "sudoers")),
]


def entries(notify: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The source's block as our list: switched off is no entry, no pattern is every call.

    How it is delivered is `tests/core/events/test_webhook.py`'s subject: here all of it goes to the log.
    """
    if notify.get("enabled", False):
        yield {"match": notify.get("patterns") or ["*"], "deliver": "log"}


def told(
    bench: Bench, caplog: pytest.LogCaptureFixture, notify: dict[str, Any], asked: Asked, **rules: Any
) -> list[str]:
    """The outcomes of the calls that somebody was told of, after one call and the toolbox's end."""
    use, others = sample_call(*asked), tools_named_in(notify.get("patterns", []))
    with caplog.at_level(logging.WARNING, "toolcharter.notify"):
        toolbox = bench.open({"mode": "dangerous", "notify": [*entries(notify)], **rules}, use.spec, *others)
        toolbox.call(use.spec.name, use.args)
        toolbox.close()
    records = [record for record in caplog.records if record.name == "toolcharter.notify"]
    return [vars(record)["notification"]["outcome"] for record in records]


@pytest.mark.parametrize("row", row_params(SELECTING))
def test_sample(row: dict[str, Any], bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """Calls that the source tells of are told of here, and no others."""
    given, wanted = row["input"], row.get("unified", row["expect"])["notify"]
    asked = Asked(given["tool_type"], given["invocation"])
    patterns = given["notify"].get("patterns") or []
    how = [{rules.matches(one, asked, permits=False) for rules in (Theirs, Ours)} for one in patterns]
    sentences = [ANCHORED] if any(len(found) > 1 for found in how) else []

    found = told(bench, caplog, given["notify"], asked)

    assert bool(found) == wanted or sentences


@pytest.mark.parametrize("asked", [pytest.param(asked, id=":".join(asked)) for asked in CALLS])
@pytest.mark.parametrize("patterns", [[], PATTERNS, *([one] for one in PATTERNS)], ids=" ".join)
def test_more_of_the_kind(patterns: list[str], asked: Asked, bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """A pattern of a notification means what it means in `deny`; without one, every call is told of."""
    wanted = not patterns or any(Ours.matches(one, asked, permits=False) for one in patterns)

    found = told(bench, caplog, {"enabled": True, "patterns": patterns}, asked)

    assert found == (["ok"] if wanted else [])


@pytest.mark.parametrize(
    ("rules", "outcome"), [({}, "ok"), ({"deny": ["bash:rm *"]}, "denied"), ({"mode": "ask"}, "denied")]
)
def test_what_does_not_run_is_told_of(rules: Any, outcome: str, bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """A call that is refused is told of, too, and as such; one that would wait for a person in vain as well."""
    found = told(bench, caplog, {"enabled": True, "patterns": ["bash:rm*"]}, Asked("bash", "rm notes.txt"), **rules)

    assert found == [outcome]


def test_rows_that_select_nothing_are_about_the_merge() -> None:
    """No row is passed over in silence: the others unite the entries of tiers, as `notify` of profiles does."""
    assert {row["id"] for row in ROWS} == {row["id"] for row in SELECTING}
