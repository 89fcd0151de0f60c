"""The requests and responses of the service's own routes. The OpenAPI document is generated from them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

ToolName = Annotated[str, Field(min_length=1, max_length=256)]
Word = Annotated[str, Field(pattern=r"^[!-~]{1,128}$")]


class Body(BaseModel):
    """The body of a request. Unknown fields are refused, and values are not converted."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class CallRequest(Body):
    """One call of a tool, to make, decide or explain."""

    tool: ToolName
    """The tool's name, or an alias."""
    args: dict[str, Any] = {}
    """The arguments, as the tool's schema describes them."""
    session: Word | None = None
    """The session of the call. Calls of the same token and session share session guards and locks."""


class CallAnswer(BaseModel):
    """The result of a call."""

    outcome: Literal["ok", "error", "denied"]
    text: str
    """For the model."""
    user_text: str | None
    """For the user; null if the same text is for both."""
    data: Any
    """The structured form of the output."""
    reason: str | None
    """A stable word; null if the outcome is ok."""
    message: str | None
    """For people; null if the outcome is ok."""
    hint: str | None
    """What the model could do instead."""
    retryable: bool
    exit_code: int | None
    truncated: bool
    redactions: int
    """How many secrets were masked."""
    call_id: str
    elapsed_ms: float


class Rule(BaseModel):
    """A rule of a profile."""

    text: str
    source: str
    """`file:line:column`."""


class DecisionAnswer(BaseModel):
    """The decision about a call."""

    outcome: Literal["allow", "ask", "deny", "error"]
    stage: str
    reason: str | None
    message: str | None
    hint: str | None
    rule: Rule | None
    tool_checks: Literal["passed", "denied", "asked", "error", "not_evaluated"]


class ExplanationAnswer(BaseModel):
    """The explanation of the decision about a call, stage by stage."""

    tool: str
    action: str | None
    args: dict[str, Any]
    commands: list[str]
    profile: str
    profile_digest: str
    decision: DecisionAnswer
    steps: list[dict[str, Any]]
    parse: list[dict[str, Any]]
    hidden: DecisionAnswer | None


class ToolAnswer(BaseModel):
    """A tool that the caller may be allowed to call."""

    name: str
    description: str
    parameters: dict[str, Any]
    """The JSON Schema of the arguments."""
    output_schema: dict[str, Any] | None
    capabilities: list[str] | None
    safety: Literal["low", "medium", "high"]
    kind: str


class ToolsAnswer(BaseModel):
    """The tools that the caller may be allowed to call, in the profile's order."""

    profile: str
    profile_digest: str
    tools: list[ToolAnswer]


class StoredCallAnswer(BaseModel):
    """A call that runs without a waiting client."""

    id: str
    """Also the id of the call in events."""
    tool: str
    state: Literal["queued", "running", "waiting", "done", "cancelled", "lost"]
    """`waiting`: for an approver. `lost`: its worker died, and the call may or may not have run."""
    created_at: str
    finished_at: str | None
    result: CallAnswer | None
    """Null until the call is done."""


class InvokeRequest(Body):
    """A call of a tool in the format of GoClaw's gateway."""

    tool: ToolName
    action: str | None = None
    """The argument `action`, for tools that have one."""
    args: dict[str, Any] = {}
    dryRun: bool = False  # noqa: N815 - the source's name
    """Whether to return the decision without running anything."""
    agentId: Word | None = None  # noqa: N815 - as above
    channel: Word | None = None
    chatId: Word | None = None  # noqa: N815 - as above
    peerKind: Literal["direct", "group"] | None = None  # noqa: N815 - as above


class Invoked(BaseModel):
    """The output of an invoked tool."""

    output: str
    """For the model."""
    forUser: str | None  # noqa: N815 - as above
    metadata: dict[str, Any]


class InvokeAnswer(BaseModel):
    """The result of an invocation in the format of GoClaw's gateway."""

    result: Invoked | None = None
    decision: DecisionAnswer | None = None
    """With `dryRun`: the decision about the call."""
    call_id: str | None = None
