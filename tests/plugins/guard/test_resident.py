"""The resident gate: real hooks, as agents start them, and real servers."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from toolcharter_guard import client

from .servers import end_servers

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="peers are known on Linux")]

PROFILE = """
profile: kept
tools: {{read_file: {{}}, bash: {{}}}}
runner: host
allow: ["bash:echo *"]
limits: {{calls_per_minute: {rate}}}
"""


class Project:
    """A project, its profile, and the hooks of an agent that works there."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        (self.root / "notes.txt").write_text("first\n")
        self.profile = folder / "kept.yaml"
        self.write(rate=10_000)
        self.lines = folder / "events.jsonl"
        self.runtime = Path(tempfile.mkdtemp(prefix="tc-"))  # the path of a socket has at most 107 bytes
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(client.SERVED_PREFIXES)},
            "XDG_RUNTIME_DIR": str(self.runtime),
            "XDG_STATE_HOME": str(folder / "state"),
        }
        self.words = [
            *("toolcharter", "guard", "hook", "claude-code", "--profile", str(self.profile)),
            *("--events", f"file:{self.lines}", "--workspace", str(self.root)),
        ]

    def write(self, *, rate: int, more: str = "") -> None:
        self.profile.write_text(PROFILE.format(rate=rate) + more)

    def hook(self, tool: str, session: str = "s", **args: Any) -> subprocess.CompletedProcess[str]:
        return self.raw(json.dumps({"tool_name": tool, "tool_input": args, "session_id": session, "tool_use_id": "c"}))

    def raw(self, message: str) -> subprocess.CompletedProcess[str]:
        """One hook, as the agent starts it."""
        command = [sys.executable, "-I", "-S", str(client.__file__), *self.words]
        given: dict[str, Any] = {"input": message, "capture_output": True, "text": True}
        return subprocess.run(command, cwd=self.root, env=self.environ, check=False, **given)

    @property
    def sockets(self) -> list[Path]:
        folder = self.runtime / "toolcharter"
        return sorted(folder.glob("*.sock")) if folder.exists() else []

    def opened(self) -> int:
        """How many toolboxes have been opened."""
        return sum('"toolbox.open"' in line for line in self.lines.read_text().splitlines())

    def wait(self, happened: Callable[[], object]) -> None:
        for _ in range(600):
            if happened():
                return
            time.sleep(0.05)
        raise TimeoutError

    def serve(self) -> None:
        """Have a server started by a first hook."""
        assert self.hook("Read", file_path=str(self.root / "notes.txt")).returncode == 0
        self.wait(lambda: self.sockets)

    def end(self, number: int = signal.SIGKILL) -> None:
        end_servers(self.profile, number)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path)
    yield made
    made.end()
    shutil.rmtree(made.runtime)


def denial(done: subprocess.CompletedProcess[str]) -> str:
    return str(json.loads(done.stdout)["hookSpecificOutput"]["permissionDecisionReason"])


def test_first_hook_starts_the_server_and_the_next_ask_it(project: Project) -> None:
    """The answers are those of a hook that judges by itself, and no other toolbox is opened."""
    alone = [project.hook("Read", file_path="/etc/passwd"), project.raw("no json")]
    project.wait(lambda: project.sockets)

    served = [project.hook("Read", file_path="/etc/passwd"), project.raw("no json")]
    allowed = project.hook("Bash", command="echo hi")

    assert [(one.returncode, one.stdout, one.stderr) for one in served] == [
        (one.returncode, one.stdout, one.stderr) for one in alone
    ]
    assert "path_outside_workspace" in denial(served[0])
    assert (served[1].returncode, served[1].stdout) == (2, "")
    assert (allowed.returncode, json.loads(allowed.stdout)) == (0, {})
    assert project.opened() == 2  # by the first hook and by the server: what is no message reaches no gate
    [path] = project.sockets
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_hooks_find_the_server_however_deep_the_folders_lie(project: Project) -> None:
    """The path of a socket is short, so the socket then lies below `/tmp`."""
    project.environ["XDG_RUNTIME_DIR"] = str(project.runtime / ("x" * 90))
    project.environ["PYTHONPATH"] = "."  # which the gate does not get, and so does not tell one from another

    def folder_entries() -> set[str]:
        folder = Path(client.socket_folder(project.environ))
        return {path.name for path in folder.glob("*.sock")} if folder.exists() else set()

    before = folder_entries()
    first = project.hook("Bash", command="echo hi")
    project.wait(lambda: folder_entries() - before)
    second = project.hook("Bash", command="echo hi")

    assert client.is_private(client.socket_folder(project.environ))
    assert (first.stdout.strip(), second.stdout.strip(), project.opened()) == ("{}", "{}", 2)


