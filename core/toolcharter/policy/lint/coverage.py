"""What a rule could reach: which tools, by name or by command, and which rules another rule covers wholly.

All that is said here errs on one side: a rule reaches too many tools rather than too few, and is covered too seldom
rather than too often. So what follows from it, that a rule can be removed, is true.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from toolcharter.policy.matching import Matcher, literal_words, subjects_of
from toolcharter.policy.rule_index import GlobIndex
from toolcharter.policy.rule_input import ToolFacts
from toolcharter.profile.globs import Glob, fold
from toolcharter.profile.rules import Rule

Sense = Literal["deny", "allow"]
"""In which list a rule is; guards and notifications use rules as `deny` does."""

_WHOLE = frozenset({"group", "mcp"})
"""Prefixes whose subject has no action."""


class ToolSignature(NamedTuple):
    """A listed tool, as far as is known before it is called."""

    facts: ToolFacts
    arguments: frozenset[str] | None = None
    """The names of all arguments it takes; None if there may be others."""
    actions: frozenset[str] | None = None
    """All actions it takes, without case; None if any text may be one."""
    gives_commands: bool = False
    """Its calls may be commands, for `bash:` rules to look at."""
    textless: frozenset[str] = frozenset()
    """Arguments that are never text, which is all that a glob matches."""
    evaluated: tuple[str, ...] = ()
    """Arguments whose text a shell or an interpreter gets as code, or another program starts."""

    advertised: frozenset[str] | None = None
    """The actions that the model is shown under this profile; None if they are not listed."""

    @property
    def open_actions(self) -> frozenset[str]:
        """The actions that its arguments or its capabilities list, and that the tool's own policy does not close."""
        named = self.named_actions
        return named if self.advertised is None else named & self.advertised

    @property
    def named_actions(self) -> frozenset[str]:
        """The actions that its arguments or its capabilities list."""
        declared = self.facts.actions if self.actions is None else self.actions
        return frozenset(fold(action) for action in declared if action)


