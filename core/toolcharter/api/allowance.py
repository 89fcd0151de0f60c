"""`Allowance`: what a profile permitted at one time, to hold what runs later to it."""

from collections.abc import Collection, Mapping
from typing import NamedTuple


class Allowance(NamedTuple):
    """What a profile permits a caller, in digests, without its availability: that is in the names of the tools.

    JSON types alone: `Allowance(**allowance._asdict())` is the same, also after it was written as JSON.
    """

    base: str
    """Of the mode, the capabilities, limits, groups, hidden files, runner and ceilings."""
    deny: tuple[str, ...]
    """The rules, each as canonical JSON."""
    ask: tuple[str, ...]
    allow: tuple[str, ...]
    extensions: Mapping[str, str]
    """By name, of each extension's policy."""
    tools: Mapping[str, str]
    """By name, of the policy of each tool that the caller sees, and of the code of a discovered one."""

    def still_held(self, now: "Allowance", ignoring: Collection[str] = ()) -> frozenset[str]:
        """The tools that were seen then, are seen now, and may surely do no more than then.

        Rules that deny and ask may have come, and those that allow may have gone. Any other change might widen, and
        counts as if it did.

        Args:
            now: What is permitted now.
            ignoring: Extensions whose policies do not concern tools.
        """
        then_denied, then_asked = {*self.deny}, {*self.ask}
        now_denied, now_asked = {*now.deny}, {*now.ask}
        is_no_wider = (
            self.base == now.base
            and then_denied <= now_denied
            and then_asked <= now_denied | now_asked
            and {*now.allow} <= {*self.allow}
            and _without(self.extensions, ignoring) == _without(now.extensions, ignoring)
        )
        common = self.tools.items() & now.tools.items() if is_no_wider else set[tuple[str, str]]()
        return frozenset(name for name, _ in common)


def _without(digests: Mapping[str, str], ignoring: Collection[str]) -> dict[str, str]:
    return {name: digest for name, digest in digests.items() if name not in ignoring}
