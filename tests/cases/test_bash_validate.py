"""Samples of set 002 of its list of programs for the shell, as rules of a profile that lists the same programs."""

from typing import Any

from tests.cases.shell_tree import Lines
from tests.rows import each_row
from tests.samples import row_params, sample_rows

ROWS = sample_rows("seeds/002-bash-validate")
PROGRAMS = """ls pwd cat head tail wc cut sort uniq tr sed awk find fd rg grep git cargo rustc npm pnpm yarn node bun deno
    python python3 pip uv pytest go make just bash sh jq diff"""
"""Sample set 002's list and a little more: interpreters and what starts other programs are among them."""
PROFILE = {
    "mode": "restrict",
    "allow": [form for name in PROGRAMS.split() for form in (f"bash:{name}", f"bash:{name} *")],
    # What a shell reads is not protected by name: a profile says so (docs, shell).
    "deny": ["bash:*.env*"],
}


@each_row("row", row_params(ROWS))
def test_sample(row: dict[str, Any], decision_on: Lines) -> None:
    """What each program is for is allowed, alone and joined; no other program, write, escape or code is."""
    wanted = row.get("unified", row["expect"])["decision"]

    assert decision_on(PROFILE, row["input"]["cmd"]).outcome == wanted
