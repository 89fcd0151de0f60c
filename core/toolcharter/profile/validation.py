"""Turns what pydantic says about a policy into faults with places and words for people."""

import re
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from toolcharter.errors import Fault, did_you_mean
from toolcharter.profile.nodes import KeyPath, Places, described, dotted
from toolcharter.profile.shapes import in_a_list, unknown_key

if typing.TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

_EXPECTED = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "frozen_set": "a list",
    "dict": "a mapping",
    "model": "a mapping",
    "dataclass": "a mapping",
    "path": "a path",
    "bytes": "text",
    "date": "a date",
    "datetime": "a date and time",
    "time_delta": "a span of time",
    "none_required": "nothing",
}
"""What each family of pydantic's `*_type` and `*_parsing` errors wanted."""

_QUOTED = re.compile(r"'([^']*)'")
_BOUNDS = {
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "less_than": "a number below {lt}",
    "less_than_equal": "a number of at most {le}",
    "multiple_of": "a multiple of {multiple_of}",
    "string_too_short": "text of at least {min_length} characters",
    "string_too_long": "text of at most {max_length} characters",
    "string_pattern_mismatch": "text that matches {pattern!r}",
    "too_short": "at least {min_length} items",
    "too_long": "at most {max_length} items",
    "literal_error": "one of {expected}",
    "enum": "one of {expected}",
    "int_from_float": "a whole number",
    "finite_number": "a finite number",
}
"""Errors about the value, each with what was expected, from pydantic's context."""


def faults_of(
    error: "ValidationError", places: Places, prefix: KeyPath, model: "type[BaseModel] | None" = None
) -> Iterator[Fault]:
    """The faults of one policy, each at its place in the profile.

    Args:
        error: What validating the values at *prefix* raised.
        places: Of the profile the values come from.
        prefix: Where in the profile they stand, such as `("tools", "git")`.
        model: The policy's model; with it, misspelt keys get near matches.
    """
    wanted: dict[tuple[KeyPath, str], list[str]] = {}
    """Of each wrong value, what each member of a union expected."""
    lists: dict[tuple[KeyPath, str], str] = {}
    """The texts among them that stand where a list may."""
    for one in error.errors(include_url=False):
        path = places.known((*prefix, *one["loc"]))
        match one["type"]:
            case "missing":
                path = (*path, one["loc"][-1])
                yield Fault(places.of(*path), dotted(path), "the key is missing.", "")
            case "extra_forbidden":
                yield unknown_key(places.of(*path), path, _known_keys(model, one["loc"][:-1]))
            case _ if expected := _expected(one["type"], one.get("ctx", {})):
                wrong = (path, described(one["input"]))
                wanted.setdefault(wrong, []).append(expected)
                if expected == "a list" and isinstance(one["input"], str):
                    lists[wrong] = f"Write [{in_a_list(one['input'])}]."
            case _:
                yield Fault(places.value_of(*path), dotted(path), _sentence(one["msg"]), "")
    for wrong, choices in wanted.items():
        path, found = wrong
        expected = " or ".join(dict.fromkeys(choices))
        fix = did_you_mean(_QUOTED.sub(r"\1", found.removeprefix("the text ")), _QUOTED.findall(expected))
        fix = lists.get(wrong) or fix
        yield Fault(places.value_of(*path), dotted(path), f"expected {expected}, found {found}.", fix)


def _expected(kind: str, context: Mapping[str, Any]) -> str | None:
    if kind in _BOUNDS:
        return _BOUNDS[kind].format(**context)
    family = kind.removesuffix("_type").removesuffix("_parsing").removesuffix("_attributes")
    return _EXPECTED.get(family)


def _sentence(message: str) -> str:
    text = message.removeprefix("Value error, ").removeprefix("Assertion failed, ").rstrip(".")
    text = text.replace("Input should", "The value should")
    return f"{text[:1].lower()}{text[1:]}."


def _known_keys(model: "type[BaseModel] | None", location: KeyPath) -> dict[str, object]:
    """The keys of the model at *location*, which may pass through lists, mappings and unions."""
    models = [] if model is None else [model]
    for part in location:
        fields = [below.model_fields[part] for below in models if isinstance(part, str) and part in below.model_fields]
        models = [below for one in fields for below in _models_in(one.annotation)] or models
    return {name: field for below in models for name, field in below.model_fields.items()}


def _models_in(annotation: Any) -> Iterator["type[BaseModel]"]:
    if isinstance(annotation, type) and hasattr(annotation, "model_fields"):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)
