"""Agents as files: what is read, what stops the start, and how far one may delegate."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.agents.conftest import ADA, BOB, AgentWorker, MakeWorker
from tests.rows import each_row

from toolcharter import AgentResult, AgentTask, Caller, ConfigurationError, ToolError
from toolcharter_agents.agent_files import AGENTS_FOLDER, read_agents

CODER = """\
---
name: coder
description: Writes code.
model: inherit
tools: [read_file, edit_file]
policy: [Patch, Delegate, Patch]
delegate_targets: [Tester]
max_iterations: 3
---
You write code.

---
And tests.
"""
TESTER = """\
apiVersion: duragent/v1alpha1
kind: Agent
metadata: {name: tester, description: Runs tests., version: 1.0.0, labels: {team: a}}
spec:
  model: {provider: openrouter, name: big}
  soul: You are calm.
  system_prompt: ./SYSTEM_PROMPT.md
  tools: [{type: builtin, name: read_file}, grep]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a workspace's own agents, with one of each form."""
    home = tmp_path / "ws" / AGENTS_FOLDER
    (home / "tester").mkdir(parents=True)
    (home / "coder.md").write_text(CODER)
    (home / "tester/agent.yaml").write_text(TESTER)
    (home / "tester/SYSTEM_PROMPT.md").write_text("You run tests.\n")
    (home / "notes.txt").write_text("no agent")
    return home


def test_both_forms(folder: Path) -> None:
    """What each file says, and nothing for what it does not say."""
    agents = read_agents(folder.parents[1], ())

    coder, tester = agents["coder"], agents["tester"]
    assert coder._replace(file="") == (
        "coder",
        "Writes code.",
        "You write code.\n\n---\nAnd tests.",
        "",
        ("read_file", "edit_file"),
        frozenset({"Patch", "Delegate"}),
        ("Tester",),
        3,
        "",
    )
    assert tester._replace(file="") == (
        "tester",
        "Runs tests.",
        "You are calm.\n\nYou run tests.",
        "big",
        ("read_file", "grep"),
        frozenset(),
        (),
        None,
        "",
    )
    assert [coder.may_delegate_to(name) for name in ("tester", "TESTER", "coder")] == [True, True, False]
    assert not tester.may_delegate_to("coder")
    assert read_agents(Path("/nowhere"), ()) == {}
    assert list(read_agents(Path("/nowhere"), [folder])) == ["coder", "tester"]


@each_row(
    ("name", "text", "where", "what"),
    [
        pytest.param("a.md", "You are.", "a.md:1:1", "the file has no front matter", id="no-front-matter"),
        pytest.param("a.md", "---\nname: a\n", "a.md:1:1", "the file has no front matter", id="not-ended"),
        pytest.param(
            "a.md", "---\nname: a\nwork_globs: [x]\n---\n", "a.md:3:1", "unknown key 'work_globs'", id="unknown"
        ),
        pytest.param("a.md", "---\nname: a\nname: b\n---\n", "a.md:3:1", "name", id="twice"),
        pytest.param("a.md", "---\nname: a b\n---\n", "a.md:2:7", "name", id="no-name"),
        pytest.param("a.md", "---\nname: a\npolicy: [Patch, Admin]\n---\n", "a.md:3:17", "Patch", id="no-grant"),
        pytest.param("a.md", "---\nname: a\nmax_iterations: 1001\n---\n", "a.md:3:17", "1000", id="too-many"),
        pytest.param("a.md", "---\nname: a\n---\n" + "x" * 100_001, "a.md", "more than 100000", id="long"),
        pytest.param("a.md", "---\nname: coder\n---\n", "coder.md", "too", id="two-of-one-name"),
        pytest.param("a/agent.yaml", "kind: Agent\n", "agent.yaml", "apiVersion", id="no-version"),
        pytest.param("a/agent.yaml", TESTER + "  gateways: []\n", "agent.yaml:9:3", "unknown key", id="widens"),
        pytest.param(
            "a/agent.yaml", TESTER.replace("tester", "b").replace("./", "./../"), "agent.yaml", "out of", id="out"
        ),
        pytest.param("a/agent.yaml", TESTER.replace("tester", "b"), "agent.yaml", "cannot be read", id="no-prompt"),
    ],
)
def test_a_broken_file_stops_the_start(
    name: str, text: str, where: str, what: str, folder: Path, make_world: MakeWorker
) -> None:
    """The error names the file, the place and what is wrong; a profile that only lists agents does not start either."""
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    try:
        with pytest.raises(ConfigurationError, match=re.escape(what)) as raised:
            make_world({"agents_list": {}})
    finally:
        file.unlink()

    assert where in str(raised.value)


def test_a_folder_that_is_not_there_stops_the_start(make_world: MakeWorker) -> None:
    """The profile names it, so it has to be there."""
    with pytest.raises(ConfigurationError, match="cannot be read"):
        make_world({"delegate_to_agent": {"folders": ["/nowhere"]}})


def delegating(make_world: MakeWorker, targets: list[str], **settings: Any) -> AgentWorker:
    tools: dict[str, Any] = {
        "delegate_to_agent": {"targets": targets, "max_depth": 2},
        "agents_list": {"targets": targets},
        "spawn": {"max_depth": 2},
        "read_file": {},
        "edit_file": {},
        "grep": {},
    }
    return make_world(tools, **settings)


