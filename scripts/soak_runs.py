"""Run many programs on every available runner, and prove that they leave nothing behind.

    python scripts/soak_runs.py --runs 10000 [--runner host] [--runner bwrap] [--runner docker --image IMAGE]

Programs of all kinds take turns: programs that end, leave daemons behind, exceed their time, or try to change protected
paths. Afterwards there must be no process, mount, control group, container, file or descriptor that was not there
before. The script compares the time of the last runs with that of the first, and ends with status 1 if anything is
left.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from toolcharter import Denied, Job, ProcessLimits, ProgramRunner, RunnerScope, ToolError, lazy
from toolcharter.guards.process import HostProgramRunner

if TYPE_CHECKING:
    from toolcharter_bwrap import policy as bwrap_policy
    from toolcharter_bwrap import runner as bwrap_runner
    from toolcharter_docker import policy as docker_policy
    from toolcharter_docker import runner as docker_runner
else:  # plugins, which may not be installed
    bwrap_policy = lazy("toolcharter_bwrap.policy")
    bwrap_runner = lazy("toolcharter_bwrap.runner")
    docker_policy = lazy("toolcharter_docker.policy")
    docker_runner = lazy("toolcharter_docker.runner")

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
PROTECTED = (".toolcharter", "sub/profile.yaml")
THREADS = 4
SETTLE_S = 20.0
# Unrelated processes come and go; no other command line contains this sleeping time.
NAP = f"6{os.getpid()}"
DAEMONS = f"setsid sleep {NAP} & env -i setsid sleep {NAP} </dev/null >/dev/null 2>&1 & exit 3"
# On the host, it would succeed.
INTRUSION = "mkdir .toolcharter sub/profile.yaml; "
# Every n-th run is a program of that kind; the last number is its time limit, in seconds.
KINDS: tuple[tuple[int, str, float], ...] = (
    (500, f"trap '' TERM; sleep {NAP}", 0.2),
    (50, DAEMONS, 30),
    (20, f"{INTRUSION}head -c 3000000 /dev/zero", 30),
    (1, "exit 0", 30),
)
Snapshot = Mapping[str, frozenset[str]]


def main() -> int:
    """Soak each runner; return the number of runners that left something behind."""
    parser = argparse.ArgumentParser(
        description="Run many programs on every available runner, and prove that they leave nothing behind."
    )
    parser.add_argument("--runs", type=int, default=10_000, help="programs on each runner")
    parser.add_argument("--runner", action="append", choices=sorted(OPENERS), help="by default, every available runner")
    parser.add_argument("--image", help="the image for docker; without it, docker is left out")
    asked = parser.parse_args()
    names = asked.runner or [name for name in OPENERS if is_present(name, asked.image)]
    return sum(not soak(name, asked.runs, asked.image) for name in names)


def is_present(name: str, image: str | None) -> bool:
    """Whether the programs that a runner needs are installed."""
    return {"host": True, "bwrap": shutil.which("bwrap") is not None, "docker": image is not None}[name]


def soak(name: str, runs: int, image: str | None) -> bool:
    """Run *runs* programs on one runner; return whether nothing is left behind."""
    with tempfile.TemporaryDirectory() as place:
        workspace = Path(place).resolve() / "workspace"
        workspace.mkdir()
        before = snapshot(workspace)
        runner = OPENERS[name](RunnerScope(workspace, PROTECTED), image)
        with ThreadPoolExecutor(THREADS) as pool:
            told = list(pool.map(partial(time_run, runner), range(runs)))
        runner.close()
        left = wait_until_clean(workspace, before)
    times = [seconds for seconds in told if seconds is not None]
    if not times:
        print(f"{name}: all {runs} runs were refused")
        return False
    tenth = max(1, len(times) // 10)
    pace = statistics.median(times[-tenth:]) / statistics.median(times[:tenth])
    counts = f"{len(times)} runs, {runs - len(times)} refused"
    print(f"{name}: {counts}; the last tenth takes {pace:.2f} x the first; left behind: {describe(left)}")
    return not left


def time_run(runner: ProgramRunner, number: int) -> float | None:
    """Run program *number*; return its seconds, or None for a refusal, which must not leave anything behind, either."""
    _, script, seconds = next(kind for kind in KINDS if number % kind[0] == 0)
    if not runner.is_sandbox:
        script = script.removeprefix(INTRUSION)
    started = time.monotonic()
    try:
        runner.run(Job(("sh", "-c", script), env=ENVIRONMENT, expires=started + seconds, limits=LIMITS))
    except (Denied, ToolError):
        return None
    return time.monotonic() - started


def wait_until_clean(workspace: Path, before: Snapshot) -> list[str]:
    """Return what is left behind, after the system had time to remove what has ended."""
    until = time.monotonic() + SETTLE_S
    while (left := new_items(before, snapshot(workspace))) and time.monotonic() < until:
        time.sleep(0.2)
    return left


def snapshot(workspace: Path) -> Snapshot:
    """Return everything of which something could be left behind, by kind."""
    return {
        "process": frozenset(processes()),
        "mount": frozenset(
            line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(workspace) in line
        ),
        "group": frozenset(map(str, Path("/sys/fs/cgroup").glob("*/toolcharter-*"))),
        "container": frozenset(containers()),
        "file": frozenset(str(path) for path in workspace.rglob("*")),
        "descriptor": frozenset(entry.name for entry in Path("/proc/self/fd").iterdir() if entry.exists()),
    }


def processes() -> Iterator[str]:
    """Yield our children and all processes that run our programs' sleep, except zombies of others."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == os.getpid() or NAP in command:
            yield f"{entry.name} {command}"


def containers() -> list[str]:
    """Return docker's containers, if docker is installed."""
    if shutil.which("docker") is None:
        return []
    return subprocess.run(["docker", "ps", "-aq"], capture_output=True, text=True, check=False).stdout.split()


def new_items(before: Snapshot, after: Snapshot) -> list[str]:
    """Return the new items, each with its kind."""
    return [f"{kind} {name}" for kind in after for name in sorted(after[kind] - before[kind])]


def describe(left: list[str]) -> str:
    """Return the counts by kind, and some examples."""
    counts = Counter(each.partition(" ")[0] for each in left)
    return ", ".join([*(f"{count} x {kind}" for kind, count in counts.items()), *left[:5]]) or "nothing"


def open_host(scope: RunnerScope, _image: str | None) -> ProgramRunner:
    """Open the built-in runner."""
    return HostProgramRunner(scope.workspace)


def open_bwrap(scope: RunnerScope, _image: str | None) -> ProgramRunner:
    """Open bubblewrap's runner with the default policy."""
    return bwrap_runner.BwrapRunner(scope, bwrap_policy.BwrapPolicy())


def open_docker(scope: RunnerScope, image: str | None) -> ProgramRunner:
    """Open docker's runner with the default policy for one image."""
    return docker_runner.Docker(docker_policy.DockerPolicy.model_validate({"image": image})).open_runner(scope)


LIMITS = ProcessLimits()
OPENERS: dict[str, Callable[[RunnerScope, str | None], ProgramRunner]] = {
    "host": open_host,
    "bwrap": open_bwrap,
    "docker": open_docker,
}

if __name__ == "__main__":
    sys.exit(main())
