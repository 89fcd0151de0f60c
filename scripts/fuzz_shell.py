"""Fuzz the shell guard: lines that the sample policy allows run under bash, traced, and are compared with the policy.

    python scripts/fuzz_shell.py --minutes 30              writes tests/fuzz_shell.md if it is a full run
    python scripts/fuzz_shell.py --judged 2000 --seed 7    writes nothing

Lines come from a grammar over the tables of programs and from mutations of the samples; allowed lines are mutated
further. Each allowed line runs in bubblewrap without a network on a fresh copy of the samples' folders. It may start
only allowed programs, change only files that git and pytest keep, read nothing outside of the workspace, print no
secret, and connect to nothing; and the guard must have seen each command that bash runs, word for word. The script
prints each finding, shrunk, and ends with status 1 if there is one. The same seed makes the same lines, as long as the
guard judges them in the same way.
"""

import argparse
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.cases.shell_tree import Tree, plant, sample_policy  # noqa: E402 - the checkout is on the path by now
from tests.samples import sample_rows  # noqa: E402 - as above

from shell_fuzz.judge import ALLOWED, Judge, program_names  # noqa: E402 - as above
from shell_fuzz.lines import Lines  # noqa: E402 - as above
from shell_fuzz.oracle import Rights, violations  # noqa: E402 - as above
from shell_fuzz.sandbox import Observed, Sandbox  # noqa: E402 - as above
from shell_fuzz.shrink import shrink_line  # noqa: E402 - as above
from shell_fuzz.xtrace import vectors  # noqa: E402 - as above
from toolcharter.guards.process.programs import SEARCH_FOLDERS  # noqa: E402 - as above

REPORT = ROOT / "tests" / "fuzz_shell.md"
FULL = (100_000, 10_000)
"""The judged and the executed lines that a run needs to be recorded."""
_MAX_FINDINGS = 40
_SETTERS = tuple(f"bash:{name} *" for name in ("read", "mapfile", "readarray", "shopt"))
"""Rules in addition to those of the samples, which have none for loops over names."""
_TREE = re.compile(r"/\S*?fuzz-shell-\w+/tree")
"""The path of the samples' folders during a run. It is a path of this machine, so no page shows it."""


class Finding(NamedTuple):
    """A line that was allowed although it should not have been."""

    line: str
    """The shrunk line."""
    what: tuple[str, ...]


class Count(NamedTuple):
    """The results of one worker."""

    reasons: Counter[str]
    executed: int
    unfinished: int
    vectors: int
    """The number of commands that bash ran and that were compared with the guard's."""
    findings: tuple[Finding, ...]


class Work(NamedTuple):
    """The task of one worker."""

    seed: int
    judged: int
    executed: int
    seconds: float


class Bench:
    """One worker's folders, judge and sandbox."""

    def __init__(self, tree: Tree, place: Path, stack: ExitStack) -> None:
        rules = sample_policy()["allow"]
        self.tree = tree
        self.judge = Judge(tree.workspace, [*rules, *_SETTERS])
        self.names = program_names(rules)
        here = str(Path(sys.prefix, "bin"))
        prefixes = (sys.prefix, sys.base_prefix, *filter(None, sys.path), "/usr", "/etc", "/proc", "/tmp", "/var")
        self.rights = Rights(str(tree.workspace), frozenset(self.names), (*SEARCH_FOLDERS, here), prefixes)
        self.sandbox = stack.enter_context(Sandbox(tree.root, place))

    def run(self, line: str) -> tuple[Observed, list[str], int]:
        """Run *line*; return what was observed, the violations, and the number of compared commands."""
        observed = self.sandbox.run(line)
        found = violations(observed, self.rights)
        ran = list(vectors(observed.xtrace)) if observed.is_finished else []
        for argv in ran:
            if not self.judge.is_foreseen(argv, line):
                found.append(f"bash runs {argv!r}, which the guard has not seen")
        return observed, found, len(ran)

    def shrink(self, line: str, what: Sequence[str]) -> Finding:
        """Return the shortest line with a violation of the same kind."""
        kind = kind_of(what[0])

        def still(shorter: str) -> bool:
            if not is_runnable(shorter) or not self.judge.verdict(shorter).is_allowed:
                return False
            return kind in map(kind_of, self.run(shorter)[1])

        shorter = shrink_line(line, still)
        return Finding(shorter, tuple(self.run(shorter)[1]) or tuple(what))


def kind_of(what: str) -> str:
    """Return the first words of a violation, by which violations are grouped."""
    return " ".join(what.split()[:2])


def is_runnable(line: str) -> bool:
    """Whether *line* can be passed to a program at all."""
    return "\0" not in line and not any("\ud800" <= sign <= "\udfff" for sign in line)


