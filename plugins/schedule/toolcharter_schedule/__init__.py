"""Tools for time: `schedule` and `cron` make jobs, which the extension `schedule` fires.

Each time of a job runs once over all processes that share a store. A run acts as the job's creator, under the profile as it
is then, and never with a tool more than its creator had.
"""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_schedule import cron_tool, schedule_tool


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The two tools of this distribution."""
    return [schedule_tool.SPEC, cron_tool.SPEC]
