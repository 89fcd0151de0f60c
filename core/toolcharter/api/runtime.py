"""The protocols that a tool works with: its runtime, its context, and the guards behind them.

The gate implements the first two, `toolcharter.guards` the others. They are a tool's only way to
the outside world, and are bound to the workspace, limits and deadline of its call.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from toolcharter.api.call import Caller, Decision, ToolResult
from toolcharter.api.leases import Leases
from toolcharter.api.paths import OpenFolder, Paths
from toolcharter.api.runner import Detached, Running, TerminalSize

if TYPE_CHECKING:
    from toolcharter.api.agents import Agents
    from toolcharter.api.channel import ChannelUrl, Message, Sender
    from toolcharter.api.job import ProcessLimits
    from toolcharter.api.network import Http
    from toolcharter.api.sessions import Inbox
    from toolcharter.api.store import Store


class Reload(NamedTuple):
    """The result of a reload, by `rt.reload` or a `LiveToolbox`. Names are sorted."""

    tools: tuple[str, ...]
    """All tools that were discovered."""
    new: tuple[str, ...] = ()
    """Tools that the session did not have before."""
    changed: tuple[str, ...] = ()
    """Tools whose code has changed since the session began; each call of such a tool needs a person's approval."""
    gone: tuple[str, ...] = ()
    """Tools that no longer exist."""
    folders: tuple[str, ...] = ()
    """The folders that were searched."""
    notes: tuple[str, ...] = ()
    """What was skipped, as sentences."""


class ToolContext(Protocol):
    """One call as its tool sees it. The first call of `ok`, `error` or `deny` decides the outcome."""

    @property
    def call_id(self) -> str:
        """The call's identifier, as in its events."""
        ...

    def policy_before(self, **fields: Any) -> None:
        """Add *fields* to the closing event. Tools that announce their checks call it; the gate needs no such call."""

    def policy_passed(self) -> None:
        """Set the mark of a staged body: the code above it has not acted on the world, the code below it may."""

    def ok(
        self,
        text: str,
        /,
        *,
        data: Any = None,
        user_text: str | None = None,
        exit_code: int | None = None,
        truncated: bool = False,
        **fields: Any,
    ) -> str:
        """Record success and return *text*, incomplete if *truncated*; *data* is JSON, *fields* go to the event."""
        ...

    def error(
        self,
        message: str,
        /,
        *,
        reason: str = "tool_error",
        hint: str | None = None,
        retryable: bool = False,
        data: Any = None,
        exit_code: int | None = None,
        truncated: bool = False,
        **fields: Any,
    ) -> str:
        """Record a failure and return the text for the model: *message*, after `ERROR: ` if it lacks that beginning."""
        ...

    def deny(self, reason: str, /, message: str | None = None, *, hint: str | None = None, **fields: Any) -> str:
        """Record that policy forbids the call and return the text for the model."""
        ...


class Completed(NamedTuple):
    """A program that has ended."""

    argv: tuple[str, ...]
    exit_code: int
    """Negative: ended by that signal."""
    stdout: bytes
    stderr: bytes
    truncated: bool
    """Whether a stream was longer than the limit; the rest was read and dropped."""
    timed_out: bool
    elapsed_s: float


class Runner(Protocol):
    """`rt.run` and `rt.inspect`: start a program from an argument vector and wait for it."""

    def __call__(
        self,
        argv: Sequence[str],
        /,
        *,
        cwd: OpenFolder | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_s: float | None = None,
        max_output_bytes: int = 1_000_000,
        limits: "ProcessLimits | None" = None,
        network: bool = False,
        image: str = "",
    ) -> Completed:
        """Run *argv* without a shell.

        Args:
            argv: The program and its arguments. A bare name is looked up on a fixed PATH; a
                path must be absolute.
            cwd: A folder from `rt.paths`; the workspace by default.
            env: Variables to add to the clean environment of programs, which has `TRACEPARENT` if the trace is known.
            stdin: Bytes for standard input, which is closed after them.
            timeout_s: In seconds; the call's deadline if that is sooner. A program that exceeds its time
                is terminated, then killed with its whole group; its result has `timed_out`.
            max_output_bytes: How much of each stream is kept, from its beginning.
            limits: The program's resource limits; by default those of `ProcessLimits`.
            network: Whether it may reach the network; the runner's policy must grant that, too.
            image: Run it in a container of this image, instead of the runner's own image; an empty program means the
                image's own program.

        Raises:
            Denied: `sandbox_unavailable`, also for an image that the runner does not have or may not use;
                `protected_path`, for a program below the workspace; before the mark of a staged body, every use except
                by `inspect`.
            ToolError: `program_not_found`; `invalid_arguments`, for text that cannot be passed to a program
                (NUL, lone surrogates); `timed_out`, if the call had no time left to start a program.
        """
        ...


