"""Computes the tools that a rule could match, by name or by command, and the rules that another rule covers entirely.

The results err on one side: a rule matches too many tools rather than too few, and is covered too rarely rather than
too often. So the conclusion that a rule can be removed is always true.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from toolcharter.policy.matching import Matcher, literal_words, names_to_match
from toolcharter.policy.rule_index import GlobIndex
from toolcharter.policy.rule_input import ToolFacts
from toolcharter.profile.globs import Glob, fold
from toolcharter.profile.rules import Rule

Effect = Literal["deny", "allow"]
"""The list that a rule is in. Guards and notifications use rules like `deny`."""

_ACTIONLESS = frozenset({"group", "mcp"})
"""Prefixes whose subject does not include an action."""


class ToolSignature(NamedTuple):
    """The facts about a listed tool that are known before a call."""

    facts: ToolFacts
    arguments: frozenset[str] | None = None
    """The names of all arguments it takes; None if there may be others."""
    actions: frozenset[str] | None = None
    """All actions it takes, without case; None if any text may be an action."""
    gives_commands: bool = False
    """Whether its calls may be commands, which `bash:` rules match."""
    textless: frozenset[str] = frozenset()
    """Arguments that are never text; globs match only text."""
    evaluated: tuple[str, ...] = ()
    """Arguments whose text a shell or an interpreter runs as code, or another program starts."""

    advertised: frozenset[str] | None = None
    """The actions that the model sees under this profile; None if they are not listed."""

    @property
    def open_actions(self) -> frozenset[str]:
        """The actions that its arguments or its capabilities list and its own policy does not close."""
        named = self.named_actions
        return named if self.advertised is None else named & self.advertised

    @property
    def named_actions(self) -> frozenset[str]:
        """The actions that its arguments or its capabilities list."""
        declared = self.facts.actions if self.actions is None else self.actions
        return frozenset(fold(action) for action in declared if action)


class ToolMatcher:
    """One rule, matched against tools instead of calls."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.matcher = Matcher(rule)
        self.condition_args = (*(name for name, _ in rule.args), *(rule.when or {}))
        """The arguments that the rule has conditions on."""
        # An absent argument matches no glob, and is null for `when`.
        self._satisfied_if_absent = frozenset(
            name
            for name, schema in (rule.when or {}).items()
            if Matcher(rule._replace(args=(), when={name: schema})).condition_holds({})
        ) - {name for name, _ in rule.args}

    def concerns(self, tool: ToolSignature, effect: Effect) -> bool:
        """Whether the rule names the tool, for any action and arguments, or matches its commands."""
        return self.takes_commands(tool, effect) or self._could_name(tool.facts)

    def takes_commands(self, tool: ToolSignature, effect: Effect) -> bool:
        """Whether the rule matches commands of the tool. In `allow`, only `bash:` rules for tools of kind bash do."""
        prefix = self.rule.prefix
        if effect == "allow":
            return prefix == "bash" and tool.facts.kind == "bash" and tool.gives_commands
        return prefix in {"bash", "*"} and tool.gives_commands

    def _could_name(self, facts: ToolFacts) -> bool:
        prefix, glob = self.rule.prefix, self.rule.glob
        if prefix == "cap":
            return any(self.matcher.names_tool(facts, action) for action in facts.actions)
        subjects = names_to_match(prefix, facts, None)
        return any(
            glob.matches(subject) or (prefix not in _ACTIONLESS and _could_begin(glob, f"{subject}:"))
            for subject in subjects
        )

    def acts_on(self, tool: ToolSignature, effect: Effect) -> bool:
        """Whether the rule matches an action or a command of the tool, for any arguments."""
        if self.takes_commands(tool, effect):
            return True
        if tool.actions is None or self.rule.prefix == "cap":
            return self._could_name(tool.facts)
        return any(self.matcher.names_tool(tool.facts, action) for action in (None, *tool.actions))

    def missing_arguments(self, tool: ToolSignature) -> tuple[str, ...]:
        """Return the arguments that the rule requires although the tool has none of that name."""
        if tool.arguments is None:
            return ()
        return tuple(
            name for name in self.condition_args if name not in tool.arguments and name not in self._satisfied_if_absent
        )

    def ineffective_arguments(self, tool: ToolSignature) -> tuple[str, ...]:
        """Return the arguments that the tool lacks and whose absence satisfies `when`: the condition always holds."""
        if tool.arguments is None:
            return ()
        return tuple(
            name for name in self.condition_args if name not in tool.arguments and name in self._satisfied_if_absent
        )

    def reaches(self, tool: ToolSignature, effect: Effect) -> bool:
        """Whether the rule could match some call of the tool."""
        return self.acts_on(tool, effect) and not self.missing_arguments(tool)

    def could_cover(self, tool: ToolSignature) -> bool:
        """Whether the rule in `allow` could help to permit some call of the tool."""
        if not (self.matcher.may_cover(tool.facts) and self.reaches(tool, "allow")):
            return False
        return self.rule.prefix != "cap" or any(map(self.contributes, declared_by(tool.facts)))

    def contributes(self, declared: frozenset[str] | None) -> bool:
        """Whether a `cap:` rule in `allow` matches any of the capabilities *declared*."""
        return any(map(self.matcher.matches_capability, declared or ()))


