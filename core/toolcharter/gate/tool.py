"""`BuiltTool`: one tool of a profile, built: everything about it that does not depend on the caller."""

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
    """One built tool of a profile, with everything that does not depend on the caller."""

    spec: ToolSpec[Any]
    plugin: str
    """The distribution that provides it."""
    policy: Any
    facts: ToolFacts
    """The facts about the tool that rules use."""
    function: ToolFunction
    reader: ArgumentReader
    limit: OutputLimit
    timeout_s: float
    """In seconds; `inf` without a limit."""
    reasons: frozenset[str] | None
    threads: BodyThreads = field(default_factory=BodyThreads)
    """The threads of its bodies, if its spec says `isolate`."""
