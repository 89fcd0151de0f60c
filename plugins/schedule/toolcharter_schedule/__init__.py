"""Tools for scheduled jobs: `schedule` and `cron` make jobs, the extension `scheduler` runs them.

Each due time of a job is recorded once among all processes that share a store, and one of them runs it.
"""

from typing import Any

from toolcharter import ExtensionSpec, ToolSpec, hookimpl
from toolcharter_schedule import cron_tool, schedule_tool, scheduler


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The two tools of this distribution."""
    return [schedule_tool.SPEC, cron_tool.SPEC]


@hookimpl
def register_extensions() -> list[ExtensionSpec[Any]]:
    """The extension that runs their jobs."""
    return [scheduler.SPEC]
