"""`toolcharter events tail`: the last events, filters, and following a file through rotation."""

import gzip
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from toolcharter.cli.event_filters import build_filter
from toolcharter.cli.event_tail import Follower, event_parser, line_parts, lines_backwards


@pytest.fixture
def recorded(run, desk) -> Path:
    """The events of a call that was ok, of one that was denied, and of one with bad arguments."""
    for word, user in (("word=hi", "ann"), ("word=no", "bob"), ("words=hi", "ann")):
        run("call", "echo", word, "--profile", "./demo.yaml", "--events", "file:e.jsonl", "--caller", f"user={user}")
    return desk / "e.jsonl"


def shown(run, *words: str) -> list[list[str]]:
    """The columns of each line, without the moment, and what differs from run to run."""
    lines = run("events", "tail", "--no-follow", *words, "e.jsonl").stdout.splitlines()
    return [[part for part in line.split("  ")[1:] if part.strip() and not part.endswith(" ms")] for line in lines]


def test_each_call_is_a_line_that_says_what_came_of_it(run, recorded) -> None:
    """Outcome, tool, reason, whom it was for, arguments; a toolbox with its profile."""
    lines = shown(run, "--outcome", "*")

    assert [[part.strip() for part in line] for line in lines] == [
        ["ok", "echo", "user=ann", '{"word":"hi"}'],
        ["denied", "echo", "word_not_allowed", "user=bob", '{"word":"no"}'],
        ["error", "echo", "invalid_arguments", "user=ann", '{"words":"hi"}'],
    ]
    assert [line[0].strip() for line in shown(run)][:3] == ["open", "ok", "close"]


@pytest.mark.parametrize(
    ("words", "count"),
    [
        pytest.param(("--user", "ann", "--outcome", "*"), 2, id="user"),
        pytest.param(("--reason", "*_allowed"), 1, id="reason"),
        pytest.param(("--tool", "ech*", "-n", "2"), 2, id="lines"),
        pytest.param(("-n", "0"), 0, id="no-lines"),
        pytest.param(("--event", "hook.policy.*"), 3, id="event"),
        pytest.param(("--agent", "*"), 0, id="null-matches-nothing"),
        pytest.param(("--event", "*", "-n", "99"), 15, id="all"),
    ],
)
def test_filters_choose_by_field(run, recorded, words, count) -> None:
    """All of them have to match; the last lines are the last of those that match."""
    assert len(shown(run, *words)) == count


def test_one_call_is_shown_whole(run, recorded) -> None:
    """From its beginning to its end, and nothing of others."""
    call_id = json.loads(recorded.read_text().splitlines()[6])["call_id"]

    found = [
        json.loads(line)
        for line in run("events", "tail", "--no-follow", "--json", "--call-id", call_id, "e.jsonl").stdout.splitlines()
    ]

    assert [event["event"] for event in found] == [
        "hook.tool.before",
        "hook.policy.before",
        "hook.policy.deny",
        "hook.tool.after",
    ]
    assert {event["call_id"] for event in found} == {call_id}
    assert len(shown(run, "--call-id", call_id, "-n", "1")) == 1


def test_all_events_of_a_time_are_shown(run, desk) -> None:
    """From a moment on, however many there are, and before another, which lies behind: then nothing is waited for."""
    event = {"event": "hook.tool.after", "tool": "x", "outcome": "ok", "args": {}}
    moments = [f"2026-11-24T10:{minute:02}:00.000Z" for minute in range(20)]
    (desk / "e.jsonl").write_text("".join(json.dumps({**event, "ts": ts}) + "\n" for ts in moments))

    def times(*words: str) -> list[str]:
        return [line[14:16] for line in run("events", "tail", *words, "e.jsonl").stdout.splitlines()]

    assert times("--until", "2026-11-24T10:12") == ["02", "03", "04", "05", "06", "07", "08", "09", "10", "11"]
    assert times("--since", "2026-11-24T12:03+02:00", "--until", "2026-11-24T10:15:00.001") == [
        f"{minute:02}" for minute in range(3, 16)
    ]
    assert times("--since", "2026-11-24", "--until", "1s", "-n", "2") == ["18", "19"]


