"""Turns `key=value` words into arguments of the types that the tool's JSON Schema asks for.

This module refuses nothing that the gate can judge. A value that does not fit the schema stays
text, and the gate answers `invalid_arguments` and writes the events.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click
import orjson

_TYPES: dict[str, type | tuple[type, ...]] = {
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "object": dict,
    "array": list,
}

Schema = Mapping[str, Any]


def group_by_key(words: Iterable[str]) -> dict[str, list[str]]:
    """Group the values of `key=value` words by key; a repeated key has several values.

    Raises:
        click.UsageError: A word has no key or no `=`.
    """
    found: dict[str, list[str]] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals):
            raise click.UsageError(f"{word!r} is not of the form key=value.")
        found.setdefault(key, []).append(value)
    return found


def parse_object(text: str) -> dict[str, Any]:
    """Parse the value of `--args`.

    Raises:
        click.UsageError: It is not a JSON object.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise click.UsageError(f"--args is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise click.UsageError("--args is JSON, but not an object.")
    return value


def convert_types(given: Mapping[str, Sequence[str]], schema: Schema, aliases: Mapping[str, str]) -> dict[str, Any]:
    """Convert texts to the types of the schema.

    Args:
        given: One or more texts for each argument, named as the user did.
        schema: JSON Schema of the tool's arguments.
        aliases: `{alias: argument}` of the tool.

    Raises:
        click.UsageError: An argument that is not an array is given twice.
    """
    properties = schema.get("properties", {})
    return {
        name: _ArgumentReader(name, schema).read(texts, properties.get(aliases.get(name, name), {}))
        for name, texts in given.items()
    }


class _ArgumentReader:
    """Reads the texts of one argument."""

    def __init__(self, name: str, root: Schema) -> None:
        self._name = name
        self._definitions: Mapping[str, Schema] = root.get("$defs", {})

    def read(self, texts: Sequence[str], schema: Schema) -> Any:
        choices = list(self._alternatives(schema))
        arrays = [choice for choice in choices if choice.get("type") == "array"]
        if len(texts) > 1 and not arrays:
            raise click.UsageError(f"{self._name!r} is given {len(texts)} times and takes one value.")
        whole = _json_or_text(texts[0])
        if arrays and not (len(texts) == 1 and isinstance(whole, list)):
            if len(texts) == 1 and _takes_text(choices):
                return texts[0]
            return [self.read([text], arrays[0].get("items", {})) for text in texts]
        if not arrays and _takes_text(choices):
            return texts[0]
        return whole if any(_fits(whole, choice) for choice in choices) else texts[0]

    def _alternatives(self, schema: Schema) -> Iterator[Schema]:
        """Yield the schemas without references and alternatives that *schema* stands for."""
        if "$ref" in schema:
            yield from self._alternatives(self._definitions.get(schema["$ref"].rpartition("/")[2], {}))
        elif alternatives := schema.get("anyOf", schema.get("oneOf")):
            for alternative in alternatives:
                yield from self._alternatives(alternative)
        elif isinstance(schema.get("type"), list):
            yield from ({**schema, "type": one} for one in schema["type"])
        else:
            yield schema


def _takes_text(choices: Iterable[Schema]) -> bool:
    """Whether *choices* accept text. A schema without a type accepts anything, so text stays text."""
    return any(choice.get("type", "string") == "string" for choice in choices)


def _fits(value: Any, schema: Schema) -> bool:
    wanted = _TYPES.get(schema.get("type", ""), ())
    return isinstance(value, wanted) and (isinstance(value, bool) <= (wanted is bool))


def _json_or_text(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
