"""Finds for `explain` which rule denies or covers each command of a call, or what a rule would have to mention."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from toolcharter.api.call import Decision
from toolcharter.policy.evaluate import ToolPolicyView
from toolcharter.policy.matching import Matcher
from toolcharter.policy.rule_input import Requirements, RuleInput
from toolcharter.profile.rules import Rule


class CommandVerdict(NamedTuple):
    """The effect of the rules on one command."""

    said: str
    """The effect as a clause."""
    decides: bool = False
    """Whether the call is refused, or a person is asked, because of this command."""


def command_verdicts(view: ToolPolicyView, subject: RuleInput, decision: Decision) -> tuple[CommandVerdict, ...]:
    """Return the effect of the rules on each of the subject's commands, in order.

    Args:
        view: The policy for the tool and the caller.
        subject: The call.
        decision: The value of `view.decide(subject)`.
    """
    deciding = None if decision.outcome == "allow" else decision.stage
    has_others = any(not needs.is_exempt for _, needs in subject.commands_with_needs)
    asks = (*view.policy.ceiling_asks.matchers, *view.policy.asks.matchers) if deciding == "ask" else ()
    return tuple(
        _match_verdict(view.policy.deny.matchers, subject, command, needs, "denied by", decides=deciding == "deny")
        or _match_verdict(asks, subject, command, needs, "a person is asked because of", decides=True)
        or (_NEEDS_NO_RULE if needs.is_exempt and has_others else None)
        or _covered_verdict(view, subject, command, needs)
        or _uncovered_verdict(view, subject, command, needs, decides=deciding == "mode")
        for command, needs in subject.commands_with_needs
    )


def _match_verdict(
    matchers: Sequence[Matcher], subject: RuleInput, command: str, needs: Requirements, said: str, *, decides: bool
) -> CommandVerdict | None:
    """Return the verdict of the first rule of `deny` or `ask` that matches the command; None if none does."""
    forms = (command, *needs.deny_forms)
    rule = _find_rule(matchers, subject, lambda one: any(map(one.matches_command, forms)))
    return None if rule is None else CommandVerdict(f"{said} {rule.text!r} at {rule.source}", decides)


def _covered_verdict(
    view: ToolPolicyView, subject: RuleInput, command: str, needs: Requirements
) -> CommandVerdict | None:
    rule = _find_rule(_candidate_rules(view, subject), subject, lambda one: one.covers_command(command, needs))
    return None if rule is None else CommandVerdict(f"covered by {rule.text!r} at {rule.source}")


def _uncovered_verdict(
    view: ToolPolicyView, subject: RuleInput, command: str, needs: Requirements, *, decides: bool
) -> CommandVerdict:
    rule = _find_rule(_candidate_rules(view, subject), subject, lambda one: one.touches_command(command, needs))
    if rule is None:
        return CommandVerdict("covered by no allow rule", decides)
    return CommandVerdict(
        f"matched by {rule.text!r} at {rule.source}, but does not mention every word that it has to", decides
    )


def _candidate_rules(view: ToolPolicyView, subject: RuleInput) -> Sequence[Matcher]:
    """Return the rules that may cover commands of the tool; none if no rule can cover the line."""
    if subject.unsupported is not None:
        return ()
    return [one for one in view.policy.allow.matchers if one.rule.prefix == "bash" and one.may_cover(view.facts)]


def _find_rule(matchers: Sequence[Matcher], subject: RuleInput, says: Callable[[Matcher], bool]) -> Rule | None:
    return next((one.rule for one in matchers if says(one) and one.condition_holds(subject.args)), None)


_NEEDS_NO_RULE = CommandVerdict("needs no rule of its own")
