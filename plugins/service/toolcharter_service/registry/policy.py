"""The policy of a profile for the tools of the registry."""

from typing import Annotated

from pydantic import Field

from toolcharter import DiscovererPolicy


class RegistryPolicy(DiscovererPolicy):
    """Which registered tools a profile has, and how far they may go.

    With `extend: true` those that are found exist; each needs an `allow` rule such as `custom:*`.
    """

    records: bool = True
    """Whether records of `/api/v1/tools` with `exec` become tools."""
    custom: bool = True
    """Whether custom tools of `/v1/tools/custom` do: those of all agents, and the agent's own."""
    custom_network: bool = False
    """Whether custom tools may reach the network, where the runner grants that, too: then they have `net:read`."""
    custom_writes: bool = False
    """Whether custom tools may change the workspace: then they have `fs:write`."""
    timeout_s: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = 60.0
    """How long a tool of a record may take, in seconds, and the longest that a custom tool may say."""
    max_output_bytes: Annotated[int, Field(ge=1, le=50_000_000)] = 1_000_000
    """Kept of each of a program's two streams."""
    max_tools: Annotated[int, Field(ge=0, le=10_000)] = 1000
    """How many tools that are found may exist."""
