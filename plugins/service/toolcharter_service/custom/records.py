"""The record of a custom tool."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field, field_validator, model_validator

from toolcharter import RecordKind, StoreRecord, check_variables
from toolcharter_service.custom.template import Template
from toolcharter_service.registry.records import ID
from toolcharter_service.registry.schemas import json_schema

GLOBAL: Final = "*"
"""The scope of a tool of all agents. No agent can have this name."""


class CustomTool(StoreRecord):
    """A tool whose body is one shell line."""

    store_kind: ClassVar[RecordKind] = RecordKind(
        "custom_tools", ("scope", "name"), indexed=("scope", "name", "enabled"), secret=("env",)
    )

    scope: str = GLOBAL
    """The agent that has the tool; `*` for all agents."""
    name: Annotated[str, Field(pattern=ID)]
    description: Annotated[str, Field(max_length=10_000)] = ""
    parameters: Mapping[str, Any] = {}
    """A JSON Schema of type `object`, or `{name: type}`."""
    command: Annotated[str, Field(min_length=1, max_length=10_000)]
    """The shell line. `{{.name}}` is replaced by the quoted argument."""
    timeout_seconds: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = 60.0
    working_dir: Annotated[str, Field(max_length=4096)] = ""
    """A folder, relative to the workspace; by default the workspace itself."""
    env: Mapping[str, str] = Field(default={}, max_length=100)
    """Variables in addition to the base environment. They are stored encrypted and never shown."""
    enabled: bool = True

    @field_validator("parameters")
    @classmethod
    def _is_schema(cls, written: Mapping[str, Any]) -> Mapping[str, Any]:
        json_schema(written)
        return written

    @field_validator("env")
    @classmethod
    def _harmless(cls, env: Mapping[str, str]) -> Mapping[str, str]:
        check_variables(env)
        return env

    @field_validator("working_dir")
    @classmethod
    def _below(cls, folder: str) -> str:
        if folder.startswith("/") or ".." in folder.split("/") or "\0" in folder:
            raise ValueError(f"{folder!r} is not below the workspace")
        return folder

    @model_validator(mode="after")
    def _fits(self) -> "CustomTool":
        known = json_schema(self.parameters)["properties"]
        for name in Template.parse(self.command).names:
            if name not in known:
                raise ValueError(f"command: {{{{.{name}}}}} names no parameter")
        return self
