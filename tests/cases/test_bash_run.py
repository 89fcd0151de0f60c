"""Samples of set 002 of how its shell tool runs a line: what is printed, and what is left when time is up.

The rows on its `/check` command, one listed line without a shell, are for the profile's rules here.
"""

import json
import shlex
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.samples import row_params, sample_rows

from toolcharter import Toolbox, build_tools

CHECKED = ("argument splitting", "the /check command check")
ALL = sample_rows("seeds/002-bash-run")
ROWS = [row for row in ALL if row["case"] not in CHECKED]


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Toolbox]:
    profile = tmp_path / "profile.yaml"
    written = {"profile": "test", "runner": "host", "mode": "dangerous", "tools": {"bash": {}}}
    profile.write_text(json.dumps(written))
    (tmp_path / "ws").mkdir()
    with build_tools(profile, workspace=tmp_path / "ws", events=lambda _: None) as toolbox:
        yield toolbox


@pytest.mark.parametrize("row", row_params(ROWS))
def test_sample(row: Any, box: Toolbox, tmp_path: Path) -> None:
    """What the row says of streams and status holds; of a line over its time nothing is left."""
    wanted = row.get("unified", row["expect"])
    started = time.monotonic()

    result = box.call("bash", row["input"])

    for name in {"stdout", "stderr", "exit_code"} & set(wanted):
        assert result.data[name] == wanted[name]
    if "grandchildren" in wanted:
        assert result.reason == "timed_out"
        assert time.monotonic() - started < 60  # As long as what is in the line would sleep.
        assert _running_in(tmp_path / "ws") == []


@pytest.mark.parametrize("row", row_params([row for row in ALL if row["case"] in CHECKED]))
def test_check(row: Any, decision_on: Any) -> None:
    """A line that the profile lists runs as its words say; what is not listed, redirected or empty does not."""
    profile = {"mode": "restrict", "allow": [f"bash:{shlex.join(row['expect'].get('argv', ['cargo', 'test']))}"]}

    outcome = decision_on(profile, row["input"]["cmd"]).outcome

    wanted = "allow" if "error" not in row["expect"] else "deny" if row["input"]["cmd"] else "error"
    assert outcome == wanted


def _running_in(folder: Path) -> list[bytes]:
    """The processes of the line that have *folder* as their own: other tests have some of the same words."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").readlink() == folder:
                found.append((process / "cmdline").read_bytes())
    return [words for words in found if b"time.sleep(60)" in words]
