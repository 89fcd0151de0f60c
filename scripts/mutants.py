"""Mutation testing of `toolcharter.policy`: make one change at a time, and see whether a test fails.

    .venv/bin/python scripts/mutants.py                     all modules; writes tests/mutants.md
    .venv/bin/python scripts/mutants.py names lint.rules    these modules; writes nothing
    .venv/bin/python scripts/mutants.py --processes 1       beside other work
    .venv/bin/python scripts/mutants.py --every 4           a fourth of the mutants, for an estimate; writes nothing
    .venv/bin/python scripts/mutants.py --again             the survivors of the last whole run, after tests for them
                                                            were added; writes tests/mutants.md

`--again` assumes that killed mutants are still killed. It refuses to run if the modules themselves have changed.

`trials.py` explains how it works. No file is changed, and random tests draw the same examples each time. Only mutants
that survive the first trial get the second.

The script prints each survivor as a diff, and ends with status 1 if the score is too low.

Other tools do not fit: mutmut 3 skips decorated functions and code outside of functions, but here properties decide and
modules hold tables; cosmic-ray changes files in place and starts an interpreter for each mutant.

`tests/equivalent_mutants.toml` lists the mutants that no test could detect, each with the reason; they do not count.
"""

import argparse
import hashlib
import importlib
import os
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import hypothesis

from mutations import Mutant, mutants_of
from trials import ROOT, SOURCE, TESTS, first_trial, modules, reaching_tests, survives

EQUIVALENT = ROOT / "tests" / "equivalent_mutants.toml"
REPORT = ROOT / "tests" / "mutants.md"
_QUICK = 8
"""The number of tests that are tried first, before the others."""
_LOADED = ("jsonschema_rs", "pytest_asyncio", "yaml", "toolcharter.profile.schema", "toolcharter.api.tool")
GOAL = 95.0
"""The least percentage of mutants that must be killed."""


def _warm_up() -> None:
    """Load everything except the tested modules, so that each fork already has it."""
    for name in _LOADED:
        importlib.import_module(name)
    # No shrinking: it only matters that a test fails.
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile(
        "mutants", derandomize=True, database=None, deadline=None, phases=phases, max_examples=100
    )
    hypothesis.settings.load_profile("mutants")
    if any(name.startswith("toolcharter.policy") for name in sys.modules):
        raise RuntimeError("what is to be changed is loaded already")


def equivalent() -> dict[tuple[str, tuple[str, ...]], str]:
    """Return the reasons why no test can detect a mutant, by module and diff."""
    if not EQUIVALENT.exists():
        return {}
    listed = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])
    return {(one["module"], tuple(one["diff"].strip().splitlines())): one["why"] for one in listed}


def _key(mutant: Mutant) -> tuple[str, tuple[str, ...]]:
    return mutant.module, tuple(f"{line[0]} {line[1:].strip()}" for line in mutant.diff)


def digest() -> str:
    """Return the digest of the modules, which the page of a whole run contains."""
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in modules().values())).hexdigest()[:16]


def survivors_of(page: str) -> frozenset[str]:
    """Return the survivors on *page*, which a whole run wrote, as they are printed.

    Raises:
        ValueError: The modules have changed since that run.
    """
    if digest() not in page:
        raise ValueError(f"{REPORT.name} is about other modules than those that are there: run the whole.")
    return frozenset(page.partition("```diff\n")[2].partition("\n```")[0].split("\n\n"))


def main(names: Sequence[str], processes: int, nth: int, *, again: bool = False) -> int:
    """Try each *nth* mutant of the modules with these *names*, or of all; return the exit status."""
    started = time.monotonic()
    chosen = {name: file for name, file in modules().items() if name in names or not names}
    known = equivalent()
    every = [mutant for name, file in chosen.items() for mutant in mutants_of(file, name)]
    counted = [mutant for mutant in every if _key(mutant) not in known][::nth]
    left = survivors_of(REPORT.read_text(encoding="utf-8")) if again else None
    tried = counted if left is None else [mutant for mutant in counted if str(mutant) in left]
    strangers = {key for key in known if key[0] in chosen} - set(map(_key, every))
    files = _state_of_files()
    _warm_up()
    first = first_trial(tried, processes)
    print(
        f"{len(first.left)} of {len(tried)} mutants need the second trial, after {time.monotonic() - started:.0f} s.",
        flush=True,
    )

    def is_alive(at: int) -> bool:
        tests = reaching_tests(tried[at], first.reached)
        parts = [part for part in (tests[:_QUICK], tests[_QUICK:]) if part]
        return at not in first.left or all(survives(tried[at], part) for part in parts)

    alive: list[Mutant] = []
    candidates = [at for at in range(len(tried)) if at not in first.killed]
    with ThreadPoolExecutor(processes) as pool:
        for at, survived in zip(candidates, pool.map(is_alive, candidates), strict=True):
            if survived:
                alive.append(tried[at])
                if at in first.left:
                    print(tried[at], end="\n\n", flush=True)
    if _state_of_files() != files:
        sys.exit("A file has changed meanwhile, which may have killed mutants.")
    for module, diff in sorted(strangers):
        print(f"{EQUIVALENT.name}: no such mutant of {module}:", *diff, sep="\n", end="\n\n")
    same = Counter(mutant.module for mutant in every if _key(mutant) in known)
    table = _table(counted, alive, same)
    print(table, f"\n{time.monotonic() - started:.0f} s")
    if not names and nth == 1:
        REPORT.write_text(_report(table, alive), encoding="utf-8")
    return int(_score(counted, alive) < GOAL or bool(strangers))


def _state_of_files() -> dict[Path, int]:
    """Return the time of the last change of each file of the core and of its tests."""
    return {file: file.stat().st_mtime_ns for folder in (SOURCE.parent, TESTS) for file in folder.rglob("*.py")}


def _score(tried: list[Mutant], alive: list[Mutant]) -> float:
    return 100 * (1 - len(alive) / max(len(tried), 1))


def _table(tried: list[Mutant], alive: list[Mutant], same: Counter[str]) -> str:
    """Return a Markdown table of mutants, equivalent ones, survivors and the score by module."""
    rows = ["| module | mutants | equivalent | survivors | score |", "|---|---|---|---|---|"]
    for module in [*dict.fromkeys(mutant.module for mutant in tried), ""]:
        mine = [mutant for mutant in tried if module in {mutant.module, ""}]
        left = [mutant for mutant in alive if module in {mutant.module, ""}]
        name = f"`{module.replace('.', '/')}.py`" if module else "all"
        equal = same[module] if module else same.total()
        rows.append(f"| {name} | {len(mine) + equal} | {equal} | {len(left)} | {_score(mine, left):.1f}% |")
    return "\n".join(rows)


def _report(table: str, alive: list[Mutant]) -> str:
    told = "\n\n".join(map(str, alive)) or "none"
    return f"""# Mutants of `core/toolcharter/policy`

Written by `make mutants`. A mutant is a module with one change: another comparison, a condition turned round, a number
one off, a text with something behind it, a statement, an element or a keyword left out. It is killed if a test in
`tests/core/policy` fails that reaches the changed statement. The score is the share of the killed; at least {GOAL:g}% is demanded. Mutants that no test could
notice stand in [equivalent_mutants.toml](equivalent_mutants.toml), each with the reason. Modules: `{digest()}`. What survives a whole
run is tried again after tests were added (`make mutants ARGS=--again`).

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
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="modules, such as lint.rules")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--again", action="store_true")
    given = parser.parse_args()
    sys.exit(main(given.names, given.processes, given.every, again=given.again))
