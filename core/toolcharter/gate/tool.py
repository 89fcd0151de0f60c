"""`BuiltTool`: one tool of a profile, built, with all that does not depend on who calls."""

from dataclasses import dataclass, field
from typing import Any

from toolcharter.api.tool import ToolSpec
from toolcharter.gate.build.tool_function import ToolFunction
from toolcharter.gate.stages.s1_arguments import ArgumentReader
from toolcharter.gate.stages.s8_result import OutputLimit
from toolcharter.gate.threads import BodyThreads
from toolcharter.policy.rule_input import ToolFacts


@dataclass(eq=False, repr=False)
class BuiltTool:
    """One tool of a profile, built: all that does not depend on who calls."""

    spec: ToolSpec[Any]
    plugin: str
    """The distribution that provides it."""
    policy: Any
    facts: ToolFacts
    """What rules see of it."""
    function: ToolFunction
    reader: ArgumentReader
    limit: OutputLimit
    timeout_s: float
    """In seconds; `inf` without a limit."""
    reasons: frozenset[str] | None
    threads: BodyThreads = field(default_factory=BodyThreads)
    """Those of a spec that says `isolate`."""
