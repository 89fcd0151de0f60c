"""`toolcharter events diff`: recorded calls, decided anew by two profiles."""

import gzip
import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from toolcharter.cli import event_diff, event_workspaces
from toolcharter.cli.event_diff import why_undecidable
from toolcharter.events.contract import CUT_NOTICE
from toolcharter.guards.secrets import MASK

STRICT = 'profile: strict\ntools: {echo: {allowed: [no]}}\ndeny: [{rule: "echo(word=h*)", reason: no_greeting}]\n'
FACTS = {"agent": None, "provider": None, "group": None, "session": None, "user": None, "project": None, "depth": 0}
SAME = {"count": 1, "tool": "echo", "action": None, "was_rule": None}


@pytest.fixture
def recorded(run, desk) -> Path:
    """The events of six calls, and a profile that decides some of them differently."""
    for word in ("word=hi", "word=hi", "word=no", "word=other", "words=hi"):
        run("call", "echo", word, "--profile", "./demo.yaml", "--events", "file:e.jsonl")
    run("call", "none", "--profile", "./demo.yaml", "--events", "file:e.jsonl")
    (desk / "strict.yaml").write_text(STRICT)
    return desk / "e.jsonl"


def compared(run, *words: str) -> tuple[int, dict]:
    result = run("events", "diff", *words, "--json")
    return result.exit_code, json.loads(result.stdout)


def test_what_would_change_is_told_by_rule(run, recorded) -> None:
    """What was allowed and is denied, with the rule that does it, and the other way; what stays is counted."""
    status, found = compared(run, "./demo.yaml", "./strict.yaml", "e.jsonl")

    assert (status, found["calls"], found["same"], found["changed"], found["undecidable"]) == (1, 6, 3, 3, 0)
    assert found["changes"] == [
        {
            **SAME, "count": 2, "was": "allow", "was_reason": None, "becomes": "deny", "becomes_reason": "no_greeting",
            "becomes_rule": "echo(word=h*) (./strict.yaml:3:8)", "first": "e.jsonl:2",
        },
        {
            **SAME, "was": "deny", "was_reason": "word_not_allowed", "becomes": "allow", "becomes_reason": None,
            "becomes_rule": None, "first": "e.jsonl:12",
        },
    ]  # fmt: skip


def test_the_plain_tables_say_the_same(run, recorded) -> None:
    """Counts, then changes; a compressed file is read as well."""
    recorded.with_suffix(".gz").write_bytes(gzip.compress(recorded.read_bytes()))

    result = run("events", "diff", "./demo.yaml", "./strict.yaml", "e.gz")

    lines = result.stdout.splitlines()
    assert (lines[0], result.exit_code) == ("6 calls: 3 same, 3 changed, 0 undecidable", 1)
    assert lines[4].split()[:6] == ["2", "echo", "allow", "deny", "no_greeting", "echo(word=h*)"]


def test_a_profile_changes_nothing_against_itself(run, recorded) -> None:
    """Exit status 0, also for denied, malformed and unknown calls."""
    status, found = compared(run, "./demo.yaml", "./demo.yaml", "e.jsonl")

    assert (status, found["same"], found["changes"]) == (0, 6, [])


def test_calls_are_decided_for_whom_they_were_made(run, desk) -> None:
    """A tool that is not there in group chats."""
    for fact in ("peer=direct", "peer=group"):
        run("call", "echo", "word=hi", "-p", "./demo.yaml", "--events", "file:e.jsonl", "--caller", fact)
    narrow = (desk / "demo.yaml").read_text() + "availability: [{for: {peer: group}, deny: [echo]}]\n"
    (desk / "narrow.yaml").write_text(narrow)

    _, found = compared(run, "./demo.yaml", "./narrow.yaml", "e.jsonl")

    assert [(row["count"], row["becomes_reason"], row["first"]) for row in found["changes"]] == [
        (1, "not_available", "e.jsonl:7")
    ]


