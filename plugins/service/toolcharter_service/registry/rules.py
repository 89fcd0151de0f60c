"""The rules of the registry: which actor may register, replace or delete a record. Pure: no store, no clock."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

import orjson
from pydantic import ValidationError

from toolcharter import require_finite
from toolcharter_service.registry.records import ToolRecord

MAX_RECORD_BYTES: Final = 262_144
"""The most bytes of a record as JSON."""
SYSTEM: Final = "system"
AGENT: Final = "agent"


class RegistryReason(StrEnum):
    """Why the registry refuses a request, in addition to the core's reasons."""

    INVALID_RECORD = "invalid_record"
    CREATED_BY_UNKNOWN = "created_by_unknown"
    EXISTS = "exists"
    NOT_OWNER = "not_owner"
    UNKNOWN_TOOL = "unknown_tool"
    NAME_CONFLICT = "name_conflict"
    PLACEHOLDER_IN_QUOTES = "placeholder_in_quotes"
    BAD_PLACEHOLDER = "bad_placeholder"
    BAD_COMMAND = "bad_command"
    CODE_IS_PLACEHOLDER = "code_is_placeholder"
    NOT_IMPLEMENTED = "not_implemented"


STATUS: Final[Mapping[RegistryReason, int]] = {
    RegistryReason.INVALID_RECORD: 400,
    RegistryReason.CREATED_BY_UNKNOWN: 400,
    RegistryReason.PLACEHOLDER_IN_QUOTES: 400,
    RegistryReason.BAD_PLACEHOLDER: 400,
    RegistryReason.BAD_COMMAND: 400,
    RegistryReason.CODE_IS_PLACEHOLDER: 400,
    RegistryReason.NOT_OWNER: 403,
    RegistryReason.UNKNOWN_TOOL: 404,
    RegistryReason.EXISTS: 409,
    RegistryReason.NAME_CONFLICT: 409,
    RegistryReason.NOT_IMPLEMENTED: 501,
}
"""The HTTP status of each reason."""


class RegistryRefusal(Exception):
    """The registry refuses a request."""

    def __init__(self, reason: RegistryReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Actor(NamedTuple):
    """The principal and agent that change the registry."""

    name: str
    """The principal's name, for the versions."""
    agent: str | None = None
    """The agent that acts; None for an operator."""

    @property
    def owner(self) -> str:
        """The owner of the tools that this actor registers."""
        return SYSTEM if self.agent is None else f"{AGENT}:{self.agent}"


class ExistingTool(NamedTuple):
    """An existing record."""

    record: ToolRecord
    owner: str
    version: int


def parse_record(body: Mapping[str, Any], *, actor: Actor, now: str) -> ToolRecord:
    """Parse the record in *body*, and fill in missing fields.

    Args:
        body: The body of the request. A field with `null` counts as missing.
        actor: If it is an agent, `created_by` is always `agent`.
        now: The time of creation if *body* has none, in RFC 3339.

    Raises:
        RegistryRefusal: `invalid_record`, with all faults; `created_by_unknown`.
    """
    given = {name: value for name, value in body.items() if value is not None}
    said = given.get("created_by") or SYSTEM
    if said not in (SYSTEM, AGENT):
        raise RegistryRefusal(
            RegistryReason.CREATED_BY_UNKNOWN, f"created_by is {str(said)[:40]!r}; it has to be system or agent."
        )
    given["created_by"] = AGENT if actor.agent is not None else said
    given["created_at"] = given.get("created_at") or now
    if not given.get("safety_level", True):
        del given["safety_level"]
    try:
        require_finite(given)
        raw = orjson.dumps(given)
        if len(raw) > MAX_RECORD_BYTES:
            raise RegistryRefusal(RegistryReason.INVALID_RECORD, f"The record is larger than {MAX_RECORD_BYTES} bytes.")
        return ToolRecord.model_validate_json(raw, strict=True)
    except ValidationError as error:
        raise RegistryRefusal(RegistryReason.INVALID_RECORD, _describe_faults(error)) from None
    except (TypeError, ValueError) as error:
        raise RegistryRefusal(RegistryReason.INVALID_RECORD, f"The record is no JSON: {error}.") from None


def _describe_faults(error: ValidationError) -> str:
    faults = (f"{'.'.join(map(str, one['loc'])) or 'record'}: {one['msg']}" for one in error.errors(include_url=False))
    return "; ".join(faults) + "."


def require_may_register(record: ToolRecord, known: ExistingTool | None, actor: Actor) -> None:
    """Check that *actor* may write *record* in place of *known*.

    Raises:
        RegistryRefusal: `exists`, if *known* belongs to another owner, or *record* would run something else.
    """
    if known is None:
        return
    owner = owner_of(record, actor)
    if known.owner != owner or known.record.created_by != record.created_by:
        raise RegistryRefusal(
            RegistryReason.EXISTS, f"There is a tool {record.id!r} already, and it is not yours to change."
        )
    if known.record.exec != record.exec:
        raise RegistryRefusal(
            RegistryReason.EXISTS,
            f"There is a tool {record.id!r} already, and it runs something else: an update cannot change `exec`.",
        )


def require_may_delete(tool: str, known: ExistingTool | None, actor: Actor) -> None:
    """Check that *actor* may delete the record of *tool*.

    Raises:
        RegistryRefusal: `unknown_tool`; `not_owner`, for a record of the system or of another agent.
    """
    if known is None:
        raise RegistryRefusal(RegistryReason.UNKNOWN_TOOL, f"There is no tool {tool[:64]!r}.")
    if known.record.created_by != AGENT:
        raise RegistryRefusal(
            RegistryReason.NOT_OWNER, f"The tool {tool!r} was not made by an agent, and cannot be deleted."
        )
    if actor.agent is not None and known.owner != actor.owner:
        raise RegistryRefusal(RegistryReason.NOT_OWNER, f"The tool {tool!r} was made by another agent.")


def owner_of(record: ToolRecord, actor: Actor) -> str:
    """Return the owner of *record* if *actor* registers it. An operator may also register records made by agents."""
    return actor.owner if actor.agent is not None or record.created_by == SYSTEM else AGENT
