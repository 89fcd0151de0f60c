"""Programs that go on at a worker while their tool returns: output, input, signals, and the end of each side."""

import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.nats.servers import NatsServer
from tests.waiting import until

from toolcharter import Denied, RunnerScope, Running, TerminalSize, ToolError, build_tools, runner_opener
from toolcharter_service.workers.process_bus import ProcessBus
from toolcharter_service.workers.remote import RemotePolicy, RemoteRunner
from toolcharter_service.workers.settings import OpenWorkspace, WorkerConfig, WorkerWorkspace
from toolcharter_service.workers.worker import Worker

from .machines import SOON_S, Machines, job

pytestmark = pytest.mark.slow


def read_until(running: Running, so_far: bytes = b"", *, end: bytes = b"") -> bytes:
    """Its output until that holds *end*, or is at its end."""
    limit = time.monotonic() + SOON_S
    while not end or end not in so_far:
        assert time.monotonic() < limit, f"it says {so_far[-200:]!r}"
        if select.select([running.fileno()], [], [], 0.2)[0]:
            piece = running.read(65_536)
            if not piece:
                break
            so_far += piece
    return so_far


def fed(running: Running, data: bytes) -> None:
    """Write all of *data*."""
    limit = time.monotonic() + SOON_S
    while data:
        assert time.monotonic() < limit, "it takes no input"
        taken = running.write(data)
        data = data[taken:]
        if not taken:
            time.sleep(0.005)


def lives(process: int) -> bool:
    """Whether it runs, and is not only a number of which its parent has not heard."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # The second if it goes while it is read.
        return False


@pytest.fixture(params=["process", "nats"])
def runner(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RemoteRunner]:
    """One with a worker: in this process, or over a server."""
    if request.param == "nats":
        machines: Machines = request.getfixturevalue("machines")
        machines.worker()
        yield machines.runner()
        return
    folder = tmp_path / "ws"
    folder.mkdir()
    bus = ProcessBus()
    settings = WorkerWorkspace(name="repo", tenant="acme", folder=str(folder), runner="host")
    config = WorkerConfig(bus="process:", slots=1, stop_s=1, workspaces=(settings,))
    worker = Worker(config, [OpenWorkspace(settings, folder, runner_opener("host", {}))], bus)
    working = threading.Thread(target=worker.run)
    working.start()
    policy = RemotePolicy(workspace="repo", tenant="acme", bus="process:", sandbox=False)
    opened = RemoteRunner(bus, policy, RunnerScope(tmp_path / "elsewhere"))
    yield opened
    worker.stop()
    working.join(SOON_S)
    opened.close()
    assert not working.is_alive()


def test_a_program_goes_on_and_is_heard_while_it_does(runner: RemoteRunner) -> None:
    """Output as it comes, input, a signal, and the exit code; a program that runs to its end has room beside it."""
    running = runner.start(job("sh", "-c", "echo one; echo two >&2; read line; echo got $line; exec sleep 60"))

    assert read_until(running, end=b"two\n") == b"one\ntwo\n"
    assert running.exit_code is None
    fed(running, b"some input\n")
    assert read_until(running, end=b"\n") == b"got some input\n"
    assert runner.run(job("echo", "beside")).stdout == b"beside\n"
    assert running.wait(0.01) is None
    running.signal(signal.SIGTERM)
    assert running.wait(SOON_S) == -signal.SIGTERM
    assert read_until(running) == b""
    assert (running.lost, running.write(b"more")) == (None, 0)
    running.close()
    running.close()
    assert running.read(100) == b""
    assert running.exit_code == -signal.SIGTERM


def test_much_goes_both_ways_whole_and_in_order(runner: RemoteRunner) -> None:
    """More than any window holds, whoever is the slower one."""
    lines = b"".join(b"%07d\n" % number for number in range(400_000))
    running = runner.start(job("cat"))
    feeding = threading.Thread(target=fed, args=(running, lines))
    feeding.start()
    echoed = b""
    while len(echoed) < len(lines):
        echoed = read_until(running, echoed, end=lines[-8:])
        if len(echoed) < len(lines):
            time.sleep(0.01)
    feeding.join(SOON_S)
    running.close()
    assert echoed == lines

    ending = runner.start(job("head", "-c", "3000000", "/dev/zero"))
    time.sleep(0.1)  # It has to wait for its reader, and its end waits with it.
    assert len(read_until(ending)) == 3_000_000
    assert ending.wait(SOON_S) == 0
    ending.close()


def test_a_program_has_a_terminal_of_its_own_size(runner: RemoteRunner) -> None:
    """And hears of another one; what it writes to standard error can be dropped."""
    watching = "trap 'stty size; exit 0' WINCH; stty size; while :; do sleep 0.05; done"
    running = runner.start(job("sh", "-c", watching), TerminalSize(20, 70))
    assert read_until(running, end=b"20 70")
    running.resize(TerminalSize(30, 90))
    assert b"30 90" in read_until(running, end=b"30 90")
    assert running.wait(SOON_S) == 0
    running.close()

    quiet = runner.start(job("sh", "-c", "echo no >&2; echo yes", drops_errors=True))
    assert read_until(quiet) == b"yes\n"
    quiet.close()


def test_what_cannot_start_is_told_at_once(machines: Machines) -> None:
    """By the worker, or because there is none."""
    with pytest.raises(Denied, match="No worker for the workspace 'repo' took the program in 1 s") as refused:
        machines.runner(claim_s=1.0).start(job("touch", "late"))
    assert refused.value.reason == "sandbox_unavailable"
    machines.worker()
    with pytest.raises(ToolError, match="no-such-program") as missing:
        machines.runner().start(job("no-such-program"))
    assert missing.value.reason == "program_not_found"
    with pytest.raises(Denied, match="'host' is no sandbox"):
        machines.runner(sandbox=True).start(job("true"))
    assert not (machines.workspace / "late").exists()


def test_a_worker_that_dies_takes_its_programs_with_it(machines: Machines) -> None:
    """It is told as lost within the lease; the output is at an end."""
    worker = machines.worker()
    # On a busy machine a short lease may be over before the program has begun.
    for lease_s in (2.0, 20.0):
        running = machines.runner(lease_s=lease_s).start(job("sh", "-c", "echo $$; exec sleep 60"))
        if read_until(running, end=b"\n"):
            break
    worker.kill()

    assert running.wait(SOON_S) == -signal.SIGKILL
    assert running.lost is not None
    assert (running.lost.reason, "its lease has expired" in running.lost.message) == ("worker_lost", True)
    assert read_until(running) == b""
    running.close()


def test_a_worker_that_is_stopped_ends_its_programs_in_order(machines: Machines) -> None:
    """They are told as ended, not as lost."""
    worker = machines.worker()
    running = machines.runner().start(job("sleep", "60"))
    worker.terminate()
    assert running.wait(SOON_S) == -signal.SIGTERM
    assert running.lost is None
    assert worker.wait(SOON_S) == 0


CALLER = """
import sys, time
from pathlib import Path
from toolcharter import Job, RunnerScope, open_bus
from toolcharter_service.workers.remote import RemotePolicy, RemoteRunner
policy = RemotePolicy(workspace="repo", tenant="acme", bus=sys.argv[1], sandbox=False, lease_s=5.0)
runner = RemoteRunner(open_bus(sys.argv[1]), policy, RunnerScope(Path("/elsewhere")))
job = Job(("sh", "-c", "echo $$ > begun.new; mv begun.new begun; exec sleep 60"), env={"PATH": "/usr/bin:/bin"})
if sys.argv[2] == "start":
    runner.start(job)
    time.sleep(60)
