"""Defines a row and measures its number in alternating pairs, so that the machine's drift cancels out."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from environments import OURS, Environment
from installation import installation

HERE = Path(__file__).resolve().parent
_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

WARMING_CALLS = 50

Sample = Callable[[], float]
"""Returns the seconds that one operation takes."""


class NotMeasured(Exception):
    """The row needs a peer, and this run has no peers."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A script below `benchmarks/` and the environment it runs in; see `serve.py`."""

    script: str
    environment: Environment = OURS
    variables: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    what: str
    measure: "Callable[[Bench], float]"
    goal: float | None = None
    """The limit of the number, which is a ratio unless *unit* says otherwise; None for a row without a goal."""
    at_least: bool = False
    """Whether the goal is a lower limit."""
    unit: str = "x"
    price: str = ""
    """If the goal is missed: why, and what it would cost to meet it."""

    def meets_goal(self, value: float) -> bool | None:
        """Whether *value* meets the goal; None without a goal."""
        if self.goal is None:
            return None
        return value >= self.goal if self.at_least else value <= self.goal


class Worker:
    """A process that serves one subject."""

    def __init__(self, subject: Subject) -> None:
        self._process = subprocess.Popen(
            [subject.environment.python, "-P", HERE / "serve.py", HERE / subject.script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**_ENVIRONMENT, **dict(subject.variables)},
            text=True,
        )
        self._script = subject.script

    def ask(self, name: str, number: int) -> Any:
        """Run an operation *number* times, or a report with *number*, and return the answer; see `serve.py`."""
        self.begin(name, number)
        return self.end()

    def begin(self, name: str, number: int) -> None:
        """Send a request without waiting for the answer."""
        assert self._process.stdin is not None
        print(json.dumps([name, number]), file=self._process.stdin, flush=True)

    def end(self) -> Any:
        """Wait for the answer and return it."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._script} ended with status {self._process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


@dataclass
class Bench:
    """One run: its extent, and the processes that are running."""

    quick: bool = False
    peers: bool = True
    rounds: int = 25
    """The number of pairs that are measured; the ratio is their median."""
    used: list[Environment] = field(default_factory=list)
    """The peers' environments, in the order in which rows needed them."""
    kept_workers: dict[Subject, Worker] = field(default_factory=dict)
    """The processes of a quick run, which only checks that rows work: rows share them."""
    served: Path | None = None
    """The Python of `serving`, which a quick run keeps, too."""
    ending: ExitStack = field(default_factory=ExitStack)
    """Removes what a quick run keeps."""

    def scaled(self, number: int) -> int:
        """*number*, or a hundredth of it in a quick run."""
        return number // 100 if self.quick else number

    @property
    def batch_s(self) -> float:
        """The duration of one sample of a fast operation, in seconds."""
        return 0.002 if self.quick else 0.03

    @contextmanager
    def workers(self, *subjects: Subject) -> Iterator[Sequence[Worker]]:
        """Start processes for *subjects*, and end them afterwards.

        Raises:
            NotMeasured: One of the subjects is a peer, and this run has no peers.
        """
        for subject in subjects:
            self.require_peer(subject.environment)
        if self.quick:
            self.kept_workers.update(
                (subject, Worker(subject)) for subject in dict.fromkeys(subjects) if subject not in self.kept_workers
            )
            yield [self.kept_workers[subject] for subject in subjects]
            return
        with ExitStack() as stack:
            yield [_started(stack, subject) for subject in subjects]

    @contextmanager
    def serving(self, plugins: Mapping[str, str]) -> Iterator[Path]:
        """Return a Python with *plugins* and our own, which all rows of a quick run share; see `installation`."""
        if not self.quick:
            with installation(plugins, with_ours=True) as python:
                yield python
            return
        if self.served is None:
            self.served = self.ending.enter_context(installation(plugins, with_ours=True))
        yield self.served

    def close(self) -> None:
        """End the kept processes, and remove the Python."""
        for worker in self.kept_workers.values():
            worker.close()
        self.ending.close()

    def require_peer(self, peer: Environment) -> None:
        """Make the environment of a peer, unless it exists.

        Raises:
            NotMeasured: This run has no peers.
        """
        if peer is OURS:
            return
        if not self.peers:
            raise NotMeasured
        if peer not in self.used:
            peer.prepare()
            self.used.append(peer)

    def sample(self, worker: Worker, name: str) -> Sample:
        """Return a sample of an operation, which runs in batches of `batch_s`; this warms the operation up."""
        # One call is not enough: it loads modules for later calls, and a subject that alternates has several to warm
        # up. The first answer comes when the process has started, which may take longer than all the others.
        worker.ask(name, 1)
        until = perf_counter() + 16 * self.batch_s
        for _ in range(WARMING_CALLS):
            worker.ask(name, 1)
            if perf_counter() > until:
                break
        number = 1
        while (taken := worker.ask(name, number) * number) < self.batch_s:
            number = max(number * 2, int(number * self.batch_s / max(taken, 1e-9)))
        return lambda: float(worker.ask(name, number))

    def ratio(self, ours: Sample, theirs: Sample) -> float:
        """Return the median ratio of pairs, in which one is measured right after the other."""
        return median(ours() / theirs() for _ in range(self.rounds))


def ratio(ours: tuple[Subject, str], theirs: tuple[Subject, str]) -> Callable[[Bench], float]:
    """Measure an operation of one subject against an operation of another, or of the same subject."""

    def measure(bench: Bench) -> float:
        with bench.workers(*dict.fromkeys([ours[0], theirs[0]])) as workers:
            return bench.ratio(bench.sample(workers[0], ours[1]), bench.sample(workers[-1], theirs[1]))

    return measure


def timed(*command: str | Path) -> Sample:
    """Return a sample that runs a command from start to end."""
    words = [str(word) for word in command]

    def sample() -> float:
        started = perf_counter()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env=_ENVIRONMENT)
        return perf_counter() - started

    return sample


def printed(*command: str | Path) -> float:
    """Return the number that a command prints."""
    ran = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, env=_ENVIRONMENT)
    return float(ran.stdout)


def _started(stack: ExitStack, subject: Subject) -> Worker:
    worker = Worker(subject)
    stack.callback(worker.close)
    return worker
