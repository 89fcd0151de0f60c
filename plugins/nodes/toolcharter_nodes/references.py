"""References to outputs in the arguments of a call. Pure.

A reference is a JSON object with one key, `{"$output": "NODE.text"}` or `{"$output": "NODE.data.KEY.0"}`, and stands for a whole
value. Nothing else is special: no part of a text is replaced, and what an output holds is never read for references.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from toolcharter import ToolError
from toolcharter_nodes.policy import NodesReason

KEY = "$output"
MAX_DEPTH = 32
"""How deep arguments may be nested, as written."""
_WRITTEN = re.compile(r"([A-Za-z0-9_-]{1,64})\.(text|data)((?:\.[^.\s]{1,200}){0,16})")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


class Output(NamedTuple):
    """What a call has given."""

    text: str | None
    """None if it is too large to be referred to; so with `data`."""
    data: Any
    is_data_kept: bool = True


class Reference(NamedTuple):
    """Where in the outputs of a graph a value is."""

    node: str
    part: str
    """`text` or `data`."""
    path: tuple[str, ...]
    """Keys of objects and indexes of arrays below `data`."""

    def __str__(self) -> str:
        return ".".join((self.node, self.part, *self.path))


def read_reference(written: object) -> Reference:
    """The reference that *written* is, such as `find.data.files.0`.

    Raises:
        ToolError: `invalid_reference`.
    """
    found = _WRITTEN.fullmatch(written) if isinstance(written, str) else None
    if found is None or (found[2] == "text" and found[3]):
        what = f"{str(written)[:80]!r} is no reference to an output."
        hint = f'Write {{"{KEY}": "NODE.text"}} or {{"{KEY}": "NODE.data.KEY.0"}}.'
        raise ToolError(what, reason=NodesReason.INVALID_REFERENCE, hint=hint)
    return Reference(found[1], found[2], tuple(found[3].split(".")[1:]))


def references_in(value: Any, depth: int = 0) -> Iterator[Reference]:
    """The references in *value*, in order.

    Raises:
        ToolError: `invalid_reference`, for what has the key of one and is none; `too_large`, for what is nested too deep.
    """
    if depth > MAX_DEPTH:
        raise ToolError(f"Arguments are nested more than {MAX_DEPTH} deep.", reason=NodesReason.TOO_LARGE)
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
        what = f"An object with {KEY!r} is a reference, and has no other key."
        raise ToolError(what, reason=NodesReason.INVALID_REFERENCE)
    return read_reference(value[KEY])


def size_of(value: Any) -> int:
    """How large *value* is as JSON, in bytes."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"))


class Filling:
    """Puts outputs in the places of their references, as long as the whole stays within a size."""

    def __init__(self, outputs: Mapping[str, Output], most_bytes: int) -> None:
        self._outputs = outputs
        self._most = most_bytes
        self._left = most_bytes

    def fill(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """*arguments* with the outputs in them.

        Raises:
            ToolError: `missing_output` or `too_large`.
        """
        self._left = self._most - size_of(arguments)
        return {name: self._filled(value) for name, value in arguments.items()}

    def _filled(self, value: Any) -> Any:
        if isinstance(value, dict):
            if KEY in value:
                return self._taken(_reference(value))
            return {key: self._filled(item) for key, item in value.items()}
        return [self._filled(item) for item in value] if isinstance(value, list) else value

    def _taken(self, reference: Reference) -> Any:
        found = looked_up(reference, self._outputs)
        # Told before the next is looked at: a few references may stand for more than there is memory.
        self._left -= size_of(found)
        if self._left < 0:
            what = f"With the output {str(reference)!r} the arguments have more than {self._most} bytes."
            raise ToolError(what, reason=NodesReason.TOO_LARGE)
        return found


def looked_up(reference: Reference, outputs: Mapping[str, Output]) -> Any:
    """The value that *reference* stands for.

    Raises:
        ToolError: `missing_output`; `too_large`, if it was not kept.
    """
    output = outputs.get(reference.node)
    if output is None:
        raise _missing(reference, "has no output")
    if (output.text is None) if reference.part == "text" else not output.is_data_kept:
        what = f"What {reference.node!r} has given as {reference.part} is too large to be referred to."
        raise ToolError(what, reason=NodesReason.TOO_LARGE)
    if reference.part == "text":
        return output.text
    value = output.data
    if value is None:
        raise _missing(reference, "has given no data")
    for step in reference.path:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and _INDEX.fullmatch(step) and int(step) < len(value):
            value = value[int(step)]
        else:
            raise _missing(reference, f"has given nothing at {step!r}")
    return value


def _missing(reference: Reference, why: str) -> ToolError:
    return ToolError(f"{str(reference)!r}: {reference.node!r} {why}.", reason=NodesReason.MISSING_OUTPUT)
