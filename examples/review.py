"""Review this checkout as an agent would: drive calls through `toolcharter run` and show what became of each.

    .venv/bin/python examples/review.py

The calls are those of review.jsonl, the profile is profiles/reviewer.yaml, the workspace is this very checkout. Stops
with status 1 if a call does not end as it must: reading and searching works, everything else is refused.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CALLS = ROOT / "examples" / "review.jsonl"
EVENTS = Path("run/review-events.jsonl")

MUST_BE_REFUSED = {
    "9": ("denied", "action_not_allowed"),
    "10": ("error", "invalid_ref"),
    "11": ("denied", "path_outside_workspace"),
    "12": ("denied", "protected_path"),
    "13": ("error", "invalid_arguments"),
    "14": ("denied", "unknown_tool"),
}
"""Outcome and reason by the call's id; every other call must be ok."""

COLUMNS = ("call", "outcome", "reason", "time")
_STYLES = {"ok": "green", "denied": "yellow", "error": "magenta"}


class Row(NamedTuple):
    """One call and what became of it."""

    cells: tuple[str, ...]
    """One text for each of `COLUMNS`."""
    as_expected: bool


def main() -> int:
    """Run the calls, print the table; 0 if each ended as it must."""
    (ROOT / EVENTS).parent.mkdir(exist_ok=True)
    (ROOT / EVENTS).unlink(missing_ok=True)
    started = time.monotonic()
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "toolcharter.cli",
            "run",
            "--profile",
            "profiles/reviewer.yaml",
            "--events",
            f"file:{EVENTS}",
        ],
        cwd=ROOT,
        input=CALLS.read_bytes(),
        stdout=subprocess.PIPE,
        check=False,
    )
    elapsed_s = time.monotonic() - started
    if ran.returncode:
        return ran.returncode
    calls = [json.loads(line) for line in CALLS.read_bytes().splitlines()]
    results = [json.loads(line) for line in ran.stdout.splitlines()]
    rows = [_row(call, result) for call, result in zip(calls, results, strict=True)]
    _print(rows)
    events = (ROOT / EVENTS).read_bytes().count(b"\n")
    print(f"{len(rows)} calls in {elapsed_s:.2f} s, from start to end of the process. {events} event lines: {EVENTS}")
    surprises = [row.cells[0] for row in rows if not row.as_expected]
    for call in surprises:
        print(f"Not as expected: {call}", file=sys.stderr)
    return 1 if surprises else 0


def _row(call: dict[str, Any], result: dict[str, Any]) -> Row:
    wanted = MUST_BE_REFUSED.get(call["id"], ("ok", None))
    as_expected = (result["id"], result["outcome"], result["reason"]) == (call["id"], *wanted)
    args = " ".join(f"{name}={value}" for name, value in call["args"].items())
    elapsed = f"{result['elapsed_ms']:.1f} ms"
    cells = (f"{call['tool']} {args}", result["outcome"], result["reason"] or "", elapsed)
    return Row(cells, as_expected)


def _print(rows: list[Row]) -> None:
    cells = [row.cells for row in rows]
    if not sys.stdout.isatty():
        widths = [max(map(len, column)) for column in zip(COLUMNS, *cells, strict=True)]
        for row in (COLUMNS, *cells):
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        return
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - only a terminal needs rich
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    table = Table(title="A review of this checkout with profiles/reviewer.yaml", box=SIMPLE_HEAD)
    for column in COLUMNS:
        # On a narrow terminal the calls wrap, and nothing else.
        table.add_column(column, justify="right" if column == "time" else "left", no_wrap=column != "call")
    for call, outcome, *rest in cells:
        table.add_row(Text(call), Text(outcome, _STYLES[outcome]), *map(Text, rest))
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
