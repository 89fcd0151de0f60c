"""Sample set 000's two matchers: ours is one language, that of its hooks, in rules and in guards alike."""

import re
from itertools import product
from typing import Any

import pytest
from tests.cases.conftest import Bench, make_tool
from tests.cases.source_000 import ANCHORED, ANY_ACTION, Asked, Ours, Theirs
from tests.rows import each_row
from tests.samples import row_params, sample_rows

ROWS = sample_rows("seeds/000-pattern-match")
PREFIX = 'design, section 4: "The first segment is a prefix if and only if it is one of `bash ... * group cap`".'
PATTERNS = [
    "echo",
    "echo*",
    "*echo",
    "*echo*",
    "npm*install",
    "*",
    "**",
    "a*b*c",
    "*.rs",
    "rm -rf /*",
    "?",
    "[a-z]",
    "a|b",
]
TEXTS = [
    "echo",
    "echo hello",
    "please echo",
    "ECHO",
    "npm ci install",
    "abc",
    "aXXbYYc",
    "acb",
    "x.rs",
    "x.rs.bak",
    "a\nb",
]
HOOKS = [
    "web",
    "web:*",
    "web*",
    "*",
    "*:search",
    "web:search",
    "*:web",
    "*:*:search",
    "w*:s*",
    "other:search",
    "builtin:web",
]
CALLS = ["web", "web:search", "web:searched", "website:search", "other"]


def params(matcher: str) -> list[Any]:
    return row_params([row for row in ROWS if row["input"]["matcher"] == matcher])


def denies(bench: Bench, pattern: str, text: str) -> bool:
    """Whether a rule with the pattern, over an argument, denies a call with the text."""
    escaped = re.sub(r"([,()])", r"\\\1", pattern)
    profile = {"mode": "dangerous", "deny": [f"probe(text={escaped})"]}
    with bench.open(profile, make_tool("probe", arguments=["text"])) as toolbox:
        return toolbox.decide("probe", {"text": text}).outcome == "deny"


def speaks(bench: Bench, pattern: str, text: str) -> bool:
    """Whether a guard with the pattern speaks after a call of the tool and action."""
    name, _, action = text.partition(":")
    guards = {"after_call": [{"match": pattern, "message": "The guard speaks."}]}
    named = pattern_name(pattern)
    tools = [make_tool(name, "bash" if name == "bash" else "builtin"), *([make_tool(named)] if named else [])]
    with bench.open({"mode": "dangerous", "session_guards": guards}, *tools) as toolbox:
        return "The guard speaks." in toolbox.call(name, {"action": action} if action else {}).text


def pattern_name(pattern: str) -> str | None:
    """The one tool that a pattern names: it has to be there."""
    found = re.match(r"(?:builtin:)?([\w-]+)(?::|$)", pattern)
    return found[1] if found and found[1] != "bash" else None


def hooks_differ(pattern: str, text: str) -> str | None:
    """The sentence by which our patterns match a call where the source's do not, or the other way round."""
    if pattern.startswith(("*:", "builtin:")):
        return PREFIX
    return ANY_ACTION if ":" not in pattern and ":" in text else None


def anchored(pattern: str, text: str) -> bool:
    """Source: 000, crates/duragent/src/tools/hooks.rs, matches_hook_pattern."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


@pytest.mark.parametrize("row", params("policy"))
def test_pattern_of_the_policy(row: dict[str, Any], bench: Bench) -> None:
    """Ours matches where the source's does, unless that is only a part of the text."""
    pattern, text = row["input"]["pattern"], row["input"]["text"]
    wanted = row.get("unified", row["expect"])["match"]
    sentence = ANCHORED if wanted and not anchored(pattern, text) else None

    found = denies(bench, pattern, text)

    assert Theirs.matches(f"bash:{pattern}", Asked("bash", text), permits=False) == row["expect"]["match"]
    assert found == (wanted and sentence is None)
    assert found == Ours.matches(f"bash:{pattern}", Asked("bash", text), permits=False)


@pytest.mark.parametrize("row", params("hook"))
def test_pattern_of_a_hook(row: dict[str, Any], bench: Bench) -> None:
    """The patterns of guards match as the source's hooks, but for what a prefix and a missing action mean."""
    pattern, text = row["input"]["pattern"], row["input"]["text"]
    wanted = row.get("unified", row["expect"])["match"]

    found = speaks(bench, pattern, text)

    assert anchored(pattern, text) == row["expect"]["match"]
    assert found == wanted or hooks_differ(pattern, text)


def test_every_row_has_a_matcher() -> None:
    """No row is passed over in silence."""
    assert {row["input"]["matcher"] for row in ROWS} <= {"policy", "hook"}


@each_row(("pattern", "text"), [*product(PATTERNS, TEXTS)])
def test_more_patterns(pattern: str, text: str, bench: Bench) -> None:
    """A rule over an argument matches the whole text, case and lines included; only `*` is special."""
    assert denies(bench, pattern, text) == anchored(pattern, text)


@each_row(("pattern", "text"), [*product(HOOKS, CALLS)])
def test_more_hooks(pattern: str, text: str, bench: Bench) -> None:
    """Behind a prefix the whole of the rest is the pattern; without an action it is all of them."""
    rest = re.sub(r"^(\*|builtin):", "", pattern)

    found = speaks(bench, pattern, text)

    assert found == (anchored(rest, text) or anchored(rest, text.partition(":")[0]))
