"""Every distribution builds, holds what it should, installs beside the core, and works from there.

All of it happens with the real tools: `build`, and `uv` on an empty environment. Packages come from uv's cache when it
has them all, else from the registry. The core is built by the program `build`, and the plugins by its library: a program that
starts several Pythons for each would take most of the time.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import uv

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = [ROOT, *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]
PLUGINS = FOLDERS[1:]
ENVIRONMENT = {
    key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV", "PYTEST"))
}

pytestmark = pytest.mark.needs_program("git")


@dataclass(frozen=True)
class Distribution:
    """One folder and what was built from it."""

    folder: Path
    project: dict[str, Any]
    sdist: Path
    wheel: Path

    @property
    def stem(self) -> str:
        """What file names and folders in archives begin with."""
        return f"{self.project['name'].replace('-', '_')}-{self.project['version']}"


def name_of(folder: Path) -> str:
    return "toolcharter" if folder == ROOT else folder.name


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build_core(out: Path) -> None:
    # From another folder: `build/` in the current one would hide the program.
    run(sys.executable, "-m", "build", "--no-isolation", "--sdist", "--wheel", "--outdir", out, ROOT, cwd=out)


@pytest.fixture(scope="session")
def build() -> Iterator[Callable[..., None]]:
    """Builds a folder in some formats; see `tests/builder.py`."""
    command, pipe = [sys.executable, str(ROOT / "tests/builder.py")], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=ENVIRONMENT, text=True) as builder:
        assert builder.stdin is not None
        assert builder.stdout is not None
        asked, answers = builder.stdin, builder.stdout

        def ask(folder: Path, out: Path, *formats: str) -> None:
            print(json.dumps([str(folder), str(out), formats]), file=asked, flush=True)
            wrong = json.loads(answers.readline())
            assert not wrong, wrong

        yield ask
        asked.close()


def content(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def tracked(folder: Path, *patterns: str) -> list[str]:
    """The files below *folder* that are under version control or about to be, relative to it."""
    # CI may run as another user than the one who made the clone, which git refuses unless told.
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = run(*command, "--", *patterns, cwd=folder)
    return [name for name in listing.split("\0") if name and (folder / name).is_file()]


def package_files(folder: Path) -> list[str]:
    """What of *folder* belongs in a wheel, by its names there."""
    if folder != ROOT:
        return tracked(folder, f"toolcharter_{folder.name}")
    profiles = [f"toolcharter/{name}" for name in tracked(ROOT, "profiles")]
    return [*profiles, *(name.removeprefix("core/") for name in tracked(ROOT, "core"))]


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this run that all of its workers share, so that each distribution is built and installed once."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "packaging"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def filling(folder: Path) -> Iterator[bool]:
    """Whether *folder* has to be filled; whoever else wants it waits until it is."""
    done = folder / "done"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_missing := not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        yield is_missing
        done.touch()


@pytest.fixture(scope="session")
def built(shared: Path, build: Callable[..., None]) -> Callable[[Path], Distribution]:
    done: dict[Path, Distribution] = {}

    def get(folder: Path) -> Distribution:
        if folder not in done:
            out = shared / name_of(folder)
            with filling(out) as is_missing:
                if is_missing and folder == ROOT:
                    build_core(out)
                elif is_missing:
                    build(folder, out, "sdist", "wheel")
            project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
            (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
            done[folder] = Distribution(folder, project, sdist, wheel)
        return done[folder]

    return get


@pytest.fixture(scope="session")
def installed(built: Callable[[Path], Distribution], shared: Path) -> Callable[[Path], Callable[..., str]]:
    done: dict[Path, Path] = {}

    def get(folder: Path) -> Callable[..., str]:
        """Install the core and *folder* in an environment of their own; returns what runs a program of it."""
        if folder not in done:
            place = shared / f"installed-{name_of(folder)}"
            lock = folder / "constraints.txt"  # of its own, where the plugin is one for a framework
            wheels = [built(each).wheel for each in dict.fromkeys([ROOT, *ours_below(folder), folder])]
            if folder != ROOT:
                get(ROOT)  # Its bytecode serves the others.
            with filling(place) as is_missing:
                if is_missing:
                    install(place / "venv", wheels, lock if lock.exists() else ROOT / "constraints.txt")
                    if folder == ROOT:
                        package = site_packages(place / "venv") / "toolcharter"
                        run(place / "venv/bin/python", "-m", "compileall", "-q", package, cwd=place)
                    else:
                        purelib = Path(sysconfig.get_path("purelib"))
                        lend_bytecode(place / "venv", [site_packages(done[ROOT] / "venv"), purelib])
            done[folder] = place
        bin_folder = done[folder] / "venv" / "bin"
        return lambda program, *arguments: run(bin_folder / program, *arguments, cwd=done[folder])

    return get


def ours_below(folder: Path) -> list[Path]:
    """The folders of our own distributions that a distribution needs, and of those that these need."""
    needed = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["dependencies"]
    direct = [
        each for each in PLUGINS if any(one.startswith(f"toolcharter-{each.name.replace('_', '-')}>") for one in needed)
    ]
    return [*(below for each in direct for below in ours_below(each)), *direct]


def install(venv: Path, wheels: list[Path], lock: Path) -> None:
    program = uv.find_uv_bin()
    run(program, "venv", "--quiet", "--python", sys.executable, venv, cwd=venv.parent)
    command: list[str | Path] = [program, "pip", "install", "--quiet", "--python", venv / "bin" / "python"]
    command += ["--only-binary=:all:", "--constraint", lock, *wheels]
    offline = subprocess.run(
        [*command, "--offline"], cwd=venv.parent, env=ENVIRONMENT, capture_output=True, check=False
    )
    if offline.returncode:
        run(*command, cwd=venv.parent)


def lend_bytecode(venv: Path, lenders: list[Path]) -> None:
    """Give *venv* what *lenders* have compiled of its packages; Python compiles what does not match its source.

    uv links the files of a package into each environment, with their time, by which Python knows the source of its bytecode.
    """
    site = site_packages(venv)
    packages = {path.name for path in site.iterdir() if path.is_dir()}
    for lender in lenders:
        for folder, names in compiled(lender):
            place = site / folder
            if folder.parts[0] in packages and place.parent.is_dir() and not place.exists():
                place.mkdir()
                for name in names:
                    _lend(lender / folder / name, place / name)


def _lend(compiled: Path, place: Path) -> None:
    with suppress(FileNotFoundError):  # Whoever compiles it anew replaces it.
        try:
            os.link(compiled, place)
        except OSError:  # on another file system
            shutil.copy2(compiled, place)


@cache
def compiled(site: Path) -> list[tuple[Path, list[str]]]:
    """The folders of bytecode in *site*, relative to it, with the names in each."""
    return [
        (Path(folder).relative_to(site), [name for name in names if name.endswith(".pyc")])
        for folder, _, names in os.walk(site)
        if folder.endswith("/__pycache__")
    ]


def site_packages(venv: Path) -> Path:
    return next(venv.glob("lib/*/site-packages"))


each_distribution = pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
# Plugins for frameworks are no plugins of toolcharter's own: a framework or its user imports them.
each_plugin = pytest.mark.parametrize(
    "folder", [folder for folder in PLUGINS if not (folder / "constraints.txt").exists()], ids=name_of
)


@each_distribution
def test_wheel_holds_the_package_and_its_metadata(folder: Path, built: Callable[[Path], Distribution]) -> None:
    """Nothing is missing, and no cache, test or stray file travels along; the core carries the ready profiles."""
    distribution = built(folder)

    names = sorted(content(distribution.wheel))

    entry_points = ["entry_points.txt"] if {"entry-points", "scripts"} & distribution.project.keys() else []
    metadata = ["METADATA", "RECORD", "WHEEL", *entry_points, "licenses/LICENSE"]
    expected = [*package_files(folder), *(f"{distribution.stem}.dist-info/{name}" for name in metadata)]
    assert names == sorted(expected)


@each_distribution
def test_wheel_says_that_it_is_typed(folder: Path, built: Callable[[Path], Distribution]) -> None:
    """Type checkers read annotations only beside this mark."""
    package = "toolcharter" if folder == ROOT else f"toolcharter_{folder.name}"

    assert f"{package}/py.typed" in content(built(folder).wheel)


def test_core_wheel_holds_the_skeleton_of_a_plugin(built: Callable[[Path], Distribution]) -> None:
    """`toolcharter new` works away from the checkout: every template travels along, the package's included."""
    prefix = "toolcharter/cli/skeleton/"

    templates = {name.removeprefix(prefix) for name in content(built(ROOT).wheel) if name.startswith(prefix)}

    skeleton = ROOT / "core" / prefix
    assert templates == {path.relative_to(skeleton).as_posix() for path in skeleton.rglob("*.in")}
    assert {"pyproject.toml.in", "README.md.in", "package/__init__.py.in", "package/py.typed.in"} <= templates


