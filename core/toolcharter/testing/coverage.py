"""`ReasonCoverage`: the declared reasons that the tests of one run have shown, by profile and tool.

It imports as little as possible, because the pytest plugin makes one in every run.
"""

from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from toolcharter._lazy import lazy
from toolcharter.gate.observers import OBSERVERS

if TYPE_CHECKING:
    import textwrap
else:
    textwrap = lazy("textwrap")


class ToolKey(NamedTuple):
    """Identifies a tool in any profile: its name, and the module of its constructor."""

    name: str
    module: str


class ReasonRow(NamedTuple):
    """The reasons of one tool in one profile."""

    profile: str
    tool: str
    shown: tuple[str, ...]
    """Declared reasons that were shown, sorted."""
    missing: tuple[str, ...]
    """Declared reasons that no test has shown, sorted."""
    open: bool = False
    """Whether the tool's spec declares no reasons, so that there is nothing to compare with."""


class ReasonCoverage:
    """Collects the reasons that tools' bodies return, in calls and in dry runs.

    A reason counts only if the tool itself returned it. The same word from the gate, a rule or a check
    proves nothing about the tool.
    """

    def __init__(self) -> None:
        self._listed: dict[tuple[str, str], list[str] | None] = {}
        self._shown: set[tuple[str, ToolKey, str]] = set()
        self._demanded: dict[ToolKey, list[str]] = {}

    @contextmanager
    def watching(self) -> "Generator[ReasonCoverage]":
        """Record the reasons of every toolbox in this process whose tools are first used within the block."""
        OBSERVERS.append(self.record)
        try:
            yield self
        finally:
            OBSERVERS.remove(self.record)

    def record(self, profile: str, spec: Any, reason: str) -> None:
        """Record that the body of the tool of *spec* returned *reason* under *profile*."""
        self._shown.add((profile, tool_key(spec), reason))

    def expect(self, profile: str, spec: Any) -> None:
        """Add a row for the declared reasons of a tool that *profile* lists."""
        self._listed[profile, spec.name] = _sorted_or_none(spec.own_reasons())

    def expect_plan(self, plan: Any) -> None:
        """Add a row for every tool of a planned profile."""
        for tool in plan.loaded.specs.values():
            self.expect(plan.profile.name, tool.spec)

    def demand(self, spec: Any) -> None:
        """Require every declared reason of *spec* to be shown, in any profile; called by the contract test."""
        self._demanded[tool_key(spec)] = _sorted_or_none(spec.own_reasons()) or []

    def rows(self) -> list[ReasonRow]:
        """Return one row for each tool of each expected profile, in the order in which they were added."""
        return [self._row(profile, tool, declared) for (profile, tool), declared in self._listed.items()]

    def _row(self, profile: str, tool: str, declared: Collection[str] | None) -> ReasonRow:
        found = {reason for where, key, reason in self._shown if (where, key.name) == (profile, tool)}
        if declared is None:
            return ReasonRow(profile, tool, (), (), open=True)
        return ReasonRow(
            profile,
            tool,
            tuple(reason for reason in declared if reason in found),
            tuple(reason for reason in declared if reason not in found),
        )

    def totals(self) -> tuple[int, int]:
        """Return how many declared reasons were shown, and how many there are, over all rows."""
        rows = self.rows()
        shown = sum(len(row.shown) for row in rows)
        return shown, shown + sum(len(row.missing) for row in rows)

    def unreached(self) -> dict[str, tuple[str, ...]]:
        """Return by tool the reasons that the contract test requires and no test has shown, without complete tools."""
        shown = {(key, reason) for _, key, reason in self._shown}
        gaps = {
            key.name: tuple(reason for reason in reasons if (key, reason) not in shown)
            for key, reasons in self._demanded.items()
        }
        return {name: missing for name, missing in sorted(gaps.items()) if missing}

    def dump(self) -> dict[str, Any]:
        """Return all data in types that a worker of pytest-xdist can send."""
        return {
            "listed": [(profile, tool, declared) for (profile, tool), declared in self._listed.items()],
            "shown": [(profile, *key, str(reason)) for profile, key, reason in sorted(self._shown)],
            "demanded": [(*key, reasons) for key, reasons in self._demanded.items()],
        }

    def merge(self, dumped: Mapping[str, Any]) -> None:
        """Add the dump of another process."""
        self._listed |= {(profile, tool): declared for profile, tool, declared in dumped["listed"]}
        self._shown |= {(profile, ToolKey(tool, module), reason) for profile, tool, module, reason in dumped["shown"]}
        self._demanded |= {ToolKey(tool, module): reasons for tool, module, reasons in dumped["demanded"]}


def tool_key(spec: Any) -> ToolKey:
    """Return the key of the tool of *spec*, which is the same in all profiles and processes."""
    module = getattr(spec.build, "__module__", None) or type(spec.build).__module__
    return ToolKey(spec.name, module)


def wrap_reasons(text: str, width: int) -> str:
    """Wrap *text*, a line that lists reasons, at *width* characters; all lines but the first are indented."""
    indent = " " * (len(text) - len(text.lstrip()) + 4)
    return textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _sorted_or_none(reasons: Collection[str] | None) -> list[str] | None:
    return None if reasons is None else sorted(reasons)
