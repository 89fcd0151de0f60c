"""Checks each event line against the schema, and the order of the events of each call."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

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
"""The events of the same call that may follow an event."""


MOST_OPEN = 100_000
"""The most calls that may be open at once. Above it, the oldest open call counts as one whose end is missing."""


class OpenCall(NamedTuple):
    """A call that has not ended: its last event, and the place of that event."""

    event: str
    place: str


class EventCheck:
    """Checks lines one by one. It remembers up to `MOST_OPEN` calls that have not ended."""

    def __init__(self) -> None:
        self._validators = {event: jsonschema_rs.validator_for(schema.schema_of(event)) for event in contract.EVENTS}
        self._open: dict[str, OpenCall] = {}
        self.lines = 0

    def faults(self, line: EventLine) -> Iterator[str]:
        """Yield the faults of *line*, as `file:number: what`."""
        self.lines += 1
        place = f"{line.file}:{line.number}"
        for what in self._faults(line.raw, place):
            yield f"{place}: {what}"
        if len(self._open) > MOST_OPEN:
            oldest = next(iter(self._open))
            yield _missing_end(oldest, self._open.pop(oldest))

    def unfinished_calls(self) -> Iterator[str]:
        """Yield the calls whose last event is missing: their process was killed, or they still run."""
        return (_missing_end(call_id, open_call) for call_id, open_call in self._open.items())

    def _faults(self, raw: bytes, place: str) -> Iterator[str]:
        # A process that takes a slow writer's line for a torn one adds a line end. The empty line loses nothing.
        if raw == b"\n":
            return
        try:
            event = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            yield f"not JSON: {error}"
            return
        name = event.get("event") if isinstance(event, dict) else None
        if not isinstance(name, str) or name not in self._validators:
            yield f"not an event of toolcharter: {name!r}"
            return
        faults = [_format_schema_error(error) for error in self._validators[name].iter_errors(event)]
        yield from faults
        if not faults and name not in contract.FRAMES:
            yield from self._order_faults(name, event, place)

    def _order_faults(self, name: str, event: dict[str, Any], place: str) -> Iterator[str]:
        call_id = event["call_id"]
        open_call = self._open.pop(call_id, None)
        last = None if open_call is None else open_call.event
        if last is None and name != contract.BEFORE:
            yield f"call {call_id!r}: {name} without {contract.BEFORE}"
        elif last is not None and name not in NEXT[last]:
            yield f"call {call_id!r}: {name} behind {last}"
        elif name == contract.AFTER and (event["outcome"] == "denied") != (last == contract.POLICY_DENY):
            yield f"call {call_id!r}: outcome {event['outcome']!r} behind {last}"
        if name != contract.AFTER:
            self._open[call_id] = OpenCall(name, place)


def _missing_end(call_id: str, open_call: OpenCall) -> str:
    return f"{open_call.place}: call {call_id!r}: {open_call.event} is its last event, {contract.AFTER} is missing"


def _format_schema_error(error: Any) -> str:
    where = ".".join(map(str, error.instance_path))
    return f"{where}: {error.message}" if where else str(error.message)
