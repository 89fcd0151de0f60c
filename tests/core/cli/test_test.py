"""`toolcharter test`: profiles tested by their own cases."""

import json
from xml.etree import ElementTree as ET

import pytest

CASES = """
cases:
  - {tool: echo, args: {word: 'no'}, expect: deny, reason: word_not_allowed}
  - {tool: echo, args: {word: hi}, expect: deny, name: "a wrong\\u0001 hope"}
"""
EXPLAINED = """./demo.yaml:8:5: a wrong\\x01 hope
  call        echo {"word":"hi"}
  expected    deny
  got         allow, stage mode
  tool checks passed"""


@pytest.fixture
def cases(desk):
    """A case that holds and one that does not."""
    file = desk / "demo.yaml"
    file.write_text(file.read_text() + CASES.lstrip())
    return desk


def test_failing_case_is_explained(run, cases) -> None:
    """Expected and got, then how many passed; status 1."""
    result = run("test", "./demo.yaml")

    text = f"FAILED {EXPLAINED}\n\n./demo.yaml: 1 failed, 1 passed\n"
    assert (result.stdout, result.stderr, result.exit_code) == (text, "", 1)


def test_reasons_that_no_case_shows_are_named(run, desk) -> None:
    """A profile without cases says so, and what its tools could refuse for."""
    result = run("test", "./demo.yaml")

    text = (
        "./demo.yaml: has no cases\n\n"
        "Declared reasons that no case has shown:\n"
        "  demo: echo: 1 of 1: word_not_allowed\n"
    )
    assert (result.stdout, result.exit_code) == (text, 0)


def test_reasons_are_told_within_the_terminals_width(run, desk, monkeypatch) -> None:
    """A tool with many reasons takes some lines of a screen and not one that is as long as it likes."""
    monkeypatch.setenv("COLUMNS", "24")

    result = run("test", "./demo.yaml")

    assert result.stdout.splitlines()[-2:] == ["  demo: echo: 1 of 1:", "      word_not_allowed"]


def test_profiles_folder_is_the_default(run, cases) -> None:
    """Without a path, all profiles of `./profiles` are tested."""
    (cases / "profiles").mkdir()
    kept = (cases / "demo.yaml").read_text().splitlines()[:-1]
    (cases / "profiles/demo.yaml").write_text("\n".join(kept))

    result = run("test")

    assert (result.stdout, result.exit_code) == ("profiles/demo.yaml: 1 passed\n", 0)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        pytest.param((), "./profiles: there is no such folder.\nName the profiles to test.\n", id="no-folder"),
        pytest.param(
            ("empty/",), "empty/: the folder holds no profile.\nName a profile, or its folder.\n", id="empty-folder"
        ),
        pytest.param(
            ("empty",),
            "profile 'empty': there is no profile named 'empty'.\nFor the folder, write 'empty/'.\n",
            id="folder-by-name",
        ),
        pytest.param(("./nope.yaml", "./away.yaml"), None, id="two-missing"),
    ],
)
def test_nothing_to_test_is_a_fault(run, desk, words, error) -> None:
    """What was named must exist, or nothing is tested."""
    (desk / "empty").mkdir()

    result = run("test", *words)

    missing = "./nope.yaml: there is no such file.\nDid you mean 'demo.yaml'?\n\n./away.yaml: there is no such file.\n"
    assert (result.stdout, result.stderr, result.exit_code) == ("", error or missing, 2)


def test_results_as_json(run, cases) -> None:
    """The same for programs."""
    result = run("test", "./demo.yaml", "--json")

    told = json.loads(result.stdout)
    assert told["reasons"] == [
        {"profile": "demo", "tool": "echo", "shown": ["word_not_allowed"], "missing": [], "open": False}
    ]
    (profile,) = told["profiles"]
    assert [case["passed"] for case in profile["cases"]] == [True, False]
    assert profile["cases"][1]["text"] == EXPLAINED


def test_results_as_junit(run, cases) -> None:
    """One suite per profile; what XML cannot carry is written out."""
    result = run("test", "./demo.yaml", "--junit", "out.xml")

    suites = ET.fromstring((cases / "out.xml").read_text())
    (suite,) = suites
    assert result.exit_code == 1
    assert suite.attrib == {"name": "demo", "tests": "2", "failures": "1", "errors": "0"}
    assert [case.attrib["name"] for case in suite] == ["echo word=no: word_not_allowed", "a wrong\\x01 hope"]
    assert suite[1][0].text == EXPLAINED


def test_junit_file_must_be_writable(run, cases) -> None:
    """A result that cannot be written is usage."""
    result = run("test", "./demo.yaml", "--junit", "nowhere/out.xml")

    error = "Error: --junit: cannot write 'nowhere/out.xml': No such file or directory."
    assert (result.stderr.splitlines()[-1], result.exit_code) == (error, 2)


def test_tool_that_breaks_its_contract_fails_the_case(run, cases, site) -> None:
    """An undeclared reason is a failed case, and no traceback."""
    module = site / "toolcharter_demo/__init__.py"
    module.write_text(module.read_text().replace("ctx.deny(EchoReason.WORD_NOT_ALLOWED", 'ctx.deny("undeclared"'))

    result = run("test", "./demo.yaml")

    assert "'echo' gave the reason 'undeclared', which its spec does not declare" in result.stdout
    assert result.exit_code == 1


def test_person_sees_colours(run, cases, monkeypatch) -> None:
    """On a terminal the same text goes through rich."""
    for module in ("toolcharter.cli.commands.test", "toolcharter.cli.output"):
        monkeypatch.setattr(f"{module}.is_terminal", lambda: True)

    result = run("test", "./demo.yaml")

    assert "./demo.yaml: 1 failed, 1 passed\n" in result.stdout
    assert "a wrong\\x01 hope" in result.stdout
