"""Formats the tools of a host for each model's API."""

import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, Literal, NamedTuple, get_args

Format = Literal["openai", "openai-chat", "anthropic", "mcp", "json"]
"""`openai` is for the Responses API, `openai-chat` for Chat Completions; `json` is toolcharter's own format."""
FORMATS: tuple[str, ...] = get_args(Format)
REFUSAL: dict[str, Any] = {
    "title": "Refusal",
    "description": "The call was denied, or failed.",
    "type": "object",
    "properties": {
        "outcome": {"type": "string", "enum": ["denied", "error"]},
        "reason": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "message": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "hint": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "retryable": {"type": "boolean"},
    },
    "required": ["outcome", "reason", "message", "hint", "retryable"],
}
"""JSON Schema of `HostResult.structured` for a call that was denied or failed."""


class HostTool(NamedTuple):
    """One tool as a host shows it to a model."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema of the arguments."""
    output_schema: dict[str, Any] | None
    """JSON Schema of the structured result; None if the tool does not declare it."""
    capabilities: tuple[str, ...] | None
    """The tool's capabilities, sorted; None if it does not declare them."""
    safety: str
    """`low`, `medium` or `high`."""
    kind: str
    """`builtin`, `bash`, `cli`, `mcp` or `custom`."""

    @property
    def reads_only(self) -> bool:
        """Whether it declares only capabilities that end in `:read`, so that it changes nothing."""
        return self.capabilities is not None and all(word.rpartition(":")[2] == "read" for word in self.capabilities)

    @property
    def reaches_out(self) -> bool:
        """Whether it may reach the network, or does not declare its capabilities."""
        return self.capabilities is None or any(word.partition(":")[0] in {"net", "proc"} for word in self.capabilities)


def formatted(tools: Iterable[HostTool], form: Format, *, strict: bool = False) -> list[dict[str, Any]]:
    """Format *tools* for the API *form*.

    Args:
        tools: The tools, in the order for the model.
        form: One of `FORMATS`.
        strict: For OpenAI's formats: write schemas for strict mode, in which every argument is required. Arguments with
            a default become nullable; the gate drops nulls, so that the default applies.

    Raises:
        ValueError: *form* is none of `FORMATS`.

    Source: OpenAI "Function calling", Anthropic "Tool use", MCP 2026-07-28 "Tools".
    """
    if form == "openai":
        return [{"type": "function", **_function_schema(tool, strict=strict)} for tool in tools]
    if form == "openai-chat":
        return [{"type": "function", "function": _function_schema(tool, strict=strict)} for tool in tools]
    if form == "anthropic":
        return [{"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in tools]
    if form == "mcp":
        return [_mcp_tool(tool) for tool in tools]
    if form == "json":
        return [tool._asdict() for tool in tools]
    raise ValueError(f"{form!r} is none of {', '.join(FORMATS)}.")


def arguments_of(text: str) -> Any:
    """Parse the arguments that a model wrote as JSON. If *text* is no JSON, return it unchanged; the gate refuses it.

    A blank text means no arguments.
    """
    if not text.strip():
        return {}
    try:
        return json.loads(text)
    except ValueError:
        return text


def _function_schema(tool: HostTool, *, strict: bool) -> dict[str, Any]:
    parameters = strict_schema(tool.parameters) if strict else tool.parameters
    return {"name": tool.name, "description": tool.description, "parameters": parameters, "strict": strict}


def _mcp_tool(tool: HostTool) -> dict[str, Any]:
    annotations = {
        "title": tool.name,
        "readOnlyHint": tool.reads_only,
        "destructiveHint": not tool.reads_only and tool.safety == "high",
        "idempotentHint": tool.reads_only,
        "openWorldHint": tool.reaches_out,
    }
    shown = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.parameters,
        "annotations": annotations,
    }
    return shown if tool.output_schema is None else {**shown, "outputSchema": structured_schema(tool.output_schema)}


def structured_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of `HostResult.structured` for a tool whose data has *schema*.

    It permits the data, under `result` if it is no object, or a refusal. MCP clients also validate error results:
    without the refusal they would take a denial for a fault of the server, and the model would never read the reason.
    """
    own = dict(schema)
    shared: dict[str, Any] = {key: own.pop(key) for key in ("$defs", "definitions") if key in own}
    under_result = {"type": "object", "properties": {"result": own}, "required": ["result"]}
    kind = own.get("type")
    data = [own] if kind == "object" else [under_result] if kind else [own, under_result]
    return {"type": "object", "anyOf": [*data, deepcopy(REFUSAL)], **shared}


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Convert *schema* for OpenAI's strict mode: objects are closed, and optional properties become nullable.

    Source: OpenAI "Structured model outputs", "Supported schemas".
    """
    strict: dict[str, Any] = deepcopy(dict(schema))
    return _close_objects(strict)


def _close_objects(schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties")
    if isinstance(properties, dict):
        required = set(schema.get("required", ()))
        schema["properties"] = {
            name: _close_objects(item) if name in required else _make_nullable(_close_objects(item))
            for name, item in properties.items()
        }
        schema["required"] = list(properties)
        schema["additionalProperties"] = False
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            schema[key] = _close_objects(schema[key])
    for key in ("anyOf", "allOf", "oneOf"):
        if isinstance(schema.get(key), list):
            schema[key] = [_close_objects(item) if isinstance(item, dict) else item for item in schema[key]]
    definitions = schema.get("$defs")
    if isinstance(definitions, dict):
        schema["$defs"] = {name: _close_objects(item) for name, item in definitions.items()}
    return schema


def _make_nullable(schema: dict[str, Any]) -> dict[str, Any]:
    schema.pop("default", None)  # strict mode does not support it
    return {"anyOf": [schema, {"type": "null"}]}
