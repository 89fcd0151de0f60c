"""Turns pydantic's errors about a profile or a policy into faults with a place, in words for users."""

import re
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from toolcharter.errors import Fault, did_you_mean
from toolcharter.profile.forms import FAULT, FORMS, MISMATCH, Expected, Form, MapOf, TextOr, keys_of
from toolcharter.profile.names import quote_list_item
from toolcharter.profile.nodes import KeyPath, Places, describe_value, dotted, short_repr

if typing.TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_TYPE_NAMES = {
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
"""The expected type for each family of pydantic's `*_type` and `*_parsing` errors."""

_QUOTED = re.compile(r"'([^']*)'")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_BOOLEANS = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
_CONSTRAINTS = {
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
"""Errors about a value, each with the expected value, formatted from pydantic's context."""
_KEY_LOCATION = "[key]"
"""pydantic's location part after the name of a mapping's key whose name it refuses."""


def faults_of(error: "ValidationError", places: Places, prefix: KeyPath = (), model: Any = None) -> Iterator[Fault]:
    """Yield the faults of a profile or of one policy, each with its place in the profile.

    Args:
        error: The error of validating the values at *prefix*.
        places: The places of the profile that the values come from.
        prefix: The path of the values in the profile, such as `("tools", "git")`.
        model: The policy's model, or a form; with it, misspelt keys get near matches.
    """
    wanted: dict[tuple[KeyPath, str], list[tuple[str, str]]] = {}
    """For each wrong value, what each member of a union expected, with the likely fix."""
    # Of two faults at one place, a misspelt key comes before the missing key.
    for one in sorted(error.errors(include_url=False), key=lambda one: one["type"] == "missing"):
        path = places.existing_part((*prefix, *one["loc"]))
        if (found := _key_fault(one, path, places, model)) is not None:
            yield found
        elif expected := _expected(one, path, model):
            key, value = one.get("ctx", {}).get("key"), one["input"]
            wrong = ((*path, key), describe_value(value[key])) if key else (path, describe_value(value))
            wanted.setdefault(wrong, []).append(expected)
        else:
            yield Fault(places.value_of(*path), dotted(path), _to_sentence(one["msg"]), "")
    for (path, there), choices in wanted.items():
        words = " or ".join(dict.fromkeys(choice for choice, _ in choices))
        near = did_you_mean(_QUOTED.sub(r"\1", there.removeprefix("the text ")), _QUOTED.findall(words))
        fix = next((fix for _, fix in choices if fix), "")
        fix = (near or fix) if words.startswith("one of ") else fix or near
        yield Fault(places.value_of(*path), dotted(path), f"expected {words}, found {there}.", fix)


def unknown_key(place: str, path: KeyPath, known: Mapping[str, object]) -> Fault:
    """Return the fault for a key that is not in *known*, with the nearest known key."""
    listed = ", ".join(map(repr, sorted(known)))
    choice = f"Known keys: {listed}." if known else "There are no keys here."
    near = did_you_mean(str(path[-1]), known)
    return Fault(place, dotted(path), f"unknown key {short_repr(path[-1])}.", f"{near} {choice}" if near else choice)


def _key_fault(one: "ErrorDetails", path: KeyPath, places: Places, model: Any) -> Fault | None:
    """Return the fault if it is about a key, or if `fault` has written its sentence."""
    location, context = one["loc"], one.get("ctx", {})
    if one["type"] == "missing":
        fix = _keys_at(model, location[:-1]).get(str(location[-1]), "")
        return Fault(places.value_of(*path), dotted((*path, location[-1])), "the key is missing.", fix)
    if one["type"] == "extra_forbidden":
        own = _form_at(model, location[:-1])
        if own is None or path[-1] not in own.misplaced:
            return unknown_key(places.of(*path), path, _keys_at(model, location[:-1]))
        what = f"the key {path[-1]!r} does not belong here."
        return Fault(places.of(*path), dotted(path), what, own.misplaced[str(path[-1])])
    if one["type"] == FAULT:
        at = (*path, context["key"]) if context["key"] else path
        return Fault(
            (places.of if context["key"] else places.value_of)(*at), dotted(at), context["what"], context["fix"]
        )
    if location[-1:] == (_KEY_LOCATION,) and (names := _map_at(model, location[:-2])):
        at = path[:-1] if path[-1] == _KEY_LOCATION else path
        article = "an" if names.noun[0] in "aeiou" else "a"
        what = f"{short_repr(at[-1])} cannot be the name of {article} {names.noun}."
        return Fault(places.of(*at), dotted(at), what, names.name_fix)
    return None


def _expected(one: "ErrorDetails", path: KeyPath, model: Any) -> tuple[str, str] | None:
    """Return what was expected instead of the value, and the likely fix."""
    kind, value, context = one["type"], one["input"], one.get("ctx", {})
    if kind == MISMATCH:
        return context["expected"], _with_key(context["fix"], path)
    words = _expected_at(model, one["loc"])
    if kind in _CONSTRAINTS:
        expected = _CONSTRAINTS[kind].format(**context)
    else:
        family = kind.removesuffix("_type").removesuffix("_parsing").removesuffix("_attributes")
        expected = _TYPE_NAMES.get(family, "")
    if not expected:
        return None
    if words is None:
        if kind == "literal_error" and model in FORMS:
            expected = f"one of {', '.join(map(repr, _QUOTED.findall(expected)))}"
        return expected, f"Write [{quote_list_item(value)}]." if expected == "a list" and isinstance(value, str) else ""
    return words.expected, _fix(kind, value) or _with_key(words.fix, path)


def _fix(kind: str, value: Any) -> str:
    """Return what to write instead of a value of another type."""
    match kind:
        case "string_type" if isinstance(value, int | float):
            return "Quote it to make it text."
        case "tuple_type" if isinstance(value, str):
            return f"Write [{quote_list_item(value)}]."
        case "int_type" | "float_type" if isinstance(value, str) and _NUMBER.fullmatch(value):
            return "Remove the quotes."
        case "bool_type":
            meant = _BOOLEANS.get(word := str(value).lower(), word)
            return f"Write {meant}." if meant in {"true", "false"} else ""
        case _:
            return ""


def _with_key(fix: str, path: KeyPath) -> str:
    return fix.replace("<key>", str(path[-1])) if path else fix


def _to_sentence(message: str) -> str:
    text = message.removeprefix("Value error, ").removeprefix("Assertion failed, ").rstrip(".")
    text = text.replace("Input should", "The value should")
    return f"{text[:1].lower()}{text[1:]}."


def _keys_at(model: Any, location: KeyPath) -> dict[str, str]:
    """Return the keys of the model or form at *location*, each with what to write if it is missing."""
    found: dict[str, str] = {}
    for one in _types_at(model, location):
        found |= {name: key.fix or "" for name, key in keys_of(one).items()} if one in FORMS else {}
        found |= dict.fromkeys(getattr(one, "model_fields", ()), "")
    return found


def _form_at(model: Any, location: KeyPath) -> Form | None:
    return next((FORMS[one] for one in _types_at(model, location) if one in FORMS), None)


def _map_at(model: Any, location: KeyPath) -> MapOf | None:
    return next(
        (one for part in _alternatives_at(model, location) for one in part.metadata if isinstance(one, MapOf)), None
    )


def _expected_at(model: Any, location: KeyPath) -> Expected | None:
    """Return the words for the value at *location*."""
    for part in _alternatives_at(model, location):
        for one in reversed(part.metadata):
            words = one if isinstance(one, Expected) else getattr(one, "words", None)
            if isinstance(words, Expected):
                return words
    own = _form_at(model, location)
    return None if own is None else own.words


def _types_at(model: Any, location: KeyPath) -> list[Any]:
    return [part.kind for part in _alternatives_at(model, location)]


class _Alternative(NamedTuple):
    """One alternative of an annotation."""

    kind: Any
    metadata: tuple[Any, ...] = ()


def _alternatives_at(model: Any, location: KeyPath) -> list[_Alternative]:
    """Return the types at *location*, a path through lists, mappings and, for pydantic, names of alternatives."""
    found = [] if model is None else [_Alternative(model)]
    for key in location:
        found = [part for one in found for part in _alternatives_below(one.kind, key)] or found
    return found


def _alternatives_below(kind: Any, key: str | int) -> Iterator[_Alternative]:
    arguments = typing.get_args(kind)
    if kind in FORMS:
        fields = {name: one.annotation for name, one in keys_of(kind).items()}
    else:
        fields = {name: one.annotation for name, one in getattr(kind, "model_fields", {}).items()}
    if key in fields:
        yield from _split_union(fields[str(key)])
    elif isinstance(key, int):
        for argument in arguments:
            yield from _split_union(argument)
    elif len(arguments) == len(("key", "value")):
        yield from _split_union(arguments[1])


def _split_union(annotation: Any, metadata: tuple[Any, ...] = ()) -> Iterator[_Alternative]:
    metadata = (*getattr(annotation, "__metadata__", ()), *metadata)
    kind = getattr(annotation, "__origin__", annotation) if hasattr(annotation, "__metadata__") else annotation
    if typing.get_origin(kind) in {typing.Union, types.UnionType}:
        for choice in typing.get_args(kind):
            yield from _split_union(choice, metadata)
    else:
        yield _Alternative(next((one.long for one in metadata if isinstance(one, TextOr)), kind), metadata)
