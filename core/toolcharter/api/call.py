"""What travels with a call: who asks, what is asked, what was decided, what came of it."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

Outcome = Literal["ok", "error", "denied"]
Verdict = Literal["allow", "ask", "deny", "error"]
Stage = Literal[
    "name",
    "arguments",
    "floor",
    "deny",
    "availability",
    "capability",
    "ask",
    "mode",
    "guard",
    "check",
    "approval",
    "limit",
    "audit",
    "tool",
]
ToolChecks = Literal["passed", "denied", "asked", "error", "not_evaluated"]


class Delegation(NamedTuple):
    """What an agent that another one has started got from it."""

    top: "Caller"
    """The first agent of the chain. Calls count among its calls where limits are concerned."""
    tools: tuple[str, ...]
    """The only tools that the agent was left, by name, sorted."""
    may_ask: bool = True
    """Whether people may be asked about its calls; if not, what a person would have to permit is denied, as at night."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls; a toolbox hands out a cheap view for each."""

    agent: str | None = None
    provider: str | None = None
    group: str | None = None
    session: str | None = None
    user: str | None = None
    project: str | None = None
    depth: int = 0
    """How many agents are above this one; 0 for the first."""
    tenant: str = ""
    """Whose calls are kept apart from all others' where several share a service; empty where there is one tenant only."""
    channel: str | None = None
    """Where people talk to the agent, such as `telegram`."""
    chat: str | None = None
    """Which conversation of the channel."""
    peer: Literal["direct", "group"] | None = None
    """Whether that conversation is one person's or a group's."""
    agent_type: Literal["open", "predefined"] | None = None
    """Whether each user makes the agent their own, or all have the same one."""
    delegation: Delegation | None = None
    """What it got of the agent that started it; None for one that a host has started."""

    def apart(self, name: str) -> str:
        """*name*, such as that of a session, as a key that no name of another tenant gives.

        Without a tenant it is the name itself, unless that begins as such a key does.
        """
        if not self.tenant and not name.startswith("["):
            return name
        return f"[{len(self.tenant)}:{self.tenant}]{name}"


class TraceContext(NamedTuple):
    """Where in which trace something happens.

    Source: W3C Trace Context, https://www.w3.org/TR/trace-context/.
    """

    traceparent: str
    """Version, trace, span and flags in hexadecimal digits: 55 characters."""
    tracestate: str = ""
    """What vendors add; up to 512 printable characters of ASCII."""

    def headers(self) -> dict[str, str]:
        """The headers of a request that belongs to it."""
        headers = {"traceparent": self.traceparent}
        return {**headers, "tracestate": self.tracestate} if self.tracestate else headers


TRACE: ContextVar[TraceContext | None] = ContextVar("toolcharter_trace", default=None)
"""The trace of what runs in this thread or task; None if it is unknown.

The gate makes no spans. A host that knows the trace of a request sets it around its call; a sink that makes spans sets it
for the time of a call's body. What leaves from there names the trace.
"""


def trace_headers(given: Mapping[str, str] | None) -> Mapping[str, str]:
    """What a request with the headers *given* has to have besides, so that it belongs to the present trace."""
    trace = TRACE.get()
    return {} if trace is None or any(name.lower() == "traceparent" for name in given or ()) else trace.headers()


def trace_variables() -> Mapping[str, str]:
    """The environment variables that hand the present trace to a program: hexadecimal digits alone.

    Source: OpenTelemetry's "Environment Variables as Context Propagation Carriers". TRACESTATE, free text, is left out.
    """
    trace = TRACE.get()
    return {} if trace is None else {"TRACEPARENT": trace.traceparent}


class Invocation(NamedTuple):
    """All of a call that rules may look at besides its arguments."""

    action: str | None = None
    commands: tuple[str | tuple[str, ...], ...] = ()
    """Shell source (text) or argument vectors (tuples) that the call would run."""


class Call(NamedTuple):
    """One call as checks see it: names are canonical, arguments validated and complete."""

    tool: str
    action: str | None
    args: Mapping[str, Any]
    caller: Caller
    call_id: str
    parent_id: str | None
    profile: str
    workspace: Path
    kind: str
    capabilities: frozenset[str] | None
    """What this action may touch; None if the tool does not declare it."""
    safety: str
    dry_run: bool = False
    """True while a decision is only asked for: do not count, remember or notify."""
    commands: tuple[str, ...] = ()
    """What it would run, each command in normal form; empty for tools that run no programs."""


@dataclass(frozen=True, slots=True)
class Deny:
    """A check's answer: this call must not run."""

    reason: str
    message: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """A check's answer: a human has to agree first."""

    reason: str
    message: str | None = None


@dataclass(frozen=True, slots=True)
class RuleRef:
    """The rule that decided: its text and its place (`file:line:column`)."""

    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What a call would meet, without running it."""

    outcome: Verdict
    stage: Stage
    reason: str | None = None
    message: str | None = None
    hint: str | None = None
    rule: RuleRef | None = None
    tool_checks: ToolChecks = "not_evaluated"


# Not frozen: a frozen data class of this size costs 1.1 us more on every call.
@dataclass(slots=True)
class ToolResult:
    """What came of one call. `str(result)` is the text for the model."""

    outcome: Outcome
    text: str
    """For the model; scrubbed, then cut to the limit."""
    user_text: str | None = None
    """For the person watching, where it differs; scrubbed."""
    data: Any = None
    """Structured form of the output, JSON types only; scrubbed."""
    reason: str | None = None
    """A stable word; None when ok."""
    message: str | None = None
    """For people; None when ok."""
    hint: str | None = None
    """What the model could do instead."""
    retryable: bool = False
    exit_code: int | None = None
    truncated: bool = False
    redactions: int = 0
    call_id: str = ""
    elapsed_ms: float = 0.0

    def __str__(self) -> str:
        return self.text
