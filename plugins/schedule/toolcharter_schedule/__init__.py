"""Tools for time: `schedule` and `cron` make jobs, and `Engine` says which are due.

Each time of a job is written down once over all processes that share a store. Nothing of this distribution looks for jobs that
are due on its own yet: whoever drives an `Engine` runs them.
"""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_schedule import cron_tool, schedule_tool


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The two tools of this distribution."""
    return [schedule_tool.SPEC, cron_tool.SPEC]
