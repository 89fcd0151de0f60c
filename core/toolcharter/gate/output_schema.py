"""The JSON Schema of a tool's `data`: from its spec, or from its function's return type."""

from collections.abc import Mapping
from typing import Any, is_typeddict

from pydantic import BaseModel, TypeAdapter

from toolcharter.gate.function import ToolFunction
from toolcharter.spec.tool import ToolSpec


def output_schema(spec: ToolSpec[Any], function: ToolFunction) -> dict[str, Any] | None:
    """The schema, or None if the tool says nothing about its `data`."""
    if isinstance(spec.output, Mapping):
        return dict(spec.output)
    declared = spec.output or function.returns
    if is_typeddict(declared) or (isinstance(declared, type) and issubclass(declared, BaseModel)):
        return TypeAdapter(declared).json_schema()
    return None
