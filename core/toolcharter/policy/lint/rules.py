"""Finds rules that can never match or never matter, and risky ones: for a profile's author, not for a call. Pure.

All findings are true: removing a rule that is reported to do nothing changes no decision. What the profile and the
specs of its tools do not determine is not reported.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final, Literal, NamedTuple

from toolcharter.api.call import Decision
from toolcharter.errors import did_you_mean
from toolcharter.policy.availability import PlaceOf, idle_entries
from toolcharter.policy.capability import CapabilityLimits, compile_limit
from toolcharter.policy.evaluate import Policy, by_mode
from toolcharter.policy.lint.coverage import CoveringRules, Effect, ToolMatcher, ToolSignature, declared_by, placeholder
from toolcharter.policy.names import literal_name, written_patterns
from toolcharter.profile.globs import fold
from toolcharter.profile.model import Profile
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import Ceiling

FindingKind = Literal["never_matches", "never_matters", "risky", "asked", "undeclared", "hidden", "ceiling"]
"""For the first two, the rule or entry at the place can be removed without changing any decision."""

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=\S* ", re.ASCII)
_KINDS = frozenset({"builtin", "cli", "mcp", "custom"})
_MAX_LISTED = 6
# Does not match the brackets of `bash:[ -f *`, which are a program's name and its last word.
_SHELL_GLOB: Final = re.compile(r"\[[^\]\[\s]+\]|\?|\{[^{}\s]+,[^{}\s]*\}")


class Finding(NamedTuple):
    """One part of a profile that its author may not have meant."""

    word: FindingKind
    place: str
    """`file:line:column`."""
    path: str
    """The key in the file, such as `deny`."""
    what: str
    """A sentence."""
    fix: str = ""


class LintedProfile(NamedTuple):
    """A profile and all known facts about its tools."""

    profile: Profile
    tools: Sequence[ToolSignature]
    """The tools that the profile lists and that are installed."""
    ceilings: Sequence[Ceiling] = ()
    pending: Collection[str] = ()
    """Names in `missing_ok` that nothing provides yet. Nothing is known about these tools."""
    place_of: PlaceOf = lambda *_: ""
    is_launcher: Callable[[str], bool] = lambda _: False
    """Whether a program, as written, is known to run other programs or code."""
    has_table: Callable[[str], bool] = lambda _: True
    """Whether the effects of a program's options and operands are known; the program is given as written."""


def rule_findings(subject: LintedProfile) -> Iterator[Finding]:
    """Yield all findings about a profile, except those about ceilings; rules first, in the order of the keys."""
    yield from RulesLinter(subject).findings()
    yield from _tool_findings(subject)
    for index, entry, what in idle_entries(subject.profile.availability):
        yield Finding("never_matters", entry.place, f"availability.{index}", what, "Remove it, or correct it.")


def format_names(names: Iterable[str]) -> str:
    """Format names for a sentence; of many names, only the first few."""
    shown = list(map(repr, names))
    more = len(shown) - _MAX_LISTED
    return ", ".join(shown[:_MAX_LISTED]) + (f" and {more} more" if more > 0 else "")


def tool_names(tools: Iterable[ToolSignature]) -> str:
    """Format the names of some tools for a sentence."""
    return format_names(tool.facts.name for tool in tools)


