"""The repository holds together: settings know every plugin, the lock file covers every need, import contracts bite."""

import ast
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from tests.rows import each_row

ROOT = Path(__file__).resolve().parent.parent
PLUGINS = sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))
FRAMEWORKS = [folder for folder in PLUGINS if (folder / "constraints.txt").exists()]
PACKAGES = [f"toolcharter_{folder.name}" for folder in PLUGINS if folder not in FRAMEWORKS]
MAKEFILE = (ROOT / "Makefile").read_text()
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
AGENTDOJO = ROOT / "benchmarks" / "agentdojo" / "constraints.txt"
LOCKS = sorted([ROOT / "constraints.txt", AGENTDOJO, *ROOT.glob("plugins/*/constraints.txt")])
CONTRACTS = {contract["name"]: contract for contract in SETTINGS["tool"]["importlinter"]["contracts"]}

each_plugin = pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)


@pytest.mark.parametrize(
    "listed",
    [
        pytest.param(SETTINGS["tool"]["importlinter"]["root_packages"][1:], id="root_packages"),
        pytest.param(CONTRACTS["The core knows no plugin"]["forbidden_modules"], id="the core knows none"),
        pytest.param(
            CONTRACTS["A plugin imports the package root and nothing below it"]["source_modules"],
            id="package root only",
        ),
        pytest.param(
            sorted(
                [*CONTRACTS["Plugins do not know each other"]["modules"], "toolcharter_stores"]
            ),  # A library of some.
            id="independence",
        ),
    ],
)
def test_import_contracts_name_every_plugin(listed: list[str]) -> None:
    """A plugin that a contract forgets could import what it likes."""
    assert listed == PACKAGES


def test_mypy_knows_where_each_package_begins() -> None:
    """Without its folder mypy takes a plugin for a part of `plugins`."""
    expected = [
        "core",
        "scripts",
        "benchmarks",
        "benchmarks/agentdojo",
        *(f"plugins/{folder.name}" for folder in PLUGINS),
    ]

    assert SETTINGS["tool"]["mypy"]["mypy_path"].split(":") == expected


@each_plugin
def test_plugin_follows_the_house(folder: Path) -> None:
    """Folder, distribution and import names belong together, and every entry point leads into the own package."""
    settings = tomllib.loads((folder / "pyproject.toml").read_text())
    project, package = settings["project"], f"toolcharter_{folder.name}"
    groups = project.get("entry-points", {})
    # A plugin for a framework is imported by who uses it, or found by the framework.
    is_apart = settings["tool"].get("toolcharter", {}).get("environment") == "own"

    assert project["name"] == f"toolcharter-{folder.name.replace('_', '-')}"
    assert "toolcharter>=0.1,<1" in project["dependencies"]
    assert set(groups) <= (
        {"llm", "toolcharter.extensions"}
        if is_apart
        else {"toolcharter", "toolcharter.extensions", "toolcharter.commands"}
    )
    leads = {place.split(".")[0] for group in groups.values() for place in group.values()}
    assert leads == {package} or (is_apart and not groups)
    assert settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [package]
    assert (folder / package / "py.typed").is_file()


