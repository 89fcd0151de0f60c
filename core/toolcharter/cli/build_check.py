"""Builds each tool of a plugin once, for `plugins --check`, with a profile that has no settings."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import orjson

from toolcharter.cli.describe import close_faults
from toolcharter.errors import ConfigurationError, Fault, PluginError
from toolcharter.gate.build.open import open_toolbox, plan_profile

if TYPE_CHECKING:
    from toolcharter.loader.listing import PluginInfo
    from toolcharter.loader.scan import InstalledPlugins


def check_builds(plugin: "PluginInfo", index: "InstalledPlugins") -> "PluginInfo":
    """Return *plugin* with the problems of building its tools added. A plugin that already has problems is not built.

    Args:
        plugin: Each of its tools is built in an empty folder. Constructors do no I/O.
        index: The installed plugins.
    """
    if plugin.problems:
        return plugin
    with TemporaryDirectory(prefix="toolcharter-") as folder:
        faults = [fault for name in plugin.specs for fault in _build_faults(name, Path(folder), index)]
    return replace(plugin, problems=tuple(str(fault).removeprefix(f"{fault.place}: ") for fault in faults))


def _build_faults(tool: str, folder: Path, index: "InstalledPlugins") -> Iterator[Fault]:
    workspace, profile = folder / "workspace", folder / "trial.yaml"
    workspace.mkdir(exist_ok=True)
    profile.write_bytes(orjson.dumps({"profile": "trial", "tools": {tool: {}}}))  # JSON is YAML.
    try:
        plan = plan_profile(str(profile), index=index)
        open_toolbox(plan, workspace=workspace, caller=None, sinks=()).close()
    except PluginError as error:
        yield from error.faults
    except ExceptionGroup as group:  # Raised by closing.
        yield from close_faults(tool, group)
    except ConfigurationError:
        return  # The tool's policy has required fields, which only a profile can fill.
