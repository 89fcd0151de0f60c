"""Processes that outlive their session: real ones, on real runners, under supervisors that are processes of their own."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.plugins.process.conftest import until

from toolcharter import Caller, ConfigurationError, Job, TerminalSize, Toolbox, ToolResult, build_tools
from toolcharter.guards.process import HostProgramRunner
from toolcharter_process import wire
from toolcharter_process.policy import ProcessPolicy
from toolcharter_process.process_table import new_record
from toolcharter_process.state import ProcessState, process_started, socket_name
from toolcharter_process.supervised import SupervisedProcess

BWRAP = pytest.mark.needs_program("bwrap", package="bubblewrap")
RUNNERS = [pytest.param("host", id="host"), pytest.param("bwrap", id="bwrap", marks=BWRAP)]
OpenBox = Callable[..., Toolbox]


@pytest.fixture
def profile(tmp_path: Path) -> Callable[..., Path]:
    """Write a profile that keeps processes."""

    def write(runner: str = "host", name: str = "test", **policy: Any) -> Path:
        tools = {"background_process": {"on_close": "keep", "allow_input": True, **policy}}
        path = tmp_path / f"{name}.yaml"
        path.write_text(json.dumps({"profile": name, "mode": "dangerous", "runner": runner, "tools": tools}))
        return path

    return write


@pytest.fixture
def open_box(workspace: Path, profile: Callable[..., Path]) -> Iterator[OpenBox]:
    """Open toolboxes; what they keep is ended with the test."""
    with ExitStack() as stack:

        def build(runner: str = "host", *, folder: Path = workspace, **policy: Any) -> Toolbox:
            path = profile(runner, **policy)
            return stack.enter_context(build_tools(path, workspace=folder, events=_ignore))

        yield build
    for pid in supervisors():
        os.kill(pid, signal.SIGTERM)
    until(lambda: not supervisors())


def supervisors() -> list[int]:
    """Those whose records lie in this test's state folder."""
    records = [json.loads(path.read_text()) for path in Path(os.environ["XDG_STATE_HOME"]).rglob("p-*.json")]
    pids = [one["harness_pid"] for one in records if one["kept"]]
    return [pid for pid in pids if "supervisor" in _command(pid)]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def use(box: Toolbox, action: str, *, caller: Caller | None = None, **args: Any) -> ToolResult:
    return box.for_caller(caller or Caller()).call("process", {"action": action, **args})


def spawned(box: Toolbox, command: str, **args: Any) -> str:
    result = use(box, "spawn", command=command, **args)
    assert result.outcome == "ok", result.text
    return str(result.data["handle"])


def state(box: Toolbox, handle: str, **args: Any) -> dict[str, Any]:
    data: dict[str, Any] = use(box, "status", handle=handle, **args).data
    return data


def unique(number: int) -> str:
    """What only one test sleeps for."""
    return f"{number}.{time.monotonic_ns() % 10**9:09d}"


def lives(marker: str) -> bool:
    found = subprocess.run(["ps", "-eo", "stat,args"], capture_output=True, text=True, check=True).stdout
    return any(f"sleep {marker}" in line and not line.startswith("Z") for line in found.splitlines())


def _ignore(_: object) -> None:
    """These tests are not about events."""


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_kept_process_is_had_again(open_box: OpenBox, runner: str) -> None:
    """A later toolbox sees it, types to it, draws it, and ends it with all that it started."""
    marker = unique(71)
    box = open_box(runner)
    handle = spawned(box, f"setsid sleep {marker} & echo begun; read x; echo got $x; sleep {marker}")
    until(lambda: use(box, "log", handle=handle).data["output"].startswith("begun"))
    box.close()
    assert lives(marker)

    box = open_box(runner)

    assert [one["state"] for one in use(box, "list").data["processes"]] == ["running"]
    assert use(box, "write", handle=handle, text="five\n").outcome == "ok"
    until(lambda: use(box, "capture", handle=handle).data["screen"] == "begun\nfive\ngot five")
    killed = use(box, "kill", handle=handle)
    assert (killed.data["state"], killed.data["ended"]) == ("ended", "killed")
    assert not lives(marker)
    until(lambda: not supervisors())


