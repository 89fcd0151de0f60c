"""Finds what a ceiling takes away from a profile, because the profile's author cannot see it there. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence

from toolcharter.api.call import Verdict
from toolcharter.policy.capability import CapabilityLimit, CapabilityLimits, compile_limit
from toolcharter.policy.compile import compile_policy
from toolcharter.policy.evaluate import by_mode
from toolcharter.policy.lint.coverage import CoveringRules, ToolMatcher
from toolcharter.policy.lint.rules import Finding, LintedProfile, RulesLinter, format_rules, tool_names, why_hidden
from toolcharter.policy.rule_input import ToolFacts
from toolcharter.policy.rules_by_tool import DenyRules, RuleList
from toolcharter.profile.model import Limits, smaller_limit
from toolcharter.profile.names import fold_tool_name
from toolcharter.profile.rules import Rule, parse_rule
from toolcharter.profile.settings import Ceiling, Mode, Rate, Rates

_VERDICTS: tuple[Verdict, ...] = ("allow", "ask", "deny")
_ACTION = re.compile(r"((?!\*\()[^:()]+)\(action=([^\s,()\\]+)\)")
_LIMITS = ("timeout_s", "max_output_chars")


def ceiling_findings(subject: LintedProfile) -> Iterator[Finding]:
    """Yield what each ceiling changes for the profile: tools, rules, mode, limits. Places are those of the profile."""
    rules = RulesLinter(subject)
    for ceiling in subject.ceilings:
        yield from _hidden_tools(subject, ceiling)
        yield from _closed_actions(subject, ceiling)
        yield from _denied_allow_rules(rules, ceiling)
        yield from _always_asked_tools(subject, ceiling)
        yield from _stricter_mode(subject, ceiling)
        yield from _lower_limits(subject, ceiling)


def _hidden_tools(subject: LintedProfile, ceiling: Ceiling) -> Iterator[Finding]:
    before, after = compile_policy(subject.profile, ()), compile_policy(subject.profile, (ceiling,))
    for tool in subject.tools:
        hidden_because = after.for_tool(tool.facts).hidden_because
        if hidden_because is not None and before.for_tool(tool.facts).hidden_because is None:
            name = tool.facts.name
            what = f"{ceiling.name} hides it from everyone: {why_hidden(hidden_because)}"
            yield Finding("ceiling", subject.place_of("tools", name), f"tools.{name}", what)


def _closed_actions(subject: LintedProfile, ceiling: Ceiling) -> Iterator[Finding]:
    """Report actions that a ceiling's capabilities or rules close, if other actions of the tool stay open."""
    profile = subject.profile
    after = compile_policy(profile, (ceiling,))
    own, its = (
        _ActionDenials(capabilities, rules)
        for capabilities, rules in (
            (compile_limit("profile", profile.capabilities), profile.deny),
            (compile_limit(ceiling.name, ceiling.capabilities), ceiling.deny),
        )
    )
    for tool in subject.tools:
        if after.for_tool(tool.facts).hidden_because is not None:
            continue
        for action in sorted(tool.open_actions):
            why = its.why(tool.facts, action)
            if why is not None and own.why(tool.facts, action) is None:
                name = tool.facts.name
                what = f"{ceiling.name} closes an action of it: {why}"
                yield Finding("ceiling", subject.place_of("tools", name), f"tools.{name}", what)


class _ActionDenials:
    """Capabilities and unconditional `deny` rules, which close actions to every caller."""

    def __init__(self, capabilities: CapabilityLimit, deny: Sequence[Rule]) -> None:
        self._limits = CapabilityLimits([capabilities])
        self._rules = RuleList(tuple(map(_as_action_rule, deny)))

    def why(self, facts: ToolFacts, action: str) -> str | None:
        """Return the end of a sentence why no call of *action* is permitted; None if one may be."""
        refused = self._limits.refuse(facts, action)
        if refused is not None:
            return refused.message
        rule = DenyRules(self._rules, facts).on_action(action)
        return None if rule is None else f"{format_rules([rule])} denies every call of {action!r}."


