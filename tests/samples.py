"""Samples from outside, in `tests/data/cases`: what other projects do, what attacks look like, and what each should meet.

A text that looks like a secret, or like an address of a package index, is stored as `{"parts": ["...", "..."]}` and joined
here: no file of ours holds it whole. `scripts/keep_samples.py` writes the files. The variable `TOOLCHARTER_SAMPLES` may
name a folder with larger files of the same names and form.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

KEPT = Path(__file__).parent / "data/cases"
SAMPLES = Path(os.environ.get("TOOLCHARTER_SAMPLES") or KEPT)


def sample_rows(name: str) -> list[dict[str, Any]]:
    """The rows of one file, such as `seeds/000-notify`; a missing file and an empty one are errors."""
    rows = [json.loads(line, object_hook=joined) for line in (SAMPLES / f"{name}.jsonl").read_text().splitlines()]
    assert rows, f"{name}.jsonl has no rows: a test over it would prove nothing"
    return rows


def sample_file(name: str) -> Any:
    """What one file holds that is no table, such as `security/policy_P1`."""
    return json.loads((SAMPLES / f"{name}.json").read_text(), object_hook=joined)


def row_params(rows: list[dict[str, Any]]) -> list[Any]:
    """A parameter for each row, with its id; no rows are an error."""
    assert rows, "no rows are left: a test over them would prove nothing"
    return [pytest.param(row, id=row["id"]) for row in rows]


def joined(found: dict[str, Any]) -> Any:
    """An object of a file of samples, as it is meant."""
    parts = found.get("parts")
    return "".join(parts) if isinstance(parts, list) and len(found) == 1 else found
