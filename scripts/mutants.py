"""Mutation testing of `toolcharter.policy`: change one thing at a time, and see whether a test notices.

    .venv/bin/python scripts/mutants.py                     all modules; writes tests/mutants.md
    .venv/bin/python scripts/mutants.py rulelist matching   these modules; writes nothing

Each mutant is compiled in memory and imported by a fork of this process, in which the tests' libraries are loaded
already; only the tests of its own module run, and the first failure ends them. No file is changed. Random tests draw the
same examples each time. Prints each survivor as a diff and ends with status 1 if the score is too low.

mutmut 3 leaves decorated functions and everything outside of functions alone, and here properties decide and tables
stand in modules; cosmic-ray changes files in place and starts an interpreter for each mutant.

`tests/equivalent_mutants.toml` names the mutants that no test could notice, each with the reason; they do not count.
"""

import importlib
import importlib.util
import os
import signal
import sys
import time
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from mutations import Mutant, mutants_of

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "core" / "toolcharter" / "policy"
TESTS = ROOT / "tests" / "core" / "policy"
EQUIVALENT = ROOT / "tests" / "equivalent_mutants.toml"
REPORT = ROOT / "tests" / "mutants.md"
_UNUSED = ("cacheprovider", "xdist", "anyio", "pytest_cov", "junitxml", "pastebin", "faulthandler")
_TESTED_WITH = {"reach": "review", "toolsets": "availability"}
"""The module whose tests are those of another, too."""
_LOADED = ("jsonschema_rs", "pytest_asyncio", "yaml", "toolcharter.profile.schema", "toolcharter.api.tool")
GOAL = 95.0
"""Of a hundred mutants so many are killed at least."""
LIMIT_S = 60
"""So long may the tests of one mutant take, in seconds; unhindered, they take a tenth of that."""


def survives(mutant: Mutant) -> bool:
    """Whether every test passes with *mutant* in the place of its module; run in a fork."""
    child = os.fork()
    if child == 0:
        _be(mutant)
    return os.waitpid(child, 0)[1] == 0


def _be(mutant: Mutant) -> None:
    """Become a process in which *mutant* is imported, run the tests, and end with their status."""
    # Ends it even if nobody waits any more: a mutant may never end by itself.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LIMIT_S)
    status = 1
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        sys.meta_path.insert(0, _Importer(mutant))
        status = _run_tests(mutant.module)
    finally:
        os._exit(status)


class _Importer(MetaPathFinder, Loader):
    """Finds the mutant where its module is asked for."""

    def __init__(self, mutant: Mutant) -> None:
        self._name = f"toolcharter.policy.{mutant.module}"
        self._file = SOURCE / f"{mutant.module}.py"
        self._source = mutant.source

    def find_spec(self, fullname: str, _path: object, _target: object = None) -> Any:
        name = fullname
        return importlib.util.spec_from_loader(name, self, origin=str(self._file)) if name == self._name else None

    def create_module(self, spec: object) -> None:  # noqa: ARG002 - the protocol's name
        return None

    def exec_module(self, module: Any) -> None:
        module.__file__ = str(self._file)
        exec(compile(self._source, str(self._file), "exec"), module.__dict__)


def _run_tests(module: str) -> int:
    """Run the tests of *module*: each module is held to its own, which is stricter than to all."""
    own = sorted(map(str, TESTS.glob(f"test_{_TESTED_WITH.get(module, module)}*.py")))
    return int(pytest.main(["-x", "-q", "--assert=plain", *(f"-pno:{plugin}" for plugin in _UNUSED), *own]))


def _warm_up() -> None:
    """Load everything but what is tested, so that each fork has it."""
    for name in _LOADED:
        importlib.import_module(name)
    # No shrinking: that a test fails is all that counts.
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile(
        "mutants", derandomize=True, database=None, deadline=None, phases=phases, max_examples=400
    )
    hypothesis.settings.load_profile("mutants")
    if any(name.startswith("toolcharter.policy") for name in sys.modules):
        raise RuntimeError("what is to be changed is loaded already")


