"""Agents that tools start: the arguments and results of `rt.agents` and of the hook `run_agent`."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from toolcharter.api.call import Caller, Decision, ToolResult


class AgentRequest(NamedTuple):
    """An agent to start. It gets no tool that its parent does not see."""

    message: str
    """The task, as its first message."""
    agent: str = ""
    """Its name; empty: its parent's name."""
    prompt: str = ""
    """Its instructions."""
    model: str = ""
    """Its model; empty: the host's default."""
    session: str = ""
    """The key of its session; empty: its parent's session."""
    tools: tuple[str, ...] | None = None
    """The only tools that it gets, named as in a profile's `availability`; None: all tools that its parent sees."""
    deny: tuple[str, ...] = ()
    """Tools that it does not get, named as in `tools`: `toolset:subagent-deny`. `cap:fs:write` names every tool that
    may have that capability."""
    max_iterations: int = 20
    """How often the host may ask its model."""
    timeout_s: float = 600.0
    """Its time limit, in seconds."""


class GovernedTools(Protocol):
    """The tools of an agent, each call of which goes through the gate; for example a `toolcharter.Toolbox`."""

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the tools that the agent sees."""
        ...

    def call(
        self, name: str, args: Mapping[str, Any], /, *, call_id: str | None = None, parent_id: str | None = None
    ) -> ToolResult:
        """Call a tool through the gate."""
        ...

    async def acall(
        self, name: str, args: Mapping[str, Any], /, *, call_id: str | None = None, parent_id: str | None = None
    ) -> ToolResult:
        """Call a tool through the gate from asynchronous code."""
        ...


@dataclass(frozen=True)
class AgentTask:
    """The argument of the hook `run_agent`."""

    agent: str
    prompt: str
    message: str
    model: str
    """Empty: the host's default."""
    toolbox: Any
    """The agent's tools, a `toolcharter.Toolbox` (`GovernedTools`). The host must call them through it only."""
    max_iterations: int
    """How often the host may ask the model. At this limit it stops, and returns a result with `is_exhausted`."""
    deadline: float
    """When the agent must have ended, on `time.monotonic`'s clock, in seconds."""
    is_cancelled: Callable[[], bool]
    """Whether the agent must stop. The host checks it before each request to the model. An asynchronous run is also
    cancelled as a task."""
    parent_id: str | None = None
    """The call that started the agent; the host passes it as `parent_id` of the agent's own calls."""


class AgentResult(NamedTuple):
    """The result of an agent."""

    text: str
    """Its last answer."""
    input_tokens: int = 0
    output_tokens: int = 0
    iterations: int = 0
    """How often the host asked its model."""
    is_exhausted: bool = False
    """Whether it was stopped because it had used up its iterations."""


class RunningAgent(Protocol):
    """An agent that was started. Thread-safe."""

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        ...

    def cancel(self) -> None:
        """Stop it; its calls under way are cancelled."""
        ...

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end; returns whether it has ended."""
        ...

    def result(self) -> AgentResult:
        """Return its result, once it is done.

        Raises:
            ToolError: `cancelled`, `timed_out`, or what the host raised, as `tool_error`.
        """
        ...


class Agents(Protocol):
    """`rt.agents`: starts agents."""

    def start(
        self, request: AgentRequest, /, *, on_end: Callable[[RunningAgent], object] | None = None
    ) -> RunningAgent:
        """Start an agent, and return at once. The agent ends when the toolbox closes, at the latest.

        Its calls have its parent's caller, with a `depth` that is one higher. They count against the same limits, and
        the same people are asked for approval.

        Args:
            request: The agent to start.
            on_end: Called in a thread of its own when the agent has ended.

        Raises:
            Denied: `not_available`, if no extension of the profile runs agents.
        """
        ...


class ToolboxView(GovernedTools, Protocol):
    """A toolbox as one caller may use it. The gate uses it for tools that call other tools or start agents."""

    async def adecide(self, name: str, args: Mapping[str, Any], /) -> Decision:
        """Return what the gate would decide about a call."""
        ...

    def touching(self, words: Iterable[str], /) -> frozenset[str]:
        """Return the tools that may have a capability that one of *words*, globs over capabilities, matches."""
        ...

    def admit(self, agent: RunningAgent, /) -> None:
        """Register an agent that was started from this toolbox, to cancel it when the toolbox closes."""
        ...

    def dismiss(self, agent: RunningAgent, /) -> None:
        """Unregister an agent that has ended."""
        ...

    def for_agent(self, caller: Caller, /) -> "ToolboxView":
        """Return the same tools for an agent, whose calls can be ended without ending those of other callers."""
        ...

    def close_shared(self, wait_s: float, /) -> list[Exception]:
        """Refuse new calls, and interrupt the calls still under way after *wait_s* seconds."""
        ...
