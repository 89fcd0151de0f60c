"""Stages 1 and 2, arguments: canonical names, one JSON form, and the gate's own validation.

The gate never relies on a host's validation. The body gets the values that were validated, from
the same bytes that policy and events saw.
"""

import json
from collections.abc import Mapping
from copy import deepcopy
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import CoreConfig, SchemaValidator, to_jsonable_python

from toolcharter._lazy import lazy
from toolcharter.api.policy import require_finite
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import SpecError, did_you_mean
from toolcharter.gate.build.tool_function import ToolFunction
from toolcharter.gate.call import to_json_values

if TYPE_CHECKING:
    import jsonschema_rs
else:
    jsonschema_rs = lazy("jsonschema_rs")

_STRICT = ConfigDict(strict=True, extra="forbid", arbitrary_types_allowed=False)
_MAX_FAULTS = 5


class InvalidArguments(Exception):
    """The arguments are not valid; the text says why, for the model."""


class ArgumentReader:
    """Reads the arguments of one tool. Made once, when the tool is built, and used on every call."""

    def __init__(self, spec: ToolSpec[Any], function: ToolFunction) -> None:
        self._aliases = {**spec.argument_aliases}
        self._validator = (
            _SchemaArguments(spec.name, spec.parameters)
            if spec.parameters is not None
            else _SignatureArguments(spec.name, function)
        )
        self.validate = self._validator.read
        """Stage 2: turns JSON into the arguments that the body is called with, with defaults.

        Raises `InvalidArguments` with every fault, up to five."""
        self._names = self._validator.names
        is_closed = spec.parameters is None or (
            spec.parameters.get("additionalProperties") is False and not spec.parameters.get("patternProperties")
        )
        self.closed_names = self._names if is_closed else None
        """The names of all arguments; None if a schema of the plugin's own may permit others."""
        self._optional_names = self._validator.optional_names
        unknown = sorted(set(self._aliases.values()) - self._names)
        clashes = sorted(set(self._aliases) & self._names)
        if self._names and (unknown or clashes):
            raise SpecError(
                f"ToolSpec {spec.name!r}: argument_aliases "
                + (f"lead to unknown arguments {unknown}" if unknown else f"{clashes} are arguments themselves")
            )

    def canonicalize(self, given: Mapping[str, Any]) -> tuple[str | None, bytes]:
        """Stage 1: replace aliases by names, drop nulls, and make `action` lower case.

        Returns:
            The action, if there is one, and the arguments as JSON. Later stages see only this JSON.

        Raises:
            InvalidArguments: *given* is no mapping or cannot be JSON, or an argument and its alias have different
                values.
        """
        if type(given) is not dict and not isinstance(given, Mapping):
            raise InvalidArguments(f"arguments must be a mapping by name, not {type(given).__name__}")
        args = dict(given)
        if self._aliases and not self._aliases.keys().isdisjoint(args):
            args = self._replace_aliases(args)
        if None in args.values():
            args = {
                name: value for name, value in args.items() if value is not None or name not in self._optional_names
            }
        action = args.get("action")
        if action is not None:
            action = args["action"] = action.strip().lower() if isinstance(action, str) else action
        try:
            raw = orjson.dumps(args)
            if b"null" in raw:  # orjson writes numbers that are not finite as null.
                require_finite(args)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidArguments(f"arguments are no JSON: {error}") from error
        return action if isinstance(action, str) else None, raw

    def without_defaults(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Validated arguments as JSON types, without those that have their default."""
        defaults = self._validator.defaults
        return {
            name: value
            for name, value in to_json_values(values).items()
            if name not in defaults or not _is_same(value, defaults[name])
        }

    def _replace_aliases(self, args: dict[str, Any]) -> dict[str, Any]:
        renamed = {name: value for name, value in args.items() if name not in self._aliases}
        for alias, value in args.items():
            name = self._aliases.get(alias)
            if name is None or (value is None and (name in self._optional_names or name in renamed)):
                continue
            # Models set arguments that they do not use to null. So a null counts as absent if there is a value.
            if renamed.get(name) is not None and (renamed[name] != value or type(renamed[name]) is not type(value)):
                raise InvalidArguments(f"{alias!r} is another name of {name!r}, and they have different values")
            renamed[name] = value
        return renamed

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments, with the docstring's descriptions."""
        return self._validator.schema


class _SignatureArguments:
    """Validation by a Python signature, through pydantic-core."""

    def __init__(self, tool: str, function: ToolFunction) -> None:
        self._function = function
        parameters = function.parameters
        self.names = frozenset(parameters)
        self.optional_names = frozenset(name for name, item in parameters.items() if item.default is not item.empty)
        # Aliases keep a parameter such as `model_config` or `json` apart from the model's own names.
        fields: dict[str, Any] = {
            f"p_{name}": (
                item.annotation,
                Field(default=... if item.default is item.empty else item.default, alias=name),
            )
            for name, item in parameters.items()
        }
        try:
            self._model = create_model("Arguments", __config__=_STRICT, **fields)
            schema: Any = self._model.__pydantic_core_schema__
        except PydanticUserError as error:
            raise SpecError(
                f"ToolSpec {tool!r}: an argument's type cannot be validated: {error.message.rstrip('.')}"
            ) from error
        self._validator = SchemaValidator(_fields_only(schema), CoreConfig(strict=True))

    def read(self, raw: bytes) -> dict[str, Any]:
        """Validate JSON text strictly: `"5"` is no number."""
        try:
            values: dict[str, Any] = self._validator.validate_json(raw, strict=True)[0]
        except ValidationError as error:
            raise InvalidArguments(self._explain(error)) from error
        return values

    def _explain(self, error: ValidationError) -> str:
        lines = []
        for fault in error.errors(include_url=False, include_context=False, include_input=False)[:_MAX_FAULTS]:
            place = ".".join(map(str, fault["loc"]))
            if fault["type"] == "extra_forbidden":
                near = did_you_mean(place, self.names)
                lines.append(f"{place}: no such argument. {near or 'Known: ' + ', '.join(sorted(self.names)) + '.'}")
            elif fault["type"] == "missing":
                lines.append(f"{place}: required")
            else:
                lines.append(f"{place}: {fault['msg']}")
        return "\n".join(lines)

    @property
    def defaults(self) -> dict[str, Any]:
        """The defaults of the optional arguments by name, as JSON types."""
        written = {
            name: item.default for name, item in self._function.parameters.items() if name in self.optional_names
        }
        return {name: to_jsonable_python(default, fallback=repr) for name, default in written.items()}

    @cached_property
    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = self._model.model_json_schema(by_alias=True)
        described = self._function.argument_descriptions
        for name, field in schema.get("properties", {}).items():
            field.pop("title", None)
            if described.get(name):
                field.setdefault("description", described[name])
        schema.pop("title", None)
        return schema


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON, in which `1`, `1.0` and `true` differ."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _fields_only(schema: Any) -> Any:
    """Return a model's core schema without the model: validation gives a dictionary, at a third of the cost."""
    if schema["type"] == "definitions":
        return {**schema, "schema": _fields_only(schema["schema"])}
    fields = {
        name.removeprefix("p_"): {key: value for key, value in field.items() if key != "validation_alias"}
        for name, field in schema["schema"]["fields"].items()
    }
    return {"type": "model-fields", "fields": fields, "extra_behavior": "forbid"}


class _SchemaArguments:
    """Validation by a JSON Schema of the plugin, for tools that are no Python functions."""

    def __init__(self, tool: str, schema: Mapping[str, Any]) -> None:
        self.schema: dict[str, Any] = {**schema}
        properties = schema.get("properties", {})
        self.names = frozenset(properties)
        self.defaults = {
            name: item["default"]
            for name, item in properties.items()
            if isinstance(item, Mapping) and "default" in item
        }
        self.optional_names = frozenset(self.names - set(schema.get("required", ())))
        try:
            # Patterns match in linear time, and no reference is ever fetched from outside.
            self._validator: Any = jsonschema_rs.validator_for(
                self.schema, pattern_options=jsonschema_rs.RegexOptions(), retriever=_refuse_to_fetch
            )
        except (jsonschema_rs.ValidationError, ValueError) as error:
            raise SpecError(f"ToolSpec {tool!r}: parameters cannot be used: {str(error).splitlines()[0]}") from error

    def read(self, raw: bytes) -> dict[str, Any]:
        """Validate JSON text and fill in the top level's defaults."""
        # A body may change a list that it is given. The default of the next call must stay what policy has seen.
        values: dict[str, Any] = {**deepcopy(self.defaults), **orjson.loads(raw)}
        faults = [
            f"{'.'.join(map(str, error.instance_path)) or 'arguments'}: {error.message}"
            for error, _ in zip(self._validator.iter_errors(values), range(_MAX_FAULTS), strict=False)
        ]
        if faults:
            raise InvalidArguments("\n".join(faults))
        return values


def _refuse_to_fetch(uri: str) -> Any:
    raise ValueError(f"{uri!r} is an external reference, which is never fetched")
