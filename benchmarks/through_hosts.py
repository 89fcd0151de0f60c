"""The cost of a call through a framework, and of a coding agent's hook."""

from collections.abc import Iterator

from environments import HOSTS, OURS
from measure import HERE, Bench, Row, Subject, ratio

_BARE = (("PYTHONPATH", str(HERE / "adapters")),)
_RESIDENT = Subject("ours/resident.py")
_BRIDGED = Subject("ours/bridged.py")


def _percentile(bench: Bench) -> float:
    with bench.workers(_RESIDENT) as (worker,):
        worker.ask("p99_ms", 200)
        return float(worker.ask("p99_ms", bench.scaled(10_000)))


def _rows() -> Iterator[Row]:
    yield Row(
        "hook with a warm resident gate / `python -c pass`", ratio((_RESIDENT, "hook"), (_RESIDENT, "nothing")), 1.6
    )
    yield Row(
        "99th percentile of 10,000 decisions of the resident gate, question to answer",
        _percentile,
        1.0,
        unit=" ms",
        price="a permitted shell line is tried up to its mark by `bash` itself, in a thread that can be given up, and its programs "
        "are looked up on the disk each time; a denied one takes a third.",
    )
    subjects = {
        environment.name: Subject(f"adapters/{environment.name}_adapter.py", environment, _BARE)
        for environment in HOSTS
    }
    subjects["mcp"] = Subject("adapters/mcp_adapter.py", OURS, _BARE)
    for name, subject in subjects.items():
        yield Row(f"`read_file` through {name} / through the bare gate", ratio((subject, "adapter"), (subject, "bare")))
        own = ratio((subject, "adapter"), (subject, "native"))
        yield Row(f"`read_file` through {name} / a tool of its own that reads the file, ungoverned", own)
    yield BRIDGED


BRIDGED = Row(
    "call of an MCP server's tool through the bridge / by the SDK's client alone, both over pipes",
    ratio((_BRIDGED, "bridged"), (_BRIDGED, "bare")),
    1.5,
)
ROWS = tuple(_rows())
