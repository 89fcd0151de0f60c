"""The runner `remote` with real workers, as processes, over a real bus."""

import signal
import threading
import time
from pathlib import Path

import pytest
from tests.waiting import until

from toolcharter import Denied, Ended, ToolError, build_tools

from .machines import PATH, SOON_S, Machines, job

pytestmark = pytest.mark.slow


def test_a_program_runs_where_the_worker_is(machines: Machines) -> None:
    """With its arguments, environment and input, in the worker's folder; what it writes comes back whole."""
    machines.worker()
    runner = machines.runner()

    said = runner.run(job("sh", "-c", "pwd; cat; echo $NAME >&2; exit 3", stdin=b"input", env={**PATH, "NAME": "ada"}))
    large = runner.run(job("head", "-c", "600000", "/dev/zero"))
    cut = runner.run(job("head", "-c", "600000", "/dev/zero", max_output_bytes=1000))

    assert said == Ended(3, f"{machines.workspace}\ninput".encode(), b"ada\n", truncated=False, timed_out=False)
    assert (len(large.stdout), large.truncated) == (600_000, False)
    assert (len(cut.stdout), cut.truncated) == (1000, True)
    with pytest.raises(ToolError, match="no-such-program") as missing:
        runner.run(job("no-such-program"))
    assert missing.value.reason == "program_not_found"


def test_a_profile_runs_its_programs_on_workers(machines: Machines) -> None:
    """By `runner: remote`, through the gate."""
    machines.worker()
    here = machines.folder / "here"
    here.mkdir()
    (machines.folder / "p.yaml").write_text(
        f"profile: p\nrunner: remote\ntools: {{bash: {{}}}}\nallow: ['bash:echo *']\n"
        f"extensions: {{remote: {{workspace: repo, tenant: acme, bus: '{machines.server.url}', sandbox: false}}}}\n"
    )
    with build_tools(machines.folder / "p.yaml", workspace=here) as box:
        result = box.call("bash", {"command": "echo from afar"})
        denied = box.call("bash", {"command": "rm -r ."})

    assert (result.outcome, result.text.strip()) == ("ok", "from afar")
    assert denied.outcome == "denied"


def test_two_workers_share_the_jobs_and_none_runs_twice(machines: Machines) -> None:
    """Each of many jobs leaves one line."""
    machines.worker()
    machines.worker()
    runner = machines.runner()
    ended: list[Ended] = []

    def run(number: int) -> None:
        ended.append(runner.run(job("sh", "-c", f"echo {number} >> lines; echo $PPID")))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON_S)

    lines = (machines.workspace / "lines").read_text().split()
    assert sorted(map(int, lines)) == list(range(20))
    assert [one.exit_code for one in ended] == [0] * 20


def test_a_worker_that_dies_is_lost_within_its_lease_and_its_job_is_not_started_again(machines: Machines) -> None:
    """Not even by a worker that waits for jobs."""
    worker = machines.worker()
    lines, found = machines.workspace / "lines", list[ToolError]()

    def run() -> None:
        # On a busy machine a short lease may be over before the program has begun.
        for lease_s in (2.0, 20.0):
            with pytest.raises(ToolError) as lost:
                machines.runner(lease_s=lease_s).run(job("sh", "-c", "echo begun >> lines; sleep 600", seconds=600))
            if lines.exists():
                break
        found.append(lost.value)

    thread = threading.Thread(target=run)
    thread.start()
    until(lines.exists)
    machines.worker()
    worker.kill()
    thread.join(SOON_S)

    assert [error.reason for error in found] == ["worker_lost"]  # Long before the program's own time is over.
    time.sleep(1)
    assert lines.read_text() == "begun\n"


def test_a_worker_that_hangs_is_lost_and_ends_the_program_when_it_goes_on(machines: Machines) -> None:
    """What others take for dead does not go on behind their backs."""
    worker = machines.worker()
    begun = machines.workspace / "begun"

    def hang() -> None:
        until(begun.exists)
        worker.send_signal(signal.SIGSTOP)

    thread = threading.Thread(target=hang)
    thread.start()
    program = job("sh", "-c", "echo $$ > pid; mv pid begun; sleep 600", seconds=600)
    # On a busy machine a short lease may be over before the program has begun.
    for lease_s in (1.0, 20.0):
        with pytest.raises(ToolError, match="is lost: its lease has expired"):
            machines.runner(lease_s=lease_s).run(program)
        if begun.exists():
            break
    thread.join(SOON_S)
    process = int(begun.read_text())
    worker.send_signal(signal.SIGCONT)
    until(lambda: not Path(f"/proc/{process}").exists())


