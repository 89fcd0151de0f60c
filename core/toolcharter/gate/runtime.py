"""`Runtime`: the runtime that a tool's constructor gets. Everything it offers is bound to the current call."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from toolcharter._lazy import lazy
from toolcharter.api.call import Ask, Caller, Decision, ToolResult
from toolcharter.api.paths import Paths
from toolcharter.api.reasons import Reason
from toolcharter.api.runtime import Reload, Runner
from toolcharter.api.virtual import VirtualFolder
from toolcharter.errors import ConfigurationError, Denied, NotGated, ToolError
from toolcharter.gate.call import CURRENT, CallContext, new_call_id
from toolcharter.gate.redact import redact_args, redact_name
from toolcharter.gate.stages.s8_result import ResultBuilder
from toolcharter.gate.stages.s9_record import CallRecorder
from toolcharter.gate.state import ToolboxState
from toolcharter.guards.paths.locks import WorkspaceLeases
from toolcharter.guards.paths.workspace import WorkspaceView
from toolcharter.guards.process import GovernedRunner

if TYPE_CHECKING:
    from toolcharter.api import store_engine
    from toolcharter.api.agents import Agents, ToolboxView
    from toolcharter.api.channel import ChannelUrl, Message, Sender
    from toolcharter.api.network import Http
    from toolcharter.api.sessions import Inbox
    from toolcharter.api.store import Store
    from toolcharter.gate import agents, http
    from toolcharter.guards.paths import routed
    from toolcharter.guards.shell.git import settings as git_settings
    from toolcharter.guards.store import secrets
    from toolcharter.guards.store import view as store_view
    from toolcharter.loader import openers
else:
    agents = lazy("toolcharter.gate.agents")
    http = lazy("toolcharter.gate.http")
    routed = lazy("toolcharter.guards.paths.routed")
    git_settings = lazy("toolcharter.guards.shell.git.settings")
    store_engine = lazy("toolcharter.api.store_engine")
    secrets = lazy("toolcharter.guards.store.secrets")
    store_view = lazy("toolcharter.guards.store.view")
    openers = lazy("toolcharter.loader.openers")


class Runtime:
    """The `ToolRuntime` of one tool; shared by all its calls, from any thread or task."""

    def __init__(
        self,
        state: ToolboxState,
        paths: WorkspaceView,
        view: "Callable[[Caller], ToolboxView]",
        *,
        staged: bool,
        bounded: bool = True,
        distribution: str = "toolcharter",
        is_route: bool = False,
    ) -> None:
        self._state = state
        self._distribution = distribution
        self.leases = WorkspaceLeases(state.workspace, lambda: self.caller, self._deadline)
        disk = paths.writable(self._require_mark, self.leases, _record_change)
        self._paths: Paths = disk
        if state.routes and not is_route:
            others = {
                route.distribution: Runtime(
                    state, paths, view, staged=staged, bounded=bounded, distribution=route.distribution, is_route=True
                )
                for route in state.routes
            }
            asked = [(route.function, others[route.distribution]) for route in state.routes]
            self._paths = routed.RoutedPaths(
                disk, lambda path: _find_route(asked, path, current_call().caller), _require_approved
            )
        self._view = view
        self._staged = staged
        self._bounded = bounded
        governed = partial(
            GovernedRunner,
            partial(state.runners.runner_for, bounded=bounded),
            state.workspace,
            deadline=self._deadline,
            protected=tuple if bounded else state.runners.repositories,
            wanted=_make_liveness_test,
            # Keep git, started by an unbounded program at any depth, from running programs that a repository names.
            environment={} if bounded else git_settings.git_overrides(str(state.workspace)),
        )
        acting = governed(check=self._require_mark)
        self.run: Runner = acting
        self.spawn = acting.spawn
        self.detach = acting.detach
        self._outlives = acting.outlives
        self.inspect: Runner = governed(check=check_deadline, read_only=True)

    @property
    def caller(self) -> Caller:
        """Who makes the current call."""
        return current_call().caller

    @property
    def deadline(self) -> float:
        """When the current call must have ended, on `time.monotonic`'s clock, in seconds."""
        return current_call().deadline

    @property
    def paths(self) -> Paths:
        """The workspace's files."""
        return self._paths

    @property
    def http(self) -> "Http":
        """The network."""
        return self._http

    @cached_property
    def _http(self) -> "Http":
        return http.GovernedHttp(lambda: self._state.client, self._require_mark, self._deadline)

    @property
    def store(self) -> "Store":
        """Records that outlive the process."""
        return self._store

    def lasting_store(self) -> "Store":
        """`store` for work that continues after the current call."""
        self._require_mark()
        return self._state.store.handle.bound(current_call().caller.tenant, self._distribution)

    def secret(self, text: str, /) -> str:
        """Return the secret NAME if *text* is `secret:NAME`, else *text* itself."""
        return secrets.secret_value(lambda: secrets.secrets_of(self._state.store.handle.view, self._access), text)

    def channel(self, where: "ChannelUrl", /) -> "Sender[Message]":
        """Open a sender for a channel that the tool's policy names."""
        self._require_mark()
        return openers.connect_sender(where, self.secret, self._state.open_channel)

    @cached_property
    def _store(self) -> "Store":
        return self._state.store.handle.view(self._access)

    @cached_property
    def _access(self) -> "store_view.Access":
        def scope() -> store_engine.Scope:
            return store_engine.Scope(current_call().caller.tenant, self._distribution)

        return store_view.Access(scope, _store_timeout_s, self._require_mark)

    def extension(self, name: str, /) -> Any:
        """Return the object of the extension *name* of the tool's own distribution.

        Raises:
            Denied: `not_available`, if the profile does not list it.
        """
        found = self._state.extensions.get((self._distribution, name))
        if found is None:
            what = f"The profile does not list the extension {name!r}, which the tool needs."
            raise Denied(Reason.NOT_AVAILABLE, what, hint=f"An operator has to write `extensions: {{{name}: {{}}}}`.")
        return found

    def compute(self, function: str, /, *args: Any, cpu_s: float = 10.0, memory_bytes: int = 512_000_000) -> Any:
        """Call *function* in a child process. It does not act on the world, so this is allowed before the mark."""
        check_deadline()
        return self._state.compute(
            function,
            args,
            expires=self._deadline(),
            is_wanted=_make_liveness_test(),
            cpu_s=cpu_s,
            memory_bytes=memory_bytes,
        )

    @property
    def runner(self) -> str:
        """The name of the runner; empty if programs run nowhere."""
        return self._state.runners.name_for(bounded=self._bounded)

    @property
    def is_sandboxed(self) -> bool:
        """Whether the runner contains programs."""
        return self._state.runners.is_sandbox_for(bounded=self._bounded)

    @property
    def outlives(self) -> bool:
        """Whether the runner supports `detach`."""
        try:
            return self._outlives()
        except Denied:
            return False

    @property
    def profile(self) -> str:
        """The profile's name."""
        return self._state.profile

    def _deadline(self) -> float:
        return current_call().deadline

    def start(self, tool: str, /, **args: Any) -> CallContext:
        """Return the context of the current call; with another tool's name, or a second time, that of a new child call.

        Raises:
            NotGated: There is no current call.
        """
        ctx = CURRENT.get()
        if ctx is None and self._state.strict:
            return self._open_child_call(tool, args, None)
        ctx = current_call()
        if not ctx.claimed and tool.lower() == ctx.tool.lower():
            ctx.claimed = True
            return ctx
        return self._open_child_call(tool, args, ctx)

    def call(self, tool: str, args: Mapping[str, Any], /) -> ToolResult:
        """Call another tool of the same toolbox, as a child of this call."""
        self._require_mark()
        return self._view(current_call().caller).call(tool, args)

    async def acall(self, tool: str, args: Mapping[str, Any], /) -> ToolResult:
        """`call` from asynchronous code."""
        self._require_mark()
        return await self._view(current_call().caller).acall(tool, args)

    async def adecide(self, tool: str, args: Mapping[str, Any], /) -> Decision:
        """Return what the gate would decide about `acall` now."""
        check_deadline()
        return await self._view(current_call().caller).adecide(tool, args)

    def reload(self) -> Reload:
        """Run the discoverers again.

        Raises:
            Denied: No discoverer's policy says `extend: true`.
            ToolError: The toolbox never changes, or it cannot use the tools that were found.
        """
        self._require_mark()
        if self._state.reload is None:
            raise ToolError("This toolbox never changes: only a session with a LiveToolbox can reload tools.")
        try:
            return self._state.reload()
        except ConfigurationError as error:
            raise ToolError(f"The reload failed, and no tool has changed: {error}") from error

    @property
    def agents(self) -> "Agents":
        """Starts agents for the current call."""
        self._require_mark()
        ctx = current_call()
        return agents.AgentLauncher(self._state, ctx.caller, ctx.call_id)

    @property
    def inbox(self) -> "Inbox":
        """Leaves notices that sessions get in their next turn."""
        self._require_mark()
        return agents.SessionInbox(self._state, self.caller)

    def on_close(self, callback: Callable[[], None], /) -> None:
        """Call *callback* when the toolbox closes, the last registered first."""
        self._state.calls.on_close(callback)

    def _require_mark(self) -> None:
        """Raise before the mark of a staged body, and always in a dry run."""
        check_deadline()
        ctx = current_call()
        if ctx.dry or (self._staged and not ctx.passed):
            raise ToolError(
                "the tool tried to act on the world before ctx.policy_passed()", reason=Reason.UNEXPECTED_FAILURE
            )

    def _open_child_call(self, tool: str, args: dict[str, Any], parent: CallContext | None) -> CallContext:
        """Open a child call of *parent*, with events of its own. It closes as soon as its outcome is decided."""
        caller = parent.caller if parent else Caller()
        now = monotonic()
        name = redact_name(tool)
        ctx = CallContext(name, caller, new_call_id(), now, parent.deadline if parent else float("inf"))
        lines = self._state.lines.for_tool(name, None, caller)
        ctx.tail = lines.tail(
            ctx.call_id, parent.call_id if parent else None, None, redact_args(args, self._state.args_detail)
        )
        state = self._state
        record = CallRecorder(state.calls, state.emitter, lines, ResultBuilder().build, required=state.required)
        ctx.claimed = ctx.first_half_written = True
        ctx.close_child = record.finish
        ctx.parent, ctx.dry = parent, parent is not None and parent.dry
        taken = ctx.dry or self._state.emitter.emit(lines.first_half(ctx.tail))
        if parent is not None:
            # Atomic, because a body may have several threads.
            parent.__dict__.setdefault("children", []).append(ctx)
        if not taken and self._state.required:
            raise Denied(Reason.AUDIT_UNAVAILABLE, "An event sink that the profile requires cannot be written.")
        return ctx


