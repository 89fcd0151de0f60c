"""`AccessRequest`: a request to use an MCP server. The records of servers and grants belong to the bridge."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from toolcharter import RecordKind, StoreRecord

Scope = Literal["agent", "user"]
Subject = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]
ToolNames = Annotated[
    tuple[Annotated[str, StringConstraints(min_length=1, max_length=192)], ...], Field(max_length=1_000)
]
ServerName = Annotated[str, StringConstraints(max_length=24, pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$")]


class AccessRequest(StoreRecord):
    """A request to use an MCP server. It is in the grants' scope: one transaction approves it and creates the grant.

    Source: the table `mcp_access_requests` of GoClaw.
    """

    store_kind: ClassVar = RecordKind(
        "mcp_access_request", ("id",), indexed=("server", "status", "subject", "requested_by", "requested_at")
    )

    id: str
    server: str
    scope: Scope
    subject: str
    """The agent or user that should get access."""
    tool_allow: tuple[str, ...] | None = None
    reason: str = ""
    status: Literal["pending", "approved", "rejected"] = "pending"
    requested_by: str
    user: str = ""
    """The person of the requesting token or session, if it is known."""
    requested_at: str
    reviewed_by: str | None = None
    reviewed_at: str | None = None
    note: str = ""
