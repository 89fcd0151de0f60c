"""Stage 3 of a call: the decision that depends only on the profile and the call. Pure: no I/O, no clock.

This is the only evaluator. The gate uses it before it runs a call, a toolbox to find the tools that a caller sees, and
`explain` calls each stage for all it has to report. The order is that of docs/architecture.md, "One call".
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from toolcharter.api.call import Decision, RuleRef, Stage, Verdict
from toolcharter.api.reasons import Reason
from toolcharter.policy.availability import Hidden
from toolcharter.policy.capability import CapabilityLimits
from toolcharter.policy.rule_input import Requirements, RuleInput, ToolFacts
from toolcharter.policy.rules_by_tool import AllowRules, DenyRules, RuleList
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import Ceiling, Mode

ALLOWED = Decision("allow", "mode")
_MAX_SHOWN = 200
"""The most characters of an uncovered command that a message shows."""
_MAX_WORDS = 6
"""The most words that a message lists for a rule to mention."""
_STRICTNESS = ("allow", "ask", "deny")


class Permission(NamedTuple):
    """The verdict of a mode on a call, with the mode and its owner."""

    mode: Mode
    source: str
    """`profile`, or the name of the ceiling."""
    verdict: Verdict


def by_mode(mode: Mode, *, bounded: bool, covered: bool) -> Verdict:
    """Look up the mode table. Source: docs/profiles.md, "Modes"."""
    if mode == "dangerous" or (mode == "policy" and bounded) or covered:
        return "allow"
    return "ask" if mode == "ask" else "deny"


class ToolRules(NamedTuple):
    """The rules of a policy that apply to one tool."""

    denials: DenyRules
    ceiling_asks: DenyRules
    asks: DenyRules
    permits: AllowRules


class Policy:
    """The compiled rules of one profile and all ceilings."""

    def __init__(
        self,
        deny: Sequence[Rule] = (),
        allow: Sequence[Rule] = (),
        mode: Mode = "policy",
        capability_limits: CapabilityLimits | None = None,
        ceilings: Sequence[Ceiling] = (),
        tool_rules: Mapping[str, Sequence[Rule]] = MappingProxyType({}),
        ask: Sequence[Rule] = (),
    ) -> None:
        self.ceilings = ceilings
        # Decisions report the first rule that matches: those of ceilings come first, then file order.
        self.deny = RuleList([*(rule for ceiling in self.ceilings for rule in ceiling.deny), *deny])
        self.ceiling_asks = RuleList([rule for ceiling in self.ceilings for rule in ceiling.ask])
        """The `ask` rules of the ceilings."""
        self.asks = RuleList(ask)
        """The `ask` rules of the profile."""
        self.allow = RuleList(allow)
        self._tool_rules = tool_rules
        self._ceiling_rules = frozenset(id(rule) for ceiling in self.ceilings for rule in (*ceiling.deny, *ceiling.ask))
        self.modes: tuple[tuple[Mode, str], ...] = (
            (mode, "profile"),
            *((ceiling.mode, ceiling.name) for ceiling in self.ceilings if ceiling.mode is not None),
        )
        self.capability_limits = CapabilityLimits(()) if capability_limits is None else capability_limits
        self._by_tool: dict[str, tuple[ToolFacts, ToolRules]] = {}
        self._could_pass: dict[str, tuple[ToolFacts, bool]] = {}

    @property
    def may_ask(self) -> bool:
        """Whether a mode or a rule may ask a person."""
        return bool(len(self.ceiling_asks) or len(self.asks) or any(mode == "ask" for mode, _ in self.modes))

    def for_tool(self, facts: ToolFacts, hidden: Hidden | None = None) -> "ToolPolicyView":
        """Return the policy for one tool; *hidden* is the caller's entry of the availability."""
        return ToolPolicyView(self, facts, hidden)

    def could_pass(self, facts: ToolFacts) -> bool:
        """Whether a call of a tool might pass if availability does not hide it. Computed once for all callers."""
        known = self._could_pass.get(facts.name)
        if known is None or known[0] != facts:
            known = self._could_pass[facts.name] = facts, self.for_tool(facts).hidden_because is None
        return known[1]

    def owner_of(self, rule: Rule) -> str:
        """Name the owner of a rule in `deny` or `ask` for the model, which never reads a ceiling's path."""
        return "beside the profile" if id(rule) in self._ceiling_rules else "of the profile"

    def rules_of(self, facts: ToolFacts) -> ToolRules:
        """Return the rules that apply to a tool. Computed once for all callers."""
        known = self._by_tool.get(facts.name)
        if known is None or known[0] != facts:
            denials, above, asks = (DenyRules(rules, facts) for rules in (self.deny, self.ceiling_asks, self.asks))
            rules = ToolRules(denials, above, asks, AllowRules(self.allow_for(facts), facts))
            known = self._by_tool[facts.name] = facts, rules
        return known[1]

    def allow_for(self, facts: ToolFacts) -> RuleList:
        """Return the profile's `allow` rules, followed by the tool's own."""
        own = self._tool_rules.get(facts.name)
        return RuleList([*(matcher.rule for matcher in self.allow.matchers), *own]) if own else self.allow


