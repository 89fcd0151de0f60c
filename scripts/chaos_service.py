"""A storm over the service: everything it depends on is killed, stopped, paused and filled while clients call.

    python scripts/chaos_service.py                        100,000 calls of 200 clients; writes tests/chaos_service.md
    python scripts/chaos_service.py --clients 10 --calls 1000 --short    a few faults; writes nothing
    python scripts/chaos_service.py --minutes 30 --record    starts no call after that time; the page has their number

PostgreSQL, NATS, two `toolcharter serve`, a `toolcharter worker` and MCP servers run as separate processes. Each call
leaves a mark outside the service, which shows whether it ran, and how often. The script prints everything that breaks a
promise, and then ends with status 1.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.plugins.stores.store_servers import run_postgresql  # noqa: E402 - likewise

from chaos.clients import Storm  # noqa: E402 - the checkout is on the path by now
from chaos.evidence import Evidence  # noqa: E402 - likewise
from chaos.restoring import Restoring  # noqa: E402 - likewise
from chaos.world import GRANTED, World, running, until  # noqa: E402 - likewise

REPORT = ROOT / "tests" / "chaos_service.md"
FULL = 100_000
PAUSE_S = 20.0
SETTLES_S = 180.0
Faults = list[tuple[str, Callable[[], None]]]


def faults_of(world: World, restoring: Restoring, *, is_short: bool) -> Faults:
    """Return the faults, each with its name."""
    stop_s = 2.0 if is_short else 6.0
    once: Faults = [
        ("kill -9 of the first service", lambda: world.kill(0)),
        ("PostgreSQL stopped", lambda: world.stop_postgresql(stop_s)),
        ("NATS stopped", lambda: world.stop_nats(stop_s)),
        ("disk full", lambda: world.fill_disk(stop_s)),
        ("restore killed", restoring.interrupt),
    ]
    if is_short:
        return once
    return [
        *once,
        ("kill -9 of the second service", lambda: world.kill(1)),
        ("first service restarted", lambda: world.restart(0)),
        ("second service restarted", lambda: world.restart(1)),
        ("first service paused", lambda: world.pause(0, PAUSE_S)),
        ("second service paused", lambda: world.pause(1, PAUSE_S)),
        ("kill -9 of the worker", world.kill_worker),
        ("PostgreSQL paused", lambda: world.pause_postgresql(PAUSE_S)),
        ("NATS paused", lambda: world.pause_nats(PAUSE_S)),
        ("disk full", lambda: world.fill_disk(stop_s)),
        ("restore killed", restoring.interrupt),
        ("restore killed", restoring.interrupt),
    ]


async def storm_over(storm: Storm, faults: Faults, clients: int) -> None:
    """Run *clients* clients while *faults* happen one after the other, spread over all calls."""

    async def happen() -> None:
        for number, (name, fault) in enumerate(faults):
            due = (number + 0.5) / len(faults)
            while storm.progress < due and not storm.is_over.is_set():  # noqa: ASYNC110 - a client counts, and tells nobody
                await asyncio.sleep(0.05)
            began, calls = time.monotonic(), storm.ended
            await asyncio.to_thread(fault)
            print(f"{time.time():.1f} {name}: after {calls} calls, {time.monotonic() - began:.1f} s", flush=True)

    attending = [asyncio.create_task(work) for work in (storm.approve(), *map(storm.grant, GRANTED), happen())]
    await storm.run(clients)
    await asyncio.gather(*attending)


def settle(world: World) -> None:
    """Wait until all processes have recovered by themselves, and no work is pending."""
    world.until_ready(SETTLES_S)
    # Other processes end the approvals of processes that are gone, and pending usage is still being delivered.
    seen: list[object] = []

    def is_still() -> bool:
        rows = [path.stat().st_size for path in sorted(world.disk.glob("state/**/tool_calls_*.log"))]
        seen.append(rows)
        return len(seen) > 75 and len({*map(str, seen[-25:])}) == 1  # noqa: PLR2004 - 15 s, of which 5 still

    until(is_still, "usage does not come to rest", SETTLES_S)
    world.until_ready(SETTLES_S)


def page(storm: Storm, evidence: Evidence, told: str, findings: list[str], seed: int) -> str:
    """Return the page of a run."""
    calls = storm.calls
    by_kind = Counter(call.kind for call in calls)
    ended = Counter((call.kind, call.state or call.outcome or "no answer") for call in calls)
    kinds = "\n".join(
        f"| {kind} | {count:,} | "
        + ", ".join(f"{name} {number:,}" for (of, name), number in sorted(ended.items()) if of == kind)
        + " |"
        for kind, count in sorted(by_kind.items())
    )
    others = "\n".join(f"| {what} | {count:,} |" for what, count in sorted(storm.problems.items()))
    statuses = Counter(record.status for record in evidence.approvals.values())
    closed = sum(map(len, storm.closed.values()))
    return (
        "# A storm over the service\n\nWritten by `make chaos`. Two `toolcharter serve` with one configuration, PostgreSQL, NATS, a worker and "
        "MCP servers, all\nprocesses of their own, while they are killed, stopped and paused. Each call leaves a mark outside the service.\n\n"
        f"{told}\n\n{len(findings)} findings with the seed {seed}. Held are: each call that was answered has one event before and one after, and one "
        "usage row, and\ncounters say what rows say; no call has two marks, one that was denied has none and one that is ok has one; a key is "
        "answered\nagain as before; approvals are answered, waiting, or ended with a reason, and an answer that was acknowledged stays; no call "
        "passes\nthat begins a second after a grant was taken away; a killed restore leaves what was there or all of the new.\n\n"
        f"- {sum(map(len, evidence.marks.values())):,} marks, {len(evidence.rows):,} usage rows, {sum(evidence.events.values()):,} events of calls; "
        f"{evidence.torn_events} lines of events and {evidence.torn_rows} rows were torn by a full disk, and "
        f"{evidence.denied_unseen} calls denied without events\n"
        f"- a call with all its repetitions: {_percentiles(storm.took)}\n"
        f"- approvals: {', '.join(f'{name} {count:,}' for name, count in sorted(statuses.items()))}\n"
        f"- grants were taken away {closed} times; {storm.late} stored calls ended later than their clients wait, most of them for a person\n\n"
        f"| kind of call | calls | ended as |\n|---|---|---|\n{kinds}\n\n"
        f"Answers other than 200 and 202, most of them while a part was away:\n\n| answer | times |\n|---|---|\n{others}\n"
    )


def _percentiles(took: list[float]) -> str:
    ordered = sorted(took)
    return ", ".join(
        f"{name} {ordered[int(part * (len(ordered) - 1))]:.2f} s"
        for name, part in (("median", 0.5), ("99th percentile", 0.99), ("longest", 1))
    )


def _end(number: int, _: object) -> None:
    sys.exit(128 + number)


def main() -> int:
    """Run the storm that the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--calls", type=int, default=FULL)
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100_000)
    parser.add_argument("--short", action="store_true", help="only a few of the faults, and shorter ones")
    parser.add_argument("--calm", action="store_true", help="no faults at all")
    parser.add_argument("--record", action="store_true", help="write the page after a shorter run, too")
    parser.add_argument("--folder", type=Path, help="keep logs, events and the answers to clients in this new folder")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, _end)
    with (
        tempfile.TemporaryDirectory(prefix="chaos") as place,
        run_postgresql() as postgresql,
        running(given.folder or Path(place), postgresql, keeps_tmpfs=not given.short) as world,
    ):
        restoring = Restoring(world, random.Random(given.seed))
        faults = faults_of(world, restoring, is_short=given.short)
        if not given.short:
            random.Random(given.seed).shuffle(faults)
        if given.calm:
            faults.clear()
        storm = Storm(world.ports, world.tokens, given.calls, given.seed, given.minutes)
        print(f"seed {given.seed}", flush=True)
        began, load = time.monotonic(), os.getloadavg()[0]
        asyncio.run(storm_over(storm, faults, given.clients))
        took = time.monotonic() - began
        findings = []
        try:
            settle(world)
        except TimeoutError as error:
            findings.append(str(error))
        (world.folder / "calls.jsonl").write_text("".join(json.dumps(vars(call)) + "\n" for call in storm.calls))
        evidence = Evidence(world, storm)
        if given.folder:
            evidence.keep(world)
        findings += [*restoring.faults, *evidence.findings()]
        answered = sum(call.is_answered for call in storm.calls)
        told = (
            f"{len(storm.calls):,} calls of {given.clients} clients in {took:.0f} s, of which {answered:,} were answered with their result: "
            f"{answered / took:.0f} each second, outages\nincluded, on {os.cpu_count()} processors that others use, too (load {load:.1f} at the beginning). "
            f"What happened: {', '.join(name for name, _ in faults)}.\nRestores that were killed: {restoring.kept} left what was there, "
            f"{restoring.replaced} were whole by then. The disk was {'one of its own, full' if world.is_mounted else 'a limit of the size of files'}."
        )
        text = page(storm, evidence, told, findings, given.seed)
    for finding in findings[:400]:
        print(f"FINDING {finding}")
    print(text.partition("\n\n")[2])
    if given.record or (not given.short and len(storm.calls) >= FULL):
        REPORT.write_text(text)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
