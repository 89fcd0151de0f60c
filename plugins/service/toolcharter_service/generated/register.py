"""`register`: adds code to the registry as a tool. An approver has to agree each time, whatever the profile allows."""

from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import NotRequired

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from toolcharter import Ask, Call, ToolPolicy, ToolRuntime, ToolSpec
from toolcharter_service.generated.rule import build_record
from toolcharter_service.registry.catalog import register as write
from toolcharter_service.registry.rules import Actor, RegistryReason, RegistryRefusal
from toolcharter_service.registry.tools import require_buildable


class RegisterPolicy(ToolPolicy):
    """`register` has no settings: a person has to agree to each tool."""


class RegisterReason(StrEnum):
    """Why `register` refuses a call, and why it asks."""

    NEW_TOOL = "new_tool"
    INVALID_RECORD = "invalid_record"
    NAME_CONFLICT = "name_conflict"
    EXISTS = "exists"


@with_config(ConfigDict(extra="forbid"))
class GeneratedTool(TypedDict):
    """A tool as an agent writes it."""

    code: str
    name: NotRequired[str]
    description: NotRequired[str]


class RegisterData(TypedDict):
    """The structured result."""

    ok: bool
    id: str


def build(_workspace: Path, _policy: RegisterPolicy, rt: ToolRuntime) -> Callable[..., str]:
    """Bind `register` to the store of its toolbox."""

    def register(tool: GeneratedTool) -> str:
        """Register Python code as a tool, after a person has read it. The tool reads the workspace and has no network.

        Args:
            tool: code: a module whose function main, else its last function, is called with the JSON from standard
                input; an object gives the arguments by name. name and description: for people.
        """
        ctx = rt.start("register", tool=tool)
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        agent = rt.caller.agent or "*"
        try:
            record = require_buildable(
                build_record(tool["code"], tool.get("name", ""), tool.get("description", ""), now)
            )
            ctx.policy_passed()
            written = write(rt.store, record, Actor(agent, agent), now)
        except RegistryRefusal as refused:
            return ctx.deny(REASONS[refused.reason], refused.message)
        data: RegisterData = {"ok": True, "id": written.record.id}
        return ctx.ok(f"The tool {written.record.id} is registered; reload_tools finds it.", data=data)

    return register


REASONS = {
    RegistryReason.EXISTS: RegisterReason.EXISTS,
    RegistryReason.NAME_CONFLICT: RegisterReason.NAME_CONFLICT,
    RegistryReason.INVALID_RECORD: RegisterReason.INVALID_RECORD,
    RegistryReason.CODE_IS_PLACEHOLDER: RegisterReason.INVALID_RECORD,
}


def asks(_policy: RegisterPolicy, _call: Call) -> Ask:
    """Ask an approver about every call."""
    return Ask(RegisterReason.NEW_TOOL, "Code that an agent has written becomes a tool. Read all of it.")


SPEC = ToolSpec(
    "register",
    RegisterPolicy,
    build,
    reasons=RegisterReason,
    capabilities={"registry:write"},
    safety="high",
    staged=True,
    isolate=True,  # a store may be slow, and must not block the event loop
    aliases=("tool_register",),
    output=RegisterData,
    asks=asks,
)
