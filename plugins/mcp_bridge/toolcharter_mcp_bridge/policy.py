"""A profile's settings for the MCP servers whose tools its agent may use."""

from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from toolcharter import DiscovererPolicy, NetworkPolicy, ToolPolicy, is_secret_reference, secret_name

Transport = Literal["stdio", "streamable-http", "sse"]
ServerName = Annotated[str, Field(max_length=24, pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$")]
"""A server's name. It has no `__`, which separates it from a tool's name."""
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class BridgeReason(StrEnum):
    """Why the bridge asks a person about a call, refuses it or lets it fail."""

    TOOL_NOT_APPROVED = "tool_not_approved"
    TOOL_CHANGED = "tool_changed"
    TOOL_GONE = "tool_gone"
    SERVER_UNAVAILABLE = "server_unavailable"
    CONNECTION_LOST = "connection_lost"
    SERVER_ERROR = "server_error"
    INPUT_REQUIRED = "input_required"


class Secret(ToolPolicy):
    """A value that is in no file: it is read from the gate's environment, and masked wherever it appears."""

    env: VariableName
    """The environment variable that holds the value."""
    prefix: str = ""
    """The text before the value, such as `Bearer ` in a header."""


class ServerPolicy(ToolPolicy):
    """One MCP server."""

    transport: Transport | None = None
    """`stdio` for a server with a command, `streamable-http` (the default) or `sse` for a server with a URL."""
    command: str | None = Field(default=None, min_length=1)
    """The program of a `stdio` server: a bare name or an absolute path outside the workspace. It runs on the profile's
    runner."""
    args: tuple[str, ...] = ()
    """The program's arguments."""
    env: dict[VariableName, str | Secret] = Field(default_factory=dict)
    """The variables that the program gets in addition to a clean environment: texts, `{env: NAME}` for a value of the
    gate's environment, or `secret:NAME` for a secret of the store."""
    network: bool = False
    """Whether the program may use the network, if the runner's policy grants it, too."""
    url: str | None = Field(default=None, pattern=r"^https?://[^\s]+$")
    """The address of a remote server."""
    headers: dict[str, str | Secret] = Field(default_factory=dict)
    """Headers of each request: texts, `{env: NAME, prefix: "Bearer "}`, or `secret:NAME` for the whole value."""
    allowed_private: tuple[str, ...] = ()
    """Addresses that are not public but may be reached, such as `127.0.0.1`, as for tools that fetch."""
    enabled: bool = True
    """Whether the server is started, or reached, at all."""
    allow: tuple[str, ...] | None = None
    """The only tools of the server that exist, by their own or their full names; absent: all."""
    deny: tuple[str, ...] = ()
    """Tools of the server that do not exist, even if `allow` names them."""
    capabilities: tuple[str, ...] | None = None
    """What the server's tools touch, if you know it; absent: the worst is assumed."""
    safety: Literal["low", "medium", "high"] = "high"
    """How much harm a wrong call of a tool can do."""
    timeout_s: float = Field(default=60.0, gt=0, le=3600)
    """How long one call may take, in seconds."""
    connect_timeout_s: float = Field(default=30.0, gt=0, le=600)
    """How long the server may take to start and to list its tools, and how long a call waits for that, in seconds."""

    @model_validator(mode="after")
    def _fits(self) -> "ServerPolicy":
        for value in (*self.env.values(), *self.headers.values()):
            if isinstance(value, str) and is_secret_reference(value):
                secret_name(value)
        if (self.command is None) == (self.url is None):
            raise ValueError("write either command or url")
        if (self.transport or self.kind) != self.kind and not (self.transport == "sse" and self.url):
            raise ValueError(f"transport {self.transport!r} does not go with {'command' if self.command else 'url'}")
        if self.command is None and (self.args or self.env or self.network):
            raise ValueError("args, env and network are for servers with a command")
        if self.url is None and (self.headers or self.allowed_private):
            raise ValueError("headers and allowed_private are for servers with a url")
        if self.url is not None:
            _ = self.reach
        return self

    @property
    def kind(self) -> Transport:
        """The transport, with the default resolved."""
        if self.command is not None:
            return "stdio"
        return self.transport if self.transport in {"sse", "streamable-http"} else "streamable-http"

    @property
    def reach(self) -> NetworkPolicy:
        """A network policy that allows only the host and port of the URL."""
        parts = urlsplit(self.url or "")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return NetworkPolicy(
            allowed_domains=(parts.hostname or "",), ports=(port,), allowed_private=self.allowed_private
        )

    @property
    def identity(self) -> str:
        """The command or URL with its variables or headers, without any secret value."""
        given = [f"{name}={_storable_value(value)}" for name, value in sorted((self.env or self.headers).items())]
        where = (self.url,) if self.url is not None else (self.command or "", *self.args)
        return "\0".join((self.kind, *map(str, where), "", *given))


def _storable_value(value: str | Secret) -> str:
    """Return a value as it is kept and shown: a reference, or the hash of a text, which may be a secret as well."""
    if isinstance(value, str) and is_secret_reference(value):
        return value
    if isinstance(value, str):
        return f"sha256:{sha256(value.encode(errors='surrogatepass')).hexdigest()[:16]}"
    return f"{value.prefix}${value.env}"


class McpBridgePolicy(DiscovererPolicy):
    """Which MCP servers a profile has, and how far the bridge trusts them."""

    extend: bool = True
    """Whether the tools of the servers exist; the servers themselves are named here."""
    servers: dict[ServerName, ServerPolicy] = Field(default_factory=dict)
    """The servers, by the name that their tools bear: `mcp__NAME__TOOL`."""
    registered: bool = False
    """Whether the profile also has the servers that are registered in its store while it is in use. A caller may use
    the tools of such a server only if a grant in the store opens it to the caller's agent or user."""
    trust: Literal["ask", "first"] = "ask"
    """Whether a person has to agree to each tool before its first call (`ask`), or each tool is trusted as it is first
    seen (`first`). In both cases, a person is asked about a tool that has changed."""
    wait_s: float = Field(default=30.0, ge=0, le=600)
    """How long a toolbox that never changes, or a single command, waits for servers to list their tools, in seconds."""
    search_above: int = Field(default=40, ge=0)
    """With more tools than this, a session offers `mcp_search` instead of them, and the tools that it has found."""
    max_tools: int = Field(default=200, ge=0)
    """How many tools one server may have; further tools are left out."""
    max_schema_bytes: int = Field(default=32_768, ge=2)
    """How large the schema of one tool may be, in bytes of JSON."""
    max_description_chars: int = Field(default=2_000, ge=0)
    """A longer description is cut."""
    max_message_bytes: int = Field(default=4_000_000, ge=1024)
    """How large one message of a server may be, in bytes; a larger message ends the connection."""
    max_output_chars: int = Field(default=100_000, ge=1)
    """How much text of one result is kept, in characters."""
    mark_output: bool = True
    """Whether results are put between two lines that name the server and say that the text is no instruction."""
    health_s: float = Field(default=30.0, gt=0, le=3600)
    """How long a server may be silent before it is pinged, and how long its answer may take, in seconds."""
    backoff_s: float = Field(default=2.0, gt=0, le=600)
    """The wait before the first attempt to reconnect, in seconds; it doubles with each attempt."""
    max_backoff_s: float = Field(default=60.0, gt=0, le=3600)
    """The longest of these waits, in seconds."""
    attempts: int = Field(default=10, ge=1)
    """How many attempts use these waits; later attempts use `slow_retry_s`."""
    slow_retry_s: float = Field(default=300.0, gt=0, le=86_400)
    """The wait before each later attempt, in seconds."""

    def delay(self, attempt: int) -> float:
        """Return how long to wait before reconnection attempt *attempt*, counted from 1, in seconds."""
        if attempt > self.attempts:
            return self.slow_retry_s
        return min(self.backoff_s * 2.0 ** (attempt - 1), self.max_backoff_s)
