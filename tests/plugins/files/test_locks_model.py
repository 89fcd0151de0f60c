"""Locks against a model, by several processes: who holds what, who is refused, and that two never hold one path."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from toolcharter_files.globs import compile_matcher, parse_whole_glob

WORKER = """
import json, sys
from pathlib import Path
from toolcharter import Caller
from toolcharter.guards.paths import locks as leases
from toolcharter_files.claims import build_claim, find_conflicts
from toolcharter_files.globs import parse_whole_glob
for line in sys.stdin:
    asked = json.loads(line)
    leases.time = lambda: asked["now"]
    caller, end = Caller(agent=asked["owner"]), float("inf")
    Path(asked["workspace"]).mkdir(exist_ok=True)
    made = leases.WorkspaceLeases(Path(asked["workspace"]), lambda: caller, lambda: end)
    globs = [parse_whole_glob(glob) for glob in asked.get("globs", ())]
    def met(held):
        return list(find_conflicts(held, globs, end))
    match asked["do"]:
        case "acquire":
            token, taken = made.acquire([build_claim(glob) for glob in asked["globs"]], asked["ttl"], met)
            said = [token, sorted(lease.name for lease in taken)]
        case "release":
            said = sorted(made.release(asked["tokens"]))
        case "look":
            said = sorted(lease.name for lease in met(made.others()))
    print(json.dumps(said), flush=True)
"""
GLOBS = ["a", "b", "*", "a*", "d/*", "d/**", "d/a", "**", "d/[!a]", "{a,d/b}"]
PATHS = ["a", "b", "ab", "d/a", "d/b", "d/a/b", "x", "x/y"]
MATCHES = {glob: {path for path in PATHS if compile_matcher([parse_whole_glob(glob)])(path)} for glob in GLOBS}
PROCESSES = 3


@contextmanager
def processes(number: int, state: str) -> Iterator[list[subprocess.Popen[str]]]:
    environment = os.environ | {"XDG_STATE_HOME": state}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for _ in range(number)
    ]
    try:
        yield started
    finally:
        for one in started:
            one.kill()
            one.communicate()


class LocksModel(RuleBasedStateMachine):
    """Three processes and three owners; any owner speaks through any process."""

    workers: list[subprocess.Popen[str]]
    folder: str
    numbers = count()

    @initialize()
    def begin(self) -> None:
        self.workspace = f"{self.folder}/{next(self.numbers)}"
        self.now = 1000.0
        self.held: dict[str, tuple[str, list[str], float]] = {}

    def ask(self, worker: int, **asked: Any) -> Any:
        process = self.workers[worker]
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps({**asked, "workspace": self.workspace, "now": self.now}) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    def others(self, owner: str, globs: list[str]) -> list[str]:
        """The globs of others that share a path with *globs*."""
        wanted = set().union(*(MATCHES[glob] for glob in globs))
        leases = [lease for lease in self.held.values() if lease[0] != owner and lease[2] > self.now]
        return sorted(glob for _, taken, _ in leases for glob in taken if MATCHES[glob] & wanted)

    @rule(
        worker=st.integers(0, PROCESSES - 1),
        owner=st.sampled_from(["ann", "bob", "cid"]),
        globs=st.lists(st.sampled_from(GLOBS), min_size=1, max_size=3, unique=True),
        ttl=st.integers(1, 20),
    )
    def acquire(self, worker: int, owner: str, globs: list[str], ttl: int) -> None:
        """All or none, and none exactly where others are in the way."""
        token, taken = self.ask(worker, do="acquire", owner=owner, globs=globs, ttl=ttl)

        assert taken == self.others(owner, globs)
        assert bool(token) is not bool(taken)
        if token:
            self.held[token] = (owner, globs, self.now + ttl)

    @rule(worker=st.integers(0, PROCESSES - 1), owner=st.sampled_from(["ann", "bob", "cid"]))
    def release_all(self, worker: int, owner: str) -> None:
        """All of one's own go, expired ones that nobody has swept away among them, and nobody else's."""
        released = self.ask(worker, do="release", owner=owner, tokens=None)

        own = {token: lease for token, lease in self.held.items() if lease[0] == owner}
        live = sorted(glob for _, globs, expires in own.values() if expires > self.now for glob in globs)
        ever = sorted(glob for _, globs, _ in own.values() for glob in globs)
        assert set(live) <= set(released) <= set(ever)
        for token in own:
            del self.held[token]

    @precondition(lambda self: self.held)
    @rule(worker=st.integers(0, PROCESSES - 1), owner=st.sampled_from(["ann", "bob"]), number=st.integers(0, 9))
    def release_one(self, worker: int, owner: str, number: int) -> None:
        """One lease goes, if it is one's own."""
        token = [*self.held][number % len(self.held)]  # by age: the names themselves are random

        released = self.ask(worker, do="release", owner=owner, tokens=[token])

        holder, globs, expires = self.held[token]
        if holder != owner:
            assert released == []
        else:
            assert released == sorted(globs) or (released == [] and expires <= self.now)
            del self.held[token]

    @rule(seconds=st.integers(1, 15))
    def wait(self, seconds: int) -> None:
        """Time goes by for all."""
        self.now += seconds

    @rule(
        worker=st.integers(0, PROCESSES - 1),
        owner=st.sampled_from(["ann", "bob", "cid", "dan"]),
        glob=st.sampled_from(GLOBS),
    )
    def look(self, worker: int, owner: str, glob: str) -> None:
        """Every process sees the same."""
        assert self.ask(worker, do="look", owner=owner, globs=[glob]) == self.others(owner, [glob])


def test_processes_agree_with_the_model() -> None:
    """Whatever order three processes lock, release, look and wait in."""
    from hypothesis.stateful import run_state_machine_as_test  # noqa: PLC0415 - beside its one use

    with tempfile.TemporaryDirectory() as state, processes(PROCESSES, state) as started:
        LocksModel.workers, LocksModel.folder = started, state
        run_state_machine_as_test(LocksModel, settings=settings(max_examples=40, stateful_step_count=20, deadline=None))


RIVAL = """
import os, sys
from contextlib import suppress
from pathlib import Path
from toolcharter import Caller, Denied
from toolcharter.guards.paths.locks import WorkspaceLeases
from toolcharter_files.claims import build_claim, find_conflicts
from toolcharter_files.globs import parse_whole_glob
glob, folder = sys.argv[1:]
made = WorkspaceLeases(Path(folder, "ws"), lambda: Caller(), lambda: float("inf"))
def met(held):
    return list(find_conflicts(held, [parse_whole_glob(glob)], float("inf")))
got = 0
for _ in range(40):
    with suppress(Denied):  # on a busy machine the file itself may be taken for too long
        token, taken = made.acquire([build_claim(glob)], 60, met)
        if token:
            got += 1
            os.close(os.open(folder + "/held", os.O_CREAT | os.O_EXCL))
            os.unlink(folder + "/held")
            made.release([token])
print(got)
"""


def test_two_never_hold_one_path(tmp_path: Path) -> None:
    """Four processes that want overlapping globs at the same time: never two within, and nobody is shut out for good."""
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path / "state")}
    (tmp_path / "ws").mkdir()
    rivals = [
        subprocess.Popen(
            [sys.executable, "-c", RIVAL, glob, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment
        )
        for glob in ("src/**", "src/a*", "src/?b", "**/ab")
    ]

    got = [int(rival.communicate()[0] or -1) for rival in rivals]

    assert [rival.returncode for rival in rivals] == [0] * 4
    assert sum(got) > 0
