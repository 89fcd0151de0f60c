"""Mutation testing of `toolcharter.policy`: change one thing at a time, and see whether a test notices.

    .venv/bin/python scripts/mutants.py                     all modules; writes tests/mutants.md
    .venv/bin/python scripts/mutants.py names lint.rules    these modules; writes nothing

Each mutant is compiled in memory and imported by a fork of this process, in which the tests' libraries are loaded
already. First all tests of `tests/core/policy` run once, and it is written down which lines each of them reaches. Of a
mutant only the tests run that reach the changed statement, the quickest first, and the first failure ends them; what is
changed at import time meets the tests of its own module. No file is changed. Random tests draw the same examples each
time. Prints each survivor as a diff and ends with status 1 if the score is too low.

mutmut 3 leaves decorated functions and everything outside of functions alone, and here properties decide and tables
stand in modules; cosmic-ray changes files in place and starts an interpreter for each mutant.

`tests/equivalent_mutants.toml` names the mutants that no test could notice, each with the reason; they do not count.
"""

import ast
import importlib
import importlib.util
import os
import pickle
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from typing import Any, NamedTuple

import coverage
import hypothesis
import pytest

from mutations import Mutant, mutants_of

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "core" / "toolcharter" / "policy"
TESTS = ROOT / "tests" / "core" / "policy"
EQUIVALENT = ROOT / "tests" / "equivalent_mutants.toml"
REPORT = ROOT / "tests" / "mutants.md"
_UNUSED = ("cacheprovider", "xdist", "anyio", "pytest_cov", "junitxml", "pastebin", "faulthandler")
_TESTED_WITH = {"toolsets": "availability"}
"""The module whose tests are those of another, too."""
_QUICK = 8
"""So many tests are tried by themselves before the rest."""
_OPTIONS = ("-x", "-q", "--assert=plain", *(f"-pno:{plugin}" for plugin in _UNUSED))
_LOADED = ("jsonschema_rs", "pytest_asyncio", "yaml", "toolcharter.profile.schema", "toolcharter.api.tool")
GOAL = 95.0
"""Of a hundred mutants so many are killed at least."""
LIMIT_S = 60
"""So long may the tests of one mutant take, in seconds; unhindered, they take a tenth of that."""


class Reached(NamedTuple):
    """What one test has done while nothing was changed."""

    test: str
    seconds: float
    lines: frozenset[tuple[str, int]]
    """Of the package's modules, by name."""


def survives(mutant: Mutant, tests: Sequence[str]) -> bool:
    """Whether all of *tests* pass with *mutant* in the place of its module; run in a fork."""
    child = os.fork()
    if child == 0:
        _become(mutant, tests)
    return os.waitpid(child, 0)[1] == 0


def _become(mutant: Mutant, tests: Sequence[str]) -> None:
    """Become a process in which *mutant* is imported, run *tests*, and end with their status."""
    # Ends it even if nobody waits any more: a mutant may never end by itself.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LIMIT_S)
    status = 1
    try:
        _be_silent()
        sys.meta_path.insert(0, _Importer(mutant))
        status = int(pytest.main([*_OPTIONS, *tests]))
    finally:
        os._exit(status)


def _be_silent() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


class _Watch:
    """A plugin of pytest: which lines of the package each test reaches, and how long it takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.coverage = coverage.Coverage(data_file=None, include=[f"{SOURCE}/*"])

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Watch one test with its fixtures."""
        started = time.monotonic()
        self.coverage.switch_context(item.nodeid)
        yield
        self.coverage.switch_context("")
        self.seconds[item.nodeid] = time.monotonic() - started

    def found(self) -> list[Reached]:
        """What was seen of each test."""
        data = self.coverage.get_data()
        lines: dict[str, set[tuple[str, int]]] = {test: set() for test in self.seconds}
        for name, file in modules().items():
            for line, tests in data.contexts_by_lineno(str(file)).items():
                for test in filter(None, tests):
                    lines[test].add((name, line))
        return [Reached(test, seconds, frozenset(lines[test])) for test, seconds in self.seconds.items()]


def reached() -> list[Reached]:
    """What each test of the package reaches, the quickest first; stops if one of them fails."""
    with tempfile.NamedTemporaryFile() as file:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                _be_silent()
                watch = _Watch()
                with watch.coverage.collect():
                    status = int(pytest.main([*_OPTIONS, str(TESTS)], plugins=[watch]))
                Path(file.name).write_bytes(pickle.dumps([tuple(one) for one in watch.found()]))
            finally:
                os._exit(status)
        if os.waitpid(child, 0)[1]:
            sys.exit("Without any mutant the tests fail.")
        found = [Reached(*one) for one in pickle.loads(Path(file.name).read_bytes())]
    return sorted(found, key=lambda one: one.seconds)


def modules() -> dict[str, Path]:
    """Each module of the package by its name below it."""
    files = sorted(SOURCE.rglob("[!_]*.py"))
    return {".".join(file.relative_to(SOURCE).with_suffix("").parts): file for file in files}