@pytest.mark.parametrize("folder", FRAMEWORKS, ids=lambda folder: folder.name)
def test_plugin_for_a_framework_imports_the_public_modules_only(folder: Path) -> None:
    """Of ours, it knows the package root, `toolcharter.hosts` and itself: import-linter does not see its environment."""
    trees = [ast.parse(path.read_text()) for path in folder.rglob("toolcharter_*/*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    named = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    named |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    own = f"toolcharter_{folder.name}"

    ours = {name for name in named if name.startswith("toolcharter") and name.partition(".")[0] != own}
    assert ours <= {"toolcharter", "toolcharter.hosts"}
    assert "toolcharter.hosts" in ours


@each_plugin
def test_plugin_carries_the_licence(folder: Path) -> None:
    """Each distribution needs a file of its own: a link would lead nowhere in the sdist."""
    assert not (folder / "LICENSE").is_symlink()
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize("file", LOCKS, ids=lambda file: file.parent.name)
def test_lock_file_pins_every_package_with_hashes_and_no_addresses(file: Path) -> None:
    """Each entry is a name, a version and hashes: no index, no path, nothing unpinned."""
    lock = file.read_text()
    entry = (
        r"[a-z0-9][a-z0-9-]*==[0-9][0-9a-z.+]*( ; [a-z_ '.<>=!0-9PyP-]+)? \\\n(    --hash=sha256:[0-9a-f]{64}( \\)?\n)+"
    )

    assert re.sub(entry, "", lock, flags=re.IGNORECASE) == ""


@each_row("folder", [".ci", "benchmarks", "core", "docs", "examples", "plugins", "profiles", "scripts", "tests"])
def test_no_file_names_a_package_index(folder: str) -> None:
    """Where packages come from is each machine's own affair; what tests need of it is put together at run time."""
    named = re.compile("index-" + r"url[= ]\s*\S*://")
    files = (path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)

    assert [str(path.relative_to(ROOT)) for path in files if named.search(path.read_text(errors="replace"))] == []


@pytest.mark.parametrize("file", LOCKS, ids=lambda file: file.parent.name)
def test_lock_file_covers_every_requirement(file: Path) -> None:
    """What a pyproject.toml asks for is locked; if not, `make lock` has been forgotten."""
    locked = set(re.findall(r"^([a-z0-9-]+)==", file.read_text(), re.MULTILINE))
    local = {"toolcharter", *(f"toolcharter-{folder.name}" for folder in PLUGINS)}

    assert set(_asked_of(file)) - locked - local == set()


def _asked_of(lock: Path) -> Iterator[str]:
    if lock == AGENTDOJO:
        asked = lock.with_name("requirements.in").read_text()
        return chain(_requirements([], []), re.findall(r"^[a-z0-9-]+", asked, re.MULTILINE))
    apart = {other.parent for other in LOCKS}
    folders = [folder for folder in PLUGINS if folder not in apart] if lock.parent == ROOT else [lock.parent]
    return _requirements(folders, list(SETTINGS["dependency-groups"]) if lock.parent == ROOT else ["hosts"])


def _requirements(folders: Sequence[Path], names: Sequence[str]) -> Iterator[str]:
    settings = [SETTINGS, *(tomllib.loads((folder / "pyproject.toml").read_text()) for folder in folders)]
    groups = [SETTINGS["dependency-groups"][name] for name in names]
    asked: list[Any] = [
        entry for each in [*(one["project"]["dependencies"] for one in settings), *groups] for entry in each
    ]
    for requirement in asked:
        if isinstance(requirement, str):
            yield re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("_", "-").replace(".", "-")


@pytest.mark.parametrize("folder", ["core", "plugins", "scripts"])
def test_no_source_file_is_longer_than_400_lines(folder: str) -> None:
    """Who reads a file should be able to hold it in mind."""
    lengths = {path.relative_to(ROOT): len(path.read_text().splitlines()) for path in (ROOT / folder).rglob("*.py")}

    assert {str(path): length for path, length in lengths.items() if length > 400} == {}


SMALL = {
    "__main__.py": "Python runs a module of this name",
    "cli/__main__.py": "Python runs a module of this name",
    "_fork.py": "one mechanism for all layers, below all of them",
    "api/secret.py": "a record, which only who has a store imports",
    "api/words.py": "closed lists of words and forms of names, cheap for all that reads a profile",
    "hosts/events.py": "the one part of hosts that opens what the loader finds",
    "gate/observers.py": "pytest loads it in each project that has toolcharter installed, and nothing beside it",
    "gate/tool.py": "what the stages, the pipeline and the building of tools share, between them in the gate's layers",
    "guards/paths/scope.py": "what paths of the disk and those with virtual files share, below both",
    "loader/discovered.py": "what each plan holds of discoverers; only profiles with one load what asks them",
    "profile/names.py": "how names are written, below all that reads a profile",
}
"""Modules of the core with 40 lines or less that are no package's face, and why each is one."""


def test_small_modules_are_those_with_a_reason() -> None:
    """Who looks for something opens few files: what is read together lies together. A reason without a module goes."""
    core = ROOT / "core/toolcharter"
    files = (path for path in core.rglob("*.py") if path.name != "__init__.py")
    small = {str(path.relative_to(core)) for path in files if len(path.read_text().splitlines()) <= 40}

    assert small == SMALL.keys()


UNTESTED = {"tool": "values only, which the tests of all stages make"}
"""Modules of the gate that have no file of tests of their name, and why."""


def test_each_module_of_the_gate_has_a_file_of_tests() -> None:
    """Who changes `gate/stages/s6_limits.py` finds its tests in `tests/core/gate/stages/test_s6_limits.py`."""
    gate, tests = ROOT / "core/toolcharter/gate", ROOT / "tests/core/gate"
    modules = [path.relative_to(gate) for path in sorted(gate.rglob("*.py")) if path.name != "__init__.py"]

    missing = [path for path in modules if not (tests / path.with_name(f"test_{path.name}")).is_file()]

    assert len(modules) > 30
    assert {str(path.with_suffix("")) for path in missing} == UNTESTED.keys()


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty house with the project's contracts: each layer, module of the gate and plugin is one bare module."""
    folder = tmp_path_factory.mktemp("house")
    shutil.copy(ROOT / "pyproject.toml", folder)
    layers = [name for row in CONTRACTS["Imports go one way"]["layers"] for name in row.split(" | ")]
    for name in ["toolcharter/__init__", *(f"toolcharter/{layer}" for layer in layers)]:
        (folder / f"{name}.py").parent.mkdir(exist_ok=True)
        (folder / f"{name}.py").touch()
    (folder / "toolcharter/gate.py").unlink()
    shutil.copytree(ROOT / "core/toolcharter/gate", folder / "toolcharter/gate", copy_function=_bare)
    for name in PACKAGES:
        (folder / name).mkdir()
        (folder / name / "__init__.py").touch()
    for contract in CONTRACTS.values():
        for line in contract.get("ignore_imports", ()):
            importer, imported = line.split(" -> ")
            module = folder / f"{importer.replace('.', '/')}.py"
            text = module.read_text() if module.exists() else ""
            module.write_text(f"{text}import {imported}\n")
    return folder


def _bare(_: str, copy: str) -> None:
    Path(copy).touch()


def _broken_contracts(house: Path) -> list[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()", "--no-cache"]
    said = subprocess.run(command, cwd=house, capture_output=True, text=True, check=False).stdout
    assert re.search(r"Contracts: \d+ kept, \d+ broken", said), said
    return re.findall(r"^(.+) BROKEN(?: \(.+\))?$", said, re.MULTILINE)


def test_bare_house_keeps_every_contract(house: Path) -> None:
    """The contracts ask for nothing but the layers."""
    assert _broken_contracts(house) == []


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("toolcharter/api.py", "import toolcharter.gate", "Imports go one way"),
        ("toolcharter/events.py", "import toolcharter.policy", "Imports go one way"),
        ("toolcharter/guards.py", "import toolcharter.events", "Imports go one way"),
        ("toolcharter/gate/call.py", "import toolcharter.gate.pipeline", "Inside the gate, imports go one way"),
        ("toolcharter/gate/waiting.py", "import toolcharter.gate.call", "Inside the gate, imports go one way"),
        (
            "toolcharter/gate/stages/s9_record.py",
            "import toolcharter.gate.pipeline",
            "Inside the gate, imports go one way",
        ),
        (
            "toolcharter/gate/stages/s5_approval.py",
            "import toolcharter.gate.stages.s4_confine",
            "The stages of a call do not know each other",
        ),
        (
            "toolcharter/policy.py",
            "from toolcharter import Denied",
            "No module of the core imports from the package root",
        ),
        ("toolcharter/loader.py", f"import {PACKAGES[0]}", "The core knows no plugin"),
        (
            f"{PACKAGES[0]}/__init__.py",
            "from toolcharter.errors import Denied",
            "A plugin imports the package root and nothing below it",
        ),
        (f"{PACKAGES[0]}/__init__.py", f"import {PACKAGES[-1]}", "Plugins do not know each other"),
    ],
)
def test_contract_catches_a_forbidden_import(house: Path, tmp_path: Path, module: str, line: str, broken: str) -> None:
    """Each contract is broken by the import it is there for, and by no other fault of the house."""
    copy = shutil.copytree(house, tmp_path / "house")
    (copy / module).write_text(f"{line}\n")

    assert _broken_contracts(copy) == [broken]


def test_plugin_may_import_the_package_root(house: Path, tmp_path: Path) -> None:
    """What a plugin needs stands in the package root."""
    copy = shutil.copytree(house, tmp_path / "house")
    (copy / PACKAGES[0] / "__init__.py").write_text("from toolcharter import ToolSpec\n")

    assert _broken_contracts(copy) == []


def test_the_page_shows_what_the_fast_tests_are() -> None:
    """The command of `make test-fast`, word for word, and all it names is there."""
    recipe = re.search(r"^test-fast:.*\n\t.*\n\t@\$\(BIN\)/python -m (pytest .*) \$\(ARGS\)$", MAKEFILE, re.MULTILINE)
    assert recipe is not None
    words = shlex.split(recipe[1])
    named = [word for word in words if word.startswith("tests/")]

    assert f"`make test-fast` runs:\n\n```sh illustration\n{recipe[1]}\n```\n" in (ROOT / "CONTRIBUTING.md").read_text()
    assert named[:2] == ["tests/core", "tests/golden"]
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert words[words.index("-m") + 1] == "not slow"


def test_the_marker_of_slow_tests_is_known_and_used(pytestconfig: pytest.Config) -> None:
    """A misspelt marker is an error by `--strict-markers`; one that nothing bears would leave nothing out."""
    marked = [file for file in (ROOT / "tests/core").rglob("test_*.py") if "pytest.mark.slow" in file.read_text()]

    assert any(line.startswith("slow: ") for line in pytestconfig.getini("markers"))
    assert len(marked) > 20
