"""Stage 3 of a call: the decision that needs nothing but the profile and the call.

The one evaluator: the gate asks it before it runs a call, and a toolbox asks it which tools a
caller sees. Floor, rules, availability and capabilities join the mode table here.
"""

from typing import NamedTuple

from toolcharter.spec.call import Decision
from toolcharter.spec.reasons import Reason


class ToolFacts(NamedTuple):
    """What a decision may know about a tool."""

    name: str
    kind: str


ALLOWED = Decision("allow", "mode")
UNBOUNDED_NOT_ALLOWED = Decision(
    "deny",
    "mode",
    Reason.NOT_IN_ALLOW,
    "The tool's arguments are programs; it needs a matching allow rule and the profile has none.",
)


def decide(facts: ToolFacts) -> Decision:
    """Apply the mode table: a bounded tool's own policy decides, any other needs an `allow`.

    Source: design.md, section 4, row `policy` of the mode table.
    """
    return ALLOWED if facts.kind == "builtin" else UNBOUNDED_NOT_ALLOWED


def unknown_tool(name: str, hint: str | None) -> Decision:
    """The decision on a name that the profile does not have."""
    return Decision("deny", "name", Reason.UNKNOWN_TOOL, f"There is no tool named {name!r}.", hint)
