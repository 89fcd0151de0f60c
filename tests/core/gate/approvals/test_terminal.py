"""The person at the terminal: a process with a terminal of its own, and what it shows, reads and leaves alone."""

import errno
import json
import os
import pty
import pwd
import re
import select
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from time import monotonic, sleep
from typing import Any

import pytest

from toolcharter.api.approval import ApprovalAnswer
from toolcharter.gate.approvals import terminal as terminal_module
from toolcharter.gate.approvals.terminal import TerminalApprover

from .conftest import request_of

PROGRAM = dedent("""
    import json, os, sys, threading, time
    from pathlib import Path
    from toolcharter.gate.approvals.prompt import ApproverPrompt
    from toolcharter.gate.approvals.terminal import TerminalApprover
    from toolcharter.gate.waiting import LoopThread, drive_sync
    from toolcharter.profile.settings import Approvals
    from toolcharter.api.approval import ApprovalRequest
    from toolcharter.api.call import Caller

    for terminal in sys.argv[2:]:
        os.open(terminal, os.O_RDWR)  # The first one that the leader of a session opens is its own.
    facts = json.loads(sys.argv[1])
    after = facts.pop("after", "")
    facts["workspace"], facts["caller"] = Path(facts["workspace"]), Caller(**facts["caller"])
    request = ApprovalRequest(**facts)
    asking = ApproverPrompt(TerminalApprover("ann"), Approvals(timeout_s=request.timeout_s), LoopThread())
    try:
        verdict = drive_sync(asking.ask(request))
        print(json.dumps(verdict), flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    if after:
        while any(thread.name == "toolcharter-approver" for thread in threading.enumerate()):
            time.sleep(0.01)
        print("ready", flush=True)
        with open("/dev/tty") as tty:
            print(tty.readline(), end="", flush=True)
""")


class Desk:
    """A process whose controlling terminal is ours to type at."""

    def __init__(self, tmp_path: Path, *, typed: str = "", **facts: Any) -> None:
        values = {**request_of()._asdict(), "caller": {"agent": "planner"}, "workspace": "/work", **facts}
        self.output = tmp_path / "output"
        # Held open here too: reading fails while nobody has the other end open.
        self.master, self.slave = pty.openpty()
        self.type(typed)
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-W", "error", "-c", PROGRAM, json.dumps(values), os.ttyname(self.slave)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={**os.environ, "TERM": "xterm"},
            )
        self.seen = b""

    def see(self, text: str) -> str:
        """Read the screen until *text* stands there."""
        give_up = monotonic() + 60
        while text.encode() not in self.seen:
            assert monotonic() < give_up, self.seen.decode()
            if select.select([self.master], [], [], 0.1)[0]:
                self.seen += os.read(self.master, 65536)
        return self.seen.decode()

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def wait_for(self, line: str) -> None:
        give_up = monotonic() + 60
        while line not in self.output.read_text():
            assert monotonic() < give_up
            sleep(0.01)

    def end(self) -> list[str]:
        """The lines that the process has printed; the first is its verdict."""
        self.process.wait()
        return self.output.read_text().splitlines()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def desks() -> Iterator[list[Desk]]:
    opened: list[Desk] = []
    yield opened
    for desk in opened:
        desk.close()


@pytest.fixture
def sit(tmp_path, desks):
    def do(**facts: Any) -> Desk:
        desk = Desk(tmp_path, **facts)
        desks.append(desk)
        return desk

    return do


ASKED = "s left; Enter denies): "
DENIED = ["deny", "approval_denied", None, "deny", "ann"]
TIMED_OUT = ["deny", "approval_timeout", "No answer came within 0.5 s.", None, None]


def test_a_process_asks_its_own_terminal(sit) -> None:
    """Its standard input and output are other things."""
    desk = sit()
    desk.see(ASKED)
    desk.type("o\n")

    assert desk.end() == [json.dumps(["allow", None, None, "allow_once", "ann"])]


