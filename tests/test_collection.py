"""Whoever runs one test waits for the collection of its file, and CI's workers each collect all: it has to be cheap."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

MOST_ITEMS = 14_000
"""With room for tests of what is new: a table of rows that meet the same fixtures is one item, by `tests/rows.py`."""
MOST_WORK = 7_000
"""As often as the processor could have compiled this file's neighbour meanwhile: twice of what it takes. In seconds it would
be a matter of what else the machine has to do, which slows both alike."""


def test_collecting_all_tests_is_cheap(project_root: Path, tmp_path: Path) -> None:
    """Few items, and no work at import that only some test needs."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    neighbour = (project_root / "tests/golden/plugin.py").read_text()
    with (
        (tmp_path / "said").open("wb") as output,
        subprocess.Popen(
            [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"],
            cwd=project_root,
            env=environment,
            stdout=output,
        ) as collecting,
    ):
        ended, compiled, began = 0, 0, time.thread_time()
        while not ended:
            compile(neighbour, "neighbour", "exec")
            compiled += 1
            time.sleep(0.02)
            ended, status, used = os.wait4(collecting.pid, os.WNOHANG)
        unit_s = (time.thread_time() - began) / compiled
        collecting.returncode = os.waitstatus_to_exitcode(status)

    said = (tmp_path / "said").read_text()
    found = re.search(r"^(\d+) tests collected", said, re.MULTILINE)
    assert (collecting.returncode, found is None) == (0, False), said[-2000:]
    assert found is not None
    assert int(found[1]) <= MOST_ITEMS
    assert (used.ru_utime + used.ru_stime) / unit_s < MOST_WORK
