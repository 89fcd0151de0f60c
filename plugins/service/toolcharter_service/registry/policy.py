"""The policy of a profile for the tools of the registry."""

from typing import Annotated

from pydantic import Field

from toolcharter import DiscovererPolicy


class RegistryPolicy(DiscovererPolicy):
    """Which registered tools a profile has, and what they may do.

    With `extend: true` the tools that are found exist. Each needs an `allow` rule such as `custom:*`.
    """

    records: bool = True
    """Whether records of `/api/v1/tools` with `exec` become tools."""
    custom: bool = True
    """Whether the custom tools of `/v1/tools/custom` become tools: those of all agents, and the agent's own."""
    custom_network: bool = False
    """Whether custom tools have `net:read` and may reach the network. The runner has to allow it, too."""
    custom_writes: bool = False
    """Whether custom tools have `fs:write` and may change the workspace."""
    timeout_s: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = 60.0
    """How long a registered tool may take, in seconds. A custom tool's longer limit is reduced to it."""
    max_output_bytes: Annotated[int, Field(ge=1, le=50_000_000)] = 1_000_000
    """How many bytes are kept of each of a program's two output streams."""
    max_tools: Annotated[int, Field(ge=0, le=10_000)] = 1000
    """How many of the tools that are found may exist."""