def _find_route(asked: Sequence[tuple[Callable[..., Any], Runtime]], path: str, caller: Caller) -> Any:
    """Return the answer of the first route that owns *path*; if several routes have a folder there, their union."""
    folders: list[VirtualFolder] = []
    for function, rt in asked:
        answer = function(path, caller, rt)
        if isinstance(answer, VirtualFolder):
            folders.append(answer)
        elif answer is not None:
            return answer
    return routed.JoinedFolder(folders) if len(folders) > 1 else folders[0] if folders else None


def _require_approved(question: Ask) -> None:
    """Require that a person has approved *question* for the current call. A dry run records the question to ask it.

    Raises:
        Denied: `approval_unavailable`, if no person has approved it.
    """
    ctx = current_call()
    while ctx.parent is not None:
        ctx = ctx.parent
    if ctx.dry:
        ctx.question = ctx.question or question
    elif ctx.question != question:
        said = " ".join(
            filter(None, ("A person would have to approve the call, but none was asked.", question.message))
        )
        raise Denied(Reason.APPROVAL_UNAVAILABLE, said)


def current_call() -> CallContext:
    """Return the call whose body runs in this thread or task.

    Raises:
        NotGated: There is none, or it has ended.
    """
    ctx = CURRENT.get()
    if ctx is None:
        raise NotGated("there is no current call: a tool's function runs only through a toolbox")
    if ctx.closed:
        raise NotGated(f"the call {ctx.call_id!r} has ended; its body must not continue")
    return ctx


def _record_change() -> None:
    """Record that the current call has changed a file. A success of its body then counts even after the deadline."""
    current_call().changed = True


def _make_liveness_test() -> Callable[[], bool]:
    """Return a function that tests, from any thread, whether the current call is still under way."""
    ctx = current_call()
    return lambda: not ctx.closed


def _store_timeout_s() -> float:
    check_deadline()
    return min(current_call().deadline - monotonic(), store_view.TIMEOUT_S)


def check_deadline() -> None:
    """Raise if the current call has ended or its time is up."""
    ctx = current_call()
    if monotonic() > ctx.deadline:
        raise ToolError("the call has no time left", reason=Reason.TIMED_OUT, retryable=True)
