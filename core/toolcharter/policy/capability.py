"""Limits what the tools of a profile may touch and how much harm they may do: capabilities and safety levels.

An action that declares nothing counts as having the highest safety level and as declaring everything, so that every
restriction refuses it. docs/profiles.md, "Capabilities and safety", lists both.
"""

from collections.abc import Sequence
from typing import NamedTuple

from toolcharter.api.call import Decision
from toolcharter.api.reasons import Reason
from toolcharter.api.words import SAFETY_LEVELS, Safety
from toolcharter.policy.rule_input import ToolFacts
from toolcharter.profile.globs import Glob, parse_glob
from toolcharter.profile.settings import Capabilities


class CapabilityLimit(NamedTuple):
    """The compiled `capabilities` of the profile or of one ceiling."""

    source: str
    """`profile`, or the name of the ceiling."""
    allow: tuple[Glob, ...] | None
    deny: tuple[Glob, ...]
    max_safety: Safety | None

    def find_refused(self, declared: frozenset[str] | None) -> list[str]:
        """Return the words of *declared* that this limit refuses, sorted; `["*"]` for an undeclared action."""
        if self.allow is None and not self.deny:
            return []
        if declared is None:
            return [] if self._allows_everything else ["*"]
        return sorted(word for word in declared if not self._permits(word))

    def is_exceeded_by(self, level: Safety) -> bool:
        """Whether a call of this safety level can do more harm than the limit permits."""
        return self.max_safety is not None and SAFETY_LEVELS.index(level) > SAFETY_LEVELS.index(self.max_safety)

    @property
    def _allows_everything(self) -> bool:
        return not self.deny and any(glob.parts == ("", "") for glob in self.allow or ())

    def _permits(self, word: str) -> bool:
        allowed = self.allow is None or any(glob.matches(word) for glob in self.allow)
        return allowed and not any(glob.matches(word) for glob in self.deny)


def compile_limit(source: str, written: Capabilities) -> CapabilityLimit:
    """Compile the `capabilities` of *source*."""
    allow = None if written.allow is None else tuple(map(parse_glob, written.allow))
    return CapabilityLimit(source, allow, tuple(map(parse_glob, written.deny)), written.max_safety)


class CapabilityLimits:
    """The limits of the profile and of all ceilings; a call must satisfy each of them."""

    def __init__(self, limits: Sequence[CapabilityLimit]) -> None:
        self.limits = tuple(one for one in limits if one != CapabilityLimit(one.source, None, (), None))

    @property
    def is_open(self) -> bool:
        """Whether the limits refuse nothing."""
        return not self.limits

    def refuse(self, facts: ToolFacts, action: str | None) -> Decision | None:
        """Return the denial of an action that touches too much or is too dangerous; None for any other."""
        declared = facts.capabilities_of(action)
        for one in self.limits:
            refused = one.find_refused(declared)
            if refused:
                what = "The tool" if action is None else f"The action {action!r}"
                message = f"{what} needs {', '.join(refused)}, which is not permitted."
                if refused == ["*"]:
                    message = f"{what} does not declare what it touches, and not everything is permitted."
                return Decision("deny", "capability", Reason.CAPABILITY_NOT_ALLOWED, message)
        level = safety_of(facts, action)
        for one in self.limits:
            if one.is_exceeded_by(level):
                message = f"The call counts as {level!r}, and no more than {one.max_safety!r} is permitted."
                return Decision("deny", "capability", Reason.SAFETY_TOO_HIGH, message)
        return None


def safety_of(facts: ToolFacts, action: str | None) -> Safety:
    """Return how much harm *action* can do. An action without declared capabilities has the highest level."""
    return "high" if facts.capabilities_of(action) is None else facts.safety