def test_fifty_hooks_at_once(project: Project) -> None:
    """Each gets its own answer, and each call has its events."""
    project.serve()

    with ThreadPoolExecutor(50) as threads:
        done = list(threads.map(lambda number: project.hook("Bash", session=f"s{number}", command="reboot"), range(50)))

    assert {one.returncode for one in done} == {0}
    assert {denial(one) for one in done} == {denial(done[0])}
    read = [json.loads(line) for line in project.lines.read_text().splitlines()]
    ends = [event["session"] for event in read if event["event"] == "hook.tool.after" and event["tool"] == "bash"]
    assert sorted(ends) == sorted(f"s{number}" for number in range(50))


def test_limits_hold_from_hook_to_hook(project: Project) -> None:
    """The toolbox is kept, and with it what it counts."""
    project.write(rate=3)
    project.serve()

    done = [project.hook("Bash", command="echo hi") for _ in range(4)]

    assert [one.stdout.strip() for one in done[:3]] == ["{}"] * 3
    assert "rate_limited" in denial(done[3])


def test_session_guards_hold_from_hook_to_hook(project: Project) -> None:
    """For each session of the agent's by itself."""
    project.write(rate=10_000, more="session_guards: {repeated_calls: {deny: 3}}\n")
    project.serve()

    done = [project.hook("Bash", command="echo hi") for _ in range(3)]
    other = project.hook("Bash", session="other", command="echo hi")

    assert [one.stdout.strip() for one in (*done[:2], other)] == ["{}"] * 3
    assert "repeated_call" in denial(done[2])


def test_call_ends_when_the_agent_says_so(project: Project) -> None:
    """By its second hook; what it never reports ends with the server, whose end by a signal leaves the event, too."""
    project.serve()

    def ends() -> list[tuple[str, str]]:
        read = [json.loads(line) for line in project.lines.read_text().splitlines()]
        served = [event for event in read if event["event"] == "hook.tool.after" and event["tool"] == "bash"]
        return [(event["session"], event["outcome"]) for event in served]

    said = {"tool_name": "Bash", "tool_input": {"command": "echo hi"}, "tool_use_id": "c"}
    for session in ("reported", "never"):
        assert project.raw(json.dumps({**said, "session_id": session})).stdout.strip() == "{}"
    before = ends()
    report = {**said, "session_id": "reported", "hook_event_name": "PostToolUse", "tool_response": {"stdout": "hi"}}
    assert project.raw(json.dumps(report)).stdout.strip() == "{}"
    reported = ends()
    project.end(signal.SIGTERM)
    project.wait(lambda: len(ends()) == 2)

    assert before == []
    assert reported == [("reported", "ok")]
    assert ends() == [("reported", "ok"), ("never", "error")]


@pytest.mark.parametrize("change", ["profile", "ceiling"])
def test_change_of_what_was_read_ends_the_server(project: Project, change: str) -> None:
    """The very next hook is judged by the new rules."""
    project.serve()
    assert project.hook("Bash", command="echo hi").stdout.strip() == "{}"

    if change == "profile":
        project.write(rate=10_000, more="deny: ['bash:echo *']\n")
    else:
        (project.root / ".toolcharter").mkdir()
        (project.root / ".toolcharter/policy.yaml").write_text("deny: ['bash:echo *']\n")

    assert "denied_by" in denial(project.hook("Bash", command="echo hi"))