HARNESS = """
import sys, time
from toolcharter import build_tools
box = build_tools(sys.argv[1], workspace=sys.argv[2], events=lambda event: None)
print(box.call("process", {"action": "spawn", "command": sys.argv[3]}).data["handle"], flush=True)
time.sleep(60)
"""


def start_and_kill(profile: Path, workspace: Path, command: str) -> str:
    """The handle of a process whose harness was killed."""
    argv = [sys.executable, "-c", HARNESS, str(profile), str(workspace), command]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        handle = harness.stdout.readline().strip()
        harness.kill()
    return handle


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_kept_process_survives_the_death_of_the_harness(
    open_box: OpenBox, profile: Callable[..., Path], workspace: Path, runner: str
) -> None:
    """It goes on, and the next toolbox tells its end, however long ago that was."""
    marker = unique(72)
    line = f"sleep {marker} & while [ ! -e go ]; do sleep 0.05; done; exit 7"
    handle = start_and_kill(profile(runner), workspace, line)
    until(lambda: lives(marker))

    (workspace / "go").touch()

    until(lambda: not lives(marker))
    until(lambda: not supervisors())

    found = state(open_box(runner), handle)
    assert [found[key] for key in ("state", "ended", "exit_code")] == ["ended", "exited", 7]


def test_with_end_the_death_of_the_harness_is_that_of_its_processes(
    profile: Callable[..., Path], workspace: Path
) -> None:
    """Which is what happens unless the policy says otherwise."""
    marker = unique(73)

    start_and_kill(profile(on_close="end"), workspace, f"sleep {marker}")

    until(lambda: not lives(marker))


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_kept_process_has_so_much_time_and_no_more(open_box: OpenBox, workspace: Path, runner: str) -> None:
    """Its supervisor ends it, with what hides from it, while no toolbox is there."""
    marker = unique(74)
    box = open_box(runner, max_runtime_s=2.5)
    handle = spawned(box, f"trap '' TERM HUP; touch begun; setsid sleep {marker} & while :; do sleep {marker}; done")
    box.close()
    until((workspace / "begun").exists)

    until(lambda: not supervisors())

    assert not lives(marker)
    found = state(open_box(runner), handle)
    assert (found["ended"], found["signal"]) == ("expired", "SIGKILL")


@pytest.mark.parametrize("runner", RUNNERS)
def test_the_death_of_the_supervisor_is_that_of_its_process(open_box: OpenBox, runner: str) -> None:
    """Nothing goes on unsupervised, and nobody takes it for running."""
    marker = unique(75)
    box = open_box(runner)
    handle = spawned(box, f"setsid sleep {marker} & sleep {marker}")
    [supervisor] = supervisors()

    os.kill(supervisor, signal.SIGKILL)

    until(lambda: not lives(marker))
    until(lambda: state(box, handle)["state"] == "lost")
    assert use(box, "write", handle=handle, text="x").reason == "not_running"


def test_an_orderly_end_of_the_system_ends_kept_processes(open_box: OpenBox) -> None:
    """A supervisor that is asked to end does so, and tells."""
    box = open_box()
    handle = spawned(box, "sleep 60")

    os.kill(supervisors()[0], signal.SIGTERM)

    until(lambda: state(box, handle)["state"] == "ended")
    assert state(box, handle)["ended"] == "closed"


def test_limits_hold_when_the_session_is_over(open_box: OpenBox, state_home: Path) -> None:
    """Those of memory, and of the log on disk."""
    box = open_box(max_log_bytes=10_000, max_memory_bytes=2**30)
    handle = spawned(box, "sleep 0.5; seq 1 20000; ulimit -v")
    box.close()

    until(lambda: not supervisors())

    logs = [path.stat().st_size for path in state_home.rglob(f"{handle}.log*")]
    assert 4_000 < sum(logs) <= 10_000
    output = use(open_box(max_log_bytes=10_000), "log", handle=handle, lines=2).data["output"]
    assert output == f"20000\n{2**20}"


