"""The registry: HDN's records of tools, in a store that all processes share; and the extension that runs them."""

from pathlib import Path
from typing import TYPE_CHECKING

from toolcharter import ExtensionSpec, hookimpl, lazy
from toolcharter_service.registry.policy import RegistryPolicy
from toolcharter_service.registry.reasons import RunReason

if TYPE_CHECKING:
    import click

    from toolcharter_service.registry import extension, shims
else:
    extension = lazy("toolcharter_service.registry.extension")  # a list of plugins needs none of it
    shims = lazy("toolcharter_service.registry.shims")  # as above


def build(workspace: Path, policy: RegistryPolicy) -> object:
    """The extension of one toolbox."""
    return extension.Registry(workspace, policy)


EXTENSION = ExtensionSpec("registry", RegistryPolicy, build, reasons=RunReason)


@hookimpl
def register_extensions() -> list[ExtensionSpec[RegistryPolicy]]:
    """The extension that finds registered tools."""
    return [EXTENSION]


@hookimpl
def register_commands() -> "list[click.Command]":
    """The command that writes tools as programs."""
    return [shims.shims]
