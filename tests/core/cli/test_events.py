"""`toolcharter events`: checking event files, and counting what they say."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from toolcharter.cli.event_stats import MOST_KEYS, OTHERS, SLOWEST, EventStats, Latencies
from toolcharter.events.files import EventLine


@pytest.fixture
def recorded(run, desk) -> list[str]:
    """The lines of a call that was ok, of one that was denied, and of one with bad arguments."""
    for word in ("word=hi", "word=no", "words=hi"):
        run("call", "echo", word, "--profile", "./demo.yaml", "--events", "file:events.jsonl")
    return (desk / "events.jsonl").read_text().splitlines(keepends=True)


def ended(tool: str = "echo", outcome: str = "ok", elapsed_ms: float = 1.0, call_id: str = "c") -> bytes:
    """A line of `hook.tool.after`, as far as counting reads it."""
    facts = {"agent": None, "user": "ann", "action": None, "profile": "demo", "ts": "t"}
    verdict = {"reason": "denied_by_rule", "rule": {"text": "bash:*sudo*", "source": "demo.yaml:3"}}
    event = {"event": "hook.tool.after", "tool": tool, "outcome": outcome, "elapsed_ms": elapsed_ms}
    return orjson.dumps({**event, "call_id": call_id, **facts, **verdict})


def summary_of(*lines: bytes) -> dict[str, Any]:
    stats = EventStats()
    for number, raw in enumerate(lines, 1):
        stats.add(EventLine("f", number, raw))
    return stats.summary()


def test_schema_accepts_what_calls_leave(run, recorded) -> None:
    """What the gate writes has no fault, and the schema is one document that says so, too."""
    result = run("events", "check", "events.jsonl")

    assert (result.stdout, result.stderr, result.exit_code) == ("", f"{len(recorded)} lines, 0 faults\n", 0)
    jsonschema_rs = pytest.importorskip("jsonschema_rs")
    whole = jsonschema_rs.validator_for(json.loads(run("events", "schema").stdout))
    assert [line for line in recorded if not whole.is_valid(json.loads(line))] == []


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        pytest.param(lambda ls: [*ls[:1], "{\n", *ls[1:]], ["2: not JSON: "], id="no-json"),
        pytest.param(lambda ls: ["[1]\n", *ls], ["1: no event of toolcharter: None"], id="no-object"),
        pytest.param(lambda ls: ['{"event":"x"}\n', *ls], ["1: no event of toolcharter: 'x'"], id="another-event"),
        pytest.param(
            lambda ls: [ls[0], ls[1].replace('"seq":2', '"seq":"2"'), *ls[2:]],
            ["2: seq: ", "3: call 'c': hook.policy.before without hook.tool.before"],
            id="wrong-type",
        ),
        pytest.param(
            lambda ls: [ls[0].replace('"files"', '"file"'), *ls[1:]],
            ['1: "files" is a required property', "1: Additional properties"],
            id="wrong-field",
        ),
        pytest.param(
            lambda ls: [ls[0], ls[1], ls[1], *ls[2:]],
            ["3: call 'c': hook.tool.before behind hook.tool.before"],
            id="begun-twice",
        ),
        pytest.param(
            lambda ls: [*ls[:3], ls[3].replace('"outcome":"ok"', '"outcome":"denied"'), *ls[4:]],
            ["4: call 'c': outcome 'denied' behind hook.policy.before"],
            id="denied-without-deny",
        ),
        pytest.param(
            lambda ls: ls[:3],
            ["3: call 'c': hook.policy.before is its last event, hook.tool.after is missing"],
            id="no-end",
        ),
    ],
)
def test_faults_are_named_with_their_lines(run, recorded, change, faults) -> None:
    """The lines of one call, changed in one way: each fault has file and number, and the exit status says so."""
    one = [line.replace(json.loads(recorded[1])["call_id"], "c") for line in recorded[:5]]
    Path("changed.jsonl").write_text("".join(change(one)))

    result = run("events", "check", "changed.jsonl")

    found = result.stdout.splitlines()
    assert [
        line.removeprefix("changed.jsonl:")[: len(want)] for line, want in zip(found, faults, strict=True)
    ] == faults
    assert result.exit_code == 1


def test_stats_answer_what_was_denied_why_and_for_whom(run, recorded) -> None:
    """Each table of `--json`, without what differs from run to run; the plain table has the same."""
    found = json.loads(run("events", "stats", "events.jsonl", "--json").stdout)

    tool = {k: v for k, v in found["tools"][0].items() if not k.endswith("_ms")}
    assert tool == {"tool": "echo", "calls": 3, "denied": 1, "errors": 1, "deny_rate": 0.3333}
    denial = {"count": 1, "profile": "demo", "tool": "echo", "action": None, "reason": "word_not_allowed"}
    assert found["denials"] == [{**denial, "rule": None, "agent": None, "user": None}]
    assert (found["calls"], found["outcomes"]) == (3, {"ok": 1, "denied": 1, "error": 1})
    assert len(found["slowest"]) == 3
    plain = run("events", "stats", "events.jsonl").stdout
    assert plain.startswith("3 calls, 1 ok, 1 denied, 1 error; 0 lines that are no events\n")
    assert "\n1      word_not_allowed\n" in plain
    assert "approvals:" not in plain


def test_approvals_are_counted_by_who_gave_them() -> None:
    """Who approved what, with which answer; a rule of a denial is shown by its text."""
    facts = {"tool": "bash", "action": None, "approver": "ann", "answer": "allow_once", "user": None, "agent": "a"}
    decided = orjson.dumps({"event": "hook.approval.decision", **facts})

    found = summary_of(decided, decided, ended(outcome="denied"))

    assert found["approvals"] == [{"count": 2, **facts}]
    assert [(row["rule"], row["user"]) for row in found["denials"]] == [("bash:*sudo*", "ann")]


def test_what_is_no_event_is_counted() -> None:
    """Broken lines are neither counted as calls nor skipped in silence; events of no interest are."""
    known = [b'{"event":"hook.tool.before","x":1}', b'{"event":"toolbox.open"}']

    found = summary_of(b"{", b"[]", b'{"event":"hook.tool.after"}', *known)

    assert (found["unreadable_lines"], found["calls"]) == (3, 0)


def test_memory_is_bounded_whatever_names_models_invent() -> None:
    """More tools than a table holds are one row; of the slowest, a few are kept, the slowest first."""
    lines = [ended(f"t{number}", elapsed_ms=number, call_id=str(number)) for number in range(MOST_KEYS + 5)]

    found = summary_of(*lines)

    assert [(row["tool"], row["calls"]) for row in found["tools"][:2]] == [(OTHERS, 5), ("t0", 1)]
    assert [row["elapsed_ms"] for row in found["slowest"]] == [MOST_KEYS + 4.0 - back for back in range(SLOWEST)]


@pytest.mark.parametrize("share", [0.5, 0.95, 0.99, 1.0])
def test_percentiles_are_within_a_hundredth(share) -> None:
    """Against the exact percentile of ten thousand latencies over four magnitudes."""
    values = [1.0009**number for number in range(10_000)]
    latencies = Latencies()
    for value in values:
        latencies.add(value)

    assert latencies.percentile(share) == pytest.approx(values[round(share * 10_000) - 1], rel=0.011)
