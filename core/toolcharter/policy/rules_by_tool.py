"""`RuleList`: the rules of `deny` or `allow`, found by an index instead of one after the other.

A list of 10,000 rules decides as fast as one of 10: each prefix has an index of its globs, the rules for a tool and an
action are looked up once and cached, and globs for arguments have their own index. `toolcharter.policy.matching`
defines what each rule means; tests compare the two.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from toolcharter.policy.matching import Matcher, argument, names_to_match
from toolcharter.policy.rule_index import GlobIndex
from toolcharter.policy.rule_input import Requirements, RuleInput, ToolFacts
from toolcharter.profile.globs import Glob, fold
from toolcharter.profile.rules import Rule

MAX_ACTIONS = 64
"""The most actions of a tool whose rules are cached: the model may invent any number of them."""
_BY_NAME = ("", "*", "builtin", "cli", "mcp", "custom", "group")


class _IndexedRules(NamedTuple):
    """Some rules of a list, indexed by one glob of each."""

    ordinals: tuple[int, ...]
    globs: GlobIndex

    def all(self, subject: str) -> Iterator[int]:
        return (self.ordinals[found] for found in self.globs.all(subject))

    def first(self, subject: str) -> int | None:
        found = self.globs.first(subject)
        return None if found is None else self.ordinals[found]


def _index_rules(globs: Mapping[int, Glob]) -> _IndexedRules:
    return _IndexedRules(tuple(globs), GlobIndex(list(globs.values())))


class RuleList:
    """Rules in the order in which they are reported."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.matchers = tuple(map(Matcher, rules))
        by_prefix: dict[str, dict[int, Glob]] = {}
        unconditional: dict[str, dict[int, Glob]] = {"bash": {}, "*": {}}
        for ordinal, matcher in enumerate(self.matchers):
            rule = matcher.rule
            by_prefix.setdefault(rule.prefix, {})[ordinal] = rule.glob
            if rule.prefix in unconditional and not matcher.is_conditional:
                unconditional[rule.prefix][ordinal] = rule.glob
        self._by_prefix = {
            prefix: _index_rules(by_prefix[prefix]) for prefix in (*_BY_NAME, "cap") if prefix in by_prefix
        }
        self._on_commands, self._on_anything = _index_rules(unconditional["bash"]), _index_rules(unconditional["*"])
        self.conditional_on_commands = tuple(
            ordinal
            for ordinal, matcher in enumerate(self.matchers)
            if matcher.is_conditional and matcher.rule.prefix in unconditional
        )
        """Rules on commands that also have conditions on the arguments."""

    def __len__(self) -> int:
        return len(self.matchers)

    def matching_name(self, facts: ToolFacts, action: str | None) -> Iterator[int]:
        """Yield the rules that match the tool's name, its action or its group, without `cap:` rules."""
        for prefix in _BY_NAME:
            indexed = self._by_prefix.get(prefix)
            if indexed is not None:
                for subject in names_to_match(prefix, facts, action):
                    yield from indexed.all(subject)

    def on_capability(self, capability: str) -> Iterator[int]:
        """Yield the `cap:` rules that match *capability*."""
        indexed = self._by_prefix.get("cap")
        return iter(()) if indexed is None else indexed.all(capability)

    def on_capabilities(self) -> Sequence[int]:
        """Return all `cap:` rules."""
        indexed = self._by_prefix.get("cap")
        return () if indexed is None else indexed.ordinals

    def first_on_command(self, command: str) -> int | None:
        """Return the first `bash:` rule without conditions that matches *command*."""
        return self._on_commands.first(command)

    def first_covering(self, command: str, needs: Requirements) -> int | None:
        """Return the first `bash:` rule without conditions that covers *command*, or a command that starts it."""
        if not (needs.words or needs.starters) and needs.bare is None:
            return self._on_commands.first(command)
        matchers = self.matchers
        ways = ((command, needs), *needs.starters)
        return min(
            (
                one
                for text, asked in ways
                for form in (text, asked.bare)
                if form is not None
                for one in self._on_commands.all(form)
                if matchers[one].mentions_words(asked.words)
            ),
            default=None,
        )

    def first_on_anything(self, command: str) -> int | None:
        """Return the first `*:` rule without conditions that matches *command*."""
        return self._on_anything.first(fold(command))

    def has_commands(self) -> bool:
        """Whether any rule matches commands."""
        return bool(self._on_commands.ordinals or self._on_anything.ordinals or self.conditional_on_commands)


