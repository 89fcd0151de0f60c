"""The policy of the extension: the script."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from toolcharter import ExtensionPolicy


class ScriptedCall(BaseModel):
    """One call that the agent makes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool: str
    """The tool's name."""
    args: dict[str, Any] = Field(default_factory=dict)
    """Its arguments."""


class ScriptedRun(BaseModel):
    """What an agent does if its name and its message match."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: str = "*"
    """A glob for the agent's name; upper and lower case differ."""
    message: str = "*"
    """A glob for the message to the agent; `*` also matches line breaks."""
    calls: tuple[ScriptedCall, ...] = ()
    """The calls that the agent makes, one after the other. Each counts as one request to a model."""
    answer: str = "{results}"
    """The agent's answer. `{results}` becomes the texts of its calls, one below the other, `{message}` the message to
    it."""


class ScriptedPolicy(ExtensionPolicy):
    """The script: if several runs match, the first counts."""

    runs: tuple[ScriptedRun, ...]
    """The runs. An agent that matches none of them fails with `tool_error`."""
