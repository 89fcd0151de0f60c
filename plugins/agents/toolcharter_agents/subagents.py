"""`subagents`: list, run, cancel and steer subagents."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from toolcharter import ToolContext, ToolError, ToolRuntime, ToolSpec
from toolcharter_agents.launcher import Launcher, LaunchPolicy, SpawnOrder, asks, list_children, wait
from toolcharter_agents.names import Actor
from toolcharter_agents.running import RUNNING, cancel_subagents
from toolcharter_agents.states import SpawnReason, State, Subagent

MAX_STEER_CHARS = 4_000
STOP_WAIT_S = 0.5
"""How long to wait for a cancelled subagent to end before its replacement starts, in seconds."""
STEERED_SUFFIX = "(steered)"


class SubagentsPolicy(LaunchPolicy):
    """How far one profile lets `subagents` go."""


class SubagentsReason(StrEnum):
    """Why `subagents` refuses."""

    DEPTH_LIMIT = SpawnReason.DEPTH_LIMIT
    CONCURRENT_LIMIT = SpawnReason.CONCURRENT_LIMIT
    CHILDREN_LIMIT = SpawnReason.CHILDREN_LIMIT
    TASK_TOO_LONG = SpawnReason.TASK_TOO_LONG
    STARTS_AN_AGENT = SpawnReason.STARTS_AN_AGENT
    MAX_ITERATIONS = SpawnReason.MAX_ITERATIONS
    SUBAGENT_NOT_FOUND = "subagent_not_found"
    NOT_RUNNING = "not_running"
    MESSAGE_TOO_LONG = "message_too_long"
    SUBAGENT_FAILED = "subagent_failed"


def build(workspace: Path, policy: SubagentsPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.agents`
    """Bind `subagents` to one profile's policy."""
    launcher = Launcher(policy, rt)

    def subagents(
        action: Literal["list", "run", "cancel", "steer"],
        id: Annotated[str, Field(max_length=64)] = "",  # noqa: A002 - as GoClaw has it
        task: str = "",
        label: Annotated[str, Field(max_length=64)] = "",
        message: str = "",
    ) -> str:
        """Manage the subagents that you have started.

        Args:
            action: list; run (task, label): start a subagent and wait for its result; cancel (id); steer (id, message):
                cancel a subagent and start it again with another message.
            id: The subagent's id, as list shows it; for cancel also all or last.
            task: The subagent's task.
            label: A short name for the subagent.
            message: The new task, up to 4,000 characters.
        """
        ctx = rt.start("subagents", action=action, id=id)
        actor = Actor.of(rt.caller)
        if action == "list":
            ctx.policy_passed()
            found = [subagent_item(one) for one in launcher.list_subagents(actor)]
            return ctx.ok("\n".join(map(subagent_line, found)) or "There are no subagents.", data={"subagents": found})
        if action == "run":
            _require("task", task)
            launcher.require_depth(task)
            ctx.policy_passed()
            return finish_call(ctx, run_and_wait(launcher, rt, SpawnOrder(task, label, is_told=True)))
        _require("id", id)
        if action == "cancel":
            ctx.policy_passed()
            ended = cancel_subagents(rt.store, [one.id for one in _select(list_children(rt.store, actor), id)])
            return ctx.ok(f"Cancelled: {', '.join(ended) or 'none'}.", data={"cancelled": ended})
        _require("message", message)
        if len(message) > MAX_STEER_CHARS:
            most = f"A message has at most {MAX_STEER_CHARS} characters."
            return ctx.error(most, reason=SubagentsReason.MESSAGE_TOO_LONG)
        launcher.require_depth(message)
        ctx.policy_passed()
        before = _select(list_children(rt.store, actor), id)[0]
        number = _steer(launcher, rt, before, message)
        return ctx.ok(f"Subagent {number} runs instead.", data={"id": number, "cancelled": [before.id]})

    return subagents


def _require(name: str, value: str) -> None:
    if not value:
        raise ToolError(f"This action needs a {name}.", reason="invalid_arguments")


def run_and_wait(launcher: Launcher, rt: ToolRuntime, order: SpawnOrder) -> Subagent:
    """Start a subagent and wait for its end.

    Raises:
        Denied: A limit.
        ToolError: `timed_out`, if the subagent runs past the call's deadline.
    """
    launched = launcher.start(order)
    wait(launched, rt)
    found = rt.store.get(Subagent, launched.id)
    if found is None:
        raise ToolError("The subagent's record is gone.", reason=SubagentsReason.SUBAGENT_FAILED)
    return found.record


def finish_call(ctx: ToolContext, one: Subagent) -> str:
    """Return the result of a subagent as the result of the call that has waited for it."""
    if one.state == State.COMPLETED:
        return ctx.ok(one.result, data=subagent_item(one))
    reason = one.reason if one.reason in _PASSED_ON else str(SubagentsReason.SUBAGENT_FAILED)
    return ctx.error(f"The subagent is {one.state}: {one.result}", reason=reason, data=subagent_item(one))


_PASSED_ON = {"timed_out", "cancelled", "max_iterations"}


def _select(own: list[Subagent], number: str) -> list[Subagent]:
    """The running subagents, of a caller's own, that *number* selects.

    Raises:
        ToolError: `subagent_not_found`, also for another caller's subagent; `not_running`.
    """
    running = [one for one in own if one.state == State.RUNNING]
    if number in {"all", "last"}:
        return running if number == "all" else running[:1] or _refuse("No subagent is running.", "not_running")
    named = next((one for one in own if one.id == number), None)
    if named is None:
        return _refuse(f"There is no subagent {number!r}.", SubagentsReason.SUBAGENT_NOT_FOUND)
    return [named] if named in running else _refuse(f"The subagent is {named.state}.", SubagentsReason.NOT_RUNNING)


def _refuse(message: str, reason: str) -> list[Subagent]:
    raise ToolError(message, reason=reason)


def _steer(launcher: Launcher, rt: ToolRuntime, one: Subagent, message: str) -> str:
    """Cancel a subagent, wait until it ends, at most half a second, and start another with the new message."""
    before = RUNNING.get(one.id)
    cancel_subagents(rt.store, [one.id], text="steered")
    if before is not None:
        before.agent.wait(STOP_WAIT_S)
    label = one.label if one.label.endswith(STEERED_SUFFIX) else f"{one.label} {STEERED_SUFFIX}"
    return launcher.start(SpawnOrder(message, label, one.model)).id


def subagent_item(one: Subagent) -> dict[str, Any]:
    """Return a subagent as it is shown in answers."""
    kept = ("id", "label", "state", "task", "target", "model", "session", "reason", "result", "iterations")
    return {
        **{name: value for name in kept if (value := getattr(one, name)) is not None},
        "state": str(one.state),
        "tokens": one.input_tokens + one.output_tokens,
        "created": int(one.created),
    }


def subagent_line(one: dict[str, Any]) -> str:
    """Return a subagent as one line of text."""
    reason = f" ({one['reason']})" if one.get("reason") else ""
    return f"[{one['id']}] {one['label']}: {one['state']}{reason}"


SPEC = ToolSpec(
    "subagents",
    SubagentsPolicy,
    build,
    reasons=SubagentsReason,
    capabilities={
        "list": {"agent:read"},
        "run": {"agent:spawn"},
        "cancel": {"agent:spawn"},
        "steer": {"agent:spawn"},
    },
    safety="high",
    staged=True,
    isolate=True,  # `run` waits for an agent, which must not block asynchronous callers
    group="sessions",
    aliases=("subagent",),
    argument_aliases={"subagent_id": "id"},
    asks=asks,
)
