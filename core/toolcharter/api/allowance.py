"""`Allowance`: a snapshot of what a profile permits, to restrict later work to it."""

from collections.abc import Collection, Mapping
from typing import NamedTuple


class Allowance(NamedTuple):
    """What a profile permits a caller, as digests. Availability has no digest: the names of the tools show it.

    It has JSON types only: `Allowance(**allowance._asdict())` is equal, also after it was written as JSON.
    """

    base: str
    """A digest of the mode, the capabilities, limits, groups, hidden files, runner and ceilings."""
    deny: tuple[str, ...]
    """The `deny` rules, each as canonical JSON, as are those of `ask` and `allow`."""
    ask: tuple[str, ...]
    allow: tuple[str, ...]
    extensions: Mapping[str, str]
    """A digest of each extension's policy, by its name."""
    tools: Mapping[str, str]
    """A digest of the policy of each tool that the caller sees, by its name; for a discovered tool also of its code."""

    def still_held(self, now: "Allowance", ignoring: Collection[str] = ()) -> frozenset[str]:
        """Return the tools that the caller saw then and sees now, and that certainly may do no more now than then.

        New `deny` and `ask` rules and removed `allow` rules only narrow. Any other change might permit more, and is
        treated as if it did.

        Args:
            now: The current allowance.
            ignoring: Extensions whose policies do not concern tools.
        """
        then_denied, then_asked = {*self.deny}, {*self.ask}
        now_denied, now_asked = {*now.deny}, {*now.ask}
        is_no_wider = (
            self.base == now.base
            and then_denied <= now_denied
            and then_asked <= now_denied | now_asked
            and {*now.allow} <= {*self.allow}
            and _without_keys(self.extensions, ignoring) == _without_keys(now.extensions, ignoring)
        )
        common = self.tools.items() & now.tools.items() if is_no_wider else set[tuple[str, str]]()
        return frozenset(name for name, _ in common)


def _without_keys(digests: Mapping[str, str], ignoring: Collection[str]) -> dict[str, str]:
    return {name: digest for name, digest in digests.items() if name not in ignoring}
