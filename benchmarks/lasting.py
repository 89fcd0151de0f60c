"""Whether the speed lasts: in the slowest calls, on many threads, after a million calls."""

from collections.abc import Callable
from statistics import median

from calls import GOVERNED
from measure import Bench, Row

_MB = 1_000_000


def _percentile(index: int) -> Callable[[Bench], float]:
    def measure(bench: Bench) -> float:
        with bench.workers(GOVERNED) as (worker,):
            calls = bench.scaled(20_000)
            return median(float(worker.ask("percentiles", calls)[index]) for _ in range(min(bench.rounds, 5)))

    return measure


def _threads(bench: Bench) -> float:
    with bench.workers(GOVERNED) as (worker,):
        return median(float(worker.ask("throughput", bench.scaled(16_000))) for _ in range(min(bench.rounds, 7)))


def _slowing(bench: Bench) -> float:
    with bench.workers(GOVERNED, GOVERNED) as (old, young):
        old.ask("age", bench.scaled(1_000_000))
        young.ask("age", 1000)
        return bench.ratio(bench.sample(old, "call"), bench.sample(young, "call"))


def _growth(bench: Bench) -> float:
    with bench.workers(GOVERNED) as (worker,):
        return float(worker.ask("age", bench.scaled(1_000_000))) / _MB


_HANDING_OVER = (
    "threads that hand over the interpreter's lock at every system call; a bare loop of `os.write` and a little Python "
    "drops to 0.42 in the same way, and pinned to one processor both stay at 0.96. Writing while holding the lock would "
    "help, and let one stuck disk stop every thread."
)

_WHOSE_TAIL = (
    "no collection of garbage falls into these calls, as they leave nothing behind. What is slow is one call in some sixty, in which "
    "the system's clock ticks, and one in three, which begins a new page of the event file. A loop of the same system calls "
    "and as much plain Python has a 99th percentile of 0.6 to 0.7 times ours in the same minute."
)
_NOT_OURS = (
    "other programs get the processor; a loop that does nothing but count shows two thirds of it in the same minute."
)

ROWS = (
    Row("99th percentile of 20,000 calls / their median", _percentile(0), 2.0, price=_WHOSE_TAIL),
    Row("99.9th percentile of 20,000 calls / their median", _percentile(1), 6, price=_NOT_OURS),
    Row("throughput of 16 threads on one toolbox / of one thread", _threads, 0.9, at_least=True, price=_HANDING_OVER),
    Row("call 1,000,000 / call 1,000", _slowing, 1.05),
    Row("resident memory that 1,000,000 calls add", _growth, 1, unit=" MB"),
)
