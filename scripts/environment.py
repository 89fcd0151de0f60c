"""Make the environments that the Makefile works in, from locked wheels, in seconds and without root.

    python3.11 scripts/environment.py run     .venv with the core, all plugins and what they need
    python3.11 scripts/environment.py dev     .venv with the developers' tools as well
    python3.11 scripts/environment.py lock    .venv with uv, if it has none yet: all that writing the lock file takes

`.venv` is made from the Python that runs this file. A stamp in it says what it was made from: as long as that has not
changed, nothing is done. Stops with the line that failed if an environment can't be made.

pip brings uv, and uv does the rest by `uv pip install`. `uv sync` would need `uv.lock`, which holds the addresses of one index;
`constraints.txt` holds hashes alone, so that it serves whichever index pip is configured for.
"""

import csv
import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "constraints.txt"
VENV = ROOT / ".venv"
STAMP = "toolcharter-setup.json"
PACKAGES = "toolcharter-packages.txt"
"""In an environment: the locked requirements that it holds."""
LEVELS = ("run", "dev")
HOST_TOOLS = ("files", "git", "shell")
"""The plugins whose tools the tests of hosts call."""


class Stamp(NamedTuple):
    """What an environment was made from."""

    home: str
    """The checkout and the Python; when either changes, nothing in the environment is of use."""
    digest: str
    """Of the lock file, every pyproject.toml and this file."""
    level: int
    """Index into LEVELS."""


def projects() -> list[Path]:
    """The folders of all distributions that `.venv` holds, the core's first."""
    return [ROOT, *(folder for folder in _plugins() if not _has_own_environment(folder))]


def hosts() -> list[Path]:
    """The folders of the plugins for frameworks: each has an environment of its own, beside its framework."""
    return [folder for folder in _plugins() if _has_own_environment(folder)]


def _plugins() -> list[Path]:
    return sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))


def _has_own_environment(folder: Path) -> bool:
    settings: dict[str, str] = _load(folder).get("tool", {}).get("toolcharter", {})
    return settings.get("environment") == "own"


def prepare(venv: Path, python: Path, level: str, *, first: Path | None = None) -> None:
    """Make *venv* fit for *level*, unless it already is.

    Args:
        venv: The environment's folder; its content is lost if it was made by another Python or for another checkout.
        python: The interpreter to make it from.
        level: `run` or `dev`.
        first: An environment of this checkout that is ready and fit for *level*. Its uv makes *venv*, in a tenth of the
            time: the projects are taken over from it, and modules are compiled when they are imported.
    """
    wanted = Stamp(f"{ROOT} {_version(python)}", _digest(), LEVELS.index(level))
    found = _read_stamp(venv)
    if found and found[:2] == wanted[:2] and found.level >= wanted.level:
        return
    started = time.monotonic()
    print(f"Setting up {venv.relative_to(ROOT)} ...", flush=True)
    (venv / STAMP).unlink(missing_ok=True)
    if first is None:
        bring_uv(venv, python, clear=found is not None and found.home != wanted.home)
        _install(venv, level)
    else:
        _make_like(first, venv, python)
    (venv / STAMP).write_text(json.dumps(wanted))
    print(f"Set up {venv.relative_to(ROOT)} in {time.monotonic() - started:.1f} s.", flush=True)


def prepare_host(folder: Path) -> Path:
    """Make `.venvs/NAME` for the plugin in *folder*, unless it is there; returns its Python.

    It holds the plugin, its framework, the core, and the plugins whose tools the tests of hosts call.
    """
    local = [ROOT, *(ROOT / "plugins" / name for name in HOST_TOOLS), folder]
    return prepare_locked(folder.name, folder / "constraints.txt", local)


def prepare_locked(name: str, lock: Path, local: Sequence[Path]) -> Path:
    """Make `.venvs/NAME` from *lock* and the projects in *local*, unless it is there; returns its Python."""
    venv = ROOT / ".venvs" / name
    inputs = [Path(__file__), lock, *(project / "pyproject.toml" for project in local)]
    wanted = Stamp(f"{ROOT} {_version(Path(sys.executable))}", _digest_of(inputs), LEVELS.index("dev"))
    venv.parent.mkdir(exist_ok=True)
    # Tests and linters may want the same environment at the same time.
    with venv.with_suffix(".lock").open("w") as lock_of_venv:
        fcntl.flock(lock_of_venv, fcntl.LOCK_EX)
        if _read_stamp(venv) != wanted:
            _make_locked(venv, lock, local)
            (venv / STAMP).write_text(json.dumps(wanted))
    return venv / "bin" / "python"


def _make_locked(venv: Path, lock: Path, local: Sequence[Path]) -> None:
    started = time.monotonic()
    uv = VENV / "bin" / "uv"
    run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, venv)
    install: list[str | Path] = [uv, "pip", "install", "--quiet", "--python", venv / "bin" / "python"]
    settings = _uv_settings(VENV / "bin" / "python")
    run(*install, "--only-binary=:all:", "--require-hashes", "-r", lock, environment=settings)
    there = {*projects()}
    _take_over((project for project in local if project in there), VENV, venv)
    editable = [word for project in local if project not in there for word in ("--editable", str(project))]
    if editable:
        run(*install, "--no-deps", "--no-sources", "--no-build-isolation", *editable, environment=settings)
    print(f"Set up {venv.relative_to(ROOT)} in {time.monotonic() - started:.1f} s.", flush=True)


