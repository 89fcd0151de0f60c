"""What a constructor returned, taken apart: the function, its parameters, its documentation."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, get_type_hints

from toolcharter._lazy import lazy
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import SpecError
from toolcharter.gate.build.typed_dicts import readable

if TYPE_CHECKING:
    import docstring_parser
else:
    docstring_parser = lazy("docstring_parser")

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True)
class ToolFunction:
    """A tool's function with all that its signature and docstring say."""

    call: Callable[..., Any]
    parameters: Mapping[str, inspect.Parameter]
    """By name; annotations are resolved. Empty if the spec brings a JSON Schema."""
    returns: Any
    is_async: bool

    @cached_property
    def _docstring(self) -> Any:

        return docstring_parser.parse(inspect.getdoc(_innermost(self.call)) or "")

    @property
    def description(self) -> str:
        """The description given to Strands' `@tool`, else the docstring up to its first section."""
        described = getattr(self.call, "tool_spec", None)
        if isinstance(described, Mapping) and isinstance(described.get("description"), str):
            return str(described["description"])
        parts = (self._docstring.short_description, self._docstring.long_description)
        return "\n\n".join(part for part in parts if part)

    @property
    def argument_descriptions(self) -> dict[str, str]:
        """Texts in `Annotated` types, then the docstring's `Args:` section."""
        texts = {item.arg_name: item.description or "" for item in self._docstring.params}
        for name, parameter in self.parameters.items():
            notes = (note for note in getattr(parameter.annotation, "__metadata__", ()) if isinstance(note, str))
            texts[name] = next(notes, texts.get(name, ""))
        return texts


def inspect_function(spec: ToolSpec[Any], built: object) -> ToolFunction:
    """Look at what *spec*'s constructor returned.

    Raises:
        SpecError: It is no function, one whose arguments cannot be given by name, or one that cannot run as the
            spec says.
    """
    if not callable(built):
        raise SpecError(f"ToolSpec {spec.name!r}: its constructor returned {built!r}, not a function")
    *_, inner = layers = list(_layers(built))
    if inspect.isgeneratorfunction(built) or inspect.isasyncgenfunction(built):
        raise SpecError(f"ToolSpec {spec.name!r}: its function is a generator; a tool returns its result in one piece")
    is_async = any(map(inspect.iscoroutinefunction, layers))
    if is_async and spec.isolate:
        raise SpecError(
            f"ToolSpec {spec.name!r}: an asynchronous function is not isolated: it is cancelled at its deadline anyway"
        )
    parameters = inspect.signature(built).parameters
    if spec.parameters is not None:
        return ToolFunction(built, {}, None, is_async)
    unnamed = [name for name, parameter in parameters.items() if parameter.kind not in _NAMED]
    if unnamed:
        raise SpecError(
            f"ToolSpec {spec.name!r}: the arguments {', '.join(map(repr, unnamed))} of its function cannot be "
            "given by name"
        )
    try:
        hints = get_type_hints(inner, include_extras=True)
    except (NameError, TypeError) as error:
        raise SpecError(f"ToolSpec {spec.name!r}: an annotation of its function cannot be resolved: {error}") from error
    resolved = {name: item.replace(annotation=readable(hints.get(name, Any))) for name, item in parameters.items()}
    return ToolFunction(built, resolved, hints.get("return"), is_async)


def _innermost(built: Any) -> Any:
    *_, inner = _layers(built)
    return inner


def _layers(built: Any) -> Iterator[Any]:
    """*built* and what lies below: decorators (Strands' `@tool` sets `__wrapped__` too), partials, `__call__`."""
    layer, seen = built, set[int]()
    while id(layer) not in seen:
        seen.add(id(layer))
        yield layer
        layer = _below(layer)


def _below(layer: Any) -> Any:
    if isinstance(layer, partial):
        return layer.func
    return getattr(layer, "__wrapped__", layer if inspect.isroutine(layer) else layer.__call__)
