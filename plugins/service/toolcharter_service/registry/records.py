"""The records of the registry: HDN's record of a tool, its owner, and its earlier versions."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from toolcharter import RecordKind, StoreRecord
from toolcharter_service.registry.schemas import json_schema, require_type

ID = r"^[A-Za-z0-9_-]{1,64}$"
"""The pattern of a tool's name."""
_CAPABILITY = re.compile(r"[a-z][a-z0-9_-]*(:[a-z0-9_-]+)*")
# Source: github.com/distribution/reference, "Grammar".
IMAGE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._:/@-]{0,255}")
_PROGRAM = re.compile(r"[^/\x00-\x20-][^/\x00-\x1f]*|/[^\x00-\x1f]+")
CreatedBy = Literal["system", "agent"]
Safety = Literal["low", "medium", "high"]
Text = Annotated[str, Field(max_length=10_000)]


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


class ToolExec(BaseModel):
    """The program that a registered tool runs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Annotated[Literal["cmd", "image"], BeforeValidator(_lower)]
    """`cmd`: a program on the profile's runner. `image`: a container of its own. Upper and lower case are the same."""
    cmd: Annotated[str, Field(max_length=4096)] = ""
    """The program's bare name or absolute path. For an image, it replaces the image's own program."""
    args: tuple[Annotated[str, Field(max_length=10_000)], ...] = Field(default=(), max_length=200)
    """The program's arguments; `{name}` is replaced by an argument of the call."""
    image: str = ""
    """For `image`: the name or digest of an image that the docker daemon has."""

    @model_validator(mode="after")
    def _fits(self) -> "ToolExec":
        if self.type == "cmd" and not self.cmd:
            raise ValueError("a tool of type 'cmd' names its program in 'cmd'")
        if self.cmd and not _PROGRAM.fullmatch(self.cmd):
            raise ValueError(f"{self.cmd!r} is no program: write its bare name, or an absolute path")
        if (self.type == "image") != bool(self.image):
            raise ValueError("'image' is required for a tool of type 'image', and not allowed for other tools")
        if self.image and not IMAGE.fullmatch(self.image):
            raise ValueError(f"{self.image!r} is no name of an image")
        if any("\0" in word for word in self.args):
            raise ValueError("a word of args holds NUL, which no program can be passed")
        return self


class ToolRecord(BaseModel):
    """A tool in HDN's format."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=ID)]
    name: Annotated[str, Field(max_length=200)] = ""
    """For people. Calls use the id."""
    description: Text = ""
    input_schema: Mapping[str, Any] = {}
    """`{name: type}`, or a JSON Schema of type `object`."""
    output_schema: Mapping[str, Any] = {}
    permissions: tuple[str, ...] = Field(default=(), max_length=50)
    """The capabilities that the tool needs, such as `fs:read`."""
    safety_level: Safety = "high"
    created_by: CreatedBy = "system"
    created_at: Annotated[str, Field(max_length=64)] = ""
    """The time of creation, in RFC 3339."""
    exec: ToolExec | None = None
    """Absent for a record that describes an installed tool."""

    @field_validator("permissions")
    @classmethod
    def _capabilities(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        for word in words:
            if not _CAPABILITY.fullmatch(word):
                raise ValueError(f"{word!r} does not look like 'fs:read'")
        return words

    @field_validator("input_schema")
    @classmethod
    def _is_schema(cls, written: Mapping[str, Any]) -> Mapping[str, Any]:
        json_schema(written)
        return written

    @field_validator("output_schema")
    @classmethod
    def _has_types(cls, written: Mapping[str, Any]) -> Mapping[str, Any]:
        for name, value in written.items():
            if isinstance(value, str) and "properties" not in written:
                require_type(name, value)
        return written


class StoredTool(StoreRecord):
    """A tool's record as any program may have written it. An invalid record does not make others unreadable."""

    model_config = ConfigDict(frozen=True, extra="allow")
    store_kind: ClassVar[RecordKind] = RecordKind("tool", ("id",), indexed=("created_by",))

    id: str
    created_by: Any = None

    @classmethod
    def of(cls, record: ToolRecord) -> "StoredTool":
        """Convert *record* for the store."""
        return cls.model_validate(record.model_dump(mode="json"))

    def read(self) -> ToolRecord:
        """Validate and return the record.

        Raises:
            ValidationError: It is no valid `ToolRecord`.
        """
        given = self.model_dump(exclude_none=True)
        if not given.get("safety_level", True):
            del given["safety_level"]
        if isinstance(runs := given.get("exec"), dict):  # HDN writes every field, and null for missing args.
            given["exec"] = {name: value for name, value in runs.items() if value is not None}
        return ToolRecord.model_validate_json(orjson.dumps(given), strict=True)


class ToolOwner(StoreRecord):
    """The owner of a tool, stored separately, since the tool's record has only HDN's fields."""

    store_kind: ClassVar[RecordKind] = RecordKind("tool_owner", ("id",))

    id: str
    owner: str
    """`system`, or `agent:NAME`."""


class ToolVersion(StoreRecord):
    """An earlier version of a tool."""

    store_kind: ClassVar[RecordKind] = RecordKind("tool_version", ("id", "number"), indexed=("id",))

    id: str
    number: str
    """The number of the version, as ten digits that sort as text."""
    record: ToolRecord
    replaced_at: str
    replaced_by: str
    """The principal that replaced it."""
