"""The two trials of a mutant of `toolcharter.policy`: does any test fail?

First, all tests of `tests/core/policy` run once, and the lines that each of them reaches are recorded. For a mutant,
only the tests run that reach the changed statement, the quickest first, until one fails. Each trial is a fork:

1. Of a process that has collected all tests. The functions of the loaded module get the mutant's code, and the tests
   run at once.
2. Of a process that has loaded no module of `toolcharter.policy`. The mutant is imported instead of its module, and
   pytest collects the tests again. Only changes to code that runs while modules are imported or tests are collected
   need this trial. If no test reaches the change, the tests of its own module run.
"""

import ast
import gc
import importlib.util
import os
import pickle
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from inspect import CO_OPTIMIZED
from itertools import pairwise
from math import inf
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import coverage
import pytest

from mutations import Mutant

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "core" / "toolcharter" / "policy"
TESTS = ROOT / "tests" / "core" / "policy"
_UNUSED = ("cacheprovider", "xdist", "anyio", "pytest_cov", "junitxml", "pastebin", "faulthandler")
_TESTED_WITH = {"toolsets": "availability"}
"""Modules that are tested by the tests of another module."""
_OPTIONS = ("-x", "-q", "--assert=plain", *(f"-pno:{plugin}" for plugin in _UNUSED))
_LIMIT_S = 60
"""The most seconds of processor time for the tests of one mutant in the second trial; usually they take a tenth."""
_LONGEST_S = 20 * _LIMIT_S
"""The most seconds that a trial may take on a busy machine."""
_MORE = 10
"""How many times its usual time, and a second more, a test may take in the first trial: some mutants never end."""
_KILLED, _NOT_IN_PLACE, _BROKEN = 1, 2, 3
"""Exit statuses of a fork in the first trial; 0 means that the mutant survives."""


class ReachedLines(NamedTuple):
    """The lines that one test reaches, and its time, without any mutant."""

    test: str
    seconds: float
    """Its processor time."""
    lines: frozenset[tuple[str, int]]
    """Lines of the package's modules, each with the module's name."""


def survives(mutant: Mutant, tests: Sequence[str]) -> bool:
    """Whether all of *tests* pass with *mutant* imported instead of its module."""

    def run() -> int:
        sys.meta_path.insert(0, _Importer(mutant))
        return int(pytest.main([*_OPTIONS, *tests]))

    return os.waitpid(_fork(run), 0)[1] == 0


def _fork(run: Callable[[], int], limit_s: float = _LIMIT_S) -> int:
    """Start a silent process that ends with the status of *run*, or when its time is over; return its id."""
    child = os.fork()
    if child == 0:
        status = _BROKEN
        try:
            # These signals end it even without a parent that waits: a mutant may never end by itself.
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_PROF, limit_s if limit_s < inf else 0)
            signal.alarm(_LONGEST_S)
            _be_silent()
            status = run()
        finally:
            os._exit(status)
    return child


def _be_silent() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


