"""Explains a decision of the policy: each stage, the rules that matched and lost, and what would have to change.

Every decision here comes from the functions that `ToolPolicyView.decide` calls, in the same order. This module only
adds the details that a decision lacks.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from toolcharter.api.call import Decision, Stage
from toolcharter.api.explanation import RuleNote, Step
from toolcharter.api.reasons import Reason
from toolcharter.policy.availability import Hidden
from toolcharter.policy.capability import CapabilityLimit, safety_of
from toolcharter.policy.evaluate import NAMED_STAGES, ToolPolicyView, find_ask_rule
from toolcharter.policy.matching import Matcher
from toolcharter.policy.rule_input import Requirements, RuleInput, ToolFacts, mcp_subject
from toolcharter.profile.globs import GlobError, escape_glob
from toolcharter.profile.rules import Rule, RuleError, parse_rule

PROFILE = "profile"


class _StageNotes(NamedTuple):
    """The explanation of a stage, without its decision."""

    looked_at: str
    rules: tuple[RuleNote, ...] = ()
    changes: tuple[str, ...] = ()


def explain(view: ToolPolicyView, subject: RuleInput, hiders: Sequence[Hidden] | None = None) -> tuple[Step, ...]:
    """Explain every stage of a decision, in order, including the stages after the deciding one.

    Args:
        view: The policy for the tool and the caller.
        subject: The call.
        hiders: Everything that hides the tool from the caller; by default only the first, which the view has.

    Returns:
        One step per stage, the mode last. The deciding step has the decision of `view.decide(subject)`.
    """
    if hiders is None:
        hiders = () if view.hidden is None else (view.hidden,)
    decisions: list[tuple[Stage, Decision | None]] = [(name, stage(view, subject)) for name, stage in NAMED_STAGES]
    decisions.append(("mode", view.by_mode(subject)))
    deciding = next(stage for stage, decision in decisions if decision is not None)
    steps: list[Step] = []
    for stage, decision in decisions:
        note = _explain_availability(view, hiders) if stage == "availability" else _EXPLAINERS[stage](view, subject)
        verdict = "pass" if decision is None else decision.outcome
        steps.append(Step(stage, note.looked_at, verdict, decision, stage == deciding, note.rules, note.changes))
    return tuple(steps)


def _explain_floor(_: ToolPolicyView, subject: RuleInput) -> _StageNotes:
    if subject.refusal is None:
        return _StageNotes(f"what the call would run: {', '.join(map(repr, subject.commands)) or 'no commands'}")
    change = (
        "Write each command in plain words."
        if subject.refusal.reason == Reason.NOT_UNDERSTOOD
        else "Nothing: no profile and no person can permit it."
    )
    return _StageNotes("what the call would run", changes=(change,))


def _explain_deny(view: ToolPolicyView, subject: RuleInput) -> _StageNotes:
    owners = [ceiling.name for ceiling in view.policy.ceilings for _ in ceiling.deny]
    return _explain_rules(view, subject, "deny", view.policy.deny.matchers, owners, view.denials.first(subject))


def _explain_ask(view: ToolPolicyView, subject: RuleInput) -> _StageNotes:
    owners = [ceiling.name for ceiling in view.policy.ceilings for _ in ceiling.ask]
    matchers = (*view.policy.ceiling_asks.matchers, *view.policy.asks.matchers)
    deciding = find_ask_rule(view, subject)
    if deciding is not None:
        return _explain_rules(view, subject, "ask", matchers, owners, deciding)
    said = "matches, but a mode denies the call, which no allow rule covers"
    return _explain_rules(view, subject, "ask", matchers, owners, None, said)._replace(changes=())


def _explain_rules(
    view: ToolPolicyView,
    subject: RuleInput,
    word: str,
    matchers: Sequence[Matcher],
    owners: Sequence[str],
    deciding: Rule | None,
    said: str = "matches",
) -> _StageNotes:
    """Explain the rules of `deny` or `ask` that match the call. *owners* own the first ones, the profile the rest."""
    notes, changes = list[RuleNote](), list[str]()
    for ordinal, matcher in enumerate(matchers):
        if matcher.denies(view.facts, subject):
            rule = matcher.rule
            notes.append(_rule_note(rule, said, decides=rule is deciding))
            what = f"remove the {word} rule {rule.text!r} at {rule.source}, or narrow it"
            changes.append(_with_owner(what, owners[ordinal] if ordinal < len(owners) else PROFILE))
    of_ceilings = f", {len(owners)} of them from ceilings" if owners else ""
    return _StageNotes(f"{word} rules: {len(matchers)}{of_ceilings}", tuple(notes), tuple(changes))


def _explain_availability(view: ToolPolicyView, hiders: Sequence[Hidden]) -> _StageNotes:
    notes, changes = list[RuleNote](), list[str]()
    name = view.facts.name
    for hidden in hiders:
        if hidden.by == "deny":
            said, change = "denies it to this caller", f"take {hidden.text!r} out of the `deny` of the entry"
        else:
            said = "leaves it out for this caller"
            change = f"put {name!r} into `also_allow` of an entry for this caller, or into `tools` of the entry"
        notes.append(RuleNote(hidden.text, hidden.place, said, decides=hidden == view.hidden))
        changes.append(_with_owner(f"{change} at {hidden.place}", PROFILE))
    return _StageNotes("the entries of `availability` for this caller", tuple(notes), tuple(changes))


def _explain_capability(view: ToolPolicyView, subject: RuleInput) -> _StageNotes:
    declared = view.facts.capabilities_of(subject.action)
    words = "undeclared" if declared is None else ", ".join(sorted(declared)) or "none"
    level = safety_of(view.facts, subject.action)
    limits = view.policy.capability_limits.limits
    sources = ", ".join(map(_format_limit, limits)) or "nothing"
    changes = (
        _with_owner(what, one.source) for one in limits for what in _loosening_changes(one, view.facts, subject.action)
    )
    return _StageNotes(f"capabilities: {words}; safety {level!r}; bounded by: {sources}", (), tuple(changes))


def _format_limit(one: CapabilityLimit) -> str:
    """Return a limit and its lists, as a profile would write them."""
    words = [] if one.allow is None else [f"allow: [{', '.join(glob.text for glob in one.allow)}]"]
    words += [f"deny: [{', '.join(glob.text for glob in one.deny)}]"] if one.deny else []
    words += [f"max_safety: {one.max_safety}"] if one.max_safety is not None else []
    return f"{one.source} ({', '.join(words)})"


def _loosening_changes(one: CapabilityLimit, facts: ToolFacts, action: str | None) -> Iterator[str]:
    """Yield the changes to a limit by which it would permit the action."""
    declared = facts.capabilities_of(action)
    refused = one.find_refused(declared)
    if refused and declared is None:
        yield "the plugin's author has to declare what the tool touches, or `capabilities` has to permit everything"
        return
    lacking = [word for word in refused if one.allow is not None and not any(glob.matches(word) for glob in one.allow)]
    closed = [word for word in refused if any(glob.matches(word) for glob in one.deny)]
    if lacking:
        yield f"`capabilities.allow` needs {_quoted(lacking)}"
    if closed:
        yield f"`capabilities.deny` must not match {_quoted(closed)}"
    level = safety_of(facts, action)
    if one.is_exceeded_by(level):
        yield f"`capabilities.max_safety` has to be {level!r}"


def _explain_mode(view: ToolPolicyView, subject: RuleInput) -> _StageNotes:
    decision = view.by_mode(subject)
    used = None if decision.rule is None else view.permits.first(subject)
    notes = tuple(
        _rule_note(matcher.rule, said, decides=matcher.rule is used)
        for matcher in view.permits.matchers
        if (said := describe_allow_rule(matcher, view.facts, subject)) is not None
    )
    modes = ", ".join(mode if source == PROFILE else f"{mode} (of {source})" for mode, source in view.policy.modes)
    nature = "bounded" if view.facts.is_bounded else "unbounded"
    count = len(view.permits.matchers)
    looked_at = f"mode: {modes}; the tool is {nature}, of kind {view.facts.kind!r}; allow rules: {count}"
    changes = (
        _denying_changes(view, subject, decision) if decision.outcome == "allow" else _allowing_changes(view, subject)
    )
    return _StageNotes(looked_at, notes, tuple(changes))


def _denying_changes(view: ToolPolicyView, subject: RuleInput, decision: Decision) -> Iterator[str]:
    """Yield the changes by which an allowed call would be denied."""
    if decision.rule is not None:
        rule = decision.rule
        yield f"remove the allow rule {rule.text!r} at {rule.source}, and others that cover the call"
    rules = narrowest_rules(view.facts, subject)
    if rules:
        either = "or add" if decision.rule is not None else "add"
        yield f"{either} a deny rule such as {rules[0]!r}"


def _allowing_changes(view: ToolPolicyView, subject: RuleInput) -> Iterator[str]:
    """Yield the changes by which a call without an allow rule would be permitted."""
    missing = missing_rules(view, subject)
    if missing:
        yield f"add {'an allow rule' if len(missing) == 1 else 'allow rules'} such as {_quoted(missing)}"
    elif subject.refusal is None:
        yield "no allow rule can name this call"
    else:
        yield "no allow rule covers a call that cannot be parsed"
    for mode, source, verdict in view.permissions(covered=False):
        if verdict != "allow" and source != PROFILE:
            yield f"the mode {mode!r}, which requires a rule or a person, is set by {_name_ceiling(source)}"


def describe_allow_rule(matcher: Matcher, facts: ToolFacts, subject: RuleInput) -> str | None:
    """Return a clause whether an `allow` rule covers a call, or what it lacks; None if it is about other calls."""
    if matcher.covers(facts, subject):
        return "covers the call"
    touched = sum(matcher.touches_command(*one) for one in subject.commands_with_needs)
    lacking = _missing_mentions(matcher, subject)
    if not (touched or matcher.names_tool(facts, subject.action)):
        return None
    prefix = matcher.rule.prefix
    if not matcher.may_cover(facts):
        form = f"rules with the prefix '{prefix}:'" if prefix else "globs over names"
        return f"matches, but {form} never permit a tool of kind {facts.kind!r}"
    if not matcher.condition_holds(subject.args):
        return "names it, but asks for other arguments"
    if lacking is not None:
        return lacking
    partly = {
        "bash": f"covers {touched} of {len(subject.commands)} commands",
        "cap": "covers only some of the action's capabilities",
    }
    return partly.get(prefix, "matches a command, but does not name the tool")


def _missing_mentions(matcher: Matcher, subject: RuleInput) -> str | None:
    """Return a clause about what a `bash:` rule would have to mention of a command that it matches; None if nothing."""
    if matcher.rule.prefix != "bash":
        return None
    if subject.unsupported is not None:
        return f"matches, but no rule covers the line: {subject.unsupported}"
    for command, needs in subject.commands_to_cover:
        if matcher.touches_command(command, needs) and not matcher.mentions_words(needs.words):
            return f"matches {command!r}, but does not mention every word that it has to: {needs.why}"
    return None


def missing_rules(view: ToolPolicyView, subject: RuleInput) -> tuple[str, ...]:
    """Return rules that, together with those in `allow`, would cover the call; empty if none can."""
    facts, args = view.facts, subject.args
    if facts.kind == "bash" and subject.commands:
        having = [one for one in view.permits.matchers if one.rule.prefix == "bash" and one.condition_holds(args)]
        if subject.unsupported is not None:
            return ()
        open_ones = {
            f"bash:{escape_glob(command)}": (command, needs)
            for command, needs in subject.commands_to_cover
            if not any(one.covers_command(command, needs) for one in having)
        }
        return tuple(open_ones) if all(_would_cover(text, *one) for text, one in open_ones.items()) else ()
    return narrowest_rules(facts, subject, Matcher.covers)


def _would_cover(text: str, command: str, needs: Requirements) -> bool:
    """Whether a rule covers a command. Even the most exact rule does not if the command's folder is unknown."""
    rule = _parse_or_none(text)
    return rule is not None and Matcher(rule).covers_command(command, needs)