def work(task: Work) -> Count:
    """Judge and run lines until the numbers or the time limit are reached."""
    with tempfile.TemporaryDirectory(prefix="fuzz-shell-") as folder, ExitStack() as stack:
        root, place = Path(folder).resolve() / "tree", Path(folder).resolve() / "sandbox"
        root.mkdir()
        place.mkdir()
        bench = Bench(plant(root), place, stack)
        return _loop(bench, task)


def _loop(bench: Bench, task: Work) -> Count:
    lines, until = _lines(bench, task.seed), time.monotonic() + task.seconds
    reasons, findings, seen = Counter[str](), dict[str, Finding](), set[str]()
    executed = unfinished = compared = judged = 0
    while judged < task.judged and time.monotonic() < until:
        line = bench.tree.fill(lines.next())
        verdict = bench.judge.verdict(line)
        judged += 1
        reasons[verdict.reason] += 1
        if not verdict.is_allowed or line in seen:
            continue
        seen.add(line)
        lines.learn(line)
        if executed * task.judged >= task.executed * judged:
            continue
        executed += 1
        observed, what, ran = bench.run(line) if is_runnable(line) else (None, ["is allowed, and no line"], 0)
        compared += ran
        unfinished += observed is not None and not observed.is_finished
        if what and kind_of(what[0]) + line.split()[0] not in findings and len(findings) < _MAX_FINDINGS:
            finding = findings[kind_of(what[0]) + line.split()[0]] = bench.shrink(line, what)
            print(f"{finding.line!r}\n    {'; '.join(finding.what[:4])}", flush=True)
    return Count(reasons, executed, unfinished, compared, tuple(findings.values()))


def _lines(bench: Bench, seed: int) -> Lines:
    allowed, denied = (
        [bench.tree.fill(row["cmd"]) for row in sample_rows(f"security/shell_{name}")] for name in ("allow", "deny")
    )
    return Lines(seed, bench.names, allowed, denied)


def main() -> int:
    """Fuzz as the command line asks; return 1 if there are findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30, help="the most minutes of the run")
    parser.add_argument("--judged", type=int, default=FULL[0] + FULL[0] // 10, help="lines to judge")
    parser.add_argument("--executed", type=int, help="lines to run; by default, a little more than a tenth of --judged")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--jobs", type=int, default=2, help="processes; the lines depend on this number and on the seed"
    )
    asked = parser.parse_args()
    executed = asked.executed or asked.judged // 10
    tasks = [
        Work(asked.seed * 100 + number, asked.judged // asked.jobs + 1, executed // asked.jobs + 1, asked.minutes * 60)
        for number in range(asked.jobs)
    ]
    with get_context("spawn").Pool(asked.jobs, os.nice, (5,)) as pool:
        counts = pool.map(work, tasks, chunksize=1)
    page = report(asked.seed, counts)
    print(page)
    if is_full(counts):
        REPORT.write_text(page)
    return int(any(count.findings for count in counts))


def is_full(counts: Sequence[Count]) -> bool:
    """Whether enough lines were judged and run to record the run."""
    judged, executed = (sum(count.reasons.total() for count in counts), sum(count.executed for count in counts))
    return judged >= FULL[0] and executed >= FULL[1]


def report(seed: int, counts: Sequence[Count]) -> str:
    """Return the page that records a run."""
    return "\n".join(_report(seed, counts)) + "\n"


def _report(seed: int, counts: Sequence[Count]) -> Iterator[str]:
    reasons = Counter[str]()
    for count in counts:
        reasons += count.reasons
    findings = [finding for count in counts for finding in count.findings]
    yield "# Fuzzing of the shell guard\n"
    yield f"Made by `make fuzz-shell`, seed {seed}, {len(counts)} processes; see `scripts/fuzz_shell.py` for what counts as a finding.\n"
    yield "| what | lines |\n|---|---|"
    yield f"| judged | {reasons.total()} |"
    yield from (f"| {_label(reason)} | {number} |" for reason, number in reasons.most_common())
    yield f"| run under bash, traced | {sum(count.executed for count in counts)} |"
    yield f"| of those, ended after their time | {sum(count.unfinished for count in counts)} |"
    yield f"| findings | {len(findings)} |\n"
    yield f"{sum(count.vectors for count in counts)} commands that bash ran were compared with those that the guard saw."
    for finding in findings:
        yield _TREE.sub("@ROOT@", f"\n- `{finding.line!r}`: {'; '.join(finding.what[:4])}")


def _label(reason: str) -> str:
    return "allowed" if reason == ALLOWED else f"refused: `{reason}`"


if __name__ == "__main__":
    sys.exit(main())
