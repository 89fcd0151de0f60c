"""`make bench`: our speed beside our peers', in one run on one machine, as ratios; writes `benchmarks/results.md`.

.venv/bin/python benchmarks/run.py [--quick] [--no-peers] [--only WORD] [--output FILE]
"""

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

import calls
import deciding
import event_files
import guards
import lasting
import shell
import starting
import through_hosts
from environments import HOSTS, OURS, PEERS
from measure import HERE, Bench, NotMeasured, Row
from report import line, markdown

TOPICS = {
    "One call": calls.ROWS,
    "Rules": deciding.ROWS,
    "Events": event_files.ROWS,
    "Guards": guards.ROWS,
    "Shell": shell.ROWS,
    "Start": starting.ROWS,
    "Hosts": through_hosts.ROWS,
    "Endurance": lasting.ROWS,
}


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print and write; 0 even if a goal is missed: a ratio is news, no failure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few and short samples: does it work, not how fast")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="without other frameworks")
    parser.add_argument(
        "--only", default="", metavar="WORD", help="the rows whose text holds WORD; prints, writes nothing"
    )
    parser.add_argument("--output", type=Path, default=HERE / "results.md", help="where the table goes")
    options = parser.parse_args(words)
    bench = Bench(options.quick, options.peers, rounds=1 if options.quick else 25)
    for peer in (*PEERS, *HOSTS) if bench.peers else ():
        peer.prepare()
    started = monotonic()
    found: dict[str, list[tuple[Row, float | None]]] = {}
    for topic, rows in TOPICS.items():
        for row in (row for row in rows if options.only in row.what):
            value = _measured(row, bench)
            print(line(row, value), flush=True)
            found.setdefault(topic, []).append((row, value))
    if not options.only:
        versions = [environment.versions() for environment in (OURS, *((*PEERS, *HOSTS) if bench.peers else ()))]
        options.output.write_text(markdown(found, _machine(), versions, monotonic() - started))
    return 0


def _measured(row: Row, bench: Bench) -> float | None:
    try:
        return row.measure(bench)
    except NotMeasured:
        return None


def _machine() -> str:
    return f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"


if __name__ == "__main__":
    sys.exit(main())
