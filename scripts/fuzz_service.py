"""Fuzz the service with cases that schemathesis makes from its OpenAPI document, recombined again and again.

    python scripts/fuzz_service.py                            a million requests; writes tests/fuzz_service.md
    python scripts/fuzz_service.py --requests 2000 --seed 7   writes nothing
    python scripts/fuzz_service.py --minutes 10 --record      ends after that time; the page has the number of requests

Schemathesis makes right and wrong cases of each operation. The script takes them apart: paths, queries, headers,
bodies. Requests recombine these parts, change values and bytes at random, and use values from answers: tokens, users,
servers, calls and approvals are made, read, changed, answered and deleted. The whole application answers in this
process, over SQLite, with two tenants and a token for each role; some requests have no token, or a wrong one.

A finding is an answer of 500 and above, a status or a body that the document does not describe, an answer without a
token or to a role that the route is not for, or a body that reveals internals of the service. The script prints each
kind once with a curl command; the exit status is then 1. After each store that it has filled, each process writes its
results to `--state`, so that an interrupted run continues with the same `--seed` and `--state`.
"""

import argparse
import asyncio
import json
import logging
import multiprocessing
import re
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from service_fuzz.answers import Judge  # noqa: E402 - found by the line above
from service_fuzz.maker import Maker  # noqa: E402 - likewise
from service_fuzz.pools import Parts, make_pools  # noqa: E402 - likewise
from service_fuzz.world import Request, Who, World, scope_of, world  # noqa: E402 - likewise

REPORT = ROOT / "tests" / "fuzz_service.md"
FULL = 1_000_000
CHUNK = 20_000
"""The requests to one store; the next ones get an empty store."""


