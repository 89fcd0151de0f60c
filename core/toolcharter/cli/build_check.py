"""What `plugins --check` does beyond importing: it builds each tool once, as a profile without settings would."""

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
    from toolcharter.loader.scan import Installed


def tried(plugin: "PluginInfo", index: "Installed") -> "PluginInfo":
    """*plugin* with the problems that building its tools has; those of one that has problems already are not built.

    Args:
        plugin: Its tools are built, one by one, each in an empty folder; constructors do no I/O.
        index: What is installed.
    """
    if plugin.problems:
        return plugin
    with TemporaryDirectory(prefix="toolcharter-") as folder:
        faults = [fault for name in plugin.specs for fault in _faults(name, Path(folder), index)]
    return replace(plugin, problems=tuple(str(fault).removeprefix(f"{fault.place}: ") for fault in faults))


def _faults(tool: str, folder: Path, index: "Installed") -> Iterator[Fault]:
    workspace, profile = folder / "workspace", folder / "trial.yaml"
    workspace.mkdir(exist_ok=True)
    profile.write_bytes(orjson.dumps({"profile": "trial", "tools": {tool: {}}}))  # JSON is YAML.
    try:
        plan = plan_profile(str(profile), index=index)
        open_toolbox(plan, workspace=workspace, caller=None, sinks=()).close()
    except PluginError as error:
        yield from error.faults
    except ExceptionGroup as group:  # of closing
        yield from close_faults(tool, group)
    except ConfigurationError:
        return  # Its policy has required fields, which only a profile can fill.
