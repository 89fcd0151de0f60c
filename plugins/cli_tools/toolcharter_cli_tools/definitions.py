"""`Definition`: a tool from a folder, a profile or a manifest, as one value; and the `ToolSpec` that runs it."""

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from toolcharter import Completed, Denied, Invocation, Reason, ToolPolicy, ToolResult, ToolRuntime, ToolSpec, with_input
from toolcharter_cli_tools.bundles import Bundle, UnusableTool
from toolcharter_cli_tools.copies import copy_bundle
from toolcharter_cli_tools.policy import LOWEST_CAPABILITIES, Parameter
from toolcharter_cli_tools.readme import HELP
from toolcharter_cli_tools.templates import (
    SKILL_DIR,
    CliReason,
    Word,
    fill_words,
    format_value,
    is_filler,
    placeholder_names,
    refuse_dash,
    require_values,
)

ARGS, STDIN, HELP_ARGUMENT = "args", "stdin", "help"
# Runners refuse to start a file of the workspace directly. A shell starts the private copy of the checked file.
_START_PREFIX = ("/bin/sh", "-c", 'exec "$0" "$@"')
_OWN_ARGUMENTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        ARGS: {"type": "array", "items": {"type": "string"}, "default": [], "description": "The tool's arguments."},
        STDIN: {"type": "string", "description": "The text for the tool's standard input."},
        HELP_ARGUMENT: {"type": "boolean", "default": False, "description": "Only return the tool's README."},
    }
)


class Definition(NamedTuple):
    """All facts about a tool."""

    name: str
    description: str
    """A short text: models read it in every turn."""
    words: tuple[Word, ...]
    """The program and its arguments."""
    parameters: Mapping[str, Parameter]
    stdin: str | None = None
    """The name of the argument that the program reads from its standard input."""
    takes_args: bool = False
    """Whether a call gives further words, in `args`."""
    allow_dash: bool = False
    """Whether these words may begin with `-`."""
    readme: str = ""
    read: Callable[[], Bundle] | None = None
    """Reads the tool's current files; None for a tool without files."""
    hash: str = ""
    """The hash of the tool's files when it was loaded."""
    capabilities: tuple[str, ...] = LOWEST_CAPABILITIES
    safety: Any = "high"
    timeout_s: float = 30.0
    max_output_bytes: int = 1_000_000

    @property
    def has_help(self) -> bool:
        """Whether a call may ask for the README."""
        return bool(self.readme) and HELP_ARGUMENT not in self.parameters

    @property
    def fingerprint(self) -> str:
        """A hash of the tool's files and of all its other facts."""
        plain = {
            **self._replace(read=None)._asdict(),
            "parameters": {name: parameter.canonical() for name, parameter in self.parameters.items()},
        }
        return sha256(json.dumps(plain, sort_keys=True, default=str).encode()).hexdigest()


def build_spec(definition: Definition) -> ToolSpec[ToolPolicy]:
    """Return the spec of *definition*.

    Raises:
        SpecError: The tool's name or another fact is not valid in a spec.
    """
    description = f"{definition.description}\n\n{HELP}" if definition.has_help else definition.description

    def build(workspace: Path, _policy: ToolPolicy, rt: ToolRuntime) -> Callable[..., Any]:
        return _ToolBody(definition, workspace, rt)

    return ToolSpec(
        definition.name,
        ToolPolicy,
        build,
        reasons=CliReason,
        capabilities=frozenset(definition.capabilities),
        safety=definition.safety,
        kind="cli",
        staged=True,
        isolate=True,  # a program may take minutes, which must not block asynchronous callers
        parameters=build_schema(definition),
        invocation=partial(_build_invocation, definition),
        description=description,
        fingerprint=definition.fingerprint,
    )


def _build_invocation(definition: Definition, args: Mapping[str, Any]) -> Invocation:
    """The command of a call, for the floor and for `deny` rules."""
    if definition.has_help and args.get(HELP_ARGUMENT):
        return Invocation()
    values = _drop_fillers(definition, args)
    argv = (*fill_words(definition.words, {SKILL_DIR: ".", **values}, (SKILL_DIR, *values)), *values.get(ARGS, ()))
    return Invocation(commands=(with_input(argv, format_value(values.get(definition.stdin or ""))),))