@pytest.mark.parametrize("ends", ["deadline", "cancel", "close"])
def test_the_end_of_a_call_reaches_the_worker(machines: Machines, ends: str) -> None:
    """Its deadline, its cancellation, and that of its toolbox: the program is gone then."""
    machines.worker()
    runner = machines.runner()
    begun = machines.workspace / "begun"
    program = job(
        "sh",
        "-c",
        "echo $$ > begun; sleep 600",
        seconds=10 if ends == "deadline" else 600,
        is_wanted=lambda: not (ends == "cancel" and begun.exists() and begun.read_text().endswith("\n")),
    )
    ended: list[Ended] = []
    thread = threading.Thread(target=lambda: ended.append(runner.run(program)))
    thread.start()
    until(lambda: begun.exists() and begun.read_text().endswith("\n"))
    if ends == "close":
        runner.close()
    thread.join(SOON_S)

    assert [one.timed_out for one in ended] == [True]
    until(lambda: not Path(f"/proc/{int(begun.read_text())}").exists())


def test_what_a_paused_bus_may_have_got_is_not_said_to_be_refused(machines: Machines) -> None:
    """A worker may run it as soon as the bus goes on: only what was never sent is denied as if nothing had happened."""
    runner = machines.runner()
    machines.worker()
    assert runner.run(job("true")).exit_code == 0
    machines.server.pause()
    try:
        with pytest.raises(ToolError, match="It is unknown whether a worker runs sh") as lost:
            runner.run(job("sh", "-c", "echo perhaps >> lines"))
    finally:
        machines.server.resume()

    assert lost.value.reason == "worker_lost"


def test_without_a_worker_nothing_starts_later_either(machines: Machines) -> None:
    """What was given up is withdrawn: a worker that comes then leaves it."""
    runner = machines.runner(claim_s=1.0)
    with pytest.raises(Denied, match="No worker for the workspace 'repo' took the program in 1 s") as refused:
        runner.run(job("sh", "-c", "echo late >> lines"))
    timed_out = runner.run(job("sh", "-c", "echo late >> lines", seconds=0.5))

    assert refused.value.reason == "sandbox_unavailable"
    assert timed_out.timed_out
    machines.worker()
    assert machines.runner().run(job("true")).exit_code == 0
    assert not (machines.workspace / "lines").exists()


def test_jobs_of_others_are_not_run(machines: Machines) -> None:
    """Another tenant's, or of another workspace."""
    machines.worker()
    for policy in ({"tenant": "zoo"}, {"workspace": "other"}):
        with pytest.raises(Denied, match="No worker"):
            machines.runner(claim_s=1.0, **policy).run(job("true"))


def test_a_worker_is_never_wider_than_it_was_set_up(machines: Machines) -> None:
    """Whatever a job says: of limits, folders, what it may write, and the sandbox it asks for."""
    (machines.workspace / "kept").mkdir()
    machines.worker(
        runner="bwrap", read_only=False, protected=["kept"], limits={"timeout_s": 10, "max_output_bytes": 100}
    )
    runner = machines.runner(sandbox=True)

    assert runner.run(job("sleep", "600", seconds=600)).timed_out
    assert len(runner.run(job("head", "-c", "1000", "/dev/zero")).stdout) == 100
    assert runner.run(job("touch", "kept/x")).exit_code != 0
    assert runner.run(job("touch", "x")).exit_code == 0
    assert (
        runner.run(job("ls", str(machines.folder))).stdout == b"ws\n"
    )  # The way to the folder, and nothing beside it.
    with pytest.raises(ToolError, match="is not relative to the workspace"):
        runner.run(job("true", cwd="../.."))


def test_a_worker_that_contains_nothing_refuses_what_wants_a_sandbox(machines: Machines) -> None:
    """As a runner on the spot would."""
    machines.worker(runner="host")
    with pytest.raises(Denied, match="'host' is no sandbox") as refused:
        machines.runner(sandbox=True).run(job("true"))
    assert refused.value.reason == "sandbox_unavailable"


def test_a_job_survives_that_the_bus_is_away_for_less_than_its_lease(machines: Machines) -> None:
    """And the next ones need no hands."""
    machines.worker()
    runner = machines.runner(lease_s=30.0)
    ended: list[Ended] = []
    thread = threading.Thread(
        target=lambda: ended.append(runner.run(job("sh", "-c", "touch begun; sleep 2; echo done")))
    )
    thread.start()
    until((machines.workspace / "begun").exists)
    machines.server.stop()
    time.sleep(2)
    with pytest.raises(Denied, match="No worker can be reached") as refused:
        runner.run(job("true"))
    assert refused.value.reason == "sandbox_unavailable"
    machines.server.start()
    thread.join(SOON_S)

    assert [one.stdout for one in ended] == [b"done\n"]
    assert runner.run(job("true")).exit_code == 0


def test_more_input_than_a_job_holds_is_refused(machines: Machines) -> None:
    """It has to fit into a message."""
    with pytest.raises(ToolError, match="more arguments and input than fit"):
        machines.runner().run(job("cat", stdin=b"x" * 600_000))


def test_a_worker_that_is_stopped_ends_in_order(machines: Machines) -> None:
    """What runs gets `stop_s`, and is told as ended; the process says 0."""
    worker = machines.worker()
    runner = machines.runner()

    def stop() -> None:
        until((machines.workspace / "begun").exists)
        worker.terminate()

    thread = threading.Thread(target=stop)
    thread.start()
    assert runner.run(job("sh", "-c", "touch begun; sleep 600")).timed_out
    thread.join(SOON_S)
    assert worker.wait(SOON_S) == 0
