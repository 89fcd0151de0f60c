"""The policy of the tool `nodes`, and the reasons for which it refuses a call."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from toolcharter import ToolPolicy

Action = Literal["create", "add", "connect", "list", "run", "delete"]


class NodesPolicy(ToolPolicy):
    """How far one profile lets `nodes` go."""

    allowed_actions: tuple[Action, ...] = ("list", "delete")
    """What may be done."""
    allowed_tools: tuple[Annotated[str, Field(min_length=1, max_length=128)], ...] = ()
    """The tools that a graph may call, by the names that it calls them by; `*` is every tool that the caller has."""
    max_graphs: Annotated[int, Field(ge=1, le=200)] = 20
    """How many graphs one user of one agent may have."""
    max_nodes: Annotated[int, Field(ge=1, le=100)] = 20
    """How many nodes a graph may have, each one call."""
    max_edges: Annotated[int, Field(ge=1, le=1_000)] = 60
    """How many times nodes of a graph may need others."""
    max_argument_bytes: Annotated[int, Field(ge=64, le=1_048_576)] = 32_768
    """How large the arguments of one call may be as JSON, as written and with the outputs in them."""
    max_output_bytes: Annotated[int, Field(ge=64, le=4_194_304)] = 262_144
    """How large the text, and the data as JSON, of one call may be for others to refer to."""
    max_run_s: Annotated[float, Field(gt=0, le=3_600)] = 120.0
    """How long a run may take, in seconds; the call's own limit counts besides."""
    max_text_chars: Annotated[int, Field(ge=0, le=20_000)] = 2_000
    """How much of the text of each call a run shows, in characters."""


class NodesReason(StrEnum):
    """Why `nodes` refuses a call, or calls it failed."""

    ACTION_NOT_ALLOWED = "action_not_allowed"
    TOOL_NOT_ALLOWED = "tool_not_allowed"
    TOO_MANY_GRAPHS = "too_many_graphs"
    NESTED_RUN = "nested_run"
    NODE_DENIED = "node_denied"
    MISSING_ARGUMENT = "missing_argument"
    ALREADY_EXISTS = "already_exists"
    UNKNOWN_GRAPH = "unknown_graph"
    UNKNOWN_NODE = "unknown_node"
    INVALID_REFERENCE = "invalid_reference"
    CYCLE = "cycle"
    MISSING_OUTPUT = "missing_output"
    TOO_LARGE = "too_large"
    NODE_INVALID = "node_invalid"
    NODE_FAILED = "node_failed"