runner.run(job)
"""


@pytest.mark.parametrize("way", ["start", "run"])
def test_a_caller_that_dies_has_its_programs_ended(machines: Machines, way: str) -> None:
    """Those that go on, and those that are waited for; nothing of them is left on the bus but what ends by itself."""
    machines.worker()
    caller = subprocess.Popen([sys.executable, "-c", CALLER, machines.server.url, way])
    begun = machines.workspace / "begun"
    until(begun.exists)
    process = int(begun.read_text())
    assert lives(process)
    caller.kill()
    caller.wait(SOON_S)
    until(lambda: not lives(process))


def test_a_toolbox_that_closes_ends_its_programs(machines: Machines) -> None:
    """And waits for it."""
    machines.worker()
    runner = machines.runner()
    running = runner.start(job("sh", "-c", "echo $$; exec sleep 60"))
    process = int(read_until(running, end=b"\n"))
    runner.close()
    assert not lives(process)
    assert running.exit_code == -signal.SIGTERM


def test_programs_that_go_on_have_a_bound_and_take_no_room_of_the_others(machines: Machines) -> None:
    """One more waits for one of them to end, and is refused when it waited for too long."""
    machines.worker(going_on=1)
    runner = machines.runner()
    first = runner.start(job("sleep", "60"))
    with pytest.raises(Denied, match="No worker"):
        machines.runner(claim_s=2.0).start(job("true"))
    assert runner.run(job("true")).exit_code == 0
    first.close()
    second = runner.start(job("true"))
    assert second.wait(SOON_S) == 0


def test_a_worker_ends_what_has_had_its_time(machines: Machines) -> None:
    """The limit of its file holds for programs that go on, too."""
    machines.worker(limits={"timeout_s": 1})
    assert machines.runner().start(job("sleep", "60")).wait(SOON_S) == -signal.SIGTERM


def test_a_program_survives_that_the_bus_is_away_for_less_than_its_lease(machines: Machines) -> None:
    """What it wrote meanwhile comes late, and whole."""
    machines.worker()
    running = machines.runner(lease_s=60.0).start(
        job("sh", "-c", "echo begun; until [ -e go ]; do sleep 0.1; done; seq 20000; read line; echo $line; exit 3")
    )
    read_until(running, end=b"begun\n")
    machines.server.stop()
    (machines.workspace / "go").touch()
    fed(running, b"input\n")
    running.signal(signal.SIGCONT)
    machines.server.start()

    expected = b"".join(b"%d\n" % number for number in range(1, 20_001)) + b"input\n"
    assert read_until(running, end=b"input\n") == expected
    assert running.wait(SOON_S) == 3


def test_a_background_process_runs_on_a_worker(machines: Machines) -> None:
    """Its output is there while it runs, it takes input, and its end is told; that of its worker as `worker_lost`."""
    worker = machines.worker()
    here = machines.folder / "here"
    here.mkdir()
    (machines.folder / "p.yaml").write_text(
        "profile: p\nrunner: remote\ntools: {background_process: {allow_input: true}}\n"
        "allow: [background_process]\n"
        f"extensions: {{remote: {{workspace: repo, tenant: acme, bus: '{machines.server.url}', sandbox: false, "
        "lease_s: 5}}\n"
    )
    with build_tools(machines.folder / "p.yaml", workspace=here) as box:

        def call(action: str, **args: Any) -> Any:
            return box.call("background_process", {"action": action, **args})

        begun = call("spawn", command="echo from afar; cat")
        assert begun.outcome == "ok", begun.text
        handle = begun.data["handle"]
        until(lambda: "from afar" in call("log", handle=handle).text)
        assert call("status", handle=handle).data["state"] == "running"
        assert call("write", handle=handle, text="hello\n").outcome == "ok"
        until(lambda: "hello" in call("log", handle=handle).text)
        assert call("kill", handle=handle).outcome == "ok"
        until(lambda: call("status", handle=handle).data["state"] == "ended")

        other = call("spawn", command="sleep 60").data["handle"]
        worker.kill()
        until(lambda: call("status", handle=other).data["state"] == "ended")
        assert call("status", handle=other).data["ended"] == "worker_lost"


def test_an_mcp_server_runs_on_a_worker(machines: Machines, project_root: Path) -> None:
    """Its tools are listed and called; when its worker dies the call says so."""
    worker = machines.worker()
    program, orders = project_root / "tests/plugins/mcp_bridge/servers/raw.py", machines.workspace / "orders.json"
    orders.write_text('{"tools": [{"name": "echo"}]}')
    here = machines.folder / "here"
    here.mkdir()
    (machines.folder / "p.yaml").write_text(
        "profile: p\nrunner: remote\nallow: ['mcp:*']\nextensions:\n"
        f"  remote: {{workspace: repo, tenant: acme, bus: '{machines.server.url}', sandbox: false, lease_s: 5}}\n"
        "  mcp_bridge: {extend: true, mark_output: false, trust: first, servers: {raw: "
        f"{{command: '{sys.executable}', args: ['{program}', '{orders}']}}}}}}\n"
    )
    with build_tools(machines.folder / "p.yaml", workspace=here) as box:
        until(lambda: "mcp__raw__echo" in box)
        assert box.call("mcp__raw__echo", {"text": "from afar"}).outcome == "ok"
        worker.kill()
        until(lambda: "worker_lost" in box.call("mcp__raw__echo", {"text": "again"}).text)


def test_a_bus_that_is_gone_for_good_gives_its_programs_up(tmp_path: Path) -> None:
    """The worker has ended them, and the tool hears of it without hands."""
    machines = Machines(tmp_path)
    server: NatsServer = machines.server
    try:
        machines.worker()
        # On a busy machine a short lease may be over before the program has begun.
        for lease_s in (1.0, 20.0):
            running = machines.runner(lease_s=lease_s).start(job("sh", "-c", "echo $$; exec sleep 60"))
            if said := read_until(running, end=b"\n"):
                break
        process = int(said)
        server.stop()
        until(lambda: not lives(process))
        assert running.wait(2 * SOON_S) == -signal.SIGKILL
        assert running.lost is not None
        assert "the bus is unreachable" in running.lost.message
    finally:
        machines.close()