def test_hook_of_another_environment_judges_by_itself(project: Project) -> None:
    """What may decide differently is another server's."""
    project.serve()
    project.environ["ALLOWED_TOOL_PERMS"] = "fs:read"

    assert "not" in denial(project.hook("Bash", command="echo hi"))
    assert project.opened() == 2


def answering(path: Path, said: bytes) -> socket.socket:
    """A listener that answers each question with *said*."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def answer() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                while peer.recv(1 << 16):
                    pass
                peer.sendall(said)

    ThreadPoolExecutor(1).submit(answer)
    return listener


def test_what_is_no_answer_lets_nothing_through(project: Project) -> None:
    """A server that breaks off, or is none: the hook judges by itself."""
    project.serve()
    [path] = project.sockets
    project.end()
    path.unlink()

    let_through: list[bytes] = []
    for said in (b"", b"0{}", b"0{}\0toolch", b"1{}" + client.ANSWER, client.ANSWER, b"no"):
        with answering(path, said) as listener:
            done = project.hook("Read", file_path="/etc/passwd")
            listener.shutdown(socket.SHUT_RDWR)
        path.unlink(missing_ok=True)
        if "path_outside_workspace" not in denial(done):
            let_through.append(said)

    assert let_through == []


def test_server_that_was_killed_is_replaced(project: Project) -> None:
    """Its socket is left over: the hook judges by itself."""
    project.serve()
    project.end()

    assert "path_outside_workspace" in denial(project.hook("Read", file_path="/etc/passwd"))


@pytest.mark.parametrize("how", ["open", "link"])
def test_folder_of_others_is_not_used(project: Project, tmp_path: Path, how: str) -> None:
    """Whoever could put a socket there could answer for the gate."""
    folder = project.runtime / "toolcharter"
    if how == "open":
        folder.mkdir(mode=0o777)
        folder.chmod(0o777)
    else:
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")

    done = project.hook("Read", file_path="/etc/passwd")
    served = serve(project)

    assert "path_outside_workspace" in denial(done)
    assert served.returncode == 2
    assert "is a link, or open to other users" in served.stderr
    assert project.sockets == []


def serve(project: Project, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "toolcharter", "guard", "serve", *options, "--", *project.words]
    return subprocess.run(command, cwd=project.root, env=project.environ, capture_output=True, text=True, check=False)


def test_socket_does_not_lie_in_the_workspace(project: Project) -> None:
    """There the agent could replace it."""
    project.words[-1] = str(project.runtime)

    served = serve(project)

    assert (served.returncode, "lies in the workspace" in served.stderr) == (2, True)


def test_idle_server_ends(project: Project) -> None:
    """And takes its socket with it."""
    assert serve(project, "--idle-s", "0.2").returncode == 0
    assert project.sockets == []


def test_server_of_a_broken_profile_says_why(project: Project) -> None:
    """It serves nothing."""
    project.write(rate=1, more="nonsense: 1\n")

    served = serve(project)

    assert (served.returncode, "unknown key 'nonsense'" in served.stderr) == (2, True)


def test_words_have_to_be_those_of_a_hook(project: Project) -> None:
    """Nothing else is served."""
    project.words = ["toolcharter", "call", "read_file"]

    served = serve(project)

    assert (served.returncode, "WORDS are the command of a hook" in served.stderr) == (2, True)


def test_the_program_for_hooks_loads_next_to_nothing(project: Project) -> None:
    """Agents wait for it: no site packages, no click, not even json."""
    code = (
        "import sys; before = set(sys.modules); "
        f"exec(open({str(client.__file__)!r}).read(), {{'__name__': 'x'}}); print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)

    loaded = set(done.stdout.split())
    assert {"binascii", "_socket"} <= loaded | set(sys.builtin_module_names)
    assert loaded.isdisjoint({"json", "pathlib", "socket", "subprocess", "site", "click", "toolcharter", "re"})
