"""Samples of set 000 of policies that are put together: from files, in memory, and by what people allow for good."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.cases.conftest import Bench, SampleCall, bash_tool, make_tool, sample_call
from tests.cases.source_000 import split
from tests.cases.tiers import merged, write_tiers
from tests.samples import row_params, sample_rows

from toolcharter import ConfigurationError
from toolcharter.gate.toolbox import Toolbox

ROWS = sample_rows("seeds/000-policy-merge")
TIERS = {"workspace", "base", "local"}
PROBE = "no-such-program"
# The row that the design decides otherwise, with the sentence that does; what is asserted is ours.
SUPERSEDED = {
    "000-policy-merge-018": 'design, section 4: "Approvals that were kept live in the user\'s state folder"; lessons, 11: '
    '"the narrowest argv rule"; no pattern is added to the profile\'s `allow`.',
}


def rows_with(*keys: str) -> list[dict[str, Any]]:
    return [row for row in ROWS if row["input"].keys() & set(keys)]


def is_broken(row: dict[str, Any]) -> bool:
    return "error" in row.get("unified", {})


def use_for(pattern: str) -> SampleCall:
    """A call that *pattern* matches: its stars stand for nothing."""
    prefix, rest = split(pattern)
    return sample_call({"*": "bash", "": "builtin"}.get(prefix, prefix), rest.replace("*", "").strip())


def specs_for(patterns: list[str]) -> Iterator[Any]:
    yield bash_tool()
    yield from (use_for(pattern).spec for pattern in patterns)


def first_rules(toolbox: Toolbox, patterns: list[str]) -> list[tuple[str, str | None]]:
    """For a call that each pattern matches: what becomes of it, and by which rule."""
    uses = map(use_for, patterns)
    decisions = [toolbox.decide(use.spec.name, use.args) for use in uses]
    return [(one.outcome, one.rule.text if one.rule else None) for one in decisions]


def hold(bench: Bench, tiers: dict[str, Any], expected: dict[str, Any]) -> None:
    """Assert that the toolbox over *tiers* has the mode and the lists of *expected*, as far as it says."""
    deny, allow = expected.get("deny", []), expected.get("allow", [])
    file = write_tiers(bench, tiers)
    toolbox = bench.open(file, *specs_for([*deny, *allow]))
    outcome = toolbox.decide("bash", {"command": PROBE}).outcome
    strict = bench.write("strict", {"profile": "strict", "extends": [file.name], "mode": "restrict"})
    in_restrict = bench.open(strict, *specs_for([*deny, *allow]))

    assert outcome == {"dangerous": "allow", "ask": "ask", "restrict": "deny"}[expected.get("mode", "dangerous")]
    assert first_rules(toolbox, deny) == [("deny", pattern) for pattern in deny]
    assert first_rules(in_restrict, allow) == [("allow", pattern) for pattern in allow]
    assert in_restrict.decide("bash", {"command": PROBE}).reason == "not_in_allow"


@pytest.mark.parametrize("row", row_params([row for row in rows_with(*TIERS) if not is_broken(row)]))
def test_tiers(row: dict[str, Any], bench: Bench) -> None:
    """The mode of the most specific tier holds, and all patterns do, in the order of the tiers."""
    hold(bench, row["input"], row.get("unified", row["expect"]))


@pytest.mark.parametrize("row", row_params([row for row in rows_with(*TIERS) if is_broken(row)]))
def test_broken_tiers(row: dict[str, Any], bench: Bench) -> None:
    """A file that cannot be read is an error, and nothing is built."""
    with pytest.raises(ConfigurationError):
        bench.open(write_tiers(bench, row["input"]), bash_tool())

    assert bench.opened == []


@pytest.mark.parametrize("row", row_params(rows_with("merge")))
def test_one_policy_over_another(row: dict[str, Any], bench: Bench) -> None:
    """The lists of both, those of the first first; the second's mode, if it has one."""
    base, local = row["input"]["merge"]

    hold(bench, {"base": base, "local": local}, row.get("unified", row["expect"]))


@pytest.mark.parametrize("row", row_params(rows_with("add")))
def test_what_people_allow_for_good(row: dict[str, Any], bench: Bench) -> None:
    """A call that a rule covers is never asked about; another is asked about once, and this very call from then on not."""
    asked: list[bool] = []
    uses = [use_for(f"{kind}:{pattern}") for kind, pattern in row["input"]["add"]]
    added = [pattern for pattern in row["expect"]["allow"] if pattern not in row["input"]["allow"]]

    def always(request: Any) -> str:
        asked.append(request.always)
        return "allow_always"

    toolbox = bench.open({"mode": "ask", "allow": row["input"]["allow"]}, *(use.spec for use in uses), approver=always)
    first = [toolbox.call(use.spec.name, use.args).outcome for use in uses]
    again = [toolbox.call(use.spec.name, use.args).outcome for use in uses]

    assert first == again == ["ok"] * len(uses)
    assert len(asked) == len(added)
    assert all(asked)
    assert row["id"] in SUPERSEDED


@pytest.mark.parametrize("tier", ["workspace", "base", "local"])
@pytest.mark.parametrize(
    "text",
    [
        "!! not: [yaml",
        "denny: []",
        "deny: bash",
        "mode: resrict",
        "[]",
        "",
        "\0",
        "deny: ['b:x']",
        "mode: ask\nmode: ask",
    ],
)
def test_no_tier_is_read_as_none(tier: str, text: str, bench: Bench) -> None:
    """Whatever is wrong with a file, in each tier: nothing is built. An empty profile is none, either."""
    with pytest.raises(ConfigurationError):
        bench.open(write_tiers(bench, {tier: text}), bash_tool())


MODES = [None, "dangerous", "ask", "restrict"]


@pytest.mark.parametrize("base", MODES)
@pytest.mark.parametrize("local", MODES)
def test_more_modes(base: str | None, local: str | None, bench: Bench) -> None:
    """A tier without a mode leaves the one above; a pattern counts once, wherever it stands."""
    tiers = {
        name: {
            **({} if mode is None else {"mode": mode}),
            "deny": ["bash:rm*", f"bash:{name} x*"],
            "allow": [f"cli:{name}"],
        }
        for name, mode in (("base", base), ("local", local))
    }

    hold(bench, tiers, merged(tiers))


def test_every_row_is_run() -> None:
    """No row is passed over in silence."""
    assert [row["id"] for row in ROWS] == [row["id"] for row in rows_with(*TIERS, "merge", "add")]
    assert SUPERSEDED.keys() <= {row["id"] for row in rows_with("add")}


def test_a_tool_by_its_bare_name(bench: Bench) -> None:
    """What has no prefix names a tool."""
    toolbox = bench.open({"deny": ["a"]}, make_tool("a"))

    assert first_rules(toolbox, ["a"]) == [("deny", "a")]
