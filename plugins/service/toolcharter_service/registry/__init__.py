"""The registry: HDN's tool records in a store that all processes share, and the extension that runs these tools."""

from pathlib import Path
from typing import TYPE_CHECKING

from toolcharter import ExtensionSpec, hookimpl, lazy
from toolcharter_service.registry.policy import RegistryPolicy
from toolcharter_service.registry.reasons import RunReason

if TYPE_CHECKING:
    import click

    from toolcharter_service.registry import extension, shims
else:
    extension = lazy("toolcharter_service.registry.extension")  # not needed for listing plugins
    shims = lazy("toolcharter_service.registry.shims")  # as above


def build(workspace: Path, policy: RegistryPolicy) -> object:
    """Create the extension of one toolbox."""
    return extension.Registry(workspace, policy)


EXTENSION = ExtensionSpec("registry", RegistryPolicy, build, reasons=RunReason)


@hookimpl
def register_extensions() -> list[ExtensionSpec[RegistryPolicy]]:
    """Offer the extension that finds registered tools."""
    return [EXTENSION]


@hookimpl
def register_commands() -> "list[click.Command]":
    """Offer `toolcharter shims`."""
    return [shims.shims]
