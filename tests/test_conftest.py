"""The marker `needs_program`: skip and say so at home, fail in CI."""

from pathlib import Path

import pytest

_SUITE = """
import pytest

@pytest.mark.needs_program("no-such-program", package="no-such-package")
def test_of_a_program():
    raise AssertionError("reached")

@pytest.mark.needs_program("python3")
def test_of_a_present_program():
    pass
"""
_LINE = "Tests that need no-such-program did not run. Install: apt-get install no-such-package"


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("CI", raising=False)
    pytester.makeconftest((Path(__file__).parent / "conftest.py").read_text())
    pytester.makepyfile(_SUITE)
    pytester.plugins.append("no:toolcharter")
    return pytester


@pytest.mark.parametrize("workers", [pytest.param((), id="alone"), pytest.param(("-n", "1"), id="xdist")])
def test_missing_program_skips_and_is_named_at_the_end(suite: pytest.Pytester, workers: tuple[str, ...]) -> None:
    """Who lacks a program still gets a green run, and the line that installs it."""
    result = suite.runpytest_subprocess(*workers)

    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines([_LINE])


def test_missing_program_fails_in_ci(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """CI brings what the tests need, so a missing program there is a fault."""
    monkeypatch.setenv("CI", "true")

    result = suite.runpytest_subprocess()

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*the program 'no-such-program' is missing, and CI is set", _LINE])


def test_nothing_missing_nothing_said(suite: pytest.Pytester) -> None:
    """The section appears only if there is something to install."""
    result = suite.runpytest_subprocess("-k", "present")

    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.no_fnmatch_line("*missing programs*")
