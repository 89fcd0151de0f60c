"""What each action does, with real processes on real terminals."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.process.conftest import Call, ended, spawned, until

from toolcharter import Invocation
from toolcharter_process.tool import SPEC, invocation

Build = Callable[..., Call]


def output(call: Call, handle: str, **args: Any) -> str:
    return str(call("log", handle=handle, **args).data["output"])


def test_a_process_goes_on_between_calls(build_call: Build) -> None:
    """It is started by one call, seen by the next ones, and ended by the last."""
    call = build_call()

    started = call("spawn", command="echo hello; sleep 60")
    handle = started.data["handle"]

    assert started.text.splitlines()[0] == f"{handle} running: echo hello; sleep 60"
    until(lambda: output(call, handle) == "hello")
    status = call("status", handle=handle).data
    assert (status.pop("watches"), call("list").data["processes"]) == ([], [status])
    assert call("list").text == f"{handle} running: echo hello; sleep 60"
    killed = call("kill", handle=handle)
    assert killed.data["state"] == "ended"
    assert (killed.data["ended"], killed.data["exit_code"], killed.data["signal"]) == ("killed", -15, "SIGTERM")
    assert killed.text == f"{handle} ended (killed, by SIGTERM): echo hello; sleep 60"


def test_a_process_that_fails_at_once_is_told_at_once(build_call: Build) -> None:
    """A misspelt command is no mystery until the next call."""
    result = build_call()("spawn", command="no-such-program-here")

    assert (result.outcome, result.data["state"], result.data["exit_code"]) == ("ok", "ended", 127)
    assert "command not found" in result.text


def test_a_process_has_a_terminal(build_call: Build) -> None:
    """Of the size that was asked for, and controlling: programs behave as before a person."""
    call = build_call()
    handle = spawned(
        call, "test -t 0 && test -t 1 && test -t 2 && stty size && echo $TERM >/dev/tty", rows=10, columns=33
    )

    assert ended(call, handle)["exit_code"] == 0
    assert output(call, handle) == "10 33\nlinux"


def test_the_screen_is_what_a_person_would_see(build_call: Build) -> None:
    """What was overwritten is gone; the log still has it."""
    call = build_call()
    handle = spawned(call, r"printf 'first\033[2J\033[2;3Hsecond'; sleep 60", rows=4, columns=20)

    screen = until(lambda: (found := call("capture", handle=handle)).data["screen"] and found)

    assert screen.data["screen"] == "\n  second"
    assert (screen.data["cursor"], screen.data["rows"], screen.data["columns"]) == ({"row": 1, "column": 8}, 4, 20)
    assert screen.text == f"{handle} running: " + r"printf 'first\033[2J\033[2;3Hsecond'; sleep 60" + "\n\n  second"
    assert output(call, handle) == "firstsecond"


def test_the_log_shows_its_last_lines(build_call: Build) -> None:
    """As many as were asked for."""
    call = build_call()
    handle = spawned(call, "seq 1 50")
    ended(call, handle)

    assert output(call, handle, lines=3) == "48\n49\n50"
    assert output(call, handle).startswith("1\n2\n")


def test_text_is_typed(build_call: Build) -> None:
    """A program that reads its terminal gets what is written."""
    call = build_call({"allow_input": True})
    handle = spawned(call, 'read line; echo "got $line"')

    assert call("write", handle=handle, text="some text\n").data == {"handle": handle, "bytes": 10}

    assert ended(call, handle)["exit_code"] == 0
    assert output(call, handle) == "some text\ngot some text"


def test_keys_are_pressed(build_call: Build) -> None:
    """Control characters steer the terminal: C-c interrupts what runs on it."""
    call = build_call({"allow_input": True})
    handle = spawned(call, "trap 'echo interrupted; exit 5' INT; echo ready; while :; do sleep 0.05; done")
    until(lambda: "ready" in output(call, handle))

    assert call("send_keys", handle=handle, keys="C-c").outcome == "ok"

    assert ended(call, handle)["exit_code"] == 5
    assert "interrupted" in output(call, handle)


@pytest.mark.parametrize("args", [{"action": "write", "text": "rm x\n"}, {"action": "send_keys", "keys": ["Enter"]}])
def test_input_is_refused_unless_the_policy_allows_it(build_call: Build, args: dict[str, Any]) -> None:
    """No rule sees what is typed into a shell."""
    call = build_call()
    handle = spawned(call, "sleep 60")

    result = call(args.pop("action"), handle=handle, **args)

    assert (result.outcome, result.reason) == ("denied", "input_not_allowed")


def test_input_that_nobody_reads_is_told(build_call: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call does not wait for ever for a program to read."""
    monkeypatch.setattr("toolcharter_process.actions.INPUT_S", 0.5)
    call = build_call({"allow_input": True})
    handle = spawned(call, "stty raw -echo; echo ready; sleep 60")
    until(lambda: "ready" in output(call, handle))
    started = time.monotonic()

    result = call("write", handle=handle, text="x" * 60_000)

    assert (result.outcome, result.reason) == ("error", "input_not_taken")
    assert time.monotonic() - started < 10


