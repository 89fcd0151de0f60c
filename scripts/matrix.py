"""Run the test suite on every Python of 3.11 to 3.13 that is present, and say at the end how each went.

    python3.11 scripts/matrix.py [PYTEST_ARGUMENT ...]

The Python that runs this file tests in `.venv`, each other version in `.venvs/<version>`. `PYTHONS="3.11 3.13"` in the
environment narrows the choice. Exit status: 0 if the suite passed everywhere, else 1.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from environment import ROOT, VENV, prepare

SUPPORTED = ("3.11", "3.12", "3.13")


def main(arguments: list[str]) -> int:
    """Test on each version in turn; returns the exit status."""
    outcomes = {version: _outcome(version, arguments) for version in os.environ.get("PYTHONS", "").split() or SUPPORTED}
    print("\nTests, by Python version:")
    for version, outcome in outcomes.items():
        print(f"  {version}  {outcome}")
    passed = [outcome.startswith("passed") for outcome in outcomes.values() if outcome != "not present"]
    return 0 if passed and all(passed) else 1


def _outcome(version: str, arguments: list[str]) -> str:
    python = find(version)
    if python is None:
        return "not present"
    venv = VENV if python == Path(sys.executable) else ROOT / ".venvs" / version
    prepare(venv, python, "dev")
    print(f"\nPython {version}", flush=True)
    started = time.monotonic()
    command: list[str | Path] = [venv / "bin" / "python", "-m", "pytest", "-nauto", *arguments]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    return f"{f'failed ({status})' if status else 'passed'} in {time.monotonic() - started:.0f} s"


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
