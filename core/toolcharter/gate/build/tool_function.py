"""Inspects the function that a tool's constructor returned: its parameters, documentation, and the schema of `data`."""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from types import UnionType
from typing import TYPE_CHECKING, Any, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from typing_extensions import TypedDict, is_typeddict  # typing's own knows only its own kind

from toolcharter._lazy import lazy
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import SpecError

if TYPE_CHECKING:
    import docstring_parser
else:
    docstring_parser = lazy("docstring_parser")

_KEYWORD_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, eq=False, repr=False)
class ToolFunction:
    """A tool's function, with the contents of its signature and docstring."""

    call: Callable[..., Any]
    parameters: Mapping[str, inspect.Parameter]
    """By name, with resolved annotations. Empty if the spec has a JSON Schema."""
    returns: Any
    is_async: bool

    @cached_property
    def _docstring(self) -> Any:
        *_, inner = _unwrap_layers(self.call)
        return docstring_parser.parse(inspect.getdoc(inner) or "")

    @property
    def description(self) -> str:
        """The description that Strands' `@tool` was given, else the docstring up to its first section."""
        described = getattr(self.call, "tool_spec", None)
        if isinstance(described, Mapping) and isinstance(described.get("description"), str):
            return str(described["description"])
        parts = (self._docstring.short_description, self._docstring.long_description)
        return "\n\n".join(part for part in parts if part)

    @property
    def argument_descriptions(self) -> dict[str, str]:
        """The description of each argument: the text in its `Annotated` type, else that in the docstring's `Args:`."""
        texts = {item.arg_name: item.description or "" for item in self._docstring.params}
        for name, parameter in self.parameters.items():
            notes = (note for note in getattr(parameter.annotation, "__metadata__", ()) if isinstance(note, str))
            texts[name] = next(notes, texts.get(name, ""))
        return texts


def inspect_function(spec: ToolSpec[Any], built: object) -> ToolFunction:
    """Inspect the object that *spec*'s constructor returned.

    Raises:
        SpecError: It is no function, its arguments cannot be given by name, or it cannot run as the spec says.
    """
    if not callable(built):
        raise SpecError(f"ToolSpec {spec.name!r}: its constructor returned {built!r}, not a function")
    *_, inner = layers = list(_unwrap_layers(built))
    if inspect.isgeneratorfunction(built) or inspect.isasyncgenfunction(built):
        raise SpecError(f"ToolSpec {spec.name!r}: its function is a generator; a tool returns its result in one piece")
    is_async = any(map(inspect.iscoroutinefunction, layers))
    if is_async and spec.isolate:
        raise SpecError(
            f"ToolSpec {spec.name!r}: an asynchronous function cannot be isolated; its deadline cancels it anyway"
        )
    parameters = inspect.signature(built).parameters
    if spec.parameters is not None:
        return ToolFunction(built, {}, None, is_async)
    unnamed = [name for name, parameter in parameters.items() if parameter.kind not in _KEYWORD_KINDS]
    if unnamed:
        raise SpecError(
            f"ToolSpec {spec.name!r}: the arguments {', '.join(map(repr, unnamed))} of its function cannot be "
            "given by name"
        )
    try:
        hints = get_type_hints(inner, include_extras=True)
    except (NameError, TypeError) as error:
        raise SpecError(f"ToolSpec {spec.name!r}: an annotation of its function cannot be resolved: {error}") from error
    resolved = {
        name: item.replace(annotation=adapt_annotation(hints.get(name, Any))) for name, item in parameters.items()
    }
    return ToolFunction(built, resolved, hints.get("return"), is_async)


def _unwrap_layers(built: Any) -> Iterator[Any]:
    """Yield *built* and the callables within it: under decorators (as Strands' `@tool`), partials and `__call__`."""
    layer, seen = built, set[int]()
    while id(layer) not in seen:
        seen.add(id(layer))
        yield layer
        if isinstance(layer, partial):
            layer = layer.func
        else:
            layer = getattr(layer, "__wrapped__", layer if inspect.isroutine(layer) else layer.__call__)


def adapt_annotation(annotation: Any) -> Any:
    """Replace each `typing.TypedDict` in *annotation* by an equal type that pydantic can read.

    A type that contains itself is left as it is, and pydantic's error says what to do. Only needed for Python 3.11.

    Source: https://errors.pydantic.dev/2/u/typed-dict-version
    """
    if sys.version_info >= (3, 12):
        return annotation
    try:
        return _replace_typed_dicts(annotation)
    except RecursionError:
        return annotation


def _replace_typed_dicts(annotation: Any) -> Any:
    if is_typeddict(annotation):
        return _convert_typed_dict(annotation)
    arguments = get_args(annotation)
    replaced = tuple(_replace_typed_dicts(argument) for argument in arguments)
    if replaced == arguments:
        return annotation
    origin: Any = get_origin(annotation)
    if origin in {Union, UnionType}:
        return Union[replaced]  # noqa: UP007 - `|` takes no tuple
    return origin[replaced]


def _convert_typed_dict(annotation: Any) -> Any:
    if type(annotation).__module__ == "typing_extensions":
        return annotation
    fields: dict[str, Any] = {}
    for name, hint in get_type_hints(annotation, include_extras=True).items():
        plain = get_args(hint)[0] if get_origin(hint) in {Required, NotRequired} else hint
        marker: Any = Required if name in annotation.__required_keys__ else NotRequired
        fields[name] = marker[_replace_typed_dicts(plain)]
    make: Any = TypedDict  # checkers know its literal form only
    return make(annotation.__name__, fields)


def output_schema(spec: ToolSpec[Any], function: ToolFunction) -> dict[str, Any] | None:
    """Return the JSON Schema of a tool's `data`, from its spec or its function's return type; None if neither has one.

    Raises:
        SpecError: The declared type has no schema.
    """
    if isinstance(spec.output, Mapping):
        return dict(spec.output)
    declared = spec.output or function.returns
    if is_typeddict(declared) or (isinstance(declared, type) and issubclass(declared, BaseModel)):
        try:
            return deepcopy(_schema_of(declared))
        except (PydanticUserError, PydanticUndefinedAnnotation) as error:
            raise SpecError(f"ToolSpec {spec.name!r}: its output cannot be described: {error.message}") from error
    return None


@lru_cache(maxsize=256)
def _schema_of(declared: Any) -> dict[str, Any]:
    """Return the schema of *declared*. Cached, because pydantic would build the validator again for each toolbox."""
    return TypeAdapter(adapt_annotation(declared)).json_schema()
