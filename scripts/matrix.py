"""Run the test suite on every installed Python from 3.11 to 3.13, and report at the end how each run went.

    python3.11 scripts/matrix.py [PYTEST_ARGUMENT ...]

The Python that runs this file tests in `.venv`, each other version in `.venvs/<version>`. `PYTHONS="3.11 3.13"` in the
environment narrows the choice. The first version runs all tests. The others run the tests that depend on the version
(`AGAIN`) at the same time, because many tests wait for programs. Tests that an argument names run on each version.
Without arguments, the plugins for frameworks are tested last, each with its framework (`scripts/hosts.py`). Exit
status: 0 if all passed, else 1.

nox is not used, because it runs one session after the other; nor `uv python find`, because it stops at the first
dangling shim of pyenv.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from environment import ROOT, VENV, prepare

_ABSENT = "not present"
_WORKERS = (os.cpu_count() or 1) + 2
"""Workers of the first version: more than processors, because many tests wait for programs. Others run beside it.

On two processors, the fourth worker saves a fifth of the time. The suite passes with five (`tests/repeats.md`).
"""
_NEIGHBOURS = "--dist=worksteal"
"""Each worker takes neighbouring tests, which share services, browsers and databases of their module."""
SUPPORTED = ("3.11", "3.12", "3.13")
AGAIN = (
    "tests/core/api",
    "tests/core/profile/test_read.py",
    "tests/core/loader",
    "tests/core/gate",
    "tests/test_contract.py",
    "--hypothesis-profile=again",
    "--ignore=tests/core/gate/approvals",
    "--ignore=tests/core/gate/test_approval_machine.py",
    "--ignore=tests/core/gate/test_hidden.py",
    "--ignore=tests/core/gate/test_pipes_in_the_workspace.py",
    *(
        f"--deselect=tests/test_contract.py::TestContract::test_{clause}"
        for clause in (
            "a_staged_body_acts_only_after_its_mark",
            "import_and_construction_have_no_side_effects",
            "building_an_extension_has_no_side_effects",
        )
    ),
    "--deselect=tests/core/api/test_tool_spec.py::test_type_checkers_refuse_a_constructor_for_another_policy",
)
"""Tests of what depends on the version of Python: annotations, metadata, threads, cancellation, each plugin's contract.
Other tests are about other programs, pure, or long, like the processes that look for side effects of each plugin.
Because a file is named, these runs do not report reasons that no test reaches."""


def main(arguments: list[str]) -> int:
    """Test on each version; return the exit status."""
    wanted = os.environ.get("PYTHONS", "").split() or SUPPORTED
    pythons = {version: find(version) for version in wanted}
    present = {version: python for version, python in pythons.items() if python is not None}
    ran = run_all(present, arguments)
    print("\nTests:")
    for name, outcome in ({f"Python {version}": _ABSENT for version in wanted} | ran).items():
        print(f"  {name:12} {outcome}")
    return 0 if ran and all(outcome.startswith("passed") for outcome in ran.values()) else 1


def run_all(pythons: Mapping[str, Path], arguments: list[str]) -> dict[str, str]:
    """Test on *pythons*, then the hosts; return each result by name. Output of parallel runs is shown at the end."""
    if not pythons:
        return {}
    (version, python), *others = pythons.items()
    first = _prepare(version, python)
    # Each worker would compile all tests at the same time; one process does that while the other environments are made.
    compiling = None if arguments else _start(_pytest(first, ["-q", "--collect-only"]))
    again = ["-n1", *selection(arguments, is_first=False)]
    commands = {f"Python {other}": _pytest(_prepare(other, python, first), again) for other, python in others}
    if not arguments:
        commands["Hosts"] = [str(first / "bin" / "python"), str(ROOT / "scripts" / "hosts.py"), "test"]
    if compiling:
        compiling.communicate()
    with ThreadPoolExecutor(1) as beside:
        later = {name: beside.submit(_run, command, shown=False) for name, command in commands.items()}
        print(f"\nPython {version}", flush=True)
        words = [f"-n{_WORKERS}", _NEIGHBOURS, *selection(arguments, is_first=True)]
        outcomes = {f"Python {version}": _run(_pytest(first, words), shown=True)[0]}
        for name, running in later.items():
            outcomes[name], said = running.result()
            print(f"\n{name}\n{said}", end="", flush=True)
    return outcomes


def _prepare(version: str, python: Path, first: Path | None = None) -> Path:
    venv = VENV if python == Path(sys.executable) else ROOT / ".venvs" / version
    prepare(venv, python, "dev", first=first)
    return venv


def _run(command: Sequence[str], *, shown: bool) -> tuple[str, str]:
    """Return the result of *command*, and its output, unless that is *shown* at once."""
    started = time.monotonic()
    running = _start(command, output=None if shown else subprocess.PIPE)
    said, _ = running.communicate()
    outcome = f"failed ({running.returncode})" if running.returncode else "passed"
    return f"{outcome} in {time.monotonic() - started:.0f} s", said or ""


def _pytest(venv: Path, words: Sequence[str]) -> list[str]:
    return [str(venv / "bin" / "python"), "-m", "pytest", *words]


def _start(command: Sequence[str], output: int | None = subprocess.DEVNULL) -> "subprocess.Popen[str]":
    return subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, text=True)


def selection(arguments: list[str], *, is_first: bool) -> list[str]:
    """Return pytest's arguments: the user's, after the tests that this version runs unless the user names tests."""
    names_places = any((ROOT / argument.partition("::")[0]).exists() for argument in arguments)
    return [*(() if is_first or names_places else AGAIN), *arguments]


def find(version: str) -> Path | None:
    """Return a working interpreter of *version* (such as `3.12`), or None."""
    return next((python for python in _candidates(version) if _works(python, version)), None)


def _candidates(version: str) -> Iterator[Path]:
    yield Path(sys.executable)
    for folder in os.get_exec_path():
        if found := shutil.which(f"python{version}", path=folder):
            yield Path(found)
    home = Path.home()
    pyenv = Path(os.environ.get("PYENV_ROOT", home / ".pyenv"))
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
    yield from sorted(home.glob(f".local/share/uv/python/cpython-{version}.*/bin/python{version}"))


def _works(python: Path, version: str) -> bool:
    # Run it: a name on the PATH may be a dangling shim of pyenv.
    probe = "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"
    ran = subprocess.run([python, "-c", probe], capture_output=True, text=True, check=False)
    return ran.stdout.strip() == version


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
