"""`toolcharter events`: checking event files, and counting what they say."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import orjson
import pytest

from toolcharter.cli import event_check, event_stats
from toolcharter.cli.event_stats import MOST_KEYS, MOST_SPANS, OTHERS, SLOWEST, EventStats, Latencies
from toolcharter.events.files import EventLine


@pytest.fixture
def recorded(run, desk) -> list[str]:
    """The lines of a call that was ok, of one that was denied, and of one with bad arguments."""
    for word in ("word=hi", "word=no", "words=hi"):
        run("call", "echo", word, "--profile", "./demo.yaml", "--events", "file:events.jsonl")
    return (desk / "events.jsonl").read_text().splitlines(keepends=True)


TS = "2026-11-21T10:15:37.042Z"


def ended(
    tool: str = "echo", outcome: str = "ok", elapsed_ms: float = 1.0, call_id: str = "c", ts: str = TS, **other: Any
) -> bytes:
    """A line of `hook.tool.after`, as far as counting reads it."""
    facts = {"agent": None, "user": "ann", "action": None, "profile": "demo", "ts": ts, "redactions": 1}
    verdict = {"reason": "denied_by_rule", "rule": {"text": "bash:*sudo*", "source": "demo.yaml:3"}}
    event = {"event": "hook.tool.after", "tool": tool, "outcome": outcome, "elapsed_ms": elapsed_ms}
    return orjson.dumps({**event, "call_id": call_id, **facts, **verdict, **other})


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


def test_an_empty_line_is_no_fault(run, recorded) -> None:
    """It ends a line that looked torn while another process was still writing it."""
    Path("gap.jsonl").write_text("".join([*recorded[:6], "\n", *recorded[6:]]))

    assert run("events", "check", "gap.jsonl").stderr == f"{len(recorded) + 1} lines, 0 faults\n"


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        pytest.param(lambda ls: [*ls[:1], "{\n", *ls[1:]], ["2: not JSON: "], id="no-json"),
        pytest.param(lambda ls: ["[1]\n", *ls], ["1: not an event of toolcharter: None"], id="no-object"),
        pytest.param(lambda ls: ['{"event":"x"}\n', *ls], ["1: not an event of toolcharter: 'x'"], id="another-event"),
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
    first = {"rule_source": None, "first": "events.jsonl:10", "args": '{"word":"no"}'}
    assert found["denials"] == [{**denial, "rule": None, "agent": None, "user": None, **first}]
    assert (found["calls"], found["outcomes"]) == (3, {"ok": 1, "denied": 1, "error": 1})
    assert len(found["slowest"]) == 3
    plain = run("events", "stats", "events.jsonl").stdout
    assert plain.startswith("3 calls, 1 ok, 1 denied, 1 error; 0 lines that are not events\n")
    assert "\n1      word_not_allowed  0.3333\n" in plain
    assert "approvals:" not in plain


def test_only_what_is_chosen_is_counted(run, desk) -> None:
    """Calls of one caller, tool or time; what is no event is counted all the same."""
    lines = (
        ended("a", user="ann", ts="2026-11-24T10:00:00.000Z"),
        ended("b", user="ann", ts="2026-11-24T11:00:00.000Z"),
        ended("a", user="bob", ts="2026-11-24T12:00:00.000Z"),
        b"no event",
    )
    (desk / "e.jsonl").write_bytes(b"\n".join(lines))

    def counted(*words: str) -> list[Any]:
        summary = json.loads(run("events", "stats", "--json", *words, "e.jsonl").stdout)
        assert summary["unreadable_lines"] == 1
        return [summary["calls"], [row["tool"] for row in summary["tools"]]]

    assert counted("--user", "ann") == [2, ["a", "b"]]
    assert counted("--tool", "a") == [2, ["a"]]
    assert counted("--agent", "*") == [0, []]
    assert counted("--since", "2026-11-24T11:00") == [2, ["b", "a"]]
    assert counted("--since", "2026-11-24T11:00Z", "--until", "2026-11-24T12:00") == [1, ["b"]]
    assert counted("--until", "2026-11-24T11:00", "--user", "bob") == [0, []]


def test_approvals_are_counted_by_who_gave_them() -> None:
    """Who approved what, for whom, because of which rule; what was given for good; and what has no end in the files."""
    asked = {"event": "hook.approval.request", "call_id": "c", "reason": "not_in_allow"}
    facts = {"tool": "echo", "action": None, "approver": "ann", "answer": "allow_once"}
    answered = {"event": "hook.approval.decision", "call_id": "c", **facts, "args": {"command": "ls"}}
    kept = {"text": "approval 3f", "source": "kept.db"}

    found = summary_of(
        *map(orjson.dumps, (asked, answered)),
        ended(),
        ended(rule=kept),
        *map(orjson.dumps, ({**answered, "call_id": "d", "answer": "deny"},)),
        ended(outcome="denied", call_id="e"),
    )

    nobody = {"user": None, "agent": None, "rule_source": None}
    source = "demo.yaml:3"
    assert found["approvals"] == [
        {"count": 1, **facts, "asked_because": "not_in_allow", "rule": "bash:*sudo*", "agent": None, "user": "ann",
         "rule_source": source, "first": "f:2", "args": "ls"},
        {
            "count": 1, **facts, "approver": None, "answer": "kept", "asked_because": None, "rule": "approval 3f",
            "agent": None, "user": "ann", "rule_source": "kept.db", "first": "f:4", "args": None,
        },
        {"count": 1, **facts, "answer": "deny", "asked_because": None, "rule": None, **nobody, "first": "f:5", "args": "ls"},
    ]  # fmt: skip
    assert [(row["rule"], row["user"]) for row in found["denials"]] == [("bash:*sudo*", "ann")]


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ({"command": "git push\n\x1b[2J"}, "git push\\n\\x1b[2J"),
        ({"action": "add", "path": "a/b"}, "a/b"),
        ({"command": ["ls"], "n": 1}, '{"command":["ls"],"n":1}'),
        ({"path": "x" * 61}, "x" * 60 + "..."),
        ({}, None),
        (None, None),
    ],
)
def test_a_row_shows_what_its_first_call_was_about(args, shown) -> None:
    """In a form that is short, and that drives no terminal; its place, the rule's, and whom it was for."""
    found = summary_of(*(ended(outcome="denied", args=args, elapsed_ms=ms) for ms in (1, 2)), ended(args={}))

    example = {"rule_source": "demo.yaml:3", "first": "f:1", "args": shown}
    assert {key: found["denials"][0][key] for key in example} == example
    slowest = found["slowest"][0]
    assert (slowest["elapsed_ms"], slowest["agent"], slowest["user"], slowest["args"]) == (2, None, "ann", shown)