def test_files_of_kept_processes_are_the_users_alone(open_box: OpenBox, state_home: Path) -> None:
    """The socket among them, which goes with its process."""
    box = open_box()
    handle = spawned(box, "sleep 60")
    found = {path.name: path.stat().st_mode & 0o777 for path in state_home.rglob("p-*")}

    use(box, "kill", handle=handle)

    assert found == {f"{handle}{end}": 0o600 for end in (".json", ".log", ".sock")}
    until(lambda: not supervisors())
    assert not list(state_home.rglob("*.sock"))


def test_heirs_are_the_same_people_with_the_same_profile(open_box: OpenBox, tmp_path: Path) -> None:
    """While its toolbox is there, a process is its session's; after that it is for those who come in its place."""
    ann = Caller(session="one", user="ann")
    box = open_box()
    handle = spawned(box, "sleep 60", caller=ann)
    later = Caller(session="two", user="ann")
    others = [Caller(session="three", user="bob"), Caller(session="four"), Caller(session="two", user="ann", agent="x")]

    def may_see(toolbox: Toolbox, *callers: Caller) -> list[bool]:
        return [use(toolbox, "status", caller=one, handle=handle).outcome == "ok" for one in callers]

    assert may_see(box, ann, later, *others) == [True, False, False, False, False]
    second = open_box()
    assert may_see(second, ann, later) == [True, False]
    box.close()
    assert may_see(second, ann, later, *others) == [True, True, False, False, False]
    assert may_see(open_box(name="other"), later) == [False]
    (tmp_path / "elsewhere").mkdir()
    assert may_see(open_box(folder=tmp_path / "elsewhere"), ann, later) == [False, False]
    assert use(open_box(name="other"), "kill", caller=later, handle=handle).reason == "unknown_handle"
    assert use(second, "kill", caller=later, handle=handle).data["state"] == "ended"


def test_kept_processes_count(open_box: OpenBox) -> None:
    """Nobody gets more of them by closing and opening again."""
    box = open_box(max_processes=1)
    handle = spawned(box, "sleep 60")
    assert use(box, "spawn", command="true").reason == "too_many_processes"
    box.close()

    box = open_box(max_processes=1)

    assert use(box, "spawn", command="true").reason == "too_many_processes"
    use(box, "kill", handle=handle)
    last = use(box, "spawn", command="true")
    assert last.outcome == "ok", last.text


def test_watches_go_on(open_box: OpenBox, workspace: Path) -> None:
    """A later session is told what they saw, of what runs and of what has ended meanwhile."""
    box = open_box()
    line = "read x; echo ready; while [ ! -e go ]; do sleep 0.05; done; exit 3"
    handle = spawned(box, line, pattern="^ready")
    assert use(box, "watch", handle=handle).data["watch"] == "w2"
    assert use(box, "watch", handle=handle, pattern="x").data["watch"] == "w3"
    assert use(box, "unwatch", handle=handle, watch="w3").outcome == "ok"
    assert use(box, "unwatch", handle=handle, watch="w3").reason == "unknown_watch"
    box.close()

    box = open_box()
    assert state(box, handle)["watches"] == [{"watch": "w1", "pattern": "^ready"}, {"watch": "w2", "pattern": ""}]
    told = use(box, "write", handle=handle, text="\n").data.get("notices")
    told = told or until(lambda: use(box, "list").data.get("notices"))
    assert [one["text"] for one in told] == ["ready"]
    assert "notices" not in use(box, "list").data
    box.close()
    (workspace / "go").touch()
    until(lambda: not supervisors())

    told = use(open_box(), "list").data["notices"]

    assert [one["text"] for one in told] == ["exited, status 3"]
    assert "notices" not in use(open_box(), "list").data


def test_signals_reach_kept_processes(open_box: OpenBox) -> None:
    """Of a later toolbox, too."""
    box = open_box()
    handle = spawned(box, "trap 'exit 9' USR1; echo ready; while :; do sleep 0.05; done")
    until(lambda: use(box, "log", handle=handle).data["output"] == "ready")
    box.close()
    box = open_box()

    assert use(box, "kill", handle=handle, signal="USR1").outcome == "ok"

    until(lambda: state(box, handle)["state"] == "ended")
    assert state(box, handle)["exit_code"] == 9


