"""The costs of the guards: opening files, scrubbing results, starting programs."""

from collections.abc import Callable

from environments import LIMITS
from measure import Bench, Row, Subject, ratio

_OPENING = Subject("ours/opening.py")
_FETCHING = Subject("ours/fetching.py")
_WRITING = Subject("ours/writing.py")
_BALLAST = 1 << 30
_PACE = 15
"""The lowest rate that is acceptable for hostile input, in MB/s."""


def _scrubbing(bench: Bench) -> Subject:
    return Subject("ours/scrubbing.py", variables=(("BENCH_LARGEST", str(bench.scaled(50_000_000))),))


def _hostile(bench: Bench) -> float:
    with bench.workers(_scrubbing(bench)) as (worker,):
        return float(worker.ask("hostile_rate", bench.scaled(1_000_000))) / _PACE


def _secrets(bench: Bench) -> float:
    with bench.workers(_scrubbing(bench)) as (worker,):
        return float(worker.ask("secrets_rate", bench.scaled(1_000_000))) / _PACE


def _growth(bench: Bench) -> float:
    with bench.workers(_scrubbing(bench)) as (worker,):
        return float(worker.ask("hostile_growth", bench.scaled(500_000)))


def _scrub(size: str) -> Callable[[Bench], float]:
    def measure(bench: Bench) -> float:
        with bench.workers(_scrubbing(bench)) as (worker,):
            return bench.ratio(bench.sample(worker, f"re {size}"), bench.sample(worker, f"ours {size}"))

    return measure


def _large_parent(bench: Bench) -> float:
    large = Subject("ours/programs.py", variables=(("BENCH_BALLAST", str(bench.scaled(_BALLAST))),))
    return ratio((large, "start"), (Subject("ours/programs.py"), "start"))(bench)


_FSTAT = (
    "the kernel's confined open alone would meet it; the rest is an `fstat`, which tells a regular file from a device or "
    "a pipe and gives its size, and the object that holds the descriptor (next row). Files would be read unexamined."
)
ROWS = (
    Row(
        "confined open and close / `os.open` and `os.close`",
        ratio((_OPENING, "confined"), (_OPENING, "plain")),
        1.15,
        price=_FSTAT,
    ),
    Row(
        "confined open and close / `os.open`, `os.fstat` and `os.close`",
        ratio((_OPENING, "confined"), (_OPENING, "examined")),
    ),
    Row(
        "confined open and close / `os.path.realpath`, which opens nothing",
        ratio((_OPENING, "confined"), (_OPENING, "realpath")),
        0.2,
        price="the same `fstat` and object.",
    ),
    Row(
        "confined open and close / `Path.resolve`, which opens nothing",
        ratio((_OPENING, "confined"), (_OPENING, "path_resolve")),
        0.2,
    ),
    Row(
        "confined write, with temporary file and rename / the same by `os.open`, `os.write`, `os.close` and `os.rename`",
        ratio((_WRITING, "confined"), (_WRITING, "plain")),
    ),
    Row(
        "confined write, with temporary file and rename / `os.open`, `os.write` and `os.close` in place",
        ratio((_WRITING, "confined"), (_WRITING, "in_place")),
    ),
    Row(
        "fetch of 10 KB through the network guard / by `httpx` without keep-alive",
        ratio((_FETCHING, "guarded"), (_FETCHING, "bare")),
    ),
    Row("scrub, times faster than `re` at 200 bytes", _scrub("200 bytes"), 6, at_least=True),
    Row("scrub, times faster than `re` at 10 KB", _scrub("10 KB"), 20, at_least=True),
    Row("scrub, times faster than `re` at 1 MB", _scrub("1 MB"), 20, at_least=True),
    Row("scrub, times faster than `re` at 50 MB", _scrub("50 MB"), 14, at_least=True),
    Row("scrub of the worst hostile input / 15 MB/s", _hostile, 1, at_least=True),
    Row("scrub of nothing but secrets, the slowest kind / 15 MB/s", _secrets),
    Row("scrub of four times as much hostile input / four times the time", _growth, 1.3),
    Row(
        "call counted under a rate limit in memory / the `limits` library's moving window",
        ratio((Subject("ours/limiting.py"), "take"), (Subject("peers/limits_hit.py", LIMITS), "hit")),
        0.08,
    ),
    Row("program started by a parent of 1 GiB / by a small parent", _large_parent, 1.3),
)