def reaching_tests(mutant: Mutant, every: Sequence[Reached]) -> list[str]:
    """The tests that could notice *mutant*, the quickest first."""
    lines = {(mutant.module, line) for line in statement_lines(modules()[mutant.module].read_text(), mutant.line)}
    reaching = [one.test for one in every if not lines.isdisjoint(one.lines)]
    if reaching:
        return reaching
    folder, _, name = f"/{mutant.module.replace('.', '/')}".rpartition("/")
    own = f"{(TESTS / folder.strip('/')).relative_to(ROOT)}/test_{_TESTED_WITH.get(name, name)}"
    return [one.test for one in every if one.test.startswith(own)]


def statement_lines(source: str, line: int) -> range:
    """The lines of the statement in *source* that holds *line*; of one with a body, those in front of the body.

    Empty for what runs while the module is imported: assignments and signatures outside of functions.
    """
    found: ast.stmt | None = None
    inside = False
    within: list[tuple[ast.AST, bool]] = [(ast.parse(source), False)]
    while within:
        parent, is_inside = within.pop()
        for node in ast.iter_child_nodes(parent):
            is_function = isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) and node in parent.body
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
                found, inside = node, is_inside or is_function
            within.append((node, is_inside or is_function))
    if found is None or not inside:
        return range(0)
    body: Sequence[ast.AST] = getattr(found, "body", ())
    end = getattr(body[0], "lineno", line + 1) - 1 if body else found.end_lineno or line
    return range(found.lineno, max(end, line) + 1)


class _Importer(MetaPathFinder, Loader):
    """Finds the mutant where its module is asked for."""

    def __init__(self, mutant: Mutant) -> None:
        self._name = f"toolcharter.policy.{mutant.module}"
        self._file = modules()[mutant.module]
        self._source = mutant.source

    def find_spec(self, fullname: str, _path: object, _target: object = None) -> Any:
        name = fullname
        return importlib.util.spec_from_loader(name, self, origin=str(self._file)) if name == self._name else None

    def create_module(self, spec: object) -> None:  # noqa: ARG002 - the protocol's name
        return None

    def exec_module(self, module: Any) -> None:
        module.__file__ = str(self._file)
        exec(compile(self._source, str(self._file), "exec"), module.__dict__)


def _warm_up() -> None:
    """Load everything but what is tested, so that each fork has it."""
    for name in _LOADED:
        importlib.import_module(name)
    # No shrinking: that a test fails is all that counts.
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile(
        "mutants", derandomize=True, database=None, deadline=None, phases=phases, max_examples=100
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


def main(names: list[str]) -> int:
    """Try the mutants of the modules with these *names*, or of all; returns the exit status."""
    started = time.monotonic()
    chosen = {name: file for name, file in modules().items() if name in names or not names}
    known = equivalent()
    every = [mutant for name, file in chosen.items() for mutant in mutants_of(file, name)]
    tried = [mutant for mutant in every if _key(mutant) not in known]
    strangers = {key for key in known if key[0] in chosen} - set(map(_key, every))
    _warm_up()
    before = reached()
    alive: list[Mutant] = []

    def is_alive(mutant: Mutant) -> bool:
        tests = reaching_tests(mutant, before)
        parts = [part for part in (tests[:_QUICK], tests[_QUICK:]) if part]
        return all(survives(mutant, part) for part in parts)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, survived in zip(tried, pool.map(is_alive, tried), strict=True):
            if survived:
                alive.append(mutant)
                print(mutant, end="\n\n", flush=True)
    reached()  # Whoever edits a test meanwhile must not kill mutants.
    for module, diff in sorted(strangers):
        print(f"{EQUIVALENT.name}: no such mutant of {module}:", *diff, sep="\n", end="\n\n")
    table = _table(tried, alive, Counter(mutant.module for mutant in every))
    print(table, f"\n{time.monotonic() - started:.0f} s")
    if not names:
        REPORT.write_text(_report(table, alive), encoding="utf-8")
    return int(_score(tried, alive) < GOAL or bool(strangers))


def _score(tried: list[Mutant], alive: list[Mutant]) -> float:
    return 100 * (1 - len(alive) / max(len(tried), 1))


def _table(tried: list[Mutant], alive: list[Mutant], every: Counter[str]) -> str:
    """Mutants, survivors and score by module, in Markdown."""
    rows = ["| module | mutants | equivalent | survivors | score |", "|---|---|---|---|---|"]
    for module in [*every, ""]:
        mine = [mutant for mutant in tried if module in {mutant.module, ""}]
        left = [mutant for mutant in alive if module in {mutant.module, ""}]
        name = f"`{module.replace('.', '/')}.py`" if module else "all"
        same = (every[module] if module else every.total()) - len(mine)
        rows.append(f"| {name} | {len(mine) + same} | {same} | {len(left)} | {_score(mine, left):.1f}% |")
    return "\n".join(rows)


def _report(table: str, alive: list[Mutant]) -> str:
    told = "\n\n".join(map(str, alive)) or "none"
    return f"""# Mutants of `core/toolcharter/policy`

Written by `make mutants`. A mutant is a module with one change: another comparison, a condition turned round, a number
one off, a text with something behind it, a statement, an element or a keyword left out. It is killed if a test in
`tests/core/policy` fails that reaches the changed statement. The score is the share of the killed; at least {GOAL:g}% is demanded. Mutants that no test could
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
