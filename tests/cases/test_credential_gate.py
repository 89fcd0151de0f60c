"""Sample set 004's gate for programs that hold credentials: its grants and patterns as rules on commands."""

from shlex import join, split
from typing import Any

import pytest
from tests.cases.shell_tree import Lines
from tests.rows import each_row
from tests.samples import row_params, sample_rows

from toolcharter.profile.globs import escape_glob

ROWS = sample_rows("seeds/004-credential-gate")
PATTERNS = {
    r"auth\s+": "auth *",
    r"repo\s+delete": "repo delete*",
    r"secret\s+": "*secret *",
    r"token\s+": "*token *",
}
"""Its expressions over the joined arguments as globs over the normal form."""
SUPERSEDED = {
    "store error: closed": 'design, section 4: grants are rules of the profile, and "All faults ... nothing built".',
    "working folder check: folder": 'issue 4, section 2: "working folder inside the workspace": no argument chooses it.',
    "which file is run: configured path of another program": (
        'issue 4, section 1: "programs are resolved to an absolute path outside the workspace", on a fixed PATH.'
    ),
    "which file is run: not configured: search the runtime folders": (
        'issue 4, section 2: "environment from an allow list with a fixed PATH".'
    ),
    "registered program without a grant: every spelling": (
        "a rule has the program's letters: `GH` is another program on Linux, and no rule allows it."
    ),
}


def wanted(row: dict[str, Any]) -> dict[str, Any]:
    return {**row["expect"], **row.get("unified", {})}


def params(key: str) -> list[Any]:
    return row_params([row for row in ROWS if key in wanted(row) and row["case"] not in SUPERSEDED])


def written_out(row: dict[str, Any], program: str) -> list[str]:
    """A rule for the row's line, if that is one command of *program*, with a star for each word that is no option."""
    words = split(row["input"]["command"]) if row["case"] == "quoted text of a granted program is data" else []
    return (
        [" ".join(["bash:" + program, *(word if word.startswith("-") else "*" for word in words[1:])])] if words else []
    )


@pytest.mark.parametrize("row", params("decision"))
def test_decision(row: dict[str, Any], decision_on: Lines) -> None:
    """A program without a grant does not run through any wrapper; what is quoted for one with a grant is its data."""
    # A star stands for operands of a program that nobody has described; its options are written out.
    allow = [rule for name in row["input"].get("granted", ()) for rule in (f"bash:{name} *", *written_out(row, name))]
    # The normal form begins with the assignments.
    forms = ("bash:{}", "bash:{} *", "bash:*=* {}", "bash:*=* {} *")
    deny = [form.format(name) for name in row["input"].get("registered", ()) for form in forms]

    unattended = decision_on({"mode": "restrict", "allow": allow}, row["input"]["command"]).outcome
    widest = decision_on({"mode": "restrict", "allow": ["bash:*"], "deny": deny}, row["input"]["command"])

    assert unattended == wanted(row)["decision"]
    # How deep commands may start commands is our guard's limit; it looks at each of these.
    assert widest.outcome == (wanted(row)["decision"] if deny else "allow")


@pytest.mark.parametrize("row", row_params([row for row in ROWS if row["case"].startswith("registered program")]))
def test_every_spelling(row: dict[str, Any], decision_on: Lines) -> None:
    """In other letters it is not covered by a rule for the program either."""
    allow = [f"bash:{name} *" for name in row["input"]["registered"]]

    assert decision_on({"mode": "restrict", "allow": allow}, row["input"]["command"]).outcome == "deny"


@pytest.mark.parametrize("row", params("count"))
def test_operators(row: dict[str, Any], decision_on: Lines) -> None:
    """A rule for the program covers its line as long as no operator of the shell stands in it, quoted or not."""
    line = row["input"]["command"]
    program = line.split()[0]
    profile = {"mode": "restrict", "allow": [f"bash:{program}", f"bash:{program} *"]}

    assert decision_on(profile, line).outcome == ("deny" if wanted(row)["count"] else "allow")


@pytest.mark.parametrize("row", params("text"))
def test_quoted_operators_are_text(row: dict[str, Any], decision_on: Lines) -> None:
    """What stands in quotes is no operator: a rule for one command covers the line."""
    line = row["input"]["command"]
    profile = {"mode": "restrict", "allow": ["bash:gh *", f"bash:{escape_glob(join(split(line)))}"]}

    assert decision_on(profile, line).outcome == "allow"


@each_row("row", params("blocked"))
def test_denied_arguments(row: dict[str, Any], decision_on: Lines) -> None:
    """Options and sub-commands that give secrets away are denied by rules, whatever is said about content."""
    given = row["input"]
    options = [form for one in given.get("patterns", ()) if one.startswith("-") for form in (f"{one}*", f"* {one}*")]
    verbs = [*given.get("deny", ()), *(one for one in given.get("patterns", ()) if not one.startswith("-"))]
    rules = [*options, *(PATTERNS[verb] for verb in verbs or ([] if options else PATTERNS))]
    profile = {"mode": "dangerous", "deny": [f"bash:gh {rule}" for rule in rules]}

    outcome = decision_on(profile, join(["gh", *given["args"]])).outcome

    assert outcome == ("deny" if wanted(row)["blocked"] else "allow")


def test_every_row_is_run() -> None:
    """No row is passed over in silence."""
    keys = {"decision", "count", "text", "blocked"}
    assert all(keys & wanted(row).keys() or row["case"] in SUPERSEDED for row in ROWS)
