"""The values of a call: its caller, the call itself, the decision about it, and its result."""

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
    """What an agent was granted by the agent that started it."""

    top: "Caller"
    """The first agent of the chain. For limits, the agent's calls count as calls of this caller."""
    tools: tuple[str, ...]
    """The only tools that the agent may use, by name, sorted."""
    may_ask: bool = True
    """Whether a person may be asked about the agent's calls. If not, calls that need a person's approval are denied."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a call. A toolbox creates a cheap view of itself for each caller."""

    agent: str | None = None
    provider: str | None = None
    group: str | None = None
    session: str | None = None
    user: str | None = None
    project: str | None = None
    depth: int = 0
    """How many agents are above this one; 0 for the first."""
    tenant: str = ""
    """The tenant, whose data and limits are separate from other tenants' in a shared service; empty if there is only
    one tenant."""
    channel: str | None = None
    """The channel on which people talk to the agent, such as `telegram`."""
    chat: str | None = None
    """The conversation of the channel."""
    peer: Literal["direct", "group"] | None = None
    """Whether that conversation is with one person or with a group."""
    agent_type: Literal["open", "predefined"] | None = None
    """`open` if each user adapts the agent, `predefined` if it is the same for all users."""
    delegation: Delegation | None = None
    """What the agent that started this one granted to it; None if a host started it."""

    def apart(self, name: str) -> str:
        """Turn *name*, such as a session's, into a key that no name of another tenant gives.

        Without a tenant the key is *name* itself, unless it begins with `[`, as the keys of tenants do.
        """
        if not self.tenant and not name.startswith("["):
            return name
        return f"[{len(self.tenant)}:{self.tenant}]{name}"


class TraceContext(NamedTuple):
    """A position in a distributed trace.

    Source: W3C Trace Context, https://www.w3.org/TR/trace-context/.
    """

    traceparent: str
    """Version, trace, span and flags in hexadecimal digits: 55 characters."""
    tracestate: str = ""
    """Data of vendors; up to 512 printable ASCII characters."""

    def headers(self) -> dict[str, str]:
        """Return the headers that make a request part of the trace."""
        headers = {"traceparent": self.traceparent}
        return {**headers, "tracestate": self.tracestate} if self.tracestate else headers


TRACE: ContextVar[TraceContext | None] = ContextVar("toolcharter_trace", default=None)
"""The trace that the current thread or task works for; None if it is unknown.

The gate creates no spans. A host that knows the trace of a request sets it around its call; a sink that creates spans
sets it while a call's body runs. Requests and programs that start there carry the trace.
"""


def trace_headers(given: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return the headers to add to *given*, so that the request belongs to the current trace.

    They are none if there is no trace, or if *given* has a `traceparent` already.
    """
    trace = TRACE.get()
    return {} if trace is None or any(name.lower() == "traceparent" for name in given or ()) else trace.headers()


def trace_variables() -> Mapping[str, str]:
    """Return the environment variables that pass the current trace to a program.

    Only TRACEPARENT, which is hexadecimal digits and hyphens. TRACESTATE is left out because it is free text.

    Source: OpenTelemetry's "Environment Variables as Context Propagation Carriers".
    """
    trace = TRACE.get()
    return {} if trace is None else {"TRACEPARENT": trace.traceparent}


class Invocation(NamedTuple):
    """The parts of a call that rules may examine, in addition to its arguments."""

    action: str | None = None
    commands: tuple[str | tuple[str, ...], ...] = ()
    """Shell source (text) or argument vectors (tuples) that the call would run."""


class Call(NamedTuple):
    """A call as checks see it: its names are canonical, its arguments validated and complete."""

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
    """The capabilities of this action; None if the tool does not declare them."""
    safety: str
    dry_run: bool = False
    """True if only the decision is wanted: do not count, remember or notify."""
    commands: tuple[str, ...] = ()
    """The commands that it would run, in normal form; empty for tools that run no programs."""


@dataclass(frozen=True, slots=True)
class Deny:
    """A check's answer: this call must not run."""

    reason: str
    message: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """A check's answer: a person has to approve the call first."""

    reason: str
    message: str | None = None


@dataclass(frozen=True, slots=True)
class RuleRef:
    """The rule that decided: its text and its place (`file:line:column`)."""

    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What the gate decides about a call, without running it."""

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
    """The result of one call. `str(result)` is the text for the model."""

    outcome: Outcome
    text: str
    """For the model; scrubbed of secrets, then truncated to the limit."""
    user_text: str | None = None
    """For the user, if it differs from `text`; scrubbed of secrets."""
    data: Any = None
    """The output in structured form, JSON types only; scrubbed of secrets."""
    reason: str | None = None
    """A stable word for logs and tests; None when ok."""
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
