"""Lock, check and test the plugins for frameworks, each together with its framework in a separate environment.

    python scripts/hosts.py test [NAME ...] [-- PYTEST_ARGUMENT ...]
    python scripts/hosts.py lowest [NAME ...] [-- PYTEST_ARGUMENT ...]
    python scripts/hosts.py lint [NAME ...]
    python scripts/hosts.py lock [NAME ...]

A NAME is a folder below `plugins`; without one, all of them. The environments are `.venvs/NAME`, made from
`plugins/NAME/constraints.txt`, which `lock` writes. `lowest` makes `.venvs/NAME-lowest`, with the oldest versions of
the plugin's own dependencies that it permits. Exit status: 0 if all went well, else 1.
"""

import os
import re
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

from environment import HOST_TOOLS, ROOT, VENV, hosts, prepare_host, run


def main(arguments: list[str]) -> int:
    """Do what the first argument asks for; return the exit status."""
    if not arguments or arguments[0] not in {"test", "lowest", "lint", "lock"}:
        print(__doc__)
        return 2
    work, *rest = arguments
    at = rest.index("--") if "--" in rest else len(rest)
    chosen = [folder for folder in hosts() if folder.name in rest[:at] or not rest[:at]]
    if work == "lock":
        for folder in chosen:
            _lock(folder)
        return 0
    do = {"lint": _lint, "test": _test, "lowest": _lowest}[work]
    # Tests wait for programs and leave a processor idle; linters run one by one, because they share mypy's cache of the
    # core.
    with ThreadPoolExecutor(2 if work == "test" else 1) as at_a_time:
        said = at_a_time.map(do, chosen, repeat(rest[at + 1 :]))
        outcomes = dict(zip([folder.name for folder in chosen], said, strict=True))
    print(f"\n{work.capitalize()}, by host:")
    for name, outcome in outcomes.items():
        print(f"  {name:12} {outcome}")
    return 0 if outcomes and all(outcome.startswith("passed") for outcome in outcomes.values()) else 1


def _lock(folder: Path) -> None:
    """Write `constraints.txt` of the plugin in *folder*: everything in its environment except our own folders."""
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
    return _outcome([python, "-m", "pytest", "-q", *_tests_of(folder), *arguments])


def _lowest(folder: Path, arguments: list[str]) -> str:
    """Test with the oldest dependencies. They are not locked: their own dependencies are as new as they permit."""
    uv, venv = VENV / "bin" / "uv", ROOT / ".venvs" / f"{folder.name}-lowest"
    python = venv / "bin" / "python"
    run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, venv)
    local = [ROOT, *(ROOT / "plugins" / name for name in HOST_TOOLS), folder]
    editable = [word for project in local for word in ("--editable", str(project))]
    install: list[str | Path] = [uv, "pip", "install", "--quiet", "--python", python, "--only-binary=:all:", *editable]
    run(*install, "--group", f"{ROOT / 'pyproject.toml'}:hosts", *lowest_pins(folder))
    return _outcome([python, "-m", "pytest", "-q", *_tests_of(folder), *arguments])


def lowest_pins(folder: Path) -> list[str]:
    """Return the dependencies of the plugin in *folder*, except ours, with those of extras, each at its lower bound."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    extras: dict[str, list[str]] = project.get("optional-dependencies", {})
    wanted = [*project["dependencies"], *(each for extra in extras.values() for each in extra)]
    bounds = (re.fullmatch(r"([\w.-]+(?:\[[\w,-]+\])?)>=([\d.]+)(?:,.*)?", each) for each in wanted)
    return [f"{found[1]}=={found[2]}" for found in bounds if found is not None and found[1] != "toolcharter"]


def _lint(folder: Path, _arguments: list[str]) -> str:
    python = prepare_host(folder)
    files = [folder / f"toolcharter_{folder.name}", *_tests_of(folder)]
    example = ROOT / "examples" / "hosts" / f"{folder.name}.py"
    # One cache for all plugins: mypy analyses the core, which they share, only once.
    cache = ROOT / ".mypy_cache" / "hosts"
    mypy: list[str | Path] = [VENV / "bin" / "mypy", "--python-executable", python, "--cache-dir", cache]
    said = _outcome([*mypy, *files, example])
    return said if said.startswith("failed") else _outcome([VENV / "bin" / "pyright", "--pythonpath", python, files[0]])


def _tests_of(folder: Path) -> list[Path]:
    """Return the tests of the plugin in *folder*, and of the agents that it runs."""
    named = (ROOT / "tests" / "hosts" / f"test_{folder.name}{part}.py" for part in ("", "_agents"))
    return [file for file in named if file.exists()]


def _outcome(command: list[str | Path]) -> str:
    started = time.monotonic()
    # Programs from wheels in `.venv`, such as ripgrep, are used by the tools here, too.
    path = os.pathsep.join([os.environ["PATH"], str(VENV / "bin")])
    environment = {**os.environ, "PATH": path}
    ran = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    print(ran.stdout, end="", flush=True)  # At once, because another host may be running.
    said = f"failed ({ran.returncode})" if ran.returncode else "passed"
    return f"{said} in {time.monotonic() - started:.0f} s"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
