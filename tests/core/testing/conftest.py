"""A toy plugin in a site directory, and projects that test profiles with it."""

import importlib
import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml  # noqa: F401 - see below
from pydantic import TypeAdapter  # noqa: F401 - see below

import toolcharter
import toolcharter.gate.build.open
import toolcharter.gate.waiting
import toolcharter.testing.contract
import toolcharter.testing.items
import toolcharter.testing.summary  # All of these before the first run of pytest inside a test, which
from toolcharter.api.tool import ToolSpec

# forgets what it was the first to import: a second copy of a class or of a C extension is no good.
from toolcharter.gate.observers import OBSERVERS
from toolcharter.loader.scan import InstalledPlugins, find_installed

GREET = '''
"""Say hello to people on the list."""

from enum import StrEnum

from toolcharter import ToolPolicy, ToolSpec, hookimpl


class GreetPolicy(ToolPolicy):
    """Whom one profile lets `greet` address."""

    allowed_names: tuple[str, ...] = ()
    """Names that may be greeted; none by default."""


class GreetReason(StrEnum):
    """Why `greet` refuses."""

    NAME_NOT_ALLOWED = "name_not_allowed"
    NAME_EMPTY = "name_empty"


def build(workspace, policy, rt):
    def greet(name: str) -> str:
        """Greet one person.

        Args:
            name: Whom to greet.
        """
        ctx = rt.start("greet", name=name)
        if not name:
            return ctx.error("ERROR: nobody to greet", reason=GreetReason.NAME_EMPTY)
        if name not in policy.allowed_names:
            return ctx.deny(GreetReason.NAME_NOT_ALLOWED, f"{name} is not on the list.", hint="Greet Ann.")
        ctx.policy_passed()
        return ctx.ok(f"Hello, {name}!")

    return greet


SPEC = ToolSpec("greet", GreetPolicy, build, reasons=GreetReason, capabilities={"text"}, safety="low", staged=True)


@hookimpl
def register_tools():
    return [SPEC]
'''

README = """
# acme-greet

| field | default | meaning |
|---|---|---|
| `allowed_names` | `[]` | names that may be greeted |

| reason | outcome | meaning |
|---|---|---|
| `name_not_allowed` | denied | the name is not on the list |
| `name_empty` | error | no name was given |
"""


WATCHMAN = '''
"""Looks at each call."""

from enum import StrEnum

from toolcharter import ExtensionPolicy, ExtensionSpec, hookimpl


class WatchmanPolicy(ExtensionPolicy):
    """Whom it lets through."""

    allowed_tools: tuple[str, ...] = ()
    """Tools that are let through; none by default."""


class WatchmanReason(StrEnum):
    """Why it refuses."""

    NOT_ON_DUTY = "not_on_duty"


class Watchman:
    @hookimpl
    def check_call(self, call):
        return None


def build(workspace, policy):
    return Watchman()


@hookimpl
def register_extensions():
    return [ExtensionSpec("watchman", WatchmanPolicy, build, reasons=WatchmanReason)]
'''
WATCHMAN_README = """
| field | default | meaning |
|---|---|---|
| `allowed_tools` | `[]` | tools that are let through |

| reason | outcome | meaning |
|---|---|---|
| `not_on_duty` | denied | nobody looks |
"""


def install_plugin(
    site: Path, distribution: str, source: str, *tools: str, readme: str = README, group: str = "toolcharter"
) -> Path:
    """Put a distribution and its one module into *site*, as an installer leaves them."""
    module = distribution.replace("-", "_")
    metadata = site / f"{module}-1.0.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n\n{readme}")
    (metadata / "entry_points.txt").write_text(f"[{group}]\n" + "".join(f"{tool} = {module}\n" for tool in tools))
    (site / f"{module}.py").write_text(source)
    importlib.invalidate_caches()
    return metadata


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    """What these tests' toys show is nothing that the run around them should count."""
    outer, OBSERVERS[:] = OBSERVERS[:], []
    yield
    OBSERVERS[:] = outer


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A site directory of this process that holds the toy plugin."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    install_plugin(folder, "acme-greet", GREET, "greet")
    monkeypatch.delenv("TOOLCHARTER_PLUGINS", raising=False)
    monkeypatch.syspath_prepend(folder)

    def only_here() -> InstalledPlugins:
        return find_installed(path=[str(folder)], sites=[str(folder)])

    monkeypatch.setattr("toolcharter.gate.build.plan.find_installed", only_here)
    monkeypatch.setattr("toolcharter.testing.contract.find_installed", only_here)
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@dataclass
class ThirdPartyEnvironment:
    """Somebody's environment: the core, what it depends on, the toy plugin, and nothing of this checkout's path."""

    python: Path
    site: Path
    project: Path

    def write(self, **files: str) -> None:
        """Write files of the project; `__` in a name stands for `/`, its last `_` for the dot."""
        for name, text in files.items():
            path = self.project / ".".join(name.replace("__", "/").rsplit("_", 1))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def pytest(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run pytest in the project."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
        return subprocess.run(
            [
                self.python,
                "-m",
                "pytest",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:hypothesispytest",
                "-p",
                "no:schemathesis",  # ours, not a stranger's: it imports for half a second
                "-W",
                "ignore",
                *arguments,
            ],
            cwd=self.project,
            env=variables | {"COLUMNS": "200", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def stranger(tmp_path: Path) -> ThirdPartyEnvironment:
    folder = tmp_path / "environment"
    venv.create(folder, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = folder / "lib" / version / "site-packages"
    core = [str(Path(toolcharter.__file__).parents[1]), sysconfig.get_path("purelib")]
    (site / "core.pth").write_text("\n".join(core))
    install_plugin(site, "acme-greet", GREET, "greet")
    project = tmp_path / "project"
    project.mkdir()
    return ThirdPartyEnvironment(folder / "bin/python", site, project)


@pytest.fixture
def greet(site: Path) -> ToolSpec[Any]:
    """The toy's spec."""
    spec: ToolSpec[Any] = importlib.import_module("acme_greet").SPEC
    return spec


@pytest.fixture
def install() -> Callable[..., Path]:
    """Puts a distribution and its one module into a site directory."""
    return install_plugin