def test_a_rule_is_matched_and_shown_by_its_text_and_place() -> None:
    """As the tables of `stats` do."""
    rule = {"text": "bash:*sudo*", "source": "a.yaml:3"}
    event = {"event": "hook.tool.after", "rule": rule, "tool": "bash", "args": {"command": "x" * 300}}

    assert event_parser(build_filter(rule="bash:*"))(json.dumps(event).encode()) == event
    assert event_parser(build_filter(rule="a.yaml*"))(json.dumps(event).encode()) is None
    *_, shown_rule, shown_args = [text for text, _ in line_parts(event)]
    assert (shown_rule, len(shown_args), shown_args[-3:]) == ("bash:*sudo* (a.yaml:3)", 203, "...")


@pytest.mark.parametrize(
    ("answer", "approver", "shown"),
    [("deny", "ann", "deny by ann"), ("deny", None, "deny by unnamed"), ("none", None, "none by nobody")],
)
def test_who_answered_is_named_or_called_unnamed(answer, approver, shown) -> None:
    """An answer without a name is not one that nobody gave."""
    event = {"event": "hook.approval.decision", "tool": "echo", "answer": answer, "approver": approver}

    assert shown in [text for text, _ in line_parts(event)]


def test_what_is_no_event_is_passed_over(run, desk) -> None:
    """A torn line, a line of another program, and one without an end: `events check` names them."""
    (desk / "e.jsonl").write_bytes(b'{"event":"hook.tool.a\n[1]\n{}\n\n{"event":"hook.tool.after","tool":"x"}\n{"ev')

    assert run("events", "tail", "--no-follow", "--json", "e.jsonl").stdout == (
        '{"event":"hook.tool.after","tool":"x"}\n'
    )


def test_events_cannot_drive_the_terminal(run, desk) -> None:
    """Neither escape sequences nor line ends of a model's arguments reach it, in JSON neither."""
    event = {"event": "hook.tool.after", "tool": "x\x1b[31m\u202e\nok y", "outcome": "denied", "args": {}}
    (desk / "e.jsonl").write_text(json.dumps(event) + "\n")

    plain = run("events", "tail", "--no-follow", "e.jsonl").stdout
    lines = run("events", "tail", "--no-follow", "--json", "e.jsonl").stdout

    assert plain == "None  denied    x\\x1b[31m\\u202e\\nok y  {}\n"
    assert (lines.isascii(), json.loads(lines)) == (True, event)


def test_approvals_are_shown_with_who_gave_them(run, desk) -> None:
    """The question with its reason, the answer with its approver."""
    asked = {"event": "hook.approval.request", "tool": "git", "action": "push", "reason": "not_in_allow", "args": None}
    answered = {**asked, "event": "hook.approval.decision", "answer": "allow_once", "approver": "ann", "reason": None}
    (desk / "e.jsonl").write_text(json.dumps(asked) + "\n" + json.dumps(answered) + "\n")

    assert [[part.strip() for part in line] for line in shown(run)] == [
        ["asked", "git:push", "not_in_allow", "null"],
        ["answered", "git:push", "allow_once by ann", "null"],
    ]


def test_older_files_are_read_where_the_last_has_too_few(run, desk) -> None:
    """Backwards through plain and compressed files, and only as far as needed."""
    lines = [b'{"event":"hook.tool.after","call_id":"%d"}\n' % number for number in range(6)]
    (desk / "e.2.gz").write_bytes(gzip.compress(b"".join(lines[:3])))
    (desk / "e.1").write_bytes(lines[3])
    (desk / "e").write_bytes(b"".join(lines[4:]))

    def ids(*words: str) -> str:
        found = run("events", "tail", "--no-follow", "--json", "--rotated", *words, "e").stdout
        return "".join(json.loads(line)["call_id"] for line in found.splitlines())

    assert (ids("-n", "5"), ids("-n", "3"), ids("-n", "2"), ids()) == ("12345", "345", "45", "012345")


def test_lines_are_found_backwards_across_blocks(tmp_path) -> None:
    """Longer and shorter than a block; the same as forwards."""
    lines = [b"x" * length for length in (5, 70_000, 0, 200_000, 65_536, 1)]
    path = tmp_path / "e"
    path.write_bytes(b"\n".join(lines))

    with path.open("rb") as file:
        assert list(lines_backwards(file, path.stat().st_size)) == lines[::-1]


