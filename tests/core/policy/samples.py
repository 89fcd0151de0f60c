"""Rules, tools and calls for the tests of policy, each in one line."""

from collections.abc import Sequence
from typing import Any

from toolcharter.policy.capability import Bounds, bound
from toolcharter.policy.evaluate import Policy
from toolcharter.policy.facts import NO_NEEDS, Needs, Subject, ToolFacts
from toolcharter.policy.rulelist import RuleList
from toolcharter.profile.rules import Rule, parse_rule
from toolcharter.profile.settings import Capabilities
from toolcharter.spec.words import Kind

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
    bounds = Bounds([bound("profile", capabilities or Capabilities())])
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

LS = Subject(commands=("ls -l",))
NOTHING = Subject()


def usual_call(facts: ToolFacts) -> Subject:
    """A call without arguments; tools of kind `bash` run a command."""
    return LS if facts.kind == "bash" else NOTHING


NEEDS = (
    NO_NEEDS,
    NO_NEEDS,
    Needs(frozenset({"-l"}), "'-l' is much"),
    Needs(bare="ls -l"),
    Needs(frozenset({"-l"}), "'-l' is much", "ls -l"),
    Needs(is_exempt=True),
    Needs(guises=("sudo x",)),
)
"""What a command may ask of its rule."""


def paired(
    action: str | None, args: dict[str, Any], commands: Sequence[tuple[str, Needs]], strange: str | None
) -> Subject:
    """A call; what each of its commands needs comes with it."""
    needs = (asked._replace(words=asked.words & set(command.split())) for command, asked in commands)
    return Subject(action, args, tuple(one for one, _ in commands), None, tuple(needs), strange)