def _as_action_rule(rule: Rule) -> Rule:
    """Return *rule*, or `git:push` for `git(action=push)`, which matches the same calls."""
    found = _ACTION.fullmatch(rule.text) if rule.when is None else None
    return rule if found is None else parse_rule(f"{found[1]}:{found[2]}", rule.source)._replace(text=rule.text)


def _denied_allow_rules(rules: RulesLinter, ceiling: Ceiling) -> Iterator[Finding]:
    above = CoveringRules(ceiling.deny, rules.letter)
    for rule in map(ToolMatcher, rules.subject.profile.allow if ceiling.deny else ()):
        needy = rules.tools_needing_rule(rule)
        deciding = [above.first(rule, tool, "deny") for tool in needy]
        if needy and all(deciding) and not rules.may_come(rule.rule):
            by = format_rules(deciding)
            what = f"{ceiling.name} takes {rule.rule.text!r} away: every call that it would allow is denied by {by}."
            yield Finding("ceiling", rule.rule.source, "allow", what)


def _always_asked_tools(subject: LintedProfile, ceiling: Ceiling) -> Iterator[Finding]:
    """Report tools whose every call waits for a person. A rule for some calls is not reported: it names them itself."""
    rules = RuleList(ceiling.ask)
    for tool in subject.tools if ceiling.ask else ():
        rule = DenyRules(rules, tool.facts).on_every_call()
        if rule is not None:
            name = tool.facts.name
            what = f"{ceiling.name} asks a person before each call of it, by {format_rules([rule])}."
            yield Finding("ceiling", subject.place_of("tools", name), f"tools.{name}", what)


def _stricter_mode(subject: LintedProfile, ceiling: Ceiling) -> Iterator[Finding]:
    if ceiling.mode is None:
        return
    own, mode = subject.profile.mode, ceiling.mode
    needy = [
        tool
        for tool in subject.tools
        if _strictness(mode, bounded=tool.facts.is_bounded) > _strictness(own, bounded=tool.facts.is_bounded)
    ]
    if needy:
        need = "an `allow` rule or a person's consent" if mode == "ask" else "an `allow` rule"
        what = f"{ceiling.name} sets mode {mode!r}: now {need} is needed for {tool_names(needy)}."
        yield Finding("ceiling", subject.place_of("mode"), "mode", what)


def _strictness(mode: Mode, *, bounded: bool) -> int:
    return _VERDICTS.index(by_mode(mode, bounded=bounded, covered=False))


def _lower_limits(subject: LintedProfile, ceiling: Ceiling) -> Iterator[Finding]:
    profile = subject.profile
    tools = {fold_tool_name(tool.facts.name) for tool in subject.tools}
    own = limit_values(profile.limits, profile.tool_limits, profile.rates)
    for path, number in limit_values(ceiling.limits or Limits(), ceiling.tool_limits, ceiling.rates).items():
        if path[0] == "tools" and path[1] not in tools:
            continue
        # A limit of the profile for all tools applies to each of them, too.
        ours = smaller_limit(own.get(path), own.get(path[-1:]) if path[0] == "tools" else None)
        if ours is None or number < ours:
            said = "sets none" if ours is None else f"has {ours:g}"
            what = f"{ceiling.name} permits no more than {number:g}; the profile {said}."
            yield Finding("ceiling", subject.place_of("limits", *path), ".".join(("limits", *path)), what)


def limit_values(limits: Limits, tool_limits: Mapping[str, Limits], rates: Rates) -> dict[tuple[str, ...], float]:
    """Return every number that is set, by its path below `limits`."""
    found: dict[tuple[str, ...], float | None] = {(key,): getattr(limits, key) for key in _LIMITS}
    found |= {("tools", tool, key): getattr(one, key) for tool, one in tool_limits.items() for key in _LIMITS}
    for path, rate in _rates(rates):
        found |= {(*path, key): getattr(rate, key) for key in Rate._fields}
    return {path: number for path, number in found.items() if number is not None}


def _rates(rates: Rates) -> Iterator[tuple[tuple[str, ...], Rate]]:
    yield (), rates.total
    yield from ((("tools", tool), rate) for tool, rate in rates.tools.items())
    yield from ((("agents", agent), rate) for agent, rate in rates.agents.items())
