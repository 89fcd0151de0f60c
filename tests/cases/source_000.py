"""Sample set 000's rules as it matches them, and as the design does: which rows the design decides otherwise, and why."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

PREFIXES = {"bash", "builtin", "cli", "mcp", "custom", "*", "group", "cap"}
BARE = (
    'design, section 4: "The first segment is a prefix if and only if it is one of `bash builtin cli mcp custom ...`".'
)
NEVER = 'design, section 4: "In `allow`, the prefixes `*`, ... and a bare glob never cover an unbounded tool".'
CASE = 'design, section 4: "names without case".'
ANCHORED = 'design, section 4: "Anchored; only `*` is special".'
ANY_ACTION = 'design, section 4: "a rule without action covers all actions".'
UNKNOWN = 'design, section 4: "A name that nothing provides is a load error with near matches, in `deny` too".'
FLOOR = 'design, section 4: "The fixed floor, `deny`, ... hold in every mode".'

_PLAIN = re.compile(r"[\w@%+:,./-]+(?: [\w@%+=:,./-]+)*", re.ASCII)
_CATASTROPHE = re.compile(r"\brm -\w+ .*[/~]")


class Asked(NamedTuple):
    """An invocation as sample set 000 writes it."""

    tool_type: str
    text: str

    @property
    def names(self) -> tuple[str, ...]:
        """What rules may call the tool and its action."""
        if self.tool_type == "bash":
            return ("bash",)
        if self.tool_type == "mcp":
            return ("mcp__" + self.text.lower().replace(":", "__"),)
        return tuple({self.text.partition(":")[0].lower(): 0, self.text.lower(): 0})

    @property
    def is_left_to_the_shell_guard(self) -> bool:
        """Whether it is a line whose meaning, or whose harm, takes more than reading its words."""
        return self.tool_type == "bash" and (self.is_catastrophe or not _PLAIN.fullmatch(self.text))

    @property
    def is_catastrophe(self) -> bool:
        """Whether the floor refuses the line; the samples know one kind."""
        return self.tool_type == "bash" and _CATASTROPHE.search(self.text) is not None


class Theirs:
    """Source: 000, crates/duragent/src/agent/policy_eval.rs, matches_typed_pattern."""

    @staticmethod
    def matches(pattern: str, asked: Asked, *, permits: bool) -> bool:
        tool_type, colon, rest = pattern.partition(":")
        if not colon:
            tool_type, rest = "*", pattern
        return (tool_type == "*" or _contains(tool_type, asked.tool_type)) and _contains(rest, asked.text)


class Ours:
    """What docs/profiles.md says of rules; written down once more, apart from the engine."""

    @staticmethod
    def matches(pattern: str, asked: Asked, *, permits: bool) -> bool:
        prefix, rest = split(pattern)
        bounded = asked.tool_type == "builtin"
        if permits and not bounded and prefix in {"*", "builtin", "group", "cap", ""}:
            # Its literal name does cover it.
            return prefix == "" and "*" not in rest.partition(":")[0] and any(map(_glob(rest.lower()), asked.names))
        if prefix == "bash":
            return asked.tool_type == "bash" and _glob(rest)(asked.text)
        return any(map(_glob(rest.lower()), _subjects(prefix, asked)))


def split(pattern: str) -> tuple[str, str]:
    if pattern.lower() == "bash":
        return "bash", "*"
    prefix, colon, rest = pattern.partition(":")
    return (prefix.lower(), rest) if colon and prefix.lower() in PREFIXES else ("", pattern)


def decided(rules: type[Theirs | Ours], policy: Mapping[str, Any], asked: Asked) -> str:
    """The decision on a call, by one of the two ways to match; an unset mode is `dangerous`, as in the source."""
    mode = policy.get("mode", "dangerous")
    if rules is Ours and any(is_refused(pattern, asked) for pattern in patterns_of(policy)):
        return "error"
    if any(rules.matches(pattern, asked, permits=False) for pattern in policy.get("deny", ())):
        return "deny"
    if mode == "dangerous" or any(rules.matches(one, asked, permits=True) for one in policy.get("allow", ())):
        return "allow"
    return "ask" if mode == "ask" else "deny"


def patterns_of(policy: Mapping[str, Any]) -> list[str]:
    return [*policy.get("deny", ()), *policy.get("allow", ())]


def is_refused(pattern: str, asked: Asked) -> bool:
    """Whether a profile with this rule is not loaded: it cannot be read, or names a tool that nothing provides."""
    prefix, rest = split(pattern)
    if prefix:
        return not rest or rest != rest.strip()
    name = rest.partition(":")[0]
    return not re.fullmatch(r"[\w*-]+", name) or ("*" not in name and name.lower() not in asked.names)


def why_otherwise(policy: Mapping[str, Any], asked: Asked) -> Iterator[str]:
    """The sentences of the design by which a decision may differ from the source's."""
    if any(is_refused(pattern, asked) for pattern in patterns_of(policy)):
        yield UNKNOWN
    if asked.is_catastrophe:
        yield FLOOR
    for permits, patterns in ((False, policy.get("deny", ())), (True, policy.get("allow", ()))):
        for pattern in patterns:
            how = {rules.matches(pattern, asked, permits=permits) for rules in (Theirs, Ours)}
            if len(how) > 1:
                yield _why(pattern, asked, permits=permits)


def _why(pattern: str, asked: Asked, *, permits: bool) -> str:
    prefix, rest = split(pattern)
    if permits and prefix in {"*", ""} and asked.tool_type != "builtin":
        return NEVER
    if not prefix:
        return BARE
    if _contains(rest.lower(), asked.text.lower()) and not _contains(rest, asked.text):
        return CASE
    return ANY_ACTION if ":" not in rest and Ours.matches(pattern, asked, permits=permits) else ANCHORED


def _subjects(prefix: str, asked: Asked) -> tuple[str, ...]:
    if prefix in {"", "*"}:
        return (*asked.names, *((asked.text.lower(),) if prefix == "*" else ()))
    if prefix != asked.tool_type:
        return ()
    return (asked.text.lower(),) if prefix == "mcp" else asked.names


def _glob(glob: str) -> Callable[[str], bool]:
    parts = re.findall(r"\\[*\\]|.", glob, re.DOTALL)
    pattern = re.compile("".join(".*" if part == "*" else re.escape(part[-1]) for part in parts), re.DOTALL)
    return lambda text: pattern.fullmatch(text) is not None


def _contains(pattern: str, text: str) -> bool:
    at = 0
    for part in filter(None, pattern.split("*")):
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True
