"""FastMCP, imported when a test uses it: each worker collects the tests of its client, and one runs them.

pytest asks each name of a test's module for marks, which would import what stands for it there.
"""

from typing import TYPE_CHECKING

from toolcharter import lazy

if TYPE_CHECKING:
    import fastmcp
    from fastmcp import exceptions as errors
    from fastmcp.client import elicitation, transports
else:
    fastmcp, errors = lazy("fastmcp"), lazy("fastmcp.exceptions")
    elicitation, transports = lazy("fastmcp.client.elicitation"), lazy("fastmcp.client.transports")

__all__ = ["elicitation", "errors", "fastmcp", "transports"]
