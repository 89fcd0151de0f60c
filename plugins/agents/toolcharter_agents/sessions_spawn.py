"""`sessions_spawn` and `spawn`: start a subagent without waiting for it. Its result is sent to the inbox."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field

from toolcharter import ToolRuntime, ToolSpec
from toolcharter_agents.agent_files import Names, is_listed
from toolcharter_agents.launcher import Launcher, LaunchPolicy, SpawnOrder, asks
from toolcharter_agents.states import SpawnReason

Task = Annotated[str, Field(min_length=1)]
Label = Annotated[str, Field(max_length=64)]
Model = Annotated[str, Field(max_length=128)]


class SpawnPolicy(LaunchPolicy):
    """How far one profile lets `sessions_spawn` and `spawn` go."""

    models: Names = ()
    """The models that a call may choose, or `*` for all; none by default, so that `model` is used."""


class SpawnToolReason(StrEnum):
    """Why `sessions_spawn` and `spawn` refuse."""

    DEPTH_LIMIT = SpawnReason.DEPTH_LIMIT
    CONCURRENT_LIMIT = SpawnReason.CONCURRENT_LIMIT
    CHILDREN_LIMIT = SpawnReason.CHILDREN_LIMIT
    MODEL_NOT_ALLOWED = SpawnReason.MODEL_NOT_ALLOWED
    TASK_TOO_LONG = SpawnReason.TASK_TOO_LONG
    STARTS_AN_AGENT = SpawnReason.STARTS_AN_AGENT


def _constructor(name: str) -> Callable[[Path, SpawnPolicy, ToolRuntime], Callable[..., str]]:
    def build(workspace: Path, policy: SpawnPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.agents`
        """Bind the tool to one profile's policy."""
        launcher = Launcher(policy, rt)

        def spawn(task: Task, label: Label = "", model: Model = "") -> str:
            """Start a subagent that works on a task while you go on. The call returns at once; the result comes later.

            Args:
                task: The task, with all information that the subagent needs for it.
                label: A short name for the subagent.
                model: The subagent's model, if the profile lets you choose.
            """
            ctx = rt.start(name, label=label)
            launcher.require_depth(task)
            if model and not is_listed(model, policy.models):
                return ctx.deny(SpawnReason.MODEL_NOT_ALLOWED, f"The profile does not allow the model {model!r}.")
            ctx.policy_passed()
            launched = launcher.start(SpawnOrder(task, label, model))
            text = f"Subagent {launched.id} was accepted. Its result will be sent to your inbox when it has ended."
            return ctx.ok(text, data={"status": "accepted", "id": launched.id})

        spawn.__name__ = name
        return spawn

    return build


def _spec(name: str) -> ToolSpec[SpawnPolicy]:
    return ToolSpec(
        name,
        SpawnPolicy,
        _constructor(name),
        reasons=SpawnToolReason,
        capabilities={"agent:spawn"},
        safety="high",
        staged=True,
        group="sessions",
        asks=asks,
    )


SPEC = _spec("sessions_spawn")
SPAWN = _spec("spawn")
