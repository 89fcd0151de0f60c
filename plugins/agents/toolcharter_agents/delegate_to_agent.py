"""`delegate_to_agent`: have another agent do a task, and wait for its answer.

Source: linggen's tool of the same name, and its `delegate_targets`. There, an empty list allows all agents; here, none.
"""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field

from toolcharter import ToolRuntime, ToolSpec
from toolcharter_agents.agent_files import Agent, Names, is_listed, read_agents
from toolcharter_agents.launcher import Launcher, LaunchPolicy, SpawnOrder, asks
from toolcharter_agents.names import agent_of, fold_name
from toolcharter_agents.states import SpawnReason
from toolcharter_agents.subagents import finish_call, run_and_wait

GRANTED: dict[str, tuple[str, ...]] = {
    "Patch": ("cap:fs:write",),
    "Finalize": ("finalize_task",),
    "Delegate": ("delegate_to_agent", "sessions_spawn", "spawn", "subagents"),
}
"""The tools and capabilities that an agent gets only if its `policy` has the word."""


class DelegatePolicy(LaunchPolicy):
    """How far one profile lets `delegate_to_agent` go."""

    folders: tuple[Path, ...] = ()
    """The folders with the agents' files; by default `.toolcharter/agents` in the workspace."""
    targets: Names = ()
    """The agents that tasks may be delegated to, or `*` for all; none by default."""


class DelegateReason(StrEnum):
    """Why `delegate_to_agent` refuses."""

    TARGET_NOT_ALLOWED = "target_not_allowed"
    UNKNOWN_AGENT = "unknown_agent"
    DEPTH_LIMIT = SpawnReason.DEPTH_LIMIT
    CONCURRENT_LIMIT = SpawnReason.CONCURRENT_LIMIT
    CHILDREN_LIMIT = SpawnReason.CHILDREN_LIMIT
    TASK_TOO_LONG = SpawnReason.TASK_TOO_LONG
    STARTS_AN_AGENT = SpawnReason.STARTS_AN_AGENT
    MAX_ITERATIONS = SpawnReason.MAX_ITERATIONS
    SUBAGENT_FAILED = "subagent_failed"


def build(workspace: Path, policy: DelegatePolicy, rt: ToolRuntime) -> Callable[..., str]:
    """Bind `delegate_to_agent` to one profile's policy. An agent's file with faults stops the start."""
    agents = read_agents(workspace, policy.folders)
    launcher = Launcher(policy, rt)

    def delegate_to_agent(
        target_agent_id: Annotated[str, Field(min_length=1, max_length=64)], task: Annotated[str, Field(min_length=1)]
    ) -> str:
        """Have another agent do a task, and wait for its answer.

        Args:
            target_agent_id: The agent's name.
            task: The task, with all information that the agent needs for it.
        """
        ctx = rt.start("delegate_to_agent", target_agent_id=target_agent_id)
        if not may_delegate(agents, policy.targets, agent_of(rt.caller), target_agent_id):
            message = f"The profile does not allow delegation to {target_agent_id!r}."
            return ctx.deny(DelegateReason.TARGET_NOT_ALLOWED, message)
        launcher.require_depth(task)
        target = agents.get(fold_name(target_agent_id))
        if target is None:
            return ctx.error(f"There is no agent {target_agent_id!r}.", reason=DelegateReason.UNKNOWN_AGENT)
        ctx.policy_passed()
        return finish_call(ctx, run_and_wait(launcher, rt, build_order(target, task)))

    return delegate_to_agent


def may_delegate(agents: dict[str, Agent], targets: Names, agent: str, target: str) -> bool:
    """Return whether both the profile and the file of the calling agent, if it has one, allow the target."""
    own = agents.get(fold_name(agent))
    return is_listed(target, targets) and (own is None or own.may_delegate_to(target))


def build_order(target: Agent, task: str) -> SpawnOrder:
    """Return the order for a subagent with the prompt, model and tools of *target*, without ungranted tools."""
    lacking = tuple(name for grant, names in GRANTED.items() if grant not in target.grants for name in names)
    return SpawnOrder(
        task,
        model=target.model,
        target=target.name,
        prompt=target.prompt,
        tools=target.tools,
        deny=lacking,
        max_iterations=target.max_iterations,
        is_told=True,
    )


SPEC = ToolSpec(
    "delegate_to_agent",
    DelegatePolicy,
    build,
    reasons=DelegateReason,
    capabilities={"agent:spawn"},
    safety="high",
    staged=True,
    isolate=True,  # it waits for an agent, which must not block asynchronous callers
    group="sessions",
    argument_aliases={"target": "target_agent_id", "agent_id": "target_agent_id", "agent": "target_agent_id"},
    asks=asks,
)