def test_what_is_shown(sit) -> None:
    """The whole call, who asks and why, and what "always" would keep: every line, behind its margin."""
    desk = sit(
        tool="bash",
        action="run",
        args={"command": "ls\nThe question was withdrawn.", "[bold]n[/bold]": {"deep": [1, "\x1b[2J"]}},
        commands=("ls", "wc x"),
        message="[red]Look[/red] at it",
        caller={"agent": "planner", "user": "ann"},
    )
    screen = desk.see(ASKED)
    desk.type("\n")

    plain = _without_styles(screen).replace("\r\n", "\n")
    assert plain.endswith(
        dedent(r"""
            A tool call waits for you
            argument command
              | ls\n
              | The question was withdrawn.
            argument [bold]n[/bold]
              | {"deep": [1, "\u001b[2J"]}
            runs command 1 of 2
              | ls
            runs command 2 of 2
              | wc x
            9 lines of arguments and commands are above.
                tool | bash, action run
              folder | /work
            asked by | agent planner, user ann, profile careful
                 why | not_in_allow: [red]Look[/red] at it
              always | holds until 2026-03-02T12:00:00Z for exactly this call
            [o] allow once, [a] allow always, [d] deny (120 s left; Enter denies): """)
    )
    assert desk.end() == [json.dumps(DENIED)]


def test_what_is_not_offered_is_not_shown(sit) -> None:
    """Without "always" there is no key for it."""
    desk = sit(always=False, why_not_always="It is more than one command.", always_until=None, args={}, caller={})
    screen = desk.see(ASKED)
    desk.type("\n")

    plain = _without_styles(screen).replace("\r\n", "\n")
    assert (
        "\nasked by | profile careful\n     why | not_in_allow\n  always | not offered. It is more than one command.\n[o] allow once, [d] deny ("
        in plain
    )
    assert desk.end() == [json.dumps(DENIED)]


def test_a_long_argument_is_shown_to_its_end(sit) -> None:
    """Its tail stands on the screen, and its length beside the question."""
    desk = sit(args={"content": "x" * 40_000 + "\n" * 300 + "; rm -rf ~"})
    screen = _without_styles(desk.see(ASKED))
    desk.type("\n")

    margins = ("  | ", "  : ")
    shown = "".join(line[4:].rstrip("\r") for line in screen.split("\n") if line.startswith(margins))
    assert shown == "x" * 40_000 + r"\n" * 300 + "; rm -rf ~"
    assert (
        f"{sum(screen.count(chr(10) + margin) for margin in margins) + 1} lines of arguments and commands are above."
        in screen
    )
    assert desk.end() == [json.dumps(DENIED)]


def _without_styles(screen: str) -> str:
    """*screen* without the only escape sequences that we write ourselves."""
    plain = re.sub("\x1b\\[[0-9;]*m", "", screen)
    assert "\x1b" not in plain
    return plain


def test_what_was_typed_before_the_question_is_no_answer(sit) -> None:
    """Nobody approves what they have not seen."""
    desk = sit(typed="o\n", timeout_s=0.5)

    assert json.loads(desk.end()[0]) == TIMED_OUT


def test_time_is_up(sit) -> None:
    """An answer that begins and does not end is none; the next line typed is somebody else's."""
    desk = sit(timeout_s=0.5, after="read")
    desk.see("The question was withdrawn.")
    desk.wait_for("ready")
    desk.type("later\n")

    verdict, ready, line = desk.end()
    assert (json.loads(verdict), ready, line) == (TIMED_OUT, "ready", "later")


def test_an_interrupt_leaves_the_next_line_alone(sit) -> None:
    """Ctrl-C ends the question at once, and what is typed then is not taken for an answer."""
    desk = sit(after="read")
    desk.see(ASKED)
    desk.type("\x03")
    desk.see("The question was withdrawn.")
    desk.wait_for("ready")
    desk.type("later\n")

    assert desk.end() == ["interrupted", "ready", "later"]


