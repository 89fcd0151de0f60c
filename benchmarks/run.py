"""`make bench`: compares our speed with our peers' as ratios on one machine; writes `benchmarks/results.md`.

make bench ARGS="--runs 5"                         five runs in sequence, with their minimum, median and maximum
make bench ARGS="--sections Start,Guards"          only these tables; the others of the page stay
make bench ARGS="--skip 1,000,000"                  without the rows that take long
make bench ARGS="--only 'governed call' --rounds 9"  some rows, with fewer pairs; prints them, writes nothing
"""

import argparse
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic

import assistants
import calls
import deciding
import event_files
import guards
import lasting
import service
import shell
import starting
import storing
import through_hosts
from environments import HOSTS, OURS, PEERS
from measure import HERE, Bench, NotMeasured, Row
from report import Measured, Run, line, markdown, renewed

TOPICS = {
    "One call": calls.ROWS,
    "Rules": deciding.ROWS,
    "Events": event_files.ROWS,
    "Guards": guards.ROWS,
    "Shell": shell.ROWS,
    "Start": starting.ROWS,
    "Hosts": through_hosts.ROWS,
    "Stores": storing.ROWS,
    "Service": service.ROWS,
    "Assistants": assistants.ROWS,
    "Endurance": lasting.ROWS,
}


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print and write. Return 0 even if a goal is missed: a ratio is information, not a failure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="take few and short samples: a test of the benchmark itself"
    )
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="leave out other frameworks")
    parser.add_argument("--runs", type=_positive, default=1, metavar="N", help="measure everything N times")
    parser.add_argument("--rounds", type=_positive, metavar="N", help="pairs of samples for each number; by default 25")
    parser.add_argument(
        "--only", default="", metavar="WORD", help="measure rows whose text contains WORD; write nothing"
    )
    skipping = "leave the rows whose text holds WORD without a number; may come several times"
    parser.add_argument("--skip", action="append", default=[], metavar="WORD", help=skipping)
    parser.add_argument(
        "--sections", type=_sections, metavar="NAME,...", help=f"measure some of {', '.join(TOPICS)}", default=TOPICS
    )
    parser.add_argument("--output", type=Path, default=HERE / "results.md", help="the page to write")
    options = parser.parse_args(words)
    bench = Bench(options.quick, options.peers, rounds=options.rounds or (1 if options.quick else 25))
    is_whole = options.sections is TOPICS
    for peer in (*PEERS, *HOSTS) if bench.peers and is_whole else ():
        peer.prepare()
    found = {
        topic: [Measured(_skipped(row, options.skip)) for row in rows if options.only in row.what]
        for topic, rows in options.sections.items()
    }
    runs = list[Run]()
    for _ in range(options.runs):
        runs.append(_run([one for rows in found.values() for one in rows], bench))
        if options.only:
            continue
        used = [OURS, *((*PEERS, *HOSTS) if bench.peers and is_whole else bench.used)]
        versions = [environment.versions() for environment in used]
        # After each run: if the next one is interrupted, the results so far are kept.
        options.output.write_text(
            markdown(found, _machine(), versions, runs)
            if is_whole
            else renewed(options.output.read_text(), tuple(TOPICS), found, _machine(), versions, runs)
        )
    bench.close()
    return 0


def _positive(word: str) -> int:
    if int(word) < 1:
        raise argparse.ArgumentTypeError(f"{word} is less than one")
    return int(word)


def _sections(words: str) -> dict[str, tuple[Row, ...]]:
    names = [word.strip() for word in words.split(",")]
    unknown = [name for name in names if name not in TOPICS]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no section {', '.join(unknown)}; there are {', '.join(TOPICS)}")
    return {name: TOPICS[name] for name in names}


def _run(rows: Iterable[Measured], bench: Bench) -> Run:
    """Measure each of *rows* once more, and print the result."""
    load, started = os.getloadavg()[0], monotonic()
    for one in rows:
        value = _measured(one.row, bench)
        print(line(one.row, value), flush=True)
        if value is not None:
            one.values.append(value)
    return Run(load, monotonic() - started)


def _skipped(row: Row, words: Sequence[str]) -> Row:
    """Return *row*; if its text contains one of *words*, the row is not measured."""
    return replace(row, measure=_not_measured) if any(word in row.what for word in words) else row


def _not_measured(_: Bench) -> float:
    raise NotMeasured


def _measured(row: Row, bench: Bench) -> float | None:
    try:
        return row.measure(bench)
    except NotMeasured:
        return None


def _machine() -> str:
    return f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores"


if __name__ == "__main__":
    sys.exit(main())
