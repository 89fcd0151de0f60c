"""`ReasonCoverage`: which declared reasons the tests of one run have shown, by profile and tool.

Imports next to nothing: the pytest plugin makes one in every run.
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
    """A tool in any profile: its name, and the module that its constructor comes from."""

    name: str
    module: str


class ReasonRow(NamedTuple):
    """One tool of one profile."""

    profile: str
    tool: str
    shown: tuple[str, ...]
    """Declared reasons that were shown, sorted."""
    missing: tuple[str, ...]
    """Declared reasons that never were, sorted."""
    open: bool = False
    """The tool's spec leaves its reasons open, so there is nothing to compare with."""


class ReasonCoverage:
    """Collects the reasons that tools' bodies give, in calls and in dry runs.

    A reason counts only if the tool itself gave it: what the gate, a rule or a check says in the
    same words shows nothing of the tool.
    """

    def __init__(self) -> None:
        self._listed: dict[tuple[str, str], list[str] | None] = {}
        self._shown: set[tuple[str, ToolKey, str]] = set()
        self._demanded: dict[ToolKey, list[str]] = {}

    @contextmanager
    def watching(self) -> "Generator[ReasonCoverage]":
        """Record the reasons of every toolbox in this process whose tools are first used meanwhile."""
        OBSERVERS.append(self.record)
        try:
            yield self
        finally:
            OBSERVERS.remove(self.record)

    def record(self, profile: str, spec: Any, reason: str) -> None:
        """The body of the tool behind *spec* gave *reason* under *profile*."""
        self._shown.add((profile, key_of(spec), reason))

    def expect(self, profile: str, spec: Any) -> None:
        """*profile* lists the tool: its declared reasons become a row."""
        self._listed[profile, spec.name] = _sorted(spec.own_reasons())

    def expect_plan(self, plan: Any) -> None:
        """The same for every tool of a planned profile."""
        for tool in plan.loaded.specs.values():
            self.expect(plan.profile.name, tool.spec)

    def demand(self, spec: Any) -> None:
        """The contract test asks that every declared reason of *spec* be shown, in whatever profile."""
        self._demanded[key_of(spec)] = _sorted(spec.own_reasons()) or []

    def rows(self) -> list[ReasonRow]:
        """One row for each tool of each expected profile, in the order they were met."""
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
        """How many declared reasons were shown, and how many there are, over all rows."""
        rows = self.rows()
        shown = sum(len(row.shown) for row in rows)
        return shown, shown + sum(len(row.missing) for row in rows)

    def unreached(self) -> dict[str, tuple[str, ...]]:
        """By tool, what the contract test demands and no test has shown; tools without gaps are left out."""
        shown = {(key, reason) for _, key, reason in self._shown}
        gaps = {
            key.name: tuple(reason for reason in reasons if (key, reason) not in shown)
            for key, reasons in self._demanded.items()
        }
        return {name: missing for name, missing in sorted(gaps.items()) if missing}

    def dump(self) -> dict[str, Any]:
        """Everything, in types that a worker of pytest-xdist can send."""
        return {
            "listed": [(profile, tool, declared) for (profile, tool), declared in self._listed.items()],
            "shown": [(profile, *key, str(reason)) for profile, key, reason in sorted(self._shown)],
            "demanded": [(*key, reasons) for key, reasons in self._demanded.items()],
        }

    def merge(self, dumped: Mapping[str, Any]) -> None:
        """Add what another process has dumped."""
        self._listed |= {(profile, tool): declared for profile, tool, declared in dumped["listed"]}
        self._shown |= {(profile, ToolKey(tool, module), reason) for profile, tool, module, reason in dumped["shown"]}
        self._demanded |= {ToolKey(tool, module): reasons for tool, module, reasons in dumped["demanded"]}


def key_of(spec: Any) -> ToolKey:
    """What the tool behind *spec* is known by across profiles and processes."""
    module = getattr(spec.build, "__module__", None) or type(spec.build).__module__
    return ToolKey(spec.name, module)


def wrapped(text: str, width: int) -> str:
    """*text*, a line that lists reasons, in lines of at most *width* characters; all but the first are indented."""
    indent = " " * (len(text) - len(text.lstrip()) + 4)
    return textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _sorted(reasons: Collection[str] | None) -> list[str] | None:
    return None if reasons is None else sorted(reasons)