@each_row(
    ("targets", "caller", "target", "reason"),
    [
        pytest.param([], "ada", "coder", "target_not_allowed", id="nobody"),
        pytest.param([], "ada", "ghost", "target_not_allowed", id="nobody-be-they-there-or-not"),
        pytest.param(["*"], "ada", "coder", None, id="everybody"),
        pytest.param(["Coder"], "ada", "CODER", None, id="in-other-letters"),
        pytest.param(["coder"], "ada", "tester", "target_not_allowed", id="another"),
        pytest.param(["*"], "ada", "ghost", "unknown_agent", id="nobody-there"),
        pytest.param(["*"], "coder", "tester", None, id="its-file-lets-it"),
        pytest.param(["*"], "coder", "coder", "target_not_allowed", id="its-file-does-not"),
        pytest.param(["*"], "tester", "coder", "target_not_allowed", id="its-file-says-nothing"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_whom_an_agent_may_delegate_to(
    targets: list[str], caller: str, target: str, reason: str | None, make_world: MakeWorker
) -> None:
    """The profile and the agent's own file have to let it."""
    world = delegating(make_world, targets)
    world.host.may_answer.set()

    result = world.call("delegate_to_agent", Caller(agent=caller), target_agent_id=target, task="x")

    assert result.reason == reason
    assert len(world.host.tasks) == (reason is None)


@pytest.mark.usefixtures("folder")
def test_a_delegate_counts_among_subagents(make_world: MakeWorker) -> None:
    """Depth, all of the tenant and the parent's own limit it, in this order."""
    limits = {"max_concurrent": 2, "max_children": 1}
    world = make_world({"delegate_to_agent": {"targets": ["*"], **limits}, "spawn": limits})

    def refused(caller: Caller = ADA, task: str = "x") -> str | None:
        return world.call("delegate_to_agent", caller, target_agent_id="coder", task=task).reason

    assert world.call("spawn", task="x").outcome == "ok"
    assert refused() == "children_limit"
    assert world.call("spawn", BOB, task="x").outcome == "ok"
    assert refused() == "concurrent_limit"
    assert refused(Caller(agent="ada", depth=1)) == "depth_limit"
    assert refused(task="x" * 16_001) == "task_too_long"


@pytest.mark.usefixtures("folder")
def test_what_becomes_of_a_delegate_is_told(make_world: MakeWorker) -> None:
    """Also that it has used up its iterations, or failed."""
    world = delegating(make_world, ["*"])
    outcomes: Iterator[AgentResult | ToolError] = iter(
        [AgentResult("so far", is_exhausted=True), ToolError("No model answers.")]
    )

    def run(_: AgentTask) -> AgentResult:
        outcome = next(outcomes)
        if isinstance(outcome, ToolError):
            raise outcome
        return outcome

    world.live._base.agent_host = run
    reasons = [world.call("delegate_to_agent", target_agent_id="coder", task="x").reason for _ in range(2)]

    assert reasons == ["max_iterations", "subagent_failed"]


@pytest.mark.usefixtures("folder")
def test_what_a_delegate_is(make_world: MakeWorker) -> None:
    """Its own name, prompt, model and iterations; of the parent's tools those that its file lists and its grants cover."""
    world = delegating(make_world, ["*"])
    seen: list[tuple[Any, ...]] = []

    def run(task: AgentTask) -> AgentResult:
        seen.append((task.agent, task.prompt, task.model, task.max_iterations, sorted(task.toolbox)))
        return AgentResult("done")

    world.live._base.agent_host = run
    results = [world.call("delegate_to_agent", target_agent_id=name, task="x") for name in ("coder", "tester")]

    assert [(result.outcome, result.text) for result in results] == [("ok", "done")] * 2
    assert seen == [
        ("coder", "You write code.\n\n---\nAnd tests.", "", 3, ["edit_file", "read_file"]),
        ("tester", "You are calm.\n\nYou run tests.", "big", 20, ["grep", "read_file"]),
    ]


def test_without_grants_an_agent_only_looks(folder: Path, make_world: MakeWorker) -> None:
    """No tool that writes files, none that starts agents; `tools: []` is nothing at all."""
    (folder / "plain.md").write_text("---\nname: plain\n---\nLook.")
    (folder / "none.md").write_text("---\nname: none\ntools: []\n---\nLook.")
    (folder / "all.md").write_text("---\nname: all\npolicy: [Patch, Finalize, Delegate]\n---\nAct.")
    world = delegating(make_world, ["*"])
    seen: dict[str, list[str]] = {}

    def run(task: AgentTask) -> AgentResult:
        seen[task.agent] = sorted(task.toolbox)
        return AgentResult("done")

    world.live._base.agent_host = run
    for name in ("plain", "none", "all"):
        world.call("delegate_to_agent", target_agent_id=name, task="x")

    assert seen == {
        "plain": ["grep", "read_file"],
        "none": [],
        "all": ["delegate_to_agent", "edit_file", "grep", "read_file", "spawn"],
    }


@pytest.mark.usefixtures("folder")
def test_agents_list_shows_whom_one_may_delegate_to(make_world: MakeWorker) -> None:
    """For an agent with a file, its own targets; by default nobody."""
    world, closed = delegating(make_world, ["*"]), delegating(make_world, [])

    def listed(at: AgentWorker, caller: Caller = ADA) -> list[str]:
        return [one["id"] for one in at.call("agents_list", caller).data["agents"]]

    assert listed(world) == ["coder", "tester"]
    assert listed(world, Caller(agent="coder")) == ["tester"]
    assert listed(closed) == []
    assert world.call("agents_list").data["agents"][0] == {
        "id": "coder",
        "description": "Writes code.",
        "model": "",
        "tools": ["read_file", "edit_file"],
    }
