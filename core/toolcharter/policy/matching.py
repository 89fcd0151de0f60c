"""Defines what one rule means: whether it matches a call in `deny`, and whether it covers a call in `allow`.

docs/profiles.md, "Rules", describes rules to authors. `toolcharter.policy.rules_by_tool` computes the same for a whole
list, faster.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolcharter._lazy import lazy
from toolcharter.policy.rule_input import Requirements, RuleInput, ToolFacts, encode_repeats, mcp_subject
from toolcharter.profile.conditions import compile_conditions
from toolcharter.profile.globs import Glob, fold
from toolcharter.profile.rules import Rule

if TYPE_CHECKING:
    import pydantic_core
else:
    pydantic_core = lazy("pydantic_core")

_BOUNDED_ONLY = frozenset({"*", "builtin", "group", "cap", ""})
"""Prefixes that cover only bounded tools; but a bare glob may also be the literal name of an unbounded tool."""


class Matcher:
    """One rule, ready to be matched against calls."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.is_conditional = bool(rule.args) or rule.when is not None
        """Whether it has conditions on the arguments."""
        self._tests = compile_conditions(rule.when)

    def denies(self, facts: ToolFacts, subject: RuleInput) -> bool:
        """Whether the rule in `deny` matches the call. If a call has several commands, one that matches suffices."""
        return any(map(self.condition_holds, subject.argument_forms)) and (
            self.names_tool(facts, subject.action) or any(map(self.matches_command, subject.deny_texts))
        )

    def covers(self, facts: ToolFacts, subject: RuleInput) -> bool:
        """Whether the rule in `allow` alone covers the call, with all its commands or capabilities."""
        if not (self.may_cover(facts) and self.condition_holds(subject.args)):
            return False
        if self.rule.prefix == "bash":
            return (
                subject.unsupported is None
                and bool(subject.commands)
                and all(self.covers_command(command, needs) for command, needs in subject.commands_to_cover)
            )
        if self.rule.prefix == "cap":
            declared = facts.capabilities_of(subject.action)
            return all(map(self.matches_capability, declared)) if declared else False
        return self.names_tool(facts, subject.action)

    def may_cover(self, facts: ToolFacts) -> bool:
        """Whether a rule with this prefix can permit a tool of this kind."""
        prefix, glob = self.rule.prefix, self.rule.glob
        if facts.is_bounded:
            return prefix in _BOUNDED_ONLY
        return prefix == facts.kind or (prefix == "" and names_literally(glob))

    def condition_holds(self, args: Mapping[str, Any]) -> bool:
        """Whether the arguments satisfy the conditions. An absent argument matches no glob, and is null for `when`."""
        for name, glob in self.rule.args:
            value = argument(args, name)
            if not (isinstance(value, str) and glob.matches(value)):
                return False
        return all(test(argument(args, name)) for name, test in self._tests.items())

    def names_tool(self, facts: ToolFacts, action: str | None) -> bool:
        """Whether the rule matches the tool's name, its action, its group or one of its capabilities."""
        prefix, glob = self.rule.prefix, self.rule.glob
        if prefix == "cap":
            declared = facts.capabilities_of(action)
            return declared is None or any(map(self.matches_capability, declared))
        return any(map(glob.matches, names_to_match(prefix, facts, action)))

    def matches_command(self, command: str) -> bool:
        """Whether the rule matches one command in normal form."""
        if self.rule.prefix == "*":
            return self.rule.glob.matches(fold(command))
        return self.rule.prefix == "bash" and self.rule.glob.matches(command)

    def covers_command(self, command: str, needs: Requirements) -> bool:
        """Whether the rule in `allow` matches one command, or one that starts it, and mentions all required words."""
        return (self.touches_command(command, needs) and self.mentions_words(needs.words)) or any(
            self.covers_command(*starter) for starter in needs.starters
        )

    def touches_command(self, command: str, needs: Requirements) -> bool:
        """Whether the rule in `allow` matches one command, with or without its assignments; mentions do not count."""
        return self.matches_command(command) or (needs.bare is not None and self.matches_command(needs.bare))

    def mentions_words(self, words: frozenset[str]) -> bool:
        """Whether the rule mentions each of *words* literally, not through `*`; `bash:*` mentions all words."""
        return not words or self._mentions_all or words <= self._mentioned_words

    @cached_property
    def _mentions_all(self) -> bool:
        return self.rule.glob.parts == ("", "")

    @cached_property
    def _mentioned_words(self) -> frozenset[str]:
        times = Counter(literal_words(self.rule.glob))
        return frozenset(encode_repeats(word, number) for word in times for number in range(1, times[word] + 1))

    def matches_capability(self, capability: str) -> bool:
        """Whether the rule's glob matches *capability*."""
        return self.rule.glob.matches(capability)


def argument(args: Mapping[str, Any], name: str) -> Any:
    """Return one argument as JSON; None if it is absent. A tool may declare a `Path`, an `Enum` or a model."""
    value = args.get(name)
    if type(value) is str:
        return value

    return pydantic_core.to_jsonable_python(value, fallback=str)


def names_to_match(prefix: str, facts: ToolFacts, action: str | None) -> Iterable[str]:
    """Return the texts, without case, that a rule's glob must match in order to name the tool."""
    if prefix == "group":
        return facts.groups
    if prefix == "mcp":
        return (mcp_subject(facts.name),) if facts.kind == "mcp" else ()
    if prefix in {"", "*"} or (prefix == facts.kind and prefix != "bash"):
        return _matching_names(prefix, facts, action)
    return ()


def _matching_names(prefix: str, facts: ToolFacts, action: str | None) -> Iterator[str]:
    for name in facts.names:
        yield name
        if action is not None:
            yield f"{name}:{fold(action)}"
    if prefix == "*" and facts.kind == "mcp":
        yield mcp_subject(facts.name)


def literal_words(glob: Glob) -> Iterator[str]:
    """Yield the words of a glob for commands that contain no star, as in the normal form."""
    star = "\0"  # No command in normal form contains it.
    word, quote = "", ""
    for character in star.join(glob.parts) + " ":
        if character == " " and not quote:
            if word and star not in word:
                yield word
            word = ""
            continue
        word += character
        if character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = character


def names_literally(glob: Glob) -> bool:
    """Whether *glob* contains the tool's name literally; the action may be a glob."""
    return glob.literal is not None or ":" in glob.prefix
