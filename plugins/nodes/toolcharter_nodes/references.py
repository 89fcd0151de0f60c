"""References to outputs in the arguments of a call. Pure.

A reference is a JSON object with one key, `{"$output": "NODE.text"}` or `{"$output": "NODE.data.KEY.0"}`. The output
replaces the whole object. No part of a text is ever replaced, and an output is not searched for references.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from toolcharter import ToolError
from toolcharter_nodes.policy import NodesReason

KEY = "$output"
MAX_DEPTH = 32
"""How deep arguments may be nested before outputs are inserted."""
_REFERENCE_FORM = re.compile(r"([A-Za-z0-9_-]{1,64})\.(text|data)((?:\.[^.\s]{1,200}){0,16})")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


class Output(NamedTuple):
    """The output of a call."""

    text: str | None
    """None if the text is too large to be referred to."""
    data: Any
    is_data_kept: bool = True


class Reference(NamedTuple):
    """The place of a value in the outputs of a graph."""

    node: str
    part: str
    """`text` or `data`."""
    path: tuple[str, ...]
    """Keys of objects and indexes of arrays below `data`."""

    def __str__(self) -> str:
        return ".".join((self.node, self.part, *self.path))


def parse_reference(written: object) -> Reference:
    """Parse a reference such as `find.data.files.0`.

    Raises:
        ToolError: `invalid_reference`.
    """
    found = _REFERENCE_FORM.fullmatch(written) if isinstance(written, str) else None
    if found is None or (found[2] == "text" and found[3]):
        what = f"{str(written)[:80]!r} is no reference to an output."
        hint = f'Write {{"{KEY}": "NODE.text"}} or {{"{KEY}": "NODE.data.KEY.0"}}.'
        raise ToolError(what, reason=NodesReason.INVALID_REFERENCE, hint=hint)
    return Reference(found[1], found[2], tuple(found[3].split(".")[1:]))


def references_in(value: Any, depth: int = 0) -> Iterator[Reference]:
    """Yield the references in *value*, in order.

    Raises:
        ToolError: `invalid_reference`, if an object has the key `$output` but is no reference; `too_large`, if *value*
            is nested too deep.
    """
    if depth > MAX_DEPTH:
        raise ToolError(f"Arguments are nested more than {MAX_DEPTH} levels deep.", reason=NodesReason.TOO_LARGE)
    if isinstance(value, dict):
        if KEY in value:
            yield _reference(value)
            return
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from references_in(item, depth + 1)


def _reference(value: Mapping[str, Any]) -> Reference:
    if len(value) > 1:
        what = f"An object with {KEY!r} is a reference, and may have no other key."
        raise ToolError(what, reason=NodesReason.INVALID_REFERENCE)
    return parse_reference(value[KEY])


def size_of(value: Any) -> int:
    """Return the size of *value* as JSON, in bytes."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))


class ReferenceFiller:
    """Replaces references by outputs, as long as the arguments stay within a size limit."""

    def __init__(self, outputs: Mapping[str, Output], max_bytes: int) -> None:
        self._outputs = outputs
        self._most = max_bytes
        self._left = max_bytes

    def fill(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return *arguments* with all references replaced by outputs.

        Raises:
            ToolError: `missing_output` or `too_large`.
        """
        self._left = self._most - size_of(arguments)
        return {name: self._replace_references(value) for name, value in arguments.items()}

    def _replace_references(self, value: Any) -> Any:
        if isinstance(value, dict):
            if KEY in value:
                return self._resolve(_reference(value))
            return {key: self._replace_references(item) for key, item in value.items()}
        return [self._replace_references(item) for item in value] if isinstance(value, list) else value

    def _resolve(self, reference: Reference) -> Any:
        found = look_up(reference, self._outputs)
        # Count before the next reference is read: a few references could expand beyond the memory.
        self._left -= size_of(found)
        if self._left < 0:
            what = f"With the output {str(reference)!r} the arguments have more than {self._most} bytes."
            raise ToolError(what, reason=NodesReason.TOO_LARGE)
        return found


def look_up(reference: Reference, outputs: Mapping[str, Output]) -> Any:
    """Look up the value of *reference*.

    Raises:
        ToolError: `missing_output`; `too_large`, if the output was too large to be kept.
    """
    output = outputs.get(reference.node)
    if output is None:
        raise _missing(reference, "has no output")
    if (output.text is None) if reference.part == "text" else not output.is_data_kept:
        what = f"The {reference.part} of {reference.node!r} is too large to be referred to."
        raise ToolError(what, reason=NodesReason.TOO_LARGE)
    if reference.part == "text":
        return output.text
    value = output.data
    if value is None:
        raise _missing(reference, "has returned no data")
    for step in reference.path:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and _INDEX.fullmatch(step) and int(step) < len(value):
            value = value[int(step)]
        else:
            raise _missing(reference, f"has returned nothing at {step!r}")
    return value


def _missing(reference: Reference, why: str) -> ToolError:
    return ToolError(f"{str(reference)!r}: {reference.node!r} {why}.", reason=NodesReason.MISSING_OUTPUT)