def test_only_calls_that_are_chosen_are_decided(run, desk) -> None:
    """By their first events; the workspace of a call is known from the toolbox, whatever is asked for."""
    for agent in ("a", "b"):
        run("call", "echo", "word=hi", "-p", "./demo.yaml", "--events", "file:e.jsonl", "--caller", f"agent={agent}")
    (desk / "strict.yaml").write_text(STRICT)

    def changed(*words: str) -> list[Any]:
        result = run("events", "diff", "./demo.yaml", "./strict.yaml", "e.jsonl", "--json", *words)
        found = json.loads(result.stdout)
        return [result.stderr, found["calls"], [row["first"] for row in found["changes"]]]

    assert changed("--agent", "b") == ["", 1, ["e.jsonl:7"]]
    assert changed("--agent", "?", "--tool", "echo") == ["", 2, ["e.jsonl:2"]]
    assert changed("--since", "1d") == ["", 2, ["e.jsonl:2"]]
    assert changed("--until", "1d") == ["", 0, []]


def test_nothing_is_run_counted_or_logged(run, desk, recorded) -> None:
    """Each body ends at its mark."""
    before = recorded.read_bytes()

    result = run("events", "diff", "./demo.yaml", "./strict.yaml", "e.jsonl")

    assert (recorded.read_bytes(), result.stderr) == (before, "")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"args": {"path": "a", "n": 1}}, None),
        ({"args": {}}, None),
        ({"args": None}, "left_out"),
        ({"args": {"path": "str[4]", "more": {"n": "int", "list": "list[3]"}}}, "shape"),
        ({"args": {"path": "str[4]", "n": 1}}, None),
        ({"args": {"path": f"a {MASK}"}}, "masked"),
        ({"args": {"list": [{MASK: 1}]}}, "masked"),
        ({"args": {}, "user": f"ann:{MASK}"}, "masked"),
        ({"args": {"text": "x" * 400 + CUT_NOTICE}}, "cut"),
        ({"args": {}, "session": "s" * 200}, "cut"),
    ],
)
def test_arguments_that_are_not_what_they_were_are_undecidable(changes, why) -> None:
    """Whatever a rule might have been about: nothing is guessed."""
    assert why_undecidable({"tool": "echo", "action": None, **FACTS, **changes}) == why


def test_undecidable_calls_are_counted_by_tool_and_cause(run, desk) -> None:
    """As events of a profile that shows no arguments are."""
    quiet = (desk / "demo.yaml").read_text() + "events: {args: none}\n"
    (desk / "quiet.yaml").write_text(quiet)
    run("call", "echo", "word=hi", "--profile", "./quiet.yaml", "--events", "file:e.jsonl")

    status, found = compared(run, "./demo.yaml", "./quiet.yaml", "e.jsonl")

    assert (status, found["undecidable"], found["same"]) == (0, 1, 0)
    assert found["not_decided"] == [{"count": 1, "tool": "echo", "why": "left_out"}]


def test_memory_is_bounded_whatever_names_models_invent(run, desk, monkeypatch) -> None:
    """More changes than are told apart are counted together, and more undecidable tools; long arguments are not kept."""
    monkeypatch.setattr(event_diff, "MOST_CHANGES", 1)
    (desk / "strict.yaml").write_text(STRICT.replace("h*", "*"))
    (desk / "open.yaml").write_text("profile: open\ntools: {echo: {allowed: [hi, no]}}\n")
    before = {"event": "hook.tool.before", "tool": "echo", "action": None, **FACTS}
    events = [{**before, "args": {"word": word}} for word in ("hi", "hi", "x" * 2000)]
    events += [{**before, "tool": tool, "args": None} for tool in ("a", "b", "c")]
    events += [{"event": "hook.tool.before"}, {"tool": "echo", "event": "hook.tool.after"}]
    events += [
        {**before, "args": {}, "tool": None},
        {**before, "args": {}, "depth": "1"},
        {**before, "args": {}, "user": 5},
    ]
    (desk / "e.jsonl").write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in events))

    _, found = compared(run, "./open.yaml", "./strict.yaml", "e.jsonl")

    assert (found["changed"], [row["count"] for row in found["changes"]], found["more_changes"]) == (3, [2], 1)
    assert [(row["tool"], row["count"]) for row in found["not_decided"]] == [("(others)", 2), ("a", 1)]
    assert found["unreadable_lines"] == 4


