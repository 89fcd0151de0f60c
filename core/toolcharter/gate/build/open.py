"""`build_tools`: builds a toolbox from a profile, or reports every fault at once."""

import os
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import partial
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from toolcharter._lazy import lazy
from toolcharter.api.call import Caller
from toolcharter.api.command import DiskPreconditions
from toolcharter.api.reasons import GuardReason, Reason
from toolcharter.api.runner import RunnerScope
from toolcharter.errors import ConfigurationError, Denied, Fault, PluginError, SpecError
from toolcharter.events.emitter import Emitter
from toolcharter.events.lines import LineFormat
from toolcharter.events.sinks import CORE_SCHEMES, SinkLike, open_sink
from toolcharter.gate.build.inventory import build_inventory, require_state_outside, resolve_workspace
from toolcharter.gate.build.plan import Plan, plan_profile
from toolcharter.gate.build.tool_function import inspect_function
from toolcharter.gate.redact import redact_id
from toolcharter.gate.runners import PROTECTED_FROM_TOOLS, Runners
from toolcharter.gate.runtime import Runtime, check_deadline
from toolcharter.gate.stages.s1_arguments import ArgumentReader
from toolcharter.gate.stages.s8_result import OutputLimit
from toolcharter.gate.state import ProfileStore, ToolboxState
from toolcharter.gate.tool import BuiltTool
from toolcharter.gate.toolbox import Toolbox
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.paths.hidden import HiddenFiles
from toolcharter.loader.imports import keep_imports_out
from toolcharter.loader.interpreter import find_gate_code, new_survey
from toolcharter.loader.load import LoadedPlugins, LoadedTool
from toolcharter.loader.openers import open_or_defer_channel
from toolcharter.loader.scan import find_installed
from toolcharter.loader.survey import Survey
from toolcharter.policy.compile import compile_availability, compile_policy
from toolcharter.profile.model import Limits
from toolcharter.profile.settings import Approvals, Notify, Rates, SessionGuards

if TYPE_CHECKING:
    from toolcharter.api.agents import ToolboxView
    from toolcharter.api.approval import Approver
    from toolcharter.api.channel import Channel
    from toolcharter.events import notify
    from toolcharter.gate.approvals import ledger, prompt
    from toolcharter.gate.build import late
    from toolcharter.gate.stages import s4_checks, s4_session, s5_approval
    from toolcharter.guards.rates import binding
    from toolcharter.loader import stores
else:
    notify = lazy("toolcharter.events.notify")
    ledger = lazy("toolcharter.gate.approvals.ledger")
    prompt = lazy("toolcharter.gate.approvals.prompt")
    late = lazy("toolcharter.gate.build.late")
    s4_checks = lazy("toolcharter.gate.stages.s4_checks")
    s4_session = lazy("toolcharter.gate.stages.s4_session")
    s5_approval = lazy("toolcharter.gate.stages.s5_approval")
    binding = lazy("toolcharter.guards.rates.binding")
    stores = lazy("toolcharter.loader.stores")

__all__ = ["Plan", "build_toolbox", "build_tools", "open_toolbox", "plan_profile"]

_NO_TOOLS: Mapping[str, BuiltTool] = MappingProxyType({})
_ALWAYS_PERMITTED = frozenset(map(str, (*Reason, *GuardReason)))


def build_tools(
    profile: str | Path,
    *,
    workspace: str | Path,
    caller: Caller | None = None,
    events: SinkLike | Iterable[SinkLike] = (),
    approver: "Approver | None" = None,
) -> Toolbox:
    """Build the tools of *profile* for *workspace*.

    Args:
        profile: A path, or the name of a profile in `./profiles`, in the core or in a plugin.
        workspace: The folder that the tools may touch.
        caller: Who calls through the toolbox; `Toolbox.for_caller` returns views for other callers.
        events: The destinations of events: URLs (`stderr:`, `file:PATH`, `structlog:`), functions
            that take each event as a dictionary, or sinks. Standard error by default.
        approver: Answers for calls that need a person's approval: a function that takes an
            `ApprovalRequest`, such as `TerminalApprover()`. By default the extension of the profile
            that implements `answer_approval`; if there is none, such calls are denied.

    Raises:
        ConfigurationError: It lists every fault of the profile and the installation; nothing is built.
    """
    return build_toolbox(profile, workspace=workspace, caller=caller, events=events, approver=approver)


