"""Repeat the whole test suite under load, to find tests that sometimes fail or hang.

    .venv/bin/python scripts/repeats.py [--times 20] [PYTEST_ARGUMENT ...]

It runs twice as many tests at a time as there are processors, and one more, so that each waits for the others. Each
repeat adds a row to tests/repeats.md as soon as it ends; with arguments for pytest, nothing is written. A repeat that
takes longer than `HANGS_S` hangs and is interrupted: its row names the tests that had not ended for `SLOW_S`. The whole
output of a failed repeat is printed. The script ends with status 1 if any repeat failed.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from pages import ROOT

PAGE = ROOT / "tests" / "repeats.md"
HANGS_S = 3600
"""The longest time of a repeat, in seconds: some six times its time alone on two processors."""
SLOW_S = 900
"""The time after which pytest prints where a test is, in seconds."""
WORKERS = 2 * (os.cpu_count() or 1) + 1


class Outcome(NamedTuple):
    """The outcome of a repeat."""

    passed: int
    failed: tuple[str, ...]
    """The identifiers of failed tests."""
    hung: tuple[str, ...]
    """The functions of tests that had not ended when the repeat was interrupted; empty if it ended by itself."""

    @property
    def row(self) -> str:
        """The row of the page."""
        told = [*(f"`{name}` failed" for name in self.failed), *(f"`{name}` hung" for name in self.hung)]
        found = ", ".join(told) or ("none" if self.passed else "no test has ended")
        day, place = time.strftime("%Y-%m-%d"), f"{WORKERS} on {os.cpu_count()}"
        return f"| {_commit()} | {day} | {place} | {self.passed} | {found} |\n"


def main() -> int:
    """Repeat the suite; return 1 if any repeat failed."""
    parser = argparse.ArgumentParser(description="Repeat the whole test suite under load.")
    parser.add_argument("--times", type=int, default=20, help="the number of repeats")
    asked, words = parser.parse_known_args()
    found = 0
    for number in range(1, asked.times + 1):
        output, has_hung = repeat(words)
        outcome = outcome_of(output, has_hung=has_hung)
        if not words:
            PAGE.write_text(PAGE.read_text() + outcome.row)
        if outcome.failed or outcome.hung or not outcome.passed:
            print(output)
            found = 1
        print(f"{number} of {asked.times}: {outcome.row}", end="", flush=True)
    return found


def repeat(words: Sequence[str]) -> tuple[str, bool]:
    """Run the suite once; return its output, and whether it had to be interrupted."""
    options = ["-q", f"-n{WORKERS}", "--dist=worksteal", "-o", f"faulthandler_timeout={SLOW_S}", *words]
    command = [sys.executable, "-m", "pytest", *options]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as running:
        try:
            return running.communicate(timeout=HANGS_S)[0], False
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGINT)  # Workers that respond clean up after themselves.
        with suppress(subprocess.TimeoutExpired):
            return running.communicate(timeout=60)[0], True
        os.killpg(running.pid, signal.SIGKILL)
        return running.communicate()[0], True


def outcome_of(output: str, *, has_hung: bool) -> Outcome:
    """Parse the output of pytest for a repeat."""
    passed = re.search(r"(\d+) passed", output)
    slow = re.findall(r'File "[^"]*/(tests/[^"]+\.py)", line \d+ in (test_\w+)', output) if has_hung else []
    return Outcome(
        int(passed[1]) if passed else 0,
        tuple(dict.fromkeys(re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE))),
        tuple(dict.fromkeys(f"{path}::{name}" for path, name in slow)) or (("a test",) if has_hung else ()),
    )


def _commit() -> str:
    """Return the commit of the tree; with `+` if files differ from it."""
    git = ["git", "-C", str(ROOT)]
    name = subprocess.run([*git, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True).stdout
    changed = subprocess.run(
        [*git, "status", "--porcelain", "--", ".", ":!tests/repeats.md"], capture_output=True, text=True, check=True
    ).stdout
    return name.strip() + ("+" if changed else "")


if __name__ == "__main__":
    sys.exit(main())
