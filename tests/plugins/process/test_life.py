"""Whose a process is, how long it lives, and what is left of it: after its end, its session, its toolbox."""

import errno
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError
from tests.plugins.process.conftest import Call, ended, spawned, until
from tests.rows import failing_rows

from toolcharter import ConfigurationError, TerminalSize, Toolbox, ToolError
from toolcharter_process import managed, process_table, register_tools
from toolcharter_process.managed import ManagedProcess
from toolcharter_process.output_loop import OutputLoop
from toolcharter_process.policy import ProcessPolicy
from toolcharter_process.process_table import new_record
from toolcharter_process.state import Log, ProcessState, process_started
from toolcharter_process.watches import Notices

Build = Callable[..., Call]


def lives(marker: str) -> bool:
    """Whether any process has *marker* among its arguments."""
    found = subprocess.run(["ps", "-eo", "stat,args"], capture_output=True, text=True, check=True).stdout
    return any(marker in line and not line.startswith("Z") for line in found.splitlines())


def files(state_home: Path) -> list[Path]:
    return sorted(path for path in state_home.rglob("*") if path.is_file())


def test_another_sessions_processes_are_not_seen(build_call: Build) -> None:
    """A handle is worth nothing in other hands, nor are notices told to them."""
    call = build_call()
    handle = spawned(call, "sleep 60", session="ann")
    call("watch", handle=handle, session="ann")

    for action in ("status", "log", "capture", "kill", "watch", "unwatch"):
        assert call(action, handle=handle, session="bob").reason == "unknown_handle"
    assert call("status", handle=handle, session="ann", tenant="acme").reason == "unknown_handle"
    assert call("list", session="bob").data == {"processes": []}
    assert call("list", session="bob").text == "There are no processes."
    call("kill", handle=handle, session="ann", signal="KILL")
    ended(call, handle, session="ann")
    assert "notices" not in call("list", session="bob").data


def test_a_session_has_so_many_processes(build_call: Build) -> None:
    """At the limit, one past it, and again when one has ended; others do not count."""
    call = build_call({"max_processes": 1})
    handle = spawned(call, "sleep 60", session="ann")

    refused = call("spawn", command="true", session="ann")
    assert (refused.outcome, refused.reason) == ("denied", "too_many_processes")
    assert call("spawn", command="true", session="bob").outcome == "ok"
    call("kill", handle=handle, session="ann")
    assert call("spawn", command="true", session="ann").outcome == "ok"


def test_nothing_survives_the_toolbox(open_box: Callable[..., Toolbox]) -> None:
    """Neither a process nor what it has put into the background or a session of its own."""
    box = open_box()
    marker = f"61.{time.monotonic_ns() % 10**9:09d}"
    for _ in range(3):
        line = f"setsid sleep {marker} & trap '' HUP TERM; sleep {marker} & (sleep {marker} &); wait"
        assert box.call("process", {"action": "spawn", "command": line}).outcome == "ok"
    until(lambda: lives(marker))

    box.close()

    assert not lives(marker)


def test_what_a_process_leaves_behind_ends_with_it(build_call: Build) -> None:
    """A program in the background does not outlive the line that started it."""
    call = build_call()
    marker = f"62.{time.monotonic_ns() % 10**9:09d}"

    handle = spawned(call, f"trap '' HUP; (setsid sleep {marker} &) ; sleep 0.3; echo done")

    assert ended(call, handle)["exit_code"] == 0
    assert not lives(marker)