def build_toolbox(
    profile: str | Path,
    *,
    workspace: str | Path,
    caller: Caller | None = None,
    events: SinkLike | Iterable[SinkLike] = (),
    approver: "Approver | None" = None,
    last_approver: "Approver | None" = None,
    strict: bool = False,
) -> Toolbox:
    """Build a toolbox as `build_tools` does, for toolcharter's own programs.

    Args:
        profile: As for `build_tools`.
        workspace: As for `build_tools`.
        caller: As for `build_tools`.
        events: As for `build_tools`.
        approver: As for `build_tools`.
        last_approver: The approver if there is neither an *approver* nor an extension that answers.
        strict: For tests: a tool that breaks its own spec raises.
    """
    with plan_for(profile, workspace, events) as (planned, sinks, survey):
        plan, state = open_state(planned, workspace, sinks, approver, last_approver, strict=strict, survey=survey)
        return _assemble_toolbox(plan, state, caller, framed=True)


@contextmanager
def plan_for(
    profile: str | Path, workspace: str | Path, events: SinkLike | Iterable[SinkLike]
) -> Generator[tuple[Plan, list[SinkLike], Survey]]:
    """Yield the plan of a profile for a workspace, the list of sinks in *events*, and the survey of the disk.

    Within the `with` block no module of the gate is imported from the workspace. A toolbox that is opened in the block
    keeps this up until it closes.
    """
    sinks = (list(events) or ["stderr:"]) if isinstance(events, Iterable) and not isinstance(events, str) else [events]
    schemes = (sink.partition(":")[0] for sink in sinks if isinstance(sink, str))
    foreign = [scheme for scheme in schemes if scheme not in CORE_SCHEMES]
    root, index, survey = resolve_workspace(workspace), find_installed(), new_survey()
    restore_imports = keep_imports_out(root, find_gate_code(root, index, survey))  # plugins are imported now
    try:
        yield plan_profile(profile, workspace=root, schemes=foreign, index=index), sinks, survey
    finally:
        restore_imports()


def open_toolbox(
    plan: Plan,
    *,
    workspace: str | Path,
    caller: Caller | None,
    sinks: Iterable[SinkLike],
    approver: "Approver | None" = None,
    strict: bool = False,
    framed: bool = False,
) -> Toolbox:
    """Build the tools of *plan* and open its sinks.

    Args:
        plan: The plan.
        workspace: As for `build_toolbox`.
        caller: As for `build_toolbox`.
        sinks: The destinations of events.
        approver: As for `build_toolbox`.
        strict: As for `build_toolbox`.
        framed: Whether to write `toolbox.open` and `toolbox.close` around the events of the calls. Tests and trials
            need only the events of calls.
    """
    plan, state = open_state(plan, workspace, sinks, approver, strict=strict)
    return _assemble_toolbox(plan, state, caller, framed=framed)


def _assemble_toolbox(plan: Plan, state: ToolboxState, caller: Caller | None, *, framed: bool) -> Toolbox:
    state.opened_for = caller or state.opened_for
    try:
        if state.discoverers:
            plan = late.discover_late(plan, state, late.LateRuntime(state, is_live=False) if framed else None)
        toolbox = build_tools_into(state, plan, caller or Caller())
        if framed:
            state.emitter.set_preface(state.opening_event(caller or Caller(), plan.loaded.distributions))
    except BaseException:
        state.close()
        raise
    return toolbox