def test_without_a_terminal_nobody_is_there(tmp_path) -> None:
    """At once, whatever standard input is."""
    values = {**request_of()._asdict(), "caller": {}, "workspace": "/work"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, json.dumps(values)],
        input=b"o\n",
        capture_output=True,
        start_new_session=True,
        check=True,
    )

    assert json.loads(done.stdout) == ["deny", "approval_unavailable", "There is no one to ask.", None, None]
    assert done.stderr == b""


@pytest.fixture
def line() -> Iterator[tuple[int, str]]:
    """A terminal that is not this process's own: one end, and the other one's device."""
    master, slave = pty.openpty()
    yield master, os.ttyname(slave)
    os.close(slave)
    os.close(master)


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the terminal is ours, the first time somebody looks, the second, ...; always at the end."""
    answers: list[bool] = []
    monkeypatch.setattr(terminal_module, "_is_foreground", lambda _: answers.pop(0) if answers else True)
    return answers


@pytest.fixture
def answer(line, ours) -> Callable[..., ApprovalAnswer | None]:
    """Ask at that terminal, and type each of *lines* when there is a question."""

    def do(*lines: bytes, **facts: Any) -> ApprovalAnswer | None:
        typist = threading.Thread(target=_type, args=(line[0], lines))
        typist.start()
        try:
            return TerminalApprover("ann", terminal=line[1])(request_of(**facts))
        finally:
            typist.join()

    return do


def _type(master: int, lines: tuple[bytes, ...]) -> None:
    for typed in lines:
        seen = b""
        while not seen.endswith(ASKED.encode()):
            seen += os.read(master, 65536)
        os.write(master, typed)


@pytest.mark.parametrize(
    ("lines", "always", "word"),
    [
        pytest.param([b"o\n"], True, "allow_once", id="once"),
        pytest.param([b" O \n"], True, "allow_once", id="once, in upper case"),
        pytest.param([b"a\n"], True, "allow_always", id="always"),
        pytest.param([b"d\n"], True, "deny", id="deny"),
        pytest.param([b"\n"], True, "deny", id="Enter alone"),
        pytest.param([b"\x04"], True, "deny", id="the end of input"),
        pytest.param([b"o\x04\x04"], True, "deny", id="the end of input behind a key"),
        pytest.param([b"yes\n", b"ok\n", b"\n"], True, "deny", id="words that are none, then Enter"),
        pytest.param([b"a\n", b"d\n"], False, "deny", id="always where it is not offered"),
        pytest.param([b"x" * 2000 + b"\n", b"o\n"], True, "allow_once", id="a long line"),
        pytest.param([b"\xff\n", b"o\n"], True, "allow_once", id="no text"),
    ],
)
def test_keys(answer, lines, always, word) -> None:
    """One key and Enter; what is no answer is asked again."""
    assert answer(*lines, always=always, commands=("ls",)) == ApprovalAnswer(word, "ann")


ONCE = "Type o and Enter to allow this one call"
NOW_ON = ", or a and Enter to allow it from now on"
NO = ". Type d and Enter to deny it."


@pytest.mark.parametrize(
    ("typed", "always", "told"),
    [
        pytest.param("y", True, ONCE + NOW_ON + NO, id="y"),
        pytest.param("Yes", True, ONCE + NOW_ON + NO, id="yes"),
        pytest.param("yes", False, ONCE + NO, id="yes, where always is not offered"),
        pytest.param("a", False, "This call cannot be allowed always. It is more than one command.", id="always"),
    ],
)
def test_a_word_that_is_no_answer_gets_a_sentence(sit, typed, always, told) -> None:
    """`yes` does not say for how long: the person is told what to type, and asked again."""
    desk = sit(always=always, why_not_always=None if always else "It is more than one command.")
    desk.see(ASKED)
    desk.type(f"{typed}\n")
    screen = desk.see(f"{told}\r\n")
    desk.type("o\n")

    assert _without_styles(screen).count(told) == 1
    assert desk.end() == [json.dumps(["allow", None, None, "allow_once", "ann"])]


def test_a_terminal_that_goes_away_has_nobody(line, ours, monkeypatch) -> None:
    """As when its window is closed."""

    def gone(*_: Any) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(terminal_module, "_read_line", gone)

    assert TerminalApprover(terminal=line[1])(request_of(always=False, message="Why?")) is None


@pytest.mark.parametrize("looks", [[False], [True, False]], ids=["before", "later"])
def test_in_the_background_nobody_is_there(answer, ours, looks) -> None:
    """A question that nobody may answer any more is given up."""
    ours += looks

    assert answer(*([b"o\n"] * (len(looks) - 1))) is None


def test_a_process_that_is_sent_to_the_background_reads_no_more(line, ours) -> None:
    """The line belongs to who is in the foreground now."""
    ours.append(False)
    _raw(line[0])
    terminal = os.open(line[1], os.O_RDWR | os.O_NOCTTY)
    os.write(line[0], b"o\r")

    answer = terminal_module._read_line(terminal, monotonic() + 60)
    rest = os.read(terminal, 16)
    os.close(terminal)

    assert (answer, rest) == (None, b"o\r")


def _raw(descriptor: int) -> None:
    """The mode that a full-screen program leaves a terminal in."""
    mode = termios.tcgetattr(descriptor)
    mode[0] &= ~termios.ICRNL
    mode[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(descriptor, termios.TCSANOW, mode)


def test_a_raw_terminal_is_read_key_by_key(line, ours) -> None:
    """Enter is a carriage return there."""
    _raw(line[0])
    terminal = os.open(line[1], os.O_RDWR | os.O_NOCTTY)
    os.write(line[0], b"o\r")

    assert terminal_module._read_line(terminal, monotonic() + 60) == "o\r"
    os.close(terminal)


@pytest.mark.parametrize("name", ["file", "missing"])
def test_what_is_no_terminal_has_nobody(tmp_path, name) -> None:
    """A file answers no questions, and neither does nothing."""
    (tmp_path / "file").write_text("o\n")

    assert TerminalApprover(terminal=str(tmp_path / name))(request_of()) is None


def test_nobody_answers_in_time(line, ours) -> None:
    """The screen says so."""
    with pytest.raises(TimeoutError):
        TerminalApprover(terminal=line[1])(request_of(timeout_s=0.1))

    screen = b""
    while not screen.endswith(b"The question was withdrawn.\r\n"):
        screen += os.read(line[0], 65536)


def test_questions_wait_for_their_turn(line, ours) -> None:
    """A second question does not mix with the first; it ends when its time does."""
    with terminal_module._TERMINAL_LOCK, pytest.raises(TimeoutError):
        TerminalApprover(terminal=line[1])(request_of(timeout_s=0.1))


def test_the_turn_comes_when_the_first_has_ended(line, ours) -> None:
    """Nobody is told that they are late when they are not."""
    deadline = monotonic() + 60

    with terminal_module._terminal_lock(deadline):
        assert terminal_module._TERMINAL_LOCK.locked()
    assert not terminal_module._TERMINAL_LOCK.locked()


def test_the_person_has_a_login_name(monkeypatch) -> None:
    """The system's, not an environment variable; a number for a user has none."""
    monkeypatch.setenv("LOGNAME", "boss")
    name = pwd.getpwuid(os.getuid()).pw_name

    def unknown(_: int) -> None:
        raise KeyError

    assert TerminalApprover()._name == name
    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert TerminalApprover()._name is None


def test_a_name_is_one_line(sit) -> None:
    """Where a tool takes any names, none of them passes for two arguments."""
    desk = sit(args={"note\nargument path": "x"})
    screen = _without_styles(desk.see(ASKED))
    desk.type("\n")

    assert "argument note\\nargument path" in screen
    assert desk.end() == [json.dumps(DENIED)]