def test_records_and_logs_are_read_after_a_restart(
    open_box: Callable[..., Toolbox], build_call: Build, state_home: Path
) -> None:
    """A new toolbox knows what ended, how, and what it printed."""
    box = open_box()
    done = box.call("process", {"action": "spawn", "command": "echo hello; exit 4"}).data["handle"]
    until(lambda: box.call("process", {"action": "status", "handle": done}).data["state"] == "ended")
    cut = box.call("process", {"action": "spawn", "command": "echo begun; sleep 60"}).data["handle"]
    until(lambda: "begun" in box.call("process", {"action": "log", "handle": cut}).text.splitlines())
    box.close()
    call = build_call()

    listed = {one["handle"]: one for one in call("list").data["processes"]}

    assert [listed[done][key] for key in ("state", "ended", "exit_code")] == ["ended", "exited", 4]
    assert [listed[cut][key] for key in ("state", "ended", "exit_code")] == ["ended", "closed", -15]
    assert call("log", handle=done).data["output"] == "hello"
    assert call("capture", handle=cut).data["screen"] == "begun"
    assert call("watch", handle=done).reason == "not_running"
    assert failing_rows(files(state_home), lambda path: path.stat().st_mode & 0o077 == 0) == []


def record_of(state_home: Path, handle: str) -> Path:
    return next(path for path in files(state_home) if path.name == f"{handle}.json")


@pytest.mark.parametrize(
    ("harness", "state"),
    [
        pytest.param({"harness_pid": 2**22 + 1, "harness_started": "1"}, "lost", id="gone"),
        pytest.param({"harness_pid": os.getppid(), "harness_started": "1"}, "lost", id="its number used again"),
        pytest.param(
            {"harness_pid": os.getppid(), "harness_started": process_started(os.getppid())}, "elsewhere", id="there"
        ),
    ],
)
def test_a_process_whose_end_nobody_saw_is_told(
    build_call: Build, state_home: Path, harness: dict[str, Any], state: str
) -> None:
    """A harness that was killed could write nothing; one that lives may still have it."""
    call = build_call()
    handle = spawned(call, "true")
    ended(call, handle)
    record = record_of(state_home, handle)
    values = json.loads(record.read_text())
    record.write_text(json.dumps({**values, **harness, "ended": None, "ended_at": None, "exit_code": None}))
    # The toolbox has the process in mind until a moment after the record of its end was written.
    until(lambda: call("status", handle=handle).data["state"] != "ended")

    result = call("status", handle=handle)

    assert result.data["state"] == state
    assert result.text == f"{handle} {state}: true"
    assert call("kill", handle=handle).data["state"] == state


def test_the_death_of_the_harness_leaves_nothing_running(workspace: Path, state_home: Path, tmp_path: Path) -> None:
    """Its processes end with it, and the next one finds them lost."""
    marker = f"63.{time.monotonic_ns() % 10**9:09d}"
    script = tmp_path / "harness.py"
    script.write_text(
        "import sys, time\n"
        "from pathlib import Path\n"
        "from types import SimpleNamespace\n"
        "from toolcharter import Caller\n"
        "from toolcharter.guards.process import GovernedRunner, HostProgramRunner\n"
        "from toolcharter_process.actions import Request, spawn\n"
        "from toolcharter_process.process_table import ProcessTable\n"
        "from toolcharter_process.policy import ProcessPolicy\n"
        "ws = Path(sys.argv[1])\n"
        "host = HostProgramRunner(ws)\n"
        "run = GovernedRunner(lambda: host, ws, deadline=lambda: float('inf'), check=lambda: None)\n"
        "rt = SimpleNamespace(caller=Caller(), on_close=lambda callback: None, spawn=run.spawn)\n"
        "processes = ProcessTable(ws, ProcessPolicy(), rt)\n"
        "from toolcharter import TerminalSize\n"
        f"process = processes.spawn(processes.session(), 'sleep {marker}', TerminalSize(), '')\n"
        "print(process.record.handle, flush=True)\n"
        "time.sleep(60)\n"
    )
    harness = subprocess.Popen([sys.executable, str(script), str(workspace)], stdout=subprocess.PIPE, text=True)
    assert harness.stdout is not None
    with harness.stdout:
        handle = harness.stdout.readline().strip()
        until(lambda: lives(marker))
        harness.kill()
        harness.wait()

    until(lambda: not lives(marker))
    assert record_of(state_home, handle).exists()


