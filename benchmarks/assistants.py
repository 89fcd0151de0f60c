"""Costs of agents that live longer than one answer: memory, routed files, waiting jobs, other agents."""

from measure import Bench, Row, Subject, ratio

_REMEMBERING = "ours/remembering.py"
_IDLING = "ours/idling.py"


def _search(bench: Bench) -> float:
    subject = Subject(_REMEMBERING, variables=(("BENCH_CHUNKS", str(bench.scaled(100_000))),))
    with bench.workers(subject) as (worker,):
        return bench.ratio(bench.sample(worker, "many"), bench.sample(worker, "few"))


def _idle(bench: Bench) -> float:
    subject = Subject(_IDLING, variables=(("BENCH_JOBS", str(bench.scaled(10_000))),))
    with bench.workers(subject) as (worker,):
        return bench.ratio(bench.sample(worker, "many"), bench.sample(worker, "few"))


def _spawn(bench: Bench) -> float:
    with bench.workers(Subject("ours/spawning.py")) as (worker,):
        build = bench.sample(worker, "build")
        bench.sample(worker, "spawn")  # Warms it up.
        # One at a time: the subagents of a batch would work while the next ones are started.
        return bench.ratio(lambda: float(worker.ask("spawn", 1)), build)


_SMALL = Subject(_REMEMBERING, variables=(("BENCH_CHUNKS", "1000"),))

ROWS = (
    Row("search of a memory in 100,000 chunks / in 1,000", _search, 5),
    Row(
        "read of a file that a plugin keeps / of one on the disk",
        ratio((_SMALL, "routed read"), (_SMALL, "plain read")),
        1.5,
    ),
    Row("look for what is due among 10,000 idle jobs / among 10", _idle, 1.1),
    Row("start of a subagent / building a toolbox of the profile `orchestrator`", _spawn, 0.1),
)