def narrowest_rules(
    facts: ToolFacts, subject: RuleInput, matches: Callable[[Matcher, ToolFacts, RuleInput], bool] = Matcher.denies
) -> tuple[str, ...]:
    """Return the narrowest rule without conditions that matches the call; empty if there is none."""
    name = f"mcp:{mcp_subject(facts.name)}" if facts.kind == "mcp" else facts.name
    candidates = [f"bash:{escape_glob(command)}" for command in subject.commands[:1]]
    if subject.action is not None:
        candidates.append(f"{name}:{escape_glob(subject.action)}")
    for text in (*candidates, name):
        rule = _parse_or_none(text)
        if rule is not None and matches(Matcher(rule), facts, subject):
            return (text,)
    return ()


def _parse_or_none(text: str) -> Rule | None:
    try:
        return parse_rule(text)
    except (RuleError, GlobError):
        return None


def _rule_note(rule: Rule, said: str, *, decides: bool) -> RuleNote:
    return RuleNote(rule.text, rule.source, said, decides, None if rule.when is None else dict(rule.when))


def _with_owner(what: str, owner: str) -> str:
    return what if owner == PROFILE else f"{what}: that is for {_name_ceiling(owner)}"


def _name_ceiling(name: str) -> str:
    return f"the ceiling {name!r}, which only its owner can change"


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(map(repr, words))


_EXPLAINERS: dict[Stage, Callable[[ToolPolicyView, RuleInput], _StageNotes]] = {
    "floor": _explain_floor,
    "deny": _explain_deny,
    "ask": _explain_ask,
    "capability": _explain_capability,
    "mode": _explain_mode,
}
