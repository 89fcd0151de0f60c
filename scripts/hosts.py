"""Lock, check and test the plugins for frameworks, each beside its framework in an environment of its own.

    python scripts/hosts.py test [NAME ...] [-- PYTEST_ARGUMENT ...]
    python scripts/hosts.py lint [NAME ...]
    python scripts/hosts.py lock [NAME ...]

A NAME is a folder below `plugins`; without one, all of them. The environments are `.venvs/NAME`, made from
`plugins/NAME/constraints.txt`, which `lock` writes. Exit status: 0 if all went well, else 1.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from environment import HOST_TOOLS, ROOT, VENV, hosts, prepare_host, run


def main(arguments: list[str]) -> int:
    """Do what the first argument says; returns the exit status."""
    work, *rest = arguments
    at = rest.index("--") if "--" in rest else len(rest)
    chosen = [folder for folder in hosts() if folder.name in rest[:at] or not rest[:at]]
    if work == "lock":
        for folder in chosen:
            _lock(folder)
        return 0
    outcomes = {folder.name: (_lint if work == "lint" else _test)(folder, rest[at + 1 :]) for folder in chosen}
    print(f"\n{work.capitalize()}, by host:")
    for name, outcome in outcomes.items():
        print(f"  {name:12} {outcome}")
    return 0 if outcomes and all(outcome.startswith("passed") for outcome in outcomes.values()) else 1


def _lock(folder: Path) -> None:
    """Write `constraints.txt` of the plugin in *folder*: all that its environment holds but our own folders."""
    compile_: list[str | Path] = [VENV / "bin" / "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes"]
    options = ["--python-version", "3.11", "--only-binary=:all:", "--no-header", "--no-annotate", "--all-extras"]
    ours = ["toolcharter", *(f"toolcharter-{name}" for name in HOST_TOOLS)]
    left_out = [word for name in ours for word in ("--no-emit-package", name)]
    projects = [ROOT, *(ROOT / "plugins" / name for name in HOST_TOOLS), folder]
    files = [project / "pyproject.toml" for project in projects]
    output: list[str | Path] = ["--output-file", folder / "constraints.txt"]
    run(*compile_, *options, *left_out, "--group", "hosts", *files, *output)


def _test(folder: Path, arguments: list[str]) -> str:
    python = prepare_host(folder)
    return _outcome([python, "-m", "pytest", "-q", ROOT / "tests" / "hosts" / f"test_{folder.name}.py", *arguments])


def _lint(folder: Path, _arguments: list[str]) -> str:
    python = prepare_host(folder)
    files = [folder / f"toolcharter_{folder.name}", ROOT / "tests" / "hosts" / f"test_{folder.name}.py"]
    example = ROOT / "examples" / "hosts" / f"{folder.name}.py"
    cache = ROOT / ".mypy_cache" / folder.name
    mypy: list[str | Path] = [VENV / "bin" / "mypy", "--python-executable", python, "--cache-dir", cache]
    said = _outcome([*mypy, *files, example])
    return said if said.startswith("failed") else _outcome([VENV / "bin" / "pyright", "--pythonpath", python, files[0]])


def _outcome(command: list[str | Path]) -> str:
    started = time.monotonic()
    # The programs that wheels of `.venv` bring, such as ripgrep, serve the tools here, too.
    path = os.pathsep.join([os.environ["PATH"], str(VENV / "bin")])
    ran = subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": path}, check=False)
    said = f"failed ({ran.returncode})" if ran.returncode else "passed"
    return f"{said} in {time.monotonic() - started:.0f} s"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