class ToolPolicyView:
    """The decisions on one tool for one caller."""

    def __init__(self, policy: Policy, facts: ToolFacts, hidden: Hidden | None) -> None:
        self.policy = policy
        self.facts = facts
        self.hidden = hidden
        self.denials, self.ceiling_asks, self.asks, self.permits = policy.rules_of(facts)
        has_asks = len(policy.ceiling_asks) or len(policy.asks)
        self._stages = STAGES if has_asks else STAGES[: STAGES.index(ask)]

    def decide(self, subject: RuleInput) -> Decision:
        """Return the decision of stage 3 on the call."""
        for stage in self._stages:
            decision = stage(self, subject)
            if decision is not None:
                return decision
        return self.by_mode(subject)

    @property
    def matches_commands(self) -> bool:
        """Whether a rule of `deny` or `ask` matches commands."""
        return any(rules.match_commands for rules in (self.denials, self.ceiling_asks, self.asks))

    def permissions(self, *, covered: bool) -> Iterator[Permission]:
        """Yield the verdict of each mode in force."""
        for mode, source in self.policy.modes:
            yield Permission(mode, source, by_mode(mode, bounded=self.facts.is_bounded, covered=covered))

    def by_mode(self, subject: RuleInput) -> Decision:
        """Decide a call that no stage has decided, by the mode."""
        if self._strictest.verdict == "allow":
            return ALLOWED
        rule = self.permits.first(subject)
        if rule is not None:
            return Decision("allow", "mode", rule=rule_ref(rule))
        return decide_uncovered(
            self._strictest, self.facts, _uncovered_hint(subject, self.permits.first_uncovered(subject))
        )

    @cached_property
    def _strictest(self) -> Permission:
        """The first of the modes that permit the least without an `allow` rule."""
        return max(self.permissions(covered=False), key=lambda one: _STRICTNESS.index(one.verdict))

    def is_denied_by_mode(self, subject: RuleInput, *, own: bool = True) -> bool:
        """Whether a mode denies the call because no `allow` rule covers it; without *own*, only ceilings' modes."""
        verdicts = self._uncovered_verdicts if own else self._uncovered_verdicts[1:]
        return "deny" in verdicts and self.permits.first(subject) is None

    @cached_property
    def _uncovered_verdicts(self) -> tuple[Verdict, ...]:
        """The verdict of each mode on a call that no `allow` rule covers; the profile's comes first."""
        return tuple(one.verdict for one in self.permissions(covered=False))

    @cached_property
    def hidden_because(self) -> Decision | None:
        """The decision that hides the tool because no call of it can pass, whatever its arguments; None if one might.

        In doubt the tool is shown: a hidden tool is denied for every call.
        """
        for stage in (_deny_by_name, availability_stage, _deny_every_action):
            decision = stage(self, RuleInput())
            if decision is not None:
                return decision
        if self._strictest.verdict != "deny" or self.permits.could_cover():
            return None
        if "deny" not in self._uncovered_verdicts[1:] and self.asks.could_match():
            return None
        return decide_uncovered(self._strictest, self.facts)

    @cached_property
    def constant_decision(self) -> Decision | None:
        """The decision on every call, if action, arguments and commands do not matter; for the gate's fast path."""
        if self.hidden is not None or len(self.policy.deny) or self._stages is STAGES:
            return None
        if self.facts.kind != "bash" and self._strictest.verdict == "allow" and self.policy.capability_limits.is_open:
            return ALLOWED
        return None


def floor_stage(_: ToolPolicyView, subject: RuleInput) -> Decision | None:
    """Deny what no profile and no person may permit, and what cannot be parsed."""
    if subject.refusal is None:
        return None
    return Decision("deny", "floor", subject.refusal.reason, subject.refusal.message)


def deny(view: ToolPolicyView, subject: RuleInput) -> Decision | None:
    """Deny the call if a `deny` rule matches; the first one is reported."""
    rule = view.denials.first(subject)
    return None if rule is None else decide_denied(rule, view.policy.owner_of(rule))