def _drop_fillers(definition: Definition, args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, without optional ones that the model has filled with an empty value."""
    kept = {*_required_names(definition), ARGS}
    return {name: value for name, value in args.items() if name in kept or not is_filler(value)}


def build_schema(definition: Definition) -> dict[str, Any]:
    """Return the JSON Schema of the tool's arguments; none is required if the tool has help, which needs none."""
    properties = {name: _property_schema(parameter) for name, parameter in definition.parameters.items()}
    own = (
        (ARGS, definition.takes_args),
        (STDIN, definition.stdin == STDIN and STDIN not in properties),
        (HELP_ARGUMENT, definition.has_help),
    )
    properties |= {name: dict(_OWN_ARGUMENTS[name]) for name, wanted in own if wanted}
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    required = _required_names(definition)
    if required and not definition.has_help:
        schema["required"] = required
    return schema


def _property_schema(parameter: Parameter) -> dict[str, Any]:
    found: dict[str, Any] = {"type": parameter.type}
    if parameter.description:
        found["description"] = parameter.description
    if parameter.enum:
        found["enum"] = list(parameter.enum)
    if parameter.default is not None:
        found["default"] = parameter.default
    return found


def _required_names(definition: Definition) -> list[str]:
    return [name for name, one in definition.parameters.items() if one.required and one.default is None]


class _ToolBody:
    """The function of a tool."""

    def __init__(self, definition: Definition, workspace: Path, rt: ToolRuntime) -> None:
        self._definition = definition
        self._workspace = workspace
        self._rt = rt
        self._dash_allowed = {SKILL_DIR, *(name for name, one in definition.parameters.items() if one.allow_dash)}
        granted = set(definition.capabilities)
        self._run = rt.run if "fs:write" in granted else rt.inspect
        self._network = any(word.partition(":")[0] == "net" for word in granted)

    def __call__(self, **given: Any) -> str | ToolResult:
        """Run the tool, or return its README."""
        definition = self._definition
        ctx = self._rt.start(definition.name, **given)
        if definition.has_help and given.pop(HELP_ARGUMENT, False):
            ctx.policy_passed()
            return ctx.ok(definition.readme)
        values = self._values(given)
        self._argument_vector(values)  # may refuse the call before anything happens
        bundle = self._read_unchanged()
        ctx.policy_passed()
        with ExitStack() as stack:
            if bundle is not None and SKILL_DIR in placeholder_names(definition.words):
                values[SKILL_DIR] = stack.enter_context(copy_bundle(bundle, self._workspace))
            argv = self._argument_vector(values)
            done = self._run(
                (*_START_PREFIX, *argv) if "/" in argv[0] and not argv[0].startswith("/") else argv,
                stdin=format_value(values.get(definition.stdin or "")).encode(errors="replace"),
                timeout_s=definition.timeout_s,
                max_output_bytes=definition.max_output_bytes,
                network=self._network,
            )
        return _to_result(done, definition.timeout_s)

    def _values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        require_values(_required_names(self._definition), given)
        return _drop_fillers(self._definition, given)

    def _argument_vector(self, values: Mapping[str, Any]) -> list[str]:
        definition = self._definition
        argv = fill_words(definition.words, {SKILL_DIR: ".", **values}, self._dash_allowed)
        if definition.takes_args:
            for word in values.get(ARGS, ()):
                if not definition.allow_dash:
                    refuse_dash(word, ARGS)
                argv.append(word)
        return argv

    def _read_unchanged(self) -> Bundle | None:
        """The tool's files; refused if they have changed since the tool was loaded."""
        definition = self._definition
        if definition.read is None:
            return None
        with suppress(OSError, UnusableTool):
            bundle = definition.read()
            if bundle.hash == definition.hash:
                return bundle
        raise Denied(
            Reason.PRECONDITION_FAILED,
            f"The files of the tool {definition.name!r} have changed since it was loaded.",
            hint="Load the tools again, with reload_tools or by a restart.",
        )


def _to_result(done: Completed, timeout_s: float) -> ToolResult:
    """The result of a call whose program has ended."""
    stdout, stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    text = f"{stdout}\n--- stderr ---\n{stderr}" if stderr else stdout
    text += "\n[output truncated]" if done.truncated else ""
    if done.timed_out:
        return _failed_result(
            done, Reason.TIMED_OUT, f"The tool took longer than {timeout_s:.3g} s and was ended.", text
        )
    if done.exit_code:
        return _failed_result(done, Reason.NONZERO_EXIT, f"The tool ended with status {done.exit_code}.", text)
    data = None
    if stderr:
        with suppress(ValueError):
            data = json.loads(stdout)  # without standard error, the gate parses the text itself
    text = text or f"Command completed with exit code {done.exit_code}"
    return ToolResult("ok", text, data=data, exit_code=0, truncated=done.truncated)


def _failed_result(done: Completed, reason: Reason, message: str, text: str) -> ToolResult:
    output = f"ERROR: {reason}\n{text or message}"
    return ToolResult(
        "error", output, reason=str(reason), message=message, exit_code=done.exit_code, truncated=done.truncated
    )
