"""The command as a process: pipes, signals, closed streams, terminals."""

import json
import os
import pty
import signal
import subprocess
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest

from .conftest import QUIET, calls_in, events_in, lines_of

pytestmark = pytest.mark.slow

CALL = b'{"tool": "echo", "args": {"word": "%s"}, "id": %d}\n'


def test_driver_gets_each_answer_before_it_asks_again(shell) -> None:
    """An agent in another language talks through two pipes, one line each way at a time."""
    process = shell.start("run", *QUIET, stdin=PIPE, stdout=PIPE)
    answers = []
    with process:
        for number in range(3):
            process.stdin.write(CALL % (b"hi", number))
            process.stdin.flush()
            answers.append(json.loads(process.stdout.readline())["id"])
        process.stdin.close()

    assert (answers, process.returncode) == ([0, 1, 2], 0)


def test_events_go_to_standard_error_by_default(shell) -> None:
    """Events and results keep apart."""
    process = shell.start("call", "echo", "word=hi", "-p", "./demo.yaml", stdout=PIPE, stderr=PIPE)

    output, errors = process.communicate()

    names = [event["event"] for event in calls_in(errors)]
    assert names == ["hook.tool.before", "hook.policy.before", "hook.tool.after"]
    assert (output, process.returncode) == (b'["hi", 1, false, [], null]\n', 0)


def test_closed_output_ends_quietly(shell) -> None:
    """Who stops reading is not told about it on standard error; not every line got an answer."""
    process = shell.start("run", *QUIET, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    process.stdin.write(CALL % (b"hi", 1))
    process.stdin.flush()
    process.stdout.readline()
    process.stdout.close()

    process.stdin.write(CALL % (b"hi", 2))
    _, errors = process.communicate()

    assert (errors, process.returncode) == (b"", 1)
    assert events_in(shell.desk)[-1] == "hook.tool.after"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["int", "term"])