def test_input_has_a_limit(build_call: Build) -> None:
    """A long text is a matter for a file."""
    call = build_call({"allow_input": True})
    handle = spawned(call, "cat")

    assert call("write", handle=handle, text="x" * 65_537).reason == "input_not_taken"


def test_a_signal_is_sent(build_call: Build) -> None:
    """One that a program knows what to do with; it goes on."""
    call = build_call()
    handle = spawned(call, "trap 'echo told' USR1; echo ready; while :; do sleep 0.05; done")
    until(lambda: "ready" in output(call, handle))

    result = call("kill", handle=handle, signal="USR1")

    assert result.data["state"] == "running"
    until(lambda: "told" in output(call, handle))


def test_a_process_that_ignores_a_request_is_ended(build_call: Build) -> None:
    """TERM, a grace, KILL, with all that it started."""
    call = build_call()
    handle = spawned(call, "trap '' TERM; echo ready; sleep 61 & while :; do sleep 1; done")
    until(lambda: "ready" in output(call, handle))

    result = call("kill", handle=handle)

    assert (result.data["state"], result.data["signal"]) == ("ended", "SIGKILL")


def test_an_ended_process_can_be_ended_again(build_call: Build) -> None:
    """Nothing happens to it; signals are for those that run."""
    call = build_call()
    handle = spawned(call, "true")
    before = ended(call, handle)

    assert call("kill", handle=handle).data == {key: value for key, value in before.items() if key != "watches"}
    assert call("kill", handle=handle, signal="INT").reason == "not_running"


def test_a_pattern_is_watched_from_the_start(build_call: Build) -> None:
    """Nothing that is printed before the next call is missed."""
    call = build_call()
    started = call("spawn", command="echo one error; echo fine; printf 'error?'; sleep 60", pattern="(?i)ERR.r")
    handle = started.data["handle"]
    assert started.data["watches"] == [{"watch": "w1", "pattern": "(?i)ERR.r"}]

    seen: list[dict[str, Any]] = list(started.data.get("notices", ()))

    def has_all() -> bool:
        seen.extend(call("status", handle=handle).data.get("notices", ()))
        return len(seen) >= 2

    until(has_all)

    assert seen == [
        {"handle": handle, "watch": "w1", "event": "match", "text": "one error"},
        {"handle": handle, "watch": "w1", "event": "match", "text": "error?"},
    ]
    assert "notices" not in call("list").data


def test_an_end_comes_with_a_later_call(build_call: Build) -> None:
    """The text for the model says so, too."""
    call = build_call()
    handle = spawned(call, "sleep 0.4; exit 3")
    call("watch", handle=handle)

    told = until(lambda: (found := call("list")).data.get("notices") and found)

    notice = {"handle": handle, "watch": "w1", "event": "exit", "text": "exited, status 3"}
    assert (told.data["notices"], told.data["notices_dropped"]) == ([notice], 0)
    assert told.text.splitlines()[-1] == f"[notice] {handle} w1 exit: exited, status 3"


def test_more_notices_than_are_kept_are_counted(build_call: Build) -> None:
    """The latest are told, and how many there were before them."""
    call = build_call()
    handle = spawned(call, "sleep 0.5; seq 1 150; sleep 60", pattern="^[0-9]+$")
    until(lambda: output_of_disk(call, handle).endswith("150"))

    told = until(lambda: (found := call("list")).data.get("notices") and found)

    assert (len(told.data["notices"]), told.data["notices_dropped"]) == (100, 50)
    assert told.text.splitlines()[1] == "[notice] 50 earlier notices were dropped"


def output_of_disk(call: Call, handle: str) -> str:
    """What has been printed, without a call, which would take the notices."""
    [log] = Path(os.environ["XDG_STATE_HOME"]).rglob(f"{handle}.log")
    return log.read_text().strip()


