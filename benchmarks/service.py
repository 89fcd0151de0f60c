"""The cost of the service: a call over HTTP, an empty route, a gateway, many agents, many calls."""

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from environments import CONTEXTFORGE, OURS
from measure import HERE, Bench, Row, Subject, printed
from through_hosts import BRIDGED

_PLUGIN = '''"""A tool that does nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolcharter import ToolPolicy, ToolRuntime, ToolSpec, hookimpl


def build(workspace: Path, policy: ToolPolicy, rt: ToolRuntime) -> Callable[[], Any]:
    {definition} {name}() -> str:
        """Do nothing."""
        return ""

    return {name}


@hookimpl
def register_tools() -> list[ToolSpec[ToolPolicy]]:
    return [ToolSpec("{name}", ToolPolicy, build)]
'''
PLUGINS = {
    "nothing": _PLUGIN.format(name="nothing", definition="def"),
    "nothing_async": _PLUGIN.format(name="nothing_async", definition="async def"),
}
REQUESTS = 2_000
MANY_AGENTS = 1_000
_ROUNDS = 9


def _subject(python: Path, **variables: str) -> Subject:
    return Subject("ours/service.py", variables=(("BENCH_PYTHON", str(python)), *variables.items()))


def _request_ratio(ours: str, theirs: str) -> Callable[[Bench], float]:
    """Measure requests of one kind / of another, sent to one process."""

    def measure(bench: Bench) -> float:
        with bench.serving(PLUGINS) as python, bench.workers(_subject(python)) as (worker,):
            number = bench.scaled(REQUESTS)
            pairs = range(min(bench.rounds, _ROUNDS))
            return median(float(worker.ask(ours, number)) / float(worker.ask(theirs, number)) for _ in pairs)

    return measure


@contextmanager
def _mcp_server() -> Iterator[str]:
    """Start an MCP server written with the SDK, and return its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    script = HERE.parent / "tests/plugins/mcp_bridge/servers/sdk.py"
    quiet = subprocess.DEVNULL
    server = subprocess.Popen([OURS.python, script, "streamable-http", str(port)], stdout=quiet, stderr=quiet)
    try:
        for _ in range(300):
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.terminate()
        server.wait()


def _added(bench: Bench) -> float:
    """Measure the time that the service adds to a call of an MCP server / the time that the gateway adds."""
    bench.require_peer(CONTEXTFORGE)
    with bench.serving(PLUGINS) as python, _mcp_server() as url:
        theirs = Subject("peers/contextforge_gateway.py", CONTEXTFORGE, (("BENCH_MCP", url),))
        with bench.workers(_subject(python, BENCH_MCP=url), theirs) as (ours, gateway):
            # The gateway accepts 500 requests a minute.
            number, ratios = max(2, bench.scaled(4_000) // 100), list[float]()
            for _ in range(min(bench.rounds, _ROUNDS)):
                direct = float(ours.ask("direct", number))
                ratios.append((ours.ask("mcp", number) - direct) / (gateway.ask("through", number) - direct))
            return median(ratios)


def _agents(calls: int) -> Callable[[Bench], float]:
    """Measure the memory of many agents / of one, each in a separate process."""

    def measure(bench: Bench) -> float:
        with bench.serving(PLUGINS) as python:
            script = HERE / "ours/service_resident.py"
            many = printed(python, "-P", script, "agents", str(bench.scaled(MANY_AGENTS)), str(calls))
            return many / printed(python, "-P", script, "agents", "1", str(calls))

    return measure


def _growth(bench: Bench) -> float:
    with bench.serving(PLUGINS) as python:
        last = 1_000 if bench.quick else 1_000_000
        script = HERE / "ours/service_resident.py"
        return 100 * (printed(python, "-P", script, "growth", str(last // 10), str(last)) - 1)


_CALL = "call over HTTP with token, events on disk and usage"
_THREAD = (
    "a body that is no coroutine runs in a thread of its own, so that others go on meanwhile and it can be given up at its "
    "deadline: to wake the thread, and then the event loop, costs as much as half an empty route. Waiting for the thread "
    "without waking the loop gained a tenth of that, and would stop all others meanwhile."
)

ROWS = (
    Row(f"{_CALL} of a tool that does nothing / an empty route", _request_ratio("nothing_async", "empty"), 1.5),
    Row(
        f"{_CALL} of a tool that does nothing / an empty route, in time of the processor",
        _request_ratio("nothing_async cpu", "empty cpu"),
        1.5,
    ),
    Row(
        f"{_CALL} of a tool that does nothing / an empty route as lean as that of calls, with token and body",
        _request_ratio("nothing_async", "lean"),
    ),
    Row(
        f"{_CALL} of a tool that does nothing in a thread / an empty route",
        _request_ratio("nothing", "empty"),
        1.5,
        price=_THREAD,
    ),
    Row(f"{_CALL} of `read_file` / an empty route", _request_ratio("read_file", "empty")),
    BRIDGED,
    Row(
        "time that the service adds to a call of an MCP server's tool / that mcp-contextforge-gateway adds", _added, 0.2
    ),
    Row("resident memory of 1,000 agents of one profile / of one", _agents(0), 1.2),
    Row("resident memory of 1,000 agents of one profile, after a call of each / of one", _agents(1), 1.2),
    Row("growth of resident memory from 100,000 calls of the service to 1,000,000", _growth, 2, unit=" %"),
)