class _FirstTrial:
    """A plugin of pytest that, after the collection, tries *mutants* instead of running the tests once."""

    def __init__(self, mutants: Sequence[Mutant], processes: int) -> None:
        self.reached: list[ReachedLines] = []
        self.killed: set[int] = set()
        """Indices into *mutants*."""
        self.left: set[int] = set()
        """Indices of mutants that need the second trial."""
        self._mutants = mutants
        self._processes = processes
        self._has_failed = False
        self._seconds: dict[str, float] = {}
        self._coverage: coverage.Coverage | None = None
        self._importing = _coverage()
        self._importing.start()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try the mutants, at most as many at a time as there are processes."""
        self._importing.stop()
        data = self._importing.get_data()
        early = {(name, line) for name, path in modules().items() for line in data.lines(str(path)) or ()}
        self.reached = self._watch(session.items)
        items = {item.nodeid: item for item in session.items}
        in_order = [items[one.test] for one in self.reached]
        if os.waitpid(_fork(lambda: self._run(in_order), inf), 0)[1]:
            sys.exit("Without any mutant the tests fail in another order.")
        gc.unfreeze()  # tests/conftest.py freezes what has been collected, which hides it.
        functions = [one for one in gc.get_objects() if type(one) is FunctionType]
        gc.freeze()  # A collection in a fork would copy the memory that it shares with this process.
        self._seconds = {one.test: one.seconds for one in self.reached}
        under_way: dict[int, int] = {}
        for at, mutant in enumerate(self._mutants):
            if at % 500 == 0:
                print(f"{at} of {len(self._mutants)} mutants have been through the first trial.", flush=True)
            tests = [items[test] for test in reaching_tests(mutant, self.reached)]
            if not early.isdisjoint(_places(mutant)):
                self.left.add(at)

            def run(mutant: Mutant = mutant, tests: Sequence[pytest.Item] = tests) -> int:
                return self._run(tests) if install_mutant(mutant, functions) else _NOT_IN_PLACE

            under_way[_fork(run)] = at
            if len(under_way) >= self._processes:
                self._await_one(under_way)
        while under_way:
            self._await_one(under_way)
        return True

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Watch one test together with its fixtures."""
        if self._coverage is None:
            limit_s = _MORE * self._seconds.get(item.nodeid, _LIMIT_S) + 1
            signal.setitimer(signal.ITIMER_PROF, limit_s)
            yield
            return
        started = time.process_time()
        self._coverage.switch_context(item.nodeid)
        yield
        self._seconds[item.nodeid] = time.process_time() - started

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember that a test has failed."""
        self._has_failed |= report.failed

    def _watch(self, items: Sequence[pytest.Item]) -> list[ReachedLines]:
        """Return what each of *items* reaches, the quickest first; exit if one of them fails."""
        with tempfile.NamedTemporaryFile() as file:

            def run() -> int:
                self._coverage = _coverage()
                with self._coverage.collect():
                    status = self._run(items)
                data = self._coverage.get_data()
                lines: dict[str, set[tuple[str, int]]] = {test: set() for test in self._seconds}
                for name, path in modules().items():
                    for line, tests in data.contexts_by_lineno(str(path)).items():
                        for test in filter(None, tests):
                            lines[test].add((name, line))
                found = [(test, seconds, frozenset(lines[test])) for test, seconds in self._seconds.items()]
                Path(file.name).write_bytes(pickle.dumps(sorted(found, key=lambda one: one[1])))
                return status

            if os.waitpid(_fork(run, inf), 0)[1]:
                sys.exit("Without any mutant the tests fail.")
            return [ReachedLines(*one) for one in pickle.loads(Path(file.name).read_bytes())]

    def _run(self, items: Sequence[pytest.Item]) -> int:
        for item, following in pairwise([*items, None]):
            if item is not None:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._has_failed:
                return _KILLED
        return 0

    def _await_one(self, under_way: dict[int, int]) -> None:
        child, status = os.wait()
        at = under_way.pop(child)
        if os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == _KILLED:
            self.killed.add(at)
        elif os.WEXITSTATUS(status) == _NOT_IN_PLACE:
            self.left.add(at)
        elif os.WEXITSTATUS(status) == _BROKEN:
            sys.exit(f"This mutant could not be tried:\n{self._mutants[at]}")
        elif at not in self.left:
            print(self._mutants[at], end="\n\n", flush=True)


def _coverage() -> coverage.Coverage:
    found = coverage.Coverage(data_file=None, config_file=False, include=[f"{SOURCE}/*"])
    found.set_option("run:disable_warnings", ["already-imported"])
    return found


class FirstTrial(NamedTuple):
    """The results of the first trial; mutants are given by their indices."""

    reached: list[ReachedLines]
    """The quickest test first."""
    killed: set[int]
    left: set[int]
    """Neither killed nor certain to survive."""


def first_trial(mutants: Sequence[Mutant], processes: int) -> FirstTrial:
    """Try *mutants*, at most *processes* at a time."""
    with tempfile.NamedTemporaryFile() as file:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                trial = _FirstTrial(mutants, processes)
                status = int(pytest.main([*_OPTIONS, "-s", str(TESTS)], plugins=[trial]))
                Path(file.name).write_bytes(
                    pickle.dumps(([tuple(one) for one in trial.reached], trial.killed, trial.left - trial.killed))
                )
            finally:
                sys.stdout.flush()
                os._exit(status)
        if os.waitpid(child, 0)[1]:
            sys.exit("The first trial has failed.")
        found, killed, left = pickle.loads(Path(file.name).read_bytes())
    return FirstTrial([ReachedLines(*one) for one in found], killed, left)


def install_mutant(mutant: Mutant, functions: Sequence[FunctionType]) -> bool:
    """Give the mutant's code to those of *functions* that belong to its module.

    Return False and change nothing if the change takes effect at import time, or is not only one of code.
    """
    file = modules()[mutant.module]
    if not statement_lines(file.read_text(), mutant.line):
        return False
    before = list(_module_functions(compile(file.read_text(), str(file), "exec")))
    after = list(_module_functions(compile(mutant.source, str(file), "exec")))
    pairs = dict(zip(before, after, strict=True))
    mine = [(one, pairs[one.__code__]) for one in functions if one.__code__ in pairs]
    if any(len(function.__code__.co_freevars) != len(code.co_freevars) for function, code in mine):
        return False
    for function, code in mine:
        function.__code__ = code
    return bool(mine)


def _module_functions(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of the functions of a module and its classes, without nested functions, which each call makes."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & CO_OPTIMIZED:
                yield constant
            else:
                yield from _module_functions(constant)


def modules() -> dict[str, Path]:
    """Return each module of the package, by its name below the package."""
    files = sorted(SOURCE.rglob("[!_]*.py"))
    return {".".join(file.relative_to(SOURCE).with_suffix("").parts): file for file in files}


def _places(mutant: Mutant) -> set[tuple[str, int]]:
    """Return the lines of the changed statement; none if the change takes effect at import time."""
    source = modules()[mutant.module].read_text()
    return {(mutant.module, line) for line in statement_lines(source, mutant.line)}


def reaching_tests(mutant: Mutant, every: Sequence[ReachedLines]) -> list[str]:
    """Return the tests that could detect *mutant*, the quickest first."""
    lines = _places(mutant)
    reaching = [one.test for one in every if not lines.isdisjoint(one.lines)]
    if reaching:
        return reaching
    folder, _, name = f"/{mutant.module.replace('.', '/')}".rpartition("/")
    own = f"{(TESTS / folder.strip('/')).relative_to(ROOT)}/test_{_TESTED_WITH.get(name, name)}"
    return [one.test for one in every if one.test.startswith(own)]


def statement_lines(source: str, line: int) -> range:
    """Return the lines of the statement in *source* that contains *line*; for a statement with a body, those before it.

    Empty for code that runs while the module is imported: assignments and signatures outside of functions.
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
    """Finds the mutant when its module is imported."""

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
