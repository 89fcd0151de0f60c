"""Strangers' projects, in environments of their own: nothing is taken from this checkout but the core."""

import re
from pathlib import Path

import pytest

from toolcharter import testing
from toolcharter.testing import plugin
from toolcharter.testing.contract import Contract

pytestmark = pytest.mark.slow

PROFILE = """\
profile: greeter
tools:
  greet: {allowed_names: [Ann]}
cases:
  - {tool: greet, args: {name: Ann}, expect: allow}
  - {tool: greet, args: {name: Bob}, expect: deny, reason: name_not_allowed}
"""
INI = "[pytest]\ntestpaths = tests\ntoolcharter_profiles = greeter\n"
TEST_DENIAL = """
from toolcharter.testing import assert_denied

def test_denial(toolcharter_toolbox):
    assert_denied(toolcharter_toolbox("greeter")["greet"](name="Bob"), "name_not_allowed")
"""
TEST_NOBODY = """
from toolcharter.testing import assert_error

def test_nobody(toolcharter_toolbox):
    assert_error(toolcharter_toolbox("greeter")["greet"](name=""), "name_empty")
"""
TEST_CONTRACT = """
from toolcharter.testing.contract import contract_of

TestContract = contract_of("acme-greet")
"""


@pytest.mark.parametrize("workers", [pytest.param((), id="alone"), pytest.param(("-n", "2"), id="xdist")])
def test_reasons_of_all_workers_count(stranger, workers) -> None:
    """Cases and tests of a stranger's project show all reasons together, wherever they ran."""
    stranger.write(
        pytest_ini=INI,
        profiles__greeter_yaml=PROFILE,
        tests__test_one_py=TEST_DENIAL,
        tests__test_two_py=TEST_NOBODY,
    )

    ran = stranger.pytest("--toolcharter-reasons-min=100", *workers)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert "4 passed" in ran.stdout
    assert "2 of 2 declared reasons shown (100 %)" in ran.stdout


@pytest.mark.parametrize("workers", [pytest.param((), id="alone"), pytest.param(("-n", "2"), id="xdist")])
def test_a_good_plugin_passes_the_contract(stranger, workers) -> None:
    """Two lines hold a plugin to the contract; every clause is a test."""
    stranger.write(
        pytest_ini=INI,
        profiles__greeter_yaml=PROFILE,
        tests__test_contract_py=TEST_CONTRACT,
        tests__test_two_py=TEST_NOBODY,
    )

    ran = stranger.pytest("-q", *workers)

    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert "11 passed" in ran.stdout


@pytest.mark.parametrize("workers", [pytest.param((), id="alone"), pytest.param(("-n", "2"), id="xdist")])
def test_a_reason_that_no_test_reaches_fails_the_run(stranger, workers) -> None:
    """The contract is judged when the run ends, over all its tests."""
    stranger.write(pytest_ini=INI, profiles__greeter_yaml=PROFILE, tests__test_contract_py=TEST_CONTRACT)

    ran = stranger.pytest("-q", *workers)

    assert ran.returncode == 1
    assert "10 passed" in ran.stdout
    assert "FAILED: contract of 'greet': no test reaches name_empty" in ran.stdout


@pytest.mark.parametrize(
    "arguments", [("tests/test_contract.py",), ("-k", "reached"), ("tests/test_contract.py::TestContract",)]
)
def test_a_part_of_a_suite_is_not_judged(stranger, arguments) -> None:
    """Who runs one file knows nothing about what the others reach."""
    stranger.write(pytest_ini=INI, profiles__greeter_yaml=PROFILE, tests__test_contract_py=TEST_CONTRACT)

    assert stranger.pytest(*arguments).returncode == 0


BAD = """
import os, sys, subprocess
from pathlib import Path
from toolcharter import ToolPolicy, ToolSpec, hookimpl

print("hello")

class BadPolicy(ToolPolicy):
    allow_all: bool = True
    limit: int = 3

def build(workspace, policy, rt):
    (workspace / "made").write_text("x")

    def bad(path: str):
        ctx = rt.start("bad")
        subprocess.run(["true"])
        ctx.policy_passed()
        return ctx.ok("done")

    return bad

@hookimpl
def register_tools():
    return [ToolSpec("bad", BadPolicy, build, reasons={"odd"}, staged=True)]
"""


def test_a_bad_plugin_breaks_every_clause(stranger, install) -> None:
    """Each clause says on its own what is wrong, and names distribution, version and tool."""
    install(stranger.site, "acme-bad", BAD, "bad", readme="# bad\n")
    stranger.write(test_contract_py=TEST_CONTRACT.replace("acme-greet", "acme-bad"))

    ran = stranger.pytest("-q")

    assert ran.returncode == 1
    expected = [
        "acme-bad 1.0: bad: it has no description: write a docstring",
        "acme-bad 1.0: bad: the argument 'path' is not described: name it under Args:",
        "acme-bad 1.0: bad: it declares no capabilities: write capabilities={...}",
        "acme-bad 1.0: bad: the README's table of reasons has no row for `odd`",
        "acme-bad 1.0: bad: no table with a `default` column in the README has a row for the field `allow_all`",
        "acme-bad 1.0: bad: no table with a `default` column in the README has a row for the field `limit`",
        "acme-bad 1.0: bad: the default of `allow_all` is True, which permits more than necessary",
        "acme-bad 1.0: bad: importing it: prints 'hello\\n'",
    ]
    assert [line for line in expected if line not in ran.stdout.splitlines()] == []
    assert "constructing it: opens '" in ran.stdout
    assert "made' for writing" in ran.stdout


def test_the_documented_project_works_as_documented(stranger, project_root) -> None:
    """Every file that docs/testing.md shows, in one project: nothing fails but the reason it leaves out."""
    text = (project_root / "docs/testing.md").read_text()
    files = re.findall(r"^```\w+\n# (\S+)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    for name, content in files:
        (stranger.project / name).parent.mkdir(exist_ok=True)
        (stranger.project / name).write_text(content)

    ran = stranger.pytest()

    assert [name for name, _ in files] == [
        "profiles/greeter.yaml",
        "pytest.ini",
        "tests/test_greeter.py",
        "tests/test_contract.py",
    ]
    assert "12 passed" in ran.stdout, ran.stdout
    assert "greeter    greet  1 of 2, never: name_empty" in ran.stdout
    assert "FAILED: contract of 'greet': no test reaches name_empty" in ran.stdout


def test_every_name_of_the_plugin_is_documented(project_root) -> None:
    """Options, fixtures, public functions and clauses: what there is stands in docs/testing.md."""
    text = (project_root / "docs/testing.md").read_text()
    source = Path(plugin.__file__).read_text()
    names = {*re.findall(r'"(-*toolcharter[_-]\w[\w-]*)"', source), *re.findall(r"def (toolcharter_\w+)", source)}
    clauses = [name for name in vars(Contract) if name.startswith("test_")]
    functions = {name for name in testing.__all__ if name[0].islower()} - {"run_case"}

    assert names - {"toolcharter-cases"} == {
        "--toolcharter-reasons-min",
        "toolcharter_events",
        "toolcharter_profiles",
        "toolcharter_reasons_min",
        "toolcharter_tool",
        "toolcharter_toolbox",
        "toolcharter_workspace",
    }
    assert [name for name in {*names, *functions} - {"toolcharter-cases"} if name not in text] == []
    assert len(clauses) == text.partition("| clause |")[2].partition("\n\n")[0].count("\n| ")
