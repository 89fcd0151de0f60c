"""What goes wrong around a command, through the gate: clear errors, nothing hangs, nothing is left."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.descriptors import open_descriptors

from toolcharter import Toolbox, ToolResult, build_tools

MANY = 1000
MANY_SANDBOXES = 200  # A thousand take 20 s, and `make soak` runs ten thousand.
RUNNERS = [
    "host",
    pytest.param("bwrap", marks=pytest.mark.needs_program("bwrap", package="bubblewrap")),
]
OpenBox = Callable[..., Toolbox]


@pytest.fixture
def open_box(workspace: Path, tmp_path: Path) -> Iterator[OpenBox]:
    """Open a toolbox whose `bash` runs whatever is understood."""
    with ExitStack() as stack:

        def build(runner: str, folder: Path = workspace, **policy: int) -> Toolbox:
            written = {"profile": "test", "mode": "dangerous", "runner": runner, "tools": {"bash": policy}}
            profile = tmp_path / "profile.yaml"
            profile.write_text(json.dumps(written))
            return stack.enter_context(build_tools(profile, workspace=folder, events=_ignore))

        yield build


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, with room for 256 KiB and few files."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k,nr_inodes=20", "none", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_full_disk_is_told_and_can_be_emptied(open_box: OpenBox, small_disk: Path, runner: str) -> None:
    """By the program that wrote; and the next one runs."""
    box = open_box(runner, small_disk)

    full = box.call("bash", {"command": "head -c 1000000 /dev/zero > big"})
    emptied = box.call("bash", {"command": "rm big; ls -A"})

    assert (full.outcome, full.reason, "No space left on device" in full.text) == ("error", "nonzero_exit", True)
    assert emptied.outcome == "ok"
    assert list(small_disk.iterdir()) == []


@pytest.mark.needs_program("bwrap", package="bubblewrap")
def test_a_disk_without_room_for_a_sandbox_is_told(open_box: OpenBox, small_disk: Path) -> None:
    """What protects a path that does not exist needs a folder there; without it nothing runs."""
    box = open_box("bwrap", small_disk)
    for number in range(19):
        (small_disk / str(number)).touch()

    refused = box.call("bash", {"command": "touch new"})
    for number in range(3):  # for `.git`, `.toolcharter` and `profiles`
        (small_disk / str(number)).unlink()
    after = box.call("bash", {"command": "echo room"})

    assert (refused.outcome, refused.reason) == ("error", "tool_error")
    assert refused.message == "bash could not be run: No space left on device."
    assert after.text == "room\n"
    assert len(list(small_disk.iterdir())) == 16


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_command_that_hears_no_request_is_killed(open_box: OpenBox, runner: str) -> None:
    """At the end of its time, with all that it started; what it printed is told."""
    number = f"81{os.getpid()}"
    line = f"trap '' TERM; echo deaf; setsid sleep {number} & sleep {number}; sleep {number}"

    box = open_box(runner)
    # On a busy machine the time may be over before the line has begun.
    for timeout_ms in (500, 5000, 50_000):
        began = time.monotonic()
        result = box.call("bash", {"command": line, "timeout_ms": timeout_ms})
        if "deaf\n" in result.text:
            break

    assert (result.outcome, result.reason, "deaf\n" in result.text) == ("error", "timed_out", True)
    assert time.monotonic() - began < timeout_ms / 1000 + 60
    assert _living("sleep", number) == []


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_hundred_megabytes_are_cut(open_box: OpenBox, runner: str) -> None:
    """Of each stream the beginning is kept, and the program is not kept waiting."""
    line = "head -c 100000000 /dev/zero; head -c 100000000 /dev/zero >&2"

    result = open_box(runner, max_output_bytes=5000).call("bash", {"command": line})

    assert (result.outcome, result.exit_code, result.data["truncated"]) == ("ok", 0, True)
    assert (len(result.data["stdout"]), len(result.data["stderr"])) == (5000, 5000)


@pytest.mark.needs_program("bwrap", package="bubblewrap")
def test_a_fork_bomb_meets_its_limit(open_box: OpenBox, workspace: Path) -> None:
    """In the sandbox, and is gone with it."""
    number = f"82{os.getpid()}"
    (workspace / "bomb").write_text(f"f() {{ f | f & }}; f; sleep {number}\n")

    box = open_box("bwrap", max_processes=64)
    # A busy machine may need longer until there are as many as may be.
    for timeout_ms in (3000, 60_000):
        result = box.call("bash", {"command": "bash bomb", "timeout_ms": timeout_ms})
        if "Resource temporarily unavailable" in result.text:
            break

    assert (result.outcome, result.reason) in {("error", "timed_out"), ("error", "nonzero_exit")}
    assert "Resource temporarily unavailable" in result.text
    assert _wait_until(lambda: not _living("bash", "bomb") and not _living("sleep", number))


def test_a_thousand_calls_at_a_time_all_succeed(open_box: OpenBox, workspace: Path) -> None:
    """From asynchronous code; each has its own output."""
    box = open_box("host")
    box.call("bash", {"command": "true"})
    before = open_descriptors()

    async def all_of_them() -> list[ToolResult]:
        return await asyncio.gather(*(box.acall("bash", _echo(number)) for number in range(MANY)))

    texts = [result.text for result in asyncio.run(all_of_them())]

    assert texts == [f"{number}\n" for number in range(MANY)]
    assert (open_descriptors(), list(workspace.iterdir())) == (before, [])


@pytest.mark.needs_program("bwrap", package="bubblewrap")
def test_many_sandboxes_at_a_time_all_succeed(open_box: OpenBox, workspace: Path) -> None:
    """From as many threads; what protects the missing paths of the workspace is gone with the last of them."""
    box = open_box("bwrap")
    box.call("bash", {"command": "true"})
    before = open_descriptors()

    with ThreadPoolExecutor(MANY_SANDBOXES) as pool:
        results = pool.map(lambda number: box.call("bash", _echo(number)), range(MANY_SANDBOXES))
        texts = [result.text for result in results]

    assert texts == [f"{number}\n" for number in range(MANY_SANDBOXES)]
    assert (open_descriptors(), list(workspace.iterdir())) == (before, [])


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_call_that_is_cancelled_ends_its_command(open_box: OpenBox, runner: str) -> None:
    """With all that it started, long before its time is up."""
    number = f"83{os.getpid()}"
    box = open_box(runner)

    async def give_up() -> None:
        call = asyncio.create_task(box.acall("bash", {"command": f"setsid sleep {number} & sleep {number}"}))
        assert await asyncio.to_thread(_wait_until, lambda: len(_living("sleep", number)) == 2)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(give_up())

    assert _wait_until(lambda: _living("sleep", number) == [])
    assert box.call("bash", {"command": "echo on"}).text == "on\n"


PARENT = """
import sys
from toolcharter import build_tools
with build_tools(sys.argv[1], workspace=sys.argv[2], events=lambda event: None) as box:
    box.call("bash", {"command": sys.argv[3]})
