"""The protocols of what a tool is handed: the runtime, its context, and the guards behind it.

The gate implements the first two, `toolcharter.guards` the others. A tool reaches the outside
world only through these, already bound to the workspace, limits and deadline of its call.
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
    """What a reload has brought: the answer of `rt.reload` and of a `LiveToolbox`. Names are sorted."""

    tools: tuple[str, ...]
    """All tools that were discovered."""
    new: tuple[str, ...] = ()
    """Those that the session did not have before."""
    changed: tuple[str, ...] = ()
    """Those whose code is not what it was when the session began; each call of one asks a person."""
    gone: tuple[str, ...] = ()
    """Those that are no longer there."""
    folders: tuple[str, ...] = ()
    """Where was looked."""
    notes: tuple[str, ...] = ()
    """What was passed over, as sentences."""


class ToolContext(Protocol):
    """One call as its tool sees it. The first of `ok`, `error` and `deny` decides."""

    @property
    def call_id(self) -> str:
        """The call's identifier, as in its events."""
        ...

    def policy_before(self, **fields: Any) -> None:
        """Accepted from tools that announce their checks themselves; the gate has emitted that event already."""

    def policy_passed(self) -> None:
        """Mark that nothing above acted on the world and everything below may."""

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
        """Record success and return *text*, which lacks a part if *truncated*; *data* is JSON, *fields* go to the event."""
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
        """Record a failure and return the text for the model: `ERROR: ` and *message*, which may begin so itself."""
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
    """A stream was longer than the limit; its rest was read and dropped."""
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
            env: Added to the clean environment a program starts with. It has `TRACEPARENT` where a trace is known.
            stdin: Bytes for standard input, which is closed after them.
            timeout_s: In seconds; the call's deadline if that is sooner. A program over its time
                is terminated, then killed with all of its group, and answers `timed_out`.
            max_output_bytes: Kept of each stream, from its beginning.
            limits: What the program may take; by default those of `ProcessLimits`.
            network: Whether it may reach the network, where the runner's policy grants that, too.
            image: Run it in a container of this image, instead of the runner's own; an empty program is the image's.

        Raises:
            Denied: `sandbox_unavailable`, also for an image that the runner does not have or may not use; `protected_path`, for a program below the workspace;
                before the mark of a staged body, anything but `inspect`.
            ToolError: `program_not_found`; `invalid_arguments`, for what no program can be passed
                (NUL, lone surrogates); `timed_out`, if the call had no time left to start one.
        """
        ...


class ToolRuntime(Protocol):
    """What a constructor is given: the only way from a tool to the outside."""

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
        """What callers keep others from writing."""
        ...

    @property
    def http(self) -> "Http":
        """The network, as far as a tool's policy goes."""
        ...

    @property
    def store(self) -> "Store":
        """Records that outlive the process: those of the tool's distribution, for the tenant of the current call.

        Nothing is written before the mark of a staged body or in a dry run; reading works there, too.
        """
        ...

    def lasting_store(self) -> "Store":
        """`store` for what goes on after the present call, such as an agent that it starts; to be taken behind the mark.

        It is of this call's tenant, and works as long as the toolbox is open.
        """
        ...

    def secret(self, text: str, /) -> str:
        """What *text* stands for: with `secret:NAME` the secret of that name, which the caller's tenant keeps; else itself.

        The value is masked from then on wherever it appears. Never give it a text that a model wrote.

        Raises:
            StoreUnavailable: There is no such secret, it cannot be decrypted, or the store cannot be reached.
        """
        ...

    def extension(self, name: str, /) -> Any:
        """The object that the extension *name* of the tool's own distribution has built for this toolbox.

        Raises:
            Denied: `not_available`, if the profile does not list that extension.
        """
        ...

    def channel(self, where: "ChannelUrl", /) -> "Sender[Message]":
        """What delivers messages on one of the channels that the tool's policy names in `delivers_on`; close it.

        Raises:
            NotDelivered: It cannot be opened. The URL is not shown.
            StoreUnavailable: The URL is a secret, and there is none.
            Denied: Before the mark of a staged body.
        """
        ...

    @property
    def run(self) -> Runner:
        """Run a program that may act."""
        ...

    @property
    def inspect(self) -> Runner:
        """Run a program that only looks: no sandbox lets it write to the workspace; `host` takes the tool's word.

        The program runs as one of `run` does, also before the mark and in a dry run, which is
        therefore only as harmless as what its tool inspects with.
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
            ToolError: What the function raises as one; `timed_out`, past the call's deadline or *cpu_s*; `tool_error`,
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
        """Whether the runner can have programs that outlive the toolbox: whether `detach` works."""
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
        """Start a program that goes on when the call has ended; arguments and errors as of `run`.

        It ends with the toolbox at the latest.
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
        """Have a program started by another process of the tool's own, which may outlive the toolbox; as `spawn` else.

        Nothing is started yet, and what comes of it is that process's to see to: that it ends in time, above all.
        `Denied` with `sandbox_unavailable` where `outlives` is false.
        """
        ...

    def start(self, tool: str, /, **args: Any) -> ToolContext:
        """The context of the current call; for another name, or a second time, a child call.

        Raises:
            NotGated: There is no current call.
        """
        ...

    def call(self, tool: str, args: Mapping[str, Any], /) -> ToolResult:
        """Call another tool of the same toolbox, through the gate, as a child of this call."""
        ...

    async def acall(self, tool: str, args: Mapping[str, Any], /) -> ToolResult:
        """The same from asynchronous code."""
        ...

    async def adecide(self, tool: str, args: Mapping[str, Any], /) -> Decision:
        """What `acall` would meet now; nothing is executed, counted or logged, so it may come before the mark."""
        ...

    def reload(self) -> Reload:
        """Have the tools that the profile's discoverers find looked for again; they can be called from the next call on.

        Raises:
            Denied: `not_available`, if no discoverer's policy says `extend: true`.
            ToolError: The session has no `LiveToolbox`, or what was found cannot be used; all stays as it was.
        """
        ...

    @property
    def agents(self) -> "Agents":
        """Starts agents that get no more than the caller of the present call has."""
        ...

    @property
    def inbox(self) -> "Inbox":
        """What sessions are told in their next turn."""
        ...

    def on_close(self, callback: Callable[[], None], /) -> None:
        """Call *callback* when the toolbox closes, the last registered first."""
        ...