class ConditionalRules:
    """Rules that also have conditions on the arguments, indexed by their first condition."""

    def __init__(self, rules: RuleList, ordinals: Iterable[int]) -> None:
        self._matchers = rules.matchers
        by_argument: dict[str, dict[int, Glob]] = {}
        self._others: list[int] = []
        for ordinal in set(ordinals):
            args = self._matchers[ordinal].rule.args
            if args:
                by_argument.setdefault(args[0][0], {})[ordinal] = args[0][1]
            else:
                self._others.append(ordinal)
        self._by_argument = {name: _index_rules(globs) for name, globs in by_argument.items()}

    def __bool__(self) -> bool:
        return bool(self._others or self._by_argument)

    def satisfied_by(self, args: Mapping[str, Any]) -> Iterator[int]:
        """Yield the rules whose conditions *args* satisfy, in order."""
        candidates = list(self._others)
        for name, indexed in self._by_argument.items():
            value = argument(args, name)
            if isinstance(value, str):
                candidates += indexed.all(value)
        return (ordinal for ordinal in sorted(candidates) if self._matchers[ordinal].condition_holds(args))


class _NamedRules(NamedTuple):
    """The rules of a list that match one tool and action by name."""

    unconditional: int | None
    """The first rule without conditions on the arguments."""
    conditional: ConditionalRules


class _ToolRules(ABC):
    """The rules of one list that apply to one tool."""

    def __init__(self, rules: RuleList, facts: ToolFacts) -> None:
        self._rules = rules
        self._facts = facts
        self._by_action: dict[str | None, _NamedRules] = {}

    def rules_for_action(self, action: str | None) -> _NamedRules:
        """Return the rules for *action*, which are looked up once."""
        known = self._by_action.get(action)
        if known is None:
            if len(self._by_action) >= MAX_ACTIONS:
                self._by_action.clear()
            known = self._by_action[action] = self._look_up(action)
        return known

    def _look_up(self, action: str | None) -> _NamedRules:
        found = list(self._find_by_name(action))
        matchers = self._rules.matchers
        unconditional = min((ordinal for ordinal in found if not matchers[ordinal].is_conditional), default=None)
        return _NamedRules(
            unconditional, ConditionalRules(self._rules, (one for one in found if matchers[one].is_conditional))
        )

    @abstractmethod
    def _find_by_name(self, action: str | None) -> Iterator[int]:
        """Yield the rules that match independently of arguments and commands."""


class DenyRules(_ToolRules):
    """The rules of `deny` or of `ask` that apply to one tool. One matching command of a call suffices."""

    def __init__(self, rules: RuleList, facts: ToolFacts) -> None:
        super().__init__(rules, facts)
        self._on_commands = ConditionalRules(rules, rules.conditional_on_commands)
        self.match_commands = rules.has_commands()

    def first(self, subject: RuleInput) -> Rule | None:
        """Return the first rule that matches the call."""
        best, conditional = self.rules_for_action(subject.action)
        found = [] if best is None else [best]
        if conditional:
            for args in subject.argument_forms:
                found.extend(_first_only(conditional.satisfied_by(args)))
        if self.match_commands:
            found.extend(self._by_command(subject))
        return self._rules.matchers[min(found)].rule if found else None

    def on_every_call(self) -> Rule | None:
        """Return a rule that matches every call of the tool, with any action."""
        # `cap:` rules depend on the action, so each distinct declaration needs a rule.
        by_action = [self.rules_for_action(action).unconditional for action in self._facts.actions]
        found = [ordinal for ordinal in by_action if ordinal is not None]
        return self._rules.matchers[found[-1]].rule if len(found) == len(by_action) else None

    def on_action(self, action: str) -> Rule | None:
        """Return the first rule that matches every call of *action*."""
        ordinal = self.rules_for_action(action).unconditional
        return None if ordinal is None else self._rules.matchers[ordinal].rule

    def could_match(self) -> bool:
        """Whether a rule could match any call of the tool; in doubt, yes."""
        return any(map(self._could_match, self._rules.matchers))

    def _could_match(self, matcher: Matcher) -> bool:
        prefix = matcher.rule.prefix
        if prefix == "cap":
            return any(matcher.names_tool(self._facts, action) for action in self._facts.actions)
        # The facts of a tool do not tell whether it runs commands.
        return prefix in {"bash", "*"} or _could_name(matcher.rule.glob, names_to_match(prefix, self._facts, None))

    def _find_by_name(self, action: str | None) -> Iterator[int]:
        yield from self._rules.matching_name(self._facts, action)
        declared = self._facts.capabilities_of(action)
        if declared is None:
            yield from self._rules.on_capabilities()
        else:
            for capability in declared:
                yield from self._rules.on_capability(capability)

    def _by_command(self, subject: RuleInput) -> Iterator[int]:
        rules = self._rules
        commands = subject.deny_texts
        for command in commands:
            for found in (rules.first_on_command(command), rules.first_on_anything(command)):
                if found is not None:
                    yield found
        if self._on_commands:
            holding = (one for args in subject.argument_forms for one in self._on_commands.satisfied_by(args))
            yield from _first_only(one for one in holding if any(map(rules.matchers[one].matches_command, commands)))


