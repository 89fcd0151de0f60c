"""Checks a profile for `profiles --check`: faults that make it unusable, and rules its author may not have meant."""

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from toolcharter._lazy import lazy
from toolcharter.cli.describe import close_faults
from toolcharter.errors import ConfigurationError, Fault, did_you_mean
from toolcharter.profile.settings import DEFAULT_HIDDEN

if TYPE_CHECKING:
    from toolcharter.api import policy as api_policy
    from toolcharter.cli import history, tool_signature
    from toolcharter.gate.approvals import always_offered
    from toolcharter.gate.build import open as build_open
    from toolcharter.gate.build.open import Plan
    from toolcharter.guards.paths import hidden
    from toolcharter.loader import listing, scan
    from toolcharter.loader.scan import InstalledPlugins
    from toolcharter.policy import names as policy_names
    from toolcharter.policy.lint import ceilings as lint_ceilings
    from toolcharter.policy.lint import rules as lint_rules
    from toolcharter.policy.lint import settings
    from toolcharter.policy.lint.coverage import ToolSignature
    from toolcharter.profile import ceilings, globs, model, names, nodes, read
    from toolcharter.profile.nodes import Places
else:
    api_policy = lazy("toolcharter.api.policy")
    history = lazy("toolcharter.cli.history")
    always_offered = lazy("toolcharter.gate.approvals.always_offered")
    build_open = lazy("toolcharter.gate.build.open")
    tool_signature = lazy("toolcharter.cli.tool_signature")
    hidden = lazy("toolcharter.guards.paths.hidden")
    listing = lazy("toolcharter.loader.listing")
    scan = lazy("toolcharter.loader.scan")
    lint_ceilings = lazy("toolcharter.policy.lint.ceilings")
    lint_rules = lazy("toolcharter.policy.lint.rules")
    settings = lazy("toolcharter.policy.lint.settings")
    policy_names = lazy("toolcharter.policy.names")
    ceilings = lazy("toolcharter.profile.ceilings")
    globs = lazy("toolcharter.profile.globs")
    model = lazy("toolcharter.profile.model")
    names = lazy("toolcharter.profile.names")
    nodes = lazy("toolcharter.profile.nodes")
    read = lazy("toolcharter.profile.read")


_MAX_LISTED = 5


class Findings(NamedTuple):
    """The faults and warnings of one profile."""

    faults: tuple[Fault, ...] = ()
    """The reasons why it is refused."""
    warnings: tuple[Fault, ...] = ()
    """The warnings, in the order of the file; only a profile without faults has any."""


def lint_profile(file: str, workspace: str, search: Sequence[Path]) -> Findings:
    """Build the profile to find its faults and warnings. Constructors do no I/O.

    Args:
        file: The profile's path.
        workspace: The folder it is built for.
        search: Folders in which plugins ship profiles.
    """
    index = scan.find_installed()
    try:
        plan = build_open.plan_profile(file, workspace=Path(os.path.realpath(workspace)), index=index)
        with build_open.open_toolbox(plan, workspace=workspace, caller=None, sinks=()) as toolbox:
            tools, has_approver = tool_signature.tool_signatures(toolbox), toolbox.has_approver
    except ConfigurationError as error:
        return Findings(faults=error.faults)
    except ExceptionGroup as group:  # Raised by closing.
        return Findings(faults=tuple(close_faults(file, group)))
    unknown = tuple(_unknown_capabilities(plan, index))
    if unknown:
        return Findings(faults=unknown)
    places = read.read_profile(file, search=search).places
    warnings = [
        *_unused_missing_ok(plan, places, index.tools),
        *_rule_warnings(plan, tools, places, index.tools),
        *_readable_hidden_files(plan, places, Path(os.path.realpath(workspace))),
    ]
    if not has_approver:
        warnings += _missing_approver(plan, places)
    return Findings(warnings=tuple(nodes.in_file_order(warnings, places.root.place.file)))


def _unknown_capabilities(plan: "Plan", index: "InstalledPlugins") -> Iterator[Fault]:
    """Report words of `ALLOWED_TOOL_PERMS` that no installed tool declares: each permits less than its author meant."""
    written = [
        word for one in plan.ceilings if one.name == ceilings.ALLOWED_PERMS for word in one.capabilities.allow or ()
    ]
    plugins = listing.list_plugins(index) if written else []
    if any(plugin.problems for plugin in plugins):
        return  # The capabilities that these plugins declare are not known.
    declared = [spec.all_capabilities() for plugin in plugins for spec in plugin.specs.values()]
    known = frozenset[str]().union(*(words for words in declared if words is not None))
    for word in written:
        # A pattern may be meant for tools that are not installed here; only a literal word can be misspelt.
        if globs.parse_glob(word).literal not in {None, *known}:
            listed = ", ".join(map(repr, sorted(known)))
            fix = f"{did_you_mean(word, known)} Known capabilities: {listed}.".lstrip()
            yield Fault(ceilings.ALLOWED_PERMS, "", f"no installed tool declares the capability {word!r}.", fix)