"""


@pytest.mark.parametrize("runner", RUNNERS)
def test_the_death_of_the_harness_ends_its_commands(
    open_box: OpenBox, workspace: Path, tmp_path: Path, runner: str
) -> None:
    """Also those that hid, and what was made for them in the workspace."""
    number = f"84{os.getpid()}"
    open_box(runner)
    line = f"setsid sleep {number} & (sleep {number} &) ; sleep {number}"
    parent = subprocess.Popen([sys.executable, "-c", PARENT, tmp_path / "profile.yaml", workspace, line])
    assert _wait_until(lambda: len(_living("sleep", number)) == 3)

    parent.kill()

    parent.wait()
    assert _wait_until(lambda: not _living("sleep", number) and not list(workspace.iterdir()))
    assert _wait_until(lambda: not list(Path("/sys/fs/cgroup").glob(f"*/toolcharter-{parent.pid}-*")))


def _echo(number: int) -> dict[str, str | int]:
    return {"command": f"echo {number}", "timeout_ms": 300_000}


def _ignore(event: object) -> None:
    """These tests are not about events."""


def _wait_until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def _living(*argv: str) -> list[int]:
    """The processes with this command line that are no zombies."""
    wanted = b"".join(word.encode() + b"\0" for word in argv)
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _runs(entry, wanted)]


def _runs(entry: Path, wanted: bytes) -> bool:
    try:
        return (entry / "cmdline").read_bytes() == wanted
    except (FileNotFoundError, ProcessLookupError):
        return False
