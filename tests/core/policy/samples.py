"""Rules, tools and calls for the tests of policy, each in one line."""

from collections.abc import Sequence
from typing import Any

from toolcharter.api.words import Kind
from toolcharter.policy.capability import CapabilityLimits, compile_limit
from toolcharter.policy.evaluate import Policy
from toolcharter.policy.rule_input import NO_REQUIREMENTS, Requirements, RuleInput, ToolFacts
from toolcharter.policy.rules_by_tool import RuleList
from toolcharter.profile.rules import Rule, parse_rule
from toolcharter.profile.settings import Capabilities

Written = str | dict[str, Any]
"""A rule as a profile writes it: its text, or its long form."""


def rule(written: Written, source: str = "") -> Rule:
    long = {"rule": written} if isinstance(written, str) else dict(written)
    return parse_rule(long.pop("rule"), source, **long)


def rules(*written: Written, file: str = "p.yaml") -> tuple[Rule, ...]:
    """Rules at the lines 1, 2, ... of *file*."""
    return tuple(rule(one, f"{file}:{line}:5") for line, one in enumerate(written, 1))


def rule_list(*written: Written) -> RuleList:
    return RuleList(rules(*written))


def policy(
    deny: tuple[Written, ...] = (),
    allow: tuple[Written, ...] = (),
    mode: Any = "policy",
    capabilities: Capabilities | None = None,
    ceilings: tuple[Any, ...] = (),
    ask: tuple[Written, ...] = (),
) -> Policy:
    bounds = CapabilityLimits([compile_limit("profile", capabilities or Capabilities())])
    return Policy(rules(*deny), rules(*allow), mode, bounds, ceilings, ask=rules(*ask))


def tool(name: str, kind: Kind, *aliases: str) -> ToolFacts:
    """In one group, with one capability, as dangerous as can be."""
    return ToolFacts(name, kind, aliases, frozenset({"team"}), frozenset({"net"}))


GIT = tool("git", "builtin", "VCS")
BASH = tool("bash", "bash")
CODE = tool("execute_code", "bash")
DEPLOY = tool("deploy", "cli")
ISSUE = tool("mcp__gh__Issue", "mcp")
REPORT = tool("report", "custom")
TOOLS = (GIT, BASH, CODE, DEPLOY, ISSUE, REPORT)
"""One of each kind, and two of kind `bash`."""

LS = RuleInput(commands=("ls -l",))
NOTHING = RuleInput()


def usual_call(facts: ToolFacts) -> RuleInput:
    """A call without arguments; tools of kind `bash` run a command."""
    return LS if facts.kind == "bash" else NOTHING


NEEDS = (
    NO_REQUIREMENTS,
    NO_REQUIREMENTS,
    Requirements(frozenset({"-l"}), "'-l' is much"),
    Requirements(bare="ls -l"),
    Requirements(frozenset({"-l"}), "'-l' is much", "ls -l"),
    Requirements(is_exempt=True),
    Requirements(deny_forms=("sudo x",)),
)
"""What a command may ask of its rule."""


def paired(
    action: str | None, args: dict[str, Any], commands: Sequence[tuple[str, Requirements]], unsupported: str | None
) -> RuleInput:
    """A call; what each of its commands needs comes with it."""
    needs = (asked._replace(words=asked.words & set(command.split())) for command, asked in commands)
    return RuleInput(action, args, tuple(one for one, _ in commands), None, tuple(needs), unsupported)