class RulesLinter:
    """The rules and patterns of one profile."""

    def __init__(self, subject: LintedProfile) -> None:
        self.subject = subject
        self.tools = subject.tools
        profile = subject.profile
        self.patterns = tuple(written_patterns(profile, ()))
        self.modes = Policy(mode=profile.mode, ceilings=subject.ceilings).modes
        above = (rule for ceiling in subject.ceilings for rule in (*ceiling.deny, *ceiling.ask))
        self.letter = placeholder([*(rule for _, rule in self.patterns), *above])
        self.deny, self.ask, self.allow = (
            CoveringRules(rules, self.letter) for rules in (profile.deny, profile.ask, profile.allow)
        )
        self._pending = frozenset(map(fold, subject.pending))

    def findings(self) -> Iterator[Finding]:
        """Yield the gravest finding on each rule that has findings."""
        ordinals = {"deny": 0, "ask": 0, "allow": 0}
        for path, rule in self.patterns:
            ordinal = ordinals.get(path, 0)
            if path in ordinals:
                ordinals[path] += 1
            found = next(self._findings_on(path, ToolMatcher(rule), ordinal), None)
            if found is not None:
                yield found

    def _findings_on(self, path: str, rule: ToolMatcher, ordinal: int) -> Iterator[Finding]:
        """Yield the findings on one rule, the gravest first."""
        effect: Effect = "allow" if path == "allow" else "deny"
        yield from self._contradictory(path, rule.rule)
        if not self.may_come(rule.rule):
            yield from self._never_matches(path, rule, effect)
            if path == "allow":
                yield from self._idle_allow(rule, ordinal)
            if path == "ask":
                yield from self._denied_before_asked(rule)
            if path in {"deny", "ask"}:
                reached = [tool for tool in self.tools if rule.reaches(tool, "deny")]
                yield from self._repeated(rule, path, ordinal, reached)
            yield from self._doubtful(path, rule, effect)
        if path == "allow":
            yield from self._launcher_rule(rule.rule)
        if what := explain_literal_glob(rule.rule.text):
            yield Finding("risky", rule.rule.source, path, what, "Write a star, or a rule for each.")

    def may_come(self, rule: Rule) -> bool:
        """Whether the rule may be about a tool that is not installed yet."""
        if not self._pending:
            return False
        name = literal_name(rule)
        return name is None or name in self._pending

    # -- never matches

    def _never_matches(self, path: str, rule: ToolMatcher, effect: Effect) -> Iterator[Finding]:
        if any(rule.reaches(tool, effect) for tool in self.tools):
            return
        what, fix = self._why_never(rule, effect)
        yield Finding("never_matches", rule.rule.source, path, f"{rule.rule.text!r} can never match: {what}", fix)

    @staticmethod
    def _contradictory(path: str, rule: Rule) -> Iterator[Finding]:
        """Report globs for one argument that no text can match together."""
        texts = [(name, glob.literal) for name, glob in rule.args if glob.literal is not None]
        for name, text in texts:
            for other, glob in rule.args:
                if other == name and not glob.matches(text):
                    what = f"{rule.text!r} can never match: {name!r} cannot be both {text!r} and {glob.text!r}."
                    fix = "Write two rules instead."
                    yield Finding("never_matches", rule.source, path, what, fix)
                    return

    def _why_never(self, rule: ToolMatcher, effect: Effect) -> tuple[str, str]:
        named = [tool for tool in self.tools if rule.concerns(tool, effect)]
        if not named:
            return self._why_no_tool(rule.rule, effect)
        acting = [tool for tool in named if rule.acts_on(tool, effect)]
        if not acting:
            known = sorted({action for tool in named for action in tool.named_actions})
            fix = f"{_nearest(rule.rule, known)} Actions: {format_names(known) or 'none'}.".lstrip()
            return f"no action of {tool_names(named)} has that name.", fix
        lacking = [name for name in rule.condition_args if all(name in rule.missing_arguments(tool) for tool in acting)]
        arguments = sorted({name for tool in acting for name in tool.arguments or ()})
        if not lacking:
            return f"none of {tool_names(acting)} has all the arguments that the rule needs.", ""
        fix = f"{did_you_mean(lacking[0], arguments)} Arguments: {format_names(arguments) or 'none'}.".lstrip()
        return f"no argument of {tool_names(acting)} is named {lacking[0]!r}.", fix

    def _why_no_tool(self, rule: Rule, effect: Effect) -> tuple[str, str]:
        known = [name for tool in self.tools for name in (tool.facts.name, *tool.facts.aliases)]
        name = literal_name(rule)
        if rule.prefix == "bash":
            what = "of kind 'bash' has commands" if effect == "allow" else "has commands"
            return f"no tool of the profile {what}.", "List such a tool under `tools`, or remove the rule."
        if rule.prefix in _KINDS and all(tool.facts.kind != rule.prefix for tool in self.tools):
            return f"no tool of the profile is of kind {rule.prefix!r}.", "List one under `tools`, or remove the rule."
        if name is not None and name not in map(fold, known):
            near = did_you_mean(name, known)
            return f"the profile does not list {name!r}.", f"{near} List it under `tools`, or remove the rule.".lstrip()
        if rule.prefix == "group":
            groups = sorted({group for tool in self.tools for group in tool.facts.groups})
            return "no tool of the profile is in such a group.", f"Groups: {format_names(groups) or 'none'}."
        if rule.prefix == "cap":
            words = sorted(_capabilities(self.tools))
            return (
                "no tool of the profile declares such a capability.",
                f"Capabilities: {format_names(words) or 'none'}.",
            )
        return "no tool of the profile has such a name.", f"Tools: {tool_names(self.tools) or 'none'}."

    # -- never matters

    def _idle_allow(self, rule: ToolMatcher, ordinal: int) -> Iterator[Finding]:
        reached = [tool for tool in self.tools if rule.reaches(tool, "allow")]
        covered = [tool for tool in self.tools if rule.could_cover(tool)]
        needy = self.tools_needing_rule(rule)
        if not needy:
            yield self._idle(rule, *(self._why_not_needed(covered) if covered else _why_never_covering(rule, reached)))
        elif all(deciding := [self.deny.first(rule, tool, "deny") for tool in needy]):
            yield self._idle(
                rule, f"every call that it would allow is denied by {format_rules(deciding)}.", "Remove it."
            )
        else:
            yield from self._repeated(rule, "allow", ordinal, needy)
            yield from self._always_asked(rule, needy)

    @staticmethod
    def _idle(rule: ToolMatcher, what: str, fix: str, path: str = "allow") -> Finding:
        return Finding("never_matters", rule.rule.source, path, f"{rule.rule.text!r} has no effect: {what}", fix)

    def _denied_before_asked(self, rule: ToolMatcher) -> Iterator[Finding]:
        """Report rules of `ask` whose calls are all denied by `deny` before."""
        deciding = [self.deny.first(rule, tool, "deny") for tool in self.tools if rule.reaches(tool, "deny")]
        if deciding and all(deciding):
            what = f"every call that a person would be asked about is denied by {format_rules(deciding)}."
            yield self._idle(rule, what, "Remove it.", "ask")

    def _always_asked(self, rule: ToolMatcher, needy: Sequence[ToolSignature]) -> Iterator[Finding]:
        """Report rules of `allow` whose calls all ask a person nevertheless."""
        deciding = [self.ask.first(rule, tool, "deny") for tool in needy]
        if all(deciding):
            what = f"every call that {rule.rule.text!r} would allow waits for a person, by {format_rules(deciding)}."
            fix = "`ask` comes before `allow`: narrow the ask rule, or remove this one."
            yield Finding("asked", rule.rule.source, "allow", what, fix)

    def tools_needing_rule(self, rule: ToolMatcher) -> list[ToolSignature]:
        """Return the tools of which a rule in `allow` could cover calls that some mode refuses without a rule."""
        return [
            tool
            for tool in self.tools
            if rule.could_cover(tool)
            and any(by_mode(mode, bounded=tool.facts.is_bounded, covered=False) != "allow" for mode, _ in self.modes)
        ]

    def _why_not_needed(self, covered: Sequence[ToolSignature]) -> tuple[str, str]:
        mode = self.subject.profile.mode
        if mode == "dangerous":
            return "in mode 'dangerous' no call needs a rule.", "Remove it, or choose another mode."
        what = f"in mode {mode!r} bounded tools, such as {tool_names(covered)}, need no rule."
        return what, "Bound it by its policy or by `deny`, or choose the mode 'restrict' or 'ask'."

    def _repeated(
        self, rule: ToolMatcher, path: str, ordinal: int, tools: Sequence[ToolSignature]
    ) -> Iterator[Finding]:
        coverers, done = {
            "deny": (self.deny, "denies is already denied"),
            "ask": (self.ask, "asks about is already asked about"),
            "allow": (self.allow, "allows is already allowed"),
        }[path]
        effect: Effect = "allow" if path == "allow" else "deny"
        earlier = [coverers.first(rule, tool, effect, before=ordinal) for tool in tools]
        if earlier and all(earlier):
            yield self._idle(rule, f"every call that it {done} by {format_rules(earlier)}.", "Remove it.", path)

    # -- doubtful

    def _doubtful(self, path: str, rule: ToolMatcher, effect: Effect) -> Iterator[Finding]:
        """Report rules that can match, but probably not as their author meant."""
        reached = [tool for tool in self.tools if rule.reaches(tool, effect)]
        idle = [
            name for name in rule.condition_args if all(name in rule.ineffective_arguments(tool) for tool in reached)
        ]
        textless = [name for name, _ in rule.rule.args if reached and all(name in tool.textless for tool in reached)]
        text = rule.rule.text
        if textless:
            what = f"{text!r}: no call of {tool_names(reached)} has text in {textless[0]!r}, and a glob matches nothing else."
            yield Finding("risky", rule.rule.source, path, what, "Write the long form with `when`.")
        elif idle:
            arguments = sorted({name for tool in reached for name in tool.arguments or ()})
            fix = f"{did_you_mean(idle[0], arguments)} Arguments: {format_names(arguments) or 'none'}.".lstrip()
            what = (
                f"{text!r} asks of {idle[0]!r}, which no argument of {tool_names(reached)} is named: that always holds."
            )
            yield Finding("risky", rule.rule.source, path, what, fix)
        elif rule.rule.prefix == "cap" and not any(rule.contributes(frozenset({one})) for one in self._capabilities):
            fix = f"Capabilities: {format_names(sorted(self._capabilities)) or 'none'}."
            what = f"no tool of the profile declares what {text!r} names: it matches only actions that declare nothing."
            yield Finding("risky", rule.rule.source, path, what, fix)
        elif reached and all(_is_undeclared(rule, tool, effect) for tool in reached):
            known = sorted({action for tool in reached for action in tool.named_actions})
            fix = f"{_nearest(rule.rule, known)} Actions: {format_names(known)}.".lstrip()
            yield Finding(
                "risky", rule.rule.source, path, f"{text!r}: {tool_names(reached)} declares no such action.", fix
            )

    @cached_property
    def _capabilities(self) -> frozenset[str]:
        return _capabilities(self.tools)

    def _launcher_rule(self, rule: Rule) -> Iterator[Finding]:
        if rule.prefix != "bash":
            yield from self._shell_tool_rule(ToolMatcher(rule))
            return
        if rule.glob.literal is not None:
            return
        head = rule.glob.prefix
        while found := _ASSIGNMENT.match(head):
            head = head[found.end() :]
        program = head.partition(" ")[0]
        if not program or program.endswith("/"):
            what = f"the star of {rule.text!r} means any program, interpreters included."
        elif self.subject.is_launcher(program):
            what = f"{program!r} can run any other program, and {rule.text!r} leaves its arguments open."
        elif not ("*" in program or self.subject.has_table(program)):
            what = f"nothing is known about {program!r}: {rule.text!r} covers all its options, and only paths are confined."
        else:
            return
        yield Finding("risky", rule.source, "allow", what, "Write the commands out, without a star.")

    def _shell_tool_rule(self, rule: ToolMatcher) -> Iterator[Finding]:
        shells = [tool for tool in self.tools if tool.gives_commands and tool.facts.kind == "bash"]
        named = [tool for tool in shells if rule.could_cover(tool)]
        if named and not rule.condition_args:
            what = f"{rule.rule.text!r} means any program that {tool_names(named)} may start, interpreters included."
            yield Finding("risky", rule.rule.source, "allow", what, "Write the commands out: `bash:git status`.")