@each_distribution
def test_sdist_holds_the_sources_and_what_builds_them(folder: Path, built: Callable[[Path], Distribution]) -> None:
    """The sources lie in it as in the checkout, each as a file of its own: a link would lead nowhere."""
    distribution = built(folder)

    with tarfile.open(distribution.sdist) as archive:
        members = {member.name: member.isfile() for member in archive}

    beside = [".gitignore", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"]
    if folder == ROOT:
        beside += ["CHANGELOG.md", *(f"core/{name}" for name in package_files(ROOT))]
    else:
        beside += package_files(folder)
    assert members == {f"{distribution.stem}/{name}": True for name in beside}


@each_distribution
def test_sdist_builds_the_same_wheel(
    folder: Path, built: Callable[[Path], Distribution], build: Callable[..., None], tmp_path: Path
) -> None:
    """Who builds from the sdist gets what we publish, byte for byte."""
    distribution = built(folder)
    with tarfile.open(distribution.sdist) as archive:
        # Before 3.11.4 there is no filter, and since 3.12 the method wants one.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path)

    build(tmp_path / distribution.stem, tmp_path, "wheel")

    assert content(tmp_path / distribution.wheel.name) == content(distribution.wheel)


@each_distribution
def test_installed_package_is_imported_from_its_environment(
    folder: Path, installed: Callable[[Path], Callable[..., str]]
) -> None:
    """The declared dependencies are all that an import needs."""
    run_there = installed(folder)
    package = "toolcharter" if folder == ROOT else f"toolcharter_{folder.name}"

    prefix, place = run_there("python", "-c", f"import sys, {package}; print(sys.prefix, {package}.__file__)").split()

    assert Path(place).is_relative_to(prefix)


@each_distribution
def test_installed_command_tells_its_version(folder: Path, installed: Callable[[Path], Callable[..., str]]) -> None:
    """The command works with nothing but the wheels and their dependencies."""
    said = installed(folder)("toolcharter", "--version")

    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] in said.split()


def test_core_alone_lists_no_plugin(installed: Callable[[Path], Callable[..., str]]) -> None:
    """The core brings no tool of its own."""
    said = installed(ROOT)("toolcharter", "plugins")

    assert [folder.name for folder in PLUGINS if f"toolcharter-{folder.name}" in said] == []


@each_plugin
def test_installed_plugin_is_listed(folder: Path, installed: Callable[[Path], Callable[..., str]]) -> None:
    """Installing a plugin is all it takes for its distribution and its tools to appear."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    groups = project.get("entry-points", {})
    expected = {project["name"], *groups.get("toolcharter", ()), *groups.get("toolcharter.extensions", ())}

    said = installed(folder)("toolcharter", "plugins", "--check")

    assert {word for word in expected if word not in said} == set()


def test_installed_core_offers_the_ready_profiles(installed: Callable[[Path], Callable[..., str]]) -> None:
    """The ready profiles are found away from the checkout."""
    expected = {path.stem for path in (ROOT / "profiles").glob("*.yaml")}

    said = installed(ROOT)("toolcharter", "profiles")

    assert {name for name in expected if name not in said} == set()