def test_input_that_is_not_read_is_told(open_box: OpenBox) -> None:
    """A supervisor waits for nobody; the call does, as long as it may."""
    box = open_box()
    handle = spawned(box, "stty raw -echo; echo ready; sleep 60")
    until(lambda: use(box, "log", handle=handle).data["output"] == "ready")

    result = use(box, "write", handle=handle, text="x" * 60_000)

    assert (result.reason, state(box, handle)["state"]) == ("input_not_taken", "running")


def test_a_process_that_ends_at_once_is_told_as_any_other(open_box: OpenBox) -> None:
    """Its supervisor may leave between the look at it and the question: no call fails for that."""
    box = open_box()
    handles = [spawned(box, "true") for _ in range(6)]

    results = [use(box, "status", handle=handle) for _ in range(20) for handle in handles]

    assert {result.outcome for result in results} == {"ok"}


@pytest.fixture
def leaving(tmp_path: Path) -> Iterator[SupervisedProcess]:
    """A process whose supervisor hangs up on whoever asks, its end written."""
    folder = ProcessState(tmp_path / "state", tmp_path / "workspace")
    folder.prepare()
    record = new_record("a session", "true", TerminalSize())
    with wire.listen(folder.path(socket_name(record.handle))) as server:

        def leave() -> None:
            connection, _ = server.accept()
            record.ended, record.log_lost = "exited", True
            folder.save(record)
            connection.close()

        thread = threading.Thread(target=leave)
        thread.start()
        yield SupervisedProcess(record.model_copy(), folder)
        thread.join(60)


def test_one_that_ends_while_it_is_asked_has_no_watches(leaving: SupervisedProcess) -> None:
    """The question was right when it was asked."""
    assert leaving.list_watches() == []


def test_one_that_ends_while_it_is_ended_is_as_wanted(leaving: SupervisedProcess) -> None:
    """Nothing fails."""
    leaving.terminate("killed")

    assert leaving.record.ended == "exited"


def test_one_that_ends_while_it_is_looked_at_keeps_what_its_record_says(leaving: SupervisedProcess) -> None:
    """Its supervisor wrote there what it no longer says."""
    leaving.refresh()

    assert leaving.record.log_lost


def test_long_kept_processes_do_not_push_out_others(open_box: OpenBox) -> None:
    """What runs is never forgotten for want of room; what was lost may be."""
    box = open_box(max_records=1)
    running = spawned(box, "sleep 60")
    ended = spawned(box, "true")
    until(lambda: state(box, ended)["state"] == "ended")
    until(lambda: len(supervisors()) == 1)

    last = spawned(box, "sleep 60")

    assert {one["handle"] for one in use(box, "list").data["processes"]} == {running, last}


@pytest.mark.parametrize(
    ("forged", "seen"),
    [
        pytest.param({"harness_started": "1"}, "lost", id="its number used again"),
        pytest.param({"harness_pid": 2**22 + 1}, "lost", id="gone"),
        pytest.param({"harness_pid": -1}, "lost", id="no process"),
    ],
)
def test_a_record_that_lies_is_not_believed(open_box: OpenBox, state_home: Path, forged: Any, seen: str) -> None:
    """Nobody is asked, signalled or written to on its word."""
    box = open_box()
    handle = spawned(box, "sleep 60")
    record = next(state_home.rglob(f"{handle}.json"))
    true = record.read_text()
    record.write_text(json.dumps({**json.loads(true), **forged}))

    assert state(box, handle)["state"] == seen
    assert use(box, "write", handle=handle, text="x").reason == "not_running"
    assert use(box, "kill", handle=handle).data["state"] == seen
    record.write_text(true)
    assert state(box, handle)["state"] == "running"


