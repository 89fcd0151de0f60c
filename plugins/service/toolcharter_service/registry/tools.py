"""Builds a tool of kind `custom` from a record with `exec`."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from toolcharter import (
    Denied,
    Invocation,
    Reason,
    SpecError,
    ToolPolicy,
    ToolResult,
    ToolRuntime,
    ToolSpec,
    code_arguments,
    with_input,
)
from toolcharter_service.generated.rule import PREFIX, is_generated, is_genuine
from toolcharter_service.registry.answers import to_result
from toolcharter_service.registry.names import find_installed
from toolcharter_service.registry.placeholders import as_text, fill_placeholders, placeholder_names
from toolcharter_service.registry.policy import RegistryPolicy
from toolcharter_service.registry.reasons import RunReason
from toolcharter_service.registry.records import ToolExec, ToolRecord
from toolcharter_service.registry.rules import RegistryReason, RegistryRefusal
from toolcharter_service.registry.schemas import json_schema

STDIN: Final = "stdin"
_ANYTHING: Final[Any] = {"type": ["string", "number", "boolean", "array", "object"]}
"""The schema of an argument without a type. It excludes null, which cannot replace a placeholder."""
IMAGE_TIMEOUT_S: Final = 120.0
"""The time limit of a container, in seconds, unless the policy's `timeout_s` is longer. Source: hdn/tools.go."""


def fingerprint(record: BaseModel, *more: object) -> str:
    """Hash all of a record: a tool whose record differs in anything is another tool."""
    plain = [record.model_dump(mode="json"), *more]
    return sha256(json.dumps(plain, sort_keys=True, default=str).encode()).hexdigest()


def schema_of(record: ToolRecord) -> dict[str, Any]:
    """Build the JSON Schema of a record with `exec`: its own arguments, those of its placeholders, and `stdin`."""
    schema = json_schema(record.input_schema)
    needed = placeholder_names(record.exec.args if record.exec and not is_generated(record) else ())
    properties = {**dict.fromkeys(needed, _ANYTHING), **schema["properties"]}
    properties |= {name: _ANYTHING for name in needed if not properties[name]}
    properties.setdefault(STDIN, {"type": "string", "description": "The text for the tool's standard input."})
    required = list(dict.fromkeys((*schema.get("required", ()), *needed)))
    return {**schema, "properties": properties, **({"required": required} if required else {})}


def spec_of(record: ToolRecord, policy: RegistryPolicy) -> ToolSpec[ToolPolicy]:
    """Build the spec of a record with `exec`.

    Raises:
        SpecError: The id cannot be the name of a tool.
        ValueError: The record has no `exec`, or has the id of a generated tool and is none.
    """
    program = record.exec
    if program is None:
        raise ValueError(f"the record {record.id!r} runs nothing")
    if is_generated(record) and not is_genuine(record):
        raise ValueError("its id belongs to generated code, but something else would run")

    def build(workspace: Path, _: ToolPolicy, rt: ToolRuntime) -> Callable[..., ToolResult]:  # noqa: ARG001 - as above
        return _build_function(record, program, policy, rt)

    return ToolSpec(
        record.id,
        ToolPolicy,
        build,
        reasons=RunReason,
        capabilities=frozenset(record.permissions) | {"proc:exec" if program.type == "cmd" else "docker"},
        safety=record.safety_level,
        kind="custom",
        staged=True,
        isolate=True,  # a program may take minutes, and must not block the event loop
        path_arguments=(),  # the record does not say which of its arguments are paths
        parameters=schema_of(record),
        invocation=partial(_invocation, program, is_literal=is_generated(record)),
        description=record.description or record.name or f"The registered tool {record.id}.",
        fingerprint=fingerprint(record),
    )


def _invocation(program: ToolExec, args: Mapping[str, Any], *, is_literal: bool) -> Invocation:
    """Return the command of a call, for the floor and deny rules."""
    argv = _argv(program, args, checks=False, is_literal=is_literal)
    read = as_text(STDIN, args) if args.get(STDIN) is not None else ""
    if program.type == "cmd":
        return Invocation(commands=(with_input(argv, read),))
    # A program in an image is checked as if it ran here. The image's own program is shown as a docker command.
    is_own = program.type == "image" and not program.cmd
    return Invocation(commands=(("docker", "run", "--rm", program.image, *argv) if is_own else argv,))


def _argv(
    program: ToolExec, args: Mapping[str, Any], *, checks: bool = True, is_literal: bool = False
) -> tuple[str, ...]:
    """Return the words that run. A generated tool's words are not filled in, since braces are part of its code."""
    words = (
        program.args
        if is_literal
        else fill_placeholders(program.args, args, may_begin_with_dash=() if checks else tuple(args))
    )
    return (program.cmd, *words) if program.cmd else words


def _build_function(
    record: ToolRecord, program: ToolExec, policy: RegistryPolicy, rt: ToolRuntime
) -> Callable[..., ToolResult]:
    granted = frozenset(record.permissions)
    network = any(word.partition(":")[0] == "net" for word in granted)
    timeout_s = policy.timeout_s if program.type == "cmd" else max(policy.timeout_s, IMAGE_TIMEOUT_S)

    def call(**given: Any) -> ToolResult:
        ctx = rt.start(record.id, **given)
        argv = _argv(program, given, is_literal=is_generated(record))
        if program.type == "image" and not program.cmd:
            argv = ("", *argv)  # the image's own program
        stdin = as_text(STDIN, given) if given.get(STDIN) is not None else ""
        if program.type == "image" and rt.runner != "docker":
            raise Denied(
                Reason.SANDBOX_UNAVAILABLE,
                "A tool of type 'image' runs in a container; the profile does not have `runner: docker`.",
            )
        if is_generated(record) and not rt.is_sandboxed:
            raise Denied(
                Reason.SANDBOX_UNAVAILABLE, "A generated tool only runs in a sandbox, and `runner:` names none."
            )
        ctx.policy_passed()
        run = rt.run if "fs:write" in granted else rt.inspect
        done = run(
            argv,
            stdin=stdin.encode(errors="replace"),
            timeout_s=timeout_s,
            max_output_bytes=policy.max_output_bytes,
            network=network,
            image=program.image,
        )
        return to_result(done, timeout_s)

    return call


def require_buildable(record: ToolRecord) -> ToolRecord:
    """Return *record* if a toolbox can build a tool from it.

    Raises:
        RegistryRefusal: `invalid_record`; `code_is_placeholder`; `name_conflict`, for the name of an installed tool.
    """
    if record.exec is None:
        return record
    if is_generated(record) and not is_genuine(record):
        what = f"An id that begins with {PREFIX!r} is reserved for generated code that a person has read."
        raise RegistryRefusal(RegistryReason.INVALID_RECORD, what)
    if taken := find_installed(record.id):
        raise RegistryRefusal(
            RegistryReason.NAME_CONFLICT, f"{record.id!r} is the name of the installed tool {taken!r}."
        )
    try:
        spec = spec_of(record, RegistryPolicy())
    except SpecError as error:
        raise RegistryRefusal(RegistryReason.INVALID_RECORD, f"id: {error}.") from None
    if spec.invocation is not None and (found := code_arguments(spec.invocation, spec.parameters or {})):
        what = f"A shell or an interpreter would get the argument {found[0]!r} as code, or a program would start it."
        raise RegistryRefusal(RegistryReason.CODE_IS_PLACEHOLDER, what)
    return record