@dataclass
class Run:
    """The requests and their results."""

    statuses: Counter[str] = field(default_factory=Counter)
    """The counts by operation and status."""
    findings: dict[str, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of requests."""
        return self.statuses.total()

    def add(self, other: dict[str, Any]) -> None:
        """Add the results that a process has written."""
        self.statuses.update(other["statuses"])
        self.findings = {**other["findings"], **self.findings}


@dataclass(frozen=True)
class Plan:
    """The work of one process."""

    seed: int
    worker: int
    chunks: tuple[tuple[int, int], ...]
    """The number and the size of each chunk."""
    examples: int
    until: float
    state: Path
    at_once: int
    """The number of concurrent requests."""


def work(plan: Plan) -> None:
    """Fill one store after the other, and write the results of each."""
    logging.disable(logging.CRITICAL)
    pools: dict[str, Parts] | None = None
    for number, size in plan.chunks:
        if time.monotonic() >= plan.until:
            return
        run = Run()
        with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
            pools = asyncio.run(_chunk(plan, Random(f"{plan.seed}.{number}"), size, pools, run, Path(folder)))
        name = f"{plan.seed}.{number}.json"
        (plan.state / name).write_text(json.dumps({"statuses": run.statuses, "findings": run.findings}))


async def _chunk(
    plan: Plan, random: Random, size: int, pools: dict[str, Parts] | None, run: Run, folder: Path
) -> dict[str, Parts]:
    async with world(folder) as asked:
        document = asked.app.openapi()
        if pools is None:
            pools = await asyncio.to_thread(make_pools, document, plan.seed * 97 + plan.worker, plan.examples)
        judge, maker = Judge(document), Maker(pools, asked.people, asked.own, random)

        async def ask_on() -> None:
            while run.total < size and time.monotonic() < plan.until:
                await _send_one(asked, judge, maker, run)

        await asyncio.gather(*(ask_on() for _ in range(min(plan.at_once, size))))
    return pools


async def _send_one(asked: World, judge: Judge, maker: Maker, run: Run) -> None:
    label, who, request = maker.next()
    path = scope_of(request)["path"]
    place = f"{label} counting"
    run.statuses[place] += 1  # Until the answer arrives, concurrent tasks count the request, too.
    answer = await asked.ask(request)
    run.statuses[place] -= 1
    found = judge.operation(request.method, path)
    run.statuses[f"{found or 'no route'} {answer.status}"] += 1
    for kind, text in judge.faults(request, who, answer, path):
        plain = re.sub(r"'[^']*'|\"[^\"]*\"|\d{2,}|[^ -~]+", "*", text)[:90]
        shown = f"{kind}: {text[:600]}\n{curl(request, who)}\n{answer.body[:300]!r}"
        run.findings.setdefault(f"{found or 'no route'} | {kind} | {plain}", shown)
    if answer.error is None:
        maker.learn(label, who, request, answer)


def curl(request: Request, who: Who) -> str:
    """Return a curl command for the same request to a service at its own port."""
    words = [f"curl -s -X {request.method} 'http://127.0.0.1:8081{request.target.decode('ascii')}'"]
    for name, value in request.headers:
        shown = f"Bearer ${who.name}".encode() if name == b"authorization" else value
        words.append(f"-H {_quoted(name + b': ' + shown)}")
    if request.body is not None:
        words.append(f"--data-binary {_quoted(request.body[:4_000])}")
    return " ".join(words)


def _quoted(text: bytes) -> str:
    return "$'" + "".join(chr(one) if 32 <= one < 127 and one not in b"'\\" else f"\\x{one:02x}" for one in text) + "'"  # noqa: PLR2004


def report(run: Run, number: int, speed: float) -> str:
    """Return the page of a run."""
    by_operation: dict[str, Counter[str]] = {}
    for place, count in run.statuses.items():
        label, _, status = place.rpartition(" ")
        if status != "counting":
            by_operation.setdefault(label, Counter())[status] += count
    rows = [
        f"| `{label}` | {found.total():,} | {', '.join(f'{status}: {count:,}' for status, count in sorted(found.items()))} |"
        for label, found in sorted(by_operation.items())
    ]
    begun = "" if run.total >= FULL else f" The whole run is {FULL:,} requests; this one was ended before."
    found = "".join(f"- {kind.replace(' | ', ': ')}\n" for kind in sorted(run.findings))
    return (
        "# Fuzzed requests of the service\n\nWritten by `make fuzz-service`. What schemathesis makes of the OpenAPI document, "
        "right and wrong, is recombined and changed by chance,\nwith what answers have named, and answered by the real "
        "application over SQLite. A finding is an answer of 500, a status, a type or\na body that the document does not say, "
        "an answer to nobody or to a role that the route is not for, or one that tells of the inside.\n\n"
        f"{run.total:,} requests with the seed {number}, {speed:.0f} a second; {len(run.findings)} findings.{begun}\n\n"
        f"{found}\n| operation | requests | answers |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def plans(options: argparse.Namespace, until: float) -> list[Plan]:
    """Divide the remaining work among the processes."""
    before = read_results(options.state, options.seed)
    left, began = max(0, options.requests - before.total), len(list(options.state.glob(f"{options.seed}.*.json")))
    size = max(1, min(CHUNK, -(-left // options.processes)))
    chunks = [(began + at // size, min(size, left - at)) for at in range(0, left, size)]
    return [
        Plan(
            options.seed,
            worker,
            tuple(chunks[worker :: options.processes]),
            options.examples,
            until,
            options.state,
            options.at_once,
        )
        for worker in range(options.processes)
    ]


def read_results(state: Path, number: int) -> Run:
    """Read the results that runs with the seed *number* have written into the folder *state*."""
    run = Run()
    for file in sorted(state.glob(f"{number}.*.json")):
        run.add(json.loads(file.read_text()))
    return run


def main() -> int:
    """Fuzz as the command line asks; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=FULL)
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100_000)
    parser.add_argument("--processes", type=int, default=2, help="processes; best is the number of cores")
    parser.add_argument("--at-once", type=int, default=16, help="concurrent requests of each process")
    parser.add_argument(
        "--examples", type=int, default=60, help="right cases of each operation, and as many wrong ones"
    )
    parser.add_argument("--state", type=Path, help="the folder for results; a later run continues from them")
    parser.add_argument("--record", action="store_true", help="write the page after a shorter run, too")
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        options.state = options.state or Path(folder)
        options.state.mkdir(parents=True, exist_ok=True)
        before = read_results(options.state, options.seed).total
        context = multiprocessing.get_context("spawn")
        processes = [
            context.Process(target=work, args=(plan,)) for plan in plans(options, began + 60 * options.minutes)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        failed = any(process.exitcode for process in processes)
        run = read_results(options.state, options.seed)
    for kind, what in run.findings.items():
        print(f"{kind}\n{what}\n")
    text = report(run, options.seed, (run.total - before) / (time.monotonic() - began))
    print(text.partition("\n\n")[2])
    if options.record or run.total >= FULL:
        REPORT.write_text(text)
    return 1 if run.findings or failed else 0


if __name__ == "__main__":
    sys.exit(main())
