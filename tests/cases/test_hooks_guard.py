"""Sample set 004's hooks, row by row: what decides before a call is a check here, and all else is listed with its reason."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.samples import row_params, sample_rows

from toolcharter import Call, Caller, ConfigurationError, Deny, Toolbox, build_tools
from toolcharter.loader.load import Check, load_plugins
from toolcharter.loader.scan import find_installed

ROWS = sample_rows("seeds/004-hooks-guard")

# What the design decides otherwise, or leaves to others: by the facts that a row gives, with the sentence.
SUPERSEDED = {
    "decision=error": "design, section 5: an exception or a timeout denies; section 4 of issue 3: unless the profile "
    "marks the check advisory.",
    "decision=timeout": "the same.",
    "allow,input,update": "design, section 1: a check is a function that may deny or ask before a call runs; what one "
    "check has seen is what the body gets.",
    "edition,kind,scope": "design, section 2: checks are entry points in `toolcharter.extensions`; section 3: accepted "
    "only from a site directory of the running interpreter. There are no commands as hooks, so none to forbid.",
    "pattern,tool": "design, section 5: plugin checks see each call; section 4: patterns in rules are anchored globs, "
    "only `*` is special.",
    "text": "design, section 5: the way of a call. What people and models write does not take it.",
    "setting": "the same.",
}


def facts(row: dict[str, Any]) -> str:
    """The kind of a row: the names of its facts, or a decision that is one of a kind."""
    given = row["input"]
    return f"decision={given['decision']}" if set(given) == {"decision"} else ",".join(sorted(given))


def params(*kinds: str) -> list[Any]:
    return row_params([row for row in ROWS if facts(row) in kinds])


def allows(call: Call) -> None: ...


def blocks(call: Call) -> Deny:
    return Deny("blocked_by_hook")


def fails(call: Call) -> None:
    raise OSError("no store")


async def hangs(call: Call) -> None:
    await asyncio.sleep(60)


HOOKS = {"allow": allows, "block": blocks, "error": fails, "timeout": hangs}


@pytest.fixture
def checked(tmp_path: Path) -> Iterator[Callable[..., Toolbox]]:
    """A toolbox with `read_file` behind checks."""
    made: list[Toolbox] = []
    (tmp_path / "poem.txt").write_text("Roses are red\n")
    profile = tmp_path / "p.yaml"
    profile.write_text("profile: p\ntools:\n  read_file: {}\n")

    def make(*checks: Callable[[Call], Any], caller: Caller | None = None) -> Toolbox:
        made.append(build_tools(profile, workspace=tmp_path, caller=caller, events=list[Any]().append))
        made[-1]._state.checks = tuple(Check(f"hook-{number}", check) for number, check in enumerate(checks))
        return made[-1]

    yield make
    for toolbox in made:
        toolbox.close()


def decision(toolbox: Toolbox) -> str:
    outcome = toolbox.call("read_file", {"path": "poem.txt"}).outcome
    return {"ok": "allow", "denied": "block"}[outcome]


@pytest.mark.parametrize("row", params("hooks", "decision=allow", "decision=block"))
def test_hooks_decide_together(row: Any, checked: Any) -> None:
    """Without checks a call passes; each of them can deny."""
    given, expect = row["input"], row["expect"]
    hooks = given.get("hooks", [given])

    decided = decision(checked(*(HOOKS[hook["decision"]] for hook in hooks)))

    assert decided == expect.get("decision", "block" if expect.get("blocks") else "allow")


@pytest.mark.parametrize("how", ["error", "timeout"])
def test_a_check_that_gives_no_decision_blocks(how: str, checked: Any) -> None:
    """Where the source asks what a failed hook is worth, a failed check is worth a denial."""
    toolbox = checked(HOOKS[how])
    toolbox._state.checks = tuple(check._replace(timeout_s=0.02) for check in toolbox._state.checks)

    assert decision(toolbox) == "block"


@pytest.mark.parametrize("row", params("event"))
def test_what_comes_before_a_call_waits(row: Any, checked: Any) -> None:
    """A subagent's calls wait for the checks as everybody's do; what is told after a call has nothing to decide."""
    before = row["input"]["event"] in {"pre_tool_use", "subagent_start"}
    seen: list[int] = []

    async def looks(call: Call) -> Deny:
        await asyncio.sleep(0.01)
        seen.append(call.caller.depth)
        return Deny("blocked_by_hook")

    blocking = decision(checked(looks, caller=Caller(depth=1))) == "block"

    assert (blocking and before, seen) == (row["expect"]["blocking"], [1])


@pytest.mark.parametrize("row", params("store"))
def test_checks_that_cannot_be_found_stop_the_start(row: Any, tmp_path: Path) -> None:
    """A profile never runs with fewer checks than it names: there is no toolbox, so there is no call."""
    profile = tmp_path / "p.yaml"
    profile.write_text("profile: p\ntools:\n  read_file: {}\nextensions:\n  nobody_has_it: {}\n")

    with pytest.raises(ConfigurationError, match="nobody_has_it"):
        build_tools(profile, workspace=tmp_path, events=list[Any]().append)

    assert row["expect"] == {"decision": "block", "error": True}


@pytest.mark.parametrize("row", params("kind,source"))
def test_a_check_that_does_not_compile_stops_the_start(row: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Its error is told with the plugin that holds it."""
    metadata = tmp_path / "toolcharter_broken-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toolcharter-broken\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[toolcharter.extensions]\nbroken = toolcharter_broken\n")
    (tmp_path / "toolcharter_broken.py").write_text(row["input"]["source"])
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(ConfigurationError, match=r"toolcharter-broken 1\.0: importing .* failed: SyntaxError"):
        load_plugins({}, {"broken": "p.yaml:3:3"}, index=find_installed([str(tmp_path)], [str(tmp_path)]))

    assert row["expect"]["valid"] is False


def test_each_row_is_accounted_for() -> None:
    """A row is tried above, or the design decides it otherwise."""
    tried = {"hooks", "decision=allow", "decision=block", "event", "store", "kind,source"}

    assert {facts(row) for row in ROWS} <= tried | set(SUPERSEDED)
