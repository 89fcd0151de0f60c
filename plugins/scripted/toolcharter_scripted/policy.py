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
    """What an agent does if it is the one and was asked this."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: str = "*"
    """Glob over the agent's name, upper and lower case apart."""
    message: str = "*"
    """Glob over what it is asked, over several lines, too."""
    calls: tuple[ScriptedCall, ...] = ()
    """Made one after the other, each counted as one question to a model."""
    answer: str = "{results}"
    """What it answers; `{results}` stands for the texts of its calls, one below the other, `{message}` for what it was asked."""


class ScriptedPolicy(ExtensionPolicy):
    """The script: of several runs that fit, the first counts."""

    runs: tuple[ScriptedRun, ...]
    """An agent that none of them fits fails with `tool_error`."""
