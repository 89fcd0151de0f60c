"""Foreign tools behind the gate: tools of a framework, or tools that another program runs itself."""

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from toolcharter.api.call import Decision, ToolResult
from toolcharter.api.policy import ToolPolicy
from toolcharter.api.runtime import ToolRuntime
from toolcharter.api.tool import ToolSpec
from toolcharter.api.words import Kind
from toolcharter.errors import Denied, ToolError
from toolcharter.gate.build.tool_function import ToolFunction
from toolcharter.gate.dry_run import adry_run
from toolcharter.gate.pipeline import CallPipeline
from toolcharter.gate.stages.s1_arguments import ArgumentReader, InvalidArguments
from toolcharter.gate.stages.s8_result import OutputLimit
from toolcharter.gate.tool import BuiltTool
from toolcharter.gate.toolbox import Toolbox
from toolcharter.policy.rule_input import facts_of

Body = Callable[[dict[str, Any]], Any]
"""Does the work of a call, given its validated arguments. Returns text, JSON data or a `ToolResult`, or raises."""
AsyncBody = Callable[[dict[str, Any]], Awaitable[Any]]

PLUGIN = "host"
"""The plugin that events name for a foreign tool."""
MAX_PIPELINES = 1000
"""How many pipelines of foreign tools are cached."""
_ANY_ARGUMENTS = {"type": "object"}
_BODY: ContextVar[Callable[[dict[str, Any]], Any]] = ContextVar("body")


class ForeignTools:
    """The pipelines of foreign tools in one toolbox, for one caller; each is made on first use."""

    def __init__(self, toolbox: Toolbox) -> None:
        self.toolbox = toolbox
        self._isolated: dict[str, CallPipeline | None] = {}
        self._pipelines: dict[tuple[str, Kind, bool], tuple[Mapping[str, Any] | None, CallPipeline]] = {}

    def call(
        self,
        name: str,
        args: Mapping[str, Any],
        body: Body,
        parameters: Mapping[str, Any] | None,
        kind: Kind,
        **ids: str | None,
    ) -> ToolResult:
        """Call a tool with *body*, which runs in a thread of its own, so that it can be abandoned at its deadline."""
        pipeline = self._pipeline(name, parameters, kind, is_async=False)
        token = _BODY.set(body)
        try:
            return pipeline.call(args, **ids)
        finally:
            _BODY.reset(token)

    async def acall(
        self,
        name: str,
        args: Mapping[str, Any],
        body: AsyncBody,
        parameters: Mapping[str, Any] | None,
        kind: Kind,
        **ids: str | None,
    ) -> ToolResult:
        """Call a tool with an asynchronous body, which is cancelled at its deadline."""
        pipeline = self._pipeline(name, parameters, kind, is_async=True)
        token = _BODY.set(body)
        try:
            return await pipeline.acall(args, **ids)
        finally:
            _BODY.reset(token)

    async def arefuse(self, name: str, args: Mapping[str, Any], why: str, **ids: str | None) -> ToolResult:
        """Make a call that fails when its arguments are read, before any rule is evaluated or any person is asked."""
        profile_tool = self.toolbox.built_tool(name)
        tool = (
            _build_foreign_tool(self.toolbox, name, None, "custom", is_async=True)
            if profile_tool is None
            else profile_tool
        )
        return await self.toolbox.pipeline_for(replace(tool, reader=_RefusingReader(tool, why))).acall(args, **ids)

    async def adecide(
        self, name: str, args: Mapping[str, Any], parameters: Mapping[str, Any] | None, kind: Kind
    ) -> Decision:
        """Return what the gate would decide about a call. Runs, counts and logs nothing."""
        return (await adry_run(self._pipeline(name, parameters, kind, is_async=True), args)).decision

    def isolated_pipeline(self, name: str) -> CallPipeline | None:
        """Return a pipeline of the tool *name* with its body in a thread of its own; None if it needs no thread."""
        if name not in self._isolated:
            tool = self.toolbox.built_tool(name)
            if tool is None:
                return None  # not cached: a model may invent any number of names
            alone = not (tool.function.is_async or tool.spec.isolate)
            self._isolated[name] = (
                self.toolbox.pipeline_for(replace(tool, spec=replace(tool.spec, isolate=True))) if alone else None
            )
        return self._isolated[name]

    def _pipeline(self, name: str, parameters: Mapping[str, Any] | None, kind: Kind, *, is_async: bool) -> CallPipeline:
        known = self._pipelines.get((name, kind, is_async))
        if known is None or known[0] != parameters:
            parameters = deepcopy(parameters)  # the host may change its own copy later
            profile_tool = self.toolbox.built_tool(name)
            tool = (
                _build_foreign_tool(self.toolbox, name, parameters, kind, is_async=is_async)
                if profile_tool is None
                else _build_with_own_checks(self.toolbox, profile_tool, is_async=is_async)
            )
            if len(self._pipelines) >= MAX_PIPELINES:  # a model may invent any number of names
                self._pipelines.clear()
            known = self._pipelines[name, kind, is_async] = (parameters, self.toolbox.pipeline_for(tool))
        return known[1]


