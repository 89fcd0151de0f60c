"""Events on their way to a file: their cost, and the proof that no line is lost or torn."""

import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from environments import STRUCTLOG
from measure import Bench, Row, Subject, ratio

PROCESSES = 4
THREADS = 4
EVENTS_OF_A_CALL = 3


def damaged_lines(bench: Bench) -> float:
    """Count the event lines that are missing or damaged after four processes with four threads each wrote a file."""
    calls = bench.scaled(5000)
    with TemporaryDirectory() as folder:
        events = Path(folder, "events.jsonl")
        subject = Subject("ours/governed.py", variables=(("BENCH_EVENTS", str(events)),))
        with bench.workers(*[subject] * PROCESSES) as workers:
            for worker in workers:
                worker.ask("shared_calls", 0)  # Wait until all workers are up.
            for worker in workers:
                worker.begin("shared_calls", calls)
            for worker in workers:
                worker.end()
        whole = sum(map(_is_event, events.read_bytes().splitlines()))
    return abs(PROCESSES * THREADS * calls * EVENTS_OF_A_CALL - whole)


def _is_event(line: bytes) -> bool:
    with suppress(ValueError):
        return isinstance(json.loads(line), dict)
    return False


_SINKS = Subject("ours/sinks.py")
_NAMES = {
    "file": "a file",
    "function": "a Python function",
    "structlog": "structlog, into a file",
    "syslog": "a syslog daemon",
    "otel": "OpenTelemetry, spans and metrics",
    "prometheus": "Prometheus",
}

ROWS = (
    Row(
        "four events in a file, half of them ahead of the body / structlog, set up for speed",
        ratio(
            (Subject("ours/event_lines.py"), "four_events"),
            (Subject("peers/structlog_lines.py", STRUCTLOG), "four_events"),
        ),
        0.20,
    ),
    *(
        Row(
            f"call of a tool that does nothing, its events to {what} / to nowhere",
            ratio((_SINKS, sink), (_SINKS, "none")),
        )
        for sink, what in _NAMES.items()
    ),
    Row("torn or lost lines, 4 processes x 4 threads on one file", damaged_lines, 0, unit=" lines"),
)