def _capabilities(tools: Iterable[ToolSignature]) -> frozenset[str]:
    return frozenset(
        word for tool in tools for action in tool.facts.actions for word in tool.facts.capabilities_of(action) or ()
    )


def _is_undeclared(rule: ToolMatcher, tool: ToolSignature, effect: Effect) -> bool:
    """Whether the rule is about actions of the tool, but about none that the tool declares."""
    if rule.takes_commands(tool, effect) or rule.rule.prefix == "cap" or not tool.named_actions:
        return False
    return not any(rule.matcher.names_tool(tool.facts, action) for action in (None, *tool.named_actions))


def _nearest(rule: Rule, known: Collection[str]) -> str:
    """Return a "Did you mean" question with the action that is nearest to the rule's; empty without one."""
    action = (rule.glob.literal or "").rpartition(":")[2]
    return did_you_mean(action, known) if action else ""


def format_rules(rules: Iterable[Rule | None]) -> str:
    """Format the rules that oppose another, each with its place."""
    distinct = dict.fromkeys((rule.text, rule.source) for rule in rules if rule is not None)
    return " and ".join(f"{text!r} ({source})" for text, source in distinct)


def _why_never_covering(rule: ToolMatcher, reached: Sequence[ToolSignature]) -> tuple[str, str]:
    """Return why a rule that names tools can permit none of them, and the fix."""
    prefix = rule.rule.prefix
    unbounded = [tool for tool in reached if not tool.facts.is_bounded]
    if prefix == "cap":
        unbounded = [tool for tool in unbounded if any(map(rule.contributes, declared_by(tool.facts)))]
        if not unbounded:
            words = sorted(_capabilities(reached))
            return (
                "no tool of the profile declares such a capability.",
                f"Capabilities: {format_names(words) or 'none'}.",
            )
    kinds = " or ".join(sorted({f"'{tool.facts.kind}:'" for tool in unbounded}))
    form = f"'{prefix}:'" if prefix else "a glob"
    what = f"{form} allows no unbounded tool, such as {tool_names(unbounded)}."
    return what, f"Write the tool's own name, or a rule that begins with {kinds}."


