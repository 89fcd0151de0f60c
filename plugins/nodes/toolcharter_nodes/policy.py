"""The policy of the tool `nodes`, and the reasons for which it refuses a call."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from toolcharter import ToolPolicy

Action = Literal["create", "add", "connect", "list", "run", "delete"]


class NodesPolicy(ToolPolicy):
    """What one profile allows `nodes` to do."""

    allowed_actions: tuple[Action, ...] = ("list", "delete")
    """The allowed actions."""
    allowed_tools: tuple[Annotated[str, Field(min_length=1, max_length=128)], ...] = ()
    """The tools that a graph may call, by the names that it uses; `*` means every tool that the caller has."""
    max_graphs: Annotated[int, Field(ge=1, le=200)] = 20
    """How many graphs one user of one agent may have."""
    max_nodes: Annotated[int, Field(ge=1, le=100)] = 20
    """How many nodes a graph may have, each one call."""
    max_edges: Annotated[int, Field(ge=1, le=1_000)] = 60
    """How many dependencies all nodes of a graph may have together."""
    max_argument_bytes: Annotated[int, Field(ge=64, le=1_048_576)] = 32_768
    """How many bytes the arguments of one call may have as JSON, before and after outputs are inserted."""
    max_output_bytes: Annotated[int, Field(ge=64, le=4_194_304)] = 262_144
    """How many bytes the text, and the data as JSON, of a call may have for other calls to refer to them."""
    max_run_s: Annotated[float, Field(gt=0, le=3_600)] = 120.0
    """How long a run may take, in seconds. The time limit of its own call applies, too."""
    max_text_chars: Annotated[int, Field(ge=0, le=20_000)] = 2_000
    """How much of the text of each call a run shows, in characters."""


class NodesReason(StrEnum):
    """Why `nodes` refuses a call, or why a call fails."""

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
