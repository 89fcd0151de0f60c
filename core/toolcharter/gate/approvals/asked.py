"""The call that a person is asked about, and what an approval of it is bound to."""

from pathlib import Path
from typing import NamedTuple, Protocol

from toolcharter.gate.call import CallContext
from toolcharter.gate.commands import CommandAnalysis
from toolcharter.gate.runners import Runners
from toolcharter.gate.tool import BuiltTool
from toolcharter.policy.rule_input import RuleInput


class Scope(NamedTuple):
    """What the approvals of one toolbox are bound to."""

    profile: str
    """The name of its profile."""
    digest: str
    """SHA-256 of the effective profile."""
    workspace: Path
    runners: Runners
    """Where its programs run."""


class AskedCall(Protocol):
    """The tool and the caller of a call that a person is asked about: a `CallPipeline`."""

    @property
    def tool(self) -> BuiltTool:
        """The tool."""
        ...

    def rule_input(self, ctx: CallContext, /) -> tuple[RuleInput, CommandAnalysis]:
        """The call as rules see it, and what is understood of its commands."""
        ...

    def confine(self, ctx: CallContext, /) -> None:
        """Refuse the call if its commands lead elsewhere than they seem to."""

    async def dry_run(self, ctx: CallContext, /) -> CallContext | None:
        """What the body itself checks; None if it is not staged."""
        ...
