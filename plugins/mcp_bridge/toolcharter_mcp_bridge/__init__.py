"""Tools of MCP servers as governed tools: see the README."""

from pathlib import Path
from typing import TYPE_CHECKING

from toolcharter import Discovery, ExtensionSpec, McpAccessReason, ProfileView, hookimpl, lazy
from toolcharter_mcp_bridge.policy import BridgeReason, McpBridgePolicy

if TYPE_CHECKING:
    import click

    from toolcharter_mcp_bridge import bridge, trust_command, wrap
else:
    bridge = lazy("toolcharter_mcp_bridge.bridge")  # listing plugins does not need it
    trust_command = lazy("toolcharter_mcp_bridge.trust_command")  # as above
    wrap = lazy("toolcharter_mcp_bridge.wrap")  # as above


def build(workspace: Path, policy: McpBridgePolicy) -> object:
    """Make the bridge of one toolbox; it starts no server yet."""
    return bridge.Bridge(workspace, policy)


EXTENSION = ExtensionSpec("mcp_bridge", McpBridgePolicy, build, reasons={*BridgeReason, *McpAccessReason})


@hookimpl
def register_extensions() -> list[ExtensionSpec[McpBridgePolicy]]:
    """The one extension of this distribution."""
    return [EXTENSION]


@hookimpl
def discover_tools(profile: ProfileView) -> Discovery:
    """Return the names that the servers' tools may have, so that rules can name tools before they are known."""
    policy: McpBridgePolicy = profile.policy
    names = ("*",) if policy.registered else policy.servers
    return Discovery(later=(*(f"mcp__{name}__*" for name in names), "mcp_search"))


@hookimpl
def register_commands() -> "list[click.Command]":
    """The commands that this plugin adds to `toolcharter mcp`."""
    return [wrap.wrap, wrap.unwrap, trust_command.trust]
