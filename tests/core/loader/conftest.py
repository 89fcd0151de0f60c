"""Real distributions: packages with metadata in a folder that a test declares a site directory."""

import importlib
import json
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

import toolcharter
from toolcharter.loader.load import LoadedPlugins, load_plugins
from toolcharter.loader.scan import InstalledPlugins, find_installed
from toolcharter.loader.select import channel_needs, store_need

HEAD = """
from toolcharter import *

def build(workspace, policy, rt):
    return lambda: "done"

@hookimpl
def register_tools():
"""


class Site:
    """A folder with packages and metadata, as an installer leaves them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @staticmethod
    def source(*names: str, aliases: Mapping[str, tuple[str, ...]] | None = None, extra: str = "") -> str:
        """The source of a module that registers a harmless tool for each name."""
        given = aliases or {}
        specs = ", ".join(f"ToolSpec({name!r}, ToolPolicy, build, aliases={given.get(name, ())!r})" for name in names)
        return f"{HEAD}    return [{specs}]\n{dedent(extra)}"

    def package(self, name: str, source: str) -> Path:
        package = self.folder.joinpath(*name.split("."))
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text(source)
        importlib.invalidate_caches()
        return package

    def metadata(
        self, name: str, entry_points: str, *, folder: str | None = None, editable: Path | None = None
    ) -> Path:
        metadata = self.folder / (folder or f"{name.replace('-', '_')}-1.0.dist-info")
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n\nVersion: none\n")
        (metadata / "entry_points.txt").write_text(entry_points)
        if editable:
            record = {"url": editable.as_uri(), "dir_info": {"editable": True}}
            (metadata / "direct_url.json").write_text(json.dumps(record))
        return metadata

    def tool(self, distribution: str, *names: str, source: str | None = None, editable: Path | None = None) -> Path:
        """Install a distribution whose module, named after it, provides the tools *names*."""
        module = distribution.replace("-", "_")
        home = Site(editable) if editable else self
        home.package(module, self.source(*names) if source is None else source)
        lines = "".join(f"{name} = {module}\n" for name in names)
        return self.metadata(distribution, f"[toolcharter]\n{lines}", editable=editable)

    def extension(self, distribution: str, *names: str, source: str) -> Path:
        """Install a distribution whose module, named after it, provides the extensions *names*."""
        module = distribution.replace("-", "_")
        self.package(module, "from toolcharter import *\n" + dedent(source))
        lines = "".join(f"{name} = {module}\n" for name in names)
        return self.metadata(distribution, f"[toolcharter.extensions]\n{lines}")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.delenv("TOOLCHARTER_PLUGINS", raising=False)
    before = set(sys.modules)
    made = Site(tmp_path / "site-packages")
    monkeypatch.syspath_prepend(made.folder)
    yield made
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__path__", "")):
            del sys.modules[name]


@pytest.fixture
def index(site: Site) -> Callable[..., InstalledPlugins]:
    """What is installed in the site directory, and untrusted in the folders that are handed in."""
    return lambda *folders: find_installed(path=[str(site.folder), *map(str, folders)], sites=[str(site.folder)])


@pytest.fixture
def load(index: Callable[..., InstalledPlugins]) -> Callable[..., LoadedPlugins]:
    """Load tools (at lines of a profile), trusting the site directory alone."""

    def load_from_site(
        *tools: str, path: tuple[Path, ...] = (), channels: Mapping[str, str] = {}, store: str = "", **needs: object
    ) -> LoadedPlugins:
        places = {name: f"p.yaml:{line}:3" for line, name in enumerate(tools, 2)}
        others = [*channel_needs(channels), *([store_need(store, "p.yaml:9:8")] if store else [])]
        return load_plugins(places, **needs, others=others, index=index(*path))  # type: ignore[arg-type]

    return load_from_site


class Environment:
    """A virtual environment that sees the core and what it depends on, and no plugin."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, symlinks=True)
        self.python = folder / "bin/python"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        self.site = Site(folder / "lib" / version / "site-packages")
        core = [str(Path(toolcharter.__file__).parents[1]), sysconfig.get_path("purelib")]
        (self.site.folder / "core.pth").write_text("\n".join(core))

    def run(self, program: str, cwd: Path, **variables: str) -> str:
        """What *program* prints, run in *cwd*, which is first on its `sys.path`."""
        ran = subprocess.run(
            [self.python, "-c", dedent(program)],
            cwd=cwd,
            env={"PATH": "/usr/bin:/bin", **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.stderr == ""
        return ran.stdout


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "workspace/.venv")