def test_a_call_is_decided_in_the_workspace_it_was_made_in(run, desk, tmp_path, monkeypatch) -> None:
    """Run from elsewhere, each call in its own folder, and all in the one that `--workspace` names."""
    homes = [tmp_path / name for name in ("one", "two")]
    for home in homes:
        home.mkdir()
        words = ("--profile", "./demo.yaml", "--events", "file:e.jsonl", "--workspace", str(home))
        run("call", "echo", "word=hi", *words)
    (homes[1] / ".toolcharter").mkdir()
    (homes[1] / ".toolcharter/policy.yaml").write_text("deny: [{rule: echo, reason: closed_here}]\n")
    (desk / "open.yaml").write_text("profile: open\ntools: {echo: {allowed: []}}\n")

    _, recorded = compared(run, "./demo.yaml", "./open.yaml", "e.jsonl")
    _, named = compared(run, "./demo.yaml", "./open.yaml", "e.jsonl", "--workspace", str(homes[1]))

    assert [(row["count"], row["becomes_reason"], row["first"]) for row in recorded["changes"]] == [
        (1, "word_not_allowed", "e.jsonl:2")
    ]
    assert (recorded["same"], named["same"]) == (1, 2)


@pytest.mark.parametrize("name", ["/" + "x" * 5000, "/a\0b", "", ".", "/dev/null"])
def test_a_workspace_that_is_no_folder_is_told(run, recorded, name) -> None:
    """Whatever text stands there."""
    lines = [json.loads(line) for line in recorded.read_text().splitlines()]
    named = (orjson.dumps(line | {"workspace": name}) + b"\n" for line in lines)
    recorded.write_bytes(b"".join(named))

    result = run("events", "diff", "./demo.yaml", "./demo.yaml", "e.jsonl")

    assert (result.exit_code, result.stderr.count("does not exist"), "\0" in result.stderr) == (0, 1, False)


@pytest.mark.parametrize("opens", [True, False], ids=["gone", "unrecorded"])
def test_a_workspace_that_is_not_there_is_told_and_replaced(run, desk, tmp_path, opens) -> None:
    """Once, with its name; without a word where `--workspace` names one."""
    gone = tmp_path / "gone"
    gone.mkdir()
    words = ("--profile", "./demo.yaml", "--events", "file:e.jsonl", "--workspace", str(gone))
    run("call", "echo", "word=hi", *words)
    run("call", "echo", "word=hi", *words)
    gone.rmdir()
    if not opens:
        lines = (desk / "e.jsonl").read_bytes().splitlines(keepends=True)
        (desk / "e.jsonl").write_bytes(b"".join(line for line in lines if b"toolbox.open" not in line))

    here = run("events", "diff", "./demo.yaml", "./demo.yaml", "e.jsonl")
    named = run("events", "diff", "./demo.yaml", "./demo.yaml", "e.jsonl", "--workspace", ".")

    what = f"The recorded workspace {gone} does not exist" if opens else "No toolbox.open in the files names"
    assert (here.stderr.count("\n"), here.stderr.startswith(f"toolcharter: {what}")) == (1, True)
    assert ("decided in the current folder" in here.stderr, named.stderr) == (True, "")


def test_many_workspaces_are_not_open_at_once(run, desk, tmp_path, monkeypatch) -> None:
    """The first is closed, and opened again when a call needs it; a profile that is broken is named without calls, too."""
    monkeypatch.setattr(event_workspaces, "MOST_WORKSPACES", 1)
    for name in ("one", "two", "one"):
        (tmp_path / name).mkdir(exist_ok=True)
        words = ("--profile", "./demo.yaml", "--events", "file:e.jsonl", "--workspace", str(tmp_path / name))
        run("call", "echo", "word=hi", *words)
    (desk / "none.jsonl").write_text("")

    assert compared(run, "./demo.yaml", "./demo.yaml", "e.jsonl")[1]["same"] == 3
    assert run("events", "diff", "./demo.yaml", "./no.yaml", "none.jsonl").exit_code == 2


def test_of_many_workspaces_that_are_gone_few_are_told(run, desk, tmp_path, monkeypatch) -> None:
    """Names of folders may be made up, too: neither the messages nor what is remembered grows with them."""
    monkeypatch.setattr(event_workspaces, "MOST_WARNINGS", 1)
    monkeypatch.setattr(event_workspaces, "MOST_WORKSPACES", 1)
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        words = ("--profile", "./demo.yaml", "--events", "file:e.jsonl", "--workspace", str(tmp_path / name))
        run("call", "echo", "word=hi", *words)
        (tmp_path / name).rmdir()

    result = run("events", "diff", "./demo.yaml", "./demo.yaml", "e.jsonl")

    assert (result.exit_code, result.stderr.count("does not exist"), result.stderr.count("/one ")) == (0, 1, 1)