# -- tools


def _tool_findings(subject: LintedProfile) -> Iterator[Finding]:
    capabilities = subject.profile.capabilities
    limits = CapabilityLimits([compile_limit("profile", capabilities)])
    profile = subject.profile
    policy = Policy(profile.deny, profile.allow, profile.mode, limits, ask=profile.ask)
    for tool in subject.tools:
        name = tool.facts.name
        place, path = subject.place_of("tools", name), f"tools.{name}"
        if tool.facts.capabilities is None:
            what = "declares no capabilities, so it counts as touching everything, at the highest safety level."
            yield Finding("undeclared", place, path, what, "The plugin's author has to declare them.")
        hidden_because = policy.for_tool(tool.facts).hidden_because
        if hidden_because is not None and hidden_because.stage != "deny":
            yield Finding("hidden", place, path, f"no caller sees it: {why_hidden(hidden_because)}")


def why_hidden(hidden_because: Decision) -> str:
    """Return the end of a sentence about the decision that hides a tool from everyone."""
    if hidden_because.rule is not None:
        return f"{hidden_because.rule.text!r} ({hidden_because.rule.source}) denies every call."
    if hidden_because.stage == "mode":
        return "it needs an `allow` rule, and there is none that could cover it."
    return hidden_because.message or f"{hidden_because.reason}."


def explain_literal_glob(text: str) -> str | None:
    """Return why characters of a shell's glob in a rule mean themselves; None if the rule has none."""
    found = _SHELL_GLOB.search(text)
    return None if found is None else f"{found.group()!r} in {text!r} means itself: only `*` is special."