def open_state(
    plan: Plan,
    workspace: str | Path,
    sinks: Iterable[SinkLike],
    approver: "Approver | None" = None,
    last_approver: "Approver | None" = None,
    *,
    strict: bool = False,
    believed: Iterable[Path] = (),
    survey: Survey | None = None,
) -> tuple[Plan, ToolboxState]:
    """Open everything of a toolbox except its tools; a reload keeps this state.

    *believed* are files and folders that the host executes or trusts. *survey* is the survey of the disk, if it was made
    just now. Returns the plan under the ceilings of *workspace*, and the state.
    """
    root = resolve_workspace(workspace)
    sinks = tuple(sinks)
    require_state_outside(root, plan.policies, plan.extensions)
    code = find_gate_code(root, plan.index or find_installed(), survey)
    restore_imports = keep_imports_out(root, code)
    plan = plan.for_workspace(root)
    store = ProfileStore(
        plan.store_url,
        plan.store_place,
        lambda url: stores.open_engine(url, plan.store_place, workspace=root, loaded=plan.loaded, index=plan.index),
    )
    policies = (*plan.policies.values(), *plan.extensions.values())
    orders = (root / name for policy in policies for name in policy.takes_orders_from())
    inventory = build_inventory(root, code, plan.files, sinks, os.environ, (*believed, *store.state_paths, *orders))
    loaded = plan.loaded.build_extensions(root, plan.extensions)
    profile, ceilings = plan.profile, plan.ceilings

    def secret(text: str) -> str:
        return state.store.handle.secret(text, state.opened_for.tenant or "")

    notifier, rates = _make_notifier(plan, loaded, secret), _make_rate_limits(plan, secret)
    chosen_approver = approver or loaded.approver or last_approver
    scope = RunnerScope(root, inventory.places, HiddenFiles(root, profile.hidden))
    state = ToolboxState(
        profile=profile.name,
        digest=plan.digest,
        workspace=root,
        lines=LineFormat(profile.name, plan.digest, profile.runner, redact_id),
        emitter=Emitter([open_sink(sink, loaded.open_sink) for sink in sinks]),
        policy=compile_policy(profile, ceilings, plan.tool_rules),
        availability=compile_availability(profile, plan.catalog),
        files=plan.files,
        required=profile.events.required,
        args_detail=profile.events.args,
        checks=(*loaded.checks, *s4_checks.checks_of_tools(loaded.specs, plan.policies)),
        open_channel=loaded.open_channel,
        rates=rates,
        notifier=notifier,
        tables=loaded.program_tables() if loaded.program_files else None,
        inventory=inventory,
        store=store,
        runners=Runners(profile.runner, loaded.runners.get(profile.runner or ""), scope),
        open_approval=partial(_make_approval_service, chosen_approver, profile.approvals),
        has_approver=chosen_approver is not None,
        strict=strict,
        hidden=profile.hidden,
        limits_for=plan.limits_for,
        discoverers=loaded.discoverers,
        extensions=loaded.objects,
        routes=loaded.routes,
        agent_host=loaded.agent_host,
    )
    state.calls.on_close(restore_imports)
    closers = (one.close for one in (notifier, rates) if one is not None)
    for close in (store.close, *loaded.closers, state.runners.close, *closers):
        state.calls.on_close(close)
    try:
        state.paths = paths = WorkspacePaths(
            root,
            inventory=inventory,
            read_roots=loaded.read_roots,
            read_only=PROTECTED_FROM_TOOLS,
            hidden=profile.hidden,
            check=check_deadline,
        )
        state.calls.on_close(paths.close)
        state.facts |= plan.facts
        state.session = _make_session_stage(state, plan, loaded.read_roots)
    except BaseException:
        state.close()
        raise
    return plan, state


def _make_notifier(plan: Plan, loaded: LoadedPlugins, secret: Callable[[str], str]) -> "notify.Notifier | None":
    entries = [*plan.profile.notify, *(entry for ceiling in plan.ceilings for entry in ceiling.notify)]
    if not entries:
        return None

    def open_channel(entry: Notify) -> "Channel":
        return open_or_defer_channel(
            entry.url or "", secret, partial(loaded.open_channel, entry.deliver, place=entry.place)
        )

    return notify.Notifier(entries, open_channel)


def _make_rate_limits(plan: Plan, secret: Callable[[str], str]) -> "binding.RateLimits | None":
    rates = [plan.profile.rates, *(ceiling.rates for ceiling in plan.ceilings)]
    if all(one == Rates(per=one.per, store=one.store) for one in rates):
        return None
    return binding.RateLimits(rates, aliases=plan.loaded.aliases, secret=secret)


