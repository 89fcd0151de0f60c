"""The JSON Schema of a tool's `data`: from its spec, or from its function's return type."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from typing_extensions import is_typeddict  # typing's own knows only its own kind

from toolcharter.api.tool import ToolSpec
from toolcharter.errors import SpecError
from toolcharter.gate.build.tool_function import ToolFunction
from toolcharter.gate.build.typed_dicts import readable


def output_schema(spec: ToolSpec[Any], function: ToolFunction) -> dict[str, Any] | None:
    """The schema, or None if the tool says nothing about its `data`.

    Raises:
        SpecError: The declared type has no schema.
    """
    if isinstance(spec.output, Mapping):
        return dict(spec.output)
    declared = readable(spec.output or function.returns)
    if is_typeddict(declared) or (isinstance(declared, type) and issubclass(declared, BaseModel)):
        try:
            return TypeAdapter(declared).json_schema()
        except (PydanticUserError, PydanticUndefinedAnnotation) as error:
            raise SpecError(f"ToolSpec {spec.name!r}: its output cannot be described: {error.message}") from error
    return None