def test_tables_and_page_name_the_first_call(run, desk) -> None:
    """As JSON does."""
    (desk / "e.jsonl").write_bytes(ended(outcome="denied", args={"command": "<b>\u202e"}))

    plain = run("events", "stats", "e.jsonl").stdout
    run("events", "stats", "e.jsonl", "--html", "page.html")

    assert "demo.yaml:3  e.jsonl:1  <b>\\u202e\n" in plain
    assert "<td>demo.yaml:3</td><td>e.jsonl:1</td><td>&lt;b&gt;\\u202e</td>" in (desk / "page.html").read_text()


def test_an_approver_without_a_name_is_no_blank(run, desk) -> None:
    """As of an `approver` in Python that returns a word; in JSON it is null."""
    facts = {"tool": "echo", "action": None, "approver": None, "answer": "deny"}
    (desk / "e.jsonl").write_bytes(orjson.dumps({"event": "hook.approval.decision", "call_id": "c", **facts}))

    plain = run("events", "stats", "e.jsonl").stdout.splitlines()
    run("events", "stats", "e.jsonl", "--html", "page.html")

    assert plain[-1].split()[:4] == ["1", "echo", "-", "deny"]
    assert "<td>echo</td><td></td><td>-</td><td>deny</td>" in (desk / "page.html").read_text()
    assert json.loads(run("events", "stats", "e.jsonl", "--json").stdout)["approvals"][0]["approver"] is None


def test_answers_without_an_end_do_not_pile_up(monkeypatch) -> None:
    """The oldest is counted without its rule where too many wait."""
    monkeypatch.setattr(event_stats, "MOST_ANSWERS", 1)
    facts = {"tool": "echo", "action": None, "approver": "ann", "answer": "allow_once"}
    answers = [orjson.dumps({"event": "hook.approval.decision", "call_id": call_id, **facts}) for call_id in "ab"]

    found = summary_of(*answers, ended(call_id="b"))

    assert [row["rule"] for row in found["approvals"]] == [None, "bash:*sudo*"]


def test_calls_are_counted_over_time_in_few_spans() -> None:
    """Spans become longer where calls lie far apart; those between without calls are there, too."""
    near = summary_of(ended(ts="2026-01-01T00:00:01Z"), ended("x", "denied", ts="2026-01-01T00:00:03.5Z"))
    far = summary_of(*(ended(ts=f"{year}-01-01T00:00:00Z") for year in (1970, 2026, 2025)))

    none = {"calls": 0, "denied": 0, "errors": 0}
    assert near["over_time"] == [
        {"from": "2026-01-01T00:00:01+00:00", **none, "calls": 1},
        {"from": "2026-01-01T00:00:02+00:00", **none},
        {"from": "2026-01-01T00:00:03+00:00", **none, "calls": 1, "denied": 1},
    ]
    assert (near["first"], near["last"]) == ("2026-01-01T00:00:01Z", "2026-01-01T00:00:03.5Z")
    assert (len(far["over_time"]) <= MOST_SPANS, sum(row["calls"] for row in far["over_time"])) == (True, 3)


