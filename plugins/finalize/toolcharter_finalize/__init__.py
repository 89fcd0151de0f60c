"""`finalize_task`: an agent declares that a task is finished, and hands over the result as a packet.

The tool changes nothing. A host waits for its call, and gets the checked packet from it. A profile lists the tool for
the agents that may end a task, and its policy says which parts a packet must have.

Source: linggen, whose action `finalize_task` has this packet.
"""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field

from toolcharter import ToolError, ToolPolicy, ToolRuntime, ToolSpec, hookimpl

_Line = Annotated[str, Field(min_length=1, max_length=2_000)]
_Lines = Annotated[list[_Line], Field(max_length=200)]
Part = Literal["user_stories", "acceptance_criteria", "mermaid_wireframe"]


class FinalizePolicy(ToolPolicy):
    """What one profile requires of a packet."""

    required: tuple[Part, ...] = ()
    """The parts that must not be empty, in addition to the title."""
    max_chars: Annotated[int, Field(ge=1, le=1_000_000)] = 20_000
    """The limit for all texts of a packet together, in characters."""


class FinalizeReason(StrEnum):
    """Why a packet is not accepted."""

    PACKET_INCOMPLETE = "packet_incomplete"
    PACKET_TOO_LARGE = "packet_too_large"


class Packet(BaseModel):
    """The result of a task."""

    model_config = ConfigDict(extra="forbid")

    title: Annotated[str, Field(min_length=1, max_length=300, pattern=r"\S", description="The task in one line.")]
    user_stories: _Lines = Field(default_factory=list, description="Who wants to do what, and why; one sentence each.")
    acceptance_criteria: _Lines = Field(
        default_factory=list, description="How to check that the task is done; one sentence each."
    )
    mermaid_wireframe: Annotated[str, Field(max_length=20_000)] | None = Field(
        default=None, description="A sketch, as a Mermaid diagram."
    )


class PacketData(TypedDict):
    """The packet in the form that a host gets."""

    title: str
    user_stories: list[str]
    acceptance_criteria: list[str]
    mermaid_wireframe: str | None


class FinalizeData(TypedDict):
    """The structured result."""

    packet: PacketData


def build(workspace: Path, policy: FinalizePolicy, rt: ToolRuntime) -> Callable[[Packet], str]:  # noqa: ARG001 - it reads nothing
    """Bind `finalize_task` to one profile's policy."""

    def finalize_task(packet: Packet) -> str:
        """Hand over the result of the task. Call this once, when the result is complete; it changes nothing.

        Args:
            packet: The title, and the other parts of the result.
        """
        found: PacketData = {
            "title": packet.title.strip(),
            "user_stories": packet.user_stories,
            "acceptance_criteria": packet.acceptance_criteria,
            "mermaid_wireframe": packet.mermaid_wireframe,
        }
        ctx = rt.start("finalize_task", title=found["title"])
        missing = [part for part in policy.required if not found[part]]
        if missing:
            message = f"The packet lacks {', '.join(missing)}."
            raise ToolError(message, reason=FinalizeReason.PACKET_INCOMPLETE, hint="Add these parts, and call again.")
        texts = (
            found["title"],
            *found["user_stories"],
            *found["acceptance_criteria"],
            found["mermaid_wireframe"] or "",
        )
        if (size := sum(map(len, texts))) > policy.max_chars:
            message = f"The packet has {size} characters; the limit is {policy.max_chars}."
            raise ToolError(message, reason=FinalizeReason.PACKET_TOO_LARGE, hint="Make the texts shorter.")
        ctx.policy_passed()
        return ctx.ok(f"The task is handed over: {found['title']}", data=FinalizeData(packet=found))

    return finalize_task


SPEC = ToolSpec(
    "finalize_task",
    FinalizePolicy,
    build,
    reasons=FinalizeReason,
    capabilities={"task:finalize"},
    safety="low",
    staged=True,
    group="sessions",
    output=FinalizeData,
)


@hookimpl
def register_tools() -> list[ToolSpec[FinalizePolicy]]:
    """Offer the tool `finalize_task`."""
    return [SPEC]
