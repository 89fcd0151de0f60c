"""`Toolbox`: the tools built for one profile and workspace, as one caller may use them; `Tool`: one of these tools."""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from toolcharter._lazy import lazy
from toolcharter.api.call import Caller, Decision, ToolResult
from toolcharter.errors import did_you_mean
from toolcharter.gate import dry_run
from toolcharter.gate.call import begin_call
from toolcharter.gate.pipeline import CallPipeline
from toolcharter.gate.redact import redact_args, redact_name
from toolcharter.gate.stages.s8_result import ResultBuilder
from toolcharter.gate.stages.s9_record import CallRecorder, make_notify_callback
from toolcharter.gate.state import ToolboxState
from toolcharter.gate.tool import BuiltTool
from toolcharter.policy.evaluate import unknown_tool
from toolcharter.policy.rule_input import ToolFacts
from toolcharter.profile.globs import parse_glob
from toolcharter.profile.model import Limits

if TYPE_CHECKING:
    import asyncio

    from toolcharter.api.agents import RunningAgent
    from toolcharter.api.explanation import Explanation
    from toolcharter.gate import explain
    from toolcharter.gate.build import tool_function
    from toolcharter.gate.stages import s6_limits
else:
    asyncio = lazy("asyncio")
    explain = lazy("toolcharter.gate.explain")
    tool_function = lazy("toolcharter.gate.build.tool_function")
    s6_limits = lazy("toolcharter.gate.stages.s6_limits")


class Tool:
    """One tool of a toolbox, for one caller."""

    __slots__ = ("_pipeline",)

    def __init__(self, pipeline: CallPipeline) -> None:
        self._pipeline = pipeline

    @property
    def name(self) -> str:
        """The canonical name."""
        return self._pipeline.tool.spec.name

    @property
    def description(self) -> str:
        """For the model: the spec's description, or the function's docstring without its sections."""
        tool = self._pipeline.tool
        return tool.spec.description or tool.function.description

    @property
    def parameters(self) -> dict[str, Any]:
        """JSON Schema of the arguments, as this profile advertises them; validation may accept more."""
        tool = self._pipeline.tool
        schema = deepcopy(tool.reader.schema)  # a host may change its copy
        return tool.spec.advertise(tool.policy, schema) if tool.spec.advertise else schema

    @property
    def argument_aliases(self) -> Mapping[str, str]:
        """Other names of arguments: `{alias: argument}`."""
        return self._pipeline.tool.spec.argument_aliases

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """JSON Schema of the result's `data`, if the tool declares it."""
        return tool_function.output_schema(self._pipeline.tool.spec, self._pipeline.tool.function)

    @property
    def capabilities(self) -> frozenset[str] | None:
        """The capabilities of all actions together; None if the tool does not declare them."""
        return self._pipeline.tool.spec.all_capabilities()

    @property
    def safety(self) -> str:
        """`low`, `medium` or `high`."""
        return self._pipeline.tool.spec.safety

    @property
    def kind(self) -> str:
        """`builtin`, `bash`, `cli`, `mcp` or `custom`."""
        return self._pipeline.tool.spec.kind

    def __call__(self, /, **args: Any) -> ToolResult:
        """Call the tool through the gate."""
        return self._pipeline.call(args)

    def call(self, args: Mapping[str, Any], *, call_id: str | None = None, parent_id: str | None = None) -> ToolResult:
        """Call the tool with the host's own identifiers."""
        return self._pipeline.call(args, call_id=call_id, parent_id=parent_id)

    async def acall(self, /, **args: Any) -> ToolResult:
        """Call the tool from asynchronous code."""
        return await self._pipeline.acall(args)

    def __repr__(self) -> str:
        return f"<Tool {self.name!r}>"


