"""MCP servers that are registered while a profile is in use, and who may use them: what a bridge reads and a service writes.

Records of the distribution `toolcharter-mcp-bridge`, which keeps to them at each call; a service that administers them opens
that distribution's store.

Source: the tables `mcp_servers`, `mcp_agent_grants` and `mcp_user_grants` of GoClaw.
"""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field, StringConstraints

from toolcharter.api.store import RecordKind, StoreRecord

MCP_RECORDS = "toolcharter-mcp-bridge"
"""The distribution whose records these are."""
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
    """Without `__`, which separates it from the name of a tool: `mcp__NAME__TOOL`."""
    transport: Literal["stdio", "sse", "streamable-http"]
    command: str | None = Field(default=None, min_length=1, max_length=1_024)
    """The program of a `stdio` server."""
    args: Annotated[tuple[_Value, ...], Field(max_length=64)] = ()
    env: Annotated[dict[_Variable, _Value], Field(max_length=64)] = Field(default_factory=dict)
    """Secret. A value `secret:NAME` stands for the secret of that name."""
    url: str | None = Field(default=None, max_length=2_048, pattern=r"^https?://[^\s]+$")
    headers: Annotated[dict[_Header, _Value], Field(max_length=64)] = Field(default_factory=dict)
    """Secret, as `env`."""
    timeout_s: float = Field(default=60.0, gt=0, le=3_600)
    """How long one call may take, in seconds."""
    enabled: bool = True
    created_by: str = ""
    created_at: str = ""


class McpToolsRecord(StoreRecord):
    """Which tools a registered server had when a bridge last looked: what grants can name."""

    store_kind: ClassVar = RecordKind("mcp_tools", ("server",))

    server: _ServerName
    names: tuple[str, ...]
    """The server's own names, sorted."""
    full_names: tuple[str, ...]
    """`mcp__SERVER__TOOL` of each, in the same order."""


class McpGrant(StoreRecord):
    """Which tools of a server somebody may use."""

    server: _ServerName
    tool_allow: _ToolNames | None = None
    """The only tools that are granted, by their own or their full names; absent: all; empty: none."""
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
    """What is different of the server for this agent: a shorter time for a call, in seconds."""


class McpUserGrant(McpGrant):
    """A grant to a user."""

    store_kind: ClassVar = RecordKind("mcp_user_grant", ("server", "user"), indexed=("server", "user"))

    user: _Subject


class McpAccess(NamedTuple):
    """What opens one server to one caller."""

    server: McpServerRecord | None
    agent: McpAgentGrant | None
    user: McpUserGrant | None

    def objection(self, *names: str) -> McpAccessReason | None:
        """Why the caller may not use a tool; None if it may.

        An enabled grant of the agent or of the user opens the server. Where both are, both filter, and so the narrower wins;
        in each `tool_deny` wins over `tool_allow`. Names are compared exactly: there are no globs.

        Args:
            *names: What the tool is called: its own name and its full one. None: whether the server is open at all.
        """
        opening = [grant for grant in (self.agent, self.user) if grant is not None and grant.enabled]
        if self.server is None or not self.server.enabled or not opening:
            return McpAccessReason.SERVER_NOT_ACCESSIBLE
        if any(set(names) & set(grant.tool_deny) for grant in opening):
            return McpAccessReason.TOOL_IN_DENY_LIST
        if names and not all(grant.tool_allow is None or set(names) & set(grant.tool_allow) for grant in opening):
            return McpAccessReason.TOOL_NOT_IN_ALLOW_LIST
        return None
