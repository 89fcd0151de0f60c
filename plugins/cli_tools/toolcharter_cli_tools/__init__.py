"""Turn programs in folders, profiles and skill manifests into tools: see the README."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcharter import Discovery, ExtensionSpec, ProfileView, ToolSpec, hookimpl, lazy
from toolcharter_cli_tools import reload_tools
from toolcharter_cli_tools.policy import CliToolsPolicy
from toolcharter_cli_tools.templates import CliReason

if TYPE_CHECKING:
    from toolcharter_cli_tools import discovery
else:
    discovery = lazy("toolcharter_cli_tools.discovery")  # listing the plugins does not need it


def build(workspace: Path, policy: CliToolsPolicy) -> object:  # noqa: ARG001 - the hook below is given both
    """Return an object without hooks: the extension has no state."""
    return object()


EXTENSION = ExtensionSpec("cli_tools", CliToolsPolicy, build, reasons=CliReason)


@hookimpl
def register_extensions() -> list[ExtensionSpec[CliToolsPolicy]]:
    """Offer the extension `cli_tools`, which discovers tools."""
    return [EXTENSION]


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """Offer the tool `reload_tools`, which repeats the discovery."""
    return [reload_tools.SPEC]


@hookimpl
def discover_tools(profile: ProfileView, workspace: Path | None) -> Discovery:
    """Return the tools that the profile declares, and those in its folders."""
    return discovery.discover(profile, workspace)
