"""What a repeat of the suite has found is read from what pytest says."""

import subprocess
import sys

from tests.rows import each_row

import repeats
from pages import ROOT
from repeats import Outcome, outcome_of

HUNG = f"""
Timeout (0:15:00)!
Thread 0x00007f (most recent call first):
  File "/usr/lib/python3.11/subprocess.py", line 2115 in _communicate
  File "{ROOT}/tests/plugins/service/test_fuzz.py", line 58 in test_a_short_run
  File "{ROOT}/.venv/lib/python3.11/site-packages/_pytest/python.py", line 166 in pytest_pyfunc_call
"""


@each_row(
    ("output", "has_hung", "outcome"),
    [
        ("13,798 of them\n13798 passed, 60 skipped in 920.57s", False, Outcome(13_798, (), ())),
        (
            "FAILED tests/a.py::test_b[x y] - AssertionError\nERROR tests/c.py::test_d\n1 failed, 5 passed, 1 error",
            False,
            Outcome(5, ("tests/a.py::test_b[x", "tests/c.py::test_d"), ()),
        ),
        (f"{HUNG}{HUNG}7 passed", True, Outcome(7, (), ("tests/plugins/service/test_fuzz.py::test_a_short_run",))),
        (f"{HUNG}7 passed", False, Outcome(7, (), ())),
        ("", True, Outcome(0, (), ("a test",))),
    ],
)
def test_what_a_repeat_has_found(output: str, outcome: Outcome, *, has_hung: bool) -> None:
    """A slow test that has ended after all is none that hung."""
    assert outcome_of(output, has_hung=has_hung) == outcome


def test_a_repeat_that_was_killed_is_not_without_a_find() -> None:
    """Its output says of no test what became of it."""
    assert Outcome(0, (), ()).row.endswith(" | 0 | no test has ended |\n")


def test_a_repeat_of_some_tests_writes_nothing() -> None:
    """The page is for whole runs."""
    before = repeats.PAGE.read_text()
    command = [sys.executable, str(ROOT / "scripts/repeats.py"), "--times", "1", "-n0", "tests/scripts/test_pages.py"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.startswith("1 of 1: | ")
    assert ran.stdout.endswith(" | none |\n")
    assert repeats.PAGE.read_text() == before