def test_a_watch_can_be_ended(build_call: Build) -> None:
    """One by its name, or all of them."""
    call = build_call()
    handle = spawned(call, "sleep 60")
    for pattern in ("a", "b", ""):
        call("watch", handle=handle, pattern=pattern)

    assert call("unwatch", handle=handle, watch="w2").data["watches"] == [
        {"watch": "w1", "pattern": "a"},
        {"watch": "w3", "pattern": ""},
    ]
    assert call("unwatch", handle=handle, watch="w2").reason == "unknown_watch"
    assert call("unwatch", handle=handle).data["watches"] == []


@pytest.mark.parametrize(
    ("action", "args", "reason"),
    [
        ("spawn", {}, "missing_argument"),
        ("spawn", {"command": " \n"}, "missing_argument"),
        ("status", {}, "missing_argument"),
        ("write", {"handle": "p-00000000"}, "missing_argument"),
        ("status", {"handle": "p-00000000"}, "unknown_handle"),
        ("log", {"handle": "../../etc/passwd"}, "unknown_handle"),
        ("watch", {"handle": "p-00000000", "pattern": "("}, "invalid_pattern"),
        ("watch", {"handle": "p-00000000", "pattern": "x" * 1001}, "invalid_pattern"),
        ("spawn", {"command": "true", "pattern": "("}, "invalid_pattern"),
        ("send_keys", {"handle": "p-00000000", "keys": "Entre"}, "invalid_keys"),
        ("fly", {}, "invalid_arguments"),
    ],
)
def test_a_malformed_call_is_an_error(build_call: Build, action: str, args: dict[str, str], reason: str) -> None:
    """Each with its own reason; nothing is started."""
    call = build_call({"allow_input": True})

    result = call(action, **args)

    assert (result.outcome, result.reason) == ("error", reason)
    assert call("list").data["processes"] == []


def test_there_are_so_many_watches(build_call: Build) -> None:
    """At the limit, and one past it."""
    call = build_call({"max_watches": 1})
    handle = spawned(call, "sleep 60")

    assert call("watch", handle=handle).outcome == "ok"
    assert call("watch", handle=handle).reason == "too_many_watches"


@pytest.mark.parametrize(
    ("args", "seen"),
    [
        pytest.param({"action": "spawn", "command": "ls; rm x"}, Invocation("spawn", ("ls; rm x",)), id="spawn"),
        pytest.param({"action": "spawn", "command": ""}, Invocation("spawn"), id="nothing"),
        pytest.param({"action": "kill", "command": "ls"}, Invocation("kill"), id="another action"),
    ],
)
def test_rules_see_the_line_that_runs(args: dict[str, str], seen: Invocation) -> None:
    """As with `bash`; what only looks after processes runs nothing."""
    assert invocation(args) == seen


def test_a_model_is_not_shown_what_it_may_not_do(open_box: Callable[..., Any]) -> None:
    """The actions for input are offered where the policy allows them."""
    shown = [
        open_box(policy)["background_process"].parameters["properties"]["action"]["enum"]
        for policy in ({}, {"allow_input": True})
    ]

    assert set(shown[1]) - set(shown[0]) == {"write", "send_keys"}
    assert set(shown[1]) == set(SPEC.capabilities or ())


def test_a_narrow_screen_shows_no_secret(build_call: Build, workspace: Path) -> None:
    """The terminal breaks it into lines, none of which is known for a secret."""
    token = "ghp_" + "Ab3dEf6hIj9lMn2pQr5tUv8xYz1BcD4FgH7k"
    (workspace / "notes").write_text(f"{token}\n")
    call = build_call()
    handle = spawned(call, "cat notes; echo done; sleep 60", columns=10, rows=30)
    until(lambda: "done" in call("log", handle=handle).text)

    shown = call("capture", handle=handle)

    assert (token in shown.data["screen"].replace("\n", ""), "[REDACTED]" in shown.data["screen"]) == (False, True)


def test_the_last_lines_of_a_key_are_masked(build_call: Build, workspace: Path) -> None:
    """A key is known by its first line, which `lines` leaves out."""
    body = ["Qx7k9B" * 10 + str(number) * 4 for number in range(8)]
    kind = "PRIVATE KEY-----"
    (workspace / "notes").write_text("\n".join([f"-----BEGIN {kind}", *body, f"-----END {kind}", "done", ""]))
    call = build_call()
    handle = spawned(call, "cat notes; sleep 60")
    until(lambda: "done" in call("log", handle=handle).text)

    assert body[-1] not in call("log", handle=handle, lines=4).text