def test_interrupt_ends_the_call_under_way(shell, number, status) -> None:
    """Ctrl-C or a supervisor's signal: a status of its own, no traceback, and the call's `after` is written."""
    process = shell.start("run", *QUIET, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    process.stdin.write(CALL % (b"hi", 1) + CALL % (b"sleep", 2))
    process.stdin.flush()
    process.stdout.readline()
    events = shell.desk / "events.jsonl"
    while events.read_bytes().count(b"\n") < 6:  # The first half of the second call is on disk.
        assert process.poll() is None

    process.send_signal(number)
    output, errors = process.communicate()

    last = calls_in(events.read_bytes())[-1]
    assert (output, errors, process.returncode) == (b"", b"", status)
    assert (last["event"], last["reason"]) == ("hook.tool.after", "cancelled")


def test_interrupt_while_it_waits_for_a_line(shell) -> None:
    """Ctrl-C between two calls ends it, too."""
    process = shell.start("run", *QUIET, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    process.stdin.write(CALL % (b"hi", 1))
    process.stdin.flush()
    process.stdout.readline()

    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()

    assert (errors, process.returncode) == (b"", 130)


def test_termination_where_it_is_ignored_ends_nothing(shell) -> None:
    """Who starts a command with SIGTERM ignored wants it to go on."""
    words = " ".join(["trap '' TERM; exec", *shell.command("run", *QUIET)])
    process = subprocess.Popen(words, shell=True, cwd=shell.desk, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(CALL % (b"hi", 1))
    process.stdin.flush()
    process.stdout.readline()

    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(CALL % (b"hi", 2))

    assert ([line["id"] for line in lines_of(output)], errors, process.returncode) == ([2], b"", 0)


def test_closed_streams_do_not_take_in_events(shell) -> None:
    """With standard error closed the events are lost, and are written into no other file."""
    command = [*shell.command("call", "echo", "word=hi", "-p", "./demo.yaml"), "2>&-"]

    ran = subprocess.run(" ".join(command), shell=True, cwd=shell.desk, stdout=PIPE, check=False)

    assert (ran.stdout, ran.returncode) == (b'["hi", 1, false, [], null]\n', 0)


def test_without_input_there_is_nothing_to_answer(shell) -> None:
    """A closed standard input is an empty one."""
    command = " ".join([*shell.command("run", *QUIET), "<&-"])

    ran = subprocess.run(command, shell=True, cwd=shell.desk, capture_output=True, check=False)

    assert (ran.stdout, ran.stderr, ran.returncode) == (b"", b"", 0)


def test_without_output_nobody_is_answered(shell) -> None:
    """A closed standard output ends it before a call is made, and says so."""
    command = " ".join([*shell.command("call", "echo", "word=hi", *QUIET), ">&-"])

    ran = subprocess.run(command, shell=True, cwd=shell.desk, stderr=PIPE, check=False)

    told = b"toolcharter: standard output cannot be written: it is closed\n"
    assert (ran.stderr, ran.returncode, (shell.desk / "events.jsonl").exists()) == (told, 1, False)


@pytest.mark.parametrize(
    "words",
    [("--version",), ("--help",), ("plugins",), ("reasons",), ("call", "echo", "word=hi", *QUIET), ("run", *QUIET)],
    ids=" ".join,
)
def test_full_output_is_told_in_one_line(shell, words) -> None:
    """What the device does not take is no traceback; the call's events are written all the same."""
    with Path("/dev/full").open("wb") as full:
        process = shell.start(*words, stdin=PIPE, stdout=full, stderr=PIPE)
        _, errors = process.communicate(CALL % (b"hi", 1))

    told = b"toolcharter: standard output cannot be written: [Errno 28] No space left on device\n"
    assert (errors, process.returncode) == (told, 1)
    assert "echo" not in words or events_in(shell.desk)[-1] == "hook.tool.after"


def on_a_terminal(shell, *words: str) -> tuple[str, str]:
    """Standard output, and what a terminal shows that has standard error."""
    master, slave = pty.openpty()
    process = shell.start(*words, stdin=DEVNULL, stdout=PIPE, stderr=slave)
    os.close(slave)
    output, _ = process.communicate()
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:  # Linux: the other end is closed.
        pass
    os.close(master)
    return output.decode(), shown.decode()


@pytest.mark.parametrize(
    ("words", "required", "is_shown"),
    [
        pytest.param((), False, False, id="unasked"),
        pytest.param(("--events", "stderr:"), False, True, id="asked"),
        pytest.param((), True, True, id="required by the profile"),
    ],
)
def test_a_person_sees_the_result_of_a_call_without_events(shell, words, required, is_shown) -> None:
    """`call` on a terminal writes events only where they are asked for, or the profile requires them."""
    profile = shell.desk / "demo.yaml"
    profile.write_text(profile.read_text() + ("events: {required: true}\n" if required else ""))

    output, shown = on_a_terminal(shell, "call", "echo", "word=hi", "-p", "./demo.yaml", *words)

    assert (output, "hook.tool.after" in shown) == ('["hi", 1, false, [], null]\n', is_shown)
    assert is_shown or shown == ""


def test_a_stream_on_a_terminal_keeps_its_events(shell) -> None:
    """`run` is for programs: its events go to standard error, whatever that is."""
    process = shell.start("run", "-p", "./demo.yaml", stdin=PIPE, stdout=PIPE, stderr=PIPE)

    _, errors = process.communicate(b'{"tool": "echo", "args": {"word": "hi"}}\n')

    assert len(errors.splitlines()) == 5


def test_terminal_gets_a_table(shell) -> None:
    """On a terminal rich draws; the escape sequences come from it alone."""
    master, slave = pty.openpty()
    process = shell.start("tools", *QUIET, stdin=DEVNULL, stdout=slave, stderr=DEVNULL)
    os.close(slave)
    drawn = b""
    try:
        while chunk := os.read(master, 65536):
            drawn += chunk
    except OSError:  # Linux: the other end is closed.
        pass
    process.wait()
    os.close(master)

    assert process.returncode == 0
    assert b"\x1b[1m" in drawn
    assert "─" in drawn.decode()
