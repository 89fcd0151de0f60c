"""The extension `scripted`: which run an agent follows, and what its calls meet."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from toolcharter import AgentResult, AgentTask, ToolError, build_tools
from toolcharter_scripted import SPEC
from toolcharter_scripted.policy import ScriptedPolicy
from toolcharter_scripted.script import Script


def policy(*runs: dict[str, Any]) -> ScriptedPolicy:
    return ScriptedPolicy.from_profile({"runs": list(runs)})


def task(message: str = "go", agent: str = "a", **fields: Any) -> AgentTask:
    def call(tool: str, args: dict[str, Any], *, parent_id: str | None) -> Any:
        return SimpleNamespace(text=f"{tool} {sorted(args.items())} {parent_id}")

    given: dict[str, Any] = {"max_iterations": 20, "is_cancelled": lambda: False, **fields}
    return AgentTask(agent, "", message, "", SimpleNamespace(call=call), deadline=0.0, parent_id="p", **given)


def test_the_first_run_that_fits_counts() -> None:
    script = Script(policy({"agent": "b"}, {"message": "*\n*"}, {"message": "g*", "answer": "1"}, {"answer": "2"}))
    assert script.run_agent(task()).text == "1"
    assert script.run_agent(task("no")).text == "2"
    assert script.run_agent(task("two\nlines")).text == ""


def test_without_a_run_the_agent_fails() -> None:
    with pytest.raises(ToolError, match="No run of the script matches the agent 'a'"):
        Script(policy({"agent": "b"})).run_agent(task())


CALLS = [{"tool": "t", "args": {"x": "{message}"}}, {"tool": "u"}]


@pytest.mark.parametrize(
    ("fields", "result"),
    [
        ({}, AgentResult("go: t [('x', '{message}')] p\nu [] p", iterations=3)),
        ({"max_iterations": 1}, AgentResult("t [('x', '{message}')] p", iterations=1, is_exhausted=True)),
        ({"is_cancelled": lambda: True}, AgentResult("go: ", iterations=1)),
    ],
    ids=["whole", "exhausted", "cancelled"],
)
def test_calls_are_made_in_order(fields: dict[str, Any], result: AgentResult) -> None:
    """What a call has answered is no place for a value of its own."""
    assert Script(policy({"calls": CALLS, "answer": "{message}: {results}"})).run_agent(task(**fields)) == result


def test_a_profile_lists_it(tmp_path: Path) -> None:
    """Beside tools."""
    profile = tmp_path / "p.yaml"
    profile.write_text("profile: p\ntools: {read_file: {}}\nextensions: {scripted: {runs: [{answer: x}]}}\n")
    workspace = tmp_path / "w"
    workspace.mkdir()
    with build_tools(profile, workspace=workspace, events=lambda _: None) as toolbox:
        assert list(toolbox) == ["read_file"]
    assert SPEC.name == "scripted"