def test_a_process_has_so_much_time(build_call: Build) -> None:
    """It is ended when its time is up, and its record says so."""
    call = build_call({"max_runtime_s": 0.3})

    status = ended(call, spawned(call, "sleep 60"))

    assert (status["ended"], status["signal"]) == ("expired", "SIGTERM")


def test_processes_end_with_a_session_that_is_silent(build_call: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that calls keeps its processes; one that does not for too long is over."""
    passed_s = 0.0
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + passed_s)
    monkeypatch.setattr(process_table, "time", clock)
    monkeypatch.setattr(managed, "time", clock)
    call = build_call({"session_timeout_s": 1000})
    kept = spawned(call, "sleep 60", session="ann")
    left = spawned(call, "sleep 60", session="bob")

    passed_s = 600.0
    assert call("status", handle=kept, session="ann").data["state"] == "running"
    passed_s = 1200.0
    until(lambda: _ended_as(left) == "abandoned")
    assert call("status", handle=kept, session="ann").data["state"] == "running"


def _ended_as(handle: str) -> Any:
    # Not by a call, which would keep the session.
    [record] = [path for path in _records() if path.stem == handle]
    return json.loads(record.read_text())["ended"]


def _records() -> list[Path]:
    return list(Path(os.environ["XDG_STATE_HOME"]).rglob("*.json"))


def test_processes_may_live_until_the_toolbox_closes(build_call: Build) -> None:
    """Where the policy sets no time, none is up."""
    call = build_call({"session_timeout_s": None, "max_runtime_s": None})

    handle = spawned(call, "sleep 60")

    time.sleep(0.3)
    assert call("status", handle=handle).data["state"] == "running"


def test_a_log_keeps_the_latest(build_call: Build, state_home: Path) -> None:
    """On disk there is never more than the policy says, and the end is always among it."""
    call = build_call({"max_log_bytes": 10_000})

    handle = spawned(call, "seq 1 20000")

    ended(call, handle)
    logs = [path for path in files(state_home) if ".log" in path.name]
    assert 4_000 < sum(path.stat().st_size for path in logs) <= 10_000
    assert call("log", handle=handle, lines=2).data["output"] == "19999\n20000"


def test_much_output_does_not_keep_others_waiting(build_call: Build) -> None:
    """One process that never stops printing is one among several, and waits for its reader."""
    call = build_call()
    noisy = spawned(call, "yes")
    quick = spawned(call, "sleep 1; echo hello")
    before = time.process_time()

    ended(call, quick)

    assert time.process_time() - before < 0.8

    assert call("log", handle=quick).data["output"] == "hello"
    assert call("kill", handle=noisy).data["state"] == "ended"


def test_a_process_without_its_terminal_is_still_attended(build_call: Build) -> None:
    """One that has closed its streams is noticed when it ends, and costs no time meanwhile."""
    call = build_call()
    handle = spawned(call, "exec <&- >&- 2>&-; sleep 0.7; exit 6")
    before = time.process_time()

    assert ended(call, handle)["exit_code"] == 6
    assert time.process_time() - before < 0.5


def test_so_many_ended_processes_are_remembered(build_call: Build, state_home: Path) -> None:
    """The oldest are forgotten, with their logs; what runs is not."""
    call = build_call({"max_records": 2})
    running = spawned(call, "sleep 60")
    handles = []
    for _ in range(3):
        handles.append(spawned(call, "echo x"))
        ended(call, handles[-1])

    last = spawned(call, "echo x")

    assert {one["handle"] for one in call("list").data["processes"]} == {running, handles[-1], last}
    assert not [path for path in files(state_home) if path.name.startswith(handles[0])]


def test_records_that_somebody_has_spoilt_are_left_out(build_call: Build, state_home: Path) -> None:
    """Neither a record without sense nor one under another's name is believed."""
    call = build_call()
    handle = spawned(call, "true")
    ended(call, handle)
    record = record_of(state_home, handle)
    (record.parent / "p-00000001.json").write_text("{")
    (record.parent / "p-00000002.json").write_text(record.read_text())
    (record.parent / "p-00000003.json").symlink_to(record)
    (record.parent / "other").write_text("x")

    assert [one["handle"] for one in call("list").data["processes"]] == [handle]


@pytest.mark.parametrize("name", ["ws/state", "ws", "link", "link/state", "ws/link/out", "out/../ws/state"])
def test_no_toolbox_keeps_its_state_in_the_workspace(
    build_call: Build, workspace: Path, tmp_path: Path, name: str
) -> None:
    """Tools could write what is to be believed later; a link counts by where it leads, and by where it lies."""
    (tmp_path / "link").symlink_to(workspace)
    (tmp_path / "out").mkdir()
    (workspace / "link").symlink_to(tmp_path)
    folder = tmp_path / name

    with pytest.raises(ConfigurationError) as refused:
        build_call({"state_dir": f"{tmp_path}/{name}"})

    (fault,) = refused.value.faults
    assert (fault.path, fault.fix) == ("tools.background_process", "Name a place outside the workspace.")
    assert fault.what == f"{str(folder)!r} lies in the workspace, where tools can write."
    assert not (workspace / "state").exists()


def test_state_beside_the_workspace_is_kept(build_call: Build, tmp_path: Path) -> None:
    """Also in the folder that holds the workspace."""
    assert build_call({"state_dir": str(tmp_path)})("spawn", command="true").outcome == "ok"


def test_state_that_comes_to_lie_in_the_workspace_is_not_believed(
    build_call: Build, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's own folder of state, or a link that leads elsewhere by the time of the call: then the call fails."""
    (tmp_path / "link").symlink_to(tmp_path)
    moved = build_call({"state_dir": str(tmp_path / "link")})
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(workspace)
    monkeypatch.setenv("XDG_STATE_HOME", str(workspace / "state"))

    for call in (moved, build_call()):
        result = call("spawn", command="true")
        assert (result.outcome, result.reason) == ("error", "state_unavailable")


def test_state_that_others_can_write_is_refused(build_call: Build, tmp_path: Path) -> None:
    """So is a folder that cannot be made."""
    folder = tmp_path / "mine"
    call = build_call({"state_dir": str(folder)})
    spawned(call, "true")
    [inner] = folder.iterdir()
    inner.chmod(0o777)
    refused = call("spawn", command="true")
    (tmp_path / "file").write_text("")
    unmade = build_call({"state_dir": str(tmp_path / "file")})("spawn", command="true")

    assert (refused.reason, unmade.reason) == ("state_unavailable", "state_unavailable")
    assert "cannot be made" in unmade.text


@pytest.mark.parametrize("name", ["", "processes"])
def test_state_in_a_folder_that_others_can_write_is_refused(build_call: Build, state_home: Path, name: str) -> None:
    """They could put another folder in the place of ours; the message says which folder it is, and what to do."""
    call = build_call()
    spawned(call, "true")
    outer = state_home / "toolcharter" / name
    outer.chmod(0o777)

    refused = call("spawn", command="true")

    why = f"their folder lies in {str(outer)!r}, which others can write to. Check what is in it, then: chmod go-w."
    assert (refused.reason, refused.text) == (
        "state_unavailable",
        f"ERROR: Processes cannot be recorded: {why}",
    )


@pytest.mark.parametrize(
    ("variables", "accounts", "where"),
    [
        pytest.param({"XDG_STATE_HOME": "relative", "HOME": "/home/ann"}, True, "/home/ann/.local/state", id="home"),
        pytest.param({"HOME": "relative"}, True, "/home/bob/.local/state", id="account"),
        pytest.param({}, False, None, id="nowhere"),
    ],
)
def test_state_lies_where_users_keep_it(
    variables: dict[str, str],
    accounts: bool,  # noqa: FBT001 - a column of the table
    where: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As the XDG specification says; without a home the policy has to say where."""
    import pwd  # noqa: PLC0415 - only here

    from toolcharter_process import state  # noqa: PLC0415 - only here

    class Account:
        pw_dir = "/home/bob"

    def account(_: int) -> Account:
        if not accounts:
            raise KeyError
        return Account()

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.delenv("HOME")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(pwd, "getpwuid", account)

    if where is None:
        with pytest.raises(ToolError, match="no home folder"):
            state.default_folder()
    else:
        assert state.default_folder() == Path(where) / "toolcharter/processes"


def test_a_full_disk_loses_output_and_nothing_else(build_call: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process goes on, its result says that output was lost, and its end is still known."""
    call = build_call()
    handle = spawned(call, "sleep 0.5; echo hello; exit 3")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Log, "append", full)
    monkeypatch.setattr("toolcharter_process.state.ProcessState.save", full)

    status = ended(call, handle)
    assert (status["exit_code"], status["log_lost"]) == (3, True)
    refused = call("spawn", command="true")
    assert (refused.outcome, refused.reason) == ("error", "state_unavailable")
    assert "No space left" in refused.text


@pytest.mark.parametrize("breaks", ["", "\n", "\r\n", "\r"])
def test_a_log_has_nothing_of_a_line_whose_beginning_is_lost(tmp_path: Path, breaks: str) -> None:
    """Nobody knows half a secret for one, nor a secret without the name before it, wherever the log was cut."""
    state = ProcessState(tmp_path / "state", tmp_path / "ws")
    state.path("").mkdir(parents=True)
    name, secret = "password=", "Xk29vLq8ZpT4wRm7"

    for padding, rest, most in itertools.product(range(0, 80, 3), (10, 40, 90), (40, 64)):
        log = Log(state.path("p-00000000.log"), 64)
        log.append(f"{'x' * padding}{breaks}{name}{secret}{breaks}{'y' * rest}\nend\n".encode())
        log.close()
        shown = state.log("p-00000000", most).decode()
        state.forget("p-00000000")

        assert (secret[-6:] in shown) <= (name + secret in shown), (padding, rest, most)
        assert len(shown) <= most
        assert shown.endswith("end\n")


def test_a_log_shows_no_secret_without_its_name(build_call: Build) -> None:
    """The same, asked for by a call."""
    call = build_call({"max_log_bytes": 4096})
    handle = spawned(call, f"printf %02038d 1; echo; echo password={'Xk29vLq8ZpT4wRm7'}; printf %02100d 2")

    ended(call, handle)

    assert "wRm7" not in call("log", handle=handle).data["output"]


def test_a_log_of_one_line_begins_where_the_cursor_is_put(tmp_path: Path) -> None:
    """A program that draws a screen breaks no lines."""
    state = ProcessState(tmp_path / "state", tmp_path / "ws")
    state.path("").mkdir(parents=True)
    log = Log(state.path("p-00000000.log"), 64)
    for number in range(40):
        log.append(f"\x1b[{number};1Hrow {number}".encode())
    log.close()

    shown = state.log("p-00000000", 64)

    assert shown.startswith(b"\x1b[")
    assert shown.endswith(b"\x1b[39;1Hrow 39")


def test_a_log_that_cannot_begin_anew_goes_on_when_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Meanwhile each line fails, and the end does not."""
    log = Log(tmp_path / "a.log", 8)
    log.append(b"1234")

    def full(_: Path) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("toolcharter_process.state._new_file", full)
        for _ in range(2):
            with pytest.raises(OSError, match="No space"):
                log.append(b"5678")
        log.close()

    log.append(b"90")
    log.close()

    assert [(tmp_path / name).read_bytes() for name in ("a.log.1", "a.log")] == [b"1234", b"90"]


def test_what_has_ended_is_left_alone(tmp_path: Path) -> None:
    """Its number may be another's by now."""
    done = Done()
    log = Log(tmp_path / "a.log", 4096)
    process = ManagedProcess(
        done, new_record("s", "true", TerminalSize()), ProcessState(tmp_path / "state", tmp_path), log, Notices()
    )
    assert process.take_output(is_readable=False)

    process.signal(15)
    process.terminate("killed")

    assert process.take_output(is_readable=True)
    assert process.write(b"x", 0.0) == 0
    assert (done.signals, process.record.ended, process.is_saved) == ([], "exited", False)


def test_what_has_ended_before_it_has_owner_to_is_left_alone(tmp_path: Path) -> None:
    """Its descriptor is closed, and the number may be another's by now."""
    log = Log(tmp_path / "a.log", 4096)
    record = new_record("s", "true", TerminalSize())
    process = ManagedProcess(Done(), record, ProcessState(tmp_path / "state", tmp_path), log, Notices())
    process.take_output(is_readable=False)
    output_loop = OutputLoop()

    output_loop.add(process)
    until(lambda: not output_loop._new)
    output_loop.close()

    assert (output_loop.running(), output_loop.find(record.handle)) == ([], process)


class Done:
    """A program that has ended."""

    exit_code = 0
    lost = None

    def __init__(self) -> None:
        self.signals: list[int] = []

    def fileno(self) -> int:
        return -1

    def read(self, max_bytes: int) -> bytes:
        return b""

    def write(self, data: bytes) -> int:
        return len(data)

    def resize(self, size: TerminalSize) -> None:
        """Nothing."""

    def signal(self, number: int) -> None:
        self.signals.append(number)

    def wait(self, timeout_s: float) -> int | None:
        return 0

    def close(self) -> None:
        """Nothing."""


def test_a_command_that_cannot_start_leaves_no_record(build_call: Build, state_home: Path) -> None:
    """The runner's refusal is the answer."""

    class Refusing:
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

        def spawn(self, *args: Any, **options: Any) -> Any:
            raise ToolError("no", reason="program_not_found")

    result = build_call(wrap=Refusing)("spawn", command="true")

    assert (result.outcome, result.reason, files(state_home)) == ("error", "program_not_found", [])


def test_a_runner_that_fails_loses_its_process_and_no_other(build_call: Build) -> None:
    """What can no longer be told of a process is said to be lost."""

    class Failing:
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

        def spawn(self, argv: Any, **options: Any) -> Any:
            running = self._inner.spawn(argv, **options)
            return Broken(running) if argv[-1] == "sleep 60" else running

    class Broken:
        exit_code = None

        def __init__(self, running: Any) -> None:
            self.fileno = running.fileno
            self._running = running

        def read(self, _: int) -> bytes:
            raise ToolError("the daemon is gone")

    call = build_call(wrap=Failing)
    lost, kept = spawned(call, "sleep 60"), spawned(call, "sleep 0.3; echo hello")

    assert (ended(call, lost)["ended"], ended(call, kept)["exit_code"]) == ("lost", 0)
    assert call("status", handle=lost).text == f"{lost} ended (lost): sleep 60"


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"env_names": ["GIT_DIR"]}, "would change"),
        ({"environment": {"a b": "x"}}, "no name"),
        ({"environment": {"A": "\0"}}, "holds NUL"),
        ({"state_dir": "relative"}, "not an absolute path"),
    ],
)
def test_a_policy_without_sense_is_refused(policy: dict[str, Any], said: str) -> None:
    """A profile's mistake stops the start, not a call."""
    with pytest.raises(ValidationError, match=said):
        ProcessPolicy.from_profile(policy)


def test_variables_are_those_of_the_policy(build_call: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the harness's own a process sees what the policy names."""
    monkeypatch.setenv("PASSED", "one")
    monkeypatch.setenv("KEPT", "two")
    call = build_call({"env_names": ["PASSED", "ABSENT"], "environment": {"FIXED": "three"}})

    handle = spawned(call, 'echo "$PASSED $KEPT $FIXED ${ABSENT-none}"')

    ended(call, handle)
    assert call("log", handle=handle).data["output"] == "one  three none"


def test_the_distribution_has_one_tool() -> None:
    """Under the name that its entry point has."""
    assert [(spec.name, spec.aliases) for spec in register_tools()] == [("background_process", ("process",))]