def availability_stage(view: ToolPolicyView, _: RuleInput) -> Decision | None:
    """Deny the call if availability hides the tool from the caller."""
    if view.hidden is None:
        return None
    message = f"The tool {view.facts.name!r} is not available to this caller."
    return Decision(
        "deny", "availability", Reason.NOT_AVAILABLE, message, rule=RuleRef(view.hidden.text, view.hidden.place)
    )


def capability_stage(view: ToolPolicyView, subject: RuleInput) -> Decision | None:
    """Deny the call if its action touches too much, or can do too much harm."""
    return view.policy.capability_limits.refuse(view.facts, subject.action)


def find_ask_rule(view: ToolPolicyView, subject: RuleInput) -> Rule | None:
    """Return the first `ask` rule that matches; None if there is none, or if a mode denies the call anyway.

    In the profile's mode, an `ask` rule of the profile replaces an `allow` rule. A ceiling's `ask` rule never does, and
    in a ceiling's mode no `ask` rule does: ceilings only tighten.
    """
    above, own = view.ceiling_asks.first(subject), view.asks.first(subject)
    rule = above or own
    return None if rule is None or view.is_denied_by_mode(subject, own=own is None) else rule


def ask(view: ToolPolicyView, subject: RuleInput) -> Decision | None:
    """Ask a person if an `ask` rule matches; the first one is reported."""
    rule = find_ask_rule(view, subject)
    if rule is None:
        return None
    message = rule.message or f"A rule {view.policy.owner_of(rule)} wants a person to agree."
    return Decision("ask", "ask", rule.reason or Reason.ASKED_BY_RULE, message, rule=rule_ref(rule))


_StageFunction = Callable[[ToolPolicyView, RuleInput], Decision | None]
NAMED_STAGES: tuple[tuple[Stage, _StageFunction], ...] = (
    ("floor", floor_stage),
    ("deny", deny),
    ("availability", availability_stage),
    ("capability", capability_stage),
    ("ask", ask),
)
"""Each stage may decide the call, in this order; the mode table decides the rest."""
STAGES: tuple[_StageFunction, ...] = tuple(function for _, function in NAMED_STAGES)


def _deny_by_name(view: ToolPolicyView, _: RuleInput) -> Decision | None:
    rule = view.denials.on_every_call()
    return None if rule is None else decide_denied(rule, view.policy.owner_of(rule))


def _deny_every_action(view: ToolPolicyView, _: RuleInput) -> Decision | None:
    refused = [view.policy.capability_limits.refuse(view.facts, action) for action in view.facts.actions]
    return refused[0] if all(refused) else None


def decide_denied(rule: Rule, owner: str) -> Decision:
    """Return the decision of a `deny` rule in the file of *owner*; its `rule` names the file for users."""
    message = rule.message or f"A rule {owner} denies this call."
    return Decision("deny", "deny", rule.reason or Reason.DENIED_BY_RULE, message, rule=rule_ref(rule))


def decide_uncovered(permission: Permission, facts: ToolFacts, doubt: str = "") -> Decision:
    """Return the decision on a call that needs an `allow` rule and has none. *doubt* is appended to the message."""
    if permission.verdict == "ask":
        message = f"A person has to agree: no rule of the profile allows it.{doubt}"
        return Decision("ask", "mode", Reason.NOT_IN_ALLOW, message)
    nature = "this call" if facts.is_bounded else "this call, whose arguments are programs"
    return Decision("deny", "mode", Reason.NOT_IN_ALLOW, f"No rule of the profile allows {nature}.{doubt}")


def _uncovered_hint(subject: RuleInput, uncovered: tuple[str, Requirements] | None) -> str:
    """Return a sentence that names the command without a rule and what a rule would have to mention."""
    if subject.unsupported is not None:
        return f" No rule can: {subject.unsupported}"
    if uncovered is None:
        return ""
    command, needs = uncovered
    shown = command if len(command) <= _MAX_SHOWN else f"{command[:_MAX_SHOWN]}..."
    if needs.why is None:
        return f" Not covered: {shown!r}."
    # List all words: otherwise the author adds the first one and then gets the next complaint.
    written = (word if word in command else word.rpartition(" ")[0] for word in needs.words)  # See `encode_repeats`.
    words = sorted(dict.fromkeys(written), key=command.find)
    whole = f" In all: {', '.join(map(repr, words))}." if 1 < len(words) <= _MAX_WORDS else ""
    return f" Not covered: {shown!r}. A rule would have to mention more: {needs.why}.{whole}"


def unknown_tool(name: str, hint: str | None) -> Decision:
    """Return the decision on a name that is not in the profile."""
    return Decision("deny", "name", Reason.UNKNOWN_TOOL, f"There is no tool named {name!r}.", hint)


def rule_ref(rule: Rule) -> RuleRef:
    """Return the rule as decisions and events name it."""
    return RuleRef(rule.text, rule.source)
