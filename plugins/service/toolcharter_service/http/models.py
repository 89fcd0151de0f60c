"""What requests and answers of the service's own routes look like; the OpenAPI document is made of them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

ToolName = Annotated[str, Field(min_length=1, max_length=256)]
Word = Annotated[str, Field(pattern=r"^[!-~]{1,128}$")]


class Body(BaseModel):
    """A body of a request: unknown fields are refused, and nothing is converted."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class CallRequest(Body):
    """One call of a tool, or the question what such a call would meet."""

    tool: ToolName
    """Its name, or an alias."""
    args: dict[str, Any] = {}
    """As the tool's schema wants them."""
    session: Word | None = None
    """Whose memory and whose locks the call has: calls of one session of the same token share them."""


class CallAnswer(BaseModel):
    """What came of a call."""

    outcome: Literal["ok", "error", "denied"]
    text: str
    """For the model."""
    user_text: str | None
    """For the person watching, where it differs."""
    data: Any
    """The structured form of the output."""
    reason: str | None
    """A stable word; null when ok."""
    message: str | None
    """For people; null when ok."""
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
    """What a call would meet."""

    outcome: Literal["allow", "ask", "deny", "error"]
    stage: str
    reason: str | None
    message: str | None
    hint: str | None
    rule: Rule | None
    tool_checks: Literal["passed", "denied", "asked", "error", "not_evaluated"]


class ExplanationAnswer(BaseModel):
    """Why a call would be decided as it is, stage by stage."""

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
    """A tool that the caller may call."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema of the arguments."""
    output_schema: dict[str, Any] | None
    capabilities: list[str] | None
    safety: Literal["low", "medium", "high"]
    kind: str


class ToolsAnswer(BaseModel):
    """The tools that the caller may call, in the profile's order."""

    profile: str
    profile_digest: str
    tools: list[ToolAnswer]


class StoredCallAnswer(BaseModel):
    """A call that runs by itself."""

    id: str
    """That of the call, too."""
    tool: str
    state: Literal["queued", "running", "waiting", "done", "cancelled", "lost"]
    """`waiting` is for a person; of a call that is `lost` nobody knows whether it has run."""
    created_at: str
    finished_at: str | None
    result: CallAnswer | None
    """Null until it is done."""


class InvokeRequest(Body):
    """A call of a tool, as GoClaw's gateway takes it."""

    tool: ToolName
    action: str | None = None
    """The argument `action`, for tools that have one."""
    args: dict[str, Any] = {}
    dryRun: bool = False  # noqa: N815 - the source's name
    """Decide, and run nothing."""
    agentId: Word | None = None  # noqa: N815 - as above
    channel: Word | None = None
    chatId: Word | None = None  # noqa: N815 - as above
    peerKind: Literal["direct", "group"] | None = None  # noqa: N815 - as above


class Invoked(BaseModel):
    """What an invoked tool gave."""

    output: str
    """For the model."""
    forUser: str | None  # noqa: N815 - as above
    metadata: dict[str, Any]


class InvokeAnswer(BaseModel):
    """What came of it, as GoClaw's gateway says it."""

    result: Invoked | None = None
    decision: DecisionAnswer | None = None
    """With `dryRun`: what the call would meet."""
    call_id: str | None = None
