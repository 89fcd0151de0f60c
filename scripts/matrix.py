"""Run the test suite on every Python of 3.11 to 3.13 that is present, and say at the end how each went.

    python3.11 scripts/matrix.py [PYTEST_ARGUMENT ...]

The Python that runs this file tests in `.venv`, each other version in `.venvs/<version>`. `PYTHONS="3.11 3.13"` in the
environment narrows the choice. The first version runs all tests, the others what depends on the version (`AGAIN`), beside
it, since many of its tests wait for programs; tests that an argument names run on each. Without arguments the plugins for
frameworks are tested last, each beside its framework (`scripts/hosts.py`). Exit status: 0 if all passed, else 1.

Not by nox, which runs one session after the other. Interpreters are not found by `uv python find`, which stops at the first
shim of pyenv that leads nowhere.
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
_WORKERS = (os.cpu_count() or 1) + 1
"""Of the first version: more than there are processors, since many tests wait for programs. The later ones run beside it.

One more would take a fifth less time on two processors; tests that a busy machine fails now and then have to be found first
(`make repeats`).
"""
_NEIGHBOURS = "--dist=worksteal"
"""Each worker takes tests that stand together, which share services, browsers and databases of their module."""
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
"""What depends on the version of Python: annotations, metadata, threads, cancellation, and every plugin by its contract.
The rest is about other programs than Python, pure, or long, as are the processes that look for side effects of each plugin.
Since a file is named, no run judges which reasons no test reaches."""


def main(arguments: list[str]) -> int:
    """Test on each version; returns the exit status."""
    wanted = os.environ.get("PYTHONS", "").split() or SUPPORTED
    pythons = {version: find(version) for version in wanted}
    present = {version: python for version, python in pythons.items() if python is not None}
    ran = run_all(present, arguments)
    print("\nTests:")
    for name, outcome in ({f"Python {version}": _ABSENT for version in wanted} | ran).items():
        print(f"  {name:12} {outcome}")
    return 0 if ran and all(outcome.startswith("passed") for outcome in ran.values()) else 1


def run_all(pythons: Mapping[str, Path], arguments: list[str]) -> dict[str, str]:
    """Test on *pythons*, then the hosts: what came of each, by its name. What runs beside the first is shown behind it."""
    if not pythons:
        return {}
    (version, python), *others = pythons.items()
    first = _prepared(version, python)
    # The workers would each compile all tests at the same time: one process does it while the other environments are made.
    compiling = None if arguments else _start(_pytest(first, ["-q", "--collect-only"]))
    again = ["-n1", *selection(arguments, is_first=False)]
    commands = {f"Python {other}": _pytest(_prepared(other, python, first), again) for other, python in others}
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


def _prepared(version: str, python: Path, first: Path | None = None) -> Path:
    venv = VENV if python == Path(sys.executable) else ROOT / ".venvs" / version
    prepare(venv, python, "dev", first=first)
    return venv


def _run(command: Sequence[str], *, shown: bool) -> tuple[str, str]:
    """What came of *command*, and what it has said, unless that is *shown* at once."""
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
    """What pytest is given: the user's words, behind what this version runs unless they name a place themselves."""
    names_places = any((ROOT / argument.partition("::")[0]).exists() for argument in arguments)
    return [*(() if is_first or names_places else AGAIN), *arguments]


def find(version: str) -> Path | None:
    """An interpreter of *version* (such as `3.12`) that works, or None."""
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
    # Run it: a name on the PATH may be a shim of pyenv that leads nowhere.
    probe = "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"
    ran = subprocess.run([python, "-c", probe], capture_output=True, text=True, check=False)
    return ran.stdout.strip() == version


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
