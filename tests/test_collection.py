"""Whoever runs one test waits for the collection of its file, and CI's workers each collect all: it has to be cheap."""

import os
import re
import subprocess
import sys
from pathlib import Path

MOST_ITEMS = 13_000
"""With room for tests of what is new: a table of rows that meet the same fixtures is one item, by `tests/rows.py`."""
FAR_S = 12
"""In seconds of processor time: twice of what it may take, since a busy machine counts more."""


def test_collecting_all_tests_is_cheap(project_root: Path) -> None:
    """Few items, and no work at import that only some test needs."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"],
        cwd=project_root,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as collecting:
        assert collecting.stdout is not None
        said = collecting.stdout.read()
        _, status, used = os.wait4(collecting.pid, 0)
        collecting.returncode = os.waitstatus_to_exitcode(status)

    found = re.search(r"^(\d+) tests collected", said, re.MULTILINE)
    assert (collecting.returncode, found is None) == (0, False), said[-2000:]
    assert found is not None
    assert int(found[1]) <= MOST_ITEMS
    assert used.ru_utime + used.ru_stime < FAR_S