def _rule_warnings(
    plan: "Plan", tools: Sequence["ToolSignature"], places: "Places", installed: Collection[str]
) -> Iterator[Fault]:
    """Report rules that never match, never matter or are risky, and what the ceilings take away."""
    there = {*plan.loaded.specs, *plan.loaded.aliases, *installed}
    groups = {f"group:{group}" for tool in tools for group in tool.facts.groups}
    present = set(map(names.fold_tool_name, there | groups))
    pending = [name for name in plan.profile.missing_ok if names.fold_tool_name(name) not in present]
    tables = plan.loaded.program_tables()

    def has_table(program: str) -> bool:
        return tables.find(program.rpartition("/")[2] if program.startswith("/") else program) is not None

    def is_open_launcher(program: str) -> bool:
        # With a table, a rule covers only a program's ordinary purpose; programs that it starts need their own rules.
        return always_offered.is_launcher(program) and not has_table(program)

    own_rules = [rule for rules in plan.tool_rules.values() for rule in rules]
    subject = lint_rules.LintedProfile(
        replace(plan.profile, allow=(*plan.profile.allow, *own_rules)),
        tools,
        plan.ceilings,
        pending,
        places.of,
        is_open_launcher,
        has_table,
    )
    yield from _missing_runner(plan, places)
    yield from _impossible_grants(plan, places)
    for finding in (
        *lint_rules.rule_findings(subject),
        *settings.settings_findings(subject),
        *lint_ceilings.ceiling_findings(subject),
    ):
        yield Fault(finding.place, finding.path, finding.what, finding.fix)


def _missing_runner(plan: "Plan", places: "Places") -> Iterator[Fault]:
    """Report tools that run programs in a profile that names no runner."""
    unbounded = sorted(spec.name for spec in plan.specs if spec.kind in {"bash", "cli"})
    if plan.profile.runner is None and unbounded:
        names = ", ".join(map(repr, unbounded))
        what = f"the profile names no runner, so the programs that {names} would start cannot run."
        yield Fault(places.of("tools", unbounded[0]), "runner", what, "Write `runner: bwrap`, or `runner: host`.")


def _impossible_grants(plan: "Plan", places: "Places") -> Iterator[Fault]:
    """Report what policies grant although the runner makes it impossible."""
    runner = plan.profile.runner or model.HOST
    # A runner that isolates programs from the network has the field `network`, which opens it to programs that ask.
    network = getattr(plan.extensions.get(runner), "network", None)
    place = api_policy.ProgramPlace(runner, "open" if network is None else "on_request" if network else "closed")
    for name, policy in plan.policies.items():
        # Without a runner, a tool of another kind runs nothing anywhere; `_missing_runner` reports that.
        if plan.profile.runner is not None or plan.loaded.specs[name].spec.kind == "builtin":
            for what in policy.never_works(place):
                yield Fault(places.of("tools", name), f"tools.{name}", what)


def _missing_approver(plan: "Plan", places: "Places") -> Iterator[Fault]:
    """Warn at `ask` or `mode` if calls wait for a person and no extension of the profile can answer."""
    if plan.may_ask:
        key = "ask" if plan.profile.ask else "mode"
        what = (
            "no extension of the profile answers: calls that wait for a person are denied with 'approval_unavailable', "
            "unless the program that builds the tools passes an approver or `toolcharter` has a terminal to ask at."
        )
        yield Fault(places.of(key), key, what, "List an extension such as `approver`, or provide one of the others.")


def _readable_hidden_files(plan: "Plan", places: "Places", workspace: Path) -> Iterator[Fault]:
    """Report hidden files that programs can read nevertheless."""
    if not any(spec.kind in {"bash", "cli"} for spec in plan.specs):
        return
    place = places.of("hidden")
    if plan.profile.runner == model.HOST and plan.profile.hidden != DEFAULT_HIDDEN:
        what = "`runner: host` hides nothing: programs can read these files; only tools cannot."
        yield Fault(place, "hidden", what, "Choose a runner that is a sandbox, such as `bwrap`.")
    hidden_in_git = history.find_hidden_in_git(workspace, hidden.HiddenNames(plan.profile.hidden))
    if hidden_in_git.names:
        listed = ", ".join(map(repr, hidden_in_git.names[:_MAX_LISTED])) + (
            ", ..." if len(hidden_in_git.names) > _MAX_LISTED else ""
        )
        what = f"git holds hidden files of this workspace, and programs that run git can read them there: {listed}."
        yield Fault(place, "hidden", what, "Replace the credentials in them, and take the files out of the history.")
    if not hidden_in_git.is_whole:
        what = f"git could not list its files of this workspace within {history.PATIENCE_S} seconds; some may be hidden ones."
        yield Fault(place, "hidden", what, "Look with `git log --all --name-only`.")


def _unused_missing_ok(plan: "Plan", places: "Places", tools: Collection[str]) -> Iterator[Fault]:
    """Report entries of `missing_ok` that match no name in the profile: most likely they are misspelt."""
    named = set(_mentioned_names(plan))
    known = set(map(names.fold_tool_name, named))
    for index, name in enumerate(plan.profile.missing_ok):
        if names.fold_tool_name(name) not in known:
            what = f"the profile names no tool {name!r}, so this entry has no effect."
            fix = did_you_mean(name, named | set(tools)) or "Remove it, or list the tool."
            yield Fault(places.of("missing_ok", index), f"missing_ok.{index}", what, fix)


def _mentioned_names(plan: "Plan") -> Iterator[str]:
    """Yield every name that `missing_ok` could list, and every `group:NAME`."""
    profile = plan.profile
    yield from (*profile.tools, *profile.tool_limits)
    for _, rule in policy_names.written_patterns(profile, plan.ceilings):
        name = rule.glob.literal if rule.prefix == "group" else policy_names.literal_name(rule)
        if name is not None:
            yield f"group:{name}" if rule.prefix == "group" else name
    for entry in profile.availability:
        yield from (*(entry.tools or ()), *entry.deny, *entry.also_allow)
    for members in (*profile.toolsets.values(), *profile.groups.values()):
        yield from members
