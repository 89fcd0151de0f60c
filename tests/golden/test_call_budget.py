"""How many of the core's functions a governed call enters, and how many modules the first call loads.

Counted, not timed, so that every machine says the same. A change that makes a number smaller lowers its bound here.
"""

import json
import subprocess
import sys

import pytest
from tests.rows import each_row

from .conftest import RunModule

FORBIDDEN = {"asyncio", "click", "httpx", "jsonschema_rs", "rich", "structlog"}
"""What no call of these needs. `yaml` reads the profile, and `re2` scrubs: both come with the first call, not before."""
FIRST_CALLS = """
import json, sys
from pathlib import Path
from pathlib import Path
from toolcharter import build_tools
def loaded():
    found.append(sorted({name if name.startswith("toolcharter") else name.partition(".")[0] for name in sys.modules}))
found, folder = [], Path(sys.argv[1])
loaded()
with build_tools(folder / "first.yaml", workspace=folder / "ws", events=f"file:{folder / 'events.jsonl'}") as toolbox:
    for tool, args in [("read_file", {"path": "a.txt"}), ("bash", {"command": "cat a.txt"})]:
        assert toolbox.call(tool, args).outcome == "ok"
        loaded()
print(json.dumps(found))
"""
PROFILE = """
profile: first
runner: host
tools: {read_file: {}, list_files: {}, write_file: {}, bash: {}}
allow: ["bash:cat *"]
"""


@pytest.fixture(scope="module")
def entered(run_module: RunModule, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """By what is measured, the functions that one warm call enters; see `measure.py`."""
    found: dict[str, list[str]] = json.loads(run_module("measure", tmp_path_factory.mktemp("measured")))
    return found


@each_row(
    ("measured", "most"),
    [
        pytest.param("sync", 38, id="a staged tool of three lines, its decision remembered, one rate limit, a file"),
        pytest.param("async caller", 38, id="the same from asynchronous code"),
        pytest.param("async tool", 39, id="an asynchronous tool from asynchronous code"),
        pytest.param("one check", 44, id="with one synchronous check"),
        pytest.param("denied", 41, id="denied by a rule, which is remembered"),
        pytest.param("judged command", 250, id="the decision on a line of two commands, not remembered"),
    ],
)
def test_a_warm_call_enters_no_more_functions(measured: str, most: int, entered: dict[str, list[str]]) -> None:
    """Each function that joins the way of every call is paid for by every call."""
    assert len(entered[measured]) <= most, "\n".join(entered[measured])


@pytest.fixture(scope="module")
def first_calls(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """The modules of a fresh process: after the import of `build_tools`, a call of `read_file`, and one of `bash`."""
    folder = tmp_path_factory.mktemp("first")
    (folder / "ws").mkdir()
    (folder / "ws/a.txt").write_text("x")
    (folder / "first.yaml").write_text(PROFILE)
    ended = subprocess.run([sys.executable, "-c", FIRST_CALLS, folder], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    found: list[list[str]] = json.loads(ended.stdout)
    return found


@pytest.mark.parametrize(
    ("moment", "most"),
    [
        pytest.param(0, 126, id="the import of build_tools"),
        pytest.param(1, 162, id="a first call of read_file, under a profile with files and shell"),
        pytest.param(2, 224, id="a first call of bash"),
    ],
)
def test_first_calls_load_no_more_modules(moment: int, most: int, first_calls: list[list[str]]) -> None:
    """What is loaded, every process waits for."""
    ours = [name for name in first_calls[moment] if name.startswith("toolcharter")]

    assert len(ours) <= most, "\n".join(ours)


def test_first_calls_load_nothing_heavy(first_calls: list[list[str]]) -> None:
    """Neither an event loop, nor a client of HTTP, nor what only some profiles and commands need."""
    needed = {"yaml", "re2"}

    assert [sorted((FORBIDDEN | needed) & set(names)) for names in first_calls] == [[], sorted(needed), sorted(needed)]
