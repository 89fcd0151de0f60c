"""`agents_list`: list the agents that the caller may delegate to."""

from collections.abc import Callable
from pathlib import Path

from toolcharter import ToolPolicy, ToolRuntime, ToolSpec
from toolcharter_agents.agent_files import Names, read_agents
from toolcharter_agents.delegate_to_agent import may_delegate
from toolcharter_agents.names import agent_of


class AgentsListPolicy(ToolPolicy):
    """How far one profile lets `agents_list` go."""

    folders: tuple[Path, ...] = ()
    """The folders with the agents' files; by default `.toolcharter/agents` in the workspace."""
    targets: Names = ()
    """The agents to show, or `*` for all; none by default."""


def build(workspace: Path, policy: AgentsListPolicy, rt: ToolRuntime) -> Callable[..., str]:
    """Bind `agents_list` to one profile's policy. An agent's file with faults stops the start."""
    agents = read_agents(workspace, policy.folders)

    def agents_list() -> str:
        """List the agents that you may delegate to, with a description of each."""
        ctx = rt.start("agents_list")
        ctx.policy_passed()
        seen = [
            {
                "id": one.name,
                "description": one.description,
                "model": one.model,
                "tools": None if one.tools is None else list(one.tools),
            }
            for one in agents.values()
            if may_delegate(agents, policy.targets, agent_of(rt.caller), one.name)
        ]
        return ctx.ok("\n".join(f"{one['id']}: {one['description']}" for one in seen) or "none", data={"agents": seen})

    return agents_list


SPEC = ToolSpec(
    "agents_list",
    AgentsListPolicy,
    build,
    reasons=(),
    capabilities={"agent:read"},
    safety="low",
    staged=True,
)
