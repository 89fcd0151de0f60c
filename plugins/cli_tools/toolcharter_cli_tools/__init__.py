"""Tools of toolcharter out of folders, profiles and manifests: see the README."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcharter import Discovery, ExtensionSpec, ProfileView, ToolSpec, hookimpl, lazy
from toolcharter_cli_tools import reload_tools
from toolcharter_cli_tools.policy import CliToolsPolicy
from toolcharter_cli_tools.templates import CliReason

if TYPE_CHECKING:
    from toolcharter_cli_tools import discovery
else:
    discovery = lazy("toolcharter_cli_tools.discovery")  # a list of plugins needs none of it


def build(workspace: Path, policy: CliToolsPolicy) -> object:  # noqa: ARG001 - the hook below is given both
    """The extension has no state of its own."""
    return object()


EXTENSION = ExtensionSpec("cli_tools", CliToolsPolicy, build, reasons=CliReason)


@hookimpl
def register_extensions() -> list[ExtensionSpec[CliToolsPolicy]]:
    """The extension that looks for tools."""
    return [EXTENSION]


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The tool that has it look again."""
    return [reload_tools.SPEC]


@hookimpl
def discover_tools(profile: ProfileView, workspace: Path | None) -> Discovery:
    """The tools that the profile declares, and those that lie in its folders."""
    return discovery.discover(profile, workspace)
