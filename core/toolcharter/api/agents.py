"""Agents that tools start: what `rt.agents` takes and gives, and what the hook `run_agent` takes and gives."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from toolcharter.api.call import Caller, Decision, ToolResult


class AgentRequest(NamedTuple):
    """An agent that is to be started. It gets no tool that its parent does not see."""

    message: str
    """What it is asked to do."""
    agent: str = ""
    """Its name; empty: that of its parent."""
    prompt: str = ""
    """Its instructions."""
    model: str = ""
    """Which model it is run with; empty: the one that the host has by default."""
    session: str = ""
    """The key of its session; empty: that of its parent."""
    tools: tuple[str, ...] | None = None
    """The only tools that it gets, as `availability` of a profile names tools; None: all that its parent sees."""
    deny: tuple[str, ...] = ()
    """Tools that it does not get, named likewise: `toolset:subagent-deny`; `cap:fs:write` is every tool that may touch that."""
    max_iterations: int = 20
    """How often its model may be asked."""
    timeout_s: float = 600.0
    """How long it may take, in seconds."""


class GovernedTools(Protocol):
    """The tools of an agent: each call of them goes through the gate. A `toolcharter.Toolbox` is one."""

    def __iter__(self) -> Iterator[str]:
        """The names of the tools that the agent sees."""
        ...

    def call(
        self, name: str, args: Mapping[str, Any], /, *, call_id: str | None = None, parent_id: str | None = None
    ) -> ToolResult:
        """A governed call."""
        ...

    async def acall(
        self, name: str, args: Mapping[str, Any], /, *, call_id: str | None = None, parent_id: str | None = None
    ) -> ToolResult:
        """A governed call from asynchronous code."""
        ...


@dataclass(frozen=True)
class AgentTask:
    """What the hook `run_agent` gets."""

    agent: str
    prompt: str
    message: str
    model: str
    """Empty: whichever the host has by default."""
    toolbox: Any
    """The agent's tools, a `toolcharter.Toolbox` (`GovernedTools`). It is the host's only way to them."""
    max_iterations: int
    """How often the model may be asked; then the answer is `is_exhausted`."""
    deadline: float
    """When it has to have ended, on `time.monotonic`'s clock, in seconds."""
    is_cancelled: Callable[[], bool]
    """Whether it has to stop; to be asked before each question to the model. An asynchronous run is cancelled besides."""
    parent_id: str | None = None
    """The call that has started it, for `parent_id` of its own calls."""


class AgentResult(NamedTuple):
    """What came of an agent."""

    text: str
    """Its last answer."""
    input_tokens: int = 0
    output_tokens: int = 0
    iterations: int = 0
    """How often its model was asked."""
    is_exhausted: bool = False
    """It was stopped because it had used up its iterations."""


class RunningAgent(Protocol):
    """An agent that was started. Safe from many threads."""

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        ...

    def cancel(self) -> None:
        """Have it stop; its calls under way end as calls that are cancelled do."""
        ...

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end; returns whether it has come."""
        ...

    def result(self) -> AgentResult:
        """What came of it, once it is done.

        Raises:
            ToolError: `cancelled`, `timed_out`, or what the host raised, as `tool_error`.
        """
        ...


class Agents(Protocol):
    """`rt.agents`: starts agents."""

    def start(
        self, request: AgentRequest, /, *, on_end: Callable[[RunningAgent], object] | None = None
    ) -> RunningAgent:
        """Start an agent, and return at once. It ends with the toolbox at the latest.

        Its calls are those of its parent's caller at one more `depth`, count among the same limits and are answered by
        the same people.

        Args:
            request: Which.
            on_end: Called in a thread of its own when the agent has ended.

        Raises:
            Denied: `not_available`, if no extension of the profile runs agents.
        """
        ...


class ToolboxView(GovernedTools, Protocol):
    """The tools of a toolbox as one caller may use them, for the gate itself: for tools that call others and start agents."""

    async def adecide(self, name: str, args: Mapping[str, Any], /) -> Decision:
        """What a call would meet."""
        ...

    def touching(self, words: Iterable[str], /) -> frozenset[str]:
        """The tools that may touch what one of *words* covers, globs over capabilities."""
        ...

    def admit(self, agent: RunningAgent, /) -> None:
        """Note an agent that was started on it, and cancel it when it closes."""
        ...

    def dismiss(self, agent: RunningAgent, /) -> None:
        """Forget an agent that has ended."""
        ...

    def for_agent(self, caller: Caller, /) -> "ToolboxView":
        """The same tools for an agent, whose calls can be ended without those of others."""
        ...

    def close_shared(self, wait_s: float, /) -> list[Exception]:
        """Let no call begin any more, and end those under way after *wait_s* seconds."""
        ...