class AllowRules(_ToolRules):
    """The `allow` rules that apply to one tool."""

    def __init__(self, rules: RuleList, facts: ToolFacts) -> None:
        super().__init__(rules, facts)
        self.matchers = rules.matchers
        """All rules of the list, including those for other tools."""
        self._may_cover = frozenset(one for one, matcher in enumerate(rules.matchers) if matcher.may_cover(facts))
        takes_commands = facts.kind == "bash"
        self._on_commands = ConditionalRules(rules, rules.conditional_on_commands)
        self.match_commands = takes_commands and rules.has_commands()
        self._by_capability: dict[str, tuple[int, ...]] = {}

    def first(self, subject: RuleInput) -> Rule | None:
        """Return the first rule that helps to cover the call: by its name, all its commands or all its capabilities."""
        unconditional, conditional = self.rules_for_action(subject.action)
        found = [] if unconditional is None else [unconditional]
        if conditional:
            found.extend(_first_only(conditional.satisfied_by(subject.args)))
        if self.match_commands:
            found.extend(self._first_if_complete(self._rule_per_command(subject)))
        if self._facts.is_bounded:
            found.extend(self._first_if_complete(self._rule_per_capability(subject)))
        return self._rules.matchers[min(found)].rule if found else None

    def first_uncovered(self, subject: RuleInput) -> tuple[str, Requirements] | None:
        """Return the first command that no rule covers; None if all are covered, or if there are none."""
        if not subject.commands or not self.match_commands:
            return subject.commands_to_cover[0] if subject.commands else None
        found = zip(subject.commands_to_cover, self._rule_per_command(subject), strict=False)
        return next((pair for pair, rule in found if rule is None), None)

    @cached_property
    def cover_everything(self) -> bool:
        """Whether `bash:*` without conditions is among the rules. Then paths need not be confined, either."""
        return self.match_commands and self._rules.first_covering("\0", Requirements(frozenset({"\0"}))) is not None

    def could_cover(self) -> bool:
        """Whether a rule could cover any call of the tool; in doubt, yes."""
        return any(map(self._could_cover, self._may_cover))

    def _find_by_name(self, action: str | None) -> Iterator[int]:
        return (one for one in self._rules.matching_name(self._facts, action) if one in self._may_cover)

    @staticmethod
    def _first_if_complete(found: Iterator[int | None]) -> Iterator[int]:
        """Yield the first of the rules for all commands, or for all capabilities, if each of them has a rule."""
        ordinals = list[int]()
        for one in found:
            if one is None:
                return
            ordinals.append(one)
        if ordinals:
            yield min(ordinals)

    def _rule_per_command(self, subject: RuleInput) -> Iterator[int | None]:
        if subject.unsupported is not None:
            yield None
            return
        rules = self._rules
        holding = [
            one for one in self._on_commands.satisfied_by(subject.args) if rules.matchers[one].rule.prefix == "bash"
        ]
        for command, needs in subject.commands_to_cover:
            unconditional = rules.first_covering(command, needs)
            if holding:
                others = (one for one in holding if rules.matchers[one].covers_command(command, needs))
                unconditional = min(
                    (one for one in (unconditional, next(others, None)) if one is not None), default=None
                )
            yield unconditional

    def _rule_per_capability(self, subject: RuleInput) -> Iterator[int | None]:
        matchers = self._rules.matchers
        for capability in self._facts.capabilities_of(subject.action) or ():
            candidates = self._on_capability(capability)
            yield next((one for one in candidates if matchers[one].condition_holds(subject.args)), None)

    def _on_capability(self, capability: str) -> tuple[int, ...]:
        """Return the `cap:` rules that can be the first on *capability*, up to the first without conditions; cached."""
        known = self._by_capability.get(capability)
        if known is None:
            known = self._by_capability[capability] = tuple(
                self._until_unconditional(self._rules.on_capability(capability))
            )
        return known

    def _until_unconditional(self, ordinals: Iterator[int]) -> Iterator[int]:
        for ordinal in ordinals:
            yield ordinal
            if not self._rules.matchers[ordinal].is_conditional:
                return

    def _could_cover(self, ordinal: int) -> bool:
        facts, matcher = self._facts, self._rules.matchers[ordinal]
        prefix, glob = matcher.rule.prefix, matcher.rule.glob
        if prefix == "bash":
            return True
        if prefix == "cap":
            return any(
                map(
                    matcher.matches_capability,
                    (word for action in facts.actions for word in facts.capabilities_of(action) or ()),
                )
            )
        return _could_name(glob, names_to_match(prefix, facts, None))


def _could_name(glob: Glob, subjects: Iterable[str]) -> bool:
    """Whether *glob* could match one of *subjects*, alone or followed by an action."""
    return any(glob.matches(subject) or _could_name_action(glob, subject) for subject in subjects)


def _could_name_action(glob: Glob, name: str) -> bool:
    """Whether *glob* could match the name followed by an action."""
    before, head = f"{name}:", glob.prefix
    return (glob.literal is None and before.startswith(head[: len(before)])) or head.startswith(before)


def _first_only(ordinals: Iterator[int]) -> Iterator[int]:
    """Yield the first of *ordinals*, if there is one."""
    for ordinal in ordinals:
        yield ordinal
        return