class Reaching:
    """One rule, held against tools instead of calls."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.matcher = Matcher(rule)
        self.asked = (*(name for name, _ in rule.args), *(rule.when or {}))
        """The arguments that it asks something of."""
        # An absent argument matches no glob, and is null to `when`.
        self._content_without = frozenset(
            name
            for name, schema in (rule.when or {}).items()
            if Matcher(rule._replace(args=(), when={name: schema})).condition_holds({})
        ) - {name for name, _ in rule.args}

    def concerns(self, tool: ToolSignature, sense: Sense) -> bool:
        """Whether the rule names the tool, whatever its actions and arguments, or looks at its commands."""
        return self.takes_commands(tool, sense) or self._could_name(tool.facts)

    def takes_commands(self, tool: ToolSignature, sense: Sense) -> bool:
        """Whether the rule looks at commands of the tool; in `allow`, only `bash:` rules on tools of kind bash do."""
        prefix = self.rule.prefix
        if sense == "allow":
            return prefix == "bash" and tool.facts.kind == "bash" and tool.gives_commands
        return prefix in {"bash", "*"} and tool.gives_commands

    def _could_name(self, facts: ToolFacts) -> bool:
        prefix, glob = self.rule.prefix, self.rule.glob
        if prefix == "cap":
            return any(self.matcher.names(facts, action) for action in facts.actions)
        subjects = subjects_of(prefix, facts, None)
        return any(
            glob.matches(subject) or (prefix not in _WHOLE and _could_begin(glob, f"{subject}:"))
            for subject in subjects
        )

    def acts_on(self, tool: ToolSignature, sense: Sense) -> bool:
        """Whether there is an action or a command of the tool that the rule matches, whatever the arguments."""
        if self.takes_commands(tool, sense):
            return True
        if tool.actions is None or self.rule.prefix == "cap":
            return self._could_name(tool.facts)
        return any(self.matcher.names(tool.facts, action) for action in (None, *tool.actions))

    def lacks(self, tool: ToolSignature) -> tuple[str, ...]:
        """The arguments that the rule asks for in vain, because the tool has none of that name."""
        if tool.arguments is None:
            return ()
        return tuple(name for name in self.asked if name not in tool.arguments and name not in self._content_without)

    def is_idle(self, tool: ToolSignature) -> tuple[str, ...]:
        """The arguments that the tool does not have and whose absence fulfils `when`: a condition that always holds."""
        if tool.arguments is None:
            return ()
        return tuple(name for name in self.asked if name not in tool.arguments and name in self._content_without)

    def reaches(self, tool: ToolSignature, sense: Sense) -> bool:
        """Whether there could be a call of the tool that the rule matches."""
        return self.acts_on(tool, sense) and not self.lacks(tool)

    def could_cover(self, tool: ToolSignature) -> bool:
        """Whether there could be a call of the tool that the rule in `allow` helps to permit."""
        if not (self.matcher.may_cover(tool.facts) and self.reaches(tool, "allow")):
            return False
        return self.rule.prefix != "cap" or any(map(self.contributes, declared_by(tool.facts)))

    def contributes(self, declared: frozenset[str] | None) -> bool:
        """Whether a `cap:` rule in `allow` names any of the capabilities *declared*."""
        return any(map(self.matcher.matches_capability, declared or ()))


def _could_begin(glob: Glob, text: str) -> bool:
    """Whether *glob* matches anything that begins with *text*."""
    head = glob.prefix
    return head.startswith(text) or (glob.literal is None and text.startswith(head))


def declared_by(facts: ToolFacts) -> list[frozenset[str] | None]:
    """What each sort of action declares."""
    return [facts.capabilities_of(action) for action in facts.actions]


def placeholder(rules: Iterable[Rule]) -> str:
    """A character that is in no rule: a star can match it and no literal can."""
    used = {letter for rule in rules for glob in (rule.glob, *(glob for _, glob in rule.args)) for letter in glob.text}
    return next(letter for letter in map(chr, range(0xE000, 0x110000)) if letter not in used)


class Coverers:
    """The rules of one list that may cover others.

    One glob covers another if it matches the other's text with a character that no literal holds in the place of each
    star: sound, for whatever text the stars match, the literals of the first are found where they were; some pairs
    are missed.

    Args:
        rules: In the order in which they are reported.
        letter: From `placeholder`, of these rules and those that are asked about.
    """

    def __init__(self, rules: Sequence[Rule], letter: str) -> None:
        self.rules = rules
        self._letter = letter
        self._matchers = tuple(map(Matcher, rules))
        by_prefix: dict[str, dict[int, Glob]] = {}
        for ordinal, rule in enumerate(rules):
            by_prefix.setdefault(rule.prefix, {})[ordinal] = rule.glob
        self._by_prefix = {
            prefix: (tuple(globs), GlobIndex(list(globs.values()))) for prefix, globs in by_prefix.items()
        }

    def first(self, rule: Reaching, tool: ToolSignature, sense: Sense, *, before: int | None = None) -> Rule | None:
        """The first rule that matches each call of *tool* that *rule* does.

        Args:
            rule: It is in the list *sense*.
            tool: One that it reaches.
            sense: `allow`: the answer has to cover in its turn, so that these rules are of `allow`, too; `deny`: of
                `deny`.
            before: Only the rules in front of this one.
        """
        wanted = len(self.rules) if before is None else before
        found = sorted(one for one in set(self._candidates(rule, tool)) if one < wanted)
        return next((self.rules[one] for one in found if self._covers(self._matchers[one], rule, tool, sense)), None)

    def _candidates(self, rule: Reaching, tool: ToolSignature) -> Iterator[int]:
        text = self.text_of(rule.rule.glob)
        for prefix, (ordinals, index) in self._by_prefix.items():
            if prefix == "cap":
                yield from ordinals
                continue
            subjects = {text, fold(text), *subjects_of(prefix, tool.facts, None)}
            for action in tool.actions or ():
                if rule.matcher.names(tool.facts, action):
                    subjects.update(subjects_of(prefix, tool.facts, action))
            for subject in subjects:
                yield from (ordinals[one] for one in index.all(subject))

    def text_of(self, glob: Glob) -> str:
        """A text in place of all that *glob* matches."""
        return self._letter.join(glob.parts)

    def _covers(self, one: Matcher, rule: Reaching, tool: ToolSignature, sense: Sense) -> bool:
        if not self._is_implied(one.rule, rule.rule):
            return False
        if sense == "allow":
            if not one.may_cover(tool.facts):
                return False
            if one.rule.prefix == "cap":
                return rule.rule.prefix == "cap" and one.rule.glob.matches(self.text_of(rule.rule.glob))
        return _names_always(one, tool.facts) or self._matches_all(one, rule, tool, sense)

    def _matches_all(self, one: Matcher, rule: Reaching, tool: ToolSignature, sense: Sense) -> bool:
        """Whether *one* matches all commands and all names that *rule* does."""
        prefixes = one.rule.prefix, rule.rule.prefix
        text = self.text_of(rule.rule.glob)
        if rule.takes_commands(tool, sense):
            if prefixes == ("*", "bash"):
                return one.rule.glob.matches(fold(text))
            # In `allow`, the narrow rule may name words that the wide one leaves to its star.
            named = frozenset(literal_words(rule.rule.glob)) if sense == "allow" else frozenset[str]()
            return prefixes[0] == prefixes[1] and one.rule.glob.matches(text) and one.names_words(named)
        if prefixes[1] == "cap" or tool.actions is not None:
            actions = tool.facts.actions if prefixes[1] == "cap" else (None, *(tool.actions or ()))
            return all(one.names(tool.facts, action) for action in actions if rule.matcher.names(tool.facts, action))
        return _looks_where(prefixes[0], prefixes[1], tool.facts) and one.rule.glob.matches(text)

    def _is_implied(self, one: Rule, rule: Rule) -> bool:
        """Whether all that *one* asks of the arguments holds where *rule*'s conditions do."""
        args = all(
            any(name == other and glob.matches(self.text_of(narrow)) for other, narrow in rule.args)
            for name, glob in one.args
        )
        given = rule.when or {}
        return args and all(name in given and _same(schema, given[name]) for name, schema in (one.when or {}).items())


def _names_always(one: Matcher, facts: ToolFacts) -> bool:
    """Whether the rule names the tool for every action."""
    actions = facts.actions if one.rule.prefix == "cap" else (None,)
    return all(one.names(facts, action) for action in actions)


def _looks_where(prefix: str, narrow: str, facts: ToolFacts) -> bool:
    """Whether a rule with *prefix* is held against all texts that one with the prefix *narrow* is held against."""
    if "cap" in {prefix, narrow}:
        return False
    narrow_ones, ones = (set(subjects_of(word, facts, "action")) for word in (narrow, prefix))
    return narrow_ones <= ones


def _same(one: object, other: object) -> bool:
    """Whether two schemas are the same JSON: to Python, true is 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