class _RefusingReader(ArgumentReader):
    """Reads the arguments for the events, and then refuses them."""

    def __init__(self, tool: BuiltTool, why: str) -> None:
        super().__init__(tool.spec, tool.function)

        def refuse(raw: bytes) -> dict[str, Any]:
            del raw  # Not needed: all arguments are refused.
            raise InvalidArguments(why)

        self.validate = refuse


def _build_foreign_tool(
    toolbox: Toolbox, name: str, parameters: Mapping[str, Any] | None, kind: Kind, *, is_async: bool
) -> BuiltTool:
    """Build a tool that no plugin provides. It declares no capabilities, so that a rule must allow it."""
    spec = ToolSpec(
        name,
        ToolPolicy,
        _never_built,
        kind=kind,
        parameters=parameters or _ANY_ARGUMENTS,
        isolate=not is_async,
        safety="high",
    )
    function = ToolFunction(_arun_body if is_async else _run_body, {}, None, is_async)
    limits = toolbox.limits_for(name)
    return BuiltTool(
        spec=spec,
        plugin=PLUGIN,
        policy=ToolPolicy(),
        facts=facts_of(spec),
        function=function,
        reader=ArgumentReader(spec, function),
        limit=OutputLimit(limits.max_output_chars, limits.truncate or "head"),
        timeout_s=inf if limits.timeout_s is None else limits.timeout_s,
        reasons=None,
    )


def _build_with_own_checks(toolbox: Toolbox, profile_tool: BuiltTool, *, is_async: bool) -> BuiltTool:
    """Build a copy of *profile_tool* with a body of the host; its arguments, rules and own checks stay."""
    name = profile_tool.spec.name

    def run(**values: Any) -> Any:
        _raise_refusal(toolbox.decide(name, values))
        return _BODY.get()(values)

    async def arun(**values: Any) -> Any:
        _raise_refusal(await toolbox.adecide(name, values))
        return await _BODY.get()(values)

    spec = replace(profile_tool.spec, staged=False, isolate=not is_async)
    return replace(
        profile_tool,
        spec=spec,
        function=ToolFunction(arun if is_async else run, profile_tool.function.parameters, None, is_async),
        reasons=None,
    )


def _raise_refusal(decision: Decision) -> None:
    """Raise the denial or error of the tool's own checks, for a call that policy lets through."""
    if decision.tool_checks == "denied":
        raise Denied(decision.reason or "", decision.message, hint=decision.hint)
    if decision.tool_checks == "error":
        raise ToolError(decision.message or "", reason=decision.reason or "", hint=decision.hint)


def _run_body(**values: Any) -> Any:
    return _BODY.get()(values)


async def _arun_body(**values: Any) -> Any:
    return await _BODY.get()(values)


def _never_built(_workspace: Path, _policy: ToolPolicy, _rt: ToolRuntime) -> Callable[..., Any]:
    return _run_body
