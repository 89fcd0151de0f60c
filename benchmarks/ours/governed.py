"""A governed call of toolcharter: 100 rules, a rate limit, an opened path, events in a file, and scrubbing."""

import os
import tempfile
import threading
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from toolcharter import Call, Deny, Toolbox, ToolPolicy, ToolRuntime, ToolSpec, hookimpl
from toolcharter.gate.build.open import Plan, open_toolbox
from toolcharter.loader.hooks import new_manager
from toolcharter.loader.load import LoadedPlugins, LoadedTool
from toolcharter.profile.model import Limits, Profile
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import Rate, Rates

TEXT = "The quick brown fox jumps over the lazy dog, again and again. " * 3 + "And rests there."[:14]
ARGS = {"path": "src/app.py", "limit": 3}
PLUGINS = 20
THREADS = 16
DENY = [f"bash:*tool-{number} --force*" for number in range(20)]
DENY += [f"other_{number}:push" for number in range(20)]
DENY += [f"read(path=*secret-{number}*)" for number in range(20)]
ALLOW = [f"bash:program-{number} *" for number in range(40)]
ROOM = Rates(Rate(calls_per_hour=100_000_000))
"""A limit above the number of calls of any measurement."""

folder = tempfile.TemporaryDirectory()
events = Path(os.environ.get("BENCH_EVENTS", f"{folder.name}/events.jsonl"))
workspace = Path(folder.name, "workspace")
(workspace / "src").mkdir(parents=True)
(workspace / "src/app.py").write_text(TEXT)


def build_read(_workspace: Path, _policy: ToolPolicy, rt: ToolRuntime) -> Callable[[str, int], str]:
    """Build a tool that opens its file below the workspace."""

    def read(path: str, limit: int = 10) -> str:  # noqa: ARG001 - the same tool everywhere
        """Read a file."""
        with rt.paths.open_file(path):
            return TEXT

    return read


def build_refuse(_workspace: Path, _policy: ToolPolicy, rt: ToolRuntime) -> Callable[[str, int], str]:
    """Build a tool that denies each call itself."""

    def refuse(path: str, limit: int = 10) -> str:
        """Read a file."""
        return rt.start("refuse", path=path, limit=limit).deny("not_on_the_list")

    return refuse


def let_pass(call: Call) -> None:
    """Check a call and permit it."""


def stop(call: Call) -> Deny:  # noqa: ARG001 - the hook's signature
    """Check a call and deny it."""
    return Deny("stopped")


class Plugin:
    """A plugin that implements `check_call`."""

    def __init__(self, check: Callable[[Call], Any]) -> None:
        self.check_call = hookimpl(check)


def toolbox(*checks: Callable[[Call], Any], rates: Rates = ROOM) -> Toolbox:
    """Return both tools behind *checks* and 100 rules, with limits of time, output and calls as a profile sets them."""
    specs = [ToolSpec("read", ToolPolicy, build_read), ToolSpec("refuse", ToolPolicy, build_refuse)]
    manager = new_manager()
    for number, check in enumerate(checks):
        manager.register(Plugin(check), f"check-{number:02}")
    tools = {spec.name: LoadedTool(spec, "toolcharter-bench", "1.0") for spec in specs}
    loaded = LoadedPlugins(tools, {}, {}, {"toolcharter-bench": "1.0"}, manager, (), {})
    limits = Limits(timeout_s=30.0, max_output_chars=60_000)
    deny, allow = tuple(map(parse_rule, DENY)), tuple(map(parse_rule, ALLOW))
    profile = Profile("bench", limits=limits, deny=deny, allow=allow, rates=rates)
    plan = Plan(profile, loaded, {name: ToolPolicy() for name in tools}, {})
    return open_toolbox(plan, workspace=workspace, caller=None, sinks=[f"file:{events}"])


free = toolbox()
lasting = toolbox(rates=Rates())
"""Without a rate limit, which stores the time of each call that it admits: up to 32 bytes a call."""
guarded = toolbox(*repeat(let_pass, PLUGINS))
stopped = toolbox(*repeat(let_pass, PLUGINS - 1), stop)
stopped_at_once = toolbox(stop)


def call() -> None:
    """Make a call that succeeds."""
    free.call("read", ARGS)


async def acall() -> None:
    """Make the same call from asynchronous code."""
    await free.acall("read", ARGS)


def twenty_plugins() -> None:
    """Make a call that succeeds after twenty checks."""
    guarded.call("read", ARGS)


def twenty_plugins_denied() -> None:
    """Make a call that the last of twenty checks denies."""
    stopped.call("read", ARGS)


def denied_by_check() -> None:
    """Make a call that a check denies."""
    stopped_at_once.call("read", ARGS)


def denied_by_tool() -> None:
    """Make a call that its tool denies."""
    free.call("refuse", ARGS)


def percentiles(number: int) -> list[float]:
    """Return the 99th and the 99.9th percentile of *number* calls, as multiples of their median."""
    times = []
    for _ in repeat(None, number):
        started = perf_counter()
        call()
        times.append(perf_counter() - started)
    times.sort()
    return [times[int(number * share)] / median(times) for share in (0.99, 0.999)]


def throughput(number: int) -> float:
    """Return the rate of sixteen threads that share *number* calls, as a multiple of one thread's rate."""
    alone = _seconds(1, number)
    together = _seconds(THREADS, number // THREADS) * number / (number // THREADS * THREADS)
    return alone / together


def _seconds(threads: int, calls: int) -> float:
    ready = threading.Barrier(threads + 1)

    def work() -> None:
        ready.wait()
        for _ in repeat(None, calls):
            call()

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    ready.wait()
    started = perf_counter()
    for worker in workers:
        worker.join()
    return perf_counter() - started


def shared_calls(number: int) -> int:
    """Make *number* calls in each of four threads; the event file keeps them."""
    return int(_seconds(4, number) > 0)


def age(number: int) -> int:
    """Make *number* calls; return by how many bytes the resident memory grew after the first thousand."""
    for _ in repeat(None, 1000):
        lasting.call("read", ARGS)
    before = _resident()
    for done in range(1000, number):
        lasting.call("read", ARGS)
        if done % 10_000 == 0:
            after_batch()
    return _resident() - before


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def after_batch() -> None:
    """Keep the event file small, unless the harness is going to read it."""
    if "BENCH_EVENTS" not in os.environ:
        os.truncate(events, 0)


OPERATIONS = {
    "call": call,
    "acall": acall,
    "twenty_plugins": twenty_plugins,
    "twenty_plugins_denied": twenty_plugins_denied,
    "denied_by_check": denied_by_check,
    "denied_by_tool": denied_by_tool,
}
REPORTS = {"percentiles": percentiles, "throughput": throughput, "shared_calls": shared_calls, "age": age}