class ToolRuntime(Protocol):
    """The runtime that a tool's constructor gets: the tool's only way to the outside."""

    @property
    def caller(self) -> Caller:
        """Who makes the current call."""
        ...

    @property
    def deadline(self) -> float:
        """When the current call must have ended, on `time.monotonic`'s clock, in seconds."""
        ...

    @property
    def paths(self) -> Paths:
        """The workspace's files."""
        ...

    @property
    def leases(self) -> Leases:
        """The leases by which callers keep other callers from writing to paths."""
        ...

    @property
    def http(self) -> "Http":
        """The network, as far as the tool's policy permits."""
        ...

    @property
    def store(self) -> "Store":
        """Records that outlive the process: those of the tool's distribution, for the tenant of the current call.

        They can be read at any time, but not written before the mark of a staged body or in a dry run.
        """
        ...

    def lasting_store(self) -> "Store":
        """Return `store` for work that continues after the current call, such as an agent. Call it after the mark.

        It has the records of this call's tenant, and works as long as the toolbox is open.
        """
        ...

    def secret(self, text: str, /) -> str:
        """Return the secret NAME of the caller's tenant if *text* is `secret:NAME`, else *text* itself.

        The value is masked from then on wherever it appears. Never pass a text that a model wrote.

        Raises:
            StoreUnavailable: There is no such secret, it cannot be decrypted, or the store cannot be reached.
        """
        ...

    def extension(self, name: str, /) -> Any:
        """Return the object that the extension *name* of the tool's own distribution has built for this toolbox.

        Raises:
            Denied: `not_available`, if the profile does not list that extension.
        """
        ...

    def channel(self, where: "ChannelUrl", /) -> "Sender[Message]":
        """Open a sender for one of the channels that the tool's policy names in `delivers_on`. The tool closes it.

        Raises:
            NotDelivered: The channel cannot be opened. The text does not contain the URL.
            StoreUnavailable: The URL is `secret:NAME`, and that secret cannot be read.
            Denied: Before the mark of a staged body.
        """
        ...

    @property
    def run(self) -> Runner:
        """Run a program that may act."""
        ...

    @property
    def inspect(self) -> Runner:
        """Run a program that only reads. Sandboxes keep it from writing to the workspace; `host` relies on the tool.

        The program really runs, also before the mark and in a dry run. So a dry run is only as
        harmless as the programs that its tool inspects with.
        """
        ...

    def compute(self, function: str, /, *args: Any, cpu_s: float = 10.0, memory_bytes: int = 512_000_000) -> Any:
        """Call a function of a plugin in a child process that can be killed, and return what it returns.

        Args:
            function: A module-level function, as `package.module:name`; the child imports that module and keeps it.
            args: Its arguments: JSON types only, which is also what it must return.
            cpu_s: The most processor time that it may take, in seconds.
            memory_bytes: The most address space that the child may have.

        Raises:
            ToolError: A `ToolError` of the function; `timed_out`, past the call's deadline or *cpu_s*; `tool_error`,
                beyond *memory_bytes* or if the child crashed; `unexpected_failure`, for any other exception.
        """
        ...

    @property
    def runner(self) -> str:
        """The name of the runner: `host`, `bwrap`, `docker`; empty if the profile names none."""
        ...

    @property
    def is_sandboxed(self) -> bool:
        """Whether the runner contains programs."""
        ...

    @property
    def outlives(self) -> bool:
        """Whether the runner's programs can outlive the toolbox, so that `detach` works."""
        ...

    @property
    def profile(self) -> str:
        """The profile's name."""
        ...

    def spawn(
        self,
        argv: Sequence[str],
        /,
        *,
        cwd: OpenFolder | None = None,
        env: Mapping[str, str] | None = None,
        terminal: TerminalSize | None = None,
        limits: "ProcessLimits | None" = None,
        network: bool = False,
    ) -> Running:
        """Start a program that may run on after the call has ended. Takes the arguments and raises the errors of `run`.

        It ends when the toolbox closes, at the latest.
        """
        ...

    def detach(
        self,
        argv: Sequence[str],
        /,
        *,
        cwd: OpenFolder | None = None,
        env: Mapping[str, str] | None = None,
        terminal: TerminalSize | None = None,
        limits: "ProcessLimits | None" = None,
        network: bool = False,
    ) -> Detached:
        """Prepare a program that another process of the tool's own starts, and that may outlive the toolbox.

        This starts nothing. That process is responsible for the program, above all for ending it in time.
        Takes the arguments and raises the errors of `spawn`, and `Denied` with `sandbox_unavailable` if `outlives` is
        false.
        """
        ...

    def start(self, tool: str, /, **args: Any) -> ToolContext:
        """Return the context of the current call; with another tool's name, or a second time, that of a new child call.

        Raises:
            NotGated: There is no current call.
        """
        ...

    def call(self, tool: str, args: Mapping[str, Any], /) -> ToolResult:
        """Call another tool of the same toolbox, through the gate, as a child of this call."""
        ...

    async def acall(self, tool: str, args: Mapping[str, Any], /) -> ToolResult:
        """`call` from asynchronous code."""
        ...

    async def adecide(self, tool: str, args: Mapping[str, Any], /) -> Decision:
        """Return what the gate would decide about `acall` now.

        Runs, counts and logs nothing, so it is allowed before the mark.
        """
        ...

    def reload(self) -> Reload:
        """Run the profile's discoverers again; the tools that they find can be called from the next call on.

        Raises:
            Denied: `not_available`, if no discoverer's policy says `extend: true`.
            ToolError: The session has no `LiveToolbox`, or it cannot use the tools that were found; nothing changes.
        """
        ...

    @property
    def agents(self) -> "Agents":
        """Starts agents, which get no more rights than the caller of the current call has."""
        ...

    @property
    def inbox(self) -> "Inbox":
        """Leaves notices that sessions get in their next turn."""
        ...

    def on_close(self, callback: Callable[[], None], /) -> None:
        """Call *callback* when the toolbox closes, the last registered first."""
        ...
