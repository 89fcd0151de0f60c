"""Builds a tool of kind `custom` from the record of a custom tool."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from toolcharter import Invocation, ToolPolicy, ToolResult, ToolRuntime, ToolSpec
from toolcharter_service.custom.records import CustomTool
from toolcharter_service.custom.template import Template
from toolcharter_service.registry.answers import to_result
from toolcharter_service.registry.policy import RegistryPolicy
from toolcharter_service.registry.reasons import RunReason
from toolcharter_service.registry.schemas import json_schema
from toolcharter_service.registry.tools import fingerprint

SHELL: Final = ("bash", "--noprofile", "--norc", "-p", "-c", "--")
"""The words before the line. `-p` ignores functions and options from the environment; after `--`, a line that begins
with a dash is no option. Source: bash(1), OPTIONS and INVOCATION."""
_RESERVE_S: Final = 1.0
"""The part of the call's time, in seconds, that is kept for returning the output of a line that timed out."""


def spec_of(tool: CustomTool, policy: RegistryPolicy) -> ToolSpec[ToolPolicy]:
    """Build the spec of a custom tool.

    Raises:
        SpecError: The name cannot be the name of a tool.
    """
    template = Template.parse(tool.command)

    def build(workspace: Path, _: ToolPolicy, rt: ToolRuntime) -> Callable[..., ToolResult]:  # noqa: ARG001 - the form of a constructor
        return _build_function(tool, template, policy, rt)

    return ToolSpec(
        tool.name,
        ToolPolicy,
        build,
        reasons=RunReason,
        capabilities=capabilities(policy),
        safety="high",
        kind="custom",
        staged=True,
        isolate=True,  # a program may take minutes, and must not block the event loop
        path_arguments=(),
        parameters=schema_of(tool, template),
        invocation=partial(_invocation, template),
        description=tool.description or f"The custom tool {tool.name}.",
        fingerprint=fingerprint(tool),
    )


def capabilities(policy: RegistryPolicy) -> frozenset[str]:
    """Return the capabilities of custom tools: those that *policy* allows."""
    more = {"net:read"} if policy.custom_network else set[str]()
    return frozenset({"fs:read", "proc:exec", *more, *({"fs:write"} if policy.custom_writes else set[str]())})


def schema_of(tool: CustomTool, template: Template) -> dict[str, Any]:
    """Build the JSON Schema of the arguments. Arguments of the line without a default are required."""
    schema = json_schema(tool.parameters)
    needed = [name for name in template.names if "default" not in schema["properties"].get(name, {})]
    required = list(dict.fromkeys((*schema.get("required", ()), *needed)))
    return {**schema, **({"required": required} if required else {})}


def _invocation(template: Template, args: Mapping[str, Any]) -> Invocation:
    """Return the line that will run, for the shell guard, the floor and deny rules."""
    return Invocation(commands=(template.render(args, checks=False),))


def _build_function(
    tool: CustomTool, template: Template, policy: RegistryPolicy, rt: ToolRuntime
) -> Callable[..., ToolResult]:
    def call(**given: Any) -> ToolResult:
        ctx = rt.start(tool.name, **given)
        line = template.render(given)
        left = rt.deadline - time.monotonic()
        timeout_s = max(0.0, min(tool.timeout_seconds, policy.timeout_s, left - min(_RESERVE_S, left / 4)))
        with ExitStack() as stack:
            folder = stack.enter_context(rt.paths.open_folder(tool.working_dir)) if tool.working_dir else None
            env = {name: rt.secret(value) for name, value in tool.env.items()}
            ctx.policy_passed()
            run = rt.run if policy.custom_writes else rt.inspect
            done = run(
                (*SHELL, line),
                cwd=folder,
                env=env,
                timeout_s=timeout_s,
                max_output_bytes=policy.max_output_bytes,
                network=policy.custom_network,
            )
        return to_result(done, timeout_s)

    return call