def _make_like(first: Path, venv: Path, python: Path) -> None:
    uv = first / "bin" / "uv"
    run(uv, "venv", "--quiet", "--clear", "--python", python, venv)
    install: list[str | Path] = [uv, "pip", "install", "--quiet", "--python", venv / "bin" / "python"]
    locked: list[str | Path] = ["--require-hashes", "--constraint", LOCK, "--requirement", first / PACKAGES]
    run(*install, "--only-binary=:all:", *locked, environment=_uv_settings(first / "bin" / "python"))
    _take_over(projects(), first, venv)


def _take_over(taken: Iterable[Path], first: Path, venv: Path) -> None:
    """Install projects in *venv* as *first* has them: their editable wheels are the same for every Python."""
    source, target = (next(place.glob("lib/python3.*/site-packages")) for place in (first, venv))
    for project in taken:
        name = _name(_load(project)["project"]["name"]).replace("-", "_")
        [record] = source.glob(f"{name}-*.dist-info/RECORD")
        for file, *_ in csv.reader(record.read_text().splitlines()):
            there = target / file
            there.parent.mkdir(parents=True, exist_ok=True)
            # Scripts name the Python that runs them.
            there.write_bytes((source / file).read_bytes().replace(bytes(first), bytes(venv)))
            shutil.copymode(source / file, there)


def bring_uv(venv: Path, python: Path, *, clear: bool = False) -> None:
    """Make *venv* from *python*, with uv in it: pip brings uv, and uv the rest, several times faster."""
    run(python, "-m", "venv", *(["--clear"] if clear else []), venv)
    locked = venv / "toolcharter-uv.txt"
    locked.write_text("".join(_entries(LOCK.read_text())["uv"]))
    pip: list[str | Path] = [venv / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run(*pip, "--no-deps", "--only-binary=:all:", "--require-hashes", "-r", locked)


def run(*command: str | Path, environment: dict[str, str] | None = None) -> None:
    """Run *command* in the project root, or stop with its exit status and the line to repeat it."""
    words = [str(word) for word in command]
    status = subprocess.run(words, cwd=ROOT, env=os.environ | (environment or {}), check=False).returncode
    if status:
        sys.exit(f"This failed with exit status {status}: {shlex.join(words)}")


def _install(venv: Path, level: str) -> None:
    python = venv / "bin" / "python"
    packages = venv / PACKAGES
    entries = _entries(LOCK.read_text())
    packages.write_text("".join(_chosen(entries) if level == "run" else chain(*entries.values())))
    uv: list[str | Path] = [venv / "bin" / "uv", "pip", "install", "--quiet", "--python", python]
    settings = _uv_settings(python)
    locked: list[str | Path] = ["--require-hashes", "--constraint", LOCK, "--requirement", packages]
    run(*uv, "--compile-bytecode", "--only-binary=:all:", *locked, environment=settings)
    # Folders have no hash, so they can't be in one command with the locked packages.
    local = [word for project in projects() for word in ("--editable", str(project))]
    run(*uv, "--no-deps", "--no-sources", "--no-build-isolation", *local, environment=settings)
    run(python, "-m", "compileall", "-q", "core", "plugins")


def _entries(lock: str) -> dict[str, list[str]]:
    """Name -> its requirements with their hashes; more than one where Python versions differ."""
    entries: dict[str, list[str]] = {}
    for entry in re.findall(r"^[a-z0-9].*\n(?: +--hash.*\n)+", lock, re.MULTILINE):
        entries.setdefault(_name(entry), []).append(entry)
    return entries


def _chosen(entries: dict[str, list[str]]) -> Iterator[str]:
    """What the distributions need by name; the rest follows from these, held to the lock file as constraints."""
    local = {_name(_load(project)["project"]["name"]) for project in projects()}
    for name in sorted({_name(requirement) for requirement in _requirements()} - local):
        if name not in entries:
            sys.exit(f"constraints.txt holds no {name!r}, which a pyproject.toml here asks for. Run `make lock` first.")
        yield from entries[name]


def _requirements() -> Iterator[str]:
    for project in projects():
        yield from _load(project)["project"].get("dependencies", ())
    yield from _load(ROOT)["dependency-groups"]["setup"]


def _name(requirement: str) -> str:
    """The normalised name (Source: packaging.python.org, "Name normalization") that *requirement* begins with."""
    word = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", word[0]).lower() if word else requirement


def _load(project: Path) -> dict[str, Any]:
    return tomllib.loads((project / "pyproject.toml").read_text())


def _uv_settings(python: Path) -> dict[str, str]:
    """Lead uv to the index and the certificates that pip is configured for; uv's own variables win."""
    listing = subprocess.run(
        [python, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    configured = dict(re.findall(r"^[^=\n]*\.(index-url|cert)='(.*)'$", listing, re.MULTILINE))
    names = {"index-url": "UV_DEFAULT_INDEX", "cert": "SSL_CERT_FILE"}
    return {names[key]: value for key, value in configured.items() if names[key] not in os.environ}


def _version(python: Path) -> str:
    return subprocess.run([python, "-VV"], capture_output=True, text=True, check=True).stdout.strip()


def _digest() -> str:
    return _digest_of([Path(__file__), LOCK, *(project / "pyproject.toml" for project in projects())])


def _digest_of(inputs: Iterable[Path]) -> str:
    return hashlib.sha256(b"\0".join(str(path).encode() + path.read_bytes() for path in inputs)).hexdigest()


def _read_stamp(venv: Path) -> Stamp | None:
    try:
        return Stamp(*json.loads((venv / STAMP).read_text()))
    except (OSError, ValueError, TypeError):
        return None


if __name__ == "__main__":
    if sys.argv[1] == "lock":
        bring_uv(VENV, Path(sys.executable))
    else:
        prepare(VENV, Path(sys.executable), sys.argv[1])
