"""Builds distributions as `python -m build --no-isolation` does, with the libraries imported once for all of them.

Reads lines of JSON, `[folder, where to, formats]`, and answers each with one: what went wrong, or an empty text. Each step of a
build runs in a fork of this process, where `build` would start another Python.
"""

import importlib
import json
import os
import runpy
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence

from build import DistributionType, ProjectBuilder

# What the backend imports in a step it finds in the fork.
for _name in ("build", "bridge.app", "builders.sdist", "builders.wheel", "metadata.spec", "utils.context"):
    importlib.import_module(f"hatchling.{_name}")
for _name in ("email.headerregistry", "glob", "packaging.licenses", "packaging.tags", "trove_classifiers"):
    importlib.import_module(_name)


def step(cmd: Sequence[str], cwd: str | None = None, extra_environ: Mapping[str, str] | None = None) -> None:
    """Run a step of the backend: a Python's path, a script and its words."""
    child = os.fork()
    if child == 0:
        _be(cmd, cwd or os.curdir, extra_environ or {})
    if status := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise subprocess.CalledProcessError(status, cmd)


def _be(command: Sequence[str], cwd: str, environment: Mapping[str, str]) -> None:
    try:
        os.chdir(cwd)
        os.environ.update(environment)
        sys.argv = list(command[1:])
        runpy.run_path(command[1], run_name="__main__")
    except BaseException:  # noqa: BLE001 - this process ends here
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def build(folder: str, out: str, formats: Sequence[DistributionType]) -> str:
    """Build *folder* in each of *formats*; what went wrong."""
    builder = ProjectBuilder(folder, runner=step)
    for form in formats:
        if missing := builder.check_dependencies(form):
            return f"{folder} needs {missing}"
        try:
            builder.build(form, out)
        except Exception:  # noqa: BLE001 - the next one may build
            return traceback.format_exc()
    return ""


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # A backend may print.
    for line in sys.stdin:
        print(json.dumps(build(*json.loads(line))), file=answers, flush=True)