def _could_begin(glob: Glob, text: str) -> bool:
    """Whether *glob* matches some text that begins with *text*."""
    head = glob.prefix
    return head.startswith(text) or (glob.literal is None and text.startswith(head))


def declared_by(facts: ToolFacts) -> list[frozenset[str] | None]:
    """Return the capabilities that each of the tool's actions declares."""
    return [facts.capabilities_of(action) for action in facts.actions]


def placeholder(rules: Iterable[Rule]) -> str:
    """Return a character that no rule contains, so that a star can match it and no literal can."""
    used = {letter for rule in rules for glob in (rule.glob, *(glob for _, glob in rule.args)) for letter in glob.text}
    return next(letter for letter in map(chr, range(0xE000, 0x110000)) if letter not in used)


class CoveringRules:
    """The rules of one list that may cover others.

    One glob covers another if it matches the other's text with each star replaced by a character that no literal
    contains. This is sound: whatever text the stars match, the literals of the covering glob are found at the same
    places. It misses some pairs.

    Args:
        rules: In the order in which they are reported.
        letter: From `placeholder`, called with these rules and those to be checked.
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

    def first(
        self, rule: ToolMatcher, tool: ToolSignature, effect: Effect, *, before: int | None = None
    ) -> Rule | None:
        """Return the first rule that matches each call of *tool* that *rule* matches.

        Args:
            rule: A rule of the list *effect*.
            tool: A tool that it matches.
            effect: `allow` if these rules are of `allow`, where the covering rule must cover the calls itself; `deny` if
                they are of `deny`.
            before: Consider only the rules before this index.
        """
        wanted = len(self.rules) if before is None else before
        found = sorted(one for one in set(self._candidates(rule, tool)) if one < wanted)
        return next((self.rules[one] for one in found if self._covers(self._matchers[one], rule, tool, effect)), None)

    def _candidates(self, rule: ToolMatcher, tool: ToolSignature) -> Iterator[int]:
        text = self.text_of(rule.rule.glob)
        for prefix, (ordinals, index) in self._by_prefix.items():
            if prefix == "cap":
                yield from ordinals
                continue
            subjects = {text, fold(text), *names_to_match(prefix, tool.facts, None)}
            for action in tool.actions or ():
                if rule.matcher.names_tool(tool.facts, action):
                    subjects.update(names_to_match(prefix, tool.facts, action))
            for subject in subjects:
                yield from (ordinals[one] for one in index.all(subject))

    def text_of(self, glob: Glob) -> str:
        """Return a text that represents everything that *glob* matches."""
        return self._letter.join(glob.parts)

    def _covers(self, one: Matcher, rule: ToolMatcher, tool: ToolSignature, effect: Effect) -> bool:
        if not self._is_implied(one.rule, rule.rule):
            return False
        if effect == "allow":
            if not one.may_cover(tool.facts):
                return False
            if one.rule.prefix == "cap":
                return rule.rule.prefix == "cap" and one.rule.glob.matches(self.text_of(rule.rule.glob))
        return _names_always(one, tool.facts) or self._matches_all(one, rule, tool, effect)

    def _matches_all(self, one: Matcher, rule: ToolMatcher, tool: ToolSignature, effect: Effect) -> bool:
        """Whether *one* matches all commands and all names that *rule* matches."""
        prefixes = one.rule.prefix, rule.rule.prefix
        text = self.text_of(rule.rule.glob)
        if rule.takes_commands(tool, effect):
            if prefixes == ("*", "bash"):
                return one.rule.glob.matches(fold(text))
            # In `allow`, the narrow rule may mention words that the wide rule leaves to its star.
            named = frozenset(literal_words(rule.rule.glob)) if effect == "allow" else frozenset[str]()
            return prefixes[0] == prefixes[1] and one.rule.glob.matches(text) and one.mentions_words(named)
        if prefixes[1] == "cap" or tool.actions is not None:
            actions = tool.facts.actions if prefixes[1] == "cap" else (None, *(tool.actions or ()))
            return all(
                one.names_tool(tool.facts, action) for action in actions if rule.matcher.names_tool(tool.facts, action)
            )
        return _matches_same_texts(prefixes[0], prefixes[1], tool.facts) and one.rule.glob.matches(text)

    def _is_implied(self, one: Rule, rule: Rule) -> bool:
        """Whether *rule*'s conditions on arguments imply those of *one*."""
        args = all(
            any(name == other and glob.matches(self.text_of(narrow)) for other, narrow in rule.args)
            for name, glob in one.args
        )
        given = rule.when or {}
        return args and all(
            name in given and _is_same_json(schema, given[name]) for name, schema in (one.when or {}).items()
        )


def _names_always(one: Matcher, facts: ToolFacts) -> bool:
    """Whether the rule names the tool for every action."""
    actions = facts.actions if one.rule.prefix == "cap" else (None,)
    return all(one.names_tool(facts, action) for action in actions)


def _matches_same_texts(prefix: str, narrow: str, facts: ToolFacts) -> bool:
    """Whether a rule with *prefix* is matched against all texts of a rule with the prefix *narrow*."""
    if "cap" in {prefix, narrow}:
        return False
    narrow_ones, ones = (set(names_to_match(word, facts, "action")) for word in (narrow, prefix))
    return narrow_ones <= ones


def _is_same_json(one: object, other: object) -> bool:
    """Whether two schemas are the same JSON; in Python, true equals 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