class Toolbox(Mapping[str, Tool]):
    """A mapping of tool names to the tools that the caller sees, in the profile's order. It never changes.

    It leaves out a tool of which no call could pass. That tool can still be got by its name; its calls are denied with
    the reason. Any thread or task may use the toolbox at any time. Close it, or use it as a context manager.
    """

    def __init__(
        self, state: ToolboxState, tools: Mapping[str, BuiltTool], names: Mapping[str, str], caller: Caller
    ) -> None:
        self._state = state
        self._tools = tools
        self._names = names
        self._caller = caller
        self._pipelines: dict[str, CallPipeline] = {}

    @property
    def profile(self) -> str:
        """The profile's name."""
        return self._state.profile

    @property
    def digest(self) -> str:
        """SHA-256 of the effective profile, as on every event."""
        return self._state.digest

    @property
    def files(self) -> tuple[Path, ...]:
        """The profile's file and those that it extends, as they were read."""
        return self._state.files

    @property
    def built(self) -> Mapping[str, BuiltTool]:
        """All built tools, including those that the caller does not see. For toolcharter's own commands."""
        return self._tools

    @property
    def is_busy(self) -> bool:
        """Whether a call or an agent is under way. For toolcharter's own commands."""
        return bool(self._state.calls.live or self._state.calls.agents)

    def touching(self, words: Iterable[str]) -> frozenset[str]:
        """Return the tools that may have a capability that one of *words*, globs over capabilities, matches.

        A tool that declares no capabilities may have any. For the gate.
        """
        globs = tuple(map(parse_glob, words))
        declared = {name: tool.spec.all_capabilities() for name, tool in self._tools.items()} if globs else {}
        return frozenset(
            name
            for name, touched in declared.items()
            if touched is None or any(glob.matches(word) for glob in globs for word in touched)
        )

    def admit(self, agent: "RunningAgent") -> None:
        """Register an agent that was started from this toolbox, to cancel it when the toolbox closes. For the gate.

        Raises:
            ToolboxClosed: The toolbox is closed.
        """
        self._state.calls.admit(agent)

    def dismiss(self, agent: "RunningAgent") -> None:
        """Unregister an agent that has ended. For the gate."""
        self._state.calls.agents.discard(agent)

    @property
    def has_approver(self) -> bool:
        """Whether an approver can answer calls that need approval. For toolcharter's own commands."""
        return self._state.has_approver

    @property
    def lost_events(self) -> int:
        """How many event lines a sink could not write."""
        return self._state.emitter.lost

    @property
    def lost_because(self) -> Exception | None:
        """Why the last lost event line was lost."""
        return self._state.emitter.last_error

    @property
    def lost_notifications(self) -> int:
        """How many notifications were lost, as far as is known."""
        notifier = self._state.notifier
        return 0 if notifier is None else notifier.lost

    @property
    def lost_notification_because(self) -> BaseException | None:
        """Why the last lost notification was lost."""
        notifier = self._state.notifier
        return None if notifier is None else notifier.last_error

    def built_tool(self, name: str) -> BuiltTool | None:
        """Return the tool with the name or alias *name*; None if the profile has none. For hosts."""
        pipeline = self._find_pipeline(name)
        return None if pipeline is None else pipeline.tool

    def pipeline_for(self, tool: BuiltTool) -> CallPipeline:
        """Return the pipeline for a host's own *tool*, in this toolbox and for its caller. For hosts."""
        return CallPipeline(self._state, tool, self._caller)

    def limits_for(self, name: str) -> Limits:
        """Return the limits of the tool *name*, which may be a host's own tool. For hosts."""
        return self._state.limits_for(name)

    def __getitem__(self, name: str) -> Tool:
        pipeline = self._find_pipeline(name)
        if pipeline is None:
            raise KeyError(name)
        return Tool(pipeline)

    def __iter__(self) -> Iterator[str]:
        return iter(self._visible)

    def __len__(self) -> int:
        return len(self._visible)

    def __contains__(self, name: object) -> bool:
        return name in self._visible

    @cached_property
    def _visible(self) -> tuple[str, ...]:
        """The tools of which a call could pass."""
        state = self._state
        hidden = state.availability.of(self._caller)
        return tuple(
            name
            for name, tool in self._tools.items()
            if hidden.get(name) is None and state.policy.could_pass(tool.facts)
        )

    def for_caller(self, caller: Caller) -> "Toolbox":
        """Return a cheap view of the same tools for *caller*. Closing the view closes the toolbox."""
        return Toolbox(self._state, self._tools, self._names, caller)

    def for_agent(self, caller: Caller) -> "Toolbox":
        """Return the same tools for an agent. Closing this toolbox ends only the agent's calls."""
        return Toolbox(self._state.child(), self._tools, self._names, caller)

    def call(
        self, name: str, args: Mapping[str, Any], *, call_id: str | None = None, parent_id: str | None = None
    ) -> ToolResult:
        """Call a tool through the gate. A name that the profile does not have gives a denial."""
        pipeline = self._find_pipeline(name)
        if pipeline is None:
            return self._refuse_unknown(name, args, call_id, parent_id)
        return pipeline.call(args, call_id=call_id, parent_id=parent_id)

    async def acall(
        self, name: str, args: Mapping[str, Any], *, call_id: str | None = None, parent_id: str | None = None
    ) -> ToolResult:
        """Call a tool through the gate from asynchronous code."""
        pipeline = self._find_pipeline(name)
        if pipeline is None:
            return self._refuse_unknown(name, args, call_id, parent_id)
        return await pipeline.acall(args, call_id=call_id, parent_id=parent_id)

    def decide(self, name: str, args: Mapping[str, Any]) -> Decision:
        """Return what the gate would decide about a call. Runs, counts and logs nothing."""
        self._state.calls.require_open()
        pipeline = self._find_pipeline(name)
        return self._decide_unknown(name) if pipeline is None else dry_run.dry_run(pipeline, args).decision

    async def adecide(self, name: str, args: Mapping[str, Any]) -> Decision:
        """`decide` from asynchronous code."""
        self._state.calls.require_open()
        pipeline = self._find_pipeline(name)
        return self._decide_unknown(name) if pipeline is None else (await dry_run.adry_run(pipeline, args)).decision

    def explain(self, name: str, args: Mapping[str, Any]) -> "Explanation":
        """Explain the answer of `decide`, stage by stage. Runs, counts and logs nothing."""
        self._state.calls.require_open()
        pipeline = self._find_pipeline(name)
        if pipeline is None:
            return self._explain_unknown(name, args)
        return explain.explain(pipeline, dry_run.dry_run(pipeline, args), redact_name(name), args)

    async def aexplain(self, name: str, args: Mapping[str, Any]) -> "Explanation":
        """`explain` from asynchronous code."""
        self._state.calls.require_open()
        pipeline = self._find_pipeline(name)
        if pipeline is None:
            return self._explain_unknown(name, args)
        return explain.explain(pipeline, await dry_run.adry_run(pipeline, args), redact_name(name), args)

    def forget_results(self, *call_ids: str) -> None:
        """Record that the model no longer sees the results of these calls, by default of all calls of the session.

        A call that `skip_duplicate` refuses because its result is "further up" may then be repeated.
        """
        session = self._state.session
        if session is not None:
            session.forget(s6_limits.session_key_of(self._caller), call_ids)

    def close(self) -> None:
        """Wait for calls under way, close the tools' resources, and flush the sinks.

        Raises:
            ExceptionGroup: The exceptions of tools that failed to close. Everything else is closed nevertheless.
        """
        errors = self.close_shared()
        if errors:
            raise ExceptionGroup("tools raised while the toolbox closed", errors)

    def close_shared(self, wait_s: float | None = None) -> list[Exception]:
        """Close, and return the exceptions of tools instead of raising them. For toolcharter's own commands.

        Calls under way get *wait_s* seconds to end, by default 5.
        """
        return self._state.close(wait_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def aclose(self) -> None:
        """`close` from asynchronous code. Does not block the event loop, so that its calls under way can end."""
        await asyncio.to_thread(self.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<Toolbox {self.profile!r}: {', '.join(self._visible)}>"

    def _find_pipeline(self, name: str) -> CallPipeline | None:
        if not isinstance(name, str):
            return None
        pipeline = self._pipelines.get(name)
        if pipeline is None:
            # Cached under the canonical name only, because a name has many spellings in upper and lower case.
            canonical = self._names.get(name.lower(), "")
            pipeline = self._pipelines.get(canonical)
            if pipeline is None and canonical in self._tools:
                pipeline = self._pipelines[canonical] = CallPipeline(self._state, self._tools[canonical], self._caller)
        return pipeline

    def _decide_unknown(self, name: str) -> Decision:
        shown = redact_name(name)
        return unknown_tool(shown, did_you_mean(shown, self._visible) or None)

    def _explain_unknown(self, name: str, args: Mapping[str, Any]) -> "Explanation":
        return explain.explain_unknown(self._state, redact_name(name), args, self._decide_unknown(name), self._tools)

    def _refuse_unknown(
        self, name: str, args: Mapping[str, Any], call_id: str | None, parent_id: str | None
    ) -> ToolResult:
        state = self._state
        state.calls.require_open()
        ctx = begin_call(redact_name(name), self._caller, 0.0, call_id, parent_id)
        lines = state.lines.for_tool(ctx.tool, None, self._caller)
        ctx.tail = lines.tail(ctx.call_id, ctx.parent_id, None, redact_args(args, state.args_detail))
        decision = self._decide_unknown(name)
        ctx.refuse(decision.stage, decision.reason or "", decision.message, hint=decision.hint)
        notify = None if state.notifier is None else make_notify_callback(state.notifier, ToolFacts(ctx.tool))
        build = ResultBuilder().build
        return CallRecorder(state.calls, state.emitter, lines, build, required=state.required, notify=notify).finish(
            ctx
        )