def _make_approval_service(
    approver: "Approver | None", settings: Approvals, state: ToolboxState
) -> "s5_approval.ApprovalService":
    def emit(event: str, tail: bytes, fields: Mapping[str, Any]) -> bool:
        return state.emitter.emit(state.lines.approval(event, tail, fields)) or not state.required

    def disk_objection(preconditions: DiskPreconditions) -> Denied | None:
        return state.confinement.find_objection(preconditions)  # opened by the first call that needs it

    return s5_approval.ApprovalService(
        ledger.ApprovalScope(state.profile, state.digest, state.workspace, state.runners),
        emit,
        disk_objection=disk_objection,
        prompt=prompt.ApproverPrompt(approver, settings, state.loop),
        settings=settings,
        environ=os.environ,
    )


def _make_session_stage(
    state: ToolboxState, plan: Plan, read_roots: tuple[Path, ...]
) -> "s4_session.SessionStage | None":
    """Return the session guards. They have paths of their own, because they also read files outside calls."""
    if plan.profile.session_guards == SessionGuards():
        return None
    paths = WorkspacePaths(state.workspace, read_roots=read_roots, inventory=state.inventory, hidden=state.hidden)
    state.calls.on_close(paths.close)
    return s4_session.session_stage(plan.profile.session_guards, paths, state.facts)


def build_tools_into(
    state: ToolboxState,
    plan: Plan,
    caller: Caller,
    *,
    base: ToolboxState | None = None,
    reused_tools: Mapping[str, BuiltTool] = _NO_TOOLS,
) -> Toolbox:
    """Build the tools of *plan*.

    Args:
        state: The toolbox's own state.
        plan: The plan.
        caller: Who calls.
        base: The state that outlives the toolbox and holds the tools of plugins; by default *state*.
        reused_tools: Tools that are already built.
    """
    base = base or state
    if state.policy.may_ask:
        state.approval.refresh()  # unreadable saved approvals stop the start-up
    base.facts |= plan.facts
    tools: dict[str, BuiltTool] = {}
    names = {name.lower(): name for name in plan.loaded.specs}
    names |= {alias.lower(): name for alias, name in plan.loaded.aliases.items()}
    base.store.require_full_text(one.spec for one in plan.loaded.specs.values())
    toolbox = Toolbox(state, tools, names, caller)
    for name, loaded in plan.loaded.specs.items():
        home = state if name in plan.discovered.tools else base
        tools[name] = reused_tools.get(name) or _build_tool(home, plan, loaded, _make_runtime(home, base, loaded))
    base.view, base.allowance = toolbox.for_caller, lambda: plan.allowance
    return toolbox


def _make_runtime(home: ToolboxState, base: ToolboxState, loaded: LoadedTool) -> Runtime:
    bounded = base.facts[loaded.spec.name].is_bounded
    assert home.paths is not None  # noqa: S101 - opened with the base; for the type checkers

    def view(caller: Caller) -> "ToolboxView":
        assert base.view is not None  # noqa: S101 - as above, before any call
        return base.view(caller)

    return Runtime(home, home.paths, view, staged=loaded.spec.staged, bounded=bounded, distribution=loaded.distribution)


def _build_tool(state: ToolboxState, plan: Plan, loaded: LoadedTool, runtime: Runtime) -> BuiltTool:
    spec, owner = loaded.spec, f"{loaded.distribution} {loaded.version}"
    policy = plan.policies[spec.name]
    limits = plan.limits_for(spec.name)
    own = getattr(policy, "max_output_chars", None)
    if isinstance(own, int):
        limits = Limits(max_output_chars=own).within(limits)
    try:
        function = inspect_function(spec, spec.build(state.workspace, policy, runtime))
        reader = ArgumentReader(spec, function)
    except ConfigurationError:
        raise
    except SpecError as error:
        raise PluginError([Fault(owner, "", f"{error}.", "The plugin's author has to fix it.")]) from error
    except Exception as error:
        what = f"building the tool {spec.name!r} failed: {type(error).__name__}: {error}."
        raise PluginError(
            [Fault(owner, "", what, "A constructor must do no I/O; its author has to fix it.")]
        ) from error
    own_reasons = spec.own_reasons()
    return BuiltTool(
        spec=spec,
        plugin=loaded.distribution,
        policy=policy,
        facts=state.facts[spec.name],
        function=function,
        reader=reader,
        limit=OutputLimit(limits.max_output_chars, limits.truncate or "head"),
        timeout_s=inf if limits.timeout_s is None else limits.timeout_s,
        reasons=None if own_reasons is None else own_reasons | _ALWAYS_PERMITTED,
    )