def test_following_goes_on_through_rotation_and_truncation(tmp_path) -> None:
    """A line that was begun comes whole, one that was written late into the old file, too."""
    path = tmp_path / "e"
    path.write_bytes(b"old\nbeg")
    follower = Follower(str(path))
    seen = []

    def look() -> None:
        seen.append(list(follower.lines()))

    with path.open("ab") as writer:
        writer.write(b"un\nmore\n")
        writer.flush()
        look()
        path.rename(tmp_path / "e.1")
        look()
        writer.write(b"late\ntorn")
        writer.flush()
        look()
    path.write_bytes(b"new\n")
    look()
    path.write_bytes(b"")
    with path.open("ab") as writer:
        look()
        writer.write(b"again\n")
        writer.flush()
        look()
    path.unlink()
    path.write_bytes(b"third\n")
    look()
    path.unlink()
    path.mkdir()  # No file: there may be one again.
    look()
    follower.close()

    assert seen == [[b"begun\n", b"more\n"], [], [b"late\n"], [b"torn", b"new\n"], [], [b"again\n"], [b"third\n"], []]


def test_the_command_goes_on_until_it_is_interrupted(run, desk, recorded, monkeypatch) -> None:
    """What is appended while it waits is chosen by the same filters."""
    late = b'{"event":"hook.tool.after","outcome":"denied"}\n{"event":"hook.tool.after","outcome":"ok"}\n'
    waits = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) > 1:
            raise KeyboardInterrupt
        with recorded.open("ab") as file:
            file.write(late)

    monkeypatch.setattr("toolcharter.cli.commands.events.time.sleep", wait)

    result = run("events", "tail", "--json", "--outcome", "denied", "-n", "1", "e.jsonl")

    shown_reasons = [json.loads(line).get("reason") for line in result.stdout.splitlines()]
    assert (shown_reasons, result.exit_code) == (["word_not_allowed", None], 130)


@pytest.mark.slow
def test_the_command_shows_calls_as_they_come(desk, run) -> None:
    """A process follows the file through a rotation, coloured if one wants it so, until it is interrupted."""
    call = ("call", "echo", "--profile", "./demo.yaml", "--events", "file:e.jsonl")
    run(*call, "word=hi")
    words = [sys.executable, "-m", "toolcharter", "events", "tail", "e.jsonl", "-n", "1", "--outcome", "*"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as tail:
        assert tail.stdout is not None
        first = tail.stdout.readline()
        run(*call, "word=no")
        second = tail.stdout.readline()
        (desk / "e.jsonl").rename("e.jsonl.1")
        run(*call, "word=red")
        third = tail.stdout.readline()
        tail.send_signal(2)
        status = tail.wait()

    assert ['{"word":"hi"}' in first, '{"word":"no"}' in second, '{"word":"red"}' in third] == [True] * 3
    assert status == 130


@pytest.mark.slow
@pytest.mark.parametrize(("variables", "is_coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_outcomes_are_coloured_on_a_terminal(recorded, variables, is_coloured) -> None:
    """Unless one does not want it so; a file never has colours."""
    words = [sys.executable, "-m", "toolcharter", "events", "tail", "e.jsonl", "--no-follow", "--outcome", "denied"]
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | variables
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        subprocess.run(words, stdout=theirs, check=True, env=environment)
        os.close(theirs)
        on_terminal = terminal.read(4096)
    in_a_file = subprocess.run(words, capture_output=True, check=True, env=environment).stdout

    assert (b"\x1b[31m\x1b[1mdenied" in on_terminal, b"denied" in on_terminal) == (is_coloured, True)
    assert b"\x1b" not in in_a_file


def test_a_missing_file_is_named(run, desk) -> None:
    """Not waited for: the name may be wrong."""
    result = run("events", "tail", "no.jsonl")

    assert (result.stderr, result.exit_code) == ("no.jsonl: No such file or directory.\n", 2)


def test_standard_input_is_shown_as_it_comes(run, recorded) -> None:
    """For what another program collects."""
    result = run("events", "tail", "--outcome", "denied", "--json", "-", stdin=recorded.read_bytes())

    assert json.loads(result.stdout)["reason"] == "word_not_allowed"


def test_a_file_that_may_not_be_read_is_named(run, recorded, monkeypatch) -> None:
    """Root may read every file: here the system says no."""

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)

    result = run("events", "tail", "--no-follow", "e.jsonl")

    assert (result.exit_code, "e.jsonl" in result.stderr, "Permission denied." in result.stderr) == (2, True, True)