def equivalent() -> dict[tuple[str, tuple[str, ...]], str]:
    """The reason why no test can notice a mutant, by module and diff."""
    if not EQUIVALENT.exists():
        return {}
    listed = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])
    return {(one["module"], tuple(one["diff"].strip().splitlines())): one["why"] for one in listed}


def _key(mutant: Mutant) -> tuple[str, tuple[str, ...]]:
    return mutant.module, tuple(f"{line[0]} {line[1:].strip()}" for line in mutant.diff)


def main(modules: list[str]) -> int:
    """Try the mutants of *modules*, or of all; returns the exit status."""
    started = time.monotonic()
    files = [file for file in sorted(SOURCE.glob("[!_]*.py")) if file.stem in modules or not modules]
    known = equivalent()
    every = [mutant for file in files for mutant in mutants_of(file)]
    tried = [mutant for mutant in every if _key(mutant) not in known]
    strangers = {key for key in known if key[0] in {file.stem for file in files}} - set(map(_key, every))
    _warm_up()
    _demand_passing(files)
    alive: list[Mutant] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, survived in zip(tried, pool.map(survives, tried), strict=True):
            if survived:
                alive.append(mutant)
                print(mutant, end="\n\n", flush=True)
    _demand_passing(files)  # Whoever edits a test meanwhile must not kill mutants.
    for module, diff in sorted(strangers):
        print(f"{EQUIVALENT.name}: no such mutant of {module}:", *diff, sep="\n", end="\n\n")
    table = _table(tried, alive, Counter(mutant.module for mutant in every))
    print(table, f"\n{time.monotonic() - started:.0f} s")
    if not modules:
        REPORT.write_text(_report(table, alive), encoding="utf-8")
    return int(_score(tried, alive) < GOAL or bool(strangers))


def _demand_passing(files: list[Path]) -> None:
    unchanged = [Mutant(file.stem, 0, file.read_text(encoding="utf-8"), ()) for file in files]
    failing = [mutant.module for mutant in unchanged if not survives(mutant)]
    if failing:
        sys.exit(f"Without any mutant the tests fail of: {', '.join(failing)}")


def _score(tried: list[Mutant], alive: list[Mutant]) -> float:
    return 100 * (1 - len(alive) / max(len(tried), 1))


def _table(tried: list[Mutant], alive: list[Mutant], every: Counter[str]) -> str:
    """Mutants, survivors and score by module, in Markdown."""
    rows = ["| module | mutants | equivalent | survivors | score |", "|---|---|---|---|---|"]
    for module in [*every, ""]:
        mine = [mutant for mutant in tried if module in {mutant.module, ""}]
        left = [mutant for mutant in alive if module in {mutant.module, ""}]
        name = f"`{module}.py`" if module else "all"
        same = (every[module] if module else every.total()) - len(mine)
        rows.append(f"| {name} | {len(mine) + same} | {same} | {len(left)} | {_score(mine, left):.1f}% |")
    return "\n".join(rows)


def _report(table: str, alive: list[Mutant]) -> str:
    told = "\n\n".join(map(str, alive)) or "none"
    return f"""# Mutants of `core/toolcharter/policy`

Written by `make mutants`. A mutant is a module with one change: another comparison, a condition turned round, a number
one off, a text with something behind it, a statement, an element or a keyword left out. It is killed if a test in
`tests/core/policy` fails that is its own module's. The score is the share of the killed; at least {GOAL:g}% is demanded. Mutants that no test could
notice stand in [equivalent_mutants.toml](equivalent_mutants.toml), each with the reason.

{table}

## Survivors

```diff
{told}
```
"""


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # Sets have the same order each time.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONHASHSEED": "0"})
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT / "core"))
    sys.dont_write_bytecode = True
    sys.exit(main(sys.argv[1:]))