def test_a_record_that_names_another_process_is_not_believed(open_box: OpenBox, state_home: Path) -> None:
    """One that has that number and that beginning, but does not listen there: it is left alone."""
    box = open_box()
    handle = spawned(box, "sleep 60")
    record = next(state_home.rglob(f"{handle}.json"))
    true = record.read_text()
    with subprocess.Popen(["sleep", "60"]) as innocent:
        forged = {"harness_pid": innocent.pid, "harness_started": process_started(innocent.pid)}
        record.write_text(json.dumps({**json.loads(true), **forged}))

        assert state(box, handle)["state"] == "elsewhere"
        assert use(box, "kill", handle=handle).data["state"] == "elsewhere"
        refused = use(box, "write", handle=handle, text="x")

        assert (refused.reason, innocent.poll()) == ("not_running", None)
        innocent.kill()
    record.write_text(true)


@pytest.mark.parametrize("torn", ["", "{", '{"handle": 1}', "\0" * 4096])
def test_a_torn_record_is_left_out(open_box: OpenBox, state_home: Path, torn: str) -> None:
    """And its process still ends in its time."""
    box = open_box(max_runtime_s=3.0)
    handle = spawned(box, "sleep 60")
    [supervisor] = supervisors()
    record = next(state_home.rglob(f"{handle}.json"))

    record.write_text(torn)

    assert use(box, "list").data["processes"] == []
    assert use(box, "kill", handle=handle).reason == "unknown_handle"
    until(lambda: "supervisor" not in _command(supervisor))
    assert state(box, handle)["ended"] == "expired"


ASKING = """
import json, os, socket, sys
folder = os.open(sys.argv[1], os.O_PATH)
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(f"/proc/self/fd/{folder}/{sys.argv[2]}.sock")
    try:
        connection.sendall(json.dumps({"do": "status"}).encode() + b"\\n")
        print("answered" if connection.recv(100) else "refused")
    except (BrokenPipeError, ConnectionResetError):
        print("refused")
"""


def test_programs_of_agents_are_not_answered(open_box: OpenBox, workspace: Path, state_home: Path) -> None:
    """They would send input that no policy has seen, also from a sandbox that may read the folder."""
    box = open_box()
    handle = spawned(box, "sleep 60")
    folder = next(state_home.rglob(f"{handle}.sock")).parent
    argv = (sys.executable, "-c", ASKING, str(folder), handle)
    host = HostProgramRunner(workspace)

    by_agent = host.run(Job(argv, env={"PATH": "/usr/bin:/bin"}, expires=time.monotonic() + 30))
    by_user = subprocess.run(argv, capture_output=True, check=True)

    host.close()
    assert (by_agent.stdout, by_user.stdout) == (b"refused\n", b"answered\n")


@pytest.mark.parametrize("runner", ["docker", None])
def test_a_runner_that_keeps_nothing_is_refused_at_the_start(tmp_path: Path, workspace: Path, runner: str) -> None:
    """Not when the first process is lost."""
    tools = {"background_process": {"on_close": "keep"}}
    path = tmp_path / "profile.yaml"
    extensions = {"docker": {"image": "debian:stable-slim"}} if runner else {}
    written = {"profile": "test", "runner": runner, "tools": tools, "extensions": extensions}
    path.write_text(json.dumps({key: value for key, value in written.items() if value}))

    with pytest.raises(ConfigurationError, match="on_close: keep is not supported by the runner"):
        build_tools(path, workspace=workspace, events=_ignore)


def test_a_kept_process_needs_an_end() -> None:
    """Without its session's, it is its time's."""
    with pytest.raises(ValidationError, match="needs max_runtime_s"):
        ProcessPolicy.from_profile({"on_close": "keep", "max_runtime_s": None})


def test_a_supervisor_that_cannot_start_its_process_says_why(open_box: OpenBox, workspace: Path) -> None:
    """In the words that a spawn of the toolbox's own would have; nothing is remembered."""
    box = open_box()
    workspace.rmdir()

    result = use(box, "spawn", command="true")

    assert (result.reason, result.message) == ("tool_error", "bash did not start: No such file or directory")
    assert use(box, "list").data["processes"] == []
    assert supervisors() == []
