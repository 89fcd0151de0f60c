"""`toolcharter reasons`: explains the reasons for which calls are denied or fail, and whether to retry."""

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import click

from toolcharter._lazy import lazy
from toolcharter.cli import options
from toolcharter.cli.output import print_json, print_table
from toolcharter.errors import did_you_mean

if TYPE_CHECKING:
    from toolcharter.api import reasons
    from toolcharter.gate.build import inventory
    from toolcharter.gate.build import plan as build_plan
    from toolcharter.gate.build.open import Plan
    from toolcharter.loader import listing, scan
    from toolcharter.profile.model import Profile
    from toolcharter.profile.settings import Ceiling
    from toolcharter.testing import readme as testing_readme
else:
    reasons = lazy("toolcharter.api.reasons")
    build_plan = lazy("toolcharter.gate.build.plan")
    inventory = lazy("toolcharter.gate.build.inventory")
    listing = lazy("toolcharter.loader.listing")
    scan = lazy("toolcharter.loader.scan")
    testing_readme = lazy("toolcharter.testing.readme")

_UNEXPLAINED = "(outcome and meaning come from the plugin's README, which has no row for it)"


class _Row(NamedTuple):
    source: str
    reason: str
    outcome: str
    retry: bool
    meaning: str


@click.command("reasons")
@click.argument("tool", required=False)
@click.option(
    "--profile",
    "-p",
    metavar="PROFILE",
    help="Only reasons that can occur under this profile, including those of its rules.",
)
@options.json_output
@options.workspace
@options.ignored_events
def command(tool: str | None, profile: str | None, as_json: bool, workspace: str) -> None:
    """Explain the reasons for which calls are denied or fail.

    It lists all reasons, or only those of TOOL. The explanations of a tool's own reasons are from its README.
    """
    own = list(_plugin_rows())
    ruled: list[_Row] = []
    if profile is not None:
        plan = build_plan.plan_profile(profile, workspace=inventory.resolve_workspace(workspace))
        own = [row for row in own if row.source in {*plan.loaded.specs, *plan.loaded.extension_specs}]
        ruled = list(_rule_rows(plan))
    if tool is None:
        rows = [*_core_rows(), *own, *ruled]
    else:
        rows = [row for row in own if row.source.lower() == tool.lower()]
        if not rows:
            near = did_you_mean(tool, {row.source for row in own})
            where = "installed tool" if profile is None else "tool of the profile"
            raise click.UsageError(f"No {where} named {tool!r} declares reasons. {near}".rstrip())
    if as_json:
        print_json([row._asdict() for row in rows])
        return
    shown = [
        (row.reason, row.source, row.outcome, "yes" if row.retry else "no", row.meaning or _UNEXPLAINED) for row in rows
    ]
    print_table(("reason", "from", "outcome", "retry", "meaning"), shown, ("bold",))


def _core_rows() -> Iterator[_Row]:
    for source, table in (("core", reasons.CORE_REASONS), ("guards", reasons.GUARD_REASONS)):
        for reason, info in table.items():
            yield _Row(source, str(reason), info.outcome, info.retryable, info.meaning)


def _rule_rows(plan: "Plan") -> Iterator[_Row]:
    """Yield the reasons that the rules of a profile and of its ceilings declare."""
    held: tuple[Ceiling | Profile, ...] = (*plan.ceilings, plan.profile)
    lists = (("deny", "denied", [one.deny for one in held]), ("ask", "asked", [one.ask for one in held]))
    for word, outcome, rules in lists:
        for rule in chain.from_iterable(rules):
            if rule.reason is not None:
                meaning = rule.message or f"The {word} rule {rule.text!r} matches the call."
                yield _Row(rule.source, rule.reason, outcome, retry=False, meaning=meaning)


def _plugin_rows() -> Iterator[_Row]:
    """Yield the reasons that plugins declare, with the explanations from their READMEs: a second list could differ."""
    index = scan.find_installed()
    for plugin in listing.list_plugins(index):
        for specs, entries in ((plugin.specs, index.tools), (plugin.extension_specs, index.extensions)):
            for name, spec in sorted(specs.items()):
                documented = _read_documented(testing_readme.read_readme(entries[name]))
                for reason in map(str, spec.reasons or ()):
                    for outcome, retry, meaning in documented.get(reason, [("", False, "")]):
                        yield _Row(name, reason, outcome, retry or reason in reasons.RETRYABLE, meaning)


def _read_documented(readme: str) -> dict[str, list[tuple[str, bool, str]]]:
    """Read outcome, retry and meaning by reason from the tables with a column `reason`. The meaning is the last column.

    Without `yes` in a column `retry`, the call is not to be retried; `ctx.deny` and `ctx.error` have the same default.
    """
    found: dict[str, list[tuple[str, bool, str]]] = {}
    for row in testing_readme.table_rows(readme):
        for reason in row.names if "reason" in row.cells else ():
            outcome, retry = row.cells.get("outcome", ""), row.cells.get("retry") == "yes"
            found.setdefault(reason, []).append((outcome, retry, list(row.cells.values())[-1]))
    return found
