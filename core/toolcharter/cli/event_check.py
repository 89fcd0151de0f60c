"""Checks event lines: each against the schema, and the order of those of one call."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import orjson

from toolcharter._lazy import lazy
from toolcharter.events import contract
from toolcharter.events.files import EventLine

if TYPE_CHECKING:
    import jsonschema_rs

    from toolcharter.events import schema
else:
    jsonschema_rs = lazy("jsonschema_rs")
    schema = lazy("toolcharter.events.schema")

NEXT = {
    contract.BEFORE: {contract.POLICY_BEFORE, contract.AFTER},
    contract.POLICY_BEFORE: {contract.APPROVAL_REQUEST, contract.POLICY_DENY, contract.AFTER},
    contract.APPROVAL_REQUEST: {contract.APPROVAL_DECISION},
    contract.APPROVAL_DECISION: {contract.POLICY_DENY, contract.AFTER},
    contract.POLICY_DENY: {contract.AFTER},
}
"""Which events of the same call may follow an event."""


class EventCheck:
    """Looks at one line after the other. It remembers the calls that have not ended."""

    def __init__(self) -> None:
        self._validators = {event: jsonschema_rs.validator_for(schema.schema_of(event)) for event in contract.EVENTS}
        self._open: dict[str, tuple[str, EventLine]] = {}
        self.lines = 0

    def faults(self, line: EventLine) -> Iterator[str]:
        """What is wrong with *line*, as `file:number: what`."""
        self.lines += 1
        for what in self._faults(line):
            yield f"{line.file}:{line.number}: {what}"

    def unended(self) -> Iterator[str]:
        """The calls whose last event is missing: their process was ended, or they still run."""
        for call_id, (last, line) in self._open.items():
            yield f"{line.file}:{line.number}: call {call_id!r}: {last} is its last event, {contract.AFTER} is missing"

    def _faults(self, line: EventLine) -> Iterator[str]:
        try:
            event = orjson.loads(line.raw)
        except orjson.JSONDecodeError as error:
            yield f"not JSON: {error}"
            return
        name = event.get("event") if isinstance(event, dict) else None
        if not isinstance(name, str) or name not in self._validators:
            yield f"no event of toolcharter: {name!r}"
            return
        faults = [_worded(error) for error in self._validators[name].iter_errors(event)]
        yield from faults
        if not faults and name not in contract.FRAMES:
            yield from self._out_of_order(name, event, line)

    def _out_of_order(self, name: str, event: dict[str, Any], line: EventLine) -> Iterator[str]:
        call_id = event["call_id"]
        last, _ = self._open.pop(call_id, (None, None))
        if last is None and name != contract.BEFORE:
            yield f"call {call_id!r}: {name} without {contract.BEFORE}"
        elif last is not None and name not in NEXT[last]:
            yield f"call {call_id!r}: {name} behind {last}"
        elif name == contract.AFTER and (event["outcome"] == "denied") != (last == contract.POLICY_DENY):
            yield f"call {call_id!r}: outcome {event['outcome']!r} behind {last}"
        if name != contract.AFTER:
            self._open[call_id] = (name, line)


def _worded(error: Any) -> str:
    where = ".".join(map(str, error.instance_path))
    return f"{where}: {error.message}" if where else str(error.message)
