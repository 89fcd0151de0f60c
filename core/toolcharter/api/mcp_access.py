"""Records of MCP servers that are registered at run time, and of the agents and users who may use them.

They belong to the distribution `toolcharter-mcp-bridge`, which enforces them at each call. A service that administers
them opens that distribution's store.

Source: the tables `mcp_servers`, `mcp_agent_grants` and `mcp_user_grants` of GoClaw.
"""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field, StringConstraints

from toolcharter.api.store import RecordKind, StoreRecord

MCP_RECORDS = "toolcharter-mcp-bridge"
"""The distribution that owns these records."""
_ServerName = Annotated[str, StringConstraints(max_length=24, pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$")]
_Subject = Annotated[str, StringConstraints(min_length=1, max_length=128)]
_ToolNames = Annotated[
    tuple[Annotated[str, StringConstraints(min_length=1, max_length=192)], ...], Field(max_length=1_000)
]
_Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]
_Header = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")]
_Value = Annotated[str, StringConstraints(max_length=8_192)]


class McpAccessReason(StrEnum):
    """Why a tool of a registered MCP server is closed to a caller."""

    SERVER_NOT_ACCESSIBLE = "server_not_accessible"
    TOOL_NOT_IN_ALLOW_LIST = "tool_not_in_allow_list"
    TOOL_IN_DENY_LIST = "tool_in_deny_list"


class McpServerRecord(StoreRecord):
    """A server that an administrator has registered."""

    store_kind: ClassVar = RecordKind("mcp_server", ("name",), indexed=("enabled",), secret=("env", "headers"))

    name: _ServerName
    """Must not contain `__`, which separates it from the name of a tool: `mcp__NAME__TOOL`."""
    transport: Literal["stdio", "sse", "streamable-http"]
    command: str | None = Field(default=None, min_length=1, max_length=1_024)
    """The program of a `stdio` server."""
    args: Annotated[tuple[_Value, ...], Field(max_length=64)] = ()
    env: Annotated[dict[_Variable, _Value], Field(max_length=64)] = Field(default_factory=dict)
    """Secret. A value `secret:NAME` is replaced by the secret of that name."""
    url: str | None = Field(default=None, max_length=2_048, pattern=r"^https?://[^\s]+$")
    headers: Annotated[dict[_Header, _Value], Field(max_length=64)] = Field(default_factory=dict)
    """Secret, with `secret:NAME` as in `env`."""
    timeout_s: float = Field(default=60.0, gt=0, le=3_600)
    """How long one call may take, in seconds."""
    enabled: bool = True
    created_by: str = ""
    created_at: str = ""


class McpToolsRecord(StoreRecord):
    """The tools that a registered server had when a bridge last asked it; grants can name them."""

    store_kind: ClassVar = RecordKind("mcp_tools", ("server",))

    server: _ServerName
    names: tuple[str, ...]
    """The server's own names, sorted."""
    full_names: tuple[str, ...]
    """The full names `mcp__SERVER__TOOL`, in the same order."""


class McpGrant(StoreRecord):
    """A grant to use tools of a server."""

    server: _ServerName
    tool_allow: _ToolNames | None = None
    """The only tools that are granted, by their own or their full names; None: all tools; empty: no tool."""
    tool_deny: _ToolNames = ()
    """Tools that are not granted; wins over `tool_allow`."""
    enabled: bool = True
    granted_by: str = ""
    granted_at: str = ""


class McpAgentGrant(McpGrant):
    """A grant to an agent."""

    store_kind: ClassVar = RecordKind("mcp_agent_grant", ("server", "agent"), indexed=("server", "agent"))

    agent: _Subject
    config_overrides: dict[Literal["timeout_s"], Annotated[float, Field(gt=0, le=3_600)]] = Field(default_factory=dict)
    """Settings of the server that differ for this agent: a shorter time limit for a call, in seconds."""


class McpUserGrant(McpGrant):
    """A grant to a user."""

    store_kind: ClassVar = RecordKind("mcp_user_grant", ("server", "user"), indexed=("server", "user"))

    user: _Subject


class McpAccess(NamedTuple):
    """The records that decide whether one caller may use one server."""

    server: McpServerRecord | None
    agent: McpAgentGrant | None
    user: McpUserGrant | None

    def objection(self, *names: str) -> McpAccessReason | None:
        """Return why the caller may not use a tool; None if it may.

        An enabled grant to the agent or to the user opens the server. If both exist, a tool must pass both. In each
        grant, `tool_deny` wins over `tool_allow`. Names are compared exactly; there are no globs.

        Args:
            *names: The tool's own name and its full name. Without names, the question is whether the server is open at
                all.
        """
        opening = [grant for grant in (self.agent, self.user) if grant is not None and grant.enabled]
        if self.server is None or not self.server.enabled or not opening:
            return McpAccessReason.SERVER_NOT_ACCESSIBLE
        if any(set(names) & set(grant.tool_deny) for grant in opening):
            return McpAccessReason.TOOL_IN_DENY_LIST
        if names and not all(grant.tool_allow is None or set(names) & set(grant.tool_allow) for grant in opening):
            return McpAccessReason.TOOL_NOT_IN_ALLOW_LIST
        return None