def test_latencies_have_a_histogram() -> None:
    """In steps of 1, 2, 5, and so on, from the shortest to the longest; what is beyond all of them is in the last."""
    found = summary_of(*(ended(elapsed_ms=elapsed_ms) for elapsed_ms in (0.9, 1.5, 1.7, 4, 16, 1e12)))

    rows = [(row["up_to_ms"], row["count"]) for row in found["histogram"]]
    assert (rows[:5], rows[-1]) == ([(1, 1), (2, 2), (5, 1), (10, 0), (20, 1)], (2e9, 1))
    assert found["latency"]["p50_ms"] == pytest.approx(1.7, rel=0.011)
    assert summary_of()["histogram"] == summary_of()["over_time"] == []


def test_who_called_and_what_failed_is_counted() -> None:
    """Callers with their deny rate; errors by tool and reason; masked secrets."""
    found = summary_of(ended(), ended(outcome="denied"), ended(outcome="error", reason="timed_out"))

    rate = {"calls": 3, "denied": 1, "errors": 1, "deny_rate": 0.3333}
    assert found["callers"] == [{"agent": None, "user": "ann", **rate}]
    assert found["errors"] == [{"count": 1, "tool": "echo", "reason": "timed_out"}]
    assert found["reasons"] == [{"count": 1, "reason": "denied_by_rule", "deny_rate": 0.3333}]
    assert found["redactions"] == 3


def test_tables_for_people_are_short(run, desk) -> None:
    """The most frequent rows, and how to see the others; JSON has all."""
    lines = [ended(f"t{number}") for number in range(4)]
    (desk / "e.jsonl").write_bytes(b"\n".join([lines[0], *lines]))

    plain = run("events", "stats", "e.jsonl", "--top", "1").stdout

    assert [line.split()[0] for line in plain.splitlines()[3:6]] == ["tool", "t0", "3"]
    assert "3 more: --top 4\n" in plain


def test_the_page_stands_alone_and_runs_nothing_of_the_events(run, desk) -> None:
    """Charts are SVG that parses; names from models are text; nothing is fetched, and no script is there."""
    bad = "<script>alert(1)</script>\x1b[31m"
    names = [bad, "a" * 60, "ok"]
    lines = [ended(name, outcome, user=bad) for name in names for outcome in ("ok", "denied", "error")]
    (desk / "e.jsonl").write_bytes(b"\n".join([*lines, b"{"]))

    result = run("events", "stats", "e.jsonl", "--html", "page.html", "--top", "2")

    page = (desk / "page.html").read_text()
    charts = [ET.fromstring(chart) for chart in re.findall(r"<svg.*?</svg>", page)]
    assert (result.stdout, result.exit_code, len(charts)) == ("", 0, 6)
    assert [text.text for text in charts[2].iter("text")][:2] == [bad[:27].replace("\x1b", "\\x1b") + "\u2026", "3"]
    assert re.findall(r"<script|https?:|\x1b|\bsrc=", page) == []
    assert "<td>&lt;script&gt;alert(1)&lt;/script&gt;\\x1b[31m</td>" in page
    assert ("1 more rows" in page, "<b>1</b>lines that are not events" in page) == (True, True)


def test_the_page_of_nothing_says_so(run, desk) -> None:
    """A file without events."""
    (desk / "e.jsonl").write_text("")

    run("events", "stats", "e.jsonl", "--html", "page.html")

    page = (desk / "page.html").read_text()
    assert ("no calls; e.jsonl" in page, page.count('<p class="empty">none</p>'), "<table>" in page) == (True, 6, False)


def test_calls_without_an_end_do_not_pile_up(monkeypatch, run, recorded) -> None:
    """Of too many open calls the oldest is named at once."""
    monkeypatch.setattr(event_check, "MOST_OPEN", 1)
    begun = [line for line in recorded if '"hook.tool.before"' in line]
    Path("open.jsonl").write_text("".join(begun))

    result = run("events", "check", "open.jsonl")

    places = [line.partition(": ")[0] for line in result.stdout.splitlines()]
    assert (places, "is its last event" in result.stdout) == (["open.jsonl:1", "open.jsonl:2", "open.jsonl:3"], True)


def test_what_is_no_event_is_counted() -> None:
    """Broken lines are neither counted as calls nor skipped in silence; events of no interest are."""
    known = [b'{"event":"hook.tool.before","x":1}', b'{"event":"toolbox.open"}']

    found = summary_of(b"{", b"[]", b'{"event":"hook.tool.after"}', ended(agent=["a"]), ended(ts="now"), *known)

    assert (found["unreadable_lines"], found["calls"]) == (5, 0)


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
