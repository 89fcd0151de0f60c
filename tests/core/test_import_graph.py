"""What the modules import from each other: circles in the core, imports inside functions, exemptions of lint.

The numbers and the list below hold what is there today, so that it can only become less. A change that makes one smaller
lowers it here.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.rows import each_row

from toolcharter._lazy import REASONS

CORE = Path(__file__).resolve().parents[2] / "core/toolcharter"
SOURCES = {
    ".".join(path.relative_to(CORE.parent).with_suffix("").parts).removesuffix(".__init__"): path.read_text()
    for path in sorted(CORE.rglob("*.py"))
}
KNOWN_CIRCLES: list[list[str]] = []
"""Circles that exist because of imports under `TYPE_CHECKING`. It shall become empty; nothing may be added."""
MOST_EXEMPTIONS = 90
"""How often `# noqa` is written."""

MOST_MODULES_OF_THE_GATE = 40
"""How many files `gate/` has beside its four `__init__.py`."""


class Import(NamedTuple):
    """One module that another imports, and where in it."""

    target: str
    where: str
    """`module`, `typing` (under `TYPE_CHECKING`) or `function`."""


@cache
def imports(source: str) -> list[Import]:
    """Each import statement's modules, as full names; `from package import name` may be a module or a name in one."""
    return [*_imports_below(ast.parse(source), "module")]


def _imports_below(node: ast.AST, where: str) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, where) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from (Import(f"{child.module}.{alias.name}", where) for alias in child.names)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _imports_below(child, "function")
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from _imports_below(child, where if where == "function" else "typing")
        elif not isinstance(child, ast.expr):  # in which no statement stands
            yield from _imports_below(child, where)


def graph(sources: Mapping[str, str], *places: str) -> dict[str, set[str]]:
    """By module, those of *sources* that it imports in one of *places*."""
    found: dict[str, set[str]] = {}
    for module, source in sources.items():
        targets = (each.target for each in imports(source) if each.where in places)
        near = {target if target in sources else target.rpartition(".")[0] for target in targets}
        found[module] = (near & sources.keys()) - {module}
    return found


def circles(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules each of which leads to all others of its group; sorted."""
    reached = {module: _reached(module, arrows) for module in arrows}
    groups = {frozenset(other for other in reached[one] if one in reached[other]) for one in arrows}
    return sorted(sorted(group) for group in groups if group)


def _reached(start: str, arrows: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    ahead = set(arrows[start])
    while ahead:
        module = ahead.pop()
        if module not in found:
            found.add(module)
            ahead |= arrows[module]
    return found


@pytest.mark.slow
def test_modules_import_each_other_in_no_circle() -> None:
    """While the core is imported, no module waits for one that waits for it."""
    assert circles(graph(SOURCES, "module")) == []


@pytest.mark.slow
def test_circles_of_types_are_those_that_are_known() -> None:
    """Imports under `TYPE_CHECKING` count, too: a new circle fails, and so does a listed one that has gone or shrunk."""
    assert circles(graph(SOURCES, "module", "typing")) == KNOWN_CIRCLES


@each_row(
    ("sources", "found"),
    [
        pytest.param({"p": "", "p.a": "import p.b", "p.b": "from p import a"}, [["p.a", "p.b"]], id="two-modules"),
        pytest.param(
            {"p.a": "from p.b import x", "p.b": "import p.c", "p.c": "from p.a import y"}, 3, id="three-modules"
        ),
        pytest.param({"p.a": "import p.b", "p.b": "import p.c", "p.c": ""}, [], id="a-line"),
        pytest.param({"p.a": "import p.b", "p.b": "def f():\n    import p.a"}, [], id="in-a-function"),
        pytest.param(
            {"p.a": "import p.b", "p.b": "if TYPE_CHECKING:\n    import p.a"}, [["p.a", "p.b"]], id="for-types"
        ),
        pytest.param({"p.a": "import p.b", "p.b": "class C:\n    import p.a"}, [["p.a", "p.b"]], id="in-a-class"),
        pytest.param(
            {"p.a": "import p.b", "p.b": "try:\n    import p.a\nfinally: ..."}, [["p.a", "p.b"]], id="in-a-try"
        ),
    ],
)
def test_circles_are_found(sources: Mapping[str, str], found: object) -> None:
    """Whichever way a module is imported, and wherever its statement stands outside functions."""
    made = circles(graph(sources, "module", "typing"))

    assert (len(made[0]) if isinstance(found, int) else made) == found


INSIDE = {"plugins/docker/toolcharter_docker/leftovers.py": "a script of its own, which has no package to import from"}
"""The files of core and plugins whose functions import something, each with the reason."""


@pytest.mark.slow
def test_imports_inside_functions_are_those_that_are_known() -> None:
    """Each hides what a module needs from its reader; `lazy` at the top of the module does not."""
    root = CORE.parents[1]
    files = [file for folder in ("core", "plugins") for file in (root / folder).rglob("*.py")]
    inside = {
        str(file.relative_to(root))
        for file in files
        if any(each.where == "function" for each in imports(file.read_text(encoding="utf-8")))
    }

    assert inside == set(INSIDE)


def test_each_folder_that_imports_late_has_its_reason() -> None:
    """And no other has one."""
    users = {name.split(".")[1] for name, text in SOURCES.items() if re.search(r"(?m)^    \w+ = lazy\(", text)}

    assert users == set(REASONS)


def test_exemptions_of_lint_become_fewer() -> None:
    """Each `noqa` is a rule that a reader cannot rely on."""
    marks = {name: text.count("# noqa") for name, text in SOURCES.items() if "# noqa" in text}

    assert sum(marks.values()) <= MOST_EXEMPTIONS, marks


def test_modules_of_the_gate_become_fewer() -> None:
    """A stranger reads them before anything else."""
    modules = [path for path in (CORE / "gate").rglob("*.py") if path.name != "__init__.py"]

    assert len(modules) <= MOST_MODULES_OF_THE_GATE, sorted(path.name for path in modules)


def test_folders_of_code_are_packages() -> None:
    """import-linter and coverage pass over a folder of modules without `__init__.py`."""
    folders = {path.parent for path in CORE.rglob("*.py")}

    assert [str(folder.relative_to(CORE)) for folder in folders if not (folder / "__init__.py").is_file()] == []
